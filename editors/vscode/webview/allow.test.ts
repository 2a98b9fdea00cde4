import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Permission } from '../src/chat/state.ts';
import { MOST_CHARACTERS, MOST_LINES, drawn, unseen } from './allow.ts';

const question = (unified?: string, looked = false) =>
  ({ type: 'permission', id: 1, options: [], diffs: [{ path: 'a', unified, looked }] }) as unknown as Permission;
const added = (n: number, text: string) => `@@ -1,0 +1,${n} @@\n${`+${text}\n`.repeat(n)}`;

describe('FindingS17 what is drawn of a change', () => {
  it('is all of one that is short, with the numbers of its lines', () => {
    const { lines, more } = drawn('--- a\n+++ b\n@@ -2,2 +2,2 @@\n a\n-b\n+c\r\n\\ No newline at end of file\n@@ -9 +9 @@\n-x\n');
    assert.equal(more, 0);
    assert.deepEqual(
      lines.map((l) => `${l.kind} ${l.number} ${l.text}`),
      ['ctx 2 a', 'del 3 b', 'add 3 c', 'gap 0 No newline at end of file', 'gap 0 ⋯', 'del 9 x'],
    );
  });

  it('F094 has the changed parts of each line, by the lines of the diff', () => {
    const spans = [{ line: 4, start: 2, end: 5 }, { line: 5, start: 2, end: 5 }];
    const { lines } = drawn('--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b one\n+b two\n', spans);
    assert.deepEqual(lines.map((l) => l.spans.map((s) => l.text.slice(s.start, s.end))), [[], ['one'], ['two']]);
  });

  it('ends at a number of lines and of characters, and whole lines are left out', () => {
    assert.equal(drawn(added(MOST_LINES, 'x')).more, 0);
    assert.deepEqual([drawn(added(MOST_LINES + 3, 'x'))].map((d) => [d.lines.length, d.more]), [[MOST_LINES, 3]]);
    assert.equal(drawn(added(1, 'x'.repeat(MOST_CHARACTERS - 1))).more, 0);
    assert.deepEqual(drawn(added(1, 'x'.repeat(MOST_CHARACTERS))), { lines: [], more: 1 });
    const later = drawn(`${added(1, 'x'.repeat(MOST_CHARACTERS - 1))}+y\n@@ -9 +9 @@\n-z\n`);
    assert.deepEqual([later.lines.length, later.more], [1, 2]);
  });

  it('decides whether a change can be allowed before it was opened', () => {
    assert.equal(unseen(question('@@ -1 +1 @@\n-a\n+b\n')), false);
    for (const text of [undefined, added(1, 'x'.repeat(MOST_CHARACTERS)), added(MOST_LINES + 1, 'x')]) {
      assert.equal(unseen(question(text)), true);
      assert.equal(unseen(question(text, true)), false);
      const several = question(text, true);
      assert.equal(unseen({ ...several, diffs: [...several.diffs, ...question(text).diffs] }), true, 'each of several');
    }
  });
});
