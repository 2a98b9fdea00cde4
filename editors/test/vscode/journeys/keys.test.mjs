// The promise itself: whoever types while the agent edits the same file loses nothing, and neither does the agent.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { begin, unable } from './person.mjs';

const skip = unable();

const KEYS = 500;
const EDITS = 30;
/** The line that is typed before, counted from 0; the edits are on lines on both sides of it. */
const CARET = 31;
const LINES = Array.from({ length: 2 * EDITS }, (_, i) => `line ${i} 😀 <${String(i).padStart(2, '0')}>`);
/** Every third edit brings a line more, above the caret and below it. */
const edited = (n) => (n % 3 === 0 ? `${LINES[2 * n]} edited\nand a line after it` : `${LINES[2 * n]} edited`);

describe('typing while the agent edits', { skip, timeout: 240_000 }, () => {
  let p;
  before(async () => {
    p = await begin({ files: { 'typing.txt': LINES.join('\n') + '\n' } });
    await p.openChat();
    await p.mode('auto');
  });
  after(() => p?.end());

  const disk = () => readFile(join(p.editor.workspace, 'typing.txt'), 'utf8');

  it(`of ${KEYS} keystrokes during ${EDITS} edits none is lost, and every edit lands once`, async (t) => {
    const { keyboard } = p.page;
    let released = 0;
    const release = () => {
      const args = { path: 'typing.txt', old_text: `${LINES[2 * released]}\n`, new_text: `${edited(released)}\n` };
      p.model.reply([{ call: 'edit_file', args }]);
      released++;
    };
    /** Waits until everything that was released has been done and told to the model. */
    const settled = () => p.model.asked(released + 2);
    /** What the model has been told of its edits; one that could not be made begins with its code. */
    const answers = () => p.model.requests.at(-1).messages.filter(({ role }) => role === 'tool').slice(1).map((m) => m.content);
    const landed = () => answers().map((text) => !text.startsWith('['));
    const above = () => landed().filter((yes, n) => yes && 2 * n < CARET && n % 3 === 0).length;

    await p.openFile('typing.txt');
    p.model.reply([{ call: 'read_file', args: { path: 'typing.txt' } }]);
    await p.ask('mark the lines');
    await settled();
    await p.goTo(CARET + 1);

    const keys = 'the quick brown fox jumps over it again.\n'.repeat(KEYS).slice(0, KEYS);
    const begun = Date.now();
    for (let i = 0; i < KEYS; i++) {
      if (i % 16 === 8 && released < EDITS) {
        release();
      }
      // At the end of a sentence a person takes breath.
      await (keys[i] === '\n' ? keyboard.press('Enter', { delay: 200 }) : keyboard.press(keys[i] === ' ' ? 'Space' : keys[i]));
      if (i === 150 || i === 350) {
        await keyboard.press('Control+S');
      } else if (i === 200) {
        for (const key of ['o', 'o', 'p', 's', ...Array(4).fill('Backspace')]) {
          await keyboard.press(key);
        }
      } else if (i === 280) {
        // The last step is taken back and done again: it may be the agent's or the person's.
        await settled();
        await keyboard.press('Control+Z');
        await keyboard.press('Control+Shift+Z');
        const typed = keys.slice(0, i + 1).split('\n');
        await p.goTo(CARET + 1 + above() + typed.length - 1);
        for (let n = 0; n < typed.at(-1).length; n++) {
          await keyboard.press('ArrowRight');
        }
      }
    }
    const ms = Date.now() - begun;
    assert.equal(released, EDITS);
    p.model.reply(['All are in.']);
    await p.sees('All are in.');
    await p.idle();

    assert.equal(answers().length, EDITS);
    const made = landed();
    const lines = LINES.map((line, i) => (i % 2 === 0 && made[i / 2] ? edited(i / 2) : line));
    lines[CARET] = keys + lines[CARET];
    const want = lines.join('\n') + '\n';
    await keyboard.press('Control+S');
    await p.until(async () => (await disk()) === want, async () => `the file is\n${await disk()}\nand not\n${want}`);
    const reported = answers().filter((_, n) => !made[n]);
    t.diagnostic(`${KEYS} keys in ${ms} ms, ${EDITS - reported.length} of ${EDITS} edits landed`);
    reported.forEach((text) => t.diagnostic(`reported: ${text.slice(0, 200)}`));
    // On a machine that is slower than the person types, an edit may find no moment; the model is told, and tries again.
    assert.ok(reported.every((text) => text.startsWith('[TIMEOUT]')), reported.join('\n'));
    assert.ok(reported.length <= EDITS / 2, `${reported.length} edits did not land`);
  });
});
