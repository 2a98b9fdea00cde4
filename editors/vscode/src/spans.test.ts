import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChangedHunk } from './protocol.ts';
import { changedRanges } from './hunks.ts';
import { pieces } from './spans.ts';

const drawn = (line: string, ...spans: [number, number][]): string =>
  pieces(
    line,
    spans.map(([start, end]) => ({ start, end })),
  )
    .map(({ text, changed }) => (changed ? `[${text}]` : text))
    .join('');

describe('F094 the changed parts of a line', () => {
  it('are cut out where the server has counted them, in code points', () => {
    assert.equal(drawn('x := two()', [5, 8]), 'x := [two]()');
    assert.equal(drawn('\u{1f600} two \u{1f600}', [2, 5]), '\u{1f600} [two] \u{1f600}');
    assert.equal(drawn('a b c', [0, 1], [4, 5]), '[a] b [c]');
    assert.equal(drawn('plain'), 'plain');
    assert.equal(drawn('ab', [1, 9]), 'a[b]', 'an end behind the line is that of the line');
  });

  it('are ranges of the document in a review, of lines that are not changed as a whole', () => {
    const hunk = (newText: string, ...spans: [number, number, 'insert' | 'delete'][]): ChangedHunk =>
      ({
        range: { start: { line: 7, character: 0 }, end: { line: 9, character: 0 } },
        oldText: 'x\n',
        newText,
        inline: spans.map(([start, end, op]) => ({ start, end, op })),
      }) as unknown as ChangedHunk;
    const at = (h: ChangedHunk) => changedRanges(h).map(({ start, end }) => [start.line, start.character, end.line, end.character].join(' '));
    assert.deepEqual(at(hunk('x := two()\n', [5, 8, 'insert'], [0, 1, 'delete'])), ['7 5 7 8']);
    assert.deepEqual(at(hunk('\u{1f600} two\nend\n', [2, 5, 'insert'])), ['7 3 7 6']);
    assert.deepEqual(at(hunk('a new\nwhole\nb c\n', [2, 13, 'insert'])), ['7 2 7 5', '9 0 9 1'], 'a whole line is none');
    assert.deepEqual(at(hunk('a\r\nb two\r\n', [5, 8, 'insert'])), ['8 2 8 5'], 'CRLF');
    assert.deepEqual(at(hunk('a\n')), []);
  });
});
