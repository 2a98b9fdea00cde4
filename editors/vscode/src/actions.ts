// What the chat asks of the rest of the extension, and the rest of the chat.

import type { Disposable, Event } from 'vscode';
import type { PermissionParams } from './chat/wire.ts';

/** What the chat can have done for it. */
export interface Actions {
  /** Shows what a session has done to one file, beside the text from before. */
  openDiff(sessionId: string, uri: string): Promise<void>;
  /** Shows a change that is asked about beside the text as it is: that of one file, or all that there is of it. */
  showProposal(asked: PermissionParams, path?: string): Promise<void>;
  /** Opens a file, at a line counted from 1 if one is given. */
  openFile(uri: string, line?: number): Promise<void>;
  /** Keeps or takes back pending changes: those of one file, or all. */
  accept(sessionId: string, uri?: string): Promise<void>;
  reject(sessionId: string, uri?: string): Promise<void>;
  /** Takes back a turn, the last one whose changes stand if none is named. */
  undoTurn(sessionId: string, turn?: number): Promise<void>;
  /** Asks for a key and keeps it in the secret storage. */
  setApiKey(): Promise<void>;
  openSettings(query?: string): void;
  showLog(): void;
  /** The models that VS Code itself has. */
  models(): Promise<{ modelId: string; name: string }[]>;
}

/** The chat, as the commands and the status bar know it. */
export interface Chat extends Disposable {
  /** Shows the chat and sends a prompt; resolved when its turn is over. */
  ask(text: string): Promise<void>;
  newSession(): Promise<void>;
  /** Lets the person choose one of the workspace's sessions, and goes on with it. */
  chooseSession(): Promise<void>;
  /** Ends the running turn. */
  stop(): void;
  currentSession(): string | undefined;
  /** Told of the session that is shown, undefined when there is none any more. */
  onSession(listener: (sessionId: string | undefined) => void): Disposable;
  /** Whether a turn runs. */
  readonly running: boolean;
  readonly onRunning: Event<boolean>;
  /** The mode and the model of the current session. */
  readonly mode: string | undefined;
  readonly model: string | undefined;
}
