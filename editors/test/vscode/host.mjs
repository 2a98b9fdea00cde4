// Runs the suite in host/ inside the real extension host, and types for it in the browser: host.test.mjs, or
//
//   TANDEM_TEST_GREP='what to run' node host.mjs [VERSION...]
//
// What the suite cannot do from where it runs it asks of this program over HTTP (TANDEM_TEST_DRIVER): keys that are
// really pressed, and pictures.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import { bundle, extension, missing, open, start, VERSIONS, webview } from './drive.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(extension, 'out', 'host');

async function build() {
  const esbuild = createRequire(join(extension, 'package.json'))('esbuild');
  await bundle();
  await esbuild.build({
    entryPoints: [join(here, 'host', 'index.ts')],
    outfile: join(out, 'index.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode', 'mocha'],
    sourcemap: 'inline',
    logLevel: 'warning',
  });
}

const pause = (ms) => ms > 0 && new Promise((resolve) => setTimeout(resolve, ms));

/** Does in the browser what the suite asks for. */
async function driver(page) {
  const does = {
    type: async ({ text, delay = 0, breath = 0 }) => {
      for (const key of text) {
        await (key === '\n' ? page().keyboard.press('Enter') : page().keyboard.press(key === ' ' ? 'Space' : key));
        await pause(delay + (/\s/.test(key) ? breath : 0));
      }
    },
    press: ({ keys }) => keys.reduce((last, key) => last.then(() => page().keyboard.press(key)), Promise.resolve()),
    fill: ({ selector, text }) => page().locator(selector).fill(text),
    answer: ({ button }) => webview(page()).getByRole('button', { name: button }).first().click(),
    picture: ({ name }) =>
      process.env.PICTURES ? page().screenshot({ path: join(process.env.PICTURES, `${name}.png`) }).then(() => {}) : undefined,
  };
  const server = createServer(async (request, response) => {
    try {
      let body = '';
      for await (const chunk of request) {
        body += chunk;
      }
      const result = await does[request.url.slice(1)](JSON.parse(body || '{}'));
      response.end(JSON.stringify(result ?? null));
    } catch (err) {
      response.statusCode = 500;
      response.end(String(err));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** What VS Code misses for its own sake: modules that need a compiler. */
const noise = /Could not locate the bindings file|native-watchdog|Release\/watchdog/;

/** Runs the suite in this version of VS Code; gives its exit code. `say` takes what it prints, line by line. */
export async function suite(version, say = console.log) {
  build.done ??= build();
  await build.done;
  const begun = Date.now();
  let page;
  const drive = await driver(() => page);
  const editor = await start({
    version,
    args: version.startsWith('4.10') ? [] : ['--vscode-option', 'enable-smoke-test-driver'],
    env: { TANDEM_TEST_DRIVER: drive.url, TANDEM_TEST_GREP: process.env.TANDEM_TEST_GREP ?? '' },
    folders: [join(here, 'tandem-test.models')],
    files: { 'a.txt': 'one\ntwo\nthree\n', 'other/b.txt': 'bee\n' },
  });
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const timer = setTimeout(() => {
    say('the suite does not end');
    finish(2);
  }, 240_000);
  const uri = (path) => `vscode-remote://remote${path}`;
  const window = await open(editor, {
    ready: false,
    payload: [
      ['extensionDevelopmentPath', uri(extension)],
      ['extensionTestsPath', uri(join(out, 'index.js'))],
      ['enableProposedApi', ''],
      ['skipWelcome', 'true'],
    ],
    prepare: async (fresh) => {
      page = fresh;
      await page.exposeFunction('codeAutomationLog', (type, args) =>
        noise.test(String(args[0])) || say(format(...args).replace(/^%c/, '')),
      );
      await page.exposeFunction('codeAutomationExit', (code) => finish(code));
    },
  });
  let code = await finished;
  clearTimeout(timer);
  const ours = window.ours();
  if (ours.length > 0) {
    say('errors in the console that are ours:', ours);
    code ||= 1;
  }
  if (code === 2) {
    say(editor.log().slice(-2000));
  }
  say(`code-server ${version}: exit code ${code} after ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  await window.close();
  await editor.stop();
  drive.close();
  return code;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let failed = 0;
  for (const version of process.argv.length > 2 ? process.argv.slice(2) : VERSIONS) {
    const why = missing(version);
    if (why) {
      throw new Error(why);
    }
    failed ||= await suite(version);
  }
  process.exit(failed);
}
