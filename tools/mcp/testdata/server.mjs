// A server made with the TypeScript SDK. Arguments: "stdio" or a port of this machine, then "both" or "newer" for the eras that it speaks.
import { createServer } from 'node:http';
import { McpServer, acceptedContent, createMcpHandler, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const [way, eras] = process.argv.slice(2);
const legacy = eras === 'newer' ? 'reject' : way === 'stdio' ? 'serve' : 'stateless';
const said = (text) => ({ content: [{ type: 'text', text }] });
const colour = z.object({ colour: z.string() });
let more = false;
let altered = () => {};

function make() {
  const s = new McpServer({ name: 'real', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  const tool = (name, run) => s.registerTool(name, { description: `The tool ${name}.`, inputSchema: z.object({}), annotations: { readOnlyHint: true } }, run);
  tool('plain', () => said('plain is done'));
  // As a server asks in the newer era: the answer says what is wanted, and the call is made again with it.
  tool('ask', (_, ctx) => {
    const got = acceptedContent(ctx.mcpReq.inputResponses, 'colour', colour);
    if (got) return said(`the colour is ${got.colour}`);
    if (ctx.mcpReq.inputResponses) return said('no colour');
    return inputRequired({ inputRequests: { colour: inputRequired.elicit({ message: 'Which colour?', requestedSchema: colour }) } });
  });
  tool('roots', (_, ctx) => {
    const got = inputResponse(ctx.mcpReq.inputResponses, 'roots');
    if (ctx.mcpReq.inputResponses) return said(`the roots are ${JSON.stringify(got)}`);
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
  tool('sample', (_, ctx) => {
    if (ctx.mcpReq.inputResponses) return said('sampled');
    const messages = [{ role: 'user', content: { type: 'text', text: 'hi' } }];
    return inputRequired({ inputRequests: { model: inputRequired.createMessage({ messages, maxTokens: 9 }) } });
  });
  // As a server asks in the older era: by a request of its own.
  tool('push', async () => said(JSON.stringify(await s.server.elicitInput({ message: 'Which colour?', requestedSchema: { type: 'object', properties: { colour: { type: 'string' } } } }))));
  tool('alter', () => {
    if (!more && way === 'stdio') tool('later', () => said('later is done'));
    more = true;
    altered();
    return said('altered');
  });
  if (more) tool('later', () => said('later is done'));
  return s;
}

if (way === 'stdio') {
  serveStdio(make, { legacy });
} else {
  const handler = createMcpHandler(make, { legacy });
  altered = () => handler.notify.toolsChanged();
  createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const stop = new AbortController();
    res.on('close', () => stop.abort());
    const body = req.method === 'GET' || req.method === 'HEAD' ? undefined : Buffer.concat(chunks);
    const answer = await handler.fetch(new Request(`http://localhost${req.url}`, { method: req.method, headers: req.headers, body, signal: stop.signal }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    res.flushHeaders();
    if (answer.body) for await (const c of answer.body) res.write(c);
    res.end();
  }).listen(Number(way), '127.0.0.1', function () {
    console.log(this.address().port);
  });
}
