// A person mentions a symbol, what is wrong and what is selected: the list offers each, and the model gets it with the prompt.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { begin, unable } from './person.mjs';

const CALC = 'export function total(a: number): number { return a; }\n\nexport const sum: number = total(missing);\n';

describe('mentions', { skip: unable(), timeout: 300_000 }, () => {
  let p;
  before(async () => {
    p = await begin({ files: { 'tsconfig.json': '{"compilerOptions": {"strict": true}}\n', 'calc.ts': CALC } });
    await p.openFile('calc.ts');
    await p.page.locator('.squiggly-error').waitFor(); // the server of TypeScript is there
    await p.goTo(1);
    await p.page.keyboard.type('export const typed = 1;');
    await p.page.keyboard.press('Enter');
    await p.openChat();
  });
  after(() => p?.end());
  afterEach(async (t) => t.error && (await p?.picture(`failed ${t.name}`)));

  /** Writes a prompt up to the mention, takes what the list offers for it, goes on and sends it. The model has got what it gives. */
  async function mention(words, letters, offered, rest) {
    await p.input().fill('');
    await p.input().pressSequentially(`${words} ${letters}`);
    await p.chat.locator('[role="option"][aria-selected="true"]', { hasText: offered }).waitFor();
    await p.picture(`mention ${letters}`);
    await p.page.keyboard.press('Enter');
    await p.page.keyboard.type(rest);
    p.model.reply([`About ${letters}.`]);
    await p.page.keyboard.press('Enter');
    await p.sees(`About ${letters}.`);
    await p.idle();
    return p.model.requests.at(-1).messages.findLast((m) => m.role === 'user').content;
  }

  it('U10 a symbol of the language server, with its lines as they are in the buffer', async () => {
    const got = await mention('explain', '@symbol:tot', /total\s*symbol/, 'please');
    assert.match(got, /explain @symbol:\S*total please/);
    assert.match(got, /<attached path="calc\.ts" lines="\d+-\d+">[^]*1 \| export const typed = 1;\n[^]*2 \| export function total\([^]*<\/attached>/);
  });

  it('U10 what is wrong', async () => {
    const got = await mention('mend', '@dia', /diagnostics/, 'now');
    assert.match(got, /mend @diagnostics now/);
    assert.match(got, /<attached path="diagnostics">\ncalc\.ts:4 error: Cannot find name 'missing'\.[^\n]*\n<\/attached>/);
  });

  it('U10 what is selected', async () => {
    await p.goTo(2);
    await p.page.keyboard.press('Shift+End');
    const got = await mention('what is', '@sel', /selection/, 'here');
    assert.match(got, /what is @selection here/);
    assert.match(got, /<selection path="calc\.ts" lines="2">\nexport function total\(a: number\): number \{ return a; \}\n<\/selection>/);
  });
});
