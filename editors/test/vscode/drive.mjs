// Drives a real VS Code (code-server) in a real browser, as a person would.
//
//   const editor = await start({version: '4.139.1', files: {'a.txt': 'one\n'}});
//   const {page, close} = await open(editor);
//
// Nothing here knows of the extension but its settings. Whatever is started ends with stop and close.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));

/** The folder of the repository. */
export const repository = join(here, '..', '..', '..');
/** The folder of the extension. */
export const extension = join(repository, 'editors', 'vscode');

const require = createRequire(join(extension, 'package.json'));

/** The newest VS Code that is tested, and the oldest that the extension supports. */
export const VERSIONS = ['4.139.1', '4.104.0'];

/** Where the install scripts put the editors. */
export function editors() {
  return (
    process.env.TANDEM_EDITORS || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tandem-editors')
  );
}

/** The browser, or undefined where there is none. */
export function browser() {
  const known = [process.env.CHROMIUM, '/usr/lib/chromium/chromium', '/usr/lib/chromium-browser/chromium-browser'];
  return known.find((path) => path && existsSync(path));
}

/** What is missing to drive this version, in words; undefined if nothing is. */
export function missing(version) {
  if (!existsSync(join(editors(), `code-server-${version}`, 'installed'))) {
    return `code-server ${version} is not installed (install-code-server.sh ${version})`;
  }
  if (!browser()) {
    return 'there is no Chromium (the package chromium has it; CHROMIUM names another)';
  }
  if (!existsSync(join(extension, 'node_modules', 'playwright-core'))) {
    return 'the packages of editors/vscode are not installed (npm ci there)';
  }
  return undefined;
}

/** The server, built once for each process; TANDEM_BINARY names one that is built. */
export function binary() {
  binary.built ??= (async () => {
    if (process.env.TANDEM_BINARY) {
      return process.env.TANDEM_BINARY;
    }
    const path = join(await mkdtemp(join(tmpdir(), 'tandem-bin-')), 'tandem');
    await run('go', ['build', '-o', path, './cmd/tandem'], { cwd: repository });
    return path;
  })();
  return binary.built;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'telemetry.telemetryLevel': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'update.mode': 'none',
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'files.autoSave': 'off',
  'editor.minimap.enabled': false,
  'git.enabled': false,
  'window.restoreWindows': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
};

/** Writes the files of a folder, given by relative names. */
export async function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

/**
 * Starts a VS Code. Options:
 *   version   of code-server
 *   files     of the workspace, by relative names
 *   vsix      an extension to install; none for one that is loaded from its folder
 *   settings  of the person; machine: those of the machine. tandem.path is the built server if it is not given
 *   env       further environment, for the extension host and the server too
 *   args      further arguments of code-server
 *   trust     whether folders are trusted unasked; true if absent
 */
export async function start(o) {
  const root = join(editors(), `code-server-${o.version}`);
  const node = join(root, 'node', 'bin', 'node');
  const entry = join(root, 'node_modules', 'code-server', 'out', 'node', 'entry.js');
  const dir = await mkdtemp(join(tmpdir(), 'tandem-vscode-'));
  const workspace = join(dir, 'workspace');
  await mkdir(workspace);
  await write(workspace, o.files ?? {});
  const machine = { 'tandem.path': await binary(), ...o.machine };
  await write(dir, {
    'config.yaml': '',
    'user/User/settings.json': JSON.stringify({ ...QUIET, ...o.settings }),
    'user/Machine/settings.json': JSON.stringify(machine),
  });
  const trust = o.trust ?? true;
  const common = ['--config', join(dir, 'config.yaml'), '--user-data-dir', join(dir, 'user')];
  common.push('--extensions-dir', join(dir, 'extensions'));
  const env = {
    ...process.env,
    XDG_CONFIG_HOME: join(dir, 'config'),
    XDG_CACHE_HOME: join(dir, 'cache'),
    XDG_STATE_HOME: join(dir, 'state'),
    XDG_DATA_HOME: join(dir, 'data'),
    ...o.env,
  };
  if (o.vsix) {
    await run(node, [entry, ...common, '--install-extension', o.vsix], { env });
  }
  const port = await freePort();
  const args = [entry, ...common, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`];
  args.push('--disable-telemetry', '--disable-update-check', '--disable-getting-started-override');
  if (trust) {
    args.push('--disable-workspace-trust');
  }
  const child = spawn(node, [...args, ...(o.args ?? [])], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  child.stdout.on('data', (data) => (said += data));
  child.stderr.on('data', (data) => (said += data));
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL');
      await once(child, 'exit');
    }
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  for (const end = Date.now() + 60_000; ; ) {
    if (await fetch(`${url}/healthz`).then((answer) => answer.ok, () => false)) {
      return { url, dir, workspace, version: o.version, log: () => said, stop };
    }
    if (Date.now() > end || child.exitCode !== null) {
      await stop();
      throw new Error(`code-server does not come up:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What a line of the console names if it is about the extension. VS Code's own complaints name its folder in traces. */
const OURS = /\[tandem\.tandem\]|tandem\.tandem-\d|editors\/vscode\/dist\//;

/**
 * Opens the workspace in a browser of its own. Options:
 *   payload   of VS Code's address
 *   size      [width, height]
 *   folder    another folder or workspace file
 *   ready     false not to wait for the workbench
 * `ours` gives the console errors that name the extension.
 */
export async function open(editor, o = {}) {
  const { chromium } = require('playwright-core');
  const profile = await mkdtemp(join(tmpdir(), 'tandem-chromium-'));
  const [width, height] = o.size ?? [1280, 800];
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: browser(),
    headless: true,
    chromiumSandbox: false,
    viewport: { width, height },
    env: { ...process.env, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(30_000);
  const errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || /\berror\b/i.test(message.text().slice(0, 60))) {
      errors.push(message.text());
    }
  });
  page.on('pageerror', (err) => errors.push(String(err)));
  await o.prepare?.(page);
  const target = o.folder ?? editor.workspace;
  const kind = target.endsWith('.code-workspace') ? 'workspace' : 'folder';
  const payload = o.payload ? `&payload=${encodeURIComponent(JSON.stringify(o.payload))}` : '';
  await page.goto(`${editor.url}/?${kind}=${encodeURIComponent(target)}${payload}`);
  if (o.ready !== false) {
    await page.waitForSelector('.monaco-workbench .part.editor');
  }
  return {
    page,
    errors,
    ours: () => errors.filter((text) => OURS.test(text)),
    close: async () => {
      await context.close().catch(() => {});
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** Opens a file by typing its name, as a person would. */
export async function openFile(page, name) {
  await page.keyboard.press('Control+P');
  await page.waitForSelector('.quick-input-widget input');
  await page.keyboard.type(name);
  await page.waitForSelector(`.quick-input-list .monaco-list-row:has-text("${name}")`);
  await page.keyboard.press('Enter');
  await page.waitForSelector(`.tab.active:has-text("${name}")`);
  await page.waitForSelector('.part.editor .monaco-editor .view-line');
}

/** Runs a command through the palette. */
export async function command(page, title) {
  await page.keyboard.press('F1');
  const input = page.locator('.quick-input-widget input');
  await input.waitFor();
  await input.fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row').filter({ hasText: title }).first().waitFor();
  await page.keyboard.press('Enter');
}

/** The frame inside a webview view or panel, as a locator. */
export function webview(page) {
  return page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
}

/** Packs the extension, once for each process; gives the file. */
export function vsix() {
  vsix.packed ??= (async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'tandem-vsix-')), 'tandem.vsix');
    const vsce = join(extension, 'node_modules', '@vscode', 'vsce', 'vsce');
    await run(process.execPath, [vsce, 'package', '--no-dependencies', '--allow-missing-repository', '-o', file], {
      cwd: extension,
    });
    return file;
  })();
  return vsix.packed;
}
