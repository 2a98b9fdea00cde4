// The changed parts of a line. The server counts them in code points; here they are in UTF-16.

/** The index of a code point. */
export function unitAt(text: string, point: number): number {
  let at = 0;
  for (let n = 0; n < point && at < text.length; n++) {
    at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  }
  return at;
}

/** A part of a text that is changed, or the same on both sides. */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

/** Cuts a line at the ends of its spans, which are in order. */
export function pieces(line: string, spans: readonly { start: number; end: number }[]): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  const add = (to: number, changed: boolean): void => {
    if (to > at) {
      out.push({ text: line.slice(at, to), changed });
      at = to;
    }
  };
  for (const { start, end } of spans) {
    add(unitAt(line, start), false);
    add(unitAt(line, end), true);
  }
  add(line.length, false);
  return out;
}
