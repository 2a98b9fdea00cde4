#!/usr/bin/env bash
# The newest typescript-language-server cannot use the newest TypeScript.
#
# One would guess that both, installed side by side in their newest versions, work together, as every pair did for years. TypeScript 7 has no
# tsserver, which the language server starts, and brings a language server of its own (tsc --lsp). typescript-language-server answers
# initialize with an error, and an editor shows a server that does not start.
#
# Packages: typescript 7.0.2 and typescript-language-server 6.0.2.
# Tandem says why such a server does not start (lspserver/languages).
set -euo pipefail
command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm are needed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error typescript@7.0.2 typescript-language-server@6.0.2 >/dev/null 2>&1 ||
	{ echo "the packages cannot be had"; exit 2; }
cat >ask.mjs <<'JS'
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
const server = spawn('node_modules/.bin/typescript-language-server', ['--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
const params = { processId: null, rootUri: pathToFileURL(process.cwd()).href, capabilities: {} };
const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
let got = '';
server.stdout.on('data', (d) => {
  got += d;
  const answer = /\{"jsonrpc":"2\.0","id":1.*\}/.exec(got);
  if (answer) {
    const { error, result } = JSON.parse(answer[0]);
    console.log(error ? `error ${error.code}: ${error.message.replace(/ at ".*?"/, '')}` : `result: ${Object.keys(result)}`);
    server.kill();
  }
});
setTimeout(() => process.exit(3), 20_000).unref();
JS
saw=$(node ask.mjs) || { echo "no answer"; exit 2; }
echo "$saw"
grep -q '^error.*no tsserver.js' <<<"$saw" || { echo "changed"; exit 1; }
echo "as before: initialize is refused"
