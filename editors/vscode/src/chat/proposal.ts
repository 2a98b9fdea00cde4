// A change that is asked about, as two texts for a diff editor: a diff that is too large for the chat is looked at there.

import type { PermissionParams } from './wire.ts';

export interface Proposal {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

type Fields = Record<string, unknown>;

const text = (x: unknown): string => (typeof x === 'string' ? x : '');

/** What a call would change in a file, by the texts that the server sends, or else by the call's own parameters. */
export async function proposal(
  p: PermissionParams,
  path: string | undefined,
  now: (path: string) => Promise<string>,
): Promise<Proposal> {
  const content = Array.isArray(p.toolCall.content) ? p.toolCall.content : [];
  const diff = content.find((c) => c.type === 'diff' && c.newText !== undefined && (path === undefined || c.path === path));
  if (diff) {
    return { path: diff.path ?? '', before: diff.oldText ?? '', after: diff.newText ?? '' };
  }
  const input = (typeof p.toolCall.rawInput === 'object' && p.toolCall.rawInput !== null ? p.toolCall.rawInput : {}) as Fields;
  const where = path || p.toolCall.locations?.[0]?.path || text(input.path);
  if (typeof input.content === 'string') {
    return { path: where, before: await now(where), after: input.content };
  }
  const edits = Array.isArray(input.edits) ? (input.edits as Fields[]) : [input];
  if (edits.every((e) => typeof e === 'object' && e !== null && typeof e.new_text === 'string')) {
    const side = (name: string) => edits.map((e) => text(e[name])).join('\n\n');
    return { path: where, before: side('old_text'), after: side('new_text') };
  }
  const whole = Object.entries(input).map(([name, value]) => `${name}:\n${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`);
  return { path: where, before: '', after: whole.join('\n\n') };
}
