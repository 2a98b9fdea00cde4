// An editor that drives agents, made of the SDK of the Agent Client Protocol: it starts "tandem acp", serves files from
// buffers and records every message.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const binary = process.env.TANDEM_BINARY;
if (!binary) throw new Error("TANDEM_BINARY names the program to examine");

// workspace makes a folder with files, a model script, and state of its own.
export function workspace(files, script) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "tandem-acp-")));
  const dir = join(root, "work");
  for (const sub of ["work", "state", "config", "home"]) mkdirSync(join(root, sub));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  writeFileSync(join(root, "model.script"), script);
  return {
    dir, root, path: (name) => join(dir, name), read: (name) => readFileSync(join(dir, name), "utf8"),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

// Editor is one run of the agent. ask answers session/request_permission; buffers are the texts of open files by path, and
// hold what was not saved.
export class Editor {
  constructor(at, { fs = true, notices = true, ask = allow } = {}) {
    Object.assign(this, { at, ask, buffers: {}, messages: [], updates: [], asked: [], reads: [], writes: [], stderr: "" });
    this.child = spawn(binary, ["acp"], {
      cwd: at.dir,
      env: {
        PATH: process.env.PATH, HOME: join(at.root, "home"), XDG_STATE_HOME: join(at.root, "state"),
        XDG_CONFIG_HOME: join(at.root, "config"), TANDEM_MODEL: `script:${join(at.root, "model.script")}`,
      },
    });
    this.child.stderr.on("data", (d) => (this.stderr += d));
    this.exit = new Promise((resolve) => this.child.on("exit", (code, signal) => resolve(code ?? signal)));
    const wire = acp.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(this.child.stdout));
    this.capabilities = {
      fs: { readTextFile: fs, writeTextFile: fs }, terminal: false, ...(notices ? { session: { notices: {} } } : {}),
    };
    this.connection = acp
      .client({ name: "examiner" })
      .onNotification(acp.methods.client.session.update, ({ params }) => this.updates.push(params.update))
      .onRequest(acp.methods.client.session.requestPermission, ({ params, signal }) => {
        this.asked.push(params);
        return this.ask(params, signal);
      })
      .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
        this.reads.push(params.path);
        return { content: this.buffers[params.path] ?? read(params.path) };
      })
      .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
        this.writes.push(params.path);
        mkdirSync(dirname(params.path), { recursive: true });
        writeFileSync(params.path, params.content);
        if (params.path in this.buffers) this.buffers[params.path] = params.content;
        return {};
      })
      .connect({ readable: this.tap(wire.readable, "agent"), writable: this.tapped(wire.writable, "client") });
    this.agent = this.connection.agent;
  }

  tap(readable, from) {
    return readable.pipeThrough(new TransformStream({ transform: (msg, c) => (this.record(from, msg), c.enqueue(msg)) }));
  }

  tapped(writable, from) {
    const through = new TransformStream({ transform: (msg, c) => (this.record(from, msg), c.enqueue(msg)) });
    through.readable.pipeTo(writable).catch(() => {});
    return through.writable;
  }

  record(from, msg) {
    this.messages.push({ from, msg: JSON.parse(JSON.stringify(msg)) });
  }

  initialize() {
    return this.agent.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: this.capabilities, clientInfo: { name: "examiner", version: "1" },
    });
  }

  // begin initializes and begins a session.
  async begin() {
    await this.initialize();
    const made = await this.agent.request(acp.methods.agent.session.new, { cwd: this.at.dir, mcpServers: [] });
    this.session = made.sessionId;
    return made;
  }

  prompt(text, more = []) {
    return this.agent.request(acp.methods.agent.session.prompt, {
      sessionId: this.session, prompt: [{ type: "text", text }, ...more],
    });
  }

  // said is what the agent has said, from an update on.
  said(kind = "agent_message_chunk") {
    return this.updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join("");
  }

  // results are the last word on each call: its title, status and text.
  calls() {
    const out = {};
    for (const u of this.updates) {
      if (u.toolCallId) out[u.toolCallId] = { ...out[u.toolCallId], ...u };
    }
    return Object.values(out);
  }

  async until(what, holds) {
    for (const end = Date.now() + 20000; Date.now() < end; ) {
      if (holds()) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`waited in vain for ${what}; stderr: ${this.stderr}`);
  }

  async close() {
    this.child.stdin.end();
    return this.exit;
  }
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (e) {
    throw acp.RequestError.resourceNotFound(path);
  }
}

export const allow = () => ({ outcome: { outcome: "selected", optionId: "allow_once" } });
export const reject = () => ({ outcome: { outcome: "selected", optionId: "reject_once" } });
