import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { ToolResult } from '../../../vscode/src/protocol.ts';
import { Session, at, call, closeAll, disk, edit, file, put, replace, running, until } from './rig.ts';

describe('languages', () => {
  afterEach(closeAll);

  it('asks the TypeScript server for definitions, references, renames and what an edit breaks', async () => {
    const settings = vscode.workspace.getConfiguration('typescript');
    await settings.update('preferences.useAliasesForRenames', false, vscode.ConfigurationTarget.Global);
    await put('tsconfig.json', '{"compilerOptions": {"strict": true}}\n');
    await put('use.ts', "import { add } from './calc';\nexport const three: number = add(1, 2);\n");
    const editor = await edit('calc.ts', 'export function add(a: number, b: number): number { return a + b; }\n');
    await editor.edit((builder) => builder.insert(at(0, 0).start, '// typed\n'));
    const session = await Session.start(
      [
        call('definition', { path: 'use.ts', line: 2, symbol: 'add' }) + '\nsee /(?s)1 definition.*calc.ts:2/',
        call('references', { path: 'calc.ts', line: 2, symbol: 'add' }) + '\nsee /(?s)3 references .*calc.ts:2 .*use.ts:1 .*use.ts:2 /',
        call('document_symbols', { path: 'calc.ts' }) + '\nsee /2 . function add/',
        call('read_file', { path: 'calc.ts' }),
        replace('calc.ts', 'return a + b', 'return a + cc'),
        call('diagnostics', { path: 'calc.ts' }) + "\nsee /calc.ts:2 error: Cannot find name 'cc'.*\\n.*cc; }\\s*\\z/",
        replace('calc.ts', 'return a + cc', 'return a + b') + '\nsee /return a . b; }\\s*\\z/',
        call('diagnostics', { path: 'calc.ts' }) + '\nsee /No diagnostics in calc.ts\\.\\s*\\z/',
        call('rename_symbol', { path: 'calc.ts', line: 2, symbol: 'add', new_name: 'sum' }) + '\nsee /at 3 places in 2 files/',
        'say ok\n',
      ].join('\n'),
    );
    await session.run();
    assert.match(editor.document.getText(), /^\/\/ typed\nexport function sum\(/);
    const use = await vscode.workspace.openTextDocument(file('use.ts'));
    await until('the other file has the new name', () => /sum\(1, 2\)/.test(use.getText()));
    await session.end();
  });

  it('formats a file and lists the actions of the TypeScript server', async () => {
    await put('tsconfig.json', '{"compilerOptions": {"strict": true}}\n');
    await put('lib.ts', 'export const one = 1;\n');
    const editor = await edit('untidy.ts', "import { one } from './lib';\nexport   const two   = one+1;\n");
    await editor.edit((builder) => builder.insert(at(0, 0).start, '// typed\n'));
    await put('loose.ts', 'export const n = 1 + 2;\n');
    const session = await Session.start(
      [
        call('format', { path: 'untidy.ts' }) + '\nsee /export const two = one . 1;/',
        call('code_actions', { path: 'loose.ts', start_line: 1 }) + '\nsee /(?s)code actions for loose.ts line 1.*Convert named export to default export/',
        'say ok\n',
      ].join('\n'),
    );
    await session.run();
    assert.match(editor.document.getText(), /^\/\/ typed\n[^]*export const two = one \+ 1;/);
    await session.end();
  });

  it('says with an edit what it breaks, and nothing with its repair', async () => {
    const { backend } = await running();
    await put('tsconfig.json', '{"compilerOptions": {"strict": true}}\n');
    await edit('broken.ts', 'export const sum = (a: number, b: number): number => a + b;\n');
    const session = await Session.start('say ok\n');
    const warnings = async (name: string, params: object) => {
      const result = await backend.request<ToolResult>('tandem/tools/call', { sessionId: session.id, name, arguments: params });
      assert.ok(result.success, result.data);
      return result.warnings ?? [];
    };
    const change = (from: string, to: string) => warnings('edit_file', { path: 'broken.ts', old_text: from, new_text: to });
    await warnings('read_file', { path: 'broken.ts' });
    // The server of TypeScript is waited for half a second, which is not enough on a busy machine now and then.
    await until('an edit says what it breaks', async () => {
      const broken = await change('a + b', 'a + cc');
      assert.deepEqual(await change('a + cc', 'a + b'), []);
      return broken.some((one) => one.startsWith("New: broken.ts:1 error: Cannot find name 'cc'"));
    });
    await session.end();
  });

  it('renames in closed files, which are saved, and in an open one, which is not', async () => {
    await put('tsconfig.json', '{"compilerOptions": {"strict": true}}\n');
    await put('far.ts', 'export function far(): number { return 1; }\n');
    await put('farther.ts', "import { far } from './far';\nexport const farther = far();\n");
    const editor = await edit('near.ts', "import { far } from './far';\nexport const near = far();\n");
    // The TypeScript server hears of new files by a watcher, some time later.
    await until('the server knows all three files', async () => {
      const where = new vscode.Position(0, 9);
      const found = await vscode.commands.executeCommand<vscode.Location[]>('vscode.executeReferenceProvider', editor.document.uri, where);
      return found.length >= 5;
    });
    const session = await Session.start(
      call('rename_symbol', { path: 'far.ts', line: 1, symbol: 'far', new_name: 'away' }) + '\nsee /at 5 places in 3 files/\nsay ok\n',
    );
    await session.run();
    assert.match(await disk('far.ts'), /function away\(/);
    assert.match(await disk('farther.ts'), /farther = away\(\)/);
    assert.match(editor.document.getText(), /near = away\(\)/);
    assert.ok(editor.document.isDirty, 'what is open is left for the person to save');
    const dirty = vscode.workspace.textDocuments.filter((doc) => doc.isDirty).map((doc) => doc.uri.path.replace(/.*\//, ''));
    assert.deepEqual(dirty, ['near.ts']);
    await session.end();
  });
});
