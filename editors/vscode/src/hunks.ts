// What a review needs to know of hunks, without an editor.

import type { ChangedFile, ChangedHunk, Position, Range } from './protocol.ts';
import { unitAt } from './spans.ts';
import type { TextEdit } from './textedits.ts';

/** What has happened to a file as a whole, in a word or two; '' where only its text has changed. name is a URI for a person. */
export function fate(file: Pick<ChangedFile, 'status' | 'from'>, name: (uri: string) => string): string {
  switch (file.status) {
    case 'added':
      return 'new';
    case 'deleted':
      return 'deleted';
    case 'renamed':
      return file.from === undefined ? 'moved' : `moved from ${name(file.from)}`;
    default:
      return '';
  }
}

/** A hunk that waits for somebody's word. */
export function isOpen(hunk: ChangedHunk): boolean {
  return hunk.status === 'pending' || hunk.status === 'conflict';
}

/** How many lines of a file its open hunks add and take away. While all are open that is what the server counts. */
export function waitingLines(file: ChangedFile): { additions: number; deletions: number } {
  const open = file.hunks.filter(isOpen);
  if (open.length === file.hunks.length) {
    return { additions: file.additions, deletions: file.deletions };
  }
  const sum = (text: (h: ChangedHunk) => string) => open.reduce((n, h) => n + (text(h).match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0), 0);
  return { additions: sum((h) => h.newText), deletions: sum((h) => h.oldText) };
}

const compare = (a: Position, b: Position): number => a.line - b.line || a.character - b.character;

function offsetAt(text: string, { line, character }: Position): number {
  let at = 0;
  for (let n = 0; n < line; n++) {
    const end = text.indexOf('\n', at);
    if (end < 0) {
      return text.length;
    }
    at = end + 1;
  }
  const end = text.indexOf('\n', at);
  return Math.min(at + character, end < 0 ? text.length : end + 1);
}

/** A text as it would be if the hunks had not come. The text has the line ends that it is to keep. */
export function before(text: string, hunks: readonly ChangedHunk[]): string {
  const crlf = /\r\n/.test(text) && !/(^|[^\r])\n/.test(text);
  let out = text;
  for (const hunk of [...hunks].sort((a, b) => compare(b.range.start, a.range.start))) {
    const old = crlf ? hunk.oldText.replace(/\r?\n/g, '\r\n') : hunk.oldText;
    out = out.slice(0, offsetAt(out, hunk.range.start)) + old + out.slice(offsetAt(out, hunk.range.end));
  }
  return out;
}

/** The first and the last line that a hunk stands on; it has none if it has only taken lines away. */
export function lines({ range, newText }: ChangedHunk): { first: number; last: number } | undefined {
  const { start, end } = range;
  if (newText === '' || compare(start, end) === 0) {
    return undefined;
  }
  return { first: start.line, last: end.character === 0 && end.line > start.line ? end.line - 1 : end.line };
}

/** Ranges of the inserted characters inside a hunk's changed lines, in the present document. Wholly new lines have none. */
export function changedRanges({ range, newText, inline }: ChangedHunk): Range[] {
  const spans = (inline ?? []).filter(({ op }) => op === 'insert');
  const out: Range[] = [];
  let at = 0; // code points before the line
  newText.split('\n').forEach((line, n) => {
    const length = [...line].length;
    const shown = line.endsWith('\r') ? length - 1 : length;
    for (const { start, end } of spans) {
      const [from, to] = [Math.max(start - at, 0), Math.min(end - at, shown)];
      if (from < to && to - from < shown) {
        const shift = n === 0 ? range.start.character : 0;
        const place = (point: number): Position => ({ line: range.start.line + n, character: shift + unitAt(line, point) });
        out.push({ start: place(from), end: place(to) });
      }
    }
    at += length + 1;
  });
  return out;
}

function textLines(text: string): string[] {
  const list = text.split(/\r\n|\r|\n/);
  if (list.at(-1) === '') {
    list.pop();
  }
  return list;
}

/** How many lines a hunk has brought and taken away. */
export function count(hunk: ChangedHunk): { added: number; removed: number } {
  return { added: textLines(hunk.newText).length, removed: textLines(hunk.oldText).length };
}

const GHOST = 80;

/** The lines that were taken away, on one line. */
export function ghost(hunk: ChangedHunk): string {
  const [first, ...others] = textLines(hunk.oldText);
  if (first === undefined) {
    return '';
  }
  const shown = first.trim();
  const cut = shown.length > GHOST ? shown.slice(0, GHOST - 1) + '…' : shown;
  const more = others.length === 0 ? '' : ` … ${others.length} more ${others.length === 1 ? 'line' : 'lines'}`;
  return `− ${cut}${more}`;
}

/** A hunk as a diff in Markdown. */
export function markdown(hunk: ChangedHunk): string {
  const body = [
    ...textLines(hunk.oldText).map((line) => '-' + line),
    ...textLines(hunk.newText).map((line) => '+' + line),
  ].join('\n');
  let fence = '```';
  while (body.includes(fence)) {
    fence += '`';
  }
  return `${fence}diff\n${body}\n${fence}`;
}

/** A range after an edit that was not meant for it: what is typed at its end stays outside, and lines put before it too. */
export function follow(range: Range, { range: edited, newText }: TextEdit): Range {
  const inserted = newText.split(/\r\n|\r|\n/);
  const newEnd: Position = {
    line: edited.start.line + inserted.length - 1,
    character: inserted.at(-1)!.length + (inserted.length === 1 ? edited.start.character : 0),
  };
  const behind = (at: Position): Position => ({
    line: at.line - edited.end.line + newEnd.line,
    character: at.line === edited.end.line ? at.character - edited.end.character + newEnd.character : at.character,
  });
  const move = (at: Position): Position => (compare(at, edited.end) >= 0 ? behind(at) : newEnd);
  const { start, end } = range;
  const insertion = compare(edited.start, edited.end) === 0;
  const pushed = insertion && compare(start, edited.start) === 0 && inserted.at(-1) === '' && inserted.length > 1;
  const from = compare(start, edited.start) <= 0 && !pushed ? start : move(start);
  if (compare(start, end) === 0) {
    return { start: from, end: from };
  }
  return { start: from, end: compare(end, edited.start) <= 0 ? end : move(end) };
}

/** The hunk on a line: one that stands there, or one that has taken lines away there. */
export function hunkAt(hunks: readonly ChangedHunk[], line: number): ChangedHunk | undefined {
  return (
    hunks.find((hunk) => {
      const on = lines(hunk);
      return on && on.first <= line && line <= on.last;
    }) ?? hunks.find((hunk) => !lines(hunk) && Math.abs(hunk.range.start.line - line) <= 1)
  );
}

/** The hunk after a line, or before it, going round at the ends. */
export function neighbour(hunks: readonly ChangedHunk[], line: number, step: 1 | -1): ChangedHunk | undefined {
  const sorted = [...hunks].sort((a, b) => compare(a.range.start, b.range.start));
  const found =
    step === 1
      ? sorted.find((hunk) => hunk.range.start.line > line)
      : sorted.findLast((hunk) => hunk.range.start.line < line);
  return found ?? (step === 1 ? sorted[0] : sorted.at(-1));
}
