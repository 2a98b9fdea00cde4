import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plain, visible, visibleLines } from './visible.ts';

/** The cases of TestFindingS3S4Visible in filetime/text/show, but for bytes that are not UTF-8. */
const CASES: [name: string, text: string, line?: string, lines?: string][] = [
  ['plain', 'go test ./... | tail -5 \\u{1b}'],
  ['other scripts', 'Größe — 漢字 עברית हिन्दी 🦀 é e\u0301'],
  ['blank of its own width', 'a\u00a0b\u3000c'],
  ['signs like letters', '\u0600\u06dd\u{110bd}'],
  ['escape sequence', '\x1b[2K\x1b[1Aok', '\\u{1b}[2K\\u{1b}[1Aok'],
  ['clipboard by OSC 52', '\x1b]52;c;cm0=\x07', '\\u{1b}]52;c;cm0=\\u{7}'],
  ['NUL, DEL', 'a\x00b\x7f', 'a\\u{0}b\\u{7f}'],
  ['C1', '\u009b31m\u0085', '\\u{9b}31m\\u{85}'],
  ['line ends', 'a\nb\tc\r\n', 'a\\u{a}b\\u{9}c\\u{d}\\u{a}', 'a\nb\tc\\u{d}\n'],
  ['carriage return over the line', 'rm -rf /\rls', 'rm -rf /\\u{d}ls'],
  ['bidi', 'a\u202eb\u2066c\u2069\u200f\u061c', 'a\\u{202e}b\\u{2066}c\\u{2069}\\u{200f}\\u{61c}'],
  ['zero width', 'a\u200bb\u200c\u200d\u2060\ufeff\u00ad', 'a\\u{200b}b\\u{200c}\\u{200d}\\u{2060}\\u{feff}\\u{ad}'],
  ['fillers', '\u115f\u1160\u3164\uffa0\u034f', '\\u{115f}\\u{1160}\\u{3164}\\u{ffa0}\\u{34f}'],
  ['tags', 'a\u{E0001}\u{E0041}\u{E007F}\u{E0FFF}', 'a\\u{e0001}\\u{e0041}\\u{e007f}\\u{e0fff}'],
  ['separators', 'a\u2028b\u2029c', 'a\\u{2028}b\\u{2029}c'],
  ['bytes in selectors', 'a\ufe00\u{E0100}', 'a\\u{fe00}\\u{e0100}'],
  ['an emoji keeps its selector', '⚠\ufe0f careful'],
  ['no more than one of them', '⚠\ufe0f\ufe0f', '⚠\ufe0f\\u{fe0f}'],
  ['and no letter has one', 'a\ufe0f$\ufe0f', 'a\\u{fe0f}$\\u{fe0f}'],
  ['a symbol of two units', '🌡\ufe0f'],
  ['half a pair', 'a\ud800b', 'a\\u{d800}b'],
  ['the replacement character itself', 'a\ufffdb'],
  ['empty', ''],
];

describe('FindingS4 text before a person', () => {
  it('FindingS4 what has no shape is written out', () => {
    for (const [name, text, line = text, lines = line] of CASES) {
      assert.equal(visible(text, false), line, name);
      assert.equal(visible(text, true), lines, name);
      assert.equal(visible(line, false), line, `${name}, again`);
    }
  });

  it('FindingS4 lines are counted as they are shown', () => {
    assert.deepEqual(visibleLines('a\nb\n'), ['a', 'b']);
    assert.deepEqual(visibleLines('a\rb\u2028c'), ['a\\u{d}b\\u{2028}c']);
    assert.deepEqual(visibleLines(''), ['']);
    assert.deepEqual(visibleLines('\n\n'), ['', '']);
  });

  it('FindingS4 nothing acts in a notification, and what is cut is said', () => {
    // What VS Code makes links of, in src/vs/base/common/linkedText.ts.
    const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^\)\s]+)(?: (["'])(.+?)(\3))?\)/i;
    const attack = 'make [clean](command:workbench.action.terminal.new "x") [a](https://x.example)\nrm -rf ~';
    assert.match(attack, LINK);
    assert.doesNotMatch(plain(attack), LINK);
    assert.ok(plain(attack).endsWith('\\u{a}rm -rf ~'));
    assert.doesNotMatch(plain(attack), /\n/);
    assert.equal(plain('x'.repeat(1300)), `${'x'.repeat(300)}… (1000 more characters)`);
  });
});
