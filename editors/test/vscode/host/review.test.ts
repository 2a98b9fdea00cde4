import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { at, call, closeAll, disk, drive, edit, replace, running, Session, until } from './rig.ts';

const lenses = async (uri: vscode.Uri): Promise<string[]> => {
  const all = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 100);
  return all.map((lens) => lens.command?.title ?? '');
};

const before = (uri: vscode.Uri) => uri.with({ scheme: 'tandem-before', query: uri.toString() });

describe('review', () => {
  let session: Session;
  let editor: vscode.TextEditor;
  let name: string;
  let number = 0;

  beforeEach(async () => {
    name = `review${++number}.txt`;
    editor = await edit(name, 'one\ntwo\nthree\nfour\nfive\nsix\n');
    session = await Session.start(
      call('read_file', { path: name }) +
        '\n' +
        replace(name, 'two\n', 'TWO\nand more\n') +
        '\n' +
        replace(name, 'five\n', '') +
        '\nsay ok\n',
    );
    await session.run();
    const { review } = await running();
    await until('two changes wait', () => review.pending.hunks === 2);
  });

  afterEach(async () => {
    await session.end();
    (await running()).review.show(undefined);
    await closeAll();
  });

  it('shows what waits', async () => {
    assert.equal(editor.document.getText(), 'one\nTWO\nand more\nthree\nfour\nsix\n');
    const titles = await lenses(editor.document.uri);
    assert.ok(titles.includes('Tandem: 2 changes'), titles.join(', '));
    assert.equal(titles.filter((title) => title.includes('Accept') && !title.includes('File')).length, 2);
    assert.ok(titles.includes('+2 −1') && titles.includes('+0 −1'), titles.join(', '));
    await drive('picture', { name: 'review' });
  });

  it('FindingU1 has its lenses asked for also where the keyboard goes to the chat just after they changed', () =>
    askedAfter('tandem.chat.focus'));

  it('FindingU1 has its lenses asked for also where the keyboard goes to the list of files just after they changed', () =>
    askedAfter('workbench.files.action.focusFilesExplorer'));

  /** Has the keyboard leave the editor by a command, just after its lenses changed. */
  async function askedAfter(leave: string): Promise<void> {
    const { review } = await running();
    let asked = 0;
    // Whoever has lenses is asked where one of them has others.
    const other = vscode.languages.registerCodeLensProvider({ scheme: 'file' }, { provideCodeLenses: () => void asked++ });
    try {
      await vscode.commands.executeCommand('tandem.chat.focus');
      await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
      await until('the editor has been asked about', () => asked > 0);
      const changed = new Promise<void>((resolve) => {
        const heard = review.onChanged(() => {
          heard.dispose();
          resolve();
        });
      });
      review.show(session.id);
      await changed;
      asked = 0;
      await vscode.commands.executeCommand(leave);
      await until('the lenses are asked for', () => asked > 0);
    } finally {
      other.dispose();
    }
  }

  it('gives the text from before for a diff', async () => {
    await vscode.commands.executeCommand('tandem.openDiff');
    const left = await vscode.workspace.openTextDocument(before(editor.document.uri));
    assert.equal(left.getText(), 'one\ntwo\nthree\nfour\nfive\nsix\n');
    await until('the diff is open', () => vscode.window.tabGroups.activeTabGroup.activeTab?.input instanceof vscode.TabInputTextDiff);
    await drive('picture', { name: 'diff' });
  });

  it('accepts one and rejects the other', async () => {
    const { review } = await running();
    editor.selection = at(1, 0);
    await vscode.commands.executeCommand('tandem.acceptHunk');
    await until('one is left', () => review.pending.hunks === 1);
    await vscode.commands.executeCommand('tandem.nextChange');
    assert.ok(Math.abs(editor.selection.active.line - 5) <= 1, `the caret is on line ${editor.selection.active.line}`);
    await vscode.commands.executeCommand('tandem.rejectHunk');
    await until('none is left', () => review.pending.hunks === 0);
    assert.equal(editor.document.getText(), 'one\nTWO\nand more\nthree\nfour\nfive\nsix\n');
    assert.deepEqual(await lenses(editor.document.uri), []);
  });

  it('follows what is typed above', async () => {
    const { review } = await running();
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), 'zero\nand a half\n'));
    editor.selection = at(3, 0);
    await vscode.commands.executeCommand('tandem.rejectHunk');
    await until('one is left', () => review.pending.hunks === 1);
    assert.equal(editor.document.getText(), 'zero\nand a half\none\ntwo\nthree\nfour\nsix\n');
  });

  it('rejects all', async () => {
    const { review } = await running();
    await vscode.commands.executeCommand('tandem.rejectAll');
    await until('none is left', () => review.pending.hunks === 0);
    assert.equal(editor.document.getText(), 'one\ntwo\nthree\nfour\nfive\nsix\n');
  });

  it('undoes the turn and keeps what was typed', async () => {
    const { review } = await running();
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), 'mine '));
    await vscode.commands.executeCommand('tandem.undoTurn');
    await until('none is left', () => review.pending.hunks === 0);
    assert.equal(editor.document.getText(), 'mine one\ntwo\nthree\nfour\nfive\nsix\n');
    assert.equal(await disk(name), 'one\ntwo\nthree\nfour\nfive\nsix\n');
  });
});
