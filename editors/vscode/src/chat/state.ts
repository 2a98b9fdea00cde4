// What a chat shows, as a value, and how the news of a session change it. The extension and its web page run the same
// code: the extension keeps the conversation, so that hiding the view loses nothing, and the page draws it. Parts that
// an event does not touch stay the same objects, so a view compares by identity.

import type {
  ChangedFile,
  ClarifyParams,
  Cost,
  LineSpan,
  Location,
  NewSessionResult,
  PermissionParams,
  PlanEntry,
  PromptResult,
  Render,
  ToolContent,
  Update,
  Usage,
} from './wire.ts';

export interface Message {
  readonly type: 'message';
  readonly key: string;
  readonly role: 'user' | 'agent';
  readonly text: string;
  /** More of it may come. */
  readonly open: boolean;
  /** Said to a running turn: the model has not been told of it yet. */
  readonly waiting?: boolean;
  /** What the person attached. */
  readonly attached?: readonly string[];
}

export interface Thought {
  readonly type: 'thought';
  readonly key: string;
  readonly text: string;
  readonly open: boolean;
}

/** A question about a tool call. It is open until it has an answer. */
export type Question = Permission | Clarification;

export interface Permission {
  readonly type: 'permission';
  readonly id: number;
  readonly options: PermissionParams['options'];
  /** The command word for word, where one would run, and its folder. */
  readonly command?: string;
  readonly cwd?: string;
  readonly diffs: readonly Diff[];
  readonly danger?: string;
  readonly reason?: string;
  readonly answer?: Answer;
}

export interface Clarification {
  readonly type: 'clarify';
  readonly id: number;
  readonly question: string;
  readonly options: { id: string; label: string }[];
  readonly defaultAnswer?: string;
  readonly answer?: Answer;
}

/** `withdrawn`: nobody waits for it any more, or somebody else has answered: `by` is who or what, once that is known. */
export type Answer = { readonly text: string; readonly allowed?: boolean } | { readonly by: string } | 'withdrawn';

export interface Diff {
  readonly path: string;
  /** Absent where it is too large to be sent. */
  readonly unified?: string;
  /** The changed parts of the lines of `unified`. */
  readonly spans?: readonly LineSpan[];
  readonly additions: number;
  readonly deletions: number;
  readonly created: boolean;
  /** Asked about, it was opened beside the chat. */
  readonly looked?: boolean;
}

export type Status = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface ToolCall {
  readonly type: 'tool';
  readonly key: string;
  readonly id: string;
  readonly title: string;
  readonly kind: string;
  readonly status: Status;
  readonly state?: string;
  readonly phase?: string;
  readonly semantic?: string;
  readonly collapsible?: boolean;
  readonly group?: string;
  readonly parent?: string;
  readonly summary?: string;
  /** The class of a failure. */
  readonly error?: string;
  readonly input?: unknown;
  readonly partial?: string;
  /** What a running command has printed; the last part of it where that is much. */
  readonly output: string;
  readonly text: string;
  /** Data URLs of the pictures of the result. */
  readonly images: readonly string[];
  readonly diffs: readonly Diff[];
  readonly locations: readonly Location[];
  readonly render?: Render;
  readonly question?: Question;
  readonly ms?: number;
}

export interface Notice {
  readonly type: 'notice';
  readonly key: string;
  readonly text: string;
}

/** Why a turn ended, where there is something to say about it. */
export interface Ending {
  readonly type: 'ending';
  readonly key: string;
  readonly reason: string;
  readonly code?: string;
  readonly message?: string;
}

export type Item = Message | Thought | ToolCall | Notice | Ending;

export interface Choice {
  readonly id: string;
  readonly name: string;
}

export interface Conversation {
  readonly session?: string;
  readonly title?: string;
  readonly items: readonly Item[];
  /** What was said to the running turn and has not joined the conversation. */
  readonly steering: readonly { readonly key: string; readonly text: string }[];
  readonly running: boolean;
  readonly turn: number;
  readonly mode?: string;
  readonly modes: readonly Choice[];
  readonly model?: string;
  readonly models: readonly Choice[];
  readonly plan: readonly PlanEntry[];
  readonly commands: readonly { name: string; description?: string; input?: { hint?: string } }[];
  /** Tokens of the present or last turn, and of all turns before it. */
  readonly usage?: Usage;
  readonly before: number;
  /** What the session has cost, where that is known. */
  readonly cost?: Cost;
  readonly changes: readonly ChangedFile[];
  readonly next: number;
  /** What is still to come of a prompt that is being echoed. */
  readonly echo: string;
  /** Words that the server was just saying when it ended, which it may not have written down. */
  readonly cut?: { readonly session: string; readonly text: string };
}

export type Event =
  | { type: 'session'; session: NewSessionResult }
  | { type: 'loaded'; session: NewSessionResult; updates: readonly Update[] }
  | { type: 'reset' }
  | { type: 'prompt'; text: string; attached?: string[] }
  | { type: 'steer' | 'unsteer'; text: string }
  | { type: 'update'; update: Update }
  | { type: 'permission'; id: number; params: PermissionParams }
  | { type: 'clarify'; id: number; params: ClarifyParams }
  /** The change of a file that a question is about was opened beside the chat; without a path the one that has none. */
  | { type: 'looked'; id: number; path?: string }
  | { type: 'answered'; id: number; answer: Answer }
  /** Who or what has answered a question that was withdrawn. */
  | { type: 'resolved'; call: string; by: string }
  | { type: 'mode'; id: string }
  | { type: 'model'; id: string }
  | { type: 'changes'; files: ChangedFile[] }
  | { type: 'ended'; result: PromptResult }
  | { type: 'failed'; code?: string; message: string }
  /** The server has ended; without a message because it was asked to, to be started again. */
  | { type: 'lost'; message?: string };

export const empty: Conversation = {
  items: [],
  steering: [],
  running: false,
  turn: 0,
  modes: [],
  models: [],
  plan: [],
  commands: [],
  before: 0,
  changes: [],
  next: 1,
  echo: '',
};

const MOST_OUTPUT = 64 * 1024;

export function reduce(c: Conversation, e: Event): Conversation {
  switch (e.type) {
    case 'reset':
      return { ...empty, next: c.next };
    case 'session':
      return opened(c, e.session);
    case 'loaded':
      return opened(
        withCut(
          settle(e.updates.reduce(update, { ...empty, next: c.next })),
          c.cut?.session === e.session.sessionId ? c.cut.text : undefined,
        ),
        e.session,
      );
    case 'prompt': {
      const before = c.before + total(c.usage);
      c = { ...settle(c), running: true, echo: e.text, usage: undefined, before };
      return add(c, { type: 'message', role: 'user', text: e.text, open: false, attached: e.attached });
    }
    case 'steer':
      return { ...c, echo: '', next: c.next + 1, steering: [...c.steering, { key: `i${c.next}`, text: e.text }] };
    case 'unsteer':
      return joined(c, e.text);
    case 'update':
      return update(c, e.update);
    case 'permission':
      return ask(c, e.params.toolCall, permissionOf(e.id, e.params));
    case 'clarify':
      return ask(
        c,
        { sessionUpdate: 'tool_call_update', toolCallId: e.params.toolCallId },
        {
          type: 'clarify',
          id: e.id,
          question: e.params.question,
          options: e.params.options ?? [],
          defaultAnswer: e.params.defaultAnswer,
        },
      );
    case 'looked':
      return questioned(c, e.id, (q) => (q.type === 'permission' ? looked(q, e.path ?? '') : q));
    case 'answered':
      return questioned(c, e.id, (q) => ({ ...q, answer: e.answer }));
    case 'resolved': {
      const i = find(c, e.call);
      const item = c.items[i] as ToolCall | undefined;
      const left = item?.question && (!item.question.answer || item.question.answer === 'withdrawn');
      return item?.question && left && e.by !== 'end'
        ? replace(c, i, { ...item, question: { ...item.question, answer: { by: e.by } } })
        : c;
    }
    case 'mode':
      return { ...c, mode: e.id };
    case 'model':
      return { ...c, model: e.id };
    case 'changes':
      return { ...c, changes: e.files };
    case 'ended':
      return end(c, e.result);
    case 'failed':
      return add(settle({ ...c, running: false }), {
        type: 'ending',
        reason: 'error',
        code: e.code,
        message: e.message,
      });
    case 'lost': {
      const last = c.items.at(-1);
      const said = last?.type === 'message' && last.role === 'agent' && last.open ? last.text : undefined;
      const cut = said && c.session ? { session: c.session, text: said } : undefined;
      c = settle({ ...c, running: false, session: undefined, cut, changes: [], plan: [], steering: [] });
      return last && e.message ? add(c, { type: 'ending', reason: 'lost', message: e.message }) : c;
    }
  }
}

function opened(c: Conversation, { sessionId, modes, models }: NewSessionResult): Conversation {
  return {
    ...c,
    session: sessionId,
    mode: modes?.currentModeId,
    modes: modes?.availableModes ?? [],
    model: models?.currentModelId,
    models: (models?.availableModels ?? []).map((m) => ({ id: m.modelId, name: m.name })),
  };
}

/** With words that a person has read and the server did not come to write down, before what it says of its end. */
function withCut(c: Conversation, cut: string | undefined): Conversation {
  if (!cut || c.items.some((x) => x.type === 'message' && x.role === 'agent' && x.text.startsWith(cut))) {
    return c;
  }
  const items = c.items.slice();
  const at = items.at(-1)?.type === 'notice' ? items.length - 1 : items.length;
  items.splice(at, 0, { type: 'message', role: 'agent', text: cut, open: false, key: `i${c.next}` });
  return { ...c, items, next: c.next + 1 };
}

type Keyless<T> = T extends Item ? Omit<T, 'key'> : never;

function add(c: Conversation, item: Keyless<Item>): Conversation {
  return { ...c, next: c.next + 1, items: [...c.items, { ...item, key: `i${c.next}` } as Item] };
}

function replace(c: Conversation, i: number, item: Item): Conversation {
  const items = c.items.slice();
  items[i] = item;
  return { ...c, items };
}

function update(c: Conversation, u: Update): Conversation {
  switch (u.sessionUpdate) {
    case 'user_message_chunk': {
      const text = textOf(u);
      if (c.echo && c.echo.startsWith(text)) {
        return { ...c, echo: c.echo.slice(text.length) };
      }
      // What was said to the running turn stands where it joins the conversation.
      return stream(close(joined(c, text)), 'message', text, 'user');
    }
    case 'agent_message_chunk':
      return stream({ ...c, echo: '' }, 'message', textOf(u), 'agent');
    case 'agent_thought_chunk':
      return stream({ ...c, echo: '' }, 'thought', textOf(u));
    case 'tool_call':
    case 'tool_call_update':
      return tool({ ...c, echo: '' }, u);
    case 'plan':
      return { ...c, plan: u.entries ?? [] };
    case 'available_commands_update':
      return { ...c, commands: u.availableCommands ?? [] };
    case 'current_mode_update':
      return { ...c, mode: u.currentModeId ?? c.mode };
    case 'usage_update':
      return { ...c, usage: u.usage ?? c.usage, cost: u.cost ?? c.cost };
    case 'session_info_update':
      return { ...c, title: u.title ?? c.title };
    case 'notice': {
      const text = textOf(u);
      // Where a turn begins to change things is news for programs: a person sees the call itself.
      return text === '' || u._meta?.tandem?.boundary ? c : add(close(c), { type: 'notice', text });
    }
    default:
      return c;
  }
}

/** Without the first of what waits to join that begins a text, which may have more: what was attached. */
function joined(c: Conversation, text: string): Conversation {
  const first = c.steering.findIndex((s) => text.startsWith(s.text));
  return first < 0 ? c : { ...c, steering: c.steering.filter((_, i) => i !== first) };
}

/** What there is to show, with what waits to join at the end. */
export function shown(c: Conversation): readonly Item[] {
  const waiting = c.steering.map((s): Message => ({ type: 'message', role: 'user', open: false, waiting: true, ...s }));
  return waiting.length > 0 ? [...c.items, ...waiting] : c.items;
}

function textOf(u: Update): string {
  return u.content && !Array.isArray(u.content) ? (u.content.text ?? '') : '';
}

/** Adds text to the message or thought at the end, or begins one. */
function stream(c: Conversation, type: 'message' | 'thought', text: string, role?: 'user' | 'agent'): Conversation {
  if (!text) {
    return c;
  }
  const i = c.items.length - 1;
  const last = c.items[i];
  if (last?.type === type && last.open && (last.type === 'thought' || last.role === role)) {
    return replace(c, i, { ...last, text: last.text + text });
  }
  c = close(c);
  return type === 'thought'
    ? add(c, { type, text, open: true })
    : add(c, { type, role: role ?? 'agent', text, open: true });
}

/** Ends the text that is being streamed. */
function close(c: Conversation): Conversation {
  const i = c.items.length - 1;
  const last = c.items[i];
  return (last?.type === 'message' || last?.type === 'thought') && last.open ? replace(c, i, { ...last, open: false }) : c;
}

function find(c: Conversation, id: string): number {
  for (let i = c.items.length - 1; i >= 0; i--) {
    const item = c.items[i];
    if (item?.type === 'tool' && item.id === id) {
      return i;
    }
  }
  return -1;
}

function tool(c: Conversation, u: Update): Conversation {
  const id = u.toolCallId;
  if (!id) {
    return c;
  }
  const meta = u._meta?.tandem ?? {};
  let i = find(c, id);
  if (i < 0) {
    c = add(close(c), {
      type: 'tool',
      id,
      title: '',
      kind: 'other',
      status: 'pending',
      output: '',
      text: '',
      images: [],
      diffs: [],
      locations: [],
    });
    i = c.items.length - 1;
  }
  let old = c.items[i] as ToolCall;
  if (meta.late) { // it has not failed after all
    old = { ...old, error: undefined, summary: undefined, text: '' };
  }
  const content = Array.isArray(u.content) ? u.content : undefined;
  const at = meta.at ?? {};
  if (meta.groupId && meta.calls) {
    const { groupId: group, calls } = meta;
    c = { ...c, items: c.items.map((x) => (x.type === 'tool' && x.group !== group && calls.includes(x.id) ? { ...x, group } : x)) };
  }
  return replace(c, i, {
    ...old,
    title: u.title || old.title,
    kind: u.kind || old.kind,
    status: (u.status as Status | undefined) ?? old.status,
    state: meta.state ?? old.state,
    phase: meta.phase === 'grouped' ? old.phase : (meta.phase ?? old.phase),
    semantic: meta.semantic ?? old.semantic,
    collapsible: meta.collapsible ?? old.collapsible,
    group: meta.groupId ?? old.group,
    parent: meta.parentId ?? old.parent,
    summary: meta.summary || old.summary,
    error: meta.error || old.error,
    input: u.rawInput ?? old.input,
    partial: u.rawInput !== undefined ? undefined : (meta.partialInput ?? old.partial),
    output: meta.output ? ending(old.output + meta.output) : old.output,
    text: content ? textIn(content) : old.text,
    images: content ? imagesIn(content) : old.images,
    diffs: content ? diffsIn(content) : old.diffs,
    locations: u.locations ?? old.locations,
    render: meta.render && meta.phase !== 'grouped' ? meta.render : old.render,
    ms: at.completed !== undefined && at.executing !== undefined ? at.completed - at.executing : old.ms,
  });
}

function ending(text: string): string {
  return text.length > MOST_OUTPUT ? text.slice(text.indexOf('\n', text.length - MOST_OUTPUT) + 1) : text;
}

function textIn(content: ToolContent[]): string {
  return content
    .filter((x) => x.type === 'content')
    .map((x) => x.content?.text ?? x.content?.resource?.text ?? '')
    .filter((text) => text !== '')
    .join('\n');
}

/** The pictures of a result; what is no picture of a type that every web view shows has its name in the text. */
function imagesIn(content: ToolContent[]): string[] {
  return content.flatMap((x) => {
    const { type, mimeType, data } = x.content ?? {};
    return type === 'image' && data && /^image\/(png|jpeg|gif|webp)$/.test(mimeType ?? '') ? [`data:${mimeType};base64,${data}`] : [];
  });
}

function diffsIn(content: ToolContent[]): Diff[] {
  return content
    .filter((x) => x.type === 'diff')
    .map((x) => {
      const unified = x._meta?.tandem?.unified || undefined;
      const spans = x._meta?.tandem?.spans;
      return { path: x.path ?? '', unified, ...(spans && { spans }), created: x.oldText === undefined, ...count(unified ?? '') };
    });
}

/** Diffs whose texts are too large to be sent: each comes as a unified diff, or as a word that even that is too large. */
function largeIn(content: ToolContent[], locations: readonly Location[]): Diff[] {
  return content.flatMap((x, i) => {
    if (x.type !== 'content') {
      return [];
    }
    const text = x.content?.text ?? '';
    const unified = /^@@ -/m.test(text) ? text : undefined;
    return [{ path: locations[i]?.path ?? '', unified, created: false, ...count(unified ?? '') }];
  });
}

/** The lines that a unified diff adds and takes away. */
export function count(unified: string): { additions: number; deletions: number } {
  let additions = 0;
  let deletions = 0;
  let inHunk = false;
  for (const line of unified.split('\n')) {
    if (line.startsWith('@@')) {
      inHunk = true;
    } else if (inHunk && line.startsWith('+')) {
      additions++;
    } else if (inHunk && line.startsWith('-')) {
      deletions++;
    }
  }
  return { additions, deletions };
}

function permissionOf(id: number, p: PermissionParams): Permission {
  const content = Array.isArray(p.toolCall.content) ? p.toolCall.content : [];
  const input = p.toolCall.rawInput;
  const named = typeof input === 'object' && input !== null && 'command' in input ? input.command : undefined;
  const command = typeof named === 'string' ? named : p.toolCall.kind === 'execute' ? textIn(content) : undefined;
  return {
    type: 'permission',
    id,
    options: p.options,
    command,
    cwd: command === undefined ? undefined : p.toolCall.locations?.[0]?.path,
    diffs: command === undefined ? [...diffsIn(content), ...largeIn(content, p.toolCall.locations ?? [])] : diffsIn(content),
    danger: p._meta?.tandem?.danger,
    reason: p._meta?.tandem?.reason,
  };
}

/** Puts a question to the call that it is about. What the question shows is not yet what the call did. */
function ask(c: Conversation, u: Update, question: Question): Conversation {
  const id = u.toolCallId || `question-${question.id}`;
  c = tool(c, { ...u, toolCallId: id, content: undefined });
  const i = find(c, id);
  return replace(c, i, { ...(c.items[i] as ToolCall), question });
}

/** Changes a question that is open. */
function questioned(c: Conversation, id: number, change: (q: Question) => Question): Conversation {
  const i = c.items.findIndex((x) => x.type === 'tool' && x.question?.id === id);
  const item = c.items[i];
  if (item?.type !== 'tool' || !item.question || item.question.answer) {
    return c;
  }
  return replace(c, i, { ...item, question: change(item.question) });
}

function looked(q: Permission, path: string): Permission {
  return { ...q, diffs: q.diffs.map((d) => (d.path === path ? { ...d, looked: true } : d)) };
}

function end(c: Conversation, r: PromptResult): Conversation {
  c = settle({ ...c, running: false, turn: r.turn ?? c.turn, usage: r.usage ?? c.usage, echo: '' });
  if (r.stopReason === 'end_turn') {
    return c;
  }
  // A failure also comes as a notice: it is said once.
  const last = c.items.at(-1);
  if (r.error && last?.type === 'notice' && last.text === r.error.message) {
    c = { ...c, items: c.items.slice(0, -1) };
  }
  return add(c, { type: 'ending', reason: r.stopReason, code: r.error?.code, message: r.error?.message });
}

/** What no turn carries on any more: open text, calls without an end, questions without an answer. */
function settle(c: Conversation): Conversation {
  let changed = false;
  const items = c.items.map((x): Item => {
    if ((x.type === 'message' || x.type === 'thought') && x.open) {
      changed = true;
      return { ...x, open: false };
    }
    if (x.type !== 'tool') {
      return x;
    }
    const asked = x.question && !x.question.answer;
    const going = x.status === 'pending' || x.status === 'in_progress';
    if (!asked && !going) {
      return x;
    }
    changed = true;
    return {
      ...x,
      ...(going ? { status: 'failed' as const, error: x.error ?? 'CANCELLED' } : {}),
      ...(asked ? { question: { ...x.question, answer: 'withdrawn' } as Question } : {}),
    };
  });
  return changed ? { ...c, items } : c;
}

export function total(u: Usage | undefined): number {
  return u?.totalTokens ?? (u?.inputTokens ?? 0) + (u?.outputTokens ?? 0);
}

/** The calls that wait for an answer of the person. */
export function waiting(c: Conversation): ToolCall[] {
  return c.items.filter((x): x is ToolCall => x.type === 'tool' && x.question !== undefined && !x.question.answer);
}

/** A line of the transcript: an item, or calls that are shown together. */
export type Row = { key: string; item: Item } | { key: string; group: readonly ToolCall[] };

/** Calls that only look, one after the other, and harmless ones that the server groups, make one row. */
export function rows(items: readonly Item[]): Row[] {
  const out: Row[] = [];
  let group: ToolCall[] = [];
  const flush = () => {
    const first = group[0];
    if (first && group.length === 1) {
      out.push({ key: first.key, item: first });
    } else if (first) {
      out.push({ key: `g${first.key}`, group });
    }
    group = [];
  };
  for (const item of items) {
    if (item.type === 'tool' && folds(item)) {
      const last = group.at(-1);
      if (last && !(last.group && last.group === item.group) && !(looks(last) && looks(item))) {
        flush();
      }
      group.push(item);
      continue;
    }
    flush();
    out.push({ key: item.key, item });
  }
  flush();
  return out;
}

/** Whether a call may be folded away: what changes something, or asks, is always in sight. */
function folds(t: ToolCall): boolean {
  const changes = t.semantic === 'write' || ['edit', 'delete', 'move', 'execute'].includes(t.kind);
  return looks(t) || (t.group !== undefined && !changes && !t.question);
}

/** Whether a call only looks; of a command the server says so, where its words prove it. */
function looks(t: ToolCall): boolean {
  const semantic = t.semantic ?? t.kind;
  return (semantic === 'read' || semantic === 'search') && (t.kind !== 'execute' || t.collapsible === true) && !t.question;
}

/** A conversation in the form in which recorded transcripts say what it must come to. */
export function digest(c: Conversation): Record<string, string>[] {
  const out: Record<string, string>[] = [];
  for (const item of c.items) {
    switch (item.type) {
      case 'message':
        out.push({ role: item.role, text: item.text });
        break;
      case 'thought':
        out.push({ role: 'thought', text: item.text });
        break;
      case 'notice':
        out.push({ role: 'notice', text: item.text });
        break;
      case 'tool':
        out.push({ tool: item.id, title: item.title, status: item.status });
        break;
      case 'ending':
        out.push({ ending: item.reason });
    }
  }
  return out;
}
