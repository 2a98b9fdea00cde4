import * as assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { StatusResult } from '../../../vscode/src/protocol.ts';
import { api, call, closeAll, drive, edit, folder, press, replace, running, Session, until } from './rig.ts';

describe('server', () => {
  afterEach(closeAll);

  it('is started with the window, which costs little', async () => {
    const { backend, activationMs } = await running();
    const main = join(vscode.extensions.getExtension('tandem.tandem')!.extensionPath, 'dist', 'extension.js');
    const load = createRequire(main);
    const loads = [1, 2, 3].map(() => {
      delete load.cache[main];
      const begun = process.cpuUsage();
      load(main);
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1000;
    });
    const own = Math.min(...loads) + activationMs;
    console.log(`loading takes ${Math.min(...loads).toFixed(0)} ms, activation ${activationMs.toFixed(0)} ms`);
    assert.ok(own <= 100, `${own} ms of own time`);
    const status = await backend.request<StatusResult>('tandem/status', {});
    assert.equal(status.clients, 1);
  });

  it('is started anew when it is killed, with the documents as they are', async () => {
    const { backend } = await running();
    const editor = await edit('restart.txt', 'one\n');
    await editor.edit((builder) => builder.insert(new vscode.Position(0, 0), 'zero\n'));
    const first = backend.pid;
    assert.ok(first);
    process.kill(first, 'SIGKILL');
    await until('another one runs', () => backend.state === 'running' && backend.pid !== first);
    const session = await Session.start(
      call('read_file', { path: 'restart.txt' }) + '\nsee /zero/\n' + replace('restart.txt', 'one', 'ONE') + '\nsay ok\n',
    );
    await session.run();
    assert.equal(editor.document.getText(), 'zero\nONE\n');
    await session.end();
  });

  it('is restarted by the command, in the middle of a turn too', async () => {
    const { backend } = await running();
    const session = await Session.start('say begun\nwait 60s\n');
    const turn = session.prompt().then(
      () => 'answered',
      () => 'refused',
    );
    await until('the turn has begun', () => session.said().includes('begun'));
    const first = backend.pid;
    await vscode.commands.executeCommand('tandem.restart');
    assert.equal(backend.state, 'running');
    assert.notEqual(backend.pid, first);
    await turn;
    await (await Session.start('say ok\n')).run();
  });

  it('gets the settings that somebody has set, at once', async () => {
    const { backend } = await running();
    const settings = vscode.workspace.getConfiguration('tandem');
    const offered = async () => {
      const { tools } = await backend.request<{ tools: { name: string }[] }>('tandem/tools/list', {});
      return tools.map((tool) => tool.name);
    };
    assert.ok((await offered()).includes('bash'));
    await settings.update('disabledTools', ['bash'], vscode.ConfigurationTarget.Global);
    await until('the tool is gone', async () => !(await offered()).includes('bash'));
    await settings.update('disabledTools', undefined, vscode.ConfigurationTarget.Global);
    await until('the tool is back', async () => (await offered()).includes('bash'));
  });

  it('says that there is none, and starts once there is', async () => {
    const { backend } = await running();
    const settings = vscode.workspace.getConfiguration('tandem');
    const program = settings.inspect<string>('path')?.globalValue;
    await settings.update('path', '/nowhere/tandem', vscode.ConfigurationTarget.Global);
    await until('it is missing', () => backend.state === 'missing');
    await assert.rejects(backend.request('tandem/status', {}), /not a program/);
    await settings.update('path', program, vscode.ConfigurationTarget.Global);
    await until('it runs again', () => backend.state === 'running');
  });
});

/** A program that says what it is told to when it is initialised, and ends badly when it is told test/end. */
async function impostor(answer: object): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'tandem-impostor-')), 'tandem');
  const text = `#!${process.execPath}
    process.stdin.on('data', (data) => {
      const id = /"id":(\\d+)/.exec(data)?.[1];
      if (id && /"initialize"/.test(data)) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: Number(id), result: ${JSON.stringify(answer)} });
        process.stdout.write('Content-Length: ' + body.length + '\\r\\n\\r\\n' + body);
      }
      if (/"shutdown"/.test(data)) {
        process.exit(0);
      } else if (/"test\\/end"/.test(data)) {
        process.exit(1);
      }
    });`;
  await writeFile(file, text, { mode: 0o755 });
  return file;
}

describe('a program that is wrong', () => {
  const settings = () => vscode.workspace.getConfiguration('tandem');
  let program: string | undefined;

  before(async () => {
    await running();
    program = settings().inspect<string>('path')?.globalValue;
  });

  after(async () => {
    await settings().update('path', program, vscode.ConfigurationTarget.Global);
    const { backend } = await api();
    await until('the right one runs', () => backend.state === 'running');
  });

  async function failure(path: string): Promise<string> {
    const { backend } = await api();
    let said: string | undefined;
    const heard = backend.onState((state) => (said = state === 'failed' ? backend.failure : undefined));
    await settings().update('path', path, vscode.ConfigurationTarget.Global);
    await until('it has failed', () => said !== undefined);
    heard.dispose();
    return said!;
  }

  it('is said when it is no server at all', async () => {
    assert.match(await failure('/bin/false'), /Tandem could not start/);
  });

  it('is said when it is another server', async () => {
    assert.match(await failure(await impostor({ capabilities: {} })), /is not Tandem/);
  });

  it('is said when it speaks another version', async () => {
    const answer = { capabilities: { experimental: { tandem: { protocolVersion: 99, methods: [] } } } };
    assert.match(await failure(await impostor(answer)), /version 99 .* update this extension/);
  });

  it('is given up when it ends again and again', async () => {
    const answer = { capabilities: { experimental: { tandem: { protocolVersion: 1, methods: [] } } } };
    const { backend } = await api();
    const heard = backend.onState((state) => state === 'running' && backend.notify('test/end', {}));
    assert.match(await failure(await impostor(answer)), /several times in a row/);
    heard.dispose();
  });
});

describe('a key', () => {
  const session = async () => {
    const { backend } = await running();
    return backend.request('tandem/session/new', { cwd: folder().fsPath, model: 'openai/any' });
  };

  it('goes from the secret storage to the server', async () => {
    const { backend } = await running();
    await assert.rejects(session(), /OPENAI_API_KEY/);
    const first = backend.pid;
    const done = vscode.commands.executeCommand('tandem.setApiKey');
    await drive('fill', { selector: '.quick-input-widget input', text: 'openai' });
    await press('Enter');
    await drive('fill', { selector: '.quick-input-widget input[type=password]', text: 'sk-nothing' });
    await press('Enter');
    await done;
    await until('the server is another', () => backend.state === 'running' && backend.pid !== first);
    await session();
  });

  it('of a service that somebody has set up gets a name, by which the server finds it', async () => {
    const { backend } = await running();
    const settings = () => vscode.workspace.getConfiguration('tandem');
    const service = { api: 'openai-chat', baseUrl: 'http://127.0.0.1:9/v1' };
    await settings().update('providers', { 'my-own': service }, vscode.ConfigurationTarget.Global);
    const first = backend.pid;
    const done = vscode.commands.executeCommand('tandem.setApiKey');
    await drive('fill', { selector: '.quick-input-widget input', text: 'my-own' });
    await press('Enter');
    await drive('fill', { selector: '.quick-input-widget input[type=password]', text: 'a key' });
    await press('Enter');
    await done;
    await until('the server is another', () => backend.state === 'running' && backend.pid !== first);
    assert.deepEqual(settings().get('providers'), { 'my-own': { ...service, apiKeyEnv: 'MY_OWN_API_KEY' } });
    await settings().update('providers', undefined, vscode.ConfigurationTarget.Global);
  });
});
