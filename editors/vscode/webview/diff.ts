// Draws a unified diff.

import { visible } from '../src/chat/visible.ts';
import { h } from './dom.ts';

/** Above this many lines the rest is left to the editor's own diff. */
export const MOST_LINES = 400;

export function diffView(unified: string, more: () => void): HTMLElement {
  const body = h('div', { class: 'diff', role: 'group', 'aria-label': 'Changes', tabindex: 0 });
  let line = 0;
  let old = 0;
  let drawn = 0;
  let inHunk = false;
  const lines = unified.replace(/\n$/, '').split('\n');
  for (const text of lines) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (header) {
      if (drawn > 0) {
        body.append(h('div', { class: 'gap' }, '⋯'));
      }
      old = Number(header[1]);
      line = Number(header[2]);
      inHunk = true;
      continue;
    }
    if (!inHunk) {
      continue;
    }
    if (drawn === MOST_LINES) {
      body.append(h('button', { type: 'button', class: 'link', onclick: more }, `${lines.length - MOST_LINES} more lines: open the diff`));
      break;
    }
    drawn++;
    const sign = text[0] ?? ' ';
    if (sign === '\\') {
      body.append(h('div', { class: 'gap' }, text.slice(2)));
      continue;
    }
    const kind = sign === '+' ? 'add' : sign === '-' ? 'del' : 'ctx';
    const number = sign === '-' ? old : line;
    body.append(
      h(
        'div',
        { class: kind },
        h('span', { class: 'number', 'aria-hidden': 'true' }, String(number)),
        h('span', { class: 'sign' }, sign === '-' ? '−' : sign),
        h('span', { class: 'text' }, visible(text.slice(1).replace(/\r$/, ''), true) || ' '),
      ),
    );
    if (sign !== '+') {
      old++;
    }
    if (sign !== '-') {
      line++;
    }
  }
  return body;
}
