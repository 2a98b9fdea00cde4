// The page of the chat: takes the news of the conversation in, draws once a frame, and keeps the end in sight.

import type { Setup, ToPage } from '../src/chat/messages.ts';
import { type Conversation, empty, reduce, waiting } from '../src/chat/state.ts';
import { fate } from '../src/hunks.ts';
import { press } from './answers.ts';
import { Composer, WRITING_MS } from './composer.ts';
import { button, h, icon } from './dom.ts';
import { post, windowSession } from './host.ts';
import { relative } from './tool.ts';
import { Transcript } from './transcript.ts';
import { welcome } from './welcome.ts';

let state: Conversation = empty;
let setup: Setup = { backend: 'starting', trusted: true, can: { mentions: false, steer: false, review: false } };

// Before the extension says which session it shows.
const before = windowSession.get();

const composer = new Composer();
const transcript = new Transcript(() => setup);
const welcomePage = h('div', { class: 'welcome-page' });
const working = h('div', { class: 'working', hidden: true }, icon('spinner'), h('span', null, 'Working…'));
const scroller = h('main', { class: 'scroller', tabindex: -1 }, welcomePage, transcript.element, working);
const latest = button('Latest', () => follow(true), { class: 'latest', hidden: true });
latest.prepend(icon('arrow-down'));
const plan = h('details', { class: 'plan', hidden: true });
const changes = h('div', { class: 'changes', hidden: true });
const bar = h('div', { class: 'bar', 'aria-hidden': 'true' });
const live = h('div', { class: 'hidden', role: 'status', 'aria-live': 'polite' });

document.body.append(
  h('div', { class: 'stage' }, scroller, latest),
  h('footer', null, bar, plan, changes, composer.element),
  live,
);
composer.layout();

// The end stays in sight until the person scrolls away from it. Rows get their true height only when they come into
// sight, so the end moves without anybody's doing: only a way upwards is the person's.
let sticking = true;
let lastTop = 0;
scroller.addEventListener('scroll', () => {
  const atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 32;
  if (atEnd) {
    sticking = true;
  } else if (scroller.scrollTop < lastTop) {
    sticking = false;
  }
  lastTop = scroller.scrollTop;
  latest.hidden = sticking;
});
const sizes = new ResizeObserver(() => follow(false));
sizes.observe(scroller);
sizes.observe(transcript.element);

function follow(force: boolean): void {
  if (force) {
    sticking = true;
  }
  if (sticking) {
    scroller.scrollTop = scroller.scrollHeight;
  }
}

let frame = 0;
let drawn: { state?: Conversation; setup?: Setup } = {};

function soon(): void {
  if (frame === 0) {
    frame = requestAnimationFrame(draw);
  }
}

function draw(): void {
  frame = 0;
  const before = drawn.state;
  const fresh = state.items.length === 0;
  const blocked = setup.backend === 'failed' || setup.backend === 'missing' || (setup.refused !== undefined && fresh);
  if (before?.items !== state.items || drawn.setup !== setup) {
    transcript.update(state);
  }
  if (fresh && (before?.model !== state.model || !before || before.items.length > 0 || drawn.setup !== setup)) {
    welcomePage.replaceChildren(welcome(state, setup, (text) => composer.fill(text)));
  }
  welcomePage.hidden = !fresh;
  const last = state.items.at(-1);
  const streaming = (last?.type === 'message' && last.role === 'agent' && last.open) || (last?.type === 'thought' && last.open);
  const asked = waiting(state).length > 0;
  working.hidden = !state.running || streaming || asked || (last?.type === 'tool' && last.status === 'in_progress');
  bar.classList.toggle('on', (state.running && !asked) || setup.backend === 'starting');
  composer.update(state, setup);
  composer.element.classList.toggle('blocked', blocked);
  if (before?.plan !== state.plan) {
    drawPlan();
  }
  if (before?.changes !== state.changes || drawn.setup?.can !== setup.can || before?.running !== state.running) {
    drawChanges();
  }
  mark();
  announce(before ?? empty, state);
  drawn = { state, setup };
  follow(before !== undefined && last?.type === 'message' && last.role === 'user' && before.items.at(-1) !== last);
}

function drawPlan(): void {
  plan.hidden = state.plan.length === 0;
  const done = state.plan.filter((p) => p.status === 'completed').length;
  const icons: Record<string, string> = { completed: 'check', in_progress: 'spinner' };
  plan.replaceChildren(
    h('summary', null, icon('checklist'), `Plan: ${done} of ${state.plan.length} done`, icon('chevron-right')),
    h('ol', null, ...state.plan.map((p) => h('li', { class: p.status }, icon(icons[p.status ?? ''] ?? 'circle'), p.content))),
  );
}

/** The files that have changes which nobody has judged yet. */
function drawChanges(): void {
  const files = state.changes.filter((f) => f.hunks.some((x) => x.status === 'pending' || x.status === 'conflict'));
  changes.hidden = files.length === 0;
  if (files.length === 0) {
    changes.replaceChildren();
    return;
  }
  const open = changes.querySelector('details')?.open ?? false;
  const plus = files.reduce((n, f) => n + f.additions, 0);
  const minus = files.reduce((n, f) => n + f.deletions, 0);
  const judge = (uri?: string) =>
    setup.can.review
      ? [
          // A question has buttons of these names; here they say what they are about.
          button(uri ? 'Accept file' : 'Accept all', () => post({ type: 'accept', uri }), { class: 'primary small' }),
          button(uri ? 'Reject file' : 'Reject all', () => post({ type: 'reject', uri }), { class: 'secondary small' }),
        ]
      : [];
  const path = (uri: string) => relative(decodeURIComponent(new URL(uri).pathname), setup.folder);
  changes.replaceChildren(
    h(
      'details',
      { open },
      h(
        'summary',
        null,
        icon('chevron-right'),
        h('span', { class: 'what' }, `${files.length === 1 ? '1 file' : `${files.length} files`} changed`),
        h('span', { class: 'counts' }, h('span', { class: 'plus' }, `+${plus}`), ' ', h('span', { class: 'minus' }, `−${minus}`)),
      ),
      h(
        'ul',
        null,
        ...files.map((f) =>
          h(
            'li',
            null,
            h('button', { type: 'button', class: 'link file', title: 'Open the diff', onclick: () => post({ type: 'diff', path: f.uri }) }, path(f.uri)),
            h('span', { class: 'fate' }, fate(f, path)),
            h('span', { class: 'counts' }, h('span', { class: 'plus' }, `+${f.additions}`), ' ', h('span', { class: 'minus' }, `−${f.deletions}`)),
            ...(files.length > 1 ? judge(f.uri) : []),
          ),
        ),
      ),
    ),
    h('div', { class: 'judge' }, ...judge()),
  );
}

/** Tells a screen reader what happened: turns, questions and finished answers, not every word on its way. */
function announce(before: Conversation, now: Conversation): void {
  const say: string[] = [];
  for (const t of waiting(now)) {
    if (!waiting(before).some((x) => x.question?.id === t.question?.id)) {
      const q = t.question;
      say.push(q?.type === 'clarify' ? q.question : `Tandem asks for permission: ${q?.type === 'permission' && q.command !== undefined ? q.command : t.title}`);
    }
  }
  if (now.running && !before.running) {
    say.push('Tandem is working.');
  }
  now.items.forEach((item, i) => {
    const old = before.items[i];
    if (item !== old && item.type === 'message' && item.role === 'agent' && !item.open && !(old?.type === 'message' && !old.open)) {
      say.push(item.text);
    } else if (item !== old && item.type === 'tool' && item.status === 'failed' && !(old?.type === 'tool' && old.status === 'failed')) {
      say.push(`${item.title} failed.`);
    }
  });
  if (say.length > 0 && drawn.state) {
    live.textContent = say.join('\n');
  }
}

window.addEventListener('message', (e: MessageEvent<ToPage>) => {
  const m = e.data;
  switch (m.type) {
    case 'state':
      ({ state, setup } = m);
      composer.recall(m.history);
      break;
    case 'event':
      state = reduce(state, m.event);
      if (m.event.type === 'permission' || m.event.type === 'clarify') {
        requestAnimationFrame(() => requestAnimationFrame(() => document.hasFocus() && unused() && focusQuestion()));
      }
      break;
    case 'setup':
      ({ setup } = m);
      break;
    case 'draft':
      composer.fill(m.text);
      break;
    case 'focus':
      composer.focus();
      break;
    case 'question':
      requestAnimationFrame(() => requestAnimationFrame(() => focusQuestion(m.id)));
      break;
    case 'mentions':
      composer.mentions(m.request, m.items);
  }
  if (state.session) {
    windowSession.set(state.session);
  }
  soon();
});

/**
 * Takes the keyboard to the open question, but to none of its buttons: a key that was meant for something else must not
 * answer it.
 */
function focusQuestion(id?: number): void {
  const one = id === undefined ? '.question.open .card' : `.question.open [data-question="${id}"]`;
  const card = document.querySelector<HTMLElement>(one);
  card?.scrollIntoView({ block: 'nearest' });
  card?.focus({ preventScroll: true });
}

/** Whether the keyboard is nowhere or at an empty prompt: what it is used for elsewhere goes on there. */
function unused(): boolean {
  const at = document.activeElement;
  return !at || at === document.body || at === scroller || (composer.focused && composer.empty);
}

/** The card of the question that a key answers: the one that has the keyboard, else the first. Keys of a prompt, and of words that go with an answer, answer none. */
function addressed(): HTMLElement | null {
  if ((composer.focused && composer.writing) || document.activeElement?.matches('.card input')) {
    return null;
  }
  const focused = document.activeElement?.closest<HTMLElement>('.question.open .card');
  return focused ?? document.querySelector<HTMLElement>('.question.open .card');
}

/** Says in the card that keys answer what they do, and in no other. */
function mark(): void {
  const card = addressed();
  document.querySelectorAll('.question .card').forEach((c) => c.classList.toggle('addressed', c === card));
}
for (const type of ['focusin', 'focusout', 'input']) {
  document.addEventListener(type, () => [0, WRITING_MS].forEach((ms) => setTimeout(mark, ms)));
}

window.addEventListener('keydown', (e) => {
  const command = e.ctrlKey || e.metaKey;
  if (e.key === 'Escape' && state.running && !e.defaultPrevented) {
    e.preventDefault();
    post({ type: 'stop' });
  } else if (command && (e.key === 'Enter' || e.key === 'Backspace')) {
    const kind = e.key === 'Enter' ? 'allow_once' : 'reject_once';
    const button = addressed()?.querySelector<HTMLButtonElement>(`button[data-kind="${kind}"]`);
    if (button) {
      e.preventDefault();
      if (!e.repeat) {
        press(button);
      }
    }
  } else if (!command && !e.altKey && e.key.length === 1 && e.key !== ' ' && document.activeElement?.matches('.card')) {
    composer.focus(); // the letter goes there: the question came while somebody was about to write
  }
});

window.addEventListener('focus', () => {
  if (!document.activeElement || document.activeElement === document.body) {
    composer.focus();
  }
});

post(before ? { type: 'ready', session: before } : { type: 'ready' });
