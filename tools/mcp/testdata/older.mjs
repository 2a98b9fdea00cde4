// A server made with the first TypeScript SDK that keeps no session: each request has a server of its own, as its example has it.
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

function make() {
  const s = new McpServer({ name: 'older', version: '1' });
  const said = (text) => ({ content: [{ type: 'text', text }] });
  s.registerTool('plain', { annotations: { readOnlyHint: true } }, () => said('plain is done'));
  s.registerTool('push', { annotations: { readOnlyHint: true } }, async () => {
    const requestedSchema = { type: 'object', properties: { colour: { type: 'string' } } };
    return said(JSON.stringify(await s.server.elicitInput({ message: 'Which colour?', requestedSchema }, { timeout: 1000 })));
  });
  return s;
}

createServer(async (req, res) => {
  if (req.method !== 'POST') {
    res.writeHead(405).end();
    return;
  }
  const server = make();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on('close', () => { transport.close(); server.close(); });
  await server.connect(transport);
  await transport.handleRequest(req, res);
}).listen(Number(process.argv[2]), '127.0.0.1', function () {
  console.log(this.address().port);
});
