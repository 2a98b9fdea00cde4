// The main job of "tandem acp", as an editor made of the protocol's own SDK sees it.
import assert from "node:assert/strict";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as acp from "@agentclientprotocol/sdk";
import { allow, Editor, reject, workspace } from "./client.mjs";
import { faults } from "./schema.mjs";

const { agent } = acp.methods;

// run gives fn an editor on a workspace, and afterwards holds every message against the schema.
function run(name, files, script, options, fn) {
  test(name, { timeout: 60000 }, async () => {
    const at = workspace(files, script);
    const editors = [];
    const start = (o = options) => editors[editors.push(new Editor(at, o)) - 1];
    try {
      await fn(start(), at, start);
      for (const e of editors) assert.equal(await e.close(), 0, e.stderr);
      assert.deepEqual(editors.flatMap((e) => faults(e.messages)), []);
    } finally {
      for (const e of editors) e.child.kill("SIGKILL");
      at.remove();
    }
  });
}

const calc = "package calc\n\nfunc add(a, b int) int { return a - b }\n";
const mend = `call read_file {"path": "calc.go"}

say It subtracts.
call edit_file {"path": "calc.go", "old_text": "return a - b", "new_text": "return a + b"}

say Done.
`;

run("FindingL10 a prompt, an edit asked for and allowed", { "calc.go": calc }, mend, {}, async (e, at) => {
  const begun = process.hrtime.bigint();
  const hello = await e.initialize();
  assert.equal(hello.protocolVersion, 1);
  assert.deepEqual(hello.authMethods, []);
  assert.equal(hello.agentInfo.name, "tandem");
  console.log(`initialize answered after ${Number(process.hrtime.bigint() - begun) / 1e6} ms`);
  const made = await e.agent.request(agent.session.new, { cwd: at.dir, mcpServers: [] });
  e.session = made.sessionId;
  assert.equal(made.modes.currentModeId, "ask");
  assert.equal(made.configOptions[0].category, "model");
  const r = await e.prompt("add is wrong");
  assert.equal(r.stopReason, "end_turn");
  assert.equal(e.asked.length, 1);
  assert.deepEqual(
    e.asked[0].options.map((o) => o.optionId),
    ["allow_once", "reject_once", "allow_turn", "allow_files", "allow_session", "allow_always", "reject_always"],
  );
  assert.equal(e.asked[0].toolCall.content[0].newText, calc.replace("a - b", "a + b"));
  assert.match(at.read("calc.go"), /a \+ b/);
  assert.match(e.said(), /It subtracts.*Done\./s);
  assert.deepEqual(e.calls().map((c) => c.status), ["completed", "completed"]);
  assert.ok(e.reads.includes(at.path("calc.go")) && e.writes.length === 1, "the file went through the editor");
});

run("an edit that is rejected", { "calc.go": calc }, mend, { ask: reject }, async (e, at) => {
  await e.begin();
  assert.equal((await e.prompt("add is wrong")).stopReason, "end_turn");
  assert.equal(at.read("calc.go"), calc);
  assert.equal(e.calls()[1].status, "failed");
});

const unsaved = `call read_file {"path": "notes.txt"}

see /typed, not saved/
call edit_file {"path": "notes.txt", "old_text": "last", "new_text": "LAST"}

say Done.
`;

run("unsaved text is read from the editor and merged with", { "notes.txt": "first\nsecond\nlast\n" }, unsaved, {
  ask: (p) => {
    const e = run.editor; // somebody types while the question is open
    e.buffers[e.at.path("notes.txt")] = "typed, not saved\nsecond\ntyped while asked\nlast\n";
    return allow(p);
  },
}, async (e, at) => {
  run.editor = e;
  e.buffers[at.path("notes.txt")] = "typed, not saved\nsecond\nlast\n";
  await e.begin();
  assert.equal((await e.prompt("shout the last")).stopReason, "end_turn", e.stderr);
  assert.equal(at.read("notes.txt"), "typed, not saved\nsecond\ntyped while asked\nLAST\n");
});

run("an edit that somebody's typing stands in the way of", { "notes.txt": "first\nlast\n" }, unsaved, {
  ask: (p) => {
    const e = run.editor;
    e.buffers[e.at.path("notes.txt")] = "typed, not saved\nmine now\n";
    return allow(p);
  },
}, async (e, at) => {
  run.editor = e;
  e.buffers[at.path("notes.txt")] = "typed, not saved\nlast\n";
  await e.begin();
  await e.prompt("shout the last");
  assert.equal(e.writes.length, 0);
  assert.equal(e.calls()[1]._meta.tandem.error, "EDIT_CONFLICT");
});

run("files are made through the editor; one with unsaved text is not deleted", { "old.txt": "old\n" },
  `call write_file {"path": "sub/new.txt", "content": "new\\n"}

call read_file {"path": "old.txt"}

call delete_file {"path": "old.txt"}

say Done.
`, {}, async (e, at) => {
    e.buffers[at.path("old.txt")] = "old, and typed\n";
    await e.begin();
    await e.prompt("tidy");
    assert.deepEqual(e.writes, [at.path("sub/new.txt")]);
    assert.deepEqual(e.calls().map((c) => c.status), ["completed", "completed", "failed"]);
    assert.equal(at.read("sub/new.txt"), "new\n");
    assert.ok(existsSync(at.path("old.txt")));
  });

run("a folder that is a link is asked about by its own name", { "calc.go": calc }, mend, {}, async (e, at) => {
  const cwd = at.dir + "-link";
  symlinkSync(at.dir, cwd);
  await e.initialize();
  e.buffers[`${cwd}/calc.go`] = "// typed\n" + calc;
  e.session = (await e.agent.request(agent.session.new, { cwd, mcpServers: [] })).sessionId;
  await e.prompt("add is wrong");
  assert.deepEqual(e.writes, [`${cwd}/calc.go`]);
  assert.match(at.read("calc.go"), /^\/\/ typed\n[^]*a \+ b/);
});

run("without files of the editor's the disk is used", { "calc.go": calc }, mend, { fs: false, notices: false }, async (e, at) => {
  await e.begin();
  assert.equal((await e.prompt("add is wrong")).stopReason, "end_turn");
  assert.match(at.read("calc.go"), /a \+ b/);
  assert.equal(e.reads.length + e.writes.length, 0);
  assert.ok(!e.updates.some((u) => u.sessionUpdate === "notice" || u.sessionUpdate === "usage_update"));
});

run("cancel in a running turn, and in an open question", { "calc.go": calc },
  `say one
wait 30s
say two

${mend}`, {}, async (e) => {
    await e.begin();
    const first = e.prompt("talk");
    await e.until("the first words", () => e.said().includes("one"));
    await e.agent.notify(agent.session.cancel, { sessionId: e.session });
    assert.equal((await first).stopReason, "cancelled");
    // A client that follows the protocol answers the open question with cancelled; this one never gets to answer.
    let answered;
    e.ask = (_, signal) => new Promise((resolve) => {
      answered = () => resolve({ outcome: { outcome: "cancelled" } });
      signal?.addEventListener("abort", answered);
    });
    const second = e.prompt("mend");
    await e.until("the question", () => e.asked.length === 1);
    await e.agent.notify(agent.session.cancel, { sessionId: e.session });
    assert.equal((await second).stopReason, "cancelled");
    answered();
  });

run("a session is loaded after a restart", { "calc.go": calc }, mend, {}, async (e, at, start) => {
  await e.begin();
  await e.prompt("add is wrong");
  const said = e.said();
  assert.equal(await e.close(), 0);
  const again = start();
  const caps = (await again.initialize()).agentCapabilities;
  assert.ok(caps.loadSession && caps.sessionCapabilities.list);
  const { sessions } = await again.agent.request(agent.session.list, { cwd: at.dir });
  assert.deepEqual(sessions.map((s) => s.sessionId), [e.session]);
  const loaded = await again.agent.request(agent.session.load, { sessionId: e.session, cwd: at.dir, mcpServers: [] });
  assert.equal(loaded.modes.currentModeId, "ask");
  assert.equal(again.said("user_message_chunk"), "add is wrong");
  assert.equal(again.said().replaceAll("\n", ""), said.replaceAll("\n", ""));
  assert.deepEqual(again.calls().map((c) => c.status), ["completed", "completed"]);
});

run("modes, the model, and what is refused", { "calc.go": calc }, mend, {}, async (e, at) => {
  const made = await e.begin();
  const code = async (method, params) => {
    try {
      await e.agent.request(method, params);
    } catch (err) {
      return err.code;
    }
  };
  await e.agent.request(agent.session.setMode, { sessionId: e.session, modeId: "acceptEdits" });
  await e.until("the mode", () => e.updates.some((u) => u.currentModeId === "acceptEdits"));
  const value = "script/embedded";
  const set = await e.agent.request(agent.session.setConfigOption, { sessionId: e.session, configId: "model", value });
  assert.equal(set.configOptions[0].currentValue, value);
  assert.notEqual(made.configOptions[0].currentValue, value);
  assert.equal(await code(agent.session.setMode, { sessionId: e.session, modeId: "nonsense" }), -32602);
  assert.equal(await code(agent.session.setConfigOption, { sessionId: e.session, configId: "model", value: "none/m" }), -32602);
  assert.equal(await code(agent.session.setConfigOption, { sessionId: e.session, configId: "other", value: "x" }), -32602);
  assert.equal(await code(agent.session.prompt, { sessionId: "s-none", prompt: [] }), -32002);
  assert.equal(await code(agent.session.load, { sessionId: "s-none", cwd: at.dir, mcpServers: [] }), -32002);
  assert.equal(await code(agent.session.new, { cwd: at.path("nowhere"), mcpServers: [] }), -32602);
  const mcpServers = [{ type: "sse", name: "x", url: "http://127.0.0.1:1/", headers: [] }];
  assert.equal(await code(agent.session.new, { cwd: at.dir, mcpServers }), -32602);
  await e.agent.request(agent.session.close, { sessionId: e.session });
  assert.equal(await code(agent.session.prompt, { sessionId: e.session, prompt: [{ type: "text", text: "x" }] }), -32002);
});

run("a model that fails is an error of the prompt", {}, "see /something else/\n", {}, async (e) => {
  await e.begin();
  await assert.rejects(e.prompt("say"), (err) => typeof err.code === "number" && err.message.length > 10);
});

// The reference servers of the Model Context Protocol, which the client names for the session. They run in the sandbox, where node_modules
// can be read since it lies below a folder of the session.
const servers = (at) =>
  ["everything", "filesystem"].map((name) => ({
    name, command: process.execPath, env: [],
    args: [join(import.meta.dirname, "node_modules/@modelcontextprotocol", `server-${name}`, "dist/index.js"), ...(name === "filesystem" ? [at.dir] : ["stdio"])],
  }));

const uses = `call mcp__everything__echo {"message": "over MCP"}
call mcp__filesystem__read_text_file {"path": "notes.txt"}
call mcp__filesystem__write_file {"path": "made.txt", "content": "by a server"}
call mcp__filesystem__read_text_file {"path": "/etc/hostname"}

see /Echo: over MCP/
see /kept in a file/
see /created made.txt/
see /Access denied/
say Done.
`;

run("the reference MCP servers", { "notes.txt": "kept in a file\n" }, uses, {}, async (e, at) => {
  await e.initialize();
  const made = await e.agent.request(agent.session.new, {
    cwd: at.dir, mcpServers: servers(at), additionalDirectories: [import.meta.dirname],
  });
  e.session = made.sessionId;
  const r = await e.prompt("go");
  assert.equal(r.stopReason, "end_turn", JSON.stringify(e.updates.slice(-8), null, 1));
  assert.match(e.said(), /Done/);
  assert.equal(at.read("made.txt"), "by a server");
  assert.equal(e.asked.length, 4);
});
