// Arithmetic on text edits, for whatever has lines and characters.

export interface Position {
  line: number;
  character: number;
}

export interface TextEdit {
  range: { start: Position; end: Position };
  newText: string;
}

function linesIn(text: string): number {
  return text.split(/\r\n|\r|\n/).length - 1;
}

/**
 * By how many lines edits move the text of a line. Edits that end where the line begins count: they push it down, or
 * pull it up.
 */
export function shift(edits: readonly TextEdit[], line: number): number {
  let moved = 0;
  for (const { range, newText } of edits) {
    if (range.end.line < line || (range.end.line === line && range.end.character === 0)) {
      moved += linesIn(newText) - (range.end.line - range.start.line);
    }
  }
  return moved;
}

/**
 * Whether whole lines arrive here: then a caret at this place belongs to the line that is pushed down, and has to go
 * with it. Otherwise a caret stays before what is inserted at it.
 */
export function pushesDown({ range, newText }: TextEdit): boolean {
  const { start, end } = range;
  return start.line === end.line && start.character === 0 && end.character === 0 && /[\r\n]$/.test(newText);
}

/** Whether two texts are the same but for their line ends and a byte order mark, which a document does not have. */
export function sameText(a: string, b: string): boolean {
  const plain = (text: string): string => text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  return plain(a) === plain(b);
}
