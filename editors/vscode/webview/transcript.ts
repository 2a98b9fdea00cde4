// The conversation as rows. Each row is drawn again only when what it shows is another object than before.

import type { Setup } from '../src/chat/messages.ts';
import { type Conversation, type Ending, type Item, type Message, type Row, type ToolCall, rows, shown } from '../src/chat/state.ts';
import { ending } from '../src/protocol.ts';
import { type Child, button, h, icon } from './dom.ts';
import { post } from './host.ts';
import { Markdown } from './markdown.ts';
import { ToolView, baseName, statusOf } from './tool.ts';

interface View {
  element: HTMLElement;
  update(row: Row): void;
}

export class Transcript {
  readonly element = h('div', { class: 'rows', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation' });
  private readonly views = new Map<string, { view: View; drawn: Item | readonly ToolCall[] }>();
  private readonly tools = new Map<string, ToolView>();

  constructor(private readonly setup: () => Setup) {}

  update(c: Conversation): void {
    const wanted = rows(shown(c));
    const keys = new Set(wanted.map((r) => r.key));
    for (const [key, { view }] of this.views) {
      if (!keys.has(key)) {
        view.element.remove();
        this.views.delete(key);
      }
    }
    let before: Element | null = null;
    for (const row of wanted) {
      const what = 'item' in row ? row.item : row.group;
      let entry = this.views.get(row.key);
      if (!entry) {
        entry = { view: this.make(row), drawn: what };
        this.views.set(row.key, entry);
        entry.view.update(row);
      } else if (!same(entry.drawn, what)) {
        entry.drawn = what;
        entry.view.update(row);
      }
      const at: Element | null = before ? before.nextElementSibling : this.element.firstElementChild;
      if (at !== entry.view.element) {
        this.element.insertBefore(entry.view.element, at);
      }
      before = entry.view.element;
    }
    if (c.items.length === 0) {
      this.tools.clear();
    }
  }

  private make(row: Row): View {
    if ('group' in row) {
      return this.group();
    }
    switch (row.item.type) {
      case 'message':
        return row.item.role === 'user' ? user() : agent();
      case 'thought':
        return thought();
      case 'tool': {
        const tool = this.tool(row.item.id);
        return {
          element: h('div', { class: 'row' }, tool.element),
          update: (r) => 'item' in r && tool.update(r.item as ToolCall),
        };
      }
      case 'notice':
        return plain((r) => {
          const n = itemOf<Extract<Item, { type: 'notice' }>>(r);
          return h('div', { class: 'notice' }, icon('info'), h('span', null, n.text));
        });
      case 'ending':
        return plain((r) => endingView(itemOf<Ending>(r)));
    }
  }

  /** The view of a call, which stays the same when the call moves into a group. */
  private tool(id: string): ToolView {
    let view = this.tools.get(id);
    if (!view) {
      view = new ToolView(this.setup);
      this.tools.set(id, view);
    }
    return view;
  }

  private group(): View {
    const list = h('div', { class: 'group-body' });
    const summary = h('summary');
    const element = h('details', { class: 'group' }, summary, list);
    const shown = new Map<string, ToolCall>();
    return {
      element: h('div', { class: 'row' }, element),
      update: (row) => {
        const calls = 'group' in row ? row.group : [];
        summary.replaceChildren(...groupTitle(calls));
        for (const call of calls) {
          const view = this.tool(call.id);
          if (shown.get(call.id) !== call || view.element.parentNode !== list) {
            shown.set(call.id, call);
            view.update(call);
            list.append(view.element);
          }
        }
      },
    };
  }
}

function same(a: Item | readonly ToolCall[], b: Item | readonly ToolCall[]): boolean {
  return Array.isArray(a) && Array.isArray(b) ? a.length === b.length && a.every((x, i) => x === b[i]) : a === b;
}

function itemOf<T extends Item>(row: Row): T {
  return (row as { key: string; item: Item }).item as T;
}

function plain(draw: (row: Row) => Node): View {
  const element = h('div', { class: 'row' });
  return { element, update: (row) => element.replaceChildren(draw(row)) };
}

function user(): View {
  return plain((row) => {
    const m = itemOf<Message>(row);
    return h(
      'div',
      { class: m.waiting ? 'user waiting' : 'user', title: m.waiting ? 'Sent with the next request' : undefined },
      h('h2', { class: 'hidden' }, 'You'),
      h('div', { class: 'bubble' }, m.text),
      m.attached?.length ? h('div', { class: 'attached' }, ...m.attached.map((a) => h('span', null, icon('file'), a))) : undefined,
    );
  });
}

function agent(): View {
  const text = new Markdown();
  const element = h('div', { class: 'row agent' }, h('h2', { class: 'hidden' }, 'Tandem'), text.element);
  return {
    element,
    update: (row) => {
      const m = itemOf<Message>(row);
      element.classList.toggle('streaming', m.open);
      text.update(m.text, m.open);
    },
  };
}

function thought(): View {
  const text = new Markdown();
  const summary = h('summary');
  const details = h('details', { class: 'thought' }, summary, text.element);
  return {
    element: h('div', { class: 'row' }, details),
    update: (row) => {
      const t = itemOf<Extract<Item, { type: 'thought' }>>(row);
      summary.replaceChildren(icon('thinking'), t.open ? 'Thinking…' : 'Thought', icon('chevron-right'));
      details.classList.toggle('streaming', t.open);
      text.update(t.text, t.open);
    },
  };
}

function groupTitle(calls: readonly ToolCall[]): Child[] & (Node | string)[] {
  const running = calls.some((c) => ['running', 'queued'].includes(statusOf(c)));
  const failed = calls.filter((c) => c.status === 'failed').length;
  const read = calls.filter((c) => c.kind === 'read');
  const files = new Set(read.map((c) => c.locations[0]?.path ?? c.title)).size;
  const searches = calls.filter((c) => c.kind === 'search').length;
  const parts: string[] = [];
  if (read.length > 0) {
    parts.push(`${running ? 'reading' : 'read'} ${files === 1 ? '1 file' : `${files} files`}`);
  }
  if (searches > 0) {
    parts.push(`${running ? 'searching' : 'searched'} ${searches === 1 ? 'once' : `${searches} times`}`);
  }
  if (calls.length > read.length + searches) {
    parts.push(`${calls.length - read.length - searches} other calls`);
  }
  const text = parts.join(', ');
  const names = [...new Set(read.flatMap((c) => c.locations.slice(0, 1).map((l) => baseName(l.path))))];
  return [
    icon(running ? 'spinner' : 'search'),
    h('span', { class: 'what' }, text.charAt(0).toUpperCase() + text.slice(1)),
    h('span', { class: 'detail' }, names.slice(0, 3).join(', ') + (names.length > 3 ? ', …' : '')),
    failed > 0 ? h('span', { class: 'state' }, `${failed} failed`) : '',
    icon('chevron-right'),
  ];
}

function endingView(e: Ending): Node {
  if (e.reason === 'cancelled') {
    return h('div', { class: 'notice' }, icon('circle-slash'), h('span', null, ending(e.reason)));
  }
  const steps: Child[] = [];
  const act = (label: string, what: 'setApiKey' | 'openSettings' | 'showLog' | 'retry', query?: string, first = false) =>
    button(label, () => post({ type: 'do', what, query }), { class: first ? 'primary' : 'secondary' });
  switch (e.reason) {
    case 'max_tokens':
      steps.push(button('Continue', () => post({ type: 'ask', text: 'Continue.' }), { class: 'primary' }));
      break;
    case 'max_turn_requests':
      steps.push(button('Continue', () => post({ type: 'ask', text: 'Continue.' }), { class: 'primary' }));
      steps.push(act('Change the Limit', 'openSettings', 'tandem.budget'));
      break;
    case 'budget_exceeded':
      steps.push(act('Change the Budget', 'openSettings', 'tandem.budget', true));
      break;
    case 'error':
      if (e.code === 'model_unavailable' || /\b(401|403|api key|unauthori[sz]ed)\b/i.test(e.message ?? '')) {
        steps.push(act('Set API Key…', 'setApiKey', undefined, true), act('Choose a Model', 'openSettings', 'tandem.model'));
      } else {
        steps.push(act('Try Again', 'retry', undefined, true), act('Show Log', 'showLog'));
      }
      break;
    case 'lost':
      steps.push(act('Show Log', 'showLog'));
  }
  return h(
    'div',
    { class: `ending ${e.reason === 'error' || e.reason === 'lost' ? 'bad' : ''}`, role: 'alert' },
    h('div', { class: 'ending-text' }, icon(e.reason === 'error' || e.reason === 'lost' ? 'error' : 'warning'), h('span', null, e.message || ending(e.reason))),
    steps.length > 0 ? h('div', { class: 'buttons' }, ...steps) : undefined,
  );
}
