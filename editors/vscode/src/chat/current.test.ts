import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Current } from './current.ts';
import type { NewSessionResult } from './wire.ts';

const session = (sessionId: string) => ({ sessionId }) as NewSessionResult;

/** A chat whose server answers what it is asked when the test says so. */
function chat() {
  const log: string[] = [];
  const open = new Map<string, { resolve(): void; reject(err: Error): void }>();
  let shown: string | undefined;
  let made = 0;
  let ready = Promise.resolve();
  const answer = <R>(what: string, value: () => R) =>
    new Promise<R>((resolve, reject) => {
      log.push(what);
      open.set(what, { resolve: () => resolve(value()), reject });
    });
  const current = new Current({
    request: async <R>(method: string, params: unknown) => {
      log.push(`${method.slice('tandem/session/'.length)} ${(params as { sessionId: string }).sessionId}`);
      return undefined as R;
    },
    shown: () => shown,
    ready: () => ready,
    load: (id) => answer(`load ${id}`, () => ({ session: session(id), updates: [] })),
    make: () => answer('new', () => session(`n${++made}`)),
    show: ({ sessionId }) => {
      shown = sessionId;
      log.push(`show ${sessionId}`);
    },
    left: () => {},
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    current,
    log,
    settled,
    /** What a new session does to the chat. */
    fresh() {
      current.renew();
      current.close(shown);
      shown = undefined;
      return current.session();
    },
    /** The server ends; the next one is ready when the test says so. */
    end() {
      current.ended(shown === undefined ? undefined : { id: shown });
      shown = undefined;
      let resolve!: () => void;
      ready = new Promise((r) => (resolve = r));
      return resolve;
    },
    async answers(what: string, err?: Error) {
      await settled();
      const one = open.get(what);
      assert.ok(one, `${what} is asked: ${log.join(', ')}`);
      open.delete(what);
      err ? one.reject(err) : one.resolve();
      await settled();
    },
  };
}

/** A chat that shows n1. */
async function showing() {
  const c = chat();
  const first = c.current.session();
  await c.answers('new');
  assert.equal(await first, 'n1');
  c.log.length = 0;
  return c;
}

describe('FindingU1 the session that is shown', () => {
  it('is made once, whoever wants it', async () => {
    const c = chat();
    const both = Promise.all([c.current.session(), c.current.session()]);
    await c.answers('new');
    assert.deepEqual(await both, ['n1', 'n1']);
    assert.deepEqual(c.log, ['new', 'show n1']);
    assert.deepEqual(c.current.wish, { id: 'n1' });
  });

  it('is the last that was asked for, of several', async () => {
    const c = await showing();
    const first = c.current.goOn('a');
    await c.settled();
    const all = Promise.all([first, c.current.goOn('b'), c.current.goOn('c')]);
    await c.answers('load a');
    await c.answers('load c');
    await all;
    assert.deepEqual(c.log, ['load a', 'close a', 'load c', 'show c', 'close n1']);
  });

  it('is loaded once where it is asked for twice', async () => {
    const c = await showing();
    const both = Promise.all([c.current.goOn('a'), c.current.goOn('a')]);
    await c.answers('load a');
    await both;
    assert.deepEqual(c.log, ['load a', 'show a', 'close n1']);
  });

  it('is a new one where that was asked for while another was loaded', async () => {
    const c = await showing();
    const going = c.current.goOn('a');
    await c.settled();
    const fresh = c.fresh();
    await c.answers('load a');
    await c.answers('new');
    await going;
    assert.equal(await fresh, 'n2');
    assert.deepEqual(c.log, ['load a', 'close n1', 'close a', 'new', 'show n2']);
    assert.deepEqual(c.current.wish, { id: 'n2' });
  });

  it('FaultV3 stays open when it is left with commands that are to go on, once', async () => {
    const c = chat();
    const first = c.current.session();
    await c.answers('new');
    await first;
    c.current.keep('n1');
    const going = c.current.goOn('a');
    await c.answers('load a');
    await going;
    assert.deepEqual(c.log, ['new', 'show n1', 'load a', 'show a']);
    const back = c.current.goOn('n1');
    await c.answers('load n1');
    await back;
    const next = c.current.goOn('a');
    await c.answers('load a');
    await next;
    assert.deepEqual(c.log.slice(4), ['load n1', 'show n1', 'close a', 'load a', 'show a', 'close n1']);
  });

  it('is another one only when the new one before it is made, which is closed', async () => {
    const c = chat();
    const made = c.current.session();
    await c.settled();
    const going = c.current.goOn('a');
    await c.answers('new');
    await c.answers('load a');
    await Promise.all([made, going]);
    assert.deepEqual(c.log, ['new', 'show n1', 'load a', 'show a', 'close n1']);
    assert.deepEqual(c.current.wish, { id: 'a' });
  });

  it('is what a prompt goes to that is sent while it is loaded', async () => {
    const c = await showing();
    const going = c.current.goOn('a');
    const sent = c.current.session();
    await c.answers('load a');
    await going;
    assert.equal(await sent, 'a');
  });

  it('stays where the other cannot be loaded, and what waits goes on', async () => {
    const c = await showing();
    const going = c.current.goOn('a');
    const sent = c.current.session();
    const refused = assert.rejects(going, /gone/);
    await c.answers('load a', new Error('gone'));
    await refused;
    assert.equal(await sent, 'n1');
    assert.deepEqual(c.log, ['load a']);
    assert.deepEqual(c.current.wish, { id: 'n1' });
    const next = c.current.goOn('b');
    await c.answers('load b');
    await next;
    assert.deepEqual(c.log, ['load a', 'load b', 'show b', 'close n1']);
  });

  it('is no session of a server that has ended meanwhile', async () => {
    const c = await showing();
    const going = c.current.goOn('a');
    await c.settled();
    const waits = c.current.goOn('b');
    const ready = c.end();
    const sent = c.current.session();
    await c.answers('load a');
    await Promise.all([going, waits]);
    assert.deepEqual(c.log, ['load a'], 'nothing is shown, and nothing asked of the next server');
    assert.deepEqual(c.current.wish, { id: 'n1' });
    ready();
    await c.answers('new');
    assert.equal(await sent, 'n2');
  });

  it('is made by the next server where the one that made it has ended', async () => {
    const c = chat();
    const sent = c.current.session();
    await c.settled();
    c.end()();
    await c.answers('new');
    await c.answers('new');
    assert.equal(await sent, 'n2');
    assert.deepEqual(c.log, ['new', 'new', 'show n2']);
  });
});
