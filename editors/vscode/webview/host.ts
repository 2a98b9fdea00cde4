// The way to the extension.

import type { FromPage } from '../src/chat/messages.ts';

interface Saved {
  draft?: string;
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Saved | undefined;
  setState(state: Saved): void;
};

const vscode = acquireVsCodeApi();

export function post(message: FromPage): void {
  vscode.postMessage(message);
}

/** The text that is being written, kept while the page is hidden. */
export const draft = {
  get: (): string => vscode.getState()?.draft ?? '',
  set: (text: string): void => vscode.setState({ draft: text }),
};

/** The session that this window shows. A window that is loaded again has it, and no other window of its folder has. */
export const windowSession = {
  get: (): string | undefined => {
    try {
      return sessionStorage.getItem('tandem.session') ?? undefined;
    } catch {
      return undefined; // a page without an origin
    }
  },
  set: (id: string): void => {
    try {
      sessionStorage.setItem('tandem.session', id);
    } catch {
      // as above
    }
  },
};
