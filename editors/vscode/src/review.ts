// Shows the changes of a session that wait for somebody's word, and has them accepted or rejected.

import * as vscode from 'vscode';
import type { Backend } from './backend.ts';
import { before, changedRanges, count, fate, follow, ghost, hunkAt, isOpen, lines, markdown, neighbour } from './hunks.ts';
import { Lenses } from './lenses.ts';
import type {
  ChangedFile,
  ChangedHunk,
  DidChangeParams,
  ListChangesParams,
  ListChangesResult,
  Range,
  UndoParams,
  UndoResult,
} from './protocol.ts';

/** The scheme of texts as they were before the changes that wait. */
const BEFORE = 'tandem-before';

/** What tandem/changes/accept and reject answer. */
interface Reviewed {
  changed: string[];
  conflicts: string[];
}

const toRange = ({ start, end }: Range): vscode.Range =>
  new vscode.Range(start.line, start.character, end.line, end.character);

/** Whether an editor is the right side of a diff that shows the changes already: such a one is in no column. */
function inDiff(editor: vscode.TextEditor): boolean {
  return (
    editor.viewColumn === undefined &&
    vscode.window.visibleTextEditors.some(
      ({ document }) => document.uri.scheme === BEFORE && document.uri.query === editor.document.uri.toString(),
    )
  );
}

/** The documents of the editors in sight that have lenses; those of diffs have none. */
function withLenses(): string[] {
  return vscode.window.visibleTextEditors
    .filter(({ document, viewColumn }) => document.uri.scheme === 'file' && viewColumn !== undefined)
    .filter(({ document }) => vscode.workspace.getConfiguration('editor', document).get('codeLens') !== false)
    .map(({ document }) => document.uri.toString());
}

export class Review implements vscode.Disposable {
  private session: string | undefined;
  private files = new Map<string, ChangedFile>();
  private readonly disposables: vscode.Disposable[] = [];
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  private readonly lenses = new Lenses(() => this.lensesChanged.fire(), withLenses);
  private readonly textsChanged = new vscode.EventEmitter<vscode.Uri>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly due = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  /** Fires when the list of open changes is another. */
  readonly onChanged = this.changed.event;

  private readonly added = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('tandem.addedLineBackground'),
    // Themes of high contrast have no such background.
    borderWidth: '0 0 0 3px',
    borderStyle: 'solid',
    borderColor: new vscode.ThemeColor('tandem.addedLineBorder'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.addedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly changedParts = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor('diffEditor.insertedTextBackground'),
    // Themes of high contrast have no such background.
    border: '1px solid',
    borderColor: new vscode.ThemeColor('diffEditor.insertedTextBorder'),
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly removed = vscode.window.createTextEditorDecorationType({
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    after: {
      margin: '0 0 0 2em',
      color: new vscode.ThemeColor('tandem.removedTextForeground'),
      fontStyle: 'italic',
    },
  });
  private readonly gone = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderWidth: '1px 0 0 0',
    borderStyle: 'solid',
    borderColor: new vscode.ThemeColor('tandem.removedTextForeground'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.deletedForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });

  constructor(private readonly backend: Backend) {
    this.disposables.push(
      this.added,
      this.changedParts,
      this.removed,
      this.gone,
      this.lensesChanged,
      this.lenses,
      this.textsChanged,
      this.changed,
      backend.onNotification<DidChangeParams>('tandem/changes/didChange', ({ sessionId, uris }) => {
        if (sessionId === this.session) {
          this.later(uris, 30);
        }
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.draw();
        this.lenses.seen((uri) => this.find(uri) !== undefined);
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.setContext()),
      vscode.workspace.onDidChangeTextDocument((event) => this.typed(event)),
      vscode.languages.registerCodeLensProvider(
        { scheme: 'file' },
        { onDidChangeCodeLenses: this.lensesChanged.event, provideCodeLenses: (doc) => this.lensesOf(doc) },
      ),
      vscode.workspace.registerTextDocumentContentProvider(BEFORE, {
        onDidChange: this.textsChanged.event,
        provideTextDocumentContent: (uri) => this.textBefore(uri),
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.session = undefined; // what it was asked for is nothing any more
    this.disposables.forEach((one) => one.dispose());
  }

  /** How many changes wait, and in how many files. */
  get pending(): { files: number; hunks: number } {
    const hunks = [...this.files.values()].map((file) => file.hunks.length);
    return { files: hunks.length, hunks: hunks.reduce((a, b) => a + b, 0) };
  }

  /** Shows the changes of a session, which may be the same in another server. What was shown gives way to them at once. */
  show(session: string | undefined): void {
    this.session = session;
    if (session) {
      void this.fetch({ sessionId: session });
    } else {
      this.clear();
    }
  }

  private clear(): void {
    this.files.clear();
    this.refreshed();
  }

  async accept(uri?: string, hunkIds?: string[]): Promise<void> {
    await this.decide('tandem/changes/accept', uri, hunkIds);
  }

  async reject(uri?: string, hunkIds?: string[]): Promise<void> {
    await this.decide('tandem/changes/reject', uri, hunkIds);
  }

  async undoTurn(turn?: number): Promise<void> {
    if (!this.session) {
      return void vscode.window.showInformationMessage('There is no session yet.');
    }
    const params: UndoParams = { sessionId: this.session, scope: 'turn', ...(turn === undefined ? {} : { turn }) };
    const { changed, conflicts } = await this.backend.request<UndoResult>('tandem/changes/undo', params);
    const done = `Undone in ${changed.length} ${changed.length === 1 ? 'file' : 'files'}.`;
    if (conflicts.length > 0) {
      const left = conflicts.map(({ uri, reason }) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))}: ${reason}.`).join(' ');
      void vscode.window.showWarningMessage(`${done} ${left}`);
    } else {
      vscode.window.setStatusBarMessage(`$(history) ${done}`, 5000);
    }
  }

  /** Accepts or rejects the hunk with the id, or the one at the caret. */
  async decideHunk(what: 'accept' | 'reject', uri?: string, id?: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const target = uri ?? this.active();
    const hunk = id ?? (editor && target && hunkAt(this.hunks(target), editor.selection.active.line)?.id);
    if (!target || !hunk) {
      return void vscode.window.showInformationMessage('There is no agent change at the cursor.');
    }
    await this[what](target, [hunk]);
  }

  /** Accepts or rejects what is open in one file, by default the one in the editor. */
  async decideFile(what: 'accept' | 'reject', uri?: string): Promise<void> {
    const target = uri ?? this.active();
    if (target) {
      await this[what](target);
    }
  }

  /** Moves the caret to the change after it, or before it; beyond the file's last to the next file. */
  async go(step: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const here = this.active();
    const uris = [...this.files.keys()];
    const line = editor?.selection.active.line ?? 0;
    let uri = here ?? uris[0];
    if (!uri) {
      return;
    }
    let hunk = neighbour(this.hunks(uri), here ? line : -1, here ? step : 1);
    const wrapped = hunk && here && (step === 1 ? hunk.range.start.line <= line : hunk.range.start.line >= line);
    if (wrapped && uris.length > 1) {
      uri = uris.at((uris.indexOf(uri) + step) % uris.length)!;
      hunk = neighbour(this.hunks(uri), step === 1 ? -1 : Infinity, step);
    }
    if (hunk) {
      const selection = toRange({ start: hunk.range.start, end: hunk.range.start });
      await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection });
    }
  }

  /** Opens VS Code's diff of what waits in a file. */
  async openDiff(uri?: string): Promise<void> {
    const target = uri ?? this.active();
    if (!target) {
      return;
    }
    const file = vscode.Uri.parse(target);
    const left = file.with({ scheme: BEFORE, query: target });
    const right = this.find(target)?.status === 'deleted' ? file.with({ scheme: BEFORE, query: '' }) : file;
    const what = this.fate(this.find(target));
    this.textsChanged.fire(left);
    const title = `${vscode.workspace.asRelativePath(file)} (${what === '' ? '' : `${what}, `}before ↔ now)`;
    await vscode.commands.executeCommand('vscode.diff', left, right, title);
  }

  private active(): string | undefined {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const known = uri?.scheme === BEFORE ? uri.query : uri?.toString();
    return known && this.find(known)?.uri;
  }

  private fate(file: ChangedFile | undefined): string {
    return file ? fate(file, (uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri))) : '';
  }

  private find(uri: string): ChangedFile | undefined {
    return this.files.get(vscode.Uri.parse(uri).toString());
  }

  private hunks(uri: string): ChangedHunk[] {
    return this.find(uri)?.hunks ?? [];
  }

  private async decide(method: string, uri?: string, hunkIds?: string[]): Promise<void> {
    if (!this.session) {
      return;
    }
    const params = { sessionId: this.session, ...(uri ? { uri } : {}), ...(hunkIds ? { hunkIds } : {}) };
    const { conflicts } = await this.backend.request<Reviewed>(method, params);
    if (conflicts.length > 0) {
      const n = conflicts.length;
      void vscode.window.showWarningMessage(n === 1 ? '1 change was edited since and is left as it is.' : `${n} changes were edited since and are left as they are.`);
    }
    this.later(uri ? [uri] : [...this.files.keys()], 0);
  }

  /** Asks for the hunks of these files, soon and once. */
  private later(uris: string[], ms: number): void {
    uris.forEach((uri) => this.due.add(uri));
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const sessionId = this.session;
      const due = [...this.due];
      this.due.clear();
      if (sessionId) {
        void Promise.all(due.map((uri) => this.fetch({ sessionId, uri })));
      }
    }, ms);
  }

  private async fetch(params: ListChangesParams): Promise<void> {
    let files: ChangedFile[];
    try {
      ({ files } = await this.backend.request<ListChangesResult>('tandem/changes/list', params));
    } catch {
      // The server has gone, and with it the session.
      return params.uri === undefined && params.sessionId === this.session ? this.clear() : undefined;
    }
    if (params.sessionId !== this.session) {
      return;
    }
    if (params.uri) {
      this.files.delete(vscode.Uri.parse(params.uri).toString());
    } else {
      this.files.clear();
    }
    for (const file of files) {
      const hunks = file.hunks.filter(isOpen);
      if (hunks.length > 0) {
        this.files.set(vscode.Uri.parse(file.uri).toString(), { ...file, hunks });
      }
    }
    this.refreshed();
  }

  private refreshed(): void {
    this.draw();
    this.setContext();
    this.lenses.changed();
    for (const doc of vscode.workspace.textDocuments) {
      if (doc.uri.scheme === BEFORE) {
        this.textsChanged.fire(doc.uri);
      }
    }
    this.changed.fire();
  }

  private setContext(): void {
    void vscode.commands.executeCommand('setContext', 'tandem.hasChanges', this.files.size > 0);
    void vscode.commands.executeCommand('setContext', 'tandem.fileHasChanges', this.active() !== undefined);
  }

  /** Moves the hunks of a document along with what is typed, until the server has said where they are. */
  private typed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const file = document.uri.scheme === 'file' ? this.find(document.uri.toString()) : undefined;
    if (!file || contentChanges.length === 0) {
      return;
    }
    for (const { range, text } of contentChanges) {
      const edit = { range: { start: range.start, end: range.end }, newText: text };
      file.hunks = file.hunks.map((hunk) => ({ ...hunk, range: follow(hunk.range, edit) }));
    }
    this.later([file.uri], 200);
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const plain = document.uri.scheme === 'file' && !inDiff(editor);
      const hunks = plain ? this.hunks(document.uri.toString()) : [];
      const added: vscode.DecorationOptions[] = [];
      const parts: vscode.Range[] = [];
      const removed: vscode.DecorationOptions[] = [];
      const gone: vscode.DecorationOptions[] = [];
      for (const hunk of hunks) {
        const hoverMessage = this.hover(hunk);
        const on = lines(hunk);
        const line = Math.min(on?.first ?? hunk.range.start.line, document.lineCount - 1);
        if (on) {
          const last = Math.min(on.last, document.lineCount - 1);
          added.push({ range: new vscode.Range(line, 0, last, document.lineAt(last).text.length), hoverMessage });
          parts.push(...changedRanges(hunk).map(toRange));
        } else {
          gone.push({ range: new vscode.Range(line, 0, line, 0), hoverMessage });
        }
        if (hunk.oldText !== '') {
          removed.push({
            range: new vscode.Range(document.lineAt(line).range.end, document.lineAt(line).range.end),
            renderOptions: { after: { contentText: ghost(hunk) } },
          });
        }
      }
      editor.setDecorations(this.added, added);
      editor.setDecorations(this.changedParts, parts);
      editor.setDecorations(this.removed, removed);
      editor.setDecorations(this.gone, gone);
    }
  }

  private hover(hunk: ChangedHunk): vscode.MarkdownString {
    const text = new vscode.MarkdownString(markdown(hunk));
    if (hunk.status === 'conflict') {
      text.appendMarkdown('\nSomebody has changed this since: rejecting leaves it as it is.');
    }
    return text;
  }

  private lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
    this.lenses.wereAsked(document.uri.toString());
    const file = this.find(document.uri.toString());
    if (!file) {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const n = file.hunks.length;
    const what = this.fate(file);
    const lens = (range: vscode.Range, title: string, command: string, ...args: unknown[]) =>
      // VS Code drops a plain blank behind an icon.
      new vscode.CodeLens(range, { title: title.replace(') ', ')\u00a0'), command, arguments: args });
    const out = [
      lens(top, `Tandem: ${n} ${n === 1 ? 'change' : 'changes'}${what === '' ? '' : `, ${what}`}`, 'tandem.openDiff', file.uri),
      lens(top, '$(check-all) Accept File', 'tandem.acceptFile', file.uri),
      lens(top, '$(discard) Reject File', 'tandem.rejectFile', file.uri),
    ];
    for (const hunk of file.hunks) {
      const line = Math.min(lines(hunk)?.first ?? hunk.range.start.line, document.lineCount - 1);
      const at = new vscode.Range(line, 0, line, 0);
      const { added, removed } = count(hunk);
      const size = added + removed === 0 && what !== '' ? what : `+${added} −${removed}`;
      out.push(
        lens(at, '$(check) Accept', 'tandem.acceptHunk', file.uri, hunk.id),
        lens(at, '$(discard) Reject', 'tandem.rejectHunk', file.uri, hunk.id),
        lens(at, hunk.status === 'conflict' ? '$(warning) edited since' : size, 'tandem.openDiff', file.uri),
      );
    }
    return out;
  }

  private async textBefore(uri: vscode.Uri): Promise<string> {
    const file = uri.query === '' ? undefined : this.find(uri.query);
    if (uri.query === '' || file?.status === 'added') {
      return '';
    }
    const target = vscode.Uri.parse(uri.query);
    if (file?.status === 'deleted') {
      return file.hunks.map((hunk) => hunk.oldText).join('');
    }
    const doc = await vscode.workspace.openTextDocument(target);
    return before(doc.getText(), this.hunks(uri.query));
  }
}
