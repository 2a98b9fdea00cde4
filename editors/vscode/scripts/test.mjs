// Runs the tests that need no editor: every *.test.ts of src, webview and test. Arguments go to node.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'out', 'unit');
const tests = ['src', 'webview', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name)),
);
rmSync(out, { recursive: true, force: true });
await esbuild.build({
  absWorkingDir: root,
  entryPoints: tests,
  outdir: out,
  outbase: '.',
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  target: 'node20',
  sourcemap: 'inline',
  logLevel: 'warning',
});
const files = tests.map((name) => join(out, name.replace(/\.ts$/, '.mjs')));
const args = ['--enable-source-maps', '--test-reporter=spec', ...process.argv.slice(2), '--test', ...files];
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit', cwd: root }).status ?? 1);
