// Text of unknown origin before a person. The server has the same function, with the same cases in its tests.

/** What has no shape of its own or changes what stands around it, but for signs of Arabic and Kaithi that are seen like any letter. */
const HIDDEN =
  /(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}]/gu;
const SYMBOL = /[\p{Sm}\p{Sc}\p{Sk}\p{So}]$/u;

/**
 * Writes every character that has no shape of its own, or that changes what stands around it, as \u{…}: control characters,
 * those for direction and of no width, tags, separators and halves of pairs. In a multiline text \n and \t stay. An emoji
 * keeps its selector.
 */
export function visible(text: string, multiline: boolean): string {
  return text.replace(HIDDEN, (c: string, at: number) => {
    if (multiline && (c === '\n' || c === '\t')) {
      return c;
    }
    // Two units are enough: the symbol before a selector is at most a pair.
    const before = SYMBOL.exec(text.slice(Math.max(0, at - 2), at))?.[0];
    if (c === '\ufe0f' && before !== undefined && before.codePointAt(0)! > 0xff) {
      return c;
    }
    return `\\u{${c.codePointAt(0)!.toString(16)}}`;
  });
}

/** The lines of a text, made visible; a line end at its end begins none. */
export function visibleLines(text: string): string[] {
  const lines = visible(text, true).split('\n');
  if (lines.length > 1 && lines.at(-1) === '') {
    lines.pop();
  }
  return lines;
}

const MOST_TOAST = 300;

/**
 * A text for a notification of VS Code, which makes links of [words](command:…): on one line, with nothing in it that acts.
 * What is long is cut, and that is said.
 */
export function plain(text: string): string {
  const shown = visible(text, false).replaceAll('](', ']\\u{28}');
  const all = [...shown];
  return all.length > MOST_TOAST ? `${all.slice(0, MOST_TOAST).join('')}… (${all.length - MOST_TOAST} more characters)` : shown;
}
