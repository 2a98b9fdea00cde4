// What the tests share: the extension, sessions whose model plays a script, files, and keys that are really pressed.

import * as assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { Api } from '../../../vscode/src/extension.ts';
import type { NewSessionResult, PromptResult, UpdateParams } from '../../../vscode/src/protocol.ts';

/** How long anything that must happen may take; nothing waits for it unless something is wrong. */
const PATIENCE = 15_000;

export async function api(): Promise<Api> {
  const extension = vscode.extensions.getExtension<Api>('tandem.tandem');
  assert.ok(extension, 'the extension is known');
  return extension.activate();
}

export const folder = (): vscode.Uri => vscode.workspace.workspaceFolders![0]!.uri;
export const file = (name: string): vscode.Uri => vscode.Uri.joinPath(folder(), name);

/** Waits until something holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE; !(await holds()); ) {
    if (Date.now() > end) {
      assert.fail(`it never came that ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function running(): Promise<Api> {
  const all = await api();
  await until('the server runs', () => all.backend.state === 'running');
  return all;
}

/** Has the chat ask, with a model that plays a script; gives the end of the turn. */
export async function ask(script: string, mode = 'auto'): Promise<{ done: Promise<unknown> }> {
  await running();
  const settings = vscode.workspace.getConfiguration('tandem');
  await settings.update('model', `script:${await scriptFile(script)}`, vscode.ConfigurationTarget.Global);
  await settings.update('mode', mode, vscode.ConfigurationTarget.Global);
  await vscode.commands.executeCommand('tandem.chat.focus');
  await vscode.commands.executeCommand('tandem.newSession');
  return { done: Promise.resolve(vscode.commands.executeCommand('tandem.ask', 'go')) };
}

export async function put(name: string, content: string): Promise<vscode.Uri> {
  const uri = file(name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(content));
  return uri;
}

export async function disk(name: string): Promise<string> {
  return readFile(file(name).fsPath, 'utf8');
}

/** Opens a file with this content in an editor. */
export async function edit(name: string, content: string): Promise<vscode.TextEditor> {
  const uri = await put(name, content);
  const doc = await vscode.workspace.openTextDocument(uri);
  await until(`the document is as the file is`, () => doc.getText() === content);
  return vscode.window.showTextDocument(doc, { preview: false });
}

export async function closeAll(): Promise<void> {
  for (const doc of vscode.workspace.textDocuments) {
    if (doc.isDirty && doc.uri.scheme === 'file') {
      await doc.save();
    }
  }
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

let scripts: Promise<string> | undefined;
let scriptNumber = 0;

async function scriptFile(script: string): Promise<string> {
  scripts ??= mkdtemp(join(tmpdir(), 'tandem-scripts-'));
  const path = join(await scripts, `${++scriptNumber}.txt`);
  await writeFile(path, script);
  return path;
}

/** A session whose model plays a script. */
export class Session {
  readonly updates: UpdateParams['update'][] = [];

  private constructor(
    private readonly all: Api,
    readonly id: string,
    private readonly heard: vscode.Disposable,
  ) {}

  static async start(script: string, mode = 'auto'): Promise<Session> {
    const all = await running();
    const path = await scriptFile(script);
    const { sessionId } = await all.backend.request<NewSessionResult>('tandem/session/new', {
      cwd: folder().fsPath,
      model: `script:${path}`,
      mode,
    });
    let session: Session;
    const heard = all.backend.onNotification<UpdateParams>('tandem/session/update', (params) => {
      if (params.sessionId === sessionId) {
        session.updates.push(params.update);
      }
    });
    session = new Session(all, sessionId, heard);
    all.review.show(sessionId);
    return session;
  }

  async prompt(text = 'go'): Promise<PromptResult> {
    return this.all.backend.request<PromptResult>('tandem/session/prompt', {
      sessionId: this.id,
      prompt: [{ type: 'text', text }],
    });
  }

  /** Runs a turn that has to end well, and whose calls all have to succeed. */
  async run(): Promise<PromptResult> {
    const result = await this.prompt();
    assert.equal(result.stopReason, 'end_turn', JSON.stringify(result));
    const failed = this.updates.filter((update) => update.status === 'failed');
    assert.deepEqual(failed, []);
    return result;
  }

  /** What the agent has said. */
  said(): string {
    return this.updates
      .filter((update) => update.sessionUpdate === 'agent_message_chunk')
      .map((update) => (update.content as { text?: string }).text ?? '')
      .join('');
  }

  async end(): Promise<void> {
    this.heard.dispose();
    await this.all.backend.request('tandem/session/close', { sessionId: this.id }).catch(() => {});
  }
}

/** Has the program that holds the browser do something. */
export async function drive<R = void>(what: string, params: unknown = {}): Promise<R> {
  const answer = await fetch(`${process.env.TANDEM_TEST_DRIVER}/${what}`, {
    method: 'POST',
    body: JSON.stringify(params),
  });
  assert.ok(answer.ok, `${what}: ${answer.ok ? '' : await answer.text()}`);
  return (await answer.json()) as R;
}

/** Presses keys in the editor that has the keyboard, with a pause after each, and one after each word. */
export const type = (text: string, delay = 0, breath = 0): Promise<void> => drive('type', { text, delay, breath });

/** Presses keys while this process stands still, so that it has not heard of them when this returns. */
export function typeUnseen(text: string): void {
  const code = `fetch('${process.env.TANDEM_TEST_DRIVER}/type', { method: 'POST', body: process.argv[1] })
    .then((answer) => process.exit(answer.ok ? 0 : 1))`;
  execFileSync(process.execPath, ['-e', code, JSON.stringify({ text })], { env: { ELECTRON_RUN_AS_NODE: '1' } });
}

export const press = (...keys: string[]): Promise<void> => drive('press', { keys });

/** Gives the keyboard to an editor. */
export async function focus(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
}

export const at = (line: number, character: number): vscode.Selection =>
  new vscode.Selection(line, character, line, character);

export const call = (name: string, params: unknown): string => `call ${name} ${JSON.stringify(params)}\n`;

export const replace = (path: string, oldText: string, newText: string): string =>
  call('edit_file', { path, old_text: oldText, new_text: newText });
