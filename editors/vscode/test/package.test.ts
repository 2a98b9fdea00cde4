import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const read = (name: string) => readFileSync(name, 'utf8');

test('the settings are those of the schema', () => {
  execFileSync(process.execPath, ['scripts/settings.mjs', '--check'], { stdio: 'pipe' });
});

test('a package without a server is warned of', () => {
  const manifest = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  assert.match(manifest.scripts['vscode:prepublish']!, /&& node scripts\/program\.mjs$/);
  const said = (folder: string) => spawnSync(process.execPath, ['scripts/program.mjs', folder], { encoding: 'utf8' }).stderr;
  const folder = mkdtempSync(join(tmpdir(), 'tandem-bin-'));
  assert.match(said(folder), /no server in this package/);
  writeFileSync(join(folder, 'tandem'), '');
  assert.equal(said(folder), '');
});

test('FaultV5 added lines have a mark in every theme of high contrast', () => {
  const { contributes } = JSON.parse(read('package.json')) as {
    contributes: { colors: { id: string; defaults: Record<string, string> }[] };
  };
  const border = contributes.colors.find((c) => c.id === 'tandem.addedLineBorder')!;
  for (const theme of ['highContrast', 'highContrastLight']) {
    assert.match(border.defaults[theme] ?? '', /^\w+\.\w+$/, `${theme} has a colour that such a theme defines`);
  }
  const added = /createTextEditorDecorationType\(\{([^}]*addedLineBackground[^}]*)\}\)/.exec(read('src/review.ts'))?.[1] ?? '';
  assert.match(added, /borderColor: new vscode\.ThemeColor\('tandem\.addedLineBorder'\)/);
  assert.match(added, /borderWidth: '0 0 0 [1-9]px'/);
  assert.match(added, /borderStyle: '(solid|dashed)'/);
});

test('no registry is named in the lockfile', () => {
  assert.doesNotMatch(read('package-lock.json'), /"resolved"|https?:\/\/[^"]*registry/);
});

test('the bundles keep to their size', (t) => {
  execFileSync(process.execPath, ['esbuild.mjs'], { stdio: 'pipe' });
  const size = (name: string) => statSync(`dist/${name}`).size;
  const extension = size('extension.js');
  const page = size('webview/main.js') + size('webview/main.css');
  t.diagnostic(`the extension has ${extension} bytes, its web page ${page}`);
  assert.ok(extension <= 600_000, `extension.js has ${extension} bytes`);
  assert.ok(page <= 400_000, `the web page has ${page} bytes`);
});

test('every command has a title and is registered', () => {
  const manifest = JSON.parse(read('package.json')) as {
    contributes: { commands: { command: string; title: string }[]; menus: Record<string, { command: string }[]> };
  };
  const source = read('src/extension.ts');
  const names = manifest.contributes.commands.map((one) => one.command);
  for (const name of names) {
    assert.ok(source.includes(`command('${name.replace('tandem.', '')}'`), `${name} is not registered`);
  }
  for (const entry of Object.values(manifest.contributes.menus).flat()) {
    assert.ok(names.includes(entry.command), `${entry.command} has no title`);
  }
});
