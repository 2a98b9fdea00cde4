import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Loader, SESSION_BUSY, UNKNOWN_SESSION, age, instead, kept, list, waits, waitsElsewhere } from './sessions.ts';
import { empty } from './state.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const refused = (code: number, data?: object) => Object.assign(new Error('no.'), { code, data });
const info = (sessionId: string, updatedAt: string, title = 'T', tandem?: { turns: number; pending: number }) => ({
  sessionId,
  cwd: '/w',
  title,
  updatedAt,
  _meta: tandem && { tandem },
});

describe('FindingU1 sessions that are kept', () => {
  it('FindingU1 are offered with title, age, turns and what waits', () => {
    const shown = (title: string, tandem?: { turns: number; pending: number }) => {
      const { title: t, detail } = kept(info('s', '2026-11-20T11:57:00Z', title, tandem), NOW);
      return [t, detail];
    };
    assert.deepEqual(shown('Fix it', { turns: 1, pending: 0 }), ['Fix it', '3 minutes ago · 1 turn']);
    assert.deepEqual(shown('', { turns: 2, pending: 1 }), ['No title', '3 minutes ago · 2 turns · 1 change waits']);
    assert.deepEqual(shown('Fix it', { turns: 2, pending: 5 }), ['Fix it', '3 minutes ago · 2 turns · 5 changes wait']);
    assert.deepEqual(shown('Fix it'), ['Fix it', '3 minutes ago']);
    const ages = ['12:00:30', '11:59:00', '11:00:01', '10:00:00'].map((t) => age(`2026-11-20T${t}Z`, NOW));
    assert.deepEqual(ages, ['just now', '1 minute ago', '59 minutes ago', '2 hours ago']);
    assert.deepEqual([age('2026-11-18T12:00:00Z', NOW), age('2026-01-02T12:00:00Z', NOW), age('', NOW)], ['2 days ago', '2026-01-02', 'just now']);
  });

  it('FindingU1 are those of all folders, the last used first, without those in which nothing has happened', async () => {
    const of: Record<string, object[]> = {
      '/a': [info('a1', '2026-11-20T10:00:00Z'), info('a2', '2026-11-20T08:00:00Z'), info('new', '2026-11-20T12:00:00Z', '', { turns: 0, pending: 0 })],
      '/b': [info('b1', '2026-11-20T09:00:00Z')],
    };
    const request = async <R>(method: string, params: unknown) => {
      assert.equal(method, 'tandem/session/list');
      return { sessions: of[(params as { cwd: string }).cwd] } as R;
    };
    assert.deepEqual((await list(request, ['/a', '/b'])).map((s) => s.sessionId), ['a1', 'b1', 'a2']);
  });

  it('FindingU1 what waits in one that is left is said', () => {
    const file = (...statuses: string[]) => ({ uri: 'f', status: 'modified', additions: 1, deletions: 0, hunks: statuses.map((status) => ({ status })) });
    assert.equal(waits(empty), undefined);
    assert.equal(waits({ ...empty, changes: [file('accepted')] }), undefined);
    assert.equal(waits({ ...empty, changes: [file('pending')] }), '1 change in 1 file still waits in the earlier session.');
    const changes = [file('pending', 'accepted'), file('conflict', 'pending'), file('accepted')];
    assert.equal(waits({ ...empty, changes }), '3 changes in 2 files still wait in the earlier session.');
  });

  it('FindingU1 why another is shown is said plainly', () => {
    assert.equal(instead('Fix it', refused(SESSION_BUSY, { pid: 7 })), 'The last session, “Fix it”, is open in another window or program (process 7). This is a new one.');
    assert.equal(instead(undefined, refused(UNKNOWN_SESSION)), 'The last session is not kept any more. This is a new one.');
    assert.equal(instead('', refused(-32602)), 'The last session cannot be opened: no. This is a new one.');
  });
});

describe('FaultV9 changes that wait in a session that is not shown', () => {
  const one = (id: string, pending: number) => info(id, '', `T${id}`, { turns: 1, pending });

  it('are said with the name of the session', () => {
    assert.equal(waitsElsewhere([one('a', 3), one('b', 2)], 'b'), '3 changes wait in the session “Ta”. The command “Tandem: Sessions” leads there.');
    assert.equal(waitsElsewhere([one('a', 1)], undefined), '1 change waits in the session “Ta”. The command “Tandem: Sessions” leads there.');
  });

  it('are counted where there are several such sessions', () => {
    assert.equal(waitsElsewhere([one('a', 1), one('b', 2), one('c', 9)], 'c'), '3 changes wait in 2 other sessions. The command “Tandem: Sessions” leads there.');
  });

  it('are nothing to say where none wait', () => {
    assert.equal(waitsElsewhere([one('a', 3), one('b', 0)], 'a'), undefined);
  });
});

describe('FindingU1 loading', () => {
  const told = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' } };
  const pause = async () => {};

  it('FindingU1 gathers what is told of the session meanwhile, and of no other', async () => {
    const loader = new Loader(async <R>() => {
      assert.ok(loader.take('s', told));
      assert.ok(!loader.take('other', told));
      return { sessionId: 's' } as R;
    });
    assert.deepEqual(await loader.load('s', undefined, pause), { session: { sessionId: 's' }, updates: [told] });
    assert.ok(!loader.take('s', told), 'what comes later is news');
  });

  it('FindingU1 waits for the process that served this window before, which is ending, and for no other', async () => {
    let tries = 0;
    const loader = new Loader(async <R>() => {
      tries++;
      loader.take('s', told);
      if (tries < 4) {
        throw refused(SESSION_BUSY, { pid: 7 });
      }
      return { sessionId: 's' } as R;
    });
    assert.deepEqual((await loader.load('s', 7, pause)).updates, [told], 'only those of the last try');
    assert.equal(tries, 4);
    for (const former of [8, undefined]) {
      tries = 0;
      await assert.rejects(loader.load('s', former, pause), { code: SESSION_BUSY });
      assert.equal(tries, 1);
    }
    tries = -100;
    await assert.rejects(loader.load('s', 7, pause, 5), { code: SESSION_BUSY });
    assert.equal(tries, -95, 'not for ever');
  });

  it('FindingU1 shows a session of the embedded model also where the one that is set up cannot be had, and says so', async () => {
    const asked: string[] = [];
    let model = 'script/embedded';
    const loader = (refuses: boolean) =>
      new Loader(async <R>(method: string) => {
        asked.push(method.slice('tandem/session/'.length));
        if (method === 'tandem/session/setModel') {
          if (refuses) {
            throw new Error('no key.');
          }
          model = 'local/m';
        }
        return { sessionId: 's', models: { currentModelId: model, availableModels: [] } } as R;
      });
    const { session, updates } = await loader(true).open('s', undefined, pause);
    assert.equal(session.models?.currentModelId, 'script/embedded');
    assert.deepEqual(updates.map((u) => [u.sessionUpdate, !Array.isArray(u.content) && u.content?.text]), [
      ['notice', 'This session uses the scripted demo script/embedded, not a language model. The configured model is not available: no key.'],
    ]);
    const other = await loader(false).open('s', undefined, pause);
    assert.equal(other.session.models?.currentModelId, 'local/m');
    assert.deepEqual(other.updates, []);
    assert.deepEqual(asked, ['load', 'setModel', 'load', 'setModel', 'load']);
    await loader(true).open('s', undefined, pause);
    assert.equal(asked.length, 6, 'no other model is replaced');
  });
});
