// The Markdown of answers: GitHub's, in which a line end within a paragraph is a line end.

import { type Token, lexer } from 'marked';

/** The blocks of a text. marked takes options as the whole of them, so those that are its defaults are named too. */
export function lex(text: string): Token[] {
  return lexer(text, { gfm: true, breaks: true });
}
