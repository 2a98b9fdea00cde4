import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyVariable, services, withVariables } from './keyvariables.ts';

test('FaultV6 a key is stored under the name that the server reads, whichever settings say so', () => {
  const settings = { mine: {}, both: { apiKeyEnv: 'OLD' }, set: { apiKeyEnv: 'SET_KEY' } };
  const server = [
    { provider: 'both', variable: 'NEW' },
    { provider: 'file', variable: 'FILE_KEY' },
    { provider: 'openai', variable: 'WORK_OPENAI' },
  ];
  const all = withVariables(settings, server);
  const variables = ['mine', 'both', 'set', 'file', 'openai', 'anthropic', 'a-b'].map((name) => keyVariable(name, all));
  assert.deepEqual(variables, ['MINE_API_KEY', 'NEW', 'SET_KEY', 'FILE_KEY', 'WORK_OPENAI', 'ANTHROPIC_API_KEY', 'A_B_API_KEY']);
  assert.deepEqual(services('file/m', all).slice(0, 4), ['file', 'mine', 'both', 'set']);
  assert.deepEqual(settings, { mine: {}, both: { apiKeyEnv: 'OLD' }, set: { apiKeyEnv: 'SET_KEY' } });
});
