// The status bar item: what the server is at, and a menu.

import * as vscode from 'vscode';
import type { Chat } from './actions.ts';
import type { Backend, BackendState } from './backend.ts';
import type { StatusResult } from './protocol.ts';
import type { Review } from './review.ts';
import { visible } from './chat/visible.ts';
import { searchesOf } from './searched.ts';
import type { UpdateParams } from './chat/wire.ts';

const MODES: Record<string, string> = {
  ask: 'asks before changes and commands',
  acceptEdits: 'edits without asking',
  plan: 'plans only',
  readOnly: 'reads only',
  auto: 'works without asking',
};

const WORDS: Record<BackendState, string> = {
  stopped: 'stopped',
  starting: 'starting',
  running: 'ready',
  failed: 'not running',
  missing: 'program not found',
};

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('tandem.status', vscode.StatusBarAlignment.Right, 90);
  private readonly disposables: vscode.Disposable[];
  /** What the server said of itself last. */
  private server?: Pick<StatusResult, 'sandbox' | 'jobs' | 'searched'>;

  /** Looks again, while an index is built. */
  private again?: NodeJS.Timeout;

  constructor(
    private readonly backend: Backend,
    private readonly chat: Chat,
    private readonly review: Review,
  ) {
    this.item.name = 'Tandem';
    this.item.command = 'tandem.menu';
    const draw = () => this.draw();
    const look = () => void this.look();
    this.disposables = [
      this.item,
      backend.onState(look),
      chat.onRunning(look),
      chat.onSession(look),
      backend.onNotification<UpdateParams>('tandem/session/update', ({ update }) => {
        if (update.sessionUpdate === 'session_info_update' && update._meta?.tandem?.jobs) {
          look();
        }
      }),
      review.onChanged(draw),
      vscode.workspace.onDidGrantWorkspaceTrust(draw),
    ];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    clearTimeout(this.again);
    this.disposables.forEach((one) => one.dispose());
  }

  /** Asks the server what confines commands, which of them run in the background, and how searches are made. */
  private async look(): Promise<void> {
    clearTimeout(this.again);
    this.draw();
    const running = this.backend.state === 'running';
    this.server = running ? await this.backend.request<StatusResult>('tandem/status', {}).catch(() => undefined) : undefined;
    clearTimeout(this.again);
    if (this.server?.searched?.some((root) => root.state === 'building')) {
      this.again = setTimeout(() => void this.look(), 2000);
    }
    this.draw();
  }

  private draw(): void {
    const { state, failure } = this.backend;
    const { files, hunks } = this.review.pending;
    const bad = state === 'failed' || state === 'missing';
    const busy = state === 'starting' || (state === 'running' && this.chat.running);
    const icon = bad ? '$(error)' : busy ? '$(loading~spin)' : '$(sparkle)';
    const { sandbox, jobs = [], searched = [] } = this.server ?? {};
    this.item.text = `${icon} Tandem${hunks > 0 ? ` ${hunks}` : ''}${jobs.length > 0 ? ` $(terminal) ${jobs.length}` : ''}`;
    const color = state === 'failed' ? 'error' : 'warning';
    this.item.backgroundColor = bad ? new vscode.ThemeColor(`statusBarItem.${color}Background`) : undefined;
    const tip = new vscode.MarkdownString('', true);
    tip.appendMarkdown(`**Tandem** — ${this.word()}\n\n`);
    if (failure) {
      tip.appendText(failure);
    } else {
      const { model, mode } = this.chat;
      const level = sandbox && (sandbox.level === 'full' || !sandbox.reason ? sandbox.level : `${sandbox.level} (${sandbox.reason})`);
      tip.appendText(
        [model && `Model: ${model}`, mode && `Mode: ${mode} (${MODES[mode] ?? ''})`, level && `Sandbox of commands: ${level}`]
          .filter(Boolean)
          .join('\n'),
      );
      for (const job of jobs) {
        tip.appendText(`\nIn the background: ${visible(job.title, false)}`);
      }
      for (const root of searched) {
        tip.appendText(`\n${searchesOf(root)}`);
      }
      if (hunks > 0) {
        tip.appendText(`\n${hunks} ${hunks === 1 ? 'change waits' : 'changes wait'} in ${files} ${files === 1 ? 'file' : 'files'}`);
      }
      if (!vscode.workspace.isTrusted) {
        tip.appendText('\nRestricted Mode: reads and searches only');
      }
    }
    this.item.tooltip = tip;
    this.item.accessibilityInformation = { label: `Tandem, ${this.word()}` };
  }

  private word(): string {
    const { state } = this.backend;
    return state === 'running' && this.chat.running ? 'working' : WORDS[state];
  }

  /** The menu behind the item. */
  async menu(): Promise<void> {
    const { state, failure } = this.backend;
    const { hunks } = this.review.pending;
    type Item = vscode.QuickPickItem & { command?: string };
    const entry = (label: string, command: string, description?: string): Item => ({ label, command, description });
    const line = (label: string): Item => ({ label, kind: vscode.QuickPickItemKind.Separator });
    const items: Item[] = [];
    if (state === 'running') {
      items.push(entry('$(comment-discussion) Open Chat', 'tandem.focusChat'));
      items.push(
        this.chat.running ? entry('$(debug-stop) Stop', 'tandem.stop') : entry('$(add) New Session', 'tandem.newSession'),
      );
      items.push(entry('$(history) Sessions…', 'tandem.sessions'));
      const { sandbox, jobs = [] } = this.server ?? {};
      items.push(entry('$(shield) Permission Rules…', 'tandem.permissions', sandbox && `sandbox of commands: ${sandbox.level}`));
      if (jobs.length > 0) {
        items.push(entry('$(terminal) Commands in the Background…', 'tandem.jobs', String(jobs.length)));
      }
      if (hunks > 0) {
        items.push(
          line(`${hunks} ${hunks === 1 ? 'change' : 'changes'}`),
          entry('$(arrow-down) Go to Next Change', 'tandem.nextChange'),
          entry('$(check-all) Accept All Changes', 'tandem.acceptAll'),
          entry('$(discard) Reject All Changes', 'tandem.rejectAll'),
        );
      }
      if (this.chat.currentSession()) {
        items.push(entry('$(history) Undo Last Turn', 'tandem.undoTurn'));
      }
    } else if (state === 'missing') {
      items.push(entry('$(folder-opened) Choose the Program…', 'tandem.choosePath', failure));
    }
    items.push(
      line('Server'),
      entry('$(refresh) Restart Server', 'tandem.restart', state === 'missing' ? undefined : failure),
      entry('$(key) Set API Key…', 'tandem.setApiKey'),
      entry('$(output) Show Log', 'tandem.showLog'),
      entry('$(gear) Open Settings', 'tandem.openSettings', this.chat.model),
    );
    const picked = await vscode.window.showQuickPick(items, { title: `Tandem — ${this.word()}` });
    if (picked?.command) {
      await vscode.commands.executeCommand(picked.command);
    }
  }
}
