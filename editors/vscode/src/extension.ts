// Puts the parts together.

import * as vscode from 'vscode';
import type { Actions } from './actions.ts';
import { handleApplyEdit, watchTyping } from './apply.ts';
import { registerChat } from './chat/view.ts';
import { serveDocuments } from './documents.ts';
import { serveLanguages } from './languages.ts';
import { showJobs } from './jobs.ts';
import { Keys } from './keys.ts';
import { lend, lendable } from './model.ts';
import type { ModelStreamParams, ModelStreamResult, StatusResult } from './protocol.ts';
import { Proposed } from './proposed.ts';
import { Review } from './review.ts';
import { showPlans } from './plans.ts';
import { showRules } from './rules.ts';
import { Server } from './server.ts';
import { Status } from './status.ts';

/** What other extensions, and the tests, may use. */
export interface Api {
  readonly backend: Server;
  readonly review: Review;
  /** Takes an edit as the server sends it. */
  readonly applyEdit: typeof handleApplyEdit;
  /** Time of the processor that activation has taken. */
  readonly activationMs: number;
}

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  const begun = process.cpuUsage();
  const log = vscode.window.createOutputChannel('Tandem', { log: true });
  const keys = new Keys(
    context.secrets,
    (text) => {
      log.warn(text);
      void vscode.window.showWarningMessage(`Tandem: ${text}`);
    },
    // Without a server there are the settings alone.
    async () => (await server?.request<StatusResult>('tandem/status', {}).catch(() => undefined))?.keys ?? [],
  );
  const backend = (server = new Server({ extension: context, log, keys: () => keys.all() }));
  const review = new Review(backend);
  const proposed = new Proposed();

  // Why it does not run is told when the state changes.
  const restart = () => backend.restart().catch(() => {});
  context.subscriptions.push(backend.onState((state) => state === 'failed' && void tellFailure(backend, log, restart)));
  const actions: Actions = {
    openDiff: (_session, uri) => review.openDiff(uri),
    showProposal: (asked, path) => proposed.show(asked, path),
    openFile: async (uri, line) => {
      const selection = line === undefined ? undefined : new vscode.Range(line - 1, 0, line - 1, 0);
      await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection });
    },
    accept: (_session, uri) => review.accept(uri),
    reject: (_session, uri) => review.reject(uri),
    undoTurn: (_session, turn) => review.undoTurn(turn),
    setApiKey: async () => {
      // A server takes its keys from its environment. What is asked meanwhile waits for the next one.
      const keep = await keys.ask();
      if (keep) {
        await backend.restart(keep).catch(() => {});
      }
    },
    openSettings: (query) => {
      void vscode.commands.executeCommand('workbench.action.openSettings', query ?? `@ext:${context.extension.id}`);
    },
    showLog: () => log.show(),
    models: () => lendable(vscode),
  };
  const lending = backend.onRequest<ModelStreamParams, ModelStreamResult>('tandem/model/stream', (params, token) =>
    lend(vscode, params, (chunk) => backend.notify('tandem/model/chunk', { streamId: params.streamId, ...chunk }), token),
  );
  const chat = registerChat(context, backend, actions);
  const status = new Status(backend, chat, review);
  context.subscriptions.push(log, lending, backend, review, proposed, chat, status, watchTyping(), ...serveDocuments(backend), serveLanguages(backend));
  chat.onSession((session) => review.show(session));
  chat.onRunning((running) => void vscode.commands.executeCommand('setContext', 'tandem.running', running));

  const command = (name: string, run: (...args: any[]) => unknown) =>
    context.subscriptions.push(
      vscode.commands.registerCommand(`tandem.${name}`, async (...args: unknown[]) => {
        try {
          return await run(...args);
        } catch (err) {
          void vscode.window.showErrorMessage(`Tandem: ${err instanceof Error ? err.message : err}`);
        }
      }),
    );
  command('focusChat', () => vscode.commands.executeCommand('tandem.chat.focus'));
  command('ask', async (text?: string) => {
    const words = text ?? (await vscode.window.showInputBox({ title: 'Tandem', placeHolder: 'What should Tandem do?' }));
    if (words) {
      await chat.ask(words);
    }
  });
  command('newSession', () => chat.newSession());
  command('sessions', () => chat.chooseSession());
  command('permissions', () => showRules(backend, chat.currentSession()));
  command('plans', () => showPlans(backend, chat.currentSession()));
  command('jobs', () => showJobs(backend));
  command('stop', () => chat.stop());
  command('acceptHunk', (uri?: string, id?: string) => review.decideHunk('accept', uri, id));
  command('rejectHunk', (uri?: string, id?: string) => review.decideHunk('reject', uri, id));
  command('acceptFile', (uri?: string | vscode.Uri) => review.decideFile('accept', uri?.toString()));
  command('rejectFile', (uri?: string | vscode.Uri) => review.decideFile('reject', uri?.toString()));
  command('acceptAll', () => review.accept());
  command('rejectAll', () => review.reject());
  command('undoTurn', (turn?: number) => review.undoTurn(turn));
  command('nextChange', () => review.go(1));
  command('previousChange', () => review.go(-1));
  command('openDiff', (uri?: string | vscode.Uri) => review.openDiff(uri?.toString()));
  command('setApiKey', actions.setApiKey);
  command('restart', restart);
  command('showLog', actions.showLog);
  command('openSettings', () => actions.openSettings());
  command('openPathSetting', () => actions.openSettings('tandem.path'));
  command('choosePath', async () => {
    const [file] = (await vscode.window.showOpenDialog({ title: 'The tandem program', canSelectMany: false })) ?? [];
    if (file) {
      await vscode.workspace.getConfiguration('tandem').update('path', file.fsPath, vscode.ConfigurationTarget.Global);
    }
  });
  command('menu', () => status.menu());

  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('tandem.path') || event.affectsConfiguration('tandem.env')) {
        void restart();
      } else if (event.affectsConfiguration('tandem')) {
        backend.settingsChanged();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => backend.settingsChanged()),
  );
  // Activation does not wait for the server: whoever needs it does.
  void backend.start().catch(() => {});
  const { user, system } = process.cpuUsage(begun);
  return { backend, review, applyEdit: handleApplyEdit, activationMs: (user + system) / 1000 };
}

async function tellFailure(backend: Server, log: vscode.LogOutputChannel, restart: () => Promise<void>): Promise<void> {
  const choice = await vscode.window.showErrorMessage(backend.failure ?? 'Tandem is not running.', 'Restart', 'Show Log');
  if (choice === 'Restart') {
    await restart();
  } else if (choice) {
    log.show();
  }
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
