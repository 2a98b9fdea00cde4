// A short walk through the oldest VS Code that is supported: from the first window to an edit that is accepted. With
// TANDEM_EDITORS_ALL all journeys are made there too, by run.sh.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { VERSIONS } from '../drive.mjs';
import { begin, unable } from './person.mjs';

const oldest = VERSIONS.at(-1);

describe(`a short walk in code-server ${oldest}`, { skip: unable(oldest), timeout: 180_000 }, () => {
  let p;
  before(async () => (p = await begin({ version: oldest, files: { 'a.txt': 'one\ntwo\n' } })));
  after(() => p?.end());

  it('asks, is allowed, edits while somebody types, and is accepted where it did not ask', async () => {
    await p.openFile('a.txt');
    await p.openChat();
    const { model } = p;
    model.reply([{ call: 'read_file', args: { path: 'a.txt' } }]);
    model.reply([{ call: 'edit_file', args: { path: 'a.txt', old_text: 'two', new_text: 'TWO' } }], ['Done.']);
    await p.ask('louder');
    await p.chat.locator('.question.open .diff').waitFor();
    await p.caretAfter('one');
    await p.page.keyboard.type(' and a half');
    await p.answer('Allow');
    await p.sees('Done.');
    await p.reads('one and a half\nTWO\n');
    // What was allowed is not decided once more.
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    assert.equal(await p.page.locator('.codelens-decoration a', { hasText: /^\s*Accept$/ }).count(), 0);
    await p.goTo(1);
    await p.page.keyboard.press('Control+S');
    const disk = () => readFile(join(p.editor.workspace, 'a.txt'), 'utf8');
    await p.until(async () => (await disk()) === 'one and a half\nTWO\n', disk);
    model.reply([{ call: 'bash', args: { command: 'echo it ran > ran.txt' } }], ['That too.']);
    await p.ask('run something');
    await p.leaveChat();
    const toast = p.page.locator('.notifications-toasts .notification-toast', { hasText: 'echo it ran' });
    await toast.locator('.monaco-button', { hasText: /^Show$/ }).click();
    await p.answer('Allow');
    await p.sees('That too.');
    assert.equal(await p.call('echo it ran').getAttribute('data-status'), 'done');
    // What a command changed was not in the question: it waits for a word.
    await p.sees('1 file changed', '.changes');
    await p.chat.locator('.changes .judge button', { hasText: 'Accept' }).click();
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    await p.mode('auto');
    model.reply([{ call: 'edit_file', args: { path: 'a.txt', old_text: 'TWO', new_text: 'two' } }], ['Back again.']);
    await p.ask('and softer');
    await p.sees('Back again.');
    await p.reads('one and a half\ntwo\n');
    await p.lens('Accept').click();
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
  });
});
