// The chat: keeps the conversation of the current session, talks to the server, and shows it in a web page.

import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import type { Actions, Chat } from '../actions.ts';
import type { Backend } from '../backend.ts';
import { waitingLines } from '../hunks.ts';
import { fateOfJobs } from '../jobs.ts';
import type { ChangedFile, Position, PromptContext, SessionInfo } from '../protocol.ts';
import { Current } from './current.ts';
import type { Context, FromPage, Setup, ToPage } from './messages.ts';
import { page } from './page.ts';
import { Questions } from './questions.ts';
import { type Earlier, type Loaded, Loader, SESSION_BUSY, UNKNOWN_SESSION, instead, kept, list, waits, waitsElsewhere } from './sessions.ts';
import { type Conversation, type Event, empty, reduce } from './state.ts';
import type { ContentBlock, MentionItem, NewSessionResult, PromptResult, UpdateParams } from './wire.ts';

const VIEW = 'tandem.chat';
const HISTORY = 'tandem.history';
const MOST_HISTORY = 100;
/** The session that was shown last, and the process that served it. */
const SESSION = 'tandem.session';
const SERVER = 'tandem.server';
/** How many other sessions the page offers. */
const MOST_SESSIONS = 5;
/** How long to wait before a session is asked for again that a process still holds which is ending. */
const PAUSE_MS = 250;

/** Error codes of the server. */
const CODES: Record<number, string> = {
  [UNKNOWN_SESSION]: 'unknown_session',
  [SESSION_BUSY]: 'session_busy',
  [-32013]: 'model_unavailable',
  [-32014]: 'not_permitted',
};

/** Puts the chat into its view. One for each window. */
export function registerChat(context: vscode.ExtensionContext, backend: Backend, actions: Actions): Chat {
  return new ChatView(context, backend, actions);
}

class ChatView implements Chat, vscode.WebviewViewProvider {
  private state: Conversation = empty;
  private view?: vscode.WebviewView;
  /** Whether the page has its state and is to be told of events. */
  private live = false;
  private refused?: string;
  /** Settled when it is decided whether the session that is shown is left for a new one. */
  private leaving: Promise<unknown> = Promise.resolve();
  private folder?: string;
  /** Settled when the running server has been asked for the session to go on with. */
  private restored?: Promise<void>;
  private earlier?: Earlier;
  /** The sessions of the workspace, as they were listed last. */
  private known: readonly SessionInfo[] = [];
  private readonly loader = new Loader((method, params) => this.backend.request(method, params));
  private readonly current = new Current({
    request: (method, params) => this.backend.request(method, params),
    shown: () => this.state.session,
    ready: async () => {
      await this.served();
      await this.restored;
    },
    load: (id, former, wanted) => this.load(id, former, wanted),
    make: () => this.make(),
    show: (session, loaded) => this.display(session, loaded),
    left: (id, open) => {
      this.questions.withdraw(id);
      if (open) {
        void this.backend.notify('tandem/session/cancel', { sessionId: id });
      }
    },
  });
  private lastAsked?: { text: string; context?: Context };
  private changesAsked = false;
  /** Whether the page has said what this window showed before it was loaded again. */
  private identified = false;
  /** The question that the person wants to see. */
  private asked?: number;
  /** The turn that runs, or the last one. */
  private turn: Promise<void> = Promise.resolve();
  private readonly questions: Questions;
  private readonly sessionEmitter = new vscode.EventEmitter<string | undefined>();
  private readonly runningEmitter = new vscode.EventEmitter<boolean>();
  private readonly subscriptions: vscode.Disposable[] = [this.sessionEmitter, this.runningEmitter];
  readonly onRunning = this.runningEmitter.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly backend: Backend,
    private readonly actions: Actions,
  ) {
    this.questions = new Questions(
      backend,
      (session, event) => this.dispatch(event, session),
      (session) => session === this.state.session && this.view?.visible === true,
      (id) => {
        this.asked = id;
        this.show();
        this.tellAsked();
      },
    );
    this.subscriptions.push(
      this.questions,
      vscode.window.registerWebviewViewProvider(VIEW, this),
      backend.onNotification<UpdateParams>('tandem/session/update', (p) => {
        if (!this.loader.take(p.sessionId, p.update)) {
          this.dispatch({ type: 'update', update: p.update }, p.sessionId);
        }
      }),
      backend.onNotification<{ sessionId: string }>('tandem/changes/didChange', (p) => {
        if (p.sessionId === this.state.session) {
          void this.readChanges();
        }
      }),
      backend.onState((state) => this.backendIs(state)),
      // What is stored is of all windows of the folder: the last one that had the keyboard is the likeliest to be loaded again.
      vscode.window.onDidChangeWindowState(({ focused }) => focused && this.remember()),
      vscode.window.onDidChangeActiveTextEditor(() => this.tellSetup()),
      vscode.window.onDidChangeTextEditorSelection((e) => {
        if (e.textEditor === vscode.window.activeTextEditor) {
          this.tellSetup();
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.tellSetup()),
    );
  }

  get running(): boolean {
    return this.state.running;
  }

  get mode(): string | undefined {
    return this.state.mode;
  }

  get model(): string | undefined {
    return this.state.model;
  }

  currentSession(): string | undefined {
    return this.state.session;
  }

  onSession(listener: (sessionId: string | undefined) => void): vscode.Disposable {
    return this.sessionEmitter.event(listener);
  }

  async ask(text: string): Promise<void> {
    this.show();
    await this.prompt(text);
  }

  async newSession(): Promise<void> {
    const old = this.state.session;
    const deciding = fateOfJobs(this.backend, old);
    this.leaving = deciding.catch(() => {});
    const fate = await deciding;
    if (!fate || this.state.session !== old) {
      return;
    }
    const text = waits(this.state);
    this.current.renew();
    if (old && fate === 'keep') {
      this.current.keep(old);
    }
    this.current.close(old);
    this.refused = undefined;
    this.earlier = old && text ? { text, id: old } : undefined;
    this.dispatch({ type: 'reset' });
    this.post({ type: 'focus' });
    await this.current.session().catch(() => {});
    if (old && text && !this.view?.visible) {
      const back = 'Back to It';
      if ((await vscode.window.showInformationMessage(`Tandem: ${text}`, back)) === back) {
        await this.goOn(old);
      }
    }
  }

  async chooseSession(): Promise<void> {
    await this.served();
    const found = await this.list();
    if (found.length === 0) {
      return void vscode.window.showInformationMessage('Tandem: no session of this workspace is kept yet.');
    }
    const items = found.map((info) => {
      const { id, title, detail } = kept(info, Date.now());
      return { id, label: title, description: detail, detail: id === this.state.session ? 'This one is open.' : undefined };
    });
    const picked = await vscode.window.showQuickPick(items, {
      title: 'Tandem: Sessions',
      placeHolder: 'Session to resume',
      matchOnDescription: true,
    });
    if (picked) {
      await this.goOn(picked.id);
    }
  }

  /** Shows a session that is kept, in place of the present one, whose turn ends if one runs. */
  private async goOn(id: string): Promise<void> {
    await this.served();
    const old = this.state.session;
    const fate = id === old ? 'end' : await fateOfJobs(this.backend, old);
    if (!fate || this.state.session !== old) {
      return;
    }
    if (old && fate === 'keep') {
      this.current.keep(old);
    }
    await this.current.goOn(id);
    this.show();
  }

  stop(): void {
    if (this.state.session && this.state.running) {
      this.questions.withdraw(this.state.session);
      void this.backend.notify('tandem/session/cancel', { sessionId: this.state.session });
    }
  }

  dispose(): void {
    this.remember();
    for (const s of this.subscriptions) {
      s.dispose();
    }
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const root = vscode.Uri.joinPath(this.context.extensionUri, 'dist', 'webview');
    this.view = view;
    this.live = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [root] };
    view.webview.html = page({
      script: view.webview.asWebviewUri(vscode.Uri.joinPath(root, 'main.js')).toString(),
      style: view.webview.asWebviewUri(vscode.Uri.joinPath(root, 'main.css')).toString(),
      origin: view.webview.cspSource,
      nonce: randomBytes(16).toString('base64'),
      language: vscode.env.language,
    });
    view.webview.onDidReceiveMessage((m: FromPage) => {
      this.take(m).catch((err) => void vscode.window.showErrorMessage(`Tandem: ${wordsOf(err).message}`));
    });
    view.onDidChangeVisibility(() => {
      if (!view.visible) {
        this.live = false;
        this.questions.notify(this.state.session);
      }
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.live = false;
    });
    this.badge();
    if (this.backend.state === 'running') {
      void this.current.session().catch(() => {});
    }
  }

  private show(): void {
    void vscode.commands.executeCommand(`${VIEW}.focus`);
  }

  /** Changes the conversation by what happened to it. News of other sessions is none of its. */
  private dispatch(event: Event, session = this.state.session): void {
    if (session !== this.state.session) {
      return;
    }
    const before = this.state;
    this.state = reduce(before, event);
    if (event.type === 'loaded') {
      this.tellAll();
    } else {
      this.post({ type: 'event', event });
    }
    if (before.session !== this.state.session || event.type === 'loaded') {
      this.sessionEmitter.fire(this.state.session);
    }
    if (before.running !== this.state.running || before.mode !== this.state.mode || before.model !== this.state.model) {
      this.runningEmitter.fire(this.state.running);
    }
    this.badge();
  }

  private badge(): void {
    const value = this.questions?.waiting(this.state.session) ?? 0;
    if (this.view && this.view.badge?.value !== value) {
      const tooltip = value === 1 ? 'Tandem has a question' : `Tandem has ${value} questions`;
      this.view.badge = value > 0 ? { value, tooltip } : undefined;
    }
  }

  private post(message: ToPage): void {
    if (this.live || message.type === 'state') {
      void this.view?.webview.postMessage(message);
    }
  }

  private tellAll(): void {
    this.post({ type: 'state', state: this.state, setup: this.setup(), history: this.history() });
  }

  private tellAsked(): void {
    if (this.live && this.asked !== undefined) {
      this.post({ type: 'question', id: this.asked });
      this.asked = undefined;
    }
  }

  private tellSetup(): void {
    this.post({ type: 'setup', setup: this.setup() });
  }

  private setup(): Setup {
    const has = (method: string) => this.backend.methods.includes(method);
    return {
      backend: this.backend.state,
      failure: this.backend.failure,
      refused: this.refused,
      earlier: this.earlier,
      sessions: this.known
        .filter((s) => s.sessionId !== this.state.session)
        .slice(0, MOST_SESSIONS)
        .map((s) => kept(s, Date.now())),
      folder: this.folder,
      home: homedir(),
      trusted: vscode.workspace.isTrusted,
      can: {
        mentions: has('tandem/mentions/complete'),
        steer: has('tandem/session/steer'),
        review: has('tandem/changes/accept'),
      },
      context: contextOf(vscode.window.activeTextEditor),
    };
  }

  private history(): string[] {
    return this.context.workspaceState.get<string[]>(HISTORY, []);
  }

  private backendIs(state: string): void {
    if (state === 'running') {
      this.refused = undefined;
      // Also while the chat is not in sight: the marks of what waits are.
      this.restored = this.restore();
      void this.restored.then(() => {
        if (this.view || this.state.items.length > 0) {
          void this.current.session().catch(() => {});
        }
      });
      return this.tellSetup();
    }
    const { session, items } = this.state;
    this.current.ended(session === undefined ? undefined : items.length > 0 ? { id: session } : 'new');
    if (session) {
      this.questions.withdraw();
      this.restored = undefined;
      const { failure } = this.backend; // there is none where a person has it started anew
      const message = state === 'stopped' && failure ? 'The server stopped. It is being restarted.' : failure;
      this.dispatch({ type: 'lost', message });
    } else if (state === 'failed' && items.length > 0 && this.backend.failure) {
      this.say(this.backend.failure);
    }
    this.tellSetup();
  }

  /** Puts a word of the extension itself into the conversation. */
  private say(text: string): void {
    this.dispatch({ type: 'update', update: { sessionUpdate: 'notice', content: { type: 'text', text } } });
  }

  /** Resolved when the server runs, or cannot. */
  private served(): Promise<void> {
    const coming = (state: string) => state === 'stopped' || state === 'starting';
    return new Promise((resolve) => {
      if (!coming(this.backend.state)) {
        return resolve();
      }
      const heard = this.backend.onState((state) => {
        if (!coming(state)) {
          heard.dispose();
          resolve();
        }
      });
    });
  }

  private readonly request = <R>(method: string, params: unknown): Promise<R> => this.backend.request<R>(method, params);

  /** Goes on with the session that is to be the next, if it is one that is kept. */
  private async restore(): Promise<void> {
    const { wish } = this.current;
    const former = this.context.workspaceState.get<number>(SERVER);
    void this.context.workspaceState.update(SERVER, this.backend.pid);
    let id = typeof wish === 'object' ? wish.id : undefined;
    let title: string | undefined;
    try {
      const found = wish === 'new' ? [] : await this.list();
      if (wish === 'last') {
        const last = this.context.workspaceState.get<string>(SESSION);
        id = (found.find((s) => s.sessionId === last) ?? found[0])?.sessionId;
      }
      title = found.find((s) => s.sessionId === id)?.title;
      if (id && this.current.wish === wish) {
        await this.current.goOn(id, former);
        this.sayElsewhere();
      }
    } catch (err) {
      const other = this.current.wish !== wish && this.current.wish !== 'new';
      if (this.backend.state !== 'running' || other) {
        return; // the next server is asked again, or the person has asked for another session
      }
      this.current.renew();
      const text = instead(title, err);
      const busy = codeOf(err) === SESSION_BUSY;
      this.earlier = { text, id: busy ? id : undefined, busy };
      if (this.state.items.length > 0) {
        this.say(text);
      }
    }
  }

  private remember(): void {
    if (this.state.session) {
      void this.context.workspaceState.update(SESSION, this.state.session);
    }
  }

  /** Says what waits in other sessions than the one that was loaded. */
  private sayElsewhere(): void {
    const text = waitsElsewhere(this.known, this.state.session);
    if (text) {
      this.say(text);
    }
  }

  /** Shows the session that this window showed before it was loaded again, once, in place of another one of the folder. */
  private async identify(id: string | undefined): Promise<void> {
    if (this.identified) {
      return;
    }
    this.identified = true;
    await this.served();
    await this.restored;
    const { wish } = this.current;
    if (!id || id === this.state.session || this.state.running || wish === 'new') {
      return;
    }
    if ((await this.list()).some((s) => s.sessionId === id) && this.current.wish === wish) {
      await this.current.goOn(id).catch(() => undefined); // another process has it: what is shown stays
      this.sayElsewhere();
    }
  }

  private async load(id: string, former: number | undefined, wanted: () => boolean): Promise<Loaded> {
    const loaded = await this.loader.open(id, former, async () => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (!wanted()) {
        throw new Error('another session was asked for meanwhile.');
      }
    });
    await this.lend(loaded.session);
    return loaded;
  }

  /** Shows a session that was loaded, or a new one. */
  private display(session: NewSessionResult, loaded?: Loaded): void {
    this.refused = undefined;
    if (loaded) {
      this.folder = this.known.find((s) => s.sessionId === session.sessionId)?.cwd ?? folders()[0];
      this.earlier = undefined;
      this.dispatch({ type: 'loaded', session, updates: loaded.updates });
      void this.readChanges();
    } else {
      this.dispatch({ type: 'session', session });
      this.tellSetup();
    }
    this.remember();
  }

  /** Adds the models that VS Code has to those of a session. */
  private async lend(session: NewSessionResult): Promise<void> {
    const lent = await this.actions.models().catch(() => []);
    session.models?.availableModels.push(...lent);
  }

  private async make(): Promise<NewSessionResult> {
    const active = vscode.window.activeTextEditor?.document.uri;
    const all = vscode.workspace.workspaceFolders ?? [];
    const cwd = (active && vscode.workspace.getWorkspaceFolder(active)) ?? all[0];
    const additionalDirectories = all.filter((f) => f !== cwd).map((f) => f.uri.fsPath);
    try {
      const session = await this.request<NewSessionResult>('tandem/session/new', {
        cwd: cwd?.uri.fsPath,
        additionalDirectories,
        // That of the session before, where its server has ended and nothing had been said in it.
        mode: this.state.mode,
      });
      await this.lend(session);
      this.folder = cwd?.uri.fsPath;
      return session;
    } catch (err) {
      this.refused = wordsOf(err).message;
      this.tellSetup();
      throw err;
    } finally {
      void this.readSessions();
    }
  }

  private async list(): Promise<readonly SessionInfo[]> {
    return (this.known = await list(this.request, folders()));
  }

  /** Asks for the other sessions of the workspace, which the page offers where no conversation is yet. */
  private async readSessions(): Promise<void> {
    try {
      await this.list();
      this.tellSetup();
    } catch {
      // The server has gone.
    }
  }

  private async prompt(text: string, context?: Context): Promise<void> {
    const history = [...this.history().filter((t) => t !== text), text].slice(-MOST_HISTORY);
    void this.context.workspaceState.update(HISTORY, history);
    this.lastAsked = { text, context };
    let sessionId: string;
    try {
      sessionId = await this.current.session();
    } catch (err) {
      this.dispatch({ type: 'prompt', text, attached: context && [context.label] });
      this.dispatch({ type: 'failed', ...wordsOf(err) });
      return;
    }
    const prompt = blocksOf(text, context);
    if (this.state.running && (await this.steer(sessionId, text, prompt))) {
      return;
    }
    this.dispatch({ type: 'prompt', text, attached: context && [context.label] }, sessionId);
    const turn = this.run(sessionId, prompt);
    this.turn = turn;
    await turn;
    void this.readChanges();
  }

  /** Adds to the running turn. Gives false where that has ended meanwhile, after its end. */
  private async steer(sessionId: string, text: string, prompt: ContentBlock[]): Promise<boolean> {
    if (!this.backend.methods.includes('tandem/session/steer')) {
      throw new Error('a turn is running; stop it first, or wait for its end.');
    }
    this.dispatch({ type: 'steer', text }, sessionId);
    try {
      await this.backend.request('tandem/session/steer', { sessionId, prompt });
      return true;
    } catch (err) {
      this.dispatch({ type: 'unsteer', text }, sessionId);
      if (!isNoTurn(err)) {
        throw err;
      }
      await this.turn;
      return false;
    }
  }

  private async run(sessionId: string, prompt: ContentBlock[]): Promise<void> {
    try {
      const _meta = attention();
      const result = await this.backend.request<PromptResult>('tandem/session/prompt', { sessionId, prompt, _meta });
      this.questions.withdraw(sessionId);
      this.dispatch({ type: 'ended', result }, sessionId);
    } catch (err) {
      const words = wordsOf(err);
      this.questions.withdraw(sessionId);
      this.dispatch({ type: 'failed', ...words }, sessionId);
    }
  }

  /** Asks which files have changes that nobody has judged; one request at a time. */
  private async readChanges(): Promise<void> {
    const sessionId = this.state.session;
    if (!sessionId || this.changesAsked || !this.backend.methods.includes('tandem/changes/list')) {
      return;
    }
    this.changesAsked = true;
    // What happens while it is on its way gathers in the next one.
    await new Promise((resolve) => setTimeout(resolve, 50));
    this.changesAsked = false;
    try {
      const { files } = await this.backend.request<{ files: ChangedFile[] }>('tandem/changes/list', { sessionId });
      const short = files.map((file) => {
        const { uri, status, from, hunks } = file;
        return { uri, status, ...(from === undefined ? {} : { from }), ...waitingLines(file), hunks: hunks.map((h) => ({ status: h.status })) };
      });
      this.dispatch({ type: 'changes', files: short }, sessionId);
    } catch {
      // The session has ended meanwhile.
    }
  }

  /** Does what the page asks for. */
  private async take(m: FromPage): Promise<void> {
    const sessionId = this.state.session;
    switch (m.type) {
      case 'ready':
        this.live = true;
        this.tellAll();
        this.tellAsked();
        return this.identify(m.session);
      case 'ask':
        return this.prompt(m.text, m.context);
      case 'stop':
        return this.stop();
      case 'newSession':
        return this.newSession();
      case 'load':
        return this.goOn(m.id);
      case 'answer':
        return this.questions.answer(m.id, m);
      case 'mode':
      case 'model': {
        const what = m.type === 'mode' ? 'setMode' : 'setModel';
        try {
          // What is picked while a new session is being made is meant for that one.
          await this.leaving;
          const id = await this.current.session();
          await this.backend.request(`tandem/session/${what}`, { sessionId: id, [m.type]: m.id });
          this.dispatch({ type: m.type, id: m.id }, id);
        } catch (err) {
          // The page shows what was picked until it is told what holds.
          this.tellAll();
          throw err;
        }
        return;
      }
      case 'open':
        return this.openFile(m.path, m.line);
      case 'diff':
        if (sessionId) {
          await this.actions.openDiff(sessionId, this.uriOf(m.path).toString());
        }
        return;
      case 'proposal': {
        const asked = this.questions.permission(m.id);
        if (asked) {
          await this.actions.showProposal(asked, m.path);
          this.dispatch({ type: 'looked', id: m.id, path: m.path });
        }
        return;
      }
      case 'copy':
        return vscode.env.clipboard.writeText(m.text);
      case 'insert': {
        const editor = vscode.window.activeTextEditor;
        if (!editor) {
          throw new Error('open the file first that the text is to be inserted into.');
        }
        await editor.edit((edit) => edit.replace(editor.selection, m.text));
        return;
      }
      case 'accept':
      case 'reject':
        return sessionId === undefined ? undefined : this.actions[m.type](sessionId, m.uri);
      case 'mentions': {
        const { items } = await this.backend.request<{ items: MentionItem[] }>('tandem/mentions/complete', {
          sessionId,
          prefix: m.prefix,
          limit: 12,
        });
        this.post({ type: 'mentions', request: m.request, items });
        return;
      }
      case 'do':
        switch (m.what) {
          case 'setApiKey':
            return this.actions.setApiKey();
          case 'openSettings':
            return this.actions.openSettings(m.query);
          case 'showLog':
            return this.actions.showLog();
          case 'sessions':
            return this.chooseSession();
          case 'restart':
            return this.backend.restart();
          case 'retry':
            return this.lastAsked && this.prompt(this.lastAsked.text, this.lastAsked.context);
        }
    }
  }

  private uriOf(path: string): vscode.Uri {
    if (/^[a-z][\w+.-]+:\/\//i.test(path)) {
      return vscode.Uri.parse(path);
    }
    return vscode.Uri.file(isAbsolute(path) || !this.folder ? path : join(this.folder, path));
  }

  private async openFile(path: string, line?: number): Promise<void> {
    const uri = this.uriOf(path);
    const found = await vscode.workspace.fs.stat(uri).then(
      () => uri,
      async () => (await vscode.workspace.findFiles(`**/${basename(path)}`, undefined, 1))[0],
    );
    if (!found) {
      vscode.window.setStatusBarMessage(`Tandem: there is no file ${path}`, 4000);
      return;
    }
    await this.actions.openFile(found.toString(), line);
  }
}

/** The folders of the workspace that are on a disk. */
function folders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === 'file').map((f) => f.uri.fsPath);
}

/** What the page offers to send along: the file that is open, and the lines that are selected in it. */
function contextOf(editor: vscode.TextEditor | undefined): Context | undefined {
  const uri = editor?.document.uri;
  if (!uri || uri.scheme !== 'file') {
    return undefined;
  }
  const { selection } = editor;
  const name = basename(uri.fsPath);
  if (selection.isEmpty) {
    return { uri: uri.toString(), label: name };
  }
  const from = selection.start.line + 1;
  const to = selection.end.character === 0 ? selection.end.line : selection.end.line + 1;
  return { uri: `${uri}#L${from}-L${to}`, label: from === to ? `${name}:${from}` : `${name}:${from}–${to}` };
}

/** What the person has in front of them, for the model, where they share it. */
function attention(): { tandem: PromptContext } | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== 'file' || !vscode.workspace.getConfiguration('tandem').get('shareEditor', true)) {
    return undefined;
  }
  const { document, selection, visibleRanges } = editor;
  const [first, last] = [visibleRanges[0], visibleRanges.at(-1)];
  return {
    tandem: {
      editor: {
        uri: document.uri.toString(),
        cursor: place(selection.active),
        selection: selection.isEmpty ? undefined : { start: place(selection.start), end: place(selection.end) },
        visible: first && last && { start: place(first.start), end: place(last.end) },
      },
    },
  };
}

function place({ line, character }: vscode.Position): Position {
  return { line, character };
}

/** A prompt, with the selected text itself where lines are attached: it may not be saved. */
function blocksOf(text: string, context: Context | undefined): ContentBlock[] {
  const blocks: ContentBlock[] = [{ type: 'text', text }];
  if (!context) {
    return blocks;
  }
  const [uri, lines] = context.uri.split('#L');
  const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri);
  const [from, to] = (lines ?? '').split('-L').map(Number);
  if (lines && document && from && to) {
    const range = new vscode.Range(from - 1, 0, to, 0);
    blocks.push({ type: 'resource', resource: { uri: context.uri, text: document.getText(range) } });
  } else {
    blocks.push({ type: 'resource_link', uri: context.uri, name: context.label });
  }
  return blocks;
}

/** Whether the server says that there is no turn to add to. */
function isNoTurn(err: unknown): boolean {
  return err instanceof Error && 'data' in err && (err.data as { code?: string } | undefined)?.code === 'no_turn';
}

function codeOf(err: unknown): number | undefined {
  return typeof err === 'object' && err !== null && 'code' in err ? Number(err.code) : undefined;
}

/** An error as a person is told of it, and its name where the server gave one. */
function wordsOf(err: unknown): { code?: string; message: string } {
  const code = CODES[codeOf(err) ?? 0];
  const message = err instanceof Error ? err.message : String(err);
  return { code, message };
}
