import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lend, lendable, Unavailable, type Api } from '../src/model.ts';
import type { ModelStreamParams } from '../src/protocol.ts';

class Text {
  constructor(readonly value: string) {}
}
class Call {
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly input: object,
  ) {}
}
class Result {
  constructor(
    readonly callId: string,
    readonly content: unknown[],
  ) {}
}
class Message {
  constructor(
    readonly role: number,
    readonly content: unknown[],
  ) {}
}

interface Asked {
  model: string;
  messages: unknown;
  options: { tools: unknown; justification: string };
}

/** A VS Code with models that say these parts; an Error among them is thrown. */
function editor(names: string[], parts: unknown[], asked: Asked[] = [], refusal?: Error): Api {
  const models = names.map((name) => ({
    id: name,
    name: name.toUpperCase(),
    vendor: 'copilot',
    family: `family-${name}`,
    async sendRequest(messages: unknown, options: Asked['options']) {
      asked.push({ model: name, messages, options });
      if (refusal) {
        throw refusal;
      }
      return {
        stream: (async function* () {
          for (const part of parts) {
            if (part instanceof Error) {
              throw part;
            }
            yield part;
          }
        })(),
      };
    },
  }));
  return {
    lm: { selectChatModels: async () => models },
    LanguageModelChatMessage: Message,
    LanguageModelChatMessageRole: { User: 1, Assistant: 2 },
    LanguageModelTextPart: Text,
    LanguageModelToolCallPart: Call,
    LanguageModelToolResultPart: Result,
    LanguageModelDataPart: { image: (data: Uint8Array, mime: string) => ({ mime, data: Buffer.from(data).toString() }) },
  } as unknown as Api;
}

const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
const params = (model?: string, messages: unknown[] = [{ role: 'user', content: 'Go.' }], tools: unknown[] = []) =>
  ({ streamId: 's', messages, tools, options: { model } }) as ModelStreamParams;

async function ask(api: Api, p = params(), token = never): Promise<{ chunks: unknown[]; result: unknown }> {
  const chunks: unknown[] = [];
  const result = await lend(api, p, async (chunk) => void chunks.push(chunk), token);
  return { chunks, result };
}

test('a lent model says what it says, and calls tools', async () => {
  const api = editor(['gpt'], [new Text('Look'), new Text(''), { other: 'part' }, new Call('c1', 'read', { a: 1 }), new Call('c2', 'list', {})]);
  assert.deepEqual(await ask(api), {
    chunks: [
      { text: 'Look' },
      { toolCall: { index: 0, id: 'c1', name: 'read', argumentsDelta: '{"a":1}' } },
      { toolCall: { index: 1, id: 'c2', name: 'list', argumentsDelta: '{}' } },
    ],
    result: { stopReason: 'end_turn' },
  });
});

test('a lent model is told the whole conversation', async () => {
  const asked: Asked[] = [];
  const picture = Buffer.from('png').toString('base64');
  const call = (id: string) => ({ id, type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } });
  const messages = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'See.' }, { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }] },
    { role: 'assistant', content: 'Looking.', tool_calls: [call('1'), call('2')] },
    { role: 'tool', tool_call_id: '1', content: 'one' },
    { role: 'tool', tool_call_id: '2', content: 'two' },
    { role: 'assistant', tool_calls: [call('3')] },
    { role: 'tool', tool_call_id: '3', content: '' },
    { role: 'user', content: 'Go on.' },
  ];
  const tool = { type: 'function', function: { name: 'read', description: 'Reads.', parameters: { type: 'object' } } };
  await ask(editor(['gpt'], [], asked), params(undefined, messages, [tool]));
  assert.deepEqual(asked[0]!.messages, [
    new Message(1, [new Text('Be kind.')]),
    new Message(1, [new Text('See.'), { mime: 'image/png', data: 'png' }]),
    new Message(2, [new Text('Looking.'), new Call('1', 'read', { path: 'a' }), new Call('2', 'read', { path: 'a' })]),
    new Message(1, [new Result('1', [new Text('one')]), new Result('2', [new Text('two')])]),
    new Message(2, [new Call('3', 'read', { path: 'a' })]),
    new Message(1, [new Result('3', [])]),
    new Message(1, [new Text('Go on.')]),
  ]);
  assert.deepEqual(asked[0]!.options.tools, [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object' } }]);
});

test('a picture that cannot be passed on is told of', async () => {
  const asked: Asked[] = [];
  const api = editor(['gpt'], [], asked);
  delete api.LanguageModelDataPart;
  await ask(api, params(undefined, [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }]));
  assert.match(JSON.stringify(asked[0]!.messages), /cannot pass on/);
});

test('the model is the one that is asked for', async () => {
  const api = (asked: Asked[]) => editor(['gpt', 'claude'], [], asked);
  for (const [wanted, model] of [
    [undefined, 'gpt'],
    ['copilot/claude', 'claude'],
    ['claude', 'claude'],
    ['family-claude', 'claude'],
  ]) {
    const asked: Asked[] = [];
    await ask(api(asked), params(wanted));
    assert.equal(asked[0]!.model, model);
  }
  await assert.rejects(ask(api([]), params('o9')), /no model "o9". It has editor\/copilot\/gpt, editor\/copilot\/claude\./);
  await assert.rejects(ask(editor([], [])), /VS Code has no language model\. Sign in/);
  assert.deepEqual(await lendable(api([])), [
    { modelId: 'editor/copilot/gpt', name: 'GPT (VS Code)' },
    { modelId: 'editor/copilot/claude', name: 'CLAUDE (VS Code)' },
  ]);
});

test('a failure says what to do', async () => {
  const failure = (code: string, message: string) => Object.assign(new Error(message), { code });
  for (const [err, want] of [
    [failure('NoPermissions', ''), /Tandem may not use GPT\. Ask again and allow it/],
    [failure('Blocked', 'Quota exceeded'), /GPT is blocked for now, as when its quota is used up: Quota exceeded/],
    [failure('NotFound', ''), /GPT is not there any more/],
    [Object.assign(new Error('It broke', { cause: new Error('502') }), { code: 'Unknown' }), /GPT failed: It broke \(502\)/],
    [new Error('Response too long'), /GPT failed: Response too long$/],
  ] as const) {
    for (const api of [editor(['gpt'], [], [], err), editor(['gpt'], [new Text('Half'), err])]) {
      await assert.rejects(ask(api), (thrown) => thrown instanceof Unavailable && thrown.code === -32013 && want.test(thrown.message));
    }
  }
});

test('a cancelled answer ends, though VS Code goes on', async () => {
  for (const stuck of ['request', 'stream'] as const) {
    const api = editor(['gpt'], []);
    const [model] = (await api.lm.selectChatModels()) as any[];
    const forever = new Promise(() => {});
    model.sendRequest = async () => (stuck === 'request' ? forever : { stream: (async function* () { await forever; })() });
    let cancel = () => {};
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener: () => void) => {
        cancel = () => {
          token.isCancellationRequested = true;
          listener();
        };
        return { dispose() {} };
      },
    };
    const answer = lend(api, params(), async () => {}, token as any);
    setImmediate(() => cancel());
    assert.deepEqual(await answer, { stopReason: 'cancelled' });
  }
});

test('a cancelled answer says no more', async () => {
  const token = { ...never, isCancellationRequested: false };
  const chunks: unknown[] = [];
  const api = editor(['gpt'], [new Text('One'), new Text('Two'), new Error('Canceled')]);
  const send = async (chunk: unknown) => {
    chunks.push(chunk);
    token.isCancellationRequested = true;
  };
  assert.deepEqual(await lend(api, params(), send, token), { stopReason: 'cancelled' });
  assert.deepEqual(chunks, [{ text: 'One' }]);
});
