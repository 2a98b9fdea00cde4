import assert from 'node:assert/strict';
import { test } from 'node:test';
import { carry, Changes } from '../src/carry.ts';
import type { TextEdit } from '../src/textedits.ts';

const edit = (line: number, character: number, endLine: number, endCharacter: number, newText: string): TextEdit => ({
  range: { start: { line, character }, end: { line: endLine, character: endCharacter } },
  newText,
});

function apply(text: string, edits: readonly TextEdit[]): string {
  const offset = ({ line, character }: { line: number; character: number }) =>
    text.split('\n').slice(0, line).join('\n').length + (line > 0 ? 1 : 0) + character;
  for (const { range, newText } of [...edits].reverse()) {
    text = text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end));
  }
  return text;
}

test('carried edits do what they would have done before', () => {
  // Every word on a line of its own, so that whatever order they come in the result is the same.
  const text = Array.from({ length: 20 }, (_, i) => `line ${i}\n`).join('');
  let seed = 1;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 500; round++) {
    const at = random(20);
    const last = Math.min(19, at + random(3));
    const edits = [edit(at, random(4), last, 5, 'X\n'.repeat(random(3)) + 'Y')];
    let now = text;
    let changes: TextEdit[] = [];
    for (let i = random(4); i >= 0; i--) {
      const lines = now.split('\n');
      const line = random(lines.length);
      const until = Math.min(lines.length - 1, line + random(2));
      const from = random(lines[line]!.length + 1);
      const to = line === until ? from : random(lines[until]!.length + 1);
      const change = edit(line, from, until, to, ['x', 'a\nb', '', '\n'][random(4)]!);
      changes = [...changes, change];
      now = apply(now, [change]);
    }
    const carried = carry(edits, changes);
    if (!carried) {
      continue;
    }
    // The edit's own text and nothing else is another afterwards.
    const before = now;
    const after = apply(now, carried);
    const { start, end } = carried[0]!.range;
    const replaced = (t: string, e: TextEdit) => {
      const all = t.split('\n');
      return all.slice(e.range.start.line, e.range.end.line + 1).join('\n');
    };
    assert.equal(replaced(before, carried[0]!), replaced(text, edits[0]!));
    assert.equal(after.split('\n').length - before.split('\n').length, carried[0]!.newText.split('\n').length - 1 - (end.line - start.line));
  }
});

test('a change on a line of the edit is not decided here', () => {
  const here = [edit(5, 2, 6, 3, 'x')];
  for (const change of [edit(5, 0, 5, 0, 'a'), edit(6, 9, 6, 9, 'a'), edit(4, 0, 5, 0, ''), edit(6, 4, 8, 0, '')]) {
    assert.equal(carry(here, [change]), undefined, JSON.stringify(change));
  }
  assert.deepEqual(carry(here, [edit(4, 3, 4, 3, '\n')]), [edit(6, 2, 7, 3, 'x')]);
  assert.deepEqual(carry(here, [edit(7, 0, 7, 0, 'a\nb')]), here);
  assert.deepEqual(carry(here, [edit(0, 0, 2, 0, ''), edit(0, 0, 0, 0, 'x')]), [edit(3, 2, 4, 3, 'x')]);
});

test('changes are known back to the oldest that is kept', () => {
  const changes = new Changes(3);
  for (let version = 2; version <= 6; version++) {
    changes.add(version, [edit(version, 0, version, 0, 'x')]);
  }
  assert.deepEqual(changes.between(6, 6), []);
  assert.deepEqual(changes.between(3, 5)?.map((one) => one.range.start.line), [4, 5]);
  assert.equal(changes.between(2, 6), undefined);
  assert.equal(changes.between(6, 7), undefined);
});
