// Asks the other language servers of VS Code about code: tandem/editor/request.

import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import type { EditorReply, EditorRequestParams, EditorRequestResult } from './protocol.ts';

interface Position {
  line: number;
  character: number;
}

interface Asked {
  position?: Position;
  query?: string;
  newName?: string;
  range?: { start: Position; end: Position };
  options?: { tabSize: number; insertSpaces: boolean };
}

const at = ({ line, character }: vscode.Position) => ({ line, character });
const range = ({ start, end }: vscode.Range) => ({ start: at(start), end: at(end) });

function place(found: vscode.Location | vscode.LocationLink) {
  return 'targetUri' in found
    ? { uri: found.targetUri.toString(), range: range(found.targetSelectionRange ?? found.targetRange) }
    : { uri: found.uri.toString(), range: range(found.range) };
}

/**
 * A symbol as LSP has it, which counts kinds from 1. The extension of TypeScript adds () to the names of functions that it finds in the
 * workspace; here it is taken off.
 */
function symbol(found: vscode.DocumentSymbol | vscode.SymbolInformation): object {
  const { kind } = found;
  const name = found.name.replace(/(?<=.)\(\)$/, '');
  return 'location' in found
    ? { name, kind: kind + 1, containerName: found.containerName, location: place(found.location) }
    : {
        name,
        kind: kind + 1,
        detail: found.detail,
        range: range(found.range),
        selectionRange: range(found.selectionRange),
        children: found.children.map(symbol),
      };
}

/** A diagnostic as LSP has it, which counts severities from 1. */
function diagnostic(found: vscode.Diagnostic): object {
  const { code } = found;
  return {
    range: range(found.range),
    severity: found.severity + 1,
    source: found.source,
    code: typeof code === 'object' ? code.value : code,
    message: found.message,
  };
}

/**
 * The open document of a file. VS Code's own commands open a file for as long as they take; what has to be opened before one stays open
 * for some minutes, and the server saves what it changes in it.
 */
const opened = (uri: vscode.Uri) => vscode.workspace.textDocuments.find((doc) => doc.uri.toString() === uri.toString());

const symbolsOf = (uri: vscode.Uri) =>
  vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
    'vscode.executeDocumentSymbolProvider',
    uri,
  );

interface TypeScriptPlace {
  line: number;
  offset: number;
}

/** A diagnostic of the server of TypeScript, which counts lines and characters from 1. */
interface TypeScriptDiagnostic {
  start: TypeScriptPlace;
  end: TypeScriptPlace;
  text: string;
  code?: number;
  category: string;
}

const TYPESCRIPT = ['typescript', 'typescriptreact', 'javascript', 'javascriptreact'];

/** What VS Code calls the source of what the server of TypeScript finds. */
const TYPESCRIPT_SOURCE = 'ts';

/** What the server of TypeScript answers about a document; undefined where it is not there. It loads the project first. */
async function askTypeScript(doc: vscode.TextDocument, command: string): Promise<TypeScriptDiagnostic[] | undefined> {
  const asked = vscode.commands.executeCommand<{ body?: TypeScriptDiagnostic[] } | undefined>(
    'typescript.tsserverRequest',
    command,
    { file: doc.uri },
  );
  const answer = await Promise.resolve(asked).catch(() => undefined);
  return Array.isArray(answer?.body) ? answer.body : undefined;
}

/**
 * Waits until the server of TypeScript has loaded the project of a file: until then another one, which knows single files alone,
 * answers VS Code, and leaves out what is in others.
 */
async function loaded(uri: vscode.Uri): Promise<void> {
  if (/\.[cm]?[jt]sx?$/.test(uri.path)) {
    const doc = opened(uri) ?? (await vscode.workspace.openTextDocument(uri));
    await (TYPESCRIPT.includes(doc.languageId) && askTypeScript(doc, 'semanticDiagnosticsSync'));
  }
}

/**
 * What the server of TypeScript says of a document when it is asked; undefined where it is not there. VS Code has its diagnostics too,
 * but says of none which text it is about.
 */
async function fromTypeScript(doc: vscode.TextDocument): Promise<EditorReply | undefined> {
  if (!TYPESCRIPT.includes(doc.languageId)) {
    return undefined;
  }
  const { version } = doc;
  const items: object[] = [];
  const place = ({ line, offset }: TypeScriptPlace) => ({ line: Math.max(line, 1) - 1, character: Math.max(offset, 1) - 1 });
  for (const command of ['syntacticDiagnosticsSync', 'semanticDiagnosticsSync', 'suggestionDiagnosticsSync']) {
    const found = await askTypeScript(doc, command);
    if (!found) {
      return undefined;
    }
    for (const { start, end, text, code, category } of found) {
      const severity = { error: 1, warning: 2 }[category] ?? 4;
      items.push({ range: { start: place(start), end: place(end) }, severity, source: TYPESCRIPT_SOURCE, code, message: text });
    }
  }
  return doc.version === version ? { server: 'TypeScript', version, result: { kind: 'full', items } } : undefined;
}

/** What is wrong with a file. */
async function diagnostics(uri: vscode.Uri): Promise<EditorReply[]> {
  const doc = opened(uri);
  const asked = doc && (await fromTypeScript(doc));
  const items = vscode.languages
    .getDiagnostics(uri)
    .filter(({ source }) => !asked || source !== TYPESCRIPT_SOURCE)
    .map(diagnostic);
  // Servers look at open documents. Where nothing knows the symbols of one, nothing looks at its text either.
  const others = items.length > 0 || (!asked && doc && (await symbolsOf(uri))?.length) ? [{ result: { kind: 'full', items } }] : [];
  return asked ? [asked, ...others] : others;
}

const changes = (edit: vscode.WorkspaceEdit) => ({
  documentChanges: edit.entries().map(([of, list]) => ({
    textDocument: { uri: of.toString(), version: null },
    edits: list.map(textEdit),
  })),
});

const textEdit = (one: vscode.TextEdit) => ({ range: range(one.range), newText: one.newText });

/** A code action as LSP has it; one that is a command alone stays one. */
function action(found: vscode.CodeAction | vscode.Command): object {
  if (typeof found.command === 'string') {
    return { title: found.title, command: found.command };
  }
  const { title, kind, isPreferred, disabled, edit, command } = found as vscode.CodeAction;
  return {
    title,
    kind: kind?.value,
    isPreferred,
    disabled,
    edit: edit?.size ? changes(edit) : undefined,
    command: command && { title: command.title, command: command.command },
  };
}

/** So many actions are resolved where the edit of one is wanted. */
const MOST_RESOLVED = 100;

/** What the servers together answer, undefined where there is nothing: VS Code does not say whether a server was asked. */
async function answer(uri: vscode.Uri, method: string, params: Asked, resolve?: string): Promise<unknown> {
  const position = params.position && new vscode.Position(params.position.line, params.position.character);
  const places = async (command: string) => {
    const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[] | undefined>(
      command,
      uri,
      position,
    );
    return found?.map(place);
  };
  switch (method) {
    case 'textDocument/definition':
      return places('vscode.executeDefinitionProvider');
    case 'textDocument/references':
      return places('vscode.executeReferenceProvider');
    case 'textDocument/documentSymbol':
      return (await symbolsOf(uri))?.map(symbol);
    case 'textDocument/rename': {
      await vscode.workspace.openTextDocument(uri); // this command wants it open, unlike the others
      const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>(
        'vscode.executeDocumentRenameProvider',
        uri,
        position,
        params.newName,
      );
      return edit?.size ? changes(edit) : undefined;
    }
    case 'textDocument/formatting': {
      const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>(
        'vscode.executeFormatDocumentProvider',
        uri,
        params.options,
      );
      return edits?.map(textEdit);
    }
    case 'textDocument/codeAction': {
      await vscode.workspace.openTextDocument(uri); // as above
      const { start, end } = params.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
      const found = await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[] | undefined>(
        'vscode.executeCodeActionProvider',
        uri,
        new vscode.Range(start.line, start.character, end.line, end.character),
        undefined,
        resolve === undefined ? 0 : MOST_RESOLVED,
      );
      return found?.map(action);
    }
    case 'workspace/symbol': {
      const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
        'vscode.executeWorkspaceSymbolProvider',
        params.query ?? '',
      );
      return found?.map(symbol);
    }
    case 'workspace/diagnostic':
      return {
        items: vscode.languages
          .getDiagnostics()
          .filter(([, list]) => list.length > 0)
          .map(([of, list]) => ({ uri: of.toString(), kind: 'full', items: list.map(diagnostic) })),
      };
  }
  return undefined;
}

const nothing = (result: unknown) => result === undefined || (Array.isArray(result) && result.length === 0);

const CHANGING = ['textDocument/formatting', 'textDocument/codeAction'];
const NOTHING: unknown[] = [];

/** How long the extension of a language, and its server, may take to start, and how long there is between two tries. */
const STARTING_MS = 8000;
const AGAIN_MS = 200;

/** Serves tandem/editor/request. */
export function serveLanguages(backend: Backend): vscode.Disposable {
  // The languages that something was known of once: their servers run. VS Code does not say when one is ready.
  const running = new Set<string>();
  const patient = async (uri: vscode.Uri, method: string, params: Asked, resolve?: string) => {
    if (method.startsWith('textDocument/')) {
      await loaded(uri);
    }
    let result = await answer(uri, method, params, resolve);
    if (!method.startsWith('textDocument/')) {
      return result;
    }
    const language = opened(uri)?.languageId ?? /[^.]*$/.exec(uri.path)?.[0] ?? '';
    const wait = language === 'plaintext' || running.has(language) ? 0 : STARTING_MS;
    for (const end = Date.now() + wait; nothing(result) && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      result = await answer(uri, method, params, resolve);
    }
    running.add(language); // or there is none: it is waited for once
    // Nothing to change, where something knows the language, is an answer.
    return nothing(result) && CHANGING.includes(method) && (await symbolsOf(uri))?.length ? NOTHING : result;
  };
  return backend.onRequest<EditorRequestParams, EditorRequestResult>('tandem/editor/request', async (params) => {
    const uri = vscode.Uri.parse(params.uri, true);
    if (params.method === 'textDocument/diagnostic') {
      return { results: await diagnostics(uri) };
    }
    const result = await patient(uri, params.method, params.params as Asked, params.resolve);
    const results: EditorReply[] = nothing(result) && result !== NOTHING ? [] : [{ result }];
    return { results };
  });
}
