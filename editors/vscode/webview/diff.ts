// Draws a unified diff.

import { visible } from '../src/chat/visible.ts';
import type { LineSpan } from '../src/chat/wire.ts';
import { type Piece, pieces } from '../src/spans.ts';
import { drawn } from './allow.ts';
import { type Child, h } from './dom.ts';

/** Draws what of a diff the chat shows, and the changed parts of its lines; `looked`: all of it was opened in the editor. */
export function diffView(unified: string, open: () => void, looked = false, spans: readonly LineSpan[] = []): HTMLElement {
  const { lines, more } = drawn(unified, spans);
  const signs = { add: '+', del: '−', ctx: ' ' };
  return h(
    'div',
    { class: looked ? 'diff looked' : 'diff', role: 'group', 'aria-label': 'Changes', tabindex: 0 },
    ...lines.map(({ kind, text, number, spans: parts }) =>
      kind === 'gap'
        ? h('div', { class: 'gap' }, text)
        : h(
            'div',
            { class: kind },
            h('span', { class: 'number', 'aria-hidden': 'true' }, String(number)),
            h('span', { class: 'sign' }, signs[kind]),
            h('span', { class: 'text' }, ...(text === '' ? [' '] : pieces(text, parts).map(part))),
          ),
    ),
    more > 0 &&
      h('button', { type: 'button', class: 'link', onclick: open }, `${more === 1 ? '1 more line' : `${more} more lines`}: open the diff`),
  );
}

function part({ text, changed }: Piece): Child {
  const shown = visible(text, true);
  return changed ? h('span', { class: 'changed' }, shown) : shown;
}
