// Questions of the server that wait for a person: in the chat, and as a notification where the chat is not in sight.
// Whoever answers first wins.

import * as vscode from 'vscode';
import type { Backend } from '../backend.ts';
import type { ResolvedParams } from '../protocol.ts';
import type { Answer, Event } from './state.ts';
import { plain } from './visible.ts';
import type { ClarifyParams, PermissionParams, PermissionResult } from './wire.ts';

interface Open {
  session: string;
  call?: string;
  params: PermissionParams | ClarifyParams;
  /** Gives the server its answer; undefined withdraws the question. */
  settle(given: { optionId?: string; text?: string } | undefined): void;
}

export class Questions implements vscode.Disposable {
  private readonly open = new Map<number, Open>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private next = 1;

  constructor(
    backend: Backend,
    private readonly dispatch: (session: string, event: Event) => void,
    private readonly inSight: (session: string) => boolean,
    private readonly show: (id: number) => void,
  ) {
    this.subscriptions.push(
      backend.onRequest<PermissionParams, PermissionResult>('tandem/session/requestPermission', async (p, token) => {
        const given = await this.ask(p, p.toolCall.toolCallId, token, (id) => ({ type: 'permission', id, params: p }));
        if (given?.optionId === undefined) {
          return { outcome: { outcome: 'cancelled' } };
        }
        const words = given.text ? { _meta: { tandem: { feedback: given.text } } } : {};
        return { outcome: { outcome: 'selected', optionId: given.optionId }, ...words };
      }),
      backend.onRequest<ClarifyParams, { answer: string }>('tandem/session/clarify', async (p, token) => {
        const given = await this.ask(p, p.toolCallId, token, (id) => ({ type: 'clarify', id, params: p }));
        if (given?.text === undefined) {
          throw new Error('nobody answered');
        }
        return { answer: given.text };
      }),
      backend.onNotification<ResolvedParams>('tandem/session/resolved', (r) => {
        for (const [id, q] of this.open) {
          if (q.session === r.sessionId && q.call === r.toolCallId) {
            this.answer(id, undefined);
          }
        }
        this.dispatch(r.sessionId, { type: 'resolved', call: r.toolCallId, by: r.by });
      }),
    );
  }

  /** How many questions of a session wait. */
  waiting(session: string | undefined): number {
    return [...this.open.values()].filter((q) => q.session === session).length;
  }

  /** Answers a question, or withdraws it. What is answered already stays so. */
  answer(id: number, given: { optionId?: string; text?: string } | undefined): void {
    const q = this.open.get(id);
    if (!q) {
      return;
    }
    this.open.delete(id);
    this.dispatch(q.session, { type: 'answered', id, answer: wordsOf(q.params, given) });
    q.settle(given);
  }

  /** Withdraws the questions of a session, or all. */
  withdraw(session?: string): void {
    for (const [id, q] of this.open) {
      if (session === undefined || q.session === session) {
        this.answer(id, undefined);
      }
    }
  }

  /** Puts what waits as notifications, because the chat has gone out of sight. */
  notify(session: string | undefined): void {
    for (const [id, q] of this.open) {
      if (q.session === session) {
        void this.toast(id, q.params);
      }
    }
  }

  dispose(): void {
    this.withdraw();
    for (const s of this.subscriptions) {
      s.dispose();
    }
  }

  private async ask(
    params: PermissionParams | ClarifyParams,
    call: string | undefined,
    token: vscode.CancellationToken,
    event: (id: number) => Event,
  ): Promise<{ optionId?: string; text?: string } | undefined> {
    const id = this.next++;
    const session = params.sessionId;
    const given = new Promise<{ optionId?: string; text?: string } | undefined>((settle) => {
      this.open.set(id, { session, call, params, settle });
    });
    const cancelled = token.onCancellationRequested(() => this.answer(id, undefined));
    this.dispatch(session, event(id));
    if (token.isCancellationRequested) {
      this.answer(id, undefined);
    } else if (!this.inSight(session)) {
      void this.toast(id, params);
    }
    try {
      return await given;
    } finally {
      cancelled.dispose();
    }
  }

  /** The question of that id, if it is open and asks for permission. */
  permission(id: number): PermissionParams | undefined {
    const params = this.open.get(id)?.params;
    return params && !('question' in params) ? params : undefined;
  }

  /** Tells of a question. It can be refused there; to allow it, the person has to have seen all of it in the chat. */
  private async toast(id: number, params: PermissionParams | ClarifyParams): Promise<void> {
    const show = 'Show';
    if ('question' in params) {
      const picked = await vscode.window.showInformationMessage(`Tandem asks: ${plain(params.question)}`, show);
      return picked === show ? this.show(id) : undefined;
    }
    const reject = params.options.find((o) => o.kind === 'reject_once');
    const buttons = reject ? [show, reject.name] : [show];
    const picked = await vscode.window.showWarningMessage(toastText(params), ...buttons);
    if (picked === show) {
      this.show(id);
    } else if (picked !== undefined && picked === reject?.name) {
      this.answer(id, { optionId: reject.optionId });
    }
  }
}

/** What a notification says: what is asked, in plain text. */
function toastText(p: PermissionParams): string {
  const input = p.toolCall.rawInput;
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : undefined;
  const danger = p._meta?.tandem?.danger === 'dangerous' ? ' (dangerous)' : '';
  return typeof command === 'string'
    ? `Tandem asks to run${danger}: ${plain(command)}`
    : `Tandem asks for permission${danger}: ${plain(p.toolCall.title ?? '')}`;
}

function wordsOf(p: PermissionParams | ClarifyParams, given: { optionId?: string; text?: string } | undefined): Answer {
  if (!given) {
    return 'withdrawn';
  }
  if ('question' in p) {
    return { text: p.options?.find((o) => o.id === given.text)?.label ?? given.text ?? '' };
  }
  const option = p.options.find((o) => o.optionId === given.optionId);
  const name = option?.name ?? '';
  return { text: given.text ? `${name}: ${given.text}` : name, allowed: option?.kind.startsWith('allow') };
}
