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

  update(t: ToolCall, home?: string): void {
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
      const card = q.type === 'permission' ? permission(t, q, home) : clarification(q);
      const back = kept(this.element, card);
      this.element.replaceChildren(card);
      if (focused) {
        (back ?? card).focus({ preventScroll: true });
      }
    }
    if (!open) {
      renew();
    }
  }
}

/** Takes over into a card that is drawn anew what is unfolded in the old one and what was written there; gives the field that had the keyboard. */
function kept(old: HTMLElement, card: HTMLElement): HTMLElement | undefined {
  let back: HTMLElement | undefined;
  for (const part of old.querySelectorAll<HTMLDetailsElement>('.card details[open]')) {
    const now = card.querySelector<HTMLDetailsElement>(`details.${part.className}`);
    const [was, is] = [part.querySelector('input'), now?.querySelector('input')];
    if (now) {
      now.open = true;
    }
    if (was && is) {
      is.value = was.value;
      back = was === document.activeElement ? is : back;
    }
  }
  return back;
}

function answered(q: Permission | Clarification): Child[] {
  const a = q.answer;
  if (a === undefined || a === 'withdrawn') {
    return [icon('circle-slash'), 'No longer needs an answer'];
  }
  if ('by' in a) {
    return [icon('check'), a.by === 'rule' ? 'Your answer to another question covers this one' : `Answered in ${visible(a.by, false)}`];
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

function permission(t: ToolCall, q: Permission, home: string | undefined): HTMLElement {
  const title = heading(t, q);
  const hidden = unseen(q);
  const options = q.options.map((o, i) => {
    const key = KEYS[o.kind];
    const allows = !o.kind.startsWith('reject');
    const [what, rule] = split(o.name);
    const answer = button(what, () => post({ type: 'answer', id: q.id, optionId: o.optionId }), {
      class: i === 0 ? 'primary' : 'secondary',
      'data-kind': o.kind,
      'data-option': o.optionId,
      'data-answer': !allows ? 'any' : hidden ? 'never' : 'allow',
      disabled: true,
      title: hidden && allows ? 'Open the whole change first' : key ? `${o.name} (${key})` : o.name,
    });
    answer.append(...(rule ? [' ', h('code', null, rule)] : []));
    return answer;
  });
  // What is answered most stands in sight; the rest is a list, in which each answer has a row.
  const first = options.filter((o) => KEYS[o.dataset.kind ?? '']);
  const others = options.filter((o) => !first.includes(o));
  const no = q.options.find((o) => o.kind === 'reject_once');
  const reason = q.reason && visible(q.reason, true);
  return card(
    q.id,
    title,
    q.danger === 'dangerous' && h('div', { class: 'danger', role: 'note' }, icon('warning'), reason || 'This can do damage.'),
    q.danger !== 'dangerous' && reason && q.diffs.length === 0 ? h('div', { class: 'reason' }, reason) : undefined,
    ...(q.command === undefined ? [] : command(q.command, q.cwd, home)),
    q.command === undefined && q.diffs.length === 0 ? h('div', { class: 'reason' }, visible(t.title, false)) : undefined,
    ...q.diffs.flatMap((d) =>
      diffPart(d, q.diffs.length > 1 ? d.path : undefined, () => post({ type: 'proposal', id: q.id, path: d.path || undefined })),
    ),
    hidden && h('div', { class: 'reason', role: 'note' }, 'This change is too large to show here. Open it to allow it.'),
    h('div', { class: 'buttons' }, ...first, !hidden && h('span', { class: 'keys' })),
    no && folded('why', `${no.name}, and say why`, why(q.id, no.optionId)),
    others.length > 0 && folded('more', `More answers (${others.length})`, h('div', { class: 'answers' }, ...others)),
  );
}

/** A path with ~ for the home folder. */
function tilde(path: string, home: string | undefined): string {
  return home && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path;
}

/** The name of an answer without the rule that it makes, and that rule. */
function split(name: string): [string, string?] {
  const at = name.indexOf(': ');
  return at < 0 ? [name] : [name.slice(0, at + 1), visible(name.slice(at + 2), false)];
}

/** A part of a card that is unfolded when it is wanted, and comes into sight then. */
function folded(name: string, title: string, content: HTMLElement): HTMLElement {
  const part: HTMLDetailsElement = h('details', { class: name }, h('summary', null, icon('chevron-right'), title), content);
  part.addEventListener('toggle', () => {
    if (part.open && part.isConnected) {
      part.scrollIntoView({ block: 'nearest' });
      part.querySelector('input')?.focus({ preventScroll: true });
    }
  });
  return part;
}

/** Words that go with a refusal, for the model. */
function why(id: number, optionId: string): HTMLElement {
  const input = h('input', { type: 'text', maxlength: 4000, placeholder: 'What to do instead', 'aria-label': 'Why it is rejected, for the agent' });
  input.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') {
      e.preventDefault(); // it ends the writing, and not the turn
      input.closest<HTMLElement>('.card')?.focus({ preventScroll: true });
      input.closest('details')!.open = false;
    }
  });
  return words(input, (text) => post({ type: 'answer', id, optionId, text }));
}

/** A field for words of one's own, with its button. Without a word nothing is sent. */
function words(input: HTMLInputElement, send: (text: string) => void): HTMLElement {
  return h(
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
  );
}

/** All of a command, each line behind a margin, so that none can pass for a part of the chat; its size if it has several lines, and its folder. */
function command(text: string, cwd: string | undefined, home: string | undefined): Node[] {
  const lines = visibleLines(text);
  const size = `${lines.length} lines, ${new TextEncoder().encode(text).length} bytes`;
  const scrolls = lines.length > 40 ? ', scroll to see all of them' : '';
  const about = [lines.length > 1 ? size + scrolls : '', cwd ? `in ${visible(tilde(cwd, home), false)}` : ''];
  return [
    h(
      'pre',
      { class: 'command whole', tabindex: 0, 'aria-label': 'The whole command' },
      ...lines.map((line) => h('span', { class: 'line' }, line || ' ')),
    ),
    h('div', { class: 'reason about' }, about.filter(Boolean).join(', ')),
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
    words(input, send),
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
