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
