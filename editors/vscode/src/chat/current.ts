// Which session the chat shows. It becomes another one at a time: what is asked for meanwhile waits in a FIFO lock, and
// what is not wanted any more when its turn comes is left out.

import type { Loaded, Request } from './sessions.ts';
import type { NewSessionResult } from './wire.ts';

/** What the chat is to show: the session that the folder had last, a certain one, or a new one. */
export type Wish = 'last' | 'new' | { readonly id: string };

/** The chat, as far as a change of its session concerns it. */
export interface Stage {
  readonly request: Request;
  /** The session that is shown. */
  shown(): string | undefined;
  /** Resolved when the server has been asked for the session to go on with, or cannot be. */
  ready(): Promise<void>;
  /** Loads a session that is kept; `wanted` says whether it is worth waiting for. */
  load(id: string, former: number | undefined, wanted: () => boolean): Promise<Loaded>;
  /** Has the server make a session. */
  make(): Promise<NewSessionResult>;
  /** Shows a session that was loaded, or a new one, in place of what was shown. */
  show(session: NewSessionResult, loaded?: Loaded): void;
  /** Told of a session that is not shown any more, before it is closed, or that it stays open. */
  left(id: string, open: boolean): void;
}

export class Current {
  private wanted: Wish = 'last';
  /** The end of the FIFO lock, and how many hold it or wait for it. */
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  /** Settled when the sessions that were left are closed. */
  private closed: Promise<unknown> = Promise.resolve();
  /** Sessions that stay open in the server when they are left, for their background commands. */
  private readonly kept = new Set<string>();
  /** Counts the servers: what was asked of one that has ended is nothing to the next. */
  private server = 0;

  constructor(private readonly stage: Stage) {}

  get wish(): Wish {
    return this.wanted;
  }

  /** The server has ended, or is another. `wish` is what the next one is asked for, by default what this one was. */
  ended(wish = this.wanted): void {
    this.server++;
    this.wanted = wish;
    this.closed = Promise.resolve();
    this.kept.clear();
  }

  /** Has a session stay open when it is left next. */
  keep(id: string): void {
    this.kept.add(id);
  }

  /** Has a new session shown next. One that is being loaded will not be. */
  renew(): void {
    this.wanted = 'new';
  }

  /** The session to use: that which is shown when what was asked for before is done; one is made where there is none. */
  async session(): Promise<string> {
    for (;;) {
      const shown = this.stage.shown();
      if (shown && this.waiting === 0) {
        return shown;
      }
      await this.stage.ready();
      const id = await this.take(async (lives) => (lives() ? (this.stage.shown() ?? (await this.create(lives))) : undefined));
      // Without one the server has ended meanwhile: the next one is asked.
      if (id) {
        return id;
      }
    }
  }

  /**
   * Shows a session that is kept in place of the present one, which is closed. Does nothing where something else is asked for
   * before it is loaded. Rejects where it cannot be loaded; the present one stays.
   */
  goOn(id: string, former?: number): Promise<void> {
    this.wanted = { id };
    return this.take(async (lives) => {
      const wanted = () => lives() && typeof this.wanted === 'object' && this.wanted.id === id;
      const old = this.stage.shown();
      if (!wanted() || old === id) {
        return;
      }
      let loaded: Loaded;
      try {
        await this.closed;
        loaded = await this.stage.load(id, former, wanted);
      } catch (err) {
        if (wanted()) {
          this.wanted = old ? { id: old } : 'new';
          this.kept.delete(old ?? '');
          throw err;
        }
        return;
      }
      if (wanted()) {
        this.stage.show(loaded.session, loaded);
        this.close(old);
      } else if (lives()) {
        this.close(id);
      }
    });
  }

  /** Closes a session that is left, unless it is to stay open. It is stored, with what waits in it. */
  close(id: string | undefined): void {
    if (id) {
      const open = this.kept.delete(id);
      this.stage.left(id, open);
      if (open) {
        return;
      }
      const closing = this.stage.request('tandem/session/close', { sessionId: id }).catch(() => {});
      this.closed = Promise.all([this.closed, closing]);
    }
  }

  private async create(lives: () => boolean): Promise<string | undefined> {
    const { wanted } = this;
    const session = await this.stage.make();
    if (!lives()) {
      return undefined;
    }
    this.stage.show(session);
    if (this.wanted === wanted) {
      this.wanted = { id: session.sessionId };
    }
    return session.sessionId;
  }

  /** Does a piece of work when what came before is over, however that went. It is told whether its server lives still. */
  private take<R>(work: (lives: () => boolean) => Promise<R>): Promise<R> {
    const { server } = this;
    this.waiting++;
    const done = this.last.then(() => work(() => server === this.server));
    this.last = done.then(
      () => this.waiting--,
      () => this.waiting--,
    );
    return done;
  }
}
