#!/usr/bin/env bash
# vscode-jsonrpc drops a batch without an answer and without an error event.
#
# JSON-RPC 2.0 has batches: an array of requests. One would guess that an implementation which does not serve them answers with an error
# (-32600), or tells its program through onError. The library reads the array, finds no method in it, and nothing happens: no answer, no
# event, no line. A peer that sends batches looks as if it had sent nothing.
#
# Package: vscode-jsonrpc 10.0.0, the base of VS Code's language clients. Specification: https://www.jsonrpc.org/specification, section 6.
# Tandem sends none, and answers one with an error.
set -euo pipefail
command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm are needed"; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error vscode-jsonrpc@10.0.0 >/dev/null 2>&1 || { echo "the package cannot be had"; exit 2; }
cat >ask.cjs <<'JS'
const rpc = require('vscode-jsonrpc/node');
const { PassThrough } = require('node:stream');
const to = new PassThrough();
const from = new PassThrough();
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(to), new rpc.StreamMessageWriter(from));
let events = 0;
connection.onError(() => events++);
connection.onUnhandledNotification(() => events++);
connection.onRequest('ping', () => 'pong');
connection.listen();
let answers = '';
from.on('data', (d) => (answers += d));
const send = (text) => to.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
send('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]');
send('{"jsonrpc":"2.0","id":3,"method":"ping"}');
setTimeout(() => {
  const ids = [...answers.matchAll(/"id":(\d)/g)].map((m) => m[1]);
  console.log(`answered: ${ids}; events: ${events}`);
  process.exit(0);
}, 1500);
JS
saw=$(node ask.cjs 2>&1) || { echo "$saw"; exit 2; }
echo "$saw"
[ "$saw" = "answered: 3; events: 0" ] || { echo "changed"; exit 1; }
echo "as before: only the single request is answered"
