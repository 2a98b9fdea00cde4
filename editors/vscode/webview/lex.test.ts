import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Token } from 'marked';
import { lex } from './lex.ts';

/** The types of all tokens of a text, from outside to inside. */
function types(tokens: Token[] | undefined, out: string[] = []): string[] {
  for (const t of tokens ?? []) {
    out.push(t.type);
    const inside = t as { tokens?: Token[]; items?: Token[]; header?: { tokens: Token[] }[]; rows?: { tokens: Token[] }[][] };
    types(inside.tokens, out);
    types(inside.items, out);
    for (const cell of [...(inside.header ?? []), ...(inside.rows ?? []).flat()]) {
      types(cell.tokens, out);
    }
  }
  return out;
}

describe('FaultV1 the Markdown of answers is GitHub\'s', () => {
  const cases: [string, string, string][] = [
    ['a table', '| a | b |\n|---|:-:|\n| 1 | `2` |', 'table'],
    ['a table behind a paragraph', 'Here:\n\n| a |\n|---|\n| 1 |\n\nDone.', 'table'],
    ['a line end in a paragraph', 'first\nsecond', 'br'],
    ['a bare link', 'see https://example.org/a?b=c.', 'link'],
    ['a bare address', 'www.example.org', 'link'],
    ['what is struck out', '~~gone~~', 'del'],
    ['code in a fence', '```go\nx := 1\n```', 'code'],
    ['a quotation', '> quoted', 'blockquote'],
  ];
  for (const [what, text, type] of cases) {
    it(what, () => assert.ok(types(lex(text)).includes(type), types(lex(text)).join(' ')));
  }

  it('a box of a task', () => {
    const list = lex('- [x] done\n- [ ] open\n- plain')[0] as { items?: { task: boolean; checked?: boolean }[] };
    assert.deepEqual(list.items?.map((i) => [i.task, Boolean(i.checked)]), [[true, true], [true, false], [false, false]]);
  });

  it('cells keep how they are aligned', () => {
    const table = lex('| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |')[0] as { align?: string[] };
    assert.deepEqual(table.align, ['left', 'center', 'right']);
  });
});
