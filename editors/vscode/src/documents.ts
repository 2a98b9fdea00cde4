// What the server asks of documents besides edits.

import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { ElsewhereParams, ResyncParams, ResyncResult, SaveParams, SaveResult } from './protocol.ts';

function open(uri: string): vscode.TextDocument | undefined {
  const wanted = vscode.Uri.parse(uri, true).toString();
  return vscode.workspace.textDocuments.find((doc) => !doc.isClosed && doc.uri.toString() === wanted);
}

/** Saves one document; gives the reason where it is not saved. */
async function save(uri: string): Promise<string | undefined> {
  const doc = open(uri);
  if (!doc) {
    return 'not open';
  }
  try {
    // For a document that is newer on disk VS Code asks the person in its own way, and false comes back at once.
    return !doc.isDirty || (await doc.save()) ? undefined : 'VS Code did not save it: is the file newer on disk?';
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
}

/** Saves documents, one after the other. */
export async function saveDocuments(uris: readonly string[]): Promise<SaveResult> {
  const result: SaveResult = { saved: [], failed: [] };
  for (const uri of uris) {
    const reason = await save(uri);
    if (reason) {
      result.failed.push({ uri, reason });
    } else {
      result.saved.push(uri);
    }
  }
  return result;
}

/** The files that are open and changed in something that is no text document: a notebook or a custom editor. */
export function elsewhere(): string[] {
  const files = new Set<string>();
  const add = (uri: vscode.Uri) => {
    if (uri.scheme === 'file' && !open(uri.toString())) {
      files.add(uri.toString());
    }
  };
  for (const notebook of vscode.workspace.notebookDocuments) {
    if (notebook.isDirty) {
      add(notebook.uri);
    }
  }
  for (const { isDirty, input } of vscode.window.tabGroups.all.flatMap((group) => group.tabs)) {
    if (isDirty && (input instanceof vscode.TabInputCustom || input instanceof vscode.TabInputNotebook)) {
      add(input.uri);
    }
  }
  return [...files].sort();
}

/** How long VS Code may take, after it told of a change, until what it says of the document is so. */
const DIRTY_MS = 100;

/** Tells every server which files those are, whenever they are others. */
function tellElsewhere(backend: Backend): vscode.Disposable {
  let told = '[]';
  let timer: NodeJS.Timeout | undefined;
  const tell = () => {
    const uris = elsewhere();
    const now = JSON.stringify(uris);
    if (now !== told && backend.state === 'running') {
      told = now;
      void backend.notify('tandem/documents/elsewhere', { uris } satisfies ElsewhereParams);
    }
  };
  const changed = () => {
    tell();
    clearTimeout(timer);
    timer = setTimeout(tell, DIRTY_MS);
  };
  return vscode.Disposable.from(
    vscode.workspace.onDidChangeNotebookDocument(changed),
    vscode.workspace.onDidOpenNotebookDocument(changed),
    vscode.workspace.onDidSaveNotebookDocument(changed),
    vscode.workspace.onDidCloseNotebookDocument(changed),
    vscode.window.tabGroups.onDidChangeTabs(changed),
    backend.onState((state) => {
      if (state === 'running') {
        told = '[]'; // a new server knows of none
        tell();
      }
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

/** Serves tandem/documents/*, and tells of changed line ends, which VS Code counts as a version but not as a change. */
export function serveDocuments(backend: Backend): vscode.Disposable[] {
  const ends = new WeakMap<vscode.TextDocument, vscode.EndOfLine>();
  const remember = (doc: vscode.TextDocument) => ends.set(doc, doc.eol);
  vscode.workspace.textDocuments.forEach(remember);
  return [
    tellElsewhere(backend),
    vscode.workspace.onDidOpenTextDocument(remember),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      const changed = ends.get(document) !== document.eol;
      remember(document);
      if (changed && contentChanges.length === 0 && document.uri.scheme === 'file') {
        void backend.notify('textDocument/didChange', {
          textDocument: { uri: document.uri.toString(), version: document.version },
          contentChanges: [{ text: document.getText() }],
        });
      }
    }),
    backend.onRequest<SaveParams, SaveResult>('tandem/documents/save', ({ uris }) => saveDocuments(uris)),
    backend.onRequest<ResyncParams, ResyncResult>('tandem/documents/resync', ({ uri }) => {
      const doc = open(uri);
      if (!doc) {
        throw new Error('the document is not open');
      }
      return { text: doc.getText(), version: doc.version };
    }),
  ];
}
