// When an answer to a question counts. The buttons of a card are the only way to answer it: a key presses one.
//
// A button is enabled once it has been wholly in sight for a moment, and one that allows, once all that is asked about
// has been in sight. In sight is what the person can see: neither what is scrolled away nor what a hidden page holds.

import { h } from './dom.ts';

/** So long a button that answers has been in sight before it counts: what was meant for something else is no answer. */
const SETTLE_MS = 300;
/** A button is in sight with so much of it: where a page is scaled, a fraction of a pixel may be cut off. */
const WHOLE = 0.9;
/** A page is so much of what is in sight, so that its last lines are the next page's first. */
const PAGE = 0.9;

/** The buttons that are in sight, and the edges that have been. */
const inSight = new WeakSet<Element>();
/** The buttons that count or will when their moment is over. */
const timers = new WeakMap<HTMLButtonElement, ReturnType<typeof setTimeout>>();

// Its root is the window; what a part that scrolls cuts off does not count as in sight.
const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, intersectionRatio } of entries) {
      if (!target.isConnected) {
        sight.unobserve(target);
      } else if (target instanceof HTMLButtonElement ? intersectionRatio >= WHOLE : intersectionRatio > 0) {
        inSight.add(target);
      } else if (target instanceof HTMLButtonElement) {
        inSight.delete(target);
      }
    }
    for (const card of new Set(entries.map(({ target }) => target.closest<HTMLElement>('.card')))) {
      card?.querySelectorAll<HTMLButtonElement>('button[data-answer]').forEach(judge);
    }
  },
  { threshold: [0, WHOLE] },
);

/** Makes the buttons of a card that answer its question count from the moment on in which they can be seen. */
export function watch(card: HTMLElement): HTMLElement {
  for (const part of card.querySelectorAll('.whole, .card > .diff:not(.looked)')) {
    part.prepend(h('i', { class: 'edge first', 'aria-hidden': 'true' }));
    part.append(h('i', { class: 'edge last', 'aria-hidden': 'true' }));
  }
  card.querySelectorAll('.edge, button[data-answer]').forEach((e) => sight.observe(e));
  return card;
}

/** The first edge of what is asked about that has not been in sight yet. */
function unread(card: Element): Element | undefined {
  return [...card.querySelectorAll('.edge')].find((e) => !inSight.has(e));
}

function judge(button: HTMLButtonElement): void {
  const card = button.closest('.card')!;
  const part = button.dataset.answer === 'allow' ? unread(card) : undefined;
  const keys = card.querySelector('.keys');
  if (keys && button.dataset.kind === 'allow_once') {
    keys.textContent = part ? 'Scroll to the end first' : 'Ctrl+Enter allows';
    keys.classList.toggle('unread', part !== undefined);
  }
  const counts = inSight.has(button) && !part && button.dataset.answer !== 'never';
  if (counts && !timers.has(button)) {
    timers.set(button, setTimeout(() => (button.disabled = false), SETTLE_MS));
  } else if (!counts) {
    stop(button);
  }
}

function stop(button: HTMLButtonElement): void {
  clearTimeout(timers.get(button));
  timers.delete(button);
  if (document.activeElement === button) {
    // The keyboard stays at the question: it would leave a button that is disabled.
    button.closest<HTMLElement>('.card')?.focus({ preventScroll: true });
  }
  button.disabled = true;
}

/** Begins the moment of all buttons anew: another question was answered, and what is next may stand in its place. */
export function renew(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('.question.open button[data-answer]')) {
    stop(button);
    judge(button);
  }
}

/**
 * Presses a button that answers, for a key. One that does not count yet is not pressed: what has to be seen before is
 * scrolled into sight, a page at a time.
 */
export function press(button: HTMLButtonElement): void {
  if (!button.disabled) {
    return button.click();
  }
  const edge = button.dataset.answer === 'allow' ? unread(button.closest('.card')!) : undefined;
  const part = edge?.classList.contains('last') ? edge.parentElement! : undefined;
  const below = part ? part.scrollHeight - part.scrollTop - part.clientHeight : 0;
  const page = PAGE * Math.min(part?.clientHeight ?? 0, part?.closest('.scroller')?.clientHeight ?? 0);
  if (part && below > page) {
    part.scrollIntoView({ block: 'nearest' });
    part.scrollBy({ top: page });
  } else {
    (edge ?? button).scrollIntoView({ block: 'nearest' });
  }
}
