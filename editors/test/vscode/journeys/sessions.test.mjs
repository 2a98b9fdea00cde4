// A conversation and its changes outlive what they began in: a window that is loaded again, a server that is killed, a key
// that is set, another session.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { start, vsix } from '../drive.mjs';
import { gate } from './model.mjs';
import { serverOf, sit, unable, version } from './person.mjs';

const skip = unable();
const LINES = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n';
const read = (path) => [{ call: 'read_file', args: { path } }];
const edit = (path, old_text, new_text) => [{ call: 'edit_file', args: { path, old_text, new_text } }];

describe('a session that goes on', { skip, timeout: 400_000 }, () => {
  let editor;
  before(async () => (editor = await start({ version, vsix: await vsix() })));
  after(() => editor?.stop());

  /** Opens a window of a folder of that name with a.txt and b.txt, does that in it, and closes it. */
  async function within(name, o, work) {
    const folder = await editor.folder(name, { 'a.txt': LINES, 'b.txt': LINES });
    const p = await sit(editor, { ...o, folder });
    p.folder = folder;
    p.disk = (file) => readFile(join(folder, file), 'utf8');
    try {
      await work(p);
    } catch (err) {
      await p.fail(err);
    }
    await p.end();
  }

  /** Has two lines of a.txt and one of b.txt changed. */
  async function three(p) {
    await p.openFile('a.txt');
    await p.openChat();
    await p.mode('auto');
    p.model.reply(read('a.txt'), read('b.txt'), edit('a.txt', 'two', 'TWO'), edit('a.txt', 'six', 'SIX'), edit('b.txt', 'one', 'ONE'), ['All changed.']);
    await p.ask('louder please');
    await p.sees('All changed.');
    await p.idle();
    await p.sees('2 files changed', '.changes');
    await p.marks(2);
  }

  it('FindingU1 a window is loaded again in the middle of a review', () =>
    within('reload', {}, async (p) => {
      await three(p);
      await p.lens('Accept').first().click();
      await p.marks(1);
      await p.page.keyboard.press('Control+S');
      await p.until(async () => (await p.disk('a.txt')).includes('SIX'), () => p.disk('a.txt'));
      await p.reload();
      // The marks come without the chat.
      await p.openFile('a.txt');
      await p.marks(1);
      await p.picture('U1 reload, marks');
      await p.input().waitFor();
      await p.sees('louder please', '.bubble');
      await p.sees('All changed.');
      await p.sees('2 files changed', '.changes');
      assert.equal(await p.call('Edit b.txt').getAttribute('data-status'), 'done');
      assert.equal(await p.chat.locator('select[aria-label="Mode"]').inputValue(), 'auto');
      await p.picture('U1 reload, chat');
      await p.lens('Reject').first().click();
      await p.reads(LINES.replace('two', 'TWO'));
      // The model knows what was said and done before.
      p.model.reply(['As before.']);
      await p.ask('and now?');
      await p.sees('As before.');
      const told = p.model.requests.at(-1).messages;
      assert.ok(told.some((m) => m.role === 'user' && /louder please/.test(m.content)));
      assert.ok(told.some((m) => m.role === 'user' && /rejected/.test(m.content)));
      await p.command('Tandem: Undo Last Turn');
      await p.reads(LINES);
      await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    }));

  it('FaultV9 of two windows of one folder each shows its own session when it is loaded again', () =>
    within('twice', {}, async (p) => {
      await three(p);
      const other = await sit(editor, { folder: p.folder, model: p.model });
      try {
        await other.openChat();
        p.model.reply(['I am the other one.']);
        await other.ask('who are you?');
        await other.sees('I am the other one.');
        await other.idle();
        // The first window is the one that stored last which session it shows, and is closed.
        p.model.reply(['Still here.']);
        await p.ask('and you?');
        await p.sees('Still here.');
        await p.idle();
        await p.window.close();
        await other.reload();
        await other.input().waitFor();
        await other.sees('who are you?', '.bubble');
        await other.sees('I am the other one.');
        await other.sees('3 changes wait in the session', '.notice');
        await other.picture('V9 reload');
      } catch (err) {
        await other.fail(err);
      }
      await other.window.close();
    }));

  it('FindingU1 the server is killed in the middle of a turn', () =>
    within('kill', {}, async (p) => {
      await p.openFile('a.txt');
      await p.openChat();
      await p.mode('auto');
      p.model.reply(read('a.txt'), edit('a.txt', 'two', 'TWO'), ['Half an answer', gate().promise]);
      await p.ask('louder please');
      await p.sees('Half an answer');
      await p.marks(1);
      process.kill(await serverOf(editor), 'SIGKILL');
      await p.sees('The program ended during this turn', '.notice');
      await p.picture('U1 kill');
      await p.sees('Half an answer');
      await p.marks(1);
      await p.sees('1 file changed', '.changes');
      assert.equal(await p.chat.locator('.ending').count(), 0);
      p.model.reply(['Here again.']);
      await p.ask('go on');
      await p.sees('Here again.');
      await p.lens('Reject').first().click();
      await p.reads(LINES);
    }));

  it('FindingU1 a new session says what waits in the one before, and leads back; all are in a list', () =>
    within('list', {}, async (p) => {
      await three(p);
      await p.command('Tandem: New Session');
      await p.sees('3 changes in 2 files still wait in the earlier session.', '.callout');
      await p.marks(0);
      const row = p.chat.locator('.sessions li', { hasText: 'louder please' });
      await row.filter({ hasText: '1 turn · 3 changes wait' }).waitFor();
      await p.picture('U1 new session');
      p.model.reply(['Something else.']);
      await p.ask('another thing');
      await p.sees('Something else.');
      await p.idle();
      await p.command('Tandem: Sessions');
      const rows = p.page.locator('.quick-input-list .monaco-list-row');
      await rows.filter({ hasText: 'another thing' }).waitFor();
      await p.picture('U1 list');
      await rows.filter({ hasText: 'louder please' }).filter({ hasText: '3 changes wait' }).click();
      await p.sees('All changed.');
      await p.sees('2 files changed', '.changes');
      await p.marks(2);
      await p.picture('U1 from the list');
      assert.equal(await p.chat.locator('.bubble', { hasText: 'another thing' }).count(), 0);
      await p.command('Tandem: New Session');
      await p.chat.locator('.callout button', { hasText: 'Back to It' }).click();
      await p.sees('All changed.');
      await p.marks(2);
      // The window goes on with the one that it had last, not with the one that was used last.
      await p.reload();
      await p.sees('All changed.');
    }));

  it('FindingU1 a session that another window has is left to it, and that is said', () =>
    within('shared', {}, async (p) => {
      await three(p);
      const other = await sit(editor, { folder: join(editor.dir, 'shared'), model: p.model });
      try {
        await other.openChat();
        await other.sees('“louder please”, is open in another window or program (process', '.callout');
        await other.picture('U1 shared');
        p.model.reply(['From the other.']);
        await other.ask('and here?');
        await other.sees('From the other.');
        await other.end();
      } catch (err) {
        await other.fail(err);
      }
      await p.marks(2);
    }));

  it('FindingU3 a key is set after a 401, and the prompt goes on where it was', () =>
    within('key', {}, async (p) => {
      p.model.key = 'sk-right';
      await p.openFile('a.txt');
      await p.openChat();
      await p.mode('auto');
      await p.ask('who are you?');
      await p.sees('401', '.ending');
      await p.chat.locator('.ending button', { hasText: 'Set API Key' }).click();
      const input = p.page.locator('.quick-input-widget input');
      await p.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: 'local' }).waitFor();
      await p.page.keyboard.press('Enter');
      await p.page.locator('.quick-input-widget', { hasText: 'Key of local' }).waitFor();
      await input.fill('sk-right');
      await p.page.keyboard.press('Enter');
      await p.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
      // At once: it waits for the server if it must.
      p.model.reply(['It is me.']);
      await p.ask('and now?');
      await p.sees('It is me.');
      await p.sees('who are you?', '.bubble');
      await p.picture('U3 key');
      assert.equal(await p.chat.locator('.bubble').count(), 2);
      assert.equal(await p.chat.getByText('is being restarted').count(), 0);
      assert.equal(await p.page.locator('.notification-toast').count(), 0);
      assert.equal(await p.chat.locator('select[aria-label="Mode"]').inputValue(), 'auto');
    }));
});
