import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Conversation, type Event, type ToolCall, count, digest, empty, reduce, rows, shown, waiting } from './state.ts';
import type { PermissionParams, Update } from './wire.ts';

const transcripts = join(process.cwd(), '..', 'transcripts');

function after(events: Event[], from: Conversation = empty): Conversation {
  return events.reduce(reduce, from);
}

const update = (u: Update): Event => ({ type: 'update', update: u });
const say = (text: string) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const call = (toolCallId: string, more: Partial<Update> = {}) =>
  update({ sessionUpdate: 'tool_call_update', toolCallId, ...more });
const asked = (id: number, toolCallId: string, more: Partial<PermissionParams> = {}): Event => ({
  type: 'permission',
  id,
  params: {
    sessionId: 's',
    toolCall: { sessionUpdate: 'tool_call_update', toolCallId, kind: 'execute', rawInput: { command: 'make\n  all' } },
    options: [{ optionId: 'allow_once', name: 'Allow', kind: 'allow_once' }],
    ...more,
  },
});
const tool = (c: Conversation, id: string) => c.items.find((x): x is ToolCall => x.type === 'tool' && x.id === id)!;

/** The messages of a transcript, as the events that they are to a chat. */
function replay(wire: string): Conversation {
  let c = empty;
  let questions = 0;
  const prompts = new Set<unknown>();
  const open = new Map<unknown, number>();
  for (const line of wire.trim().split('\n')) {
    const { dir, msg } = JSON.parse(line);
    const out = dir === '->';
    if (out && msg.method === 'tandem/session/prompt') {
      prompts.add(msg.id);
      c = reduce(c, { type: 'prompt', text: msg.params.prompt[0].text });
    } else if (!out && msg.method === 'tandem/session/update') {
      c = reduce(c, { type: 'update', update: msg.params.update });
    } else if (!out && msg.method === 'tandem/session/requestPermission') {
      open.set(msg.id, ++questions);
      c = reduce(c, { type: 'permission', id: questions, params: msg.params });
      assert.equal(waiting(c).length, 1, 'a question is open');
    } else if (out && msg.method === undefined && open.has(msg.id)) {
      const text = msg.result.outcome.optionId;
      c = reduce(c, { type: 'answered', id: open.get(msg.id)!, answer: { text, allowed: text.startsWith('allow') } });
    } else if (!out && msg.method === undefined && prompts.has(msg.id)) {
      c = reduce(c, { type: 'ended', result: msg.result });
    } else if (!out && msg.result?.sessionId) {
      c = reduce(c, { type: 'session', session: msg.result });
    }
  }
  return c;
}

describe('F178 the plan', () => {
  it('is what the newest update says', () => {
    const plan = (...entries: Update['entries'] & {}) => update({ sessionUpdate: 'plan', entries });
    const one = { content: 'Read', priority: 'medium', status: 'completed' };
    const two = { content: 'Write', priority: 'high', status: 'pending' };
    assert.deepEqual(after([plan(one), plan(one, two)]).plan, [one, two]);
    assert.deepEqual(after([plan(one), plan()]).plan, []);
    assert.deepEqual(after([plan(one), { type: 'reset' }]).plan, []);
  });
});

describe('F243 recorded transcripts', () => {
  const names = readdirSync(transcripts).filter((f) => f.endsWith('.txtar'));
  assert.ok(names.length >= 6);
  for (const name of names) {
    it(name, () => {
      const text = readFileSync(join(transcripts, name), 'utf8');
      const file = (f: string) => text.split(`-- ${f} --\n`)[1]!.split(/^-- .* --$/m)[0]!;
      const c = replay(file('wire.jsonl'));
      assert.deepEqual(digest(c), JSON.parse(file('expect.json')));
      assert.equal(c.running, false);
      assert.equal(waiting(c).length, 0);
      assert.equal(c.session, 'session-1');
    });
  }
});

describe('messages', () => {
  it('joins chunks, and begins anew after a call', () => {
    const c = after([{ type: 'prompt', text: 'hi' }, say('a'), say('b'), call('1'), say('c')]);
    assert.deepEqual(digest(c), [
      { role: 'user', text: 'hi' },
      { role: 'agent', text: 'ab' },
      { tool: '1', title: '', status: 'pending' },
      { role: 'agent', text: 'c' },
    ]);
  });

  it('shows a prompt once, echoed or not, and one that another client sent', () => {
    const chunk = (text: string) => update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
    const c = after([{ type: 'prompt', text: 'hello' }, chunk('hel'), chunk('lo'), say('x'), chunk('more')]);
    assert.deepEqual(digest(c).map((x) => x.text), ['hello', 'x', 'more']);
  });

  it('keeps what an event does not touch', () => {
    const before = after([{ type: 'prompt', text: 'hi' }, say('a'), call('1'), say('b')]);
    const now = reduce(before, say('c'));
    assert.equal(now.items[0], before.items[0]);
    assert.equal(now.items[2], before.items[2]);
    assert.notEqual(now.items[3], before.items[3]);
    assert.equal(new Set(now.items.map((x) => x.key)).size, now.items.length);
  });

  it('passes over what it does not know', () => {
    assert.equal(after([update({ sessionUpdate: 'of_tomorrow' })]), empty);
  });

  it('says a failure once, though it comes as a notice too', () => {
    const message = 'The service said no.';
    const c = after([
      { type: 'prompt', text: 'x' },
      update({ sessionUpdate: 'notice', content: { type: 'text', text: message } }),
      { type: 'ended', result: { stopReason: 'error', error: { code: 'http', message } } },
    ]);
    assert.deepEqual(digest(c).slice(1), [{ ending: 'error' }]);
  });
});

describe('tool calls', () => {
  it('F231-F235 goes through its phases and keeps what an update leaves out', () => {
    const c = after([
      call('1', { title: 'Edit a.go', kind: 'edit', rawInput: { path: 'a.go' }, _meta: { tandem: { phase: 'use' } } }),
      call('1', { status: 'in_progress', _meta: { tandem: { phase: 'progress', at: { executing: 5 }, output: 'one\n' } } }),
      call('1', { _meta: { tandem: { phase: 'progress', output: 'two\n' } } }),
      call('1', {
        status: 'completed',
        content: [
          { type: 'diff', path: '/w/a.go', oldText: 'a', newText: 'b', _meta: { tandem: { unified: '@@ -1 +1 @@\n-a\n+b\n' } } },
        ],
        _meta: { tandem: { phase: 'result', at: { executing: 5, completed: 25 }, summary: 'done' } },
      }),
    ]);
    const t = tool(c, '1');
    assert.equal(t.title, 'Edit a.go');
    assert.equal(t.output, 'one\ntwo\n');
    assert.equal(t.ms, 20);
    assert.deepEqual(t.input, { path: 'a.go' });
    assert.deepEqual([t.diffs[0]?.additions, t.diffs[0]?.deletions, t.diffs[0]?.created], [1, 1, false]);
  });

  it('counts the lines of a diff, also those that look like its head', () => {
    assert.deepEqual(count('--- a\n+++ b\n@@ -1,2 +1,3 @@\n--- x\n+++ y\n+z\n c\n'), { additions: 2, deletions: 1 });
  });

  it('holds the end of a long output', () => {
    const line = `${'x'.repeat(99)}\n`;
    const c = after([...Array(2000).keys()].map(() => call('1', { _meta: { tandem: { output: line } } })));
    assert.ok(tool(c, '1').output.length <= 64 * 1024);
    assert.ok(tool(c, '1').output.endsWith(line));
    assert.ok(tool(c, '1').output.startsWith('x'));
  });

  it('F236 groups what only looks and what the server groups, and folds no change away', () => {
    const c = after([
      call('1', { kind: 'read' }),
      call('2', { kind: 'search' }),
      call('3', { kind: 'edit' }),
      call('4', { kind: 'read' }),
      call('5', { kind: 'fetch' }),
      call('6', { kind: 'fetch', _meta: { tandem: { phase: 'grouped', groupId: 'g', calls: ['5', '6'] } } }),
      call('7', { kind: 'execute', _meta: { tandem: { semantic: 'read' } } }),
      call('8', { kind: 'edit', _meta: { tandem: { groupId: 'h' } } }),
      call('9', { kind: 'edit', _meta: { tandem: { groupId: 'h' } } }),
    ]);
    const shape = rows(c.items).map((r) => ('group' in r ? r.group.map((t) => t.id).join('+') : (r.item as ToolCall).id));
    assert.deepEqual(shape, ['1+2', '3', '4', '5+6', '7', '8', '9']);
    assert.equal(new Set(rows(c.items).map((r) => r.key)).size, shape.length);
  });

  it('F172 folds a command away where the server says that it only reads', () => {
    const c = after([
      call('1', { kind: 'execute', _meta: { tandem: { semantic: 'read', collapsible: true } } }),
      call('2', { kind: 'execute', _meta: { tandem: { semantic: 'search', collapsible: true } } }),
      call('3', { kind: 'execute', _meta: { tandem: { semantic: 'write' } } }),
    ]);
    const shape = rows(c.items).map((r) => ('group' in r ? r.group.map((t) => t.id).join('+') : (r.item as ToolCall).id));
    assert.deepEqual(shape, ['1+2', '3']);
  });

  it('F278 FindingU12 takes the boundary before writing as news for programs, with words or without', () => {
    for (const text of ['', 'The turn goes from reading to writing.']) {
      const content = { type: 'text', text };
      const boundary = update({ sessionUpdate: 'notice', content, _meta: { tandem: { boundary: 'writes' } } });
      const c = after([say('so'), boundary, say(' on'), call('1', { kind: 'edit' })]);
      assert.deepEqual(digest(c).map((x) => x.text ?? x.tool), ['so on', '1']);
    }
  });

  it('F237 keeps what a tool renders', () => {
    const render = { markdown: '`a` → 3 lines', widgets: [{ type: 'of_tomorrow', title: 't' }] };
    assert.deepEqual(tool(after([call('1', { _meta: { tandem: { render } } })]), '1').render, render);
  });

  it('leaves nothing running when its turn is over', () => {
    const c = after([
      { type: 'prompt', text: 'x' },
      call('1', { status: 'in_progress' }),
      asked(7, '1'),
      { type: 'ended', result: { stopReason: 'cancelled' } },
    ]);
    assert.equal(tool(c, '1').status, 'failed');
    assert.equal(tool(c, '1').error, 'CANCELLED');
    assert.equal(waiting(c).length, 0);
  });
});

describe('questions', () => {
  it('F204 shows the command word for word, takes the first answer, and no other', () => {
    let c = after([call('1', { title: 'make' }), asked(1, '1')]);
    const q = waiting(c)[0]?.question;
    assert.ok(q?.type === 'permission');
    assert.equal(q.command, 'make\n  all');
    c = after([{ type: 'answered', id: 1, answer: { text: 'Allow', allowed: true } }], c);
    const again = reduce(c, { type: 'answered', id: 1, answer: 'withdrawn' });
    assert.equal(again, c);
    assert.equal(waiting(c).length, 0);
  });

  it('has a place for a question about a call that was not announced', () => {
    const c = after([
      { type: 'clarify', id: 3, params: { sessionId: 's', toolCallId: '', question: 'Which?', options: [{ id: 'a', label: 'A' }] } },
    ]);
    const q = waiting(c)[0]?.question;
    assert.ok(q?.type === 'clarify' && q.question === 'Which?');
  });

  it('FaultE15 has not failed after all', () => {
    const content = [{ type: 'content', content: { type: 'text', text: '[UNKNOWN] It is not known.' } }];
    const c = after([
      update({ sessionUpdate: 'tool_call', toolCallId: '1', kind: 'edit', title: 'Edit a' }),
      update({ sessionUpdate: 'tool_call_update', toolCallId: '1', status: 'failed', content, _meta: { tandem: { phase: 'error', error: 'UNKNOWN', summary: 'Not known.' } } }),
      update({ sessionUpdate: 'tool_call_update', toolCallId: '1', status: 'completed', _meta: { tandem: { phase: 'result', late: true } } }),
    ]);
    const { status, phase, error, summary, text } = tool(c, '1');
    assert.deepEqual([status, phase, error, summary, text], ['completed', 'result', undefined, undefined, '']);
  });

  it('does not take what would change for what has changed', () => {
    const content = [{ type: 'diff', path: 'a', newText: 'x', _meta: { tandem: { unified: '@@ -0,0 +1 @@\n+x\n' } } }];
    const c = after([asked(1, '1', { toolCall: { sessionUpdate: 'tool_call_update', toolCallId: '1', kind: 'edit', content } })]);
    assert.equal(tool(c, '1').diffs.length, 0);
    const q = tool(c, '1').question;
    assert.ok(q?.type === 'permission' && q.diffs[0]?.additions === 1 && q.command === undefined);
  });

  it('FindingS17 has been looked at only as far as it was opened', () => {
    const content = ['a', 'b'].map((path) => ({ type: 'diff', path, newText: 'x' }));
    const c = after([
      asked(1, '1', { toolCall: { sessionUpdate: 'tool_call_update', toolCallId: '1', kind: 'edit', content } }),
      { type: 'looked', id: 1, path: 'b' },
    ]);
    const q = tool(c, '1').question;
    assert.deepEqual(q?.type === 'permission' && q.diffs.map((d) => d.looked === true), [false, true]);
  });
});

describe('what is said to a running turn', () => {
  const echo = (text: string) => update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
  const steer = (text: string): Event => ({ type: 'steer', text });

  it('waits below the answer, and stands where it joins', () => {
    let c = after([{ type: 'prompt', text: 'go' }, call('1'), say('I '), steer('go'), steer('also this'), say('work.')]);
    assert.deepEqual(digest(c).slice(2), [{ role: 'agent', text: 'I work.' }]);
    assert.deepEqual(
      shown(c).slice(-2).map((x) => (x.type === 'message' ? [x.text, x.waiting] : x.type)),
      [['go', true], ['also this', true]],
    );
    c = after([call('2'), echo('go'), echo('also this\n\nAttached: @a.txt'), say('Fine.')], c);
    assert.deepEqual(digest(c).slice(3), [
      { tool: '2', title: '', status: 'pending' },
      { role: 'user', text: 'go' },
      { role: 'user', text: 'also this\n\nAttached: @a.txt' },
      { role: 'agent', text: 'Fine.' },
    ]);
    assert.equal(shown(c), c.items);
    assert.equal(new Set(shown(c).map((x) => x.key)).size, c.items.length);
  });

  it('is taken back where the turn is over', () => {
    const c = after([{ type: 'prompt', text: 'go' }, say('Done.'), steer('more'), { type: 'unsteer', text: 'more' }]);
    assert.equal(shown(c), c.items);
    assert.deepEqual(after([steer('x'), { type: 'lost', message: '' }], c).steering, []);
  });
});

describe('sessions', () => {
  it('knows what the session has cost', () => {
    const used = (amount: number) =>
      update({ sessionUpdate: 'usage_update', usage: { inputTokens: 10, outputTokens: 1 }, cost: { amount, currency: 'USD' } });
    const c = after([{ type: 'prompt', text: 'go' }, used(0.25), used(0.5), update({ sessionUpdate: 'usage_update', usage: {} })]);
    assert.deepEqual(c.cost, { amount: 0.5, currency: 'USD' });
  });

  it('keeps the conversation when the server is lost, and says so', () => {
    const session: Event = { type: 'session', session: { sessionId: 's' } };
    const c = after([session, { type: 'prompt', text: 'x' }, say('half'), { type: 'lost', message: 'gone' }]);
    assert.equal(c.session, undefined);
    assert.equal(c.running, false);
    assert.deepEqual(digest(c).at(-1), { ending: 'lost' });
    assert.equal(after([session, { type: 'lost', message: 'gone' }]).items.length, 0);
  });

  it('gives words that the end of the server cut short back to their own session only', () => {
    const c = after([{ type: 'session', session: { sessionId: 's' } }, { type: 'prompt', text: 'x' }, say('half'), { type: 'lost', message: 'gone' }]);
    const loaded = (sessionId: string) => digest(reduce(c, { type: 'loaded', session: { sessionId }, updates: [] })).map((x) => x.text);
    assert.deepEqual(loaded('s'), ['half']);
    assert.deepEqual(loaded('other'), []);
  });

  it('adds up the tokens of turns', () => {
    const end = (totalTokens: number): Event => ({ type: 'ended', result: { stopReason: 'end_turn', usage: { totalTokens } } });
    const c = after([{ type: 'prompt', text: '1' }, end(10), { type: 'prompt', text: '2' }, end(5), { type: 'prompt', text: '3' }]);
    assert.equal(c.before, 15);
  });

  it('forgets everything but its place in the numbers on a new session', () => {
    const c = after([{ type: 'prompt', text: '1' }, say('x'), { type: 'reset' }]);
    assert.deepEqual({ ...c, next: 1 }, empty);
    assert.ok(c.next > 1, 'keys are never used twice');
  });
});

describe('FindingU1 a conversation that is loaded', () => {
  const session = { sessionId: 's', modes: { currentModeId: 'auto', availableModes: [] } };
  const chunk = (text: string): Update => ({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
  const told = (text: string): Update => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  const notice = (text: string): Update => ({ sessionUpdate: 'notice', content: { type: 'text', text } });
  const history = [chunk('go'), told('Well'), { sessionUpdate: 'tool_call', toolCallId: '1', title: 'T', status: 'completed' }];
  const ended = notice('The program ended during this turn; what was running was not tried again.');

  it('FindingU1 is what the server tells of it, at rest', () => {
    const c = after([{ type: 'loaded', session, updates: [...history, told('Done.')] }]);
    assert.deepEqual(digest(c), [
      { role: 'user', text: 'go' },
      { role: 'agent', text: 'Well' },
      { tool: '1', title: 'T', status: 'completed' },
      { role: 'agent', text: 'Done.' },
    ]);
    assert.equal(c.session, 's');
    assert.equal(c.mode, 'auto');
    assert.equal(c.running, false);
    assert.ok(c.items.every((x) => !('open' in x) || !x.open));
  });

  it('FindingU1 takes the place of what was there, with keys of its own', () => {
    const before = after([{ type: 'session', session }, { type: 'prompt', text: 'go' }, say('Well')]);
    const c = after([{ type: 'lost', message: 'The server has ended.' }, { type: 'loaded', session, updates: history }], before);
    assert.equal(digest(c).filter((x) => x.text === 'go').length, 1);
    assert.ok(!c.items.some((x) => before.items.some((y) => y.key === x.key)));
  });

  it('FindingU1 keeps words that were on their way when the server ended, before what is said of its end', () => {
    const running = after([{ type: 'session', session }, { type: 'prompt', text: 'go' }, say('Well'), call('1'), say('Half an ans')]);
    const c = after([{ type: 'lost', message: 'It ended.' }, { type: 'loaded', session, updates: [...history, ended] }], running);
    assert.deepEqual(digest(c).slice(-2), [
      { role: 'agent', text: 'Half an ans' },
      { role: 'notice', text: 'The program ended during this turn; what was running was not tried again.' },
    ]);
    const all = [...history, told('Half an answer.'), ended];
    const kept = after([{ type: 'lost', message: 'It ended.' }, { type: 'loaded', session, updates: all }], running);
    assert.equal(digest(kept).filter((x) => x.text?.startsWith('Half')).length, 1, 'not twice where it was written down');
  });

  it('FindingU3 a server that a person has started anew leaves nothing bad behind', () => {
    const c = after([{ type: 'session', session }, { type: 'prompt', text: 'go' }, { type: 'ended', result: { stopReason: 'end_turn' } }, { type: 'lost' }]);
    assert.deepEqual(digest(c), [{ role: 'user', text: 'go' }]);
    assert.equal(c.session, undefined);
  });
});
