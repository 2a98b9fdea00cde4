// Applies the server's edits.
//
// An edit goes in only where the document still is what it was computed for, or not at all. The check that counts is
// VS Code's own, in the process that holds the text: TextEditor.edit and WorkspaceEdit both take the document's version
// along, which is the one compared here as long as nothing is awaited in between.

import * as vscode from 'vscode';
import type { ApplyWorkspaceEditParams } from 'vscode-languageclient';
import { carry, Changes } from './carry.ts';
import type { ApplyEditResult, LandedVersion } from './protocol.ts';
import { pushesDown, sameText, shift, type TextEdit } from './textedits.ts';

type Operation = { kind: 'create' | 'delete'; uri: string } | { kind: 'rename'; oldUri: string; newUri: string };
type DocumentEdit = { kind?: undefined; textDocument: { uri: string; version: number | null }; edits: TextEdit[] };
type Change = Operation | DocumentEdit;

const refuse = (failureReason: string): ApplyEditResult => ({ applied: false, failureReason });

/** The edit was made: each document with the version that has it. */
const landed = (versions: LandedVersion[]): ApplyEditResult =>
  versions.length > 0 ? { applied: true, tandem: { versions } } : { applied: true };

/** The text has changed since the edit was computed: the server carries it over and asks again. */
const MOVED_ON = 'version';

/** How long an edit is carried over keys that keep crossing its way before the server is told. */
const CARRY_MS = 2000;

const typed = new WeakMap<vscode.TextDocument, Changes>();

/** Remembers what is typed, so that edits can be carried over it. */
export function watchTyping(): vscode.Disposable {
  return vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (document.uri.scheme === 'file' && contentChanges.length > 0) {
      let changes = typed.get(document);
      if (!changes) {
        changes = new Changes();
        typed.set(document, changes);
      }
      changes.add(document.version, contentChanges.map(({ range, text }) => ({ range, newText: text })));
    }
  });
}

/** Edits for a version as edits for the present text; undefined where they cannot be without the server's say. */
function present(document: vscode.TextDocument, version: number, edits: TextEdit[]): TextEdit[] | undefined {
  if (document.version === version) {
    return edits;
  }
  const changes = typed.get(document)?.between(version, document.version);
  return changes && carry(edits, changes);
}

/** Answers workspace/applyEdit. */
export async function handleApplyEdit({ edit }: ApplyWorkspaceEditParams): Promise<ApplyEditResult> {
  const changes = (edit.documentChanges ?? []) as Change[];
  if (edit.changes && Object.keys(edit.changes).length > 0) {
    return refuse('changes without versions are not taken');
  }
  if (!vscode.workspace.isTrusted) {
    return refuse('the workspace is not trusted');
  }
  try {
    const created = await createFiles(changes);
    const texts = changes.filter((change): change is DocumentEdit => change.kind === undefined);
    const unseen = await openClosed(texts, created);
    if (unseen) {
      return refuse(MOVED_ON);
    }
    if (await newerOnDisk(changes)) {
      return refuse('disk');
    }
    return await applyNow(changes, texts, created);
  } catch (err) {
    return refuse(err instanceof Error ? err.message : String(err));
  }
}

function openDocument(uri: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.parse(uri, true).toString();
  return vscode.workspace.textDocuments.find((doc) => !doc.isClosed && doc.uri.toString() === wanted);
}

/** Makes the files that are to be made and are not there; gives their URIs. */
async function createFiles(changes: Change[]): Promise<Set<string>> {
  const made = new Set<string>();
  for (const change of changes) {
    if (change.kind !== 'create' || openDocument(change.uri)) {
      continue;
    }
    const uri = vscode.Uri.parse(change.uri, true);
    const there = await vscode.workspace.fs.stat(uri).then(
      () => true,
      () => false,
    );
    if (there) {
      continue;
    }
    const create = new vscode.WorkspaceEdit();
    create.createFile(uri, { ignoreIfExists: true });
    if (!(await vscode.workspace.applyEdit(create))) {
      throw new Error('the file cannot be made');
    }
    made.add(change.uri);
  }
  return made;
}

/**
 * Opens documents that are not open, in no editor. The server has not seen what they say, unless they are new: it is told
 * now, and true is returned for the edit to wait for its next try.
 */
async function openClosed(texts: DocumentEdit[], created: Set<string>): Promise<boolean> {
  let unseen = false;
  for (const { textDocument } of texts) {
    if (!openDocument(textDocument.uri)) {
      await vscode.workspace.openTextDocument(vscode.Uri.parse(textDocument.uri, true));
      unseen ||= !created.has(textDocument.uri);
    }
  }
  return unseen;
}

/** Whether a document that is to be deleted has a file that another program has written since: VS Code would delete both. */
async function newerOnDisk(changes: Change[]): Promise<boolean> {
  for (const change of changes) {
    const doc = change.kind === 'delete' ? openDocument(change.uri) : undefined;
    if (!doc || doc.isDirty) {
      continue;
    }
    const stored = await vscode.workspace.fs.readFile(doc.uri).then(
      (bytes) => vscode.workspace.decode(bytes, { uri: doc.uri }),
      () => undefined, // no file is nothing newer
    );
    if (stored !== undefined && !sameText(stored, doc.getText())) {
      return true;
    }
  }
  return false;
}

function applyNow(changes: Change[], texts: DocumentEdit[], created: Set<string>): Promise<ApplyEditResult> {
  const [text] = texts;
  const doc = text && openDocument(text.textDocument.uri);
  const shown = vscode.window.visibleTextEditors.filter((editor) => editor.document === doc);
  const editor = shown.find((one) => one === vscode.window.activeTextEditor) ?? shown[0];
  if (editor && text && changes.length === 1 && text.textDocument.version !== null) {
    return inEditor(editor, text.textDocument.uri, text.textDocument.version, text.edits);
  }
  return outOfSight(changes, texts, created);
}

function fits(document: vscode.TextDocument, edits: TextEdit[]): boolean {
  return edits.every(({ range }) => document.validateRange(toRange(range)).isEqual(toRange(range)));
}

const toRange = ({ start, end }: TextEdit['range']): vscode.Range =>
  new vscode.Range(start.line, start.character, end.line, end.character);

/**
 * In an editor that is on the screen: carets, selections and the lines that one looks at stay where they are. Keys that
 * arrive on other lines while the edit is on its way only have it carried over them.
 */
async function inEditor(
  editor: vscode.TextEditor,
  uri: string,
  version: number,
  sent: TextEdit[],
): Promise<ApplyEditResult> {
  const { document } = editor;
  for (const end = Date.now() + CARRY_MS; ; ) {
    const before = document.version;
    const edits = present(document, version, sent);
    if (!edits || document.isClosed) {
      return refuse(MOVED_ON);
    }
    if (!fits(document, edits)) {
      return refuse('range');
    }
    // Nothing is awaited from here on until VS Code has the edit and the version that it is for.
    const done = tryEdit(editor, edits);
    const scrolled = vscode.window.visibleTextEditors
      .filter((other) => other.document === document)
      .map((other) => keepView(other, edits));
    if (await done) {
      if (document.version !== before || edits.length === 0) {
        // VS Code made the edit for this version alone; what is typed since has later ones.
        return landed([{ uri, version: edits.length === 0 ? before : before + 1 }]);
      }
      // An editor that must not be written to takes no edit and says that it did.
      scrolled.forEach((undo) => undo());
      return refuse('the document is read-only');
    }
    scrolled.forEach((undo) => undo());
    if (document.version === before || Date.now() > end) {
      return refuse(MOVED_ON);
    }
  }
}

function tryEdit(editor: vscode.TextEditor, edits: TextEdit[]): Thenable<boolean> {
  return editor.edit(
    (builder) => {
      for (const edit of edits) {
        if (pushesDown(edit)) {
          builder.insert(toRange(edit.range).start, edit.newText);
        } else {
          builder.replace(toRange(edit.range), edit.newText);
        }
      }
    },
    { undoStopBefore: true, undoStopAfter: true },
  );
}

/**
 * Scrolls along with lines that come or go above what an editor shows. Sent right behind the edit, so that it is drawn
 * with it; gives what takes it back.
 */
function keepView(editor: vscode.TextEditor, edits: TextEdit[]): () => void {
  const top = editor.visibleRanges[0]?.start.line ?? 0;
  const moved = shift(edits, top);
  if (moved === 0 || top === 0) {
    return () => {};
  }
  if (editor === vscode.window.activeTextEditor) {
    scroll(moved);
    return () => scroll(-moved);
  }
  const show = (line: number) =>
    editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.AtTop);
  show(Math.max(0, top + moved));
  return () => show(top);
}

function scroll(lines: number): void {
  const to = lines > 0 ? 'down' : 'up';
  void vscode.commands.executeCommand('editorScroll', {
    to,
    by: 'wrappedLine',
    value: Math.abs(lines),
    revealCursor: false,
  });
}

/** In documents that no editor shows, and in files. Nothing is awaited before VS Code has the edit and its versions. */
async function outOfSight(
  changes: Change[],
  texts: DocumentEdit[],
  created: Set<string>,
): Promise<ApplyEditResult> {
  const versions: LandedVersion[] = [];
  for (const { textDocument, edits } of texts) {
    const doc = openDocument(textDocument.uri);
    if (!doc || (created.has(textDocument.uri) ? doc.getText() !== '' : doc.version !== textDocument.version)) {
      return refuse(MOVED_ON);
    }
    if (!fits(doc, edits)) {
      return refuse('range');
    }
    versions.push({ uri: textDocument.uri, version: edits.length === 0 ? doc.version : doc.version + 1 });
  }
  const whole = new vscode.WorkspaceEdit();
  for (const change of changes) {
    switch (change.kind) {
      case undefined: {
        const edits = change.edits.map((edit) => vscode.TextEdit.replace(toRange(edit.range), edit.newText));
        whole.set(vscode.Uri.parse(change.textDocument.uri, true), edits);
        break;
      }
      case 'create':
        break;
      case 'rename':
        whole.renameFile(vscode.Uri.parse(change.oldUri, true), vscode.Uri.parse(change.newUri, true), { overwrite: false });
        break;
      case 'delete':
        whole.deleteFile(vscode.Uri.parse(change.uri, true), { ignoreIfNotExists: true, recursive: false });
        break;
    }
  }
  if (changes.every(({ kind }) => kind === 'create')) {
    return changes.length > 0 ? landed(versions) : refuse('no edit');
  }
  return (await vscode.workspace.applyEdit(whole)) ? landed(versions) : refuse(MOVED_ON);
}
