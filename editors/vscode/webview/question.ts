// The question of a tool call: what exactly would happen, and the answers that are on offer.

import type { Clarification, Permission, ToolCall } from '../src/chat/state.ts';
import { visible, visibleLines } from '../src/chat/visible.ts';
import { unseen } from './allow.ts';
import { renew, watch } from './answers.ts';
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
    const focused = this.element.contains(document.activeElement);
    const open = q !== undefined && !q.answer;
    this.drawn = q;
    this.element.hidden = !q;
    this.element.className = open ? 'question open' : 'question';
    if (!q) {
      this.element.replaceChildren();
    } else if (q.answer) {
      this.element.replaceChildren(h('div', { class: 'answered' }, ...answered(q)));
    } else {
      const card = q.type === 'permission' ? permission(t, q) : clarification(q);
      this.element.replaceChildren(card);
      if (focused) {
        card.focus({ preventScroll: true });
      }
    }
    if (!open) {
      renew();
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

/** The keys that press the buttons of a question. */
const KEYS: Record<string, string> = { allow_once: 'Ctrl+Enter', reject_once: 'Ctrl+Backspace' };

function permission(t: ToolCall, q: Permission): HTMLElement {
  const title = heading(t, q);
  const hidden = unseen(q);
  const options = q.options.map((o, i) => {
    const key = KEYS[o.kind];
    const allows = !o.kind.startsWith('reject');
    return button(o.name, () => post({ type: 'answer', id: q.id, optionId: o.optionId }), {
      class: i === 0 ? 'primary' : 'secondary',
      'data-kind': o.kind,
      'data-answer': !allows ? 'any' : hidden ? 'never' : 'allow',
      disabled: true,
      title: hidden && allows ? 'Open the whole change first' : key ? `${o.name} (${key})` : o.name,
    });
  });
  const reason = q.reason && visible(q.reason, true);
  return card(
    q.id,
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
    h('div', { class: 'buttons' }, ...options, !hidden && h('span', { class: 'keys' })),
  );
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
    q.id,
    q.question,
    q.options.length > 0 &&
      h(
        'div',
        { class: 'buttons' },
        ...q.options.map((o) =>
          button(o.label, () => send(o.id), {
            class: o.id === q.defaultAnswer ? 'primary' : 'secondary',
            'data-answer': 'any',
            disabled: true,
          }),
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
      h('button', { type: 'submit', class: 'secondary', 'data-answer': 'any', disabled: true }, 'Send'),
    ),
  );
}

function card(id: number, title: string, ...children: Child[]): HTMLElement {
  return watch(
    h(
      'div',
      { class: 'card', role: 'group', 'aria-label': title, 'data-question': String(id), tabindex: -1 },
      h('div', { class: 'card-title' }, icon('question'), title),
      ...children,
    ),
  );
}
