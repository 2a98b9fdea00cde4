import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { storedKeys } from './storedkeys.ts';

describe('stored keys', () => {
  it('are those that can be read, and what cannot is said without a word of it', async () => {
    const said: string[] = [];
    const read = (stored: string | undefined) => storedKeys(async () => stored, (text) => said.push(text));
    assert.deepEqual(await read('{"A_KEY":"sk-1","B":2}'), { A_KEY: 'sk-1' });
    assert.deepEqual([await read(undefined), await read('')], [{}, {}]);
    assert.equal(said.length, 0);
    for (const broken of ['sk-secret', '["sk-secret"]', '"sk-secret"', '{"A_KEY":"sk-secret"']) {
      assert.deepEqual(await read(broken), {});
    }
    const refuses = () => Promise.reject(new Error('sk-secret'));
    assert.deepEqual(await storedKeys(refuses, (text) => said.push(text)), {});
    assert.equal(said.length, 5);
    assert.ok(said.every((text) => /cannot be read/.test(text) && !/sk-/.test(text)));
  });
});
