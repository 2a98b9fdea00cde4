// How much of a change the chat shows, and which question may be allowed in it.

import type { Permission } from '../src/chat/state.ts';
import type { LineSpan } from '../src/chat/wire.ts';

/** Above this many lines of a diff the rest is left to the editor's own diff. */
export const MOST_LINES = 400;
/** The same for its characters: so many lines of 80 columns. A line over the bound is left out whole. */
export const MOST_CHARACTERS = 80 * MOST_LINES;

/** One line of a diff as it is drawn: of the hunks' text with its number, or what stands between hunks. */
export interface DiffLine {
  readonly kind: 'add' | 'del' | 'ctx' | 'gap';
  readonly text: string;
  readonly number: number;
  /** The changed parts of the text, in code points. */
  readonly spans: readonly LineSpan[];
}

/** The lines of a unified diff that are drawn, and how many more it has. */
export function drawn(unified: string, changed: readonly LineSpan[] = []): { lines: DiffLine[]; more: number } {
  const lines: DiffLine[] = [];
  let [old, line, shown, characters, more] = [0, 0, 0, 0, 0];
  let inHunk = false;
  for (const [n, text] of unified.replace(/\n$/, '').split('\n').entries()) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (header) {
      if (shown > 0 && more === 0) {
        lines.push({ kind: 'gap', text: '⋯', number: 0, spans: [] });
      }
      old = Number(header[1]);
      line = Number(header[2]);
      inHunk = true;
      continue;
    }
    if (!inHunk) {
      continue;
    }
    if (more > 0 || shown === MOST_LINES || characters + text.length > MOST_CHARACTERS) {
      more++;
      continue;
    }
    shown++;
    characters += text.length;
    if (text[0] === '\\') {
      lines.push({ kind: 'gap', text: text.slice(2), number: 0, spans: [] });
      continue;
    }
    const kind = text[0] === '+' ? 'add' : text[0] === '-' ? 'del' : 'ctx';
    const spans = changed.filter((s) => s.line === n);
    lines.push({ kind, text: text.slice(1).replace(/\r$/, ''), number: kind === 'del' ? old : line, spans });
    old += kind === 'add' ? 0 : 1;
    line += kind === 'del' ? 0 : 1;
  }
  return { lines, more };
}

/** Whether a part of the change that is asked about is not drawn in the chat and was not opened in the editor either. */
export function unseen(q: Permission): boolean {
  return q.diffs.some((d) => !d.looked && (d.unified === undefined || drawn(d.unified).more > 0));
}
