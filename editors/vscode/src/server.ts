// The server process of this window and the connection to it.

import { spawn, type ChildProcess } from 'node:child_process';
import { homedir } from 'node:os';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ResponseError,
  State,
  type ClientCapabilities,
  type ServerCapabilities,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { handleApplyEdit } from './apply.ts';
import type { Backend, BackendState } from './backend.ts';
import { findProgram } from './binary.ts';
import { VERSION, type ClientExperimental, type ServerExperimental } from './protocol.ts';
import { Restarts } from './restarts.ts';
import { declaredIn, explicit } from './settings.ts';

type Handler = (params: any, token: vscode.CancellationToken) => unknown;

/** What the server asks for that has a declaration in the capabilities. */
const DECLARED: Record<string, Exclude<keyof ClientExperimental, 'protocolVersion'>> = {
  'tandem/session/requestPermission': 'permission',
  'tandem/session/clarify': 'clarify',
  'tandem/documents/save': 'save',
  'tandem/documents/resync': 'resync',
  'tandem/editor/request': 'editorRequest',
  'tandem/model/stream': 'model',
};

/** How long a server that was asked to end may take. */
const END_MS = 3000;

export interface ServerOptions {
  extension: vscode.ExtensionContext;
  log: vscode.LogOutputChannel;
  /** Keys of model services, by environment variable. */
  keys(): Promise<Record<string, string>>;
}

/** The server of the window: started, watched and started anew. Not to be used after dispose. */
export class Server implements Backend, vscode.Disposable {
  state: BackendState = 'stopped';
  failure: string | undefined;
  methods: readonly string[] = [];

  private readonly states = new vscode.EventEmitter<BackendState>();
  private readonly notified = new Map<string, vscode.EventEmitter<unknown>>();
  private readonly asked = new Map<string, Handler>();
  private readonly restarts = new Restarts();
  private client: LanguageClient | undefined;
  private process: ChildProcess | undefined;
  private starting: Promise<void> | undefined;
  private retry: NodeJS.Timeout | undefined;
  private turn: Promise<void> = Promise.resolve();
  /** Settled when the running server has been told what it may do in a folder that is not trusted. */
  private restricted: Promise<void> | undefined;
  private restrict = () => {};
  /** What has been started last; what an older start finds out counts no more. */
  private generation = 0;

  constructor(private readonly o: ServerOptions) {}

  /** The process of the running server. */
  get pid(): number | undefined {
    return this.process?.pid;
  }

  onState(listener: (state: BackendState) => void): vscode.Disposable {
    return this.states.event(listener);
  }

  onNotification<P>(method: string, handler: (params: P) => void): vscode.Disposable {
    let emitter = this.notified.get(method);
    if (!emitter) {
      emitter = new vscode.EventEmitter<unknown>();
      this.notified.set(method, emitter);
      this.client?.onNotification(method, (params) => emitter!.fire(params));
    }
    return emitter.event((params) => handler(params as P));
  }

  onRequest<P, R>(method: string, handler: (params: P, token: vscode.CancellationToken) => R | Promise<R>) {
    if (this.asked.has(method)) {
      throw new Error(`${method} has a handler already`);
    }
    const answer: Handler = async (params, token) => {
      try {
        return await handler(params, token);
      } catch (err) {
        if (err instanceof Error && 'code' in err && typeof err.code === 'number') {
          throw new ResponseError(err.code, err.message);
        }
        throw err;
      }
    };
    this.asked.set(method, answer);
    const registered = this.client?.onRequest(method, answer);
    return new vscode.Disposable(() => {
      this.asked.delete(method);
      registered?.dispose();
    });
  }

  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    await this.starting?.catch(() => {});
    if (!vscode.workspace.isTrusted) {
      await this.restricted;
    }
    if (!this.client || this.state !== 'running') {
      throw new Error(this.failure ?? 'Tandem is not running.');
    }
    // A token that is undefined would be taken for a second parameter.
    return token ? this.client.sendRequest<R>(method, params, token) : this.client.sendRequest<R>(method, params);
  }

  async notify(method: string, params: unknown): Promise<void> {
    if (this.state === 'running') {
      await this.client?.sendNotification(method, params).catch((err) => this.o.log.error(`${method}: ${err}`));
    }
  }

  restart(between?: () => Promise<void>): Promise<void> {
    this.restarts.reset();
    return this.inTurn(async () => {
      await this.end();
      await between?.();
      await this.start();
    });
  }

  /** Starts the server, if none runs. */
  start(): Promise<void> {
    this.starting ??= this.launch().finally(() => (this.starting = undefined));
    return this.starting;
  }

  /** Ends the server and waits for its end. */
  stop(): Promise<void> {
    return this.inTurn(() => this.end());
  }

  /** One stop or restart at a time: the next begins when the last is over, however that went. */
  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => {});
    return done;
  }

  private async end(): Promise<void> {
    clearTimeout(this.retry);
    await this.starting?.catch(() => {});
    this.generation++;
    const { client, process } = this;
    this.client = this.process = undefined;
    this.set('stopped');
    if (client) {
      await client.stop(END_MS).catch((err) => this.o.log.debug(`stop: ${err}`));
      await client.dispose().catch(() => {});
    }
    await ended(process, END_MS);
  }

  dispose(): void {
    void this.stop();
  }

  /** Tells the server that settings have changed; it asks for them. */
  settingsChanged(): void {
    void this.notify('workspace/didChangeConfiguration', { settings: null });
  }

  private set(state: BackendState, failure?: string): void {
    this.failure = failure;
    if (state !== 'running') {
      this.methods = [];
    }
    if (state === this.state) {
      return;
    }
    this.state = state;
    void vscode.commands.executeCommand('setContext', 'tandem.state', state);
    this.states.fire(state);
  }

  private async launch(): Promise<void> {
    if (this.client) {
      return;
    }
    const generation = ++this.generation;
    this.set('starting');
    try {
      const settings = vscode.workspace.getConfiguration('tandem');
      const found = await findProgram({
        configured: settings.get<string>('path', ''),
        extension: this.o.extension.extensionPath,
        path: process.env.PATH ?? '',
        home: homedir(),
        windows: process.platform === 'win32',
      });
      if ('missing' in found) {
        this.o.log.warn(found.missing);
        this.set('missing', found.missing);
        throw new Error(found.missing);
      }
      this.o.log.info(`starting ${found.program} (${found.from})`);
      const env = { ...process.env, ...settings.get<Record<string, string>>('env', {}), ...(await this.o.keys()) };
      const client = this.connect(found.program, env, generation);
      this.client = client;
      this.restricted = new Promise((resolve) => (this.restrict = resolve));
      await client.start();
      this.check(client);
      this.set('running');
      if (client.state === State.Stopped) {
        this.lost();
      }
    } catch (err) {
      if (generation === this.generation && this.state !== 'missing') {
        this.generation++;
        const { client, process } = this;
        this.client = this.process = undefined;
        const reason = err instanceof Error ? err.message : String(err);
        this.o.log.error(reason);
        this.set('failed', `Tandem could not start: ${reason}`);
        void client?.dispose().catch(() => {});
        void ended(process, END_MS);
      }
      throw err;
    }
  }

  private check(client: LanguageClient): void {
    const experimental = client.initializeResult?.capabilities.experimental as { tandem?: ServerExperimental } | undefined;
    const version = experimental?.tandem?.protocolVersion;
    const server = client.initializeResult?.serverInfo;
    this.o.log.info(`${server?.name ?? 'server'} ${server?.version ?? ''} speaks version ${version}`);
    if (version === undefined) {
      throw new Error('the program is not Tandem, or one that is too old; see the setting tandem.path.');
    }
    if (version !== VERSION) {
      const older = version < VERSION ? 'the program' : 'this extension';
      throw new Error(`the program speaks version ${version} and this extension version ${VERSION}: update ${older}.`);
    }
    this.methods = experimental?.tandem?.methods ?? [];
  }

  private connect(program: string, env: NodeJS.ProcessEnv, generation: number): LanguageClient {
    const transport = async () => {
      const child = spawn(program, ['--stdio'], { env, cwd: this.folder(), stdio: 'pipe' });
      await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
      this.process = child;
      createInterface({ input: child.stderr }).on('line', (line) => this.logged(line));
      child.once('exit', (code, signal) => this.o.log.info(`the server has ended (${signal ?? code})`));
      return { reader: child.stdout, writer: child.stdin, detached: true };
    };
    const client = new LanguageClient('tandem', 'Tandem', transport, {
      documentSelector: [{ scheme: 'file' }],
      outputChannel: this.o.log,
      initializationOptions: {},
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      middleware: {
        // What cannot be sent because the server has just ended is in the next one's didOpen.
        didOpen: (doc, next) => next(doc).catch((err) => this.o.log.debug(`didOpen: ${err}`)),
        didChange: (event, next) => next(event).catch((err) => this.o.log.debug(`didChange: ${err}`)),
        didSave: (doc, next) => next(doc).catch((err) => this.o.log.debug(`didSave: ${err}`)),
        didClose: (doc, next) => next(doc).catch((err) => this.o.log.debug(`didClose: ${err}`)),
        workspace: {
          configuration: (params) => Promise.all(params.items.map((item) => this.section(item.section))),
          handleApplyEdit: handleApplyEdit,
        },
      },
    });
    client.registerFeature(feature([...this.asked.keys()]));
    for (const [method, emitter] of this.notified) {
      client.onNotification(method, (params) => emitter.fire(params));
    }
    for (const [method, handler] of this.asked) {
      client.onRequest(method, handler);
    }
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Stopped && generation === this.generation && this.state === 'running') {
        this.lost();
      }
    });
    return client;
  }

  /** The server has ended by itself. */
  private lost(): void {
    const { client } = this;
    this.generation++;
    this.client = this.process = undefined;
    void client?.dispose().catch(() => {});
    const wait = this.restarts.ended();
    if (wait === undefined) {
      this.set('failed', 'Tandem crashed several times in a row and is no longer restarted.');
      return;
    }
    this.set('stopped', 'Tandem stopped and is being restarted.');
    this.retry = setTimeout(() => void this.start().catch(() => {}), wait);
  }

  /** The settings of a section, as the server asks for them: what somebody has set. */
  private async section(name: string | undefined): Promise<unknown> {
    if (name !== 'tandem') {
      return null;
    }
    const settings = vscode.workspace.getConfiguration('tandem');
    const values = explicit(declaredIn(this.o.extension.extension.packageJSON), (key) => settings.inspect(key));
    if (vscode.workspace.isTrusted) {
      this.restrict();
      return values;
    }
    // Nothing that could change or run anything is on offer in a folder that nobody vouches for.
    const { tools } = await this.client!.sendRequest<{ tools: { name: string; readOnly: boolean }[] }>('tandem/tools/list', {
      includeDisabled: true,
    });
    this.restrict();
    return { ...values, mode: 'ask', disabledTools: tools.filter((tool) => !tool.readOnly).map((tool) => tool.name) };
  }

  private folder(): string {
    const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file');
    return folder?.uri.fsPath ?? homedir();
  }

  private logged(line: string): void {
    const level = /\blevel=(DEBUG|WARN|ERROR)\b/.exec(line)?.[1];
    if (level === 'ERROR') {
      this.o.log.error(line);
    } else if (level === 'WARN') {
      this.o.log.warn(line);
    } else if (level === 'DEBUG') {
      this.o.log.debug(line);
    } else {
      this.o.log.info(line);
    }
  }
}

/** What is declared beyond the library's own features, and what of the server's is served otherwise here. */
function feature(requests: string[]): StaticFeature {
  return {
    fillClientCapabilities(capabilities: ClientCapabilities) {
      const tandem: ClientExperimental = { protocolVersion: VERSION, review: true, landed: true, settingsAreOwn: true };
      for (const method of requests) {
        const name = DECLARED[method];
        if (name) {
          tandem[name] = true;
        }
      }
      capabilities.experimental = { tandem };
      capabilities.workspace!.workspaceEdit = {
        documentChanges: true,
        resourceOperations: ['create', 'rename', 'delete'],
        failureHandling: 'abort',
        normalizesLineEndings: true,
      };
      // The chat and the status bar show the progress of a turn.
      capabilities.window!.workDoneProgress = false;
    },
    preInitialize(capabilities: ServerCapabilities) {
      delete capabilities.codeLensProvider;
      delete capabilities.codeActionProvider;
      delete capabilities.executeCommandProvider;
    },
    initialize() {},
    getState: () => ({ kind: 'static' }),
    clear() {},
  };
}

/** Waits for the end of a process, which is brought about after the time. */
async function ended(child: ChildProcess | undefined, ms: number): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
