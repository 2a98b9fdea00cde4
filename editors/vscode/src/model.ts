// Lends the models that VS Code has (those of GitHub Copilot and of other extensions) to the server: the model "editor".

import type * as vscode from 'vscode';
import type { ChatMessage, ChatPart, ChatTool, ModelChunk, ModelChunkCall, ModelStreamParams, ModelStreamResult } from './protocol.ts';

/** What is used of VS Code. Pictures can be passed on by newer versions only. */
export type Api = Pick<
  typeof vscode,
  | 'lm'
  | 'LanguageModelChatMessage'
  | 'LanguageModelChatMessageRole'
  | 'LanguageModelTextPart'
  | 'LanguageModelToolCallPart'
  | 'LanguageModelToolResultPart'
> & { LanguageModelDataPart?: { image(data: Uint8Array, mime: string): unknown } };

/** Why a model cannot be used, in words for a person. */
export class Unavailable extends Error {
  readonly code = -32013;
}

/** The models on offer, by the names that the server knows them by. */
export async function lendable(api: Api): Promise<{ modelId: string; name: string }[]> {
  const models = await api.lm.selectChatModels();
  return models.map((m) => ({ modelId: `editor/${m.vendor}/${m.id}`, name: `${m.name} (VS Code)` }));
}

/** Answers a request with one of VS Code's models; `send` takes the pieces, one after the other. */
export async function lend(
  api: Api,
  p: ModelStreamParams,
  send: (chunk: Omit<ModelChunk, 'streamId'>) => Promise<void>,
  token: vscode.CancellationToken,
): Promise<ModelStreamResult> {
  const model = await choose(api, p.options.model);
  // Not every version of VS Code ends a stream that is cancelled.
  let heard: vscode.Disposable | undefined;
  const cancelled = new Promise<undefined>((resolve) => (heard = token.onCancellationRequested(() => resolve(undefined))));
  let parts: AsyncIterator<unknown> | undefined;
  try {
    const options = { justification: 'Tandem answers what you ask it with this model.', tools: toolsOf(p.tools as ChatTool[]) };
    const request = model.sendRequest(messagesOf(api, p.messages as ChatMessage[]), options, token);
    parts = (await Promise.race([request, cancelled]))?.stream[Symbol.asyncIterator]();
    for (let calls = 0; parts; ) {
      const next = await Promise.race([parts.next(), cancelled]);
      if (!next || next.done || token.isCancellationRequested) {
        break;
      }
      const part = next.value;
      if (part instanceof api.LanguageModelTextPart) {
        if (part.value) {
          await send({ text: part.value });
        }
      } else if (part instanceof api.LanguageModelToolCallPart) {
        await send({ toolCall: callOf(part, calls++) });
      }
    }
  } catch (err) {
    throw token.isCancellationRequested ? err : explained(err, model.name);
  } finally {
    heard?.dispose();
    void parts?.return?.().catch(() => {});
  }
  // VS Code does not say why a model has stopped, nor what it has cost.
  return { stopReason: token.isCancellationRequested ? 'cancelled' : 'end_turn' };
}

function callOf(part: vscode.LanguageModelToolCallPart, index: number): ModelChunkCall {
  return { index, id: part.callId, name: part.name, argumentsDelta: JSON.stringify(part.input ?? {}) };
}

async function choose(api: Api, wanted: string | undefined): Promise<vscode.LanguageModelChat> {
  const models = await api.lm.selectChatModels();
  if (models.length === 0) {
    throw new Unavailable(
      'VS Code has no language model. Sign in to GitHub Copilot, install an extension that brings models, ' +
        'or set "tandem.model" to another one.',
    );
  }
  const found = wanted
    ? (models.find((m) => `${m.vendor}/${m.id}` === wanted) ?? models.find((m) => m.id === wanted || m.family === wanted))
    : models[0];
  if (!found) {
    const all = models.map((m) => `editor/${m.vendor}/${m.id}`).join(', ');
    throw new Unavailable(`VS Code has no model "${wanted}". It has ${all}.`);
  }
  return found;
}

function explained(err: unknown, name: string): Error {
  const code = typeof err === 'object' && err !== null && 'code' in err ? err.code : undefined;
  const said = err instanceof Error ? err.message : String(err);
  switch (code) {
    case 'NoPermissions':
      return new Unavailable(
        `Tandem may not use ${name}. Ask again and allow it, or allow it with "Manage Language Model Access" in the accounts menu.`,
      );
    case 'Blocked':
      return new Unavailable(`${name} is blocked for now, as when its quota is used up: ${said}`);
    case 'NotFound':
      return new Unavailable(`${name} is not there any more. Choose another model.`);
  }
  const cause = err instanceof Error && err.cause instanceof Error ? err.cause.message : undefined;
  return new Unavailable(`${name} failed: ${cause && cause !== said ? `${said} (${cause})` : said}`);
}

function toolsOf(tools: ChatTool[]): vscode.LanguageModelChatTool[] {
  return tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description: description ?? '',
    inputSchema: parameters as object,
  }));
}

/** The conversation as VS Code has it, which knows no system prompt and has results of calls in a user's message. */
function messagesOf(api: Api, messages: ChatMessage[]): vscode.LanguageModelChatMessage[] {
  const out: { role: vscode.LanguageModelChatMessageRole; parts: unknown[] }[] = [];
  const { User, Assistant } = api.LanguageModelChatMessageRole;
  const add = (role: vscode.LanguageModelChatMessageRole, parts: unknown[], together: boolean) => {
    const last = out.at(-1);
    if (together && last?.role === role) {
      last.parts.push(...parts);
    } else if (parts.length > 0) {
      out.push({ role, parts });
    }
  };
  let answering = false;
  for (const message of messages) {
    const content = contentOf(api, message.content);
    if (message.role === 'tool') {
      add(User, [new api.LanguageModelToolResultPart(message.tool_call_id ?? '', content)], answering);
    } else if (message.role === 'assistant') {
      const calls = (message.tool_calls ?? []).map(
        ({ id, function: { name, arguments: args } }) => new api.LanguageModelToolCallPart(id, name, JSON.parse(args || '{}') as object),
      );
      add(Assistant, [...content, ...calls], false);
    } else {
      add(User, content, false);
    }
    answering = message.role === 'tool';
  }
  return out.map(({ role, parts }) => new api.LanguageModelChatMessage(role, parts as vscode.LanguageModelInputPart[]));
}

function contentOf(api: Api, content: unknown): unknown[] {
  const parts: ChatPart[] = Array.isArray(content) ? content : typeof content === 'string' ? [{ type: 'text', text: content }] : [];
  return parts.flatMap((part) => {
    if (part.type === 'text') {
      return part.text ? [new api.LanguageModelTextPart(part.text)] : [];
    }
    const image = /^data:([^;]+);base64,(.*)$/s.exec(part.image_url?.url ?? '');
    return [
      image && api.LanguageModelDataPart
        ? api.LanguageModelDataPart.image(Buffer.from(image[2]!, 'base64'), image[1]!)
        : new api.LanguageModelTextPart('(A picture that this version of VS Code cannot pass on.)'),
    ];
  });
}
