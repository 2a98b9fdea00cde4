// Draws a unified diff.

import { visible } from '../src/chat/visible.ts';
import { drawn } from './allow.ts';
import { h } from './dom.ts';

/** Draws what of a diff the chat shows; `looked` says that all of it was opened in the editor. */
export function diffView(unified: string, open: () => void, looked = false): HTMLElement {
  const { lines, more } = drawn(unified);
  const signs = { add: '+', del: '−', ctx: ' ' };
  return h(
    'div',
    { class: looked ? 'diff looked' : 'diff', role: 'group', 'aria-label': 'Changes', tabindex: 0 },
    ...lines.map(({ kind, text, number }) =>
      kind === 'gap'
        ? h('div', { class: 'gap' }, text)
        : h(
            'div',
            { class: kind },
            h('span', { class: 'number', 'aria-hidden': 'true' }, String(number)),
            h('span', { class: 'sign' }, signs[kind]),
            h('span', { class: 'text' }, visible(text, true) || ' '),
          ),
    ),
    more > 0 &&
      h('button', { type: 'button', class: 'link', onclick: open }, `${more === 1 ? '1 more line' : `${more} more lines`}: open the diff`),
  );
}
