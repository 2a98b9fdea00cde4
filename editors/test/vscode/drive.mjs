// Drives a real VS Code (code-server) in a real browser, as a person would.
//
//   const editor = await start({version: '4.139.1', files: {'a.txt': 'one\n'}});
//   const {page, close} = await open(editor);
//
// Nothing here knows of the extension but its settings. Whatever is started ends with stop and close.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
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
  // Nothing that moves by itself: it is drawn without a graphics card.
  'editor.cursorBlinking': 'solid',
  'workbench.reduceMotion': 'on',
  'git.enabled': false,
  'window.restoreWindows': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'security.workspace.trust.enabled': false,
};

/** Writes the files of a folder, given by relative names. */
export async function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
}

/** Gives a file other content at once: whoever watches it never sees it empty, and is told of nothing where nothing changes. */
async function replace(path, content) {
  if ((await readFile(path, 'utf8')) !== content) {
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
  }
}

/**
 * Starts a VS Code. Options:
 *   version   of code-server
 *   files     of the workspace, by relative names
 *   vsix      an extension to install; none for one that is loaded from its folder
 *   folders   further extensions, as folders whose name is their id
 *   settings  of the person; machine: those of the machine. tandem.path is the built server if it is not given
 *   env       further environment, for the extension host and the server too
 *   args      further arguments of code-server
 * Any number of windows may be opened in it; all are closed by stop.
 */
export async function start(o) {
  const root = join(editors(), `code-server-${o.version}`);
  const node = join(root, 'node', 'bin', 'node');
  const entry = join(root, 'node_modules', 'code-server', 'out', 'node', 'entry.js');
  const dir = await mkdtemp(join(tmpdir(), 'tandem-vscode-'));
  const workspace = join(dir, 'workspace');
  await mkdir(workspace);
  await write(workspace, o.files ?? {});
  const program = await binary();
  const configure = async ({ settings, machine } = {}) => {
    await replace(join(dir, 'user', 'User', 'settings.json'), JSON.stringify({ ...QUIET, ...settings }));
    await replace(join(dir, 'user', 'Machine', 'settings.json'), JSON.stringify({ 'tandem.path': program, ...machine }));
  };
  await write(dir, { 'config.yaml': '', 'user/User/settings.json': '', 'user/Machine/settings.json': '' });
  await configure(o);
  const common = ['--config', join(dir, 'config.yaml'), '--user-data-dir', join(dir, 'user')];
  common.push('--extensions-dir', join(dir, 'extensions'));
  const env = {
    ...process.env,
    XDG_CONFIG_HOME: join(dir, 'config'),
    XDG_CACHE_HOME: join(dir, 'cache'),
    XDG_STATE_HOME: join(dir, 'state'),
    XDG_DATA_HOME: join(dir, 'data'),
    // A gallery of extensions that answers at once: with a refusal.
    EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: 'http://127.0.0.1:9/', itemUrl: 'http://127.0.0.1:9/' }),
    ...o.env,
  };
  for (const folder of o.folders ?? []) {
    await cp(folder, join(dir, 'extensions', `${basename(folder)}-0.0.0`), { recursive: true });
  }
  if (o.vsix) {
    await run(node, [entry, ...common, '--install-extension', o.vsix], { env });
  }
  const port = await freePort();
  const args = [entry, ...common, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`];
  args.push('--disable-telemetry', '--disable-update-check', '--disable-getting-started-override');
  const child = spawn(node, [...args, ...(o.args ?? [])], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  child.stdout.on('data', (data) => (said += data));
  child.stderr.on('data', (data) => (said += data));
  const url = `http://127.0.0.1:${port}`;
  let chromium;
  const stop = async () => {
    await (await chromium)?.close().catch(() => {});
    if (child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL');
      await once(child, 'exit');
    }
    await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  for (const end = Date.now() + 60_000; ; ) {
    if (await fetch(`${url}/healthz`).then((answer) => answer.ok, () => false)) {
      return {
        url,
        dir,
        workspace,
        version: o.version,
        log: () => said,
        /** Settings for the windows that are opened from now on. */
        configure,
        /** A folder of its own, with these files. */
        async folder(name, files) {
          const path = join(dir, name);
          await mkdir(path, { recursive: true });
          await write(path, files ?? {});
          return path;
        },
        chromium: () => (chromium ??= launch(join(dir, 'chromium'))),
        stop,
      };
    }
    if (Date.now() > end || child.exitCode !== null) {
      await stop();
      throw new Error(`code-server does not come up:\n${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function launch(profile) {
  const { chromium } = require('playwright-core');
  return chromium.launchPersistentContext(profile, {
    executablePath: browser(),
    headless: true,
    chromiumSandbox: false,
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
}

/** What a line of the console names if it is about the extension. */
const OURS = /\[tandem\.tandem\]|tandem\.tandem-\d|editors\/vscode\/dist\//;
/** What VS Code says by itself: in the colours of its log, or from one of its own files. */
const THEIRS = /^%c|\/static\/(out|node_modules|extensions)\//;

/**
 * Opens a window of its own. Options:
 *   payload   of VS Code's address
 *   size      [width, height]
 *   folder    another folder or workspace file
 *   ready     false not to wait for the workbench
 *   prepare   what to do with the page before it loads anything
 * `ours` gives the console errors that are the extension's: those that name it, and those of its web page, which are
 * all that are not VS Code's.
 */
export async function open(editor, o = {}) {
  const context = await editor.chromium();
  const page = await context.newPage();
  const [width, height] = o.size ?? [1280, 800];
  await page.setViewportSize({ width, height });
  page.setDefaultTimeout(30_000);
  const errors = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || /\berror\b/i.test(message.text().slice(0, 60))) {
      errors.push(`${message.text()} (${message.location().url})`);
    }
  });
  page.on('pageerror', (err) => errors.push(err.stack ?? String(err)));
  await o.prepare?.(page);
  const target = o.folder ?? editor.workspace;
  const kind = target.endsWith('.code-workspace') ? 'workspace' : 'folder';
  const payload = o.payload ? `&payload=${encodeURIComponent(JSON.stringify(o.payload))}` : '';
  await page.goto(`${editor.url}/?${kind}=${encodeURIComponent(target)}${payload}`);
  if (o.ready !== false) {
    await page.waitForSelector('.monaco-workbench .part.editor');
    if (kind === 'workspace') {
      // VS Code in a browser may not read the file of a workspace when it starts, and shows no folder then.
      const folder = page.locator('.explorer-folders-view .monaco-list-row').first();
      await folder.waitFor({ timeout: 10_000 }).catch(async () => {
        await page.reload();
        await folder.waitFor();
      });
    }
  }
  return {
    page,
    errors,
    ours: () => errors.filter((text) => OURS.test(text) || !THEIRS.test(text)),
    close: () => page.close().catch(() => {}),
  };
}

/** Opens a file by typing its name, as a person would. */
export async function openFile(page, name) {
  for (let tries = 1; ; tries++) { // a busy VS Code takes the focus back, which closes the list
    await page.keyboard.press('Control+P');
    try {
      await page.locator('.quick-input-widget input').fill(name, { timeout: 5000 });
      await page.waitForSelector(`.quick-input-list .monaco-list-row.focused:has-text("${name}")`, { timeout: 5000 });
      break;
    } catch (err) {
      if (tries === 5) {
        throw err;
      }
      await page.keyboard.press('Escape');
    }
  }
  await page.keyboard.press('Enter');
  await page.waitForSelector(`.tab.active:has-text("${name}")`);
  await page.waitForSelector('.part.editor .monaco-editor .view-line');
}

/** The frame inside a webview view or panel, as a locator. */
export function webview(page) {
  return page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
}

/** Bundles the extension, once for each process; TANDEM_VSIX says that it has been done. */
export function bundle() {
  bundle.done ??= process.env.TANDEM_VSIX
    ? Promise.resolve()
    : run(process.execPath, [join(extension, 'esbuild.mjs')]).then(() => {});
  return bundle.done;
}

/** The packed extension: TANDEM_VSIX, or one that is packed once for each process. */
export function vsix() {
  vsix.packed ??= (async () => {
    if (process.env.TANDEM_VSIX) {
      return process.env.TANDEM_VSIX;
    }
    const file = join(await mkdtemp(join(tmpdir(), 'tandem-vsix-')), 'tandem.vsix');
    const vsce = join(extension, 'node_modules', '@vscode', 'vsce', 'vsce');
    await run(process.execPath, [vsce, 'package', '--no-dependencies', '--allow-missing-repository', '-o', file], {
      cwd: extension,
    });
    return file;
  })();
  return vsix.packed;
}
