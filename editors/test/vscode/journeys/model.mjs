// A model service on the loopback interface that answers as a test says, when it says so.
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * Starts the service. Each request is answered by the next reply; where there is none yet it waits for one.
 *
 *   model.reply(['text', {call: 'read_file', args: {path: 'a.txt'}}, promise, 'more text'])
 *
 * A reply is a list: text is streamed, a thought is {think}, calls of one reply are made together, and a promise holds
 * the stream up until it is settled. {status, message} refuses the request instead.
 */
export async function startModel() {
  const replies = [];
  const requests = [];
  const waiting = [];
  const wake = () => waiting.splice(0).forEach((resolve) => resolve());
  const news = () => new Promise((resolve) => waiting.push(resolve));

  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) {
      body += chunk;
    }
    if (request.method === 'GET') {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ data: [{ id: 'scripted' }] }));
      return;
    }
    requests.push(JSON.parse(body));
    wake();
    if (service.key !== undefined && request.headers.authorization !== `Bearer ${service.key}`) {
      response.writeHead(401, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'Incorrect API key provided.' } }));
      return;
    }
    const gone = once(response, 'close').then(() => 'gone');
    while (replies.length === 0) {
      if ((await Promise.race([news(), gone])) === 'gone') {
        return;
      }
    }
    const reply = replies.shift();
    if (!Array.isArray(reply)) {
      response.writeHead(reply.status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { message: reply.message } }));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (delta, more = {}) =>
      response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`);
    let calls = 0;
    for (const step of reply) {
      if (typeof step === 'string') {
        send({ content: step });
      } else if (typeof step.then === 'function') {
        if ((await Promise.race([step, gone])) === 'gone') {
          return;
        }
      } else if (step.think !== undefined) {
        send({ reasoning_content: step.think });
      } else {
        const index = calls++;
        const id = `call_${requests.length}_${index}`;
        send({ tool_calls: [{ index, id, type: 'function', function: { name: step.call, arguments: JSON.stringify(step.args) } }] });
      }
    }
    send({}, { finish_reason: calls > 0 ? 'tool_calls' : 'stop' });
    const usage = { prompt_tokens: 1200 + body.length / 8 | 0, completion_tokens: 80 * reply.length, total_tokens: 0 };
    usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
    response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const service = {
    /** The key that requests must come with; undefined for none. */
    key: undefined,
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    reply(...more) {
      replies.push(...more);
      wake();
    },
    /** Resolved when n requests have come. */
    async asked(n) {
      while (requests.length < n) {
        await news();
      }
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
  return service;
}

/** A promise and what settles it. */
export function gate() {
  let open;
  const promise = new Promise((resolve) => (open = resolve));
  return { promise, open };
}
