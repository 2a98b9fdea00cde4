// Sessions that are kept, as the chat offers them and goes on with them.

import type { ListSessionsResult, SessionInfo } from '../protocol.ts';
import type { Conversation } from './state.ts';
import { visible } from './visible.ts';
import type { NewSessionResult, Update } from './wire.ts';

/** Codes of the server's refusals. */
export const UNKNOWN_SESSION = -32011;
export const SESSION_BUSY = -32012;

/** The model that answers where none is set up. */
const EMBEDDED = 'script/embedded';

/** A session that is kept, as a person chooses it. */
export interface Kept {
  readonly id: string;
  readonly cwd: string;
  readonly title: string;
  /** Its turns, the changes that wait in it, and when it was last used. */
  readonly detail: string;
}

/** What the chat says beside a conversation: of an earlier session, and the way to it. */
export interface Earlier {
  readonly text: string;
  readonly id?: string;
  /** It could not be had just now. */
  readonly busy?: boolean;
}

export type Request = <R>(method: string, params: unknown) => Promise<R>;

const n = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** How long ago a time was. */
export function age(then: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(then)) / 60_000);
  if (!(minutes >= 1)) {
    return 'just now';
  }
  if (minutes < 60) {
    return `${n(minutes, 'minute')} ago`;
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 24) {
    return `${n(hours, 'hour')} ago`;
  }
  const days = Math.floor(hours / 24);
  return days < 30 ? `${n(days, 'day')} ago` : new Date(Date.parse(then)).toISOString().slice(0, 10);
}

export function kept(info: SessionInfo, now: number): Kept {
  const { turns, pending } = info._meta?.tandem ?? {};
  const parts = [age(info.updatedAt, now)];
  if (turns !== undefined) {
    parts.push(n(turns, 'turn'));
  }
  if (pending) {
    parts.push(pending === 1 ? '1 change waits' : `${pending} changes wait`);
  }
  return { id: info.sessionId, cwd: info.cwd, title: info.title || 'No title', detail: parts.join(' · ') };
}

/** The sessions of some folders in which something has happened, the last used first. */
export async function list(request: Request, folders: readonly string[]): Promise<SessionInfo[]> {
  const pages = await Promise.all(folders.map((cwd) => request<ListSessionsResult>('tandem/session/list', { cwd })));
  return pages
    .flatMap((page) => page.sessions)
    .filter((s) => s.title !== '' || (s._meta?.tandem.turns ?? 1) > 0)
    .sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
}

/** What waits in a session that is being left, for a person; undefined for nothing. */
export function waits(c: Conversation): string | undefined {
  const open = c.changes.map((f) => f.hunks.filter((h) => h.status === 'pending' || h.status === 'conflict').length);
  const hunks = open.reduce((a, b) => a + b, 0);
  const files = open.filter((count) => count > 0).length;
  const verb = hunks === 1 ? 'waits' : 'wait';
  return hunks > 0 ? `${n(hunks, 'change')} in ${n(files, 'file')} still ${verb} in the earlier session.` : undefined;
}

/** What waits in the sessions of the folder that are not shown, for a person; undefined for nothing. */
export function waitsElsewhere(all: readonly SessionInfo[], shown: string | undefined): string | undefined {
  const others = all.filter((s) => s.sessionId !== shown && (s._meta?.tandem.pending ?? 0) > 0);
  const hunks = others.reduce((sum, s) => sum + s._meta!.tandem.pending, 0);
  if (hunks === 0) {
    return undefined;
  }
  const where = others.length === 1 ? `the session “${visible(others[0]!.title || 'No title', false)}”` : `${others.length} other sessions`;
  return `${n(hunks, 'change')} ${hunks === 1 ? 'waits' : 'wait'} in ${where}. The command “Tandem: Sessions” leads there.`;
}

export interface Loaded {
  readonly session: NewSessionResult;
  /** What its conversation is made of. */
  readonly updates: readonly Update[];
}

/** Loads sessions. What the server tells of one that is being loaded goes here, not into the conversation. */
export class Loader {
  private readonly gathering = new Map<string, Update[]>();

  constructor(private readonly request: Request) {}

  /** Takes an update of a session that is being loaded; false for any other. */
  take(session: string, update: Update): boolean {
    const updates = this.gathering.get(session);
    updates?.push(update);
    return updates !== undefined;
  }

  /**
   * Loads a session, as `load` does. One in which the embedded model answers, since no other was set up, gets the one that is
   * set up now; where that cannot be had it is shown all the same, and says so.
   */
  async open(id: string, former: number | undefined, pause: () => Promise<void>): Promise<Loaded> {
    const loaded = await this.load(id, former, pause);
    if (loaded.session.models?.currentModelId !== EMBEDDED) {
      return loaded;
    }
    try {
      await this.request('tandem/session/setModel', { sessionId: id, model: '' });
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err);
      const text = `This session uses the scripted demo ${EMBEDDED}, not a language model. The configured model is not available: ${why}`;
      const notice: Update = { sessionUpdate: 'notice', content: { type: 'text', text } };
      return { ...loaded, updates: [...loaded.updates, notice] };
    }
    return this.load(id, former, pause);
  }

  /**
   * Loads a session. One that is held by `former`, the process that served this window before, is waited for: that process
   * is ending.
   */
  async load(id: string, former: number | undefined, pause: () => Promise<void>, patience = 20): Promise<Loaded> {
    for (let tries = 1; ; tries++) {
      const updates: Update[] = [];
      this.gathering.set(id, updates);
      try {
        const session = await this.request<NewSessionResult>('tandem/session/load', { sessionId: id });
        return { session, updates };
      } catch (err) {
        const { code, data } = err as { code?: number; data?: { pid?: number } };
        if (code !== SESSION_BUSY || data?.pid === undefined || data.pid !== former || tries >= patience) {
          throw err;
        }
      } finally {
        this.gathering.delete(id);
      }
      await pause();
    }
  }
}

/** Why the session that was to be gone on with is not there, for a person. */
export function instead(title: string | undefined, err: unknown): string {
  const { code, data, message } = err as { code?: number; data?: { pid?: number }; message?: string };
  const which = title ? `The last session, “${title}”,` : 'The last session';
  if (code === SESSION_BUSY) {
    const where = data?.pid === undefined ? '' : ` (process ${data.pid})`;
    return `${which} is open in another window or program${where}. This is a new one.`;
  }
  if (code === UNKNOWN_SESSION) {
    return `${which} is not kept any more. This is a new one.`;
  }
  return `${which} cannot be opened: ${message ?? String(err)} This is a new one.`;
}
