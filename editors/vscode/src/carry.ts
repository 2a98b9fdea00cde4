// Carries edits over what has been typed since they were computed.

import type { Position, TextEdit } from './textedits.ts';

/** Where a position behind a change is after it. */
function behind(at: Position, { range, newText }: TextEdit): Position {
  const lines = newText.split(/\r\n|\r|\n/);
  const end = range.start.line + lines.length - 1;
  const character = lines.at(-1)!.length + (lines.length === 1 ? range.start.character : 0);
  return {
    line: at.line - range.end.line + end,
    character: at.line === range.end.line ? at.character - range.end.character + character : at.character,
  };
}

/**
 * The edits for the text as it is after the changes, which are in the order in which they were made. Undefined where a
 * change is on a line of an edit: what that means is for the server to say.
 */
export function carry(edits: readonly TextEdit[], changes: readonly TextEdit[]): TextEdit[] | undefined {
  const out = edits.map(({ range, newText }) => ({ range, newText }));
  for (const change of changes) {
    const { start, end } = change.range;
    for (const edit of out) {
      const { range } = edit;
      if (start.line > range.end.line) {
        continue;
      }
      if (end.line >= range.start.line) {
        return undefined;
      }
      edit.range = { start: behind(range.start, change), end: behind(range.end, change) };
    }
  }
  return out;
}

/** The last changes of documents, by the version that they led to. */
export class Changes {
  private readonly kept: { version: number; changes: TextEdit[] }[] = [];

  constructor(private readonly most = 64) {}

  /** Notes what led to a version. */
  add(version: number, changes: TextEdit[]): void {
    this.kept.push({ version, changes });
    if (this.kept.length > this.most) {
      this.kept.shift();
    }
  }

  /** What has changed between two versions; undefined where that is not known any more. */
  between(from: number, to: number): TextEdit[] | undefined {
    const since = this.kept.filter(({ version }) => version > from && version <= to);
    return since.length === to - from ? since.flatMap(({ changes }) => changes) : undefined;
  }
}
