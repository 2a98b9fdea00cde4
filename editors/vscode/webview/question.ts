// The question of a tool call: what exactly would happen, and the answers that are on offer.

import type { Clarification, Permission, ToolCall } from '../src/chat/state.ts';
import { visible, visibleLines } from '../src/chat/visible.ts';
import { unseen } from './allow.ts';
import { type Child, button, h, icon } from './dom.ts';
import { post } from './host.ts';
import { diffPart } from './tool.ts';

export class QuestionView {
  readonly element = h('div', { class: 'question', hidden: true });
  private drawn?: unknown;

  update(t: ToolCall): void {
    const q = t.question;
    if (q === this.drawn) {
      return;
    }
    this.drawn = q;
    this.element.hidden = !q;
    this.element.className = q && !q.answer ? 'question open' : 'question';
    if (!q) {
      this.element.replaceChildren();
    } else if (q.answer) {
      this.element.replaceChildren(h('div', { class: 'answered' }, ...answered(q)));
    } else {
      this.element.replaceChildren(q.type === 'permission' ? permission(t, q) : clarification(q));
    }
  }
}

function answered(q: Permission | Clarification): Child[] {
  const a = q.answer;
  if (a === undefined || a === 'withdrawn') {
    return [icon('circle-slash'), 'No answer needed any more'];
  }
  if (q.type === 'clarify') {
    return [icon('comment'), `${q.question} `, h('strong', null, a.text || '(no answer)')];
  }
  return [icon(a.allowed ? 'check' : 'circle-slash'), `You answered: ${a.text}`];
}

function heading(t: ToolCall, q: Permission): string {
  if (q.command !== undefined) {
    return 'Run this command?';
  }
  switch (t.kind) {
    case 'edit':
      return q.diffs.every((d) => d.created) && q.diffs.length > 0 ? 'Create this file?' : 'Make this edit?';
    case 'delete':
      return 'Delete this?';
    case 'move':
      return 'Move this?';
    case 'fetch':
      return 'Allow this request to the network?';
    default:
      return 'Allow this?';
  }
}

/** How long a question is before a person before it can be allowed: a key that was meant for something else must not do so. */
const SETTLE_MS = 300;
/** When the questions came before the person, by their ids. */
const since = new Map<number, number>();

function settled(q: Permission): boolean {
  const begun = since.get(q.id);
  return begun !== undefined && performance.now() - begun >= SETTLE_MS;
}

/** Whether a question can be allowed by a key now. One that is out of sight is brought into it first, and is then new. */
export function allowable(q: Permission): boolean {
  const card = document.querySelector<HTMLElement>(`[data-question="${q.id}"]`);
  const box = card?.getBoundingClientRect();
  if (!card || !box || box.bottom <= 0 || box.top >= window.innerHeight) {
    card?.scrollIntoView({ block: 'nearest' });
    since.set(q.id, performance.now());
    return false;
  }
  return settled(q) && !unseen(q);
}

function permission(t: ToolCall, q: Permission): HTMLElement {
  const title = heading(t, q);
  if (!since.has(q.id)) {
    since.set(q.id, performance.now());
  }
  const hidden = unseen(q);
  const options = q.options.map((o, i) => {
    const key = i === 0 ? 'Ctrl+Enter' : o.kind === 'reject_once' ? 'Ctrl+Backspace' : undefined;
    const allows = !o.kind.startsWith('reject');
    const b = button(o.name, () => post({ type: 'answer', id: q.id, optionId: o.optionId }), {
      class: i === 0 ? 'primary' : 'secondary',
      'data-kind': o.kind,
      disabled: allows && (hidden || !settled(q)),
      title: hidden && allows ? 'Open the whole change first' : key ? `${o.name} (${key})` : o.name,
    });
    if (allows && !hidden) {
      setTimeout(() => (b.disabled = false), Math.max(0, SETTLE_MS - (performance.now() - since.get(q.id)!)));
    }
    return b;
  });
  const reason = q.reason && visible(q.reason, true);
  const element = card(
    title,
    q.danger === 'dangerous' && h('div', { class: 'danger', role: 'note' }, icon('warning'), reason || 'This can do damage.'),
    q.danger !== 'dangerous' && reason && q.diffs.length === 0 ? h('div', { class: 'reason' }, reason) : undefined,
    ...(q.command === undefined ? [] : command(q.command, q.cwd)),
    q.command === undefined && q.diffs.length === 0 ? h('div', { class: 'reason' }, visible(t.title, false)) : undefined,
    ...q.diffs.flatMap((d) =>
      diffPart(d, q.diffs.length > 1 ? d.path : undefined, () => post({ type: 'proposal', id: q.id, path: d.path || undefined })),
    ),
    hidden && h('div', { class: 'reason', role: 'note' }, 'This change is too large to show all of it here. It can be allowed once it was opened.'),
    q.rule ? h('div', { class: 'reason' }, '“Always” means ', h('code', null, visible(q.rule, false))) : undefined,
    h('div', { class: 'buttons' }, ...options, h('span', { class: 'keys' }, 'Ctrl+Enter allows')),
  );
  element.dataset.question = String(q.id);
  return element;
}

/** All of a command, each line behind a margin, so that none can pass for a part of the chat; and how much it is, and where. */
function command(text: string, cwd: string | undefined): Node[] {
  const lines = visibleLines(text);
  const bytes = new TextEncoder().encode(text).length;
  const size = `${lines.length === 1 ? '1 line' : `${lines.length} lines`}, ${bytes === 1 ? '1 byte' : `${bytes} bytes`}`;
  const scrolls = lines.length > 40 ? ', scroll to see all of them' : '';
  return [
    h(
      'pre',
      { class: 'command whole', tabindex: 0, 'aria-label': 'The whole command' },
      ...lines.map((line) => h('span', { class: 'line' }, line || ' ')),
    ),
    h('div', { class: 'reason about' }, `${size}${scrolls}`, cwd ? `, in ${visible(cwd, false)}` : ''),
  ];
}

function clarification(q: Clarification): HTMLElement {
  const send = (text: string) => post({ type: 'answer', id: q.id, text });
  const input = h('input', {
    type: 'text',
    placeholder: q.options.length > 0 ? 'Or answer in your own words' : 'Your answer',
    'aria-label': q.question,
    value: q.options.length > 0 ? undefined : q.defaultAnswer,
  });
  return card(
    q.question,
    q.options.length > 0 &&
      h(
        'div',
        { class: 'buttons' },
        ...q.options.map((o) =>
          button(o.label, () => send(o.id), { class: o.id === q.defaultAnswer ? 'primary' : 'secondary' }),
        ),
      ),
    h(
      'form',
      {
        class: 'own',
        onsubmit: (e) => {
          e.preventDefault();
          if (input.value.trim()) {
            send(input.value.trim());
          }
        },
      },
      input,
      h('button', { type: 'submit', class: 'secondary' }, 'Send'),
    ),
  );
}

function card(title: string, ...children: Child[]): HTMLElement {
  return h(
    'div',
    { class: 'card', role: 'group', 'aria-label': title, tabindex: -1 },
    h('div', { class: 'card-title' }, icon('question'), title),
    ...children,
  );
}
