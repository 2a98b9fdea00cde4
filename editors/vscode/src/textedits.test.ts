import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sameText } from './textedits.ts';

test('FaultE10 a document and its file are compared without line ends and byte order mark', () => {
  for (const [file, text, same] of [
    ['a\nb\n', 'a\nb\n', true],
    ['\uFEFFa\r\nb\r\n', 'a\nb\n', true],
    ['a\rb', 'a\nb', true],
    ['a\nb\nsaved elsewhere\n', 'a\nb\n', false],
    ['', 'a', false],
  ] as const) {
    assert.equal(sameText(file, text), same, JSON.stringify(file));
  }
});
