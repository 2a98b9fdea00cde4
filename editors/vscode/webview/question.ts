// The question of a tool call: what exactly would happen, and the answers that are on offer.

import type { Clarification, Permission, ToolCall } from '../src/chat/state.ts';
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

function permission(t: ToolCall, q: Permission): HTMLElement {
  const title = heading(t, q);
  const options = q.options.map((o, i) => {
    const key = i === 0 ? 'Ctrl+Enter' : o.kind === 'reject_once' ? 'Ctrl+Backspace' : undefined;
    return button(o.name, () => post({ type: 'answer', id: q.id, optionId: o.optionId }), {
      class: i === 0 ? 'primary' : 'secondary',
      'data-kind': o.kind,
      title: key ? `${o.name} (${key})` : o.name,
    });
  });
  return card(
    title,
    q.danger === 'dangerous' && h('div', { class: 'danger', role: 'note' }, icon('warning'), q.reason || 'This can do damage.'),
    q.danger !== 'dangerous' && q.reason && q.diffs.length === 0 ? h('div', { class: 'reason' }, q.reason) : undefined,
    q.command === undefined ? undefined : h('pre', { class: 'command', tabindex: 0 }, h('code', null, q.command)),
    q.command === undefined && q.diffs.length === 0 ? h('div', { class: 'reason' }, t.title) : undefined,
    ...q.diffs.flatMap((d) => diffPart(d, q.diffs.length > 1 ? d.path : undefined)),
    q.rule ? h('div', { class: 'reason' }, '“Always” means ', h('code', null, q.rule)) : undefined,
    h('div', { class: 'buttons' }, ...options, h('span', { class: 'keys' }, 'Ctrl+Enter allows')),
  );
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
