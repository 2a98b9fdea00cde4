import * as assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import * as vscode from 'vscode';
import { elsewhere } from '../../../vscode/src/documents.ts';
import type { FileTimeResult, StatusResult } from '../../../vscode/src/protocol.ts';
import { ask, call, closeAll, disk, drive, edit, file, focus, press, put, replace, running, Session, type, until } from './rig.ts';

describe('documents', () => {
  afterEach(closeAll);

  it('tells the server of every version', async () => {
    const { backend } = await running();
    const editor = await edit('told.txt', 'one\n');
    await focus();
    await type('some words, typed\nquickly', 0);
    await press('Control+z');
    const told = async () => {
      const { files } = await backend.request<FileTimeResult>('tandem/fileTime/get', { uris: [editor.document.uri.toString()] });
      return files[0]?.version;
    };
    await until('the server has the version', async () => (await told()) === editor.document.version);
  });

  it('tells of line ends that are changed', async () => {
    const editor = await edit('ends.txt', 'one\ntwo\n');
    await editor.edit((builder) => builder.setEndOfLine(vscode.EndOfLine.CRLF));
    const session = await Session.start(
      call('read_file', { path: 'ends.txt' }) + '\n' + replace('ends.txt', 'two', 'TWO\nthree') + '\nsay ok\n',
    );
    await session.run();
    assert.equal(editor.document.getText(), 'one\r\nTWO\r\nthree\r\n');
    await session.end();
  });

  it('saves what a command is to see', async () => {
    const editor = await edit('saved.txt', 'one\n');
    const other = await edit('unsaved.txt', 'one\n');
    await other.edit((builder) => builder.insert(new vscode.Position(0, 0), 'mine '));
    const { done } = await ask(
      call('read_file', { path: 'saved.txt' }) +
        '\n' +
        replace('saved.txt', 'one', 'uno') +
        '\n' +
        call('bash', { command: 'cat saved.txt unsaved.txt > seen.txt' }) +
        '\nsay ok\n',
      'ask',
    );
    await drive('answer', { button: 'Allow' });
    await drive('answer', { button: 'Allow' });
    await done;
    assert.equal(await disk('seen.txt'), 'uno\none\n');
    await until('it is saved', async () => (await disk('saved.txt')) === 'uno\n');
    assert.ok(!editor.document.isDirty);
    assert.equal(await disk('unsaved.txt'), 'one\n');
    assert.ok(other.document.isDirty, 'what a person has not saved is left alone');
  });

  it('FindingN1 a notebook that is changed and not saved is not written over, and its cells are no files', async () => {
    const { backend } = await running();
    const uri = await put('notes.book', 'one\ntwo\nthree');
    const notebook = await vscode.workspace.openNotebookDocument(uri);
    await vscode.window.showNotebookDocument(notebook);
    const change = new vscode.WorkspaceEdit();
    change.set(uri, [vscode.NotebookEdit.deleteCells(new vscode.NotebookRange(0, 1))]);
    assert.ok(await vscode.workspace.applyEdit(change));
    await until('it is changed', () => notebook.isDirty);
    const session = await Session.start(call('read_file', { path: 'notes.book' }) + '\n' + replace('notes.book', 'two', 'TWO') + '\nsay ok\n');
    await session.prompt();
    const failed = session.updates.filter((update) => update.status === 'failed').map((update) => update._meta?.tandem);
    assert.ok(failed.length > 0 && failed.every((meta) => meta && 'error' in meta && meta.error === 'EDIT_CONFLICT'), JSON.stringify(failed));
    assert.equal(await disk('notes.book'), 'one\ntwo\nthree');
    await session.end();
    const { documents } = await backend.request<StatusResult>('tandem/status', {});
    assert.ok(!JSON.stringify(documents ?? {}).includes('notebook-cell'));

    assert.ok(await notebook.save());
    await until('it is saved', async () => !notebook.isDirty && (await disk('notes.book')) === 'two\nthree');
    await until('the server knows', () => elsewhere().length === 0);
    const again = await Session.start(call('read_file', { path: 'notes.book' }) + '\n' + replace('notes.book', 'two', 'TWO') + '\nsay ok\n');
    await again.run();
    await until('the edit is in', async () => (await disk('notes.book')) === 'TWO\nthree');
    await again.end();
  });

  it('reports what cannot be saved', async () => {
    await running();
    const editor = await edit('newer.txt', 'one\n');
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), 'mine '));
    await writeFile(file('newer.txt').fsPath, 'from outside, and longer\n');
    const { saveDocuments } = await import('../../../vscode/src/documents.ts');
    const uri = editor.document.uri.toString();
    const gone = file('never-opened.txt').toString();
    const { saved, failed } = await saveDocuments([uri, gone]);
    assert.deepEqual(saved, []);
    assert.deepEqual(failed.map((one) => one.uri), [uri, gone]);
    assert.equal(await disk('newer.txt'), 'from outside, and longer\n');
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });
});
