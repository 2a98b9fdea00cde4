// What a person answers to questions, what becomes of it, and what runs in the background, in a real VS Code.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { begin, sleeps, unable } from './person.mjs';

const skip = unable();
const FILE = 'one\ntwo\nthree\nfour\n';

describe('answers', { skip, timeout: 300_000 }, () => {
  let p;
  before(async () => {
    p = await begin({ files: { 'a.txt': FILE } });
    await p.openChat();
  });
  after(() => p?.end());
  afterEach(async (t) => t.error && (await p?.picture(`failed ${t.name}`)));

  const open = () => p.chat.locator('.question.open');
  const edit = (from, to) => [{ call: 'edit_file', args: { path: 'a.txt', old_text: from, new_text: to } }];
  const there = (name) => existsSync(join(p.editor.workspace, name));
  /** Picks an entry of the list that a command shows, and then a button of the dialog about it. */
  async function pick(command, entry, button) {
    await p.leaveFields();
    await p.command(command);
    await p.page.locator('.quick-input-list .monaco-list-row', { hasText: entry }).click();
    await p.picture(`list ${entry}`);
    await p.page.locator('.monaco-dialog-box .monaco-button', { hasText: button }).click();
    await p.page.locator('.monaco-dialog-box').waitFor({ state: 'detached' });
  }

  it('F204 "always" is kept as the rule that the answer shows, holds, is listed, and can be taken back', async () => {
    await p.fresh('ask');
    p.model.reply([{ call: 'read_file', args: { path: 'a.txt' } }], edit('one', 'ONE'), ['First.']);
    await p.ask('louder');
    await open().locator('summary', { hasText: 'More answers' }).click();
    await open().locator('[data-option="reject_always"]:enabled').waitFor();
    await p.picture('F204 more answers');
    await p.answer('Always allow edits of all files in this folder, in this workspace');
    await p.sees('First.');
    p.model.reply(edit('two', 'TWO'), ['Second.']);
    await p.ask('more');
    await p.sees('Second.');
    assert.equal(await open().count(), 0);
    await pick('Tandem: Permission Rules…', 'edit_file *', 'Take Back');
    await p.page.locator('.part.statusbar', { hasText: 'edit_file *” is taken back' }).waitFor();
    await p.picture('F204 taken back');
    p.model.reply(edit('three', 'THREE'), ['Not the third.']);
    await p.ask('and more');
    await p.answer('Reject');
    await p.sees('Not the third.');
  });

  it('a refusal says why, and the model reads it', async () => {
    await p.fresh('ask');
    p.model.reply([{ call: 'bash', args: { command: 'touch here.txt' } }], ['As you like.']);
    await p.ask('make a file');
    await open().locator('summary', { hasText: 'Reject, and say why' }).click();
    await open().locator('.why button:enabled').waitFor();
    await p.page.keyboard.type('not here, in sub');
    await p.picture('say why');
    await p.page.keyboard.press('Enter');
    await p.sees('As you like.');
    await p.sees('You answered: Reject: not here, in sub', '.answered');
    const told = p.model.requests.at(-1).messages.at(-1);
    assert.match(told.content, /^\[GATE_DENIED\][\s\S]*The user says: not here, in sub$/);
    assert.ok(!there('here.txt'));
  });

  it('F216 the answer to one question covers another, which goes away and says so', async () => {
    await p.fresh('ask');
    const write = (path) => ({ call: 'write_file', args: { path, content: 'x\n' } });
    p.model.reply([write('x1.txt'), write('x2.txt')], ['Both are there.']);
    await p.ask('two files');
    await p.until(async () => (await open().count()) === 2, async () => `${await open().count()} questions`);
    await open().first().locator('summary', { hasText: 'More answers' }).click();
    await open().first().getByRole('button', { name: 'Allow all edits of this turn' }).click();
    await p.sees('Both are there.');
    await p.sees('Your answer to another question covers this one', '.answered');
    await p.until(() => there('x1.txt') && there('x2.txt'), () => 'they are not written');
  });

  it('commands in the background are counted and listed, and one can be ended; the sandbox is named', async () => {
    await p.fresh('auto');
    p.model.reply([{ call: 'bash', args: { command: 'sleep 8123461', background: true } }], ['It runs.']);
    await p.ask('run it on');
    await p.sees('It runs.');
    const item = p.page.locator('.statusbar-item', { hasText: /Tandem/ });
    await p.until(async () => /Tandem.*1$/s.test((await item.innerText()).trim()), () => item.innerText());
    await item.hover();
    await p.page.locator('.monaco-hover', { hasText: /Sandbox\sof\scommands:\s(full|landlock\+seccomp|none)[\s\S]*In\sthe\sbackground:\s\$\ssleep\s8123461/ }).waitFor();
    await p.picture('status');
    await pick('Tandem: Commands in the Background…', 'sleep 8123461', 'End It');
    await p.until(() => !sleeps(8123461), () => 'it still sleeps');
    await p.until(async () => !/1$/.test((await item.innerText()).trim()), () => item.innerText());
  });

  it('F208 the mode plan changes nothing: an edit waits, a deletion is refused in plain words, and what waits is approved', async () => {
    await p.fresh('plan');
    p.model.reply(
      [{ call: 'write_file', args: { path: 'new.txt', content: 'x\n' } }],
      [{ call: 'read_file', args: { path: 'new.txt' } }, { call: 'create_directory', args: { path: 'sub' } }],
      ['I would write it.'],
    );
    await p.ask('write it');
    await p.sees('I would write it.');
    await p.call('Planned: Create new.txt').waitFor();
    await p.sees('In plan mode nothing is changed', '.failure');
    await p.picture('plan');
    assert.ok(!there('new.txt'));
    await p.command('Tandem: Planned Changes…');
    await p.page.locator('.quick-input-widget', { hasText: 'Create new.txt' }).waitFor();
    await p.picture('plans');
    await p.page.keyboard.press('Enter');
    const dialog = p.page.locator('.monaco-dialog-box', { hasText: 'Create new.txt' });
    await dialog.waitFor();
    await p.picture('plan-approve');
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await p.until(() => there('new.txt'), () => 'it is not written');
  });
});
