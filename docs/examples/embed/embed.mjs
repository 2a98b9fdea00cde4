// A host in JavaScript, for one buffer and for files that are not open: node docs/examples/embed/embed.mjs PROGRAM
// It runs a few calls, applies what they would change, and prints the texts. docs/embedding.md goes through it.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const tandem = spawn(process.argv[2] ?? 'tandem', ['--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let last = 0;
let received = Buffer.alloc(0);

const send = (message) => {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  tandem.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
};
const request = (method, params) =>
  new Promise((resolve, reject) => {
    waiting.set(++last, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
    send({ id: last, method, params });
  });
tandem.stdout.on('data', (data) => {
  received = Buffer.concat([received, data]);
  for (let head; (head = received.indexOf('\r\n\r\n')) >= 0; ) {
    const end = head + 4 + Number(/content-length: *(\d+)/i.exec(received.subarray(0, head))[1]);
    if (received.length < end) {
      return;
    }
    const message = JSON.parse(received.subarray(head + 4, end));
    received = received.subarray(end);
    if (message.method === undefined) {
      waiting.get(message.id)(message);
    } else if (message.id !== undefined) {
      send({ id: message.id, error: { code: -32601, message: 'not served here' } });
    }
  }
});

/** The open documents, their text and version by URI. */
const open = new Map();

/** Puts edits into an open document, or into a file. */
function change(uri, edits) {
  const d = open.get(uri);
  let text = d ? d.text : readFileSync(fileURLToPath(uri), 'utf8');
  const offset = (p) => text.split('\n').slice(0, p.line).reduce((n, l) => n + l.length + 1, p.character);
  for (const { range, newText } of edits.toReversed()) {
    text = text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end));
  }
  if (!d) {
    writeFileSync(fileURLToPath(uri), text);
    return;
  }
  open.set(uri, { text, version: d.version + 1 });
  const contentChanges = edits.toReversed().map(({ range, newText }) => ({ range, text: newText }));
  send({ method: 'textDocument/didChange', params: { textDocument: { uri, version: d.version + 1 }, contentChanges } });
}

/** Runs a call and applies what it would change; again where the text has moved on meanwhile. */
async function call(sessionId, name, args, meanwhile) {
  const running = request('tandem/tools/call', { sessionId, name, arguments: args, apply: 'none' });
  meanwhile?.();
  const result = await running;
  const changes = result.edit?.documentChanges ?? [];
  const version = (uri) => open.get(uri)?.version ?? null;
  if (changes.some((c) => c.textDocument && c.textDocument.version !== version(c.textDocument.uri))) {
    return call(sessionId, name, args);
  }
  for (const c of changes) {
    if (c.kind === 'create') {
      mkdirSync(dirname(fileURLToPath(c.uri)), { recursive: true });
      writeFileSync(fileURLToPath(c.uri), '', { flag: 'a' }); // what is there stays
    } else {
      change(c.textDocument.uri, c.edits);
    }
  }
  return result;
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'embed-')));
const uri = (name) => pathToFileURL(join(folder, name)).href;
writeFileSync(join(folder, 'closed.txt'), 'one\r\ntwo\r\n');
await request('initialize', { rootUri: uri(''), capabilities: { experimental: { tandem: {} } }, initializationOptions: { mode: 'auto' } });
send({ method: 'initialized', params: {} });
open.set(uri('open.txt'), { text: '👋 helo\n', version: 1 });
const textDocument = { uri: uri('open.txt'), languageId: 'plaintext', ...open.get(uri('open.txt')) };
send({ method: 'textDocument/didOpen', params: { textDocument } });

const { sessionId } = await request('tandem/session/new', { cwd: folder, model: 'script/embedded' });
const start = { line: 0, character: 0 };
const type = () => change(uri('open.txt'), [{ range: { start, end: start }, newText: '> ' }]);
await call(sessionId, 'read_file', { path: 'open.txt' });
await call(sessionId, 'edit_file', { path: 'open.txt', old_text: 'helo', new_text: 'hello' }, type);
await call(sessionId, 'read_file', { path: 'closed.txt' });
await call(sessionId, 'edit_file', { path: 'closed.txt', old_text: 'two', new_text: 'TWO\nthree' });
await call(sessionId, 'write_file', { path: 'new/made.txt', content: 'new\n' });
console.log('open.txt is', JSON.stringify(open.get(uri('open.txt')).text));
for (const name of ['closed.txt', 'new/made.txt']) {
  console.log(name, 'is', JSON.stringify(readFileSync(join(folder, name), 'utf8')));
}
console.log((await call(sessionId, 'edit_file', { path: 'open.txt', old_text: 'bye', new_text: 'hello' })).error);
await request('shutdown');
send({ method: 'exit' });
rmSync(folder, { recursive: true });
