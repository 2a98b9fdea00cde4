// Records the transcripts anew from the real program. See README.md.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { format, parse } from './txtar.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const NOISE = /^(window\/logMessage|workspace\/configuration|window\/workDoneProgress|\$\/progress|tandem\/fileTime|initialized|shutdown|exit)/;

function binary(dir) {
  if (process.env.TANDEM_BINARY) {
    return process.env.TANDEM_BINARY;
  }
  const path = join(dir, 'tandem');
  execFileSync('go', ['build', '-o', path, './cmd/tandem'], { cwd: join(here, '..', '..'), stdio: 'inherit' });
  return path;
}

/** A small editor: it holds the open documents, applies edits to them and answers as the plan says. */
class Editor {
  wire = [];
  next = 1;
  waiting = new Map();
  skipped = new Set();
  documents = new Map();
  step = {};

  constructor(program, dir, plan) {
    this.plan = plan;
    this.workspace = join(dir, 'workspace');
    const env = { PATH: process.env.PATH, HOME: dir, XDG_STATE_HOME: join(dir, 'state'), XDG_CONFIG_HOME: join(dir, 'config') };
    this.child = spawn(program, ['--stdio'], { env, cwd: this.workspace, stdio: ['pipe', 'pipe', 'inherit'] });
    let buffer = Buffer.alloc(0);
    this.child.stdout.on('data', (data) => {
      buffer = Buffer.concat([buffer, data]);
      for (;;) {
        const end = buffer.indexOf('\r\n\r\n');
        const length = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, end).toString())?.[1]);
        if (end < 0 || buffer.length < end + 4 + length) {
          return;
        }
        this.take(JSON.parse(buffer.subarray(end + 4, end + 4 + length).toString()));
        buffer = buffer.subarray(end + 4 + length);
      }
    });
  }

  keep(dir, msg) {
    const noise = msg.method ? NOISE.test(msg.method) : this.skipped.has(`${dir}${msg.id}`);
    if (noise) {
      if (msg.method && msg.id !== undefined) {
        this.skipped.add(`${dir === '->' ? '<-' : '->'}${msg.id}`);
      }
      return;
    }
    this.wire.push({ dir, msg });
  }

  write(msg) {
    this.keep('->', msg);
    const body = JSON.stringify({ jsonrpc: '2.0', ...msg });
    this.child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  request(method, params) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.write({ id, method, params });
    });
  }

  notify(method, params) {
    this.write({ method, params });
  }

  take({ jsonrpc: _, ...msg }) {
    this.keep('<-', msg);
    if (msg.method === undefined) {
      const waiting = this.waiting.get(msg.id);
      this.waiting.delete(msg.id);
      msg.error ? waiting.reject(new Error(msg.error.message)) : waiting.resolve(msg.result);
    } else if (msg.id === undefined) {
      const update = msg.params?.update;
      if (this.step.cancelOn && !this.step.cancelled && update?._meta?.tandem?.state === this.step.cancelOn) {
        this.step.cancelled = true;
        this.notify('tandem/session/cancel', { sessionId: msg.params.sessionId });
      }
    } else {
      this.write({ id: msg.id, result: this.answer(msg.method, msg.params) });
    }
  }

  answer(method, params) {
    switch (method) {
      case 'workspace/configuration':
        return params.items.map(() => ({}));
      case 'tandem/session/requestPermission':
        return { outcome: { outcome: 'selected', optionId: this.step.answer } };
      case 'tandem/session/clarify':
        return { answer: this.step.answer };
      case 'workspace/applyEdit':
        for (const change of params.edit.documentChanges) {
          this.apply(change);
        }
        return { applied: true };
      case 'tandem/documents/save':
        return { saved: params.uris, failed: [] };
      default:
        return null;
    }
  }

  apply({ textDocument, edits }) {
    const d = this.documents.get(textDocument.uri);
    const offset = ({ line, character }) => d.text.split('\n').slice(0, line).join('\n').length + (line ? 1 : 0) + character;
    const spans = edits.map((e) => [offset(e.range.start), offset(e.range.end), e.newText]).sort((a, b) => b[0] - a[0]);
    for (const [from, to, text] of spans) {
      d.text = d.text.slice(0, from) + text + d.text.slice(to);
    }
    d.version++;
    this.notify('textDocument/didChange', {
      textDocument: { uri: textDocument.uri, version: d.version },
      contentChanges: [{ text: d.text }],
    });
  }

  async run() {
    const root = pathToFileURL(this.workspace).href;
    await this.request('initialize', {
      processId: process.pid,
      rootUri: root,
      workspaceFolders: [{ uri: root, name: 'workspace' }],
      capabilities: {
        workspace: { applyEdit: true, workspaceEdit: { documentChanges: true }, configuration: true },
        experimental: { tandem: { permission: true, clarify: true } },
      },
      initializationOptions: this.plan.options,
    });
    this.notify('initialized', {});
    for (const name of this.plan.open ?? []) {
      const uri = pathToFileURL(join(this.workspace, name)).href;
      const text = readFileSync(join(this.workspace, name), 'utf8');
      this.documents.set(uri, { text, version: 1 });
      this.notify('textDocument/didOpen', { textDocument: { uri, languageId: 'plaintext', version: 1, text } });
    }
    const { sessionId } = await this.request('tandem/session/new', { cwd: this.workspace });
    for (const step of this.plan.steps) {
      this.step = step;
      await this.request('tandem/session/prompt', { sessionId, prompt: [{ type: 'text', text: step.prompt }] });
    }
    await this.request('shutdown');
    this.notify('exit');
  }
}

/** Takes what is of this machine and this moment out of the messages. */
function settled(wire, workspace) {
  const sessions = new Map();
  for (const { msg } of wire) {
    const id = msg.result?.sessionId;
    if (id) {
      sessions.set(id, `session-${sessions.size + 1}`);
    }
  }
  return wire
    .map(({ dir, msg }) => {
      let text = JSON.stringify({ dir, msg: bare(msg) });
      for (const [id, name] of sessions) {
        text = text.replaceAll(id, name);
      }
      return text.replaceAll(workspace, '/workspace');
    })
    .join('\n');
}

function bare(msg) {
  if (msg.method === 'initialize') {
    return { ...msg, params: { rootUri: msg.params.rootUri } };
  }
  return msg.result?.capabilities ? { ...msg, result: {} } : msg;
}

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'tandem-record-')));
try {
  const program = binary(dir);
  const names = process.argv.slice(2);
  for (const file of readdirSync(here).filter((f) => f.endsWith('.txtar'))) {
    if (names.length > 0 && !names.includes(file.replace(/\.txtar$/, ''))) {
      continue;
    }
    const archive = parse(readFileSync(join(here, file), 'utf8'));
    const home = mkdtempSync(join(dir, 'run-'));
    for (const [name, text] of archive.files) {
      if (name.startsWith('in/')) {
        const path = join(home, name.slice(3));
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
      }
    }
    mkdirSync(join(home, 'workspace'), { recursive: true });
    const plan = JSON.parse(archive.files.get('in/plan.json'));
    if (archive.files.has('in/model.script')) {
      plan.options = { model: `script:${join(home, 'model.script')}` };
    }
    const editor = new Editor(program, home, plan);
    await editor.run();
    archive.files.set('wire.jsonl', `${settled(editor.wire, editor.workspace).replaceAll(home, '/home')}\n`);
    writeFileSync(join(here, file), format(archive));
    console.log(`${file}: ${editor.wire.length} messages`);
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
