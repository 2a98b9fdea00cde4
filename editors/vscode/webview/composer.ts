// Where a prompt is written: several lines, a history, suggestions after @ and /, the mode, the model and the context.

import type { Context, Setup } from '../src/chat/messages.ts';
import { type Choice, type Conversation, total, waiting } from '../src/chat/state.ts';
import type { Cost, MentionItem } from '../src/chat/wire.ts';
import { h, icon, iconButton } from './dom.ts';
import { draft, post } from './host.ts';

const MOST_HISTORY = 100;
/** So long after the last change a prompt that is empty now is still being written. */
export const WRITING_MS = 300;

export class Composer {
  private readonly input = h('textarea', {
    rows: 1,
    'aria-label': 'Ask Tandem',
    'aria-autocomplete': 'list',
    'aria-controls': 'suggestions',
    oninput: () => this.changed(),
    onkeydown: (e) => this.key(e as KeyboardEvent),
    onblur: () => this.suggest([]),
  });
  private readonly chips = h('div', { class: 'chips' });
  private readonly list = h('ul', { class: 'suggestions', id: 'suggestions', role: 'listbox', hidden: true });
  private readonly mode = this.picker('Mode', (id) => post({ type: 'mode', id }));
  private readonly model = this.picker('Model', (id) => post({ type: 'model', id }));
  private readonly send = iconButton('send', 'Send (Enter)', () => this.submit());
  private readonly stop = iconButton('stop', 'Stop (Escape)', () => post({ type: 'stop' }), { class: 'bare stop' });
  private readonly usage = h('span', { class: 'usage' });
  readonly element = h(
    'form',
    { class: 'composer', onsubmit: (e) => e.preventDefault() },
    this.list,
    h(
      'div',
      { class: 'box', onclick: (e) => e.target === e.currentTarget && this.input.focus() },
      this.chips,
      this.input,
      h(
        'div',
        { class: 'tools' },
        this.mode.element,
        this.model.element,
        h('span', { class: 'space' }),
        this.usage,
        this.stop,
        this.send,
      ),
    ),
  );

  private history: string[] = [];
  private at = 0;
  private unsent = '';
  private setup?: Setup;
  private commands: Conversation['commands'] = [];
  private attached = false;
  private items: { label: string; detail: string; insert: string }[] = [];
  private chosen = 0;
  private request = 0;
  private written = -Infinity;

  constructor() {
    this.input.value = draft.get();
  }

  update(c: Conversation, setup: Setup): void {
    this.setup = setup;
    this.commands = c.commands;
    const usable = setup.backend === 'running' && c.session !== undefined;
    this.input.placeholder = usable ? hint(c, setup) : comes(setup) ? 'Tandem is starting' : 'Tandem is not running';
    this.mode.update(c.modes, c.mode, !usable);
    this.model.update(c.models, c.model, !usable || c.running);
    this.stop.hidden = !c.running;
    this.send.hidden = c.running && !setup.can.steer;
    const used = total(c.usage);
    const cost = c.cost ? ` · ${money(c.cost)}` : '';
    this.usage.textContent = used + c.before > 0 ? `${short(used + c.before)} tokens${cost}` : '';
    this.usage.title = c.usage
      ? `This turn: ${c.usage.inputTokens ?? 0} in${c.usage.cachedInputTokens ? ` (${c.usage.cachedInputTokens} from the cache)` : ''}, ${c.usage.outputTokens ?? 0} out${c.usage.cost ? `, ${money(c.usage.cost)}` : ''}. Before: ${c.before}.`
      : '';
    this.drawChips(setup.context);
    this.enable();
  }

  recall(history: string[]): void {
    this.history = history.slice(-MOST_HISTORY);
    this.at = this.history.length;
  }

  focus(): void {
    this.input.focus();
  }

  get empty(): boolean {
    return this.input.value === '';
  }

  get focused(): boolean {
    return document.activeElement === this.input;
  }

  /** Whether a prompt is being written: there are words, or were a moment ago. */
  get writing(): boolean {
    return !this.empty || performance.now() - this.written < WRITING_MS;
  }

  fill(text: string): void {
    this.input.value = text;
    this.changed();
    this.input.focus();
    this.input.setSelectionRange(text.length, text.length);
  }

  mentions(request: number, items: MentionItem[]): void {
    if (request === this.request) {
      this.suggest(items.map((i) => ({ label: i.label, detail: i.kind, insert: i.insert })));
    }
  }

  /** Fits the box to its text. */
  layout(): void {
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 240)}px`;
  }

  private submit(): void {
    const text = this.input.value.trim();
    if (!text || this.send.hidden || this.send.disabled) {
      return;
    }
    const context = this.attached ? this.setup?.context : undefined;
    post({ type: 'ask', text, context });
    this.history = [...this.history.filter((x) => x !== text), text].slice(-MOST_HISTORY);
    this.at = this.history.length;
    this.attached = false;
    this.drawChips(this.setup?.context);
    this.fill('');
  }

  private changed(): void {
    this.written = performance.now();
    draft.set(this.input.value);
    this.layout();
    this.enable();
    this.complete();
  }

  private enable(): void {
    const usable = this.setup !== undefined && comes(this.setup);
    this.send.disabled = !usable || !this.input.value.trim();
  }

  private key(e: KeyboardEvent): void {
    if (e.isComposing) {
      return;
    }
    if (this.items.length > 0 && this.suggestionKey(e)) {
      e.preventDefault();
      e.stopPropagation();
      return;
    }
    const { selectionStart: from, selectionEnd: to, value } = this.input;
    if (e.key === 'Enter' && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      e.preventDefault();
      this.submit();
    } else if (e.key === 'ArrowUp' && from === to && !value.slice(0, from).includes('\n') && this.at > 0) {
      e.preventDefault();
      if (this.at === this.history.length) {
        this.unsent = value;
      }
      this.fill(this.history[--this.at] ?? '');
    } else if (e.key === 'ArrowDown' && from === to && !value.slice(from).includes('\n') && this.at < this.history.length) {
      e.preventDefault();
      this.at++;
      this.fill(this.at === this.history.length ? this.unsent : (this.history[this.at] ?? ''));
    }
  }

  /** Asks for what fits the word at the caret. */
  private complete(): void {
    const before = this.input.value.slice(0, this.input.selectionStart);
    const mention = /(?:^|\s)@(\S*)$/.exec(before);
    const command = /^\/(\S*)$/.exec(before);
    this.request++;
    if (mention && this.setup?.can.mentions) {
      post({ type: 'mentions', request: this.request, prefix: mention[1] ?? '' });
    } else if (command) {
      const fitting = this.commands.filter((c) => c.name.startsWith(command[1] ?? ''));
      this.suggest(
        fitting.map((c) => ({ label: `/${c.name} ${c.input?.hint ?? ''}`.trim(), detail: c.description ?? '', insert: `/${c.name}` })),
      );
    } else {
      this.suggest([]);
    }
  }

  private suggest(items: typeof this.items): void {
    this.items = items.slice(0, 12);
    this.chosen = 0;
    this.list.hidden = this.items.length === 0;
    this.list.replaceChildren(
      ...this.items.map((item, i) =>
        h(
          'li',
          {
            role: 'option',
            id: `suggestion-${i}`,
            onmousedown: (e) => {
              e.preventDefault();
              this.take(i);
            },
          },
          h('span', null, item.label),
          h('span', { class: 'detail' }, item.detail),
        ),
      ),
    );
    this.choose(0);
  }

  private choose(i: number): void {
    this.chosen = i;
    [...this.list.children].forEach((li, at) => li.setAttribute('aria-selected', String(at === i)));
    if (this.items.length > 0) {
      this.input.setAttribute('aria-activedescendant', `suggestion-${i}`);
      this.list.children[i]?.scrollIntoView({ block: 'nearest' });
    } else {
      this.input.removeAttribute('aria-activedescendant');
    }
  }

  private suggestionKey(e: KeyboardEvent): boolean {
    const n = this.items.length;
    switch (e.key) {
      case 'ArrowDown':
        this.choose((this.chosen + 1) % n);
        return true;
      case 'ArrowUp':
        this.choose((this.chosen + n - 1) % n);
        return true;
      case 'Enter':
      case 'Tab':
        this.take(this.chosen);
        return true;
      case 'Escape':
        this.suggest([]);
        return true;
    }
    return false;
  }

  private take(i: number): void {
    const item = this.items[i];
    if (!item) {
      return;
    }
    const caret = this.input.selectionStart;
    const before = this.input.value.slice(0, caret).replace(/[@/]\S*$/, `${item.insert} `);
    this.input.value = before + this.input.value.slice(caret);
    this.input.setSelectionRange(before.length, before.length);
    draft.set(this.input.value);
    this.layout();
    this.enable();
    this.suggest([]);
  }

  /** The open file: one press attaches it to the prompt, another takes it away. */
  private drawChips(context: Context | undefined): void {
    if (!context) {
      this.attached = this.attached && context !== undefined;
      this.chips.replaceChildren();
      return;
    }
    this.chips.replaceChildren(
      h(
        'button',
        {
          type: 'button',
          class: this.attached ? 'chip on' : 'chip',
          'aria-pressed': String(this.attached),
          title: this.attached ? 'Attached to the prompt' : 'Attach to the prompt',
          onclick: () => {
            this.attached = !this.attached;
            this.drawChips(context);
          },
        },
        icon(this.attached ? 'file' : 'add'),
        context.label,
      ),
    );
  }

  private picker(name: string, pick: (id: string) => void) {
    const select = h('select', { 'aria-label': name, title: name, onchange: () => pick(select.value) });
    const element = h('label', { class: 'picker' }, select, icon('chevron-down'));
    let drawn = '';
    return {
      element,
      update: (choices: readonly Choice[], current: string | undefined, disabled: boolean) => {
        const all = current && !choices.some((c) => c.id === current) ? [...choices, { id: current, name: current }] : choices;
        const now = JSON.stringify([all, current]);
        element.hidden = all.length === 0;
        select.disabled = disabled;
        if (now !== drawn) {
          drawn = now;
          select.replaceChildren(...all.map((c) => h('option', { value: c.id, selected: c.id === current }, c.name)));
          select.value = current ?? '';
        }
      },
    };
  }
}

/** Whether the server runs or will: what is asked meanwhile waits for it. */
function comes(setup: Setup): boolean {
  return setup.backend !== 'failed' && setup.backend !== 'missing' && setup.refused === undefined;
}

function hint(c: Conversation, setup: Setup): string {
  if (waiting(c).length > 0) {
    return 'Tandem waits for your answer';
  }
  if (c.running) {
    return setup.can.steer ? 'Add a message while it works' : 'Tandem is working. Escape stops it.';
  }
  return setup.can.mentions ? 'Ask Tandem, @ names files and symbols' : 'Ask Tandem';
}

function money({ amount, currency }: Cost): string {
  const digits = amount >= 1 ? 2 : amount >= 0.01 ? 3 : 4;
  return currency === 'USD' ? `$${amount.toFixed(digits)}` : `${amount.toFixed(digits)} ${currency}`;
}

function short(n: number): string {
  return n < 1000 ? String(n) : n < 1e6 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)}k` : `${(n / 1e6).toFixed(1)}M`;
}
