#!/usr/bin/env bash
# TypeScript's own language server never publishes diagnostics, also to a client that can only be sent them.
#
# LSP has two ways: the server publishes (since the beginning), or the client asks (since 3.17, with a capability of its own). One would guess
# that a server publishes to a client which declares publishDiagnostics and not diagnostic. tsc --lsp opens the file, says nothing, and answers
# only the request; it registers dynamically, too, though the client has not declared that it can. A client that waits shows a broken file as
# clean.
#
# Package: typescript 7.0.2.
# Tandem asks servers that offer it (lspserver/languages).
set -euo pipefail
command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm are needed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error typescript@7.0.2 >/dev/null 2>&1 || { echo "the package cannot be had"; exit 2; }
cat >ask.mjs <<'JS'
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
const root = pathToFileURL(process.cwd()).href;
const server = spawn('node_modules/.bin/tsc', ['--lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
const send = (m) => {
  const s = JSON.stringify({ jsonrpc: '2.0', ...m });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(s)}\r\n\r\n${s}`);
};
const doc = { uri: `${root}/a.ts` };
const seen = { published: 0, registers: false };
const on = (m) => {
  if (m.id === 1 && m.result) {
    send({ method: 'initialized', params: {} });
    send({ method: 'textDocument/didOpen', params: { textDocument: { ...doc, languageId: 'typescript', version: 1, text: 'const x: number = "a";\n' } } });
    // The answer shows that the server has looked at the file; what it publishes it has had time for after that.
    send({ id: 2, method: 'textDocument/diagnostic', params: { textDocument: doc } });
  } else if (m.id === 2 && m.result) {
    console.log(`asked: ${m.result.items.length} error`);
    setTimeout(() => {
      console.log(`published: ${seen.published}, registers: ${seen.registers}`);
      server.kill();
      process.exit(0);
    }, 3000);
  } else if (m.method && m.id !== undefined) {
    seen.registers ||= m.method === 'client/registerCapability';
    send({ id: m.id, result: null });
  } else if (m.method === 'textDocument/publishDiagnostics') {
    seen.published++;
  }
};
let buffer = Buffer.alloc(0);
server.stdout.on('data', (d) => {
  buffer = Buffer.concat([buffer, d]);
  for (;;) {
    const head = buffer.indexOf('\r\n\r\n');
    const size = Number(/Content-Length: (\d+)/.exec(buffer.subarray(0, Math.max(head, 0)))?.[1]);
    if (head < 0 || buffer.length < head + 4 + size) {
      return;
    }
    const m = JSON.parse(buffer.subarray(head + 4, head + 4 + size));
    buffer = buffer.subarray(head + 4 + size);
    on(m);
  }
});
const capabilities = { textDocument: { publishDiagnostics: { versionSupport: true } } };
send({ id: 1, method: 'initialize', params: { processId: null, rootUri: root, workspaceFolders: [{ uri: root, name: 'p' }], capabilities } });
setTimeout(() => process.exit(3), 30_000).unref();
JS
saw=$(node ask.mjs) || { echo "no answer"; exit 2; }
echo "$saw"
want='asked: 1 error
published: 0, registers: true'
[ "$saw" = "$want" ] || { echo "changed"; exit 1; }
echo "as before: nothing is published"
