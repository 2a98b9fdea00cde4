import assert from 'node:assert/strict';
import { test } from 'node:test';
import { before, count, fate, follow, ghost, hunkAt, lines, markdown, neighbour, waitingLines } from '../src/hunks.ts';
import type { ChangedHunk } from '../src/protocol.ts';

const hunk = (
  id: string,
  [line, character, endLine, endCharacter]: [number, number, number, number],
  oldText: string,
  newText: string,
): ChangedHunk => ({
  id,
  range: { start: { line, character }, end: { line: endLine, character: endCharacter } },
  oldText,
  newText,
  status: 'pending',
  turn: 1,
  toolCallId: 'c',
});

const changed = hunk('a', [1, 0, 3, 0], 'two\n', 'TWO\nand more\n');
const removed = hunk('b', [5, 0, 5, 0], 'five\n', '');
const text = 'one\nTWO\nand more\nthree\nfour\nsix\n';

test('the text from before has what was taken away and not what came', () => {
  assert.equal(before(text, [changed, removed]), 'one\ntwo\nthree\nfour\nfive\nsix\n');
  assert.equal(before(text, [removed]), 'one\nTWO\nand more\nthree\nfour\nfive\nsix\n');
  assert.equal(before(text, []), text);
  const crlf = text.replace(/\n/g, '\r\n');
  assert.equal(before(crlf, [changed, removed]), 'one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n');
  assert.equal(before('a\nB', [hunk('c', [1, 0, 1, 1], 'b', 'B')]), 'a\nb');
  assert.equal(before('', [hunk('c', [0, 0, 0, 0], 'all\n', '')]), 'all\n');
});

test('what has happened to a file is told in a word', () => {
  const name = (uri: string) => uri.replace('file:///w/', '');
  assert.equal(fate({ status: 'renamed', from: 'file:///w/a.ts' }, name), 'moved from a.ts');
  assert.equal(fate({ status: 'renamed' }, name), 'moved');
  assert.equal(fate({ status: 'added' }, name), 'new');
  assert.equal(fate({ status: 'deleted' }, name), 'deleted');
  assert.equal(fate({ status: 'modified' }, name), '');
});

test('a hunk stands on its whole lines, or on none', () => {
  assert.deepEqual(lines(changed), { first: 1, last: 2 });
  assert.equal(lines(removed), undefined);
  assert.deepEqual(lines(hunk('c', [4, 0, 4, 3], '', 'end')), { first: 4, last: 4 });
});

test('what a hunk says of itself', () => {
  assert.deepEqual(count(changed), { added: 2, removed: 1 });
  assert.deepEqual(count(hunk('c', [0, 0, 1, 0], '', 'x')), { added: 1, removed: 0 });
  assert.equal(ghost(removed), '− five');
  assert.equal(ghost(hunk('c', [0, 0, 0, 0], '  a\nb\nc\n', '')), '− a … 2 more lines');
  assert.equal(ghost(hunk('c', [0, 0, 1, 0], '', 'x\n')), '');
  assert.equal(ghost(hunk('c', [0, 0, 0, 0], 'x'.repeat(200) + '\n', '')).length, 82);
  assert.equal(markdown(changed), '```diff\n-two\n+TWO\n+and more\n```');
  assert.ok(markdown(hunk('c', [0, 0, 0, 0], '```\n', '')).startsWith('````diff\n'));
});

test('hunks follow what is typed', () => {
  const { range } = changed;
  const typed = (line: number, character: number, endLine: number, endCharacter: number, newText: string) =>
    follow(range, { range: { start: { line, character }, end: { line: endLine, character: endCharacter } }, newText });
  const at = (line: number, character: number, endLine: number, endCharacter: number) => ({
    start: { line, character },
    end: { line: endLine, character: endCharacter },
  });
  assert.deepEqual(typed(0, 1, 0, 1, 'x'), range, 'above, on a line');
  assert.deepEqual(typed(0, 0, 0, 0, 'a\nb\n'), at(3, 0, 5, 0), 'lines above');
  assert.deepEqual(typed(1, 0, 1, 0, 'new\n'), at(2, 0, 4, 0), 'a line right above');
  assert.deepEqual(typed(1, 0, 1, 0, 'x'), range, 'at its start');
  assert.deepEqual(typed(1, 1, 1, 1, 'x\ny'), at(1, 0, 4, 0), 'a line inside');
  assert.deepEqual(typed(1, 0, 2, 0, ''), at(1, 0, 2, 0), 'a line inside is gone');
  assert.deepEqual(typed(3, 0, 3, 0, 'x\n'), range, 'right below');
  assert.deepEqual(typed(0, 0, 2, 0, ''), at(0, 0, 1, 0), 'from above into it');
  assert.deepEqual(typed(2, 0, 4, 0, 'z'), at(1, 0, 2, 1), 'from inside to below');
  assert.deepEqual(typed(0, 0, 9, 0, ''), at(0, 0, 0, 0), 'all of it and more');
  const none = removed.range;
  const moved = follow(none, { range: at(0, 0, 0, 0), newText: 'a\n' });
  assert.deepEqual(moved, at(6, 0, 6, 0), 'a place moves too');
});

test('the hunk at a line, and the ones around it', () => {
  const all = [removed, changed];
  assert.equal(hunkAt(all, 2), changed);
  assert.equal(hunkAt(all, 3), undefined);
  assert.equal(hunkAt(all, 4), removed);
  assert.equal(hunkAt(all, 5), removed);
  assert.equal(neighbour(all, 0, 1), changed);
  assert.equal(neighbour(all, 1, 1), removed);
  assert.equal(neighbour(all, 5, 1), changed, 'round the end');
  assert.equal(neighbour(all, 1, -1), removed, 'round the beginning');
  assert.equal(neighbour([], 1, 1), undefined);
});

test('FaultV4 the lines that wait are those of the hunks that nobody has judged', () => {
  const file = (...statuses: ('pending' | 'accepted' | 'conflict')[]) => ({
    uri: 'f',
    status: 'modified' as const,
    additions: 2,
    deletions: 2,
    unified: '',
    hunks: [changed, removed].map((h, i) => ({ ...h, status: statuses[i]! })),
  });
  assert.deepEqual(waitingLines(file('pending', 'pending')), { additions: 2, deletions: 2 });
  assert.deepEqual(waitingLines(file('pending', 'accepted')), { additions: 2, deletions: 1 });
  assert.deepEqual(waitingLines(file('accepted', 'conflict')), { additions: 0, deletions: 1 });
  assert.deepEqual(waitingLines(file('accepted', 'accepted')), { additions: 0, deletions: 0 });
});
