// What the parts of the extension know of the server. Nothing here runs; `server.ts` has the implementation, and the
// tests of the parts bring their own.

import type { CancellationToken, Disposable } from 'vscode';

/**
 * - `missing`: there is no program to start;
 * - `failed`: it was started and cannot be used: `failure` says why.
 */
export type BackendState = 'stopped' | 'starting' | 'running' | 'failed' | 'missing';

/** The server of this window, whatever process it is at the moment. */
export interface Backend {
  readonly state: BackendState;

  /** Why the state is `failed` or `missing`, or `stopped` without anybody's wish, in words for a person. */
  readonly failure: string | undefined;

  /** The process of the running server. */
  readonly pid: number | undefined;

  /** The tandem/* methods that the running server takes; none where none runs. */
  readonly methods: readonly string[];

  /** Told after every change of `state`. Sessions of a server that has ended are gone. */
  onState(listener: (state: BackendState) => void): Disposable;

  /**
   * Sends a request. Waits while the server is starting; rejects where it does not run, and with the server's
   * ResponseError (`code`, `message`, `data`) where it refuses. Cancelling the token sends `$/cancelRequest`.
   */
  request<R>(method: string, params: unknown, token?: CancellationToken): Promise<R>;

  /** Sends a notification; dropped where no server runs. Resolved, whatever happens, when the next message may follow. */
  notify(method: string, params: unknown): Promise<void>;

  /** Hears a notification of the server, across restarts. Several may listen to one method. */
  onNotification<P>(method: string, handler: (params: P) => void): Disposable;

  /**
   * Answers a request of the server, across restarts. One handler for a method. What it throws is the answer's error, with
   * the `code` that it has.
   */
  onRequest<P, R>(method: string, handler: (params: P, token: CancellationToken) => R | Promise<R>): Disposable;

  /**
   * Ends the server, if one runs, and starts it anew, when what is to be done between is done; resolved when it runs,
   * rejected when it does not come up.
   */
  restart(between?: () => Promise<void>): Promise<void>;
}
