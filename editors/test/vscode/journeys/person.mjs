// A person in front of VS Code: opens the chat, asks, types, answers.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { VERSIONS, binary, missing, open, openFile, start, vsix, webview } from '../drive.mjs';
import { startModel } from './model.mjs';

/** The version of VS Code that is driven. */
export const version = process.env.VSCODE_VERSION || VERSIONS[0];

/** What is missing, in words. In CI it is an error, elsewhere a reason to skip. */
export function unable() {
  const reason = missing(version);
  if (reason && process.env.CI) {
    throw new Error(reason);
  }
  return reason;
}

/**
 * Opens a window with the extension and a model service. Options are those of start and open, and
 *   model   false for no model service: nothing is set up then
 *   inside  what to open, by its name in the workspace; the workspace itself if absent
 */
export async function begin(o = {}) {
  const model = o.model === false ? undefined : await startModel();
  const settings = model && {
    'tandem.model': 'local/scripted',
    'tandem.providers': { local: { api: 'openai-chat', baseUrl: model.url } },
  };
  let editor;
  try {
    const packed = process.env.TANDEM_VSIX || (await vsix());
    editor = await start({ version, vsix: packed, ...o, settings: { ...settings, ...o.settings } });
    const window = await open(editor, { ...o, folder: o.inside && join(editor.workspace, o.inside) });
    return new Person(editor, window, model);
  } catch (err) {
    model?.stop();
    await editor?.stop();
    throw err;
  }
}

/** Whether the server takes a method. */
export async function serves(method) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { processId: null, capabilities: {} } });
  const child = spawn(await binary(), ['--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  let said = '';
  for await (const data of child.stdout) {
    said += data;
    const answer = said.slice(said.indexOf('{'));
    try {
      return JSON.parse(answer).result.capabilities.experimental.tandem.methods.includes(method);
    } catch {
      // It is not whole yet.
    } finally {
      child.stdin.end();
    }
  }
  throw new Error('the server does not answer initialize');
}

export class Person {
  constructor(editor, window, model) {
    this.editor = editor;
    this.window = window;
    this.page = window.page;
    this.model = model;
    this.chat = webview(this.page);
  }

  async end() {
    await this.window.close();
    this.model?.stop();
    await this.editor.stop();
  }

  /** Shows the chat, and waits until it can be used. */
  async openChat() {
    await this.page.locator('.activitybar .action-item:has([aria-label^="Tandem"])').click();
    await this.input().waitFor();
  }

  /** Opens a file by its name. The key is for the window, which must have the keyboard: the chat may hold it. */
  async openFile(name) {
    await this.page.locator('.part.titlebar').click({ position: { x: 4, y: 4 } });
    await openFile(this.page, name);
  }

  /** Shows something else in its place. */
  async leaveChat() {
    await this.page.locator('.activitybar .action-item:has([aria-label^="Explorer"])').click();
    await this.page.locator('.explorer-folders-view').waitFor();
  }

  input() {
    return this.chat.locator('textarea');
  }

  /** Types a prompt and sends it. */
  async ask(text) {
    await this.input().fill(text);
    await this.chat.locator('button[aria-label^="Send"]:enabled').waitFor();
    await this.input().press('Enter');
    await this.chat.locator('.bubble', { hasText: text }).last().waitFor();
  }

  /** Waits for text of an answer, or of whatever else the selector names. */
  async sees(text, selector = '.agent') {
    await this.chat.locator(selector, { hasText: text }).last().waitFor();
  }

  /** Waits until no turn runs. */
  async idle() {
    await this.chat.locator('button[aria-label^="Stop"]').waitFor({ state: 'hidden' });
  }

  /** The row of the last tool call whose title has that text. */
  call(title) {
    return this.chat.locator('.tool', { has: this.chat.locator('.title', { hasText: title }) }).last();
  }

  /** Waits for what must become true; `say` tells what is instead. */
  async until(true_, say) {
    for (const end = Date.now() + 20_000; !(await true_()); ) {
      if (Date.now() > end) {
        throw new Error(`It did not come to it: ${await say()}`);
      }
      await this.page.waitForTimeout(50);
    }
  }

  /** Presses a button of the open question. */
  async answer(name) {
    await this.chat.locator('.question.open button', { hasText: name }).click();
  }

  async command(title) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input');
    await input.waitFor();
    await input.fill(`>${title}`);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** The text of the file that is open, as its lines are drawn. */
  async lines() {
    const lines = await this.page.locator('.part.editor .monaco-editor .view-line').evaluateAll((all) =>
      all
        .map((e) => ({ top: Number.parseInt(e.style.top, 10), text: e.textContent }))
        .sort((a, b) => a.top - b.top)
        .map((l) => l.text.replaceAll('\u00a0', ' ')),
    );
    return lines;
  }

  /** Waits until the file that is open says that. */
  async reads(wanted) {
    let now;
    const same = async () => (now = (await this.lines()).join('\n')) === wanted;
    await this.until(same, () => `the file reads ${JSON.stringify(now)}, not ${JSON.stringify(wanted)}`);
  }

  /** Puts the caret at the end of a line of the file that is open. */
  async caretAfter(text) {
    const line = this.page.locator('.part.editor .monaco-editor .view-line', { hasText: text }).first();
    const box = await line.locator('span').first().boundingBox();
    await this.page.mouse.click(box.x + 2, box.y + box.height / 2);
    await this.page.keyboard.press('End');
  }
}
