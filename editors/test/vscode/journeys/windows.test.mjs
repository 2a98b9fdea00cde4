// Windows that are not like the last one: the first of all, one with several folders, two beside each other, one without
// a program to start, one of a folder that is not trusted.
import assert from 'node:assert/strict';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { binary, start, vsix } from '../drive.mjs';
import { sit, unable, version } from './person.mjs';

const skip = unable();

describe('a window', { skip, timeout: 300_000 }, () => {
  let editor;
  before(async () => (editor = await start({ version, vsix: await vsix() })));
  after(() => editor?.stop());

  /** Opens a window of a folder with these files, does that in it, and closes it. */
  async function within(o, work) {
    const folder = await editor.folder(o.name, o.files);
    const p = await sit(editor, { ...o, folder: o.inside ? join(folder, o.inside) : folder, inside: undefined });
    try {
      await work(p, folder);
    } catch (err) {
      await p.fail(err);
    }
    await p.end();
  }

  it('at the first run: no model is set up, one answers nevertheless, and a key is asked for', () =>
    within({ name: 'first', files: { 'notes.txt': 'milk\n' }, model: false }, async (p) => {
      await p.openChat();
      await p.sees('No model is set up yet', '.callout');
      await p.chat.locator('.suggest button').first().click();
      assert.match(await p.input().inputValue(), /Explain/, 'a suggestion fills the box, and is not sent');

      await p.ask('what is here?');
      await p.sees('not a language model');
      await p.sees('notes.txt');
      await p.idle();
      assert.equal(await p.call('List').getAttribute('data-status'), 'done');

      await p.command('Tandem: New Session');
      await p.chat.locator('.callout button', { hasText: 'Set API Key' }).click();
      await p.page.locator('.quick-input-widget').waitFor();
      await p.page.keyboard.press('Escape');
    }));

  it('with two folders, and another beside it: each has its server, its sessions and its folders', async () => {
    const files = {
      'shop/shop.txt': 'shop\n',
      'bank/bank.txt': 'bank\n',
      'both.code-workspace': JSON.stringify({ folders: [{ path: 'shop' }, { path: 'bank' }] }),
    };
    await within({ name: 'town', files, inside: 'both.code-workspace' }, async (town, folder) => {
      await town.openFile('bank.txt');
      await town.openChat();
      await town.mode('auto');
      const shop = join(folder, 'shop', 'shop.txt');
      // The session works in the folder of the file that was open, and may change the other.
      town.model.reply(
        [{ call: 'read_file', args: { path: 'bank.txt' } }, { call: 'read_file', args: { path: shop } }],
        [
          { call: 'edit_file', args: { path: 'bank.txt', old_text: 'bank', new_text: 'river bank' } },
          { call: 'edit_file', args: { path: shop, old_text: 'shop', new_text: 'corner shop' } },
        ],
        ['Both are changed.'],
      );
      await town.ask('be precise');
      await town.sees('Both are changed.');
      await town.reads('river bank\n');
      await town.until(async () => (await readFile(shop, 'utf8')) === 'corner shop\n', async () => readFile(shop, 'utf8'));

      await within({ name: 'village', files: { 'bank.txt': 'bench\n' }, model: town.model }, async (village) => {
        await village.openFile('bank.txt');
        await village.openChat();
        await village.mode('auto');
        const edit = (from, to) => [
          [{ call: 'read_file', args: { path: 'bank.txt' } }],
          [{ call: 'edit_file', args: { path: 'bank.txt', old_text: from, new_text: to } }],
          [`It says ${to}.`],
        ];
        village.model.reply(...edit('bench', 'wooden bench'));
        await village.ask('which wood?');
        await village.sees('It says wooden bench.');
        town.model.reply(...edit('river', 'left river'));
        await town.ask('which side?');
        await town.sees('It says left river.');
        await village.reads('wooden bench\n');
        await town.reads('left river bank\n');
        assert.equal(await village.chat.locator('.bubble').count(), 1);
        assert.equal(await town.chat.locator('.bubble').count(), 2);
      });
    });
  });

  it('without the program: it says how to get it, and goes on once it is there', async () => {
    const program = join(editor.dir, 'late', 'tandem');
    await within({ name: 'late', machine: { 'tandem.path': program } }, async (p) => {
      await p.page.locator('.activitybar .action-label[aria-label^="Tandem"]').click();
      const welcome = p.page.locator('.welcome-view-content');
      await welcome.filter({ hasText: 'none was found there' }).waitFor();
      await p.picture('missing');
      await writeFile(program, `#!/bin/sh\nexec '${await binary()}' "$@"\n`, { mode: 0o755 });
      await welcome.getByText('try again', { exact: true }).click();
      await p.page.locator('iframe.webview.ready').waitFor();
      await p.page.locator('.statusbar-item[aria-label^="Tandem, ready"]').waitFor();
    });
  });

  it('of a folder that is not trusted: it is read, and neither changed nor run in', async () => {
    const files = { 'a.txt': 'secret of a\n', '.vscode/settings.json': JSON.stringify({ 'tandem.mode': 'auto' }) };
    const trust = { 'security.workspace.trust.enabled': true, 'security.workspace.trust.startupPrompt': 'never' };
    await within({ name: 'strange', files, settings: { 'tandem.mode': 'auto', ...trust } }, async (p, folder) => {
      await p.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
      await p.openChat();
      p.model.reply([
        { call: 'read_file', args: { path: 'a.txt' } },
        { call: 'write_file', args: { path: 'b.txt', content: 'written\n' } },
        { call: 'bash', args: { command: 'touch c.txt' } },
      ]);
      p.model.reply(['That is all I can do here.']);
      await p.ask('try');
      await p.sees('That is all I can do here.');
      const offered = p.model.requests[0].tools.map((tool) => tool.function.name);
      assert.ok(offered.includes('read_file') && !offered.includes('write_file') && !offered.includes('bash'), offered.join());
      const answers = p.model.requests[1].messages.filter((message) => message.role === 'tool').map((m) => m.content);
      assert.match(answers[0], /secret of a/);
      assert.match(answers[1], /TOOL_NOT_FOUND/);
      assert.match(answers[2], /TOOL_NOT_FOUND/);
      await assert.rejects(access(join(folder, 'b.txt')));
      await assert.rejects(access(join(folder, 'c.txt')));
      assert.equal(await readFile(join(folder, 'a.txt'), 'utf8'), 'secret of a\n');
      await p.picture('untrusted');
    });
  });
});
