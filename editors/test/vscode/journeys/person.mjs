// A person in front of VS Code: opens the chat, asks, types, answers.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSIONS, binary, missing, open, openFile, start, vsix, webview } from '../drive.mjs';
import { startModel } from './model.mjs';

/** The version of VS Code that is driven. */
export const version = process.env.VSCODE_VERSION || VERSIONS[0];

/** What is missing to drive a version, in words. In CI it is an error, elsewhere a reason to skip. */
export function unable(which = version) {
  const reason = missing(which);
  if (reason && process.env.CI) {
    throw new Error(reason);
  }
  return reason;
}

/**
 * Starts a VS Code with the extension and opens a window in it, which `end` closes with all the rest. Options are those
 * of start and of sit.
 */
export async function begin(o = {}) {
  const editor = await start({ version, vsix: await vsix(), ...o });
  try {
    const person = await sit(editor, o);
    const leave = person.end.bind(person);
    person.end = () => leave().finally(() => editor.stop());
    return person;
  } catch (err) {
    await editor.stop();
    throw err;
  }
}

/**
 * Opens a further window in a VS Code that runs. Options are those of open, and
 *   model     one that runs already; false for none: nothing is set up then
 *   modelName of the model; "scripted" if absent
 *   settings  of the person; machine: those of the machine
 *   inside    what to open, by its name in the workspace; the workspace itself if absent
 */
export async function sit(editor, o = {}) {
  const model = o.model ?? (await startModel());
  const settings = model && {
    'tandem.model': `local/${o.modelName ?? 'scripted'}`,
    'tandem.providers': { local: { api: 'openai-chat', baseUrl: model.url } },
  };
  await editor.configure({ settings: { ...settings, ...o.settings }, machine: o.machine });
  try {
    const window = await open(editor, { folder: o.inside && join(editor.workspace, o.inside), ...o });
    return new Person(editor, window, model, o.model ? undefined : model);
  } catch (err) {
    model?.stop?.();
    throw err;
  }
}

export class Person {
  /** `own` is the model that ends with the person. */
  constructor(editor, window, model, own) {
    this.own = own;
    this.editor = editor;
    this.window = window;
    this.page = window.page;
    this.model = model;
    this.chat = webview(this.page);
  }

  /** Closes the window. Fails where the extension, its page or the server has complained of anything. */
  async end() {
    const complaints = [...this.window.ours(), ...(await serverErrors(this.editor))];
    await this.window.close();
    this.own && this.own.stop();
    assert.deepEqual(complaints, []);
  }

  /** Ends like the error that it is given, with a picture of the window where PICTURES names a folder for them. */
  async fail(err) {
    await this.picture('failed').catch(() => {});
    await this.window.close();
    this.own && this.own.stop();
    throw err;
  }

  async picture(name) {
    if (process.env.PICTURES) {
      await this.page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
    }
  }

  /** Picks the mode of the session. */
  async mode(name) {
    await this.chat.locator('select[aria-label="Mode"]').selectOption(name);
  }

  /** Begins a session whose mode is that, with nothing running. */
  async fresh(mode) {
    await this.leaveFields();
    await this.command('Tandem: New Session');
    await this.chat.locator('textarea:focus').waitFor(); // the session before may be one in which nothing has happened
    await this.chat.locator('.welcome').waitFor();
    await this.mode(mode);
  }

  /** Shows the chat, and waits until it can be used. */
  async openChat() {
    await this.page.locator('.activitybar .action-item:has([aria-label^="Tandem"])').click();
    await this.input().waitFor();
  }

  /** Gives the keyboard to the window, where the chat may hold it, by a click at an empty place. */
  async leaveFields() {
    await this.page.locator('.part.statusbar').click({ position: { x: 500, y: 11 } });
  }

  /** Opens a file by its name. */
  async openFile(name) {
    await this.leaveFields();
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

  /** The lenses of that name in the file that is open. */
  lens(name) {
    return this.page.locator('.codelens-decoration a', { hasText: new RegExp(`^\\s*${name}$`) });
  }

  /** Waits until so many changes of the file that is open can be accepted by their lenses. */
  async marks(count) {
    await this.until(
      async () => (await this.lens('Accept').count()) === count,
      async () => `${await this.lens('Accept').count()} lenses, not ${count}; the chat says: ${await this.said()}`,
    );
  }

  /** All of the chat's words. */
  async said() {
    return this.chat.locator('body').innerText({ timeout: 5000 }).catch((err) => `nothing (${err.message})`);
  }

  /** Loads the window again, as "Developer: Reload Window" does. */
  async reload() {
    await this.page.reload();
    await this.page.waitForSelector('.monaco-workbench .part.editor');
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
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Presses the button of that name of the open question. */
  async answer(name) {
    await this.chat.locator('.question.open').getByRole('button', { name, exact: true }).click();
  }

  async command(title) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input');
    await input.waitFor();
    await input.fill(`>${title}`);
    // The list still shows what it had before until it has looked at what was typed.
    await this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title }).waitFor();
    await this.page.keyboard.press('Enter');
    // A list of the command's own may follow at once.
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor({ state: 'hidden' });
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

  /** Puts the caret at the end of a line of the file that is open. The whole file must be on the screen. */
  async caretAfter(text) {
    const index = (await this.lines()).findIndex((line) => line.includes(text));
    assert.ok(index >= 0, `no line has ${text}`);
    await this.goTo(index + 1);
    await this.page.keyboard.press('End');
  }

  /** Puts the caret at the beginning of a line, counted from 1, of the file that is open. */
  async goTo(line) {
    await this.leaveFields();
    await this.page.keyboard.press('Control+G');
    const input = this.page.locator('.quick-input-widget input');
    await input.waitFor();
    await input.fill(`:${line}`);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
    await this.page.locator('.statusbar-item', { hasText: new RegExp(`^Ln ${line}, Col 1$`) }).waitFor();
    await this.page.waitForFunction(() => document.activeElement?.closest('.part.editor .monaco-editor'));
  }
}

/** The process of the server of an editor: that which runs the program with the editor's environment. */
export async function serverOf(editor) {
  const program = await binary();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readlinkSync(`/proc/${pid}/exe`) === program && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(editor.dir)) {
        return Number(pid);
      }
    } catch {
      // It is another's, or has ended.
    }
  }
  throw new Error('no server runs');
}

/** Whether a process of this machine runs sleep for so long. The process ids that a command sees are those of its own namespace. */
export function sleeps(seconds) {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`;
    } catch {
      return false; // it has ended
    }
  });
}

/** What the server has complained of in its log. */
async function serverErrors(editor) {
  const state = join(editor.dir, 'state', 'tandem');
  const logs = (await readdir(state).catch(() => [])).filter((name) => name.endsWith('.log'));
  const texts = await Promise.all(logs.map((name) => readFile(join(state, name), 'utf8')));
  return texts.flatMap((text) => text.split('\n').filter((line) => /\blevel=ERROR\b|"level":"ERROR"/.test(line)));
}
