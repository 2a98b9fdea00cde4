// A tool call: one line that says what it is and how it went, what it shows when it is opened, and its question.

import type { Setup } from '../src/chat/messages.ts';
import { failure, state as stateWord } from '../src/protocol.ts';
import type { Diff, ToolCall } from '../src/chat/state.ts';
import { visible } from '../src/chat/visible.ts';
import { diffView } from './diff.ts';
import { type Child, h, icon } from './dom.ts';
import { post } from './host.ts';
import { fileLink, markdown } from './markdown.ts';
import { QuestionView } from './question.ts';

/** Diffs up to this many changed lines are open from the start. */
const SHORT = 16;
/** A command above this many characters does not fit into the line of its call. */
const LONG = 60;

const ICONS: Record<string, string> = {
  read: 'file',
  search: 'search',
  edit: 'edit',
  delete: 'trash',
  move: 'move',
  execute: 'terminal',
  fetch: 'globe',
  think: 'thinking',
  other: 'tools',
};

export class ToolView {
  readonly element: HTMLElement;
  private readonly head = h('div', { class: 'tool-head' });
  private readonly toggle: HTMLButtonElement;
  private readonly body = h('div', { class: 'tool-body' });
  private readonly failure = h('div', { class: 'failure', hidden: true });
  private readonly question = new QuestionView();
  /** What the person chose; until then the call itself says whether it is open. */
  private chosen?: boolean;
  private shown?: ToolCall;
  private output?: HTMLPreElement;
  private drawn = '';

  constructor(private readonly setup: () => Setup) {
    this.toggle = h('button', { type: 'button', class: 'toggle', onclick: () => this.flip() });
    this.element = h('div', { class: 'tool' }, this.head, this.failure, this.question.element, this.body);
  }

  update(t: ToolCall): void {
    this.shown = t;
    this.element.dataset.status = statusOf(t);
    this.drawHead(t);
    this.failure.textContent = this.why(t) ?? '';
    this.failure.hidden = !this.failure.textContent;
    this.question.update(t, this.setup().home);
    this.drawBody(t);
  }

  private why(t: ToolCall): string | undefined {
    const said = sentence(t);
    // There the settings disable what could change or run anything, and nobody has set them.
    const restricted = !this.setup().trusted && said === failure('TOOL_NOT_FOUND/disabled');
    return restricted ? 'Restricted Mode: the agent only reads and searches. Trust this folder to let it change and run things.' : said;
  }

  private flip(): void {
    if (this.shown) {
      this.chosen = !this.opened(this.shown);
      this.drawHead(this.shown);
      this.drawBody(this.shown);
      this.toggle.focus();
    }
  }

  private opened(t: ToolCall): boolean {
    if (this.chosen !== undefined) {
      return this.chosen;
    }
    if (t.question && !t.question.answer) {
      return false; // the question shows it
    }
    const looks = t.semantic === 'read' || t.semantic === 'search' || t.collapsible === true;
    if (t.kind === 'execute') {
      return !looks || t.status === 'in_progress' || t.status === 'failed';
    }
    const lines = t.diffs.reduce((n, d) => n + d.additions + d.deletions, 0);
    return t.diffs.length > 0 ? lines <= SHORT : t.render?.widgets?.some((w) => w.type === 'progress') === true;
  }

  private drawHead(t: ToolCall): void {
    const status = statusOf(t);
    const mark = status === 'running' ? 'spinner' : status === 'failed' || status === 'denied' ? 'error' : undefined;
    const openable = hasBody(t);
    const open = openable && this.opened(t);
    this.toggle.replaceChildren(icon(mark ?? ICONS[t.kind] ?? 'tools'), icon(open ? 'chevron-down' : 'chevron-right'));
    this.toggle.disabled = !openable;
    this.toggle.setAttribute('aria-label', `${t.title || t.kind}: ${stateText(t) || 'done'}`);
    if (openable) {
      this.toggle.setAttribute('aria-expanded', String(open));
    }
    const additions = t.diffs.reduce((n, d) => n + d.additions, 0);
    const deletions = t.diffs.reduce((n, d) => n + d.deletions, 0);
    this.head.replaceChildren(
      this.toggle,
      h('span', { class: 'title', onclick: () => openable && this.flip() }, ...this.title(t)),
      t.diffs.length > 0
        ? h(
            'span',
            { class: 'counts', 'aria-label': `${additions} lines added, ${deletions} removed` },
            h('span', { class: 'plus' }, `+${additions}`),
            ' ',
            h('span', { class: 'minus' }, `−${deletions}`),
          )
        : '',
      h('span', { class: 'state' }, stateText(t)),
    );
  }

  /** The title with its file as a link, and what the summary adds to it. */
  private title(t: ToolCall): Child[] {
    const title = visible(t.title || writing(t), false);
    const place = t.locations[0];
    const out: Child[] = [];
    const name = place && [relative(place.path, this.setup().folder), place.path].find((n) => title.endsWith(n));
    if (place && name) {
      out.push(title.slice(0, -name.length), fileLink(place.path, place.line, baseName(name)));
    } else {
      out.push(t.kind === 'execute' ? h('code', null, title) : title);
    }
    if (t.summary?.startsWith(title) && t.diffs.length === 0 && t.summary !== title) {
      out.push(h('span', { class: 'detail' }, t.summary.slice(title.length)));
    }
    return out;
  }

  private drawBody(t: ToolCall): void {
    const open = hasBody(t) && this.opened(t);
    this.body.hidden = !open;
    if (!open) {
      this.body.replaceChildren();
      this.output = undefined;
      this.drawn = '';
      return;
    }
    // A command that prints adds to what is there: its selection and place stay.
    if (this.output && t.status === 'in_progress' && t.output.startsWith(this.drawn)) {
      const follow = this.output.scrollTop + this.output.clientHeight >= this.output.scrollHeight - 4;
      this.output.append(t.output.slice(this.drawn.length));
      this.drawn = t.output;
      if (follow) {
        this.output.scrollTop = this.output.scrollHeight;
      }
      return;
    }
    this.output = undefined;
    const parts: Child[] = [];
    const command = commandOf(t);
    if (command && (t.title !== `$ ${command}` || command.length > LONG)) {
      parts.push(h('pre', { class: 'command', tabindex: 0 }, h('code', null, command)));
    }
    parts.push(...renderView(t));
    for (const d of t.diffs) {
      parts.push(...diffPart(d, t.diffs.length > 1 ? relative(d.path, this.setup().folder) : undefined));
    }
    // What a command printed is shown as it came; its result says the same again, in words for the model.
    const text = t.output && (t.status === 'in_progress' || t.kind === 'execute') ? t.output : t.text;
    if (text && text !== sentence(t) && !(t.diffs.length > 0 && t.status === 'completed')) {
      this.output = h('pre', { class: 'output', tabindex: 0, 'aria-label': 'Output' }, text);
      this.drawn = t.output;
      parts.push(this.output);
    }
    parts.push(...t.images.map((src) => h('img', { class: 'picture', src, alt: t.title })));
    this.body.replaceChildren(...parts.filter((p): p is Node | string => Boolean(p)));
    if (this.output && t.status === 'in_progress') {
      this.output.scrollTop = this.output.scrollHeight;
    }
  }
}

function hasBody(t: ToolCall): boolean {
  const said = sentence(t);
  const more = said === undefined ? t.text || t.render : t.text !== said && t.text;
  return Boolean(t.diffs.length || t.images.length || more || t.output || (commandOf(t)?.length ?? 0) > LONG);
}

/** Why a call failed, for a person, where its row and its question do not say so already. */
function sentence(t: ToolCall): string | undefined {
  const status = statusOf(t);
  const told = /^EXIT_CODE_/.test(t.error ?? '') || (status === 'denied' && t.question?.answer !== undefined);
  return (status === 'failed' || status === 'denied') && t.error && !told ? t.summary || failure(t.error) : undefined;
}

function commandOf(t: ToolCall): string | undefined {
  const input = t.input;
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : undefined;
  return t.kind === 'execute' && typeof command === 'string' ? command : undefined;
}

/** What stands for a title while the model is still writing the arguments. */
function writing(t: ToolCall): string {
  return t.partial ? 'Preparing a tool call' : t.id;
}

export function statusOf(t: ToolCall): 'queued' | 'asking' | 'running' | 'done' | 'failed' | 'denied' | 'stopped' {
  if (t.question && !t.question.answer) {
    return 'asking';
  }
  switch (t.status) {
    case 'pending':
      return 'queued';
    case 'in_progress':
      return 'running';
    case 'completed':
      return 'done';
    case 'failed':
      return t.error === 'GATE_DENIED' || t.phase === 'rejected'
        ? 'denied'
        : t.error === 'CANCELLED' || t.error === 'SIBLING_CANCELLED'
          ? 'stopped'
          : 'failed';
  }
}

export function stateText(t: ToolCall): string {
  switch (statusOf(t)) {
    case 'queued':
      return t.partial !== undefined ? 'writing…' : 'queued';
    case 'asking':
      return 'needs your answer';
    case 'running':
      return 'running';
    case 'denied':
    case 'stopped':
      return stateWord(t.status, t.phase, t.error);
    case 'failed': {
      const code = /^EXIT_CODE_(\d+)$/.exec(t.error ?? '');
      return code ? `exit ${code[1]}` : stateWord(t.status);
    }
    case 'done':
      return t.ms !== undefined && t.ms >= 1000 ? `${(t.ms / 1000).toFixed(1)} s` : '';
  }
}

export function diffPart(d: Diff, name?: string, open = () => post({ type: 'diff', path: d.path })): Node[] {
  const out: Node[] = [];
  if (name) {
    out.push(h('div', { class: 'diff-name' }, fileLink(d.path, undefined, name)));
  }
  out.push(
    d.unified
      ? diffView(d.unified, open, d.looked, d.spans)
      : h('button', { type: 'button', class: 'link', onclick: open }, 'Too large to show here: open the diff'),
  );
  return out;
}

/** What a tool says of itself, without what the row says anyway: its title, its failure, its text and its diffs. */
function renderView(t: ToolCall): Node[] {
  const out: Node[] = [];
  const head = t.render?.markdown;
  if (head && !said(head, t)) {
    out.push(markdown(head));
  }
  for (const w of t.render?.widgets ?? []) {
    switch (w.type) {
      case 'progress': {
        const total = w.total ?? 1;
        const bar = h('progress', { max: total, value: w.value ?? 0, 'aria-label': w.title ?? 'Progress' });
        out.push(h('div', { class: 'progress' }, bar, h('span', null, `${Math.round(((w.value ?? 0) / total) * 100)} %`)));
        break;
      }
      case 'collapsible':
        if (!said(w.markdown ?? '', t)) {
          out.push(h('details', null, h('summary', null, icon('chevron-right'), w.title ?? 'Details'), markdown(w.markdown ?? '')));
        }
        break;
      case 'diff':
        // The diffs of the call are drawn after this; one of another file can only be opened.
        if (w.path && !t.diffs.some((d) => d.path === w.path)) {
          out.push(...diffPart({ path: w.path, additions: 0, deletions: 0, created: false }, w.path));
        }
        break;
      default:
        out.push(h('p', null, textOf(w)));
    }
  }
  return out;
}

/** Whether Markdown says only what stands in the title, the summary, the output or the text of a call. */
function said(text: string, t: ToolCall): boolean {
  const plain = bare(text.replace(/^\*\*[A-Z][A-Z0-9_]+\*\*/, ''));
  return [t.title, t.summary, t.output, t.text].some((x) => x && bare(x).includes(plain));
}

/** The words of a text, whatever marks stand between them. */
function bare(text: string): string {
  return text
    .replace(/^```\w*$/gm, '')
    .replace(/[\\*`]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** A widget that this page does not know, as its text. */
function textOf(w: Record<string, unknown>): string {
  const text = ['title', 'text', 'markdown', 'value']
    .map((k) => w[k])
    .filter((v) => typeof v === 'string' || typeof v === 'number');
  return text.length > 0 ? text.join(' ') : JSON.stringify(w);
}

export function relative(path: string, folder: string | undefined): string {
  return folder && path.startsWith(folder) && /[\\/]/.test(path[folder.length] ?? '') ? path.slice(folder.length + 1) : path;
}

export function baseName(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path;
}
