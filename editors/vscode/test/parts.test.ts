import assert from 'node:assert/strict';
import { chmod, mkdtemp, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { findProgram } from '../src/binary.ts';
import { Restarts } from '../src/restarts.ts';
import { searchesOf } from '../src/searched.ts';
import { declaredIn, explicit } from '../src/settings.ts';
import { pushesDown, shift } from '../src/textedits.ts';

const edit = (line: number, character: number, endLine: number, endCharacter: number, newText: string) => ({
  range: { start: { line, character }, end: { line: endLine, character: endCharacter } },
  newText,
});

test('the program is that of the setting, of the bundle, of PATH', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tandem-find-'));
  const program = async (...path: string[]) => {
    const file = join(dir, ...path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, '');
    await chmod(file, 0o755);
    return file;
  };
  const places = { configured: '', extension: join(dir, 'ext'), path: join(dir, 'p') + delimiter + join(dir, 'q'), home: dir, windows: false };
  assert.deepEqual(await findProgram(places), { missing: 'The program "tandem" was not found in PATH.' });
  const inPath = await program('q', 'tandem');
  assert.deepEqual(await findProgram(places), { program: inPath, from: 'PATH' });
  const bundled = await program('ext', 'bin', 'tandem');
  assert.deepEqual(await findProgram(places), { program: bundled, from: 'bundle' });
  const own = await program('own');
  assert.deepEqual(await findProgram({ ...places, configured: own }), { program: own, from: 'setting' });
  assert.deepEqual(await findProgram({ ...places, configured: '~/own' }), { program: own, from: 'setting' });
  assert.deepEqual(await findProgram({ ...places, configured: 'tandem' }), { program: inPath, from: 'setting' });
  for (const wrong of [join(dir, 'none'), './own', 'none', dir]) {
    assert.ok('missing' in (await findProgram({ ...places, configured: wrong })), wrong);
  }
  await chmod(own, 0o644);
  assert.ok('missing' in (await findProgram({ ...places, configured: own })), 'one that cannot be run');
});

test('a server that keeps ending is given up, one that ends now and then is not', () => {
  let now = 0;
  const restarts = new Restarts(() => now, { ends: 4, windowMs: 1000 });
  assert.deepEqual([restarts.ended(), restarts.ended(), restarts.ended(), restarts.ended()], [0, 250, 500, undefined]);
  now = 1500;
  assert.equal(restarts.ended(), 0);
  restarts.reset();
  for (let i = 0; i < 10; i++) {
    now += 600;
    assert.notEqual(restarts.ended(), undefined);
  }
});

test('FindingS9S21 only what the person has set is sent, and nothing of a workspace', () => {
  const declared = declaredIn({
    contributes: {
      configuration: [
        {
          properties: {
            'tandem.path': { scope: 'machine' },
            'tandem.mode': { scope: 'application' },
            'tandem.strictPaths': { scope: 'window' },
            'tandem.limits.maxReadBytes': { scope: 'application' },
            'tandem.coerce': { scope: 'window' },
          },
        },
      ],
    },
  });
  const values: Record<string, object> = {
    path: { globalValue: '/bin/tandem' },
    mode: { globalValue: 'ask', workspaceValue: 'auto' },
    strictPaths: { globalValue: true, workspaceValue: false },
    'limits.maxReadBytes': { globalValue: 5000 },
    coerce: { workspaceValue: 'off', workspaceFolderValue: 'off' },
  };
  assert.deepEqual(explicit(declared, (name) => values[name]), {
    mode: 'ask',
    strictPaths: true,
    limits: { maxReadBytes: 5000 },
  });
});

test('how far edits move a line', () => {
  assert.equal(shift([edit(1, 0, 1, 0, 'a\nb\n')], 10), 2);
  assert.equal(shift([edit(1, 0, 4, 0, '')], 10), -3);
  assert.equal(shift([edit(10, 0, 10, 0, 'a\n')], 10), 1);
  assert.equal(shift([edit(10, 1, 10, 1, 'a\n')], 10), 0);
  assert.equal(shift([edit(12, 0, 12, 0, 'a\n'), edit(3, 0, 3, 2, 'x')], 10), 0);
  assert.ok(pushesDown(edit(1, 0, 1, 0, 'a\n')));
  assert.ok(!pushesDown(edit(1, 0, 1, 0, 'a')));
  assert.ok(!pushesDown(edit(1, 3, 1, 3, '\n')));
  assert.ok(!pushesDown(edit(1, 0, 2, 0, 'a\n')));
});

test('how a folder is searched is one line', () => {
  const lines = [
    searchesOf({ root: '/w', state: 'ready', files: 3000, bytes: 24 << 20 }),
    searchesOf({ root: '/w', state: 'ready', files: 3000, bytes: 7, reason: '5 of 3005 files are read by each search' }),
    searchesOf({ root: '/w', state: 'building', files: 3000 }),
    searchesOf({ root: '/w\n\u202e', state: 'walking', reason: 'it has more than 400000 files' }),
  ];
  assert.deepEqual(lines, [
    'Searches of /w: with an index of 3000 files (24 MiB)',
    'Searches of /w: with an index of 3000 files (1 MiB); 5 of 3005 files are read by each search',
    'Searches of /w: an index of 3000 files is being built',
    'Searches of /w\\u{a}\\u{202e}: without an index (it has more than 400000 files)',
  ]);
});
