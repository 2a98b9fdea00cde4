// Shows a change that is asked about in VS Code's diff editor, before any of it is in the file.

import * as vscode from 'vscode';
import { proposal } from './chat/proposal.ts';
import type { PermissionParams } from './chat/wire.ts';

const SCHEME = 'tandem-proposed';

export class Proposed implements vscode.Disposable {
  /** The texts that are shown, by their URIs. */
  private readonly texts = new Map<string, string>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? '',
  });
  private readonly closed = vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString()));
  private next = 1;

  async show(asked: PermissionParams, path?: string): Promise<void> {
    const { path: where, before, after } = await proposal(asked, path, textOf);
    const n = this.next++;
    const side = (name: string, text: string): vscode.Uri => {
      const uri = vscode.Uri.file(where || '/change').with({ scheme: SCHEME, query: `${n} ${name}` });
      this.texts.set(uri.toString(), text);
      return uri;
    };
    const name = where ? vscode.workspace.asRelativePath(where) : asked.toolCall.title ?? 'The change';
    await vscode.commands.executeCommand('vscode.diff', side('before', before), side('after', after), `${name} (now ↔ proposed)`);
  }

  dispose(): void {
    this.registered.dispose();
    this.closed.dispose();
  }
}

/** What a file says now, in its editor or on the disk. */
async function textOf(path: string): Promise<string> {
  try {
    return (await vscode.workspace.openTextDocument(vscode.Uri.file(path))).getText();
  } catch {
    return ''; // it is not there yet
  }
}
