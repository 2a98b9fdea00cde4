// Windows in which something is not as usual: no program, a folder that is not trusted.
import assert from 'node:assert/strict';
import { access, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { binary, open, start, vsix } from './drive.mjs';
import { begin, unable, version } from './journeys/person.mjs';

const skip = unable();

describe('no program', { skip, timeout: 120_000 }, () => {
  it('says how to get it, and goes on once it is there', async () => {
    const program = join(await mkdtemp(join(tmpdir(), 'tandem-late-')), 'tandem');
    const editor = await start({ version, vsix: await vsix(), machine: { 'tandem.path': program } });
    const window = await open(editor);
    try {
      const { page } = window;
      await page.click('.activitybar .action-label[aria-label^="Tandem"]');
      const welcome = page.locator('.welcome-view-content');
      await welcome.filter({ hasText: 'none was found there' }).waitFor();
      if (process.env.PICTURES) {
        await page.screenshot({ path: join(process.env.PICTURES, 'missing.png') });
      }
      await writeFile(program, `#!/bin/sh\nexec '${await binary()}' "$@"\n`, { mode: 0o755 });
      await welcome.getByText('try again', { exact: true }).click();
      await page.locator('iframe.webview.ready').waitFor();
      await page.locator('.statusbar-item[aria-label^="Tandem, ready"]').waitFor();
      assert.deepEqual(window.ours(), []);
    } finally {
      await window.close();
      await editor.stop();
    }
  });
});

describe('a folder that is not trusted', { skip, timeout: 120_000 }, () => {
  it('is read, and neither changed nor run in', async () => {
    const person = await begin({
      trust: false,
      files: { 'a.txt': 'secret of a\n', '.vscode/settings.json': JSON.stringify({ 'tandem.mode': 'auto' }) },
      settings: { 'tandem.mode': 'auto', 'security.workspace.trust.startupPrompt': 'never' },
    });
    try {
      const { model } = person;
      await person.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
      await person.openChat();
      model.reply([
        { call: 'read_file', args: { path: 'a.txt' } },
        { call: 'write_file', args: { path: 'b.txt', content: 'written\n' } },
        { call: 'bash', args: { command: 'touch c.txt' } },
      ]);
      model.reply(['That is all I can do here.']);
      await person.ask('try');
      await person.sees('That is all I can do here.');
      const offered = model.requests[0].tools.map((tool) => tool.function.name);
      assert.ok(offered.includes('read_file') && !offered.includes('write_file') && !offered.includes('bash'), offered.join());
      const answers = model.requests[1].messages.filter((message) => message.role === 'tool').map((m) => m.content);
      assert.match(answers[0], /secret of a/);
      assert.match(answers[1], /TOOL_NOT_FOUND/);
      assert.match(answers[2], /TOOL_NOT_FOUND/);
      await assert.rejects(access(join(person.editor.workspace, 'b.txt')));
      await assert.rejects(access(join(person.editor.workspace, 'c.txt')));
      assert.equal(await readFile(join(person.editor.workspace, 'a.txt'), 'utf8'), 'secret of a\n');
      if (process.env.PICTURES) {
        await person.page.screenshot({ path: join(process.env.PICTURES, 'untrusted.png') });
      }
      assert.deepEqual(person.window.ours(), []);
    } finally {
      await person.end();
    }
  });
});
