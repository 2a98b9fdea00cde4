// What a person does with Tandem on a day, in a real VS Code that is typed and clicked in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { gate } from './model.mjs';
import { begin, serverOf, sleeps, unable } from './person.mjs';

const skip = unable();
const CALC = 'package calc\n\nfunc add(a, b int) int { return a - b }\n\n// below\n';
const ALIKE = 'start {\n\tone();\n\ttwo();\n\tthree();\n\tfour();\n}\n';
const MEND = { path: 'calc.go', old_text: 'return a - b', new_text: 'return a + b' };

describe('a day with Tandem', { skip, timeout: 600_000 }, () => {
  let p;
  before(async () => {
    const files = { 'calc.go': CALC, 'alike.txt': ALIKE, 'crlf.txt': 'one\r\ntwo\r\nthree\r\n', 'closed.txt': 'shut\n', 'mixed.txt': 'top\nmiddle\nend\n', 'here.txt': 'one\ntwo\n', 'old.txt': 'old\n' };
    p = await begin({ files: { ...files, 'dirty.txt': 'first\nsecond\n', 'turn.txt': 'one\ntwo\nthree\n', 'hunks.txt': 'a\nb\nc\nd\ne\nf\ng\n' } });
    await p.openChat();
  });
  after(() => p?.end());
  afterEach(async (t) => t.error && (await p?.picture(`failed ${t.name}`)));

  const disk = (name) => readFile(join(p.editor.workspace, name), 'utf8');
  const last = () => p.model.requests.at(-1).messages.at(-1);

  const fresh = (mode) => p.fresh(mode);

  /** Saves the file that is open; gives what is on the disk when that is what is wanted. */
  async function saved(name, wanted) {
    await p.page.keyboard.press('Control+S');
    await p.until(async () => (await disk(name)) === wanted, async () => `${name} is ${JSON.stringify(await disk(name))}`);
  }

  it('an edit lands while the person types in the same file', async () => {
    await fresh('auto');
    await p.openFile('calc.go');
    p.model.reply([{ call: 'read_file', args: { path: 'calc.go' } }]);
    await p.ask('add is wrong');
    await p.model.asked(1);
    await p.caretAfter('// below');
    const typed = ' and what is typed meanwhile stays, every single letter of it, in its order';
    const half = typed.length / 2 | 0;
    await p.page.keyboard.type(typed.slice(0, half), { delay: 15 });
    // The edit is on its way while the keys go on.
    p.model.reply(['Mended.', { call: 'edit_file', args: MEND }], ['Done.']);
    await p.page.keyboard.type(typed.slice(half), { delay: 25 });
    await p.sees('Done.');
    await p.idle();
    assert.equal(await p.call('Edit calc.go').getAttribute('data-status'), 'done');
    assert.match(await p.call('Edit calc.go').locator('.counts').innerText(), /\+1\s*−1/);
    await saved('calc.go', CALC.replace('a - b', 'a + b').replace('// below', `// below${typed}`));
  });

  it('F204 a denied edit stays out, and the model is told', async () => {
    await fresh('ask');
    await p.openFile('calc.go');
    const text = await disk('calc.go');
    p.model.reply(
      [{ call: 'read_file', args: { path: 'calc.go' } }],
      [{ call: 'edit_file', args: { path: 'calc.go', old_text: 'return a + b', new_text: 'return a * b' } }],
      ['Then not.'],
    );
    await p.ask('multiply');
    const card = p.chat.locator('.question.open');
    await card.locator('.diff .add', { hasText: 'return a * b' }).waitFor();
    await p.answer('Reject');
    await p.sees('Then not.');
    await p.idle();
    assert.equal(await p.call('Edit calc.go').getAttribute('data-status'), 'denied');
    await p.sees('You answered: Reject', '.answered');
    const told = p.model.requests.at(-1).messages.filter((m) => m.role === 'tool').at(-1);
    assert.match(told.content, /^\[GATE_DENIED\]/);
    assert.equal(await disk('calc.go'), text);
  });

  it('a running command shows what it prints, and Escape stops it', async () => {
    await fresh('ask');
    p.model.reply([{ call: 'bash', args: { command: 'echo begun; exec sleep 8123457' } }]);
    await p.ask('wait long');
    // Word for word, before anything runs.
    await p.sees('echo begun; exec sleep 8123457', '.question.open .command');
    await p.picture('S4 question');
    await p.answer('Allow');
    await p.sees('begun', '.output');
    await p.until(() => sleeps(8123457), () => 'it does not sleep');
    await p.input().focus();
    await p.input().press('Escape');
    await p.sees('Stopped.', '.notice');
    assert.equal(await p.call('sleep').getAttribute('data-status'), 'stopped');
    await p.until(() => !sleeps(8123457), () => 'it still sleeps');
  });

  it('FindingS4 a question out of sight is a notification, which leads to it and can only refuse', async () => {
    await fresh('ask');
    p.model.reply([{ call: 'bash', args: { command: 'echo seen > seen.txt' } }], ['It is done.']);
    await p.ask('make a file');
    await p.chat.locator('.question.open').waitFor();
    await p.leaveChat();
    const toast = p.page.locator('.notifications-toasts .notification-toast', { hasText: 'echo seen > seen.txt' });
    await toast.locator('.monaco-button', { hasText: /^Show$/ }).waitFor();
    assert.deepEqual((await toast.locator('.monaco-button').allInnerTexts()).map((text) => text.trim()), ['Show', 'Reject']);
    await p.picture('S4 toast');
    await toast.locator('.monaco-button', { hasText: /^Show$/ }).click();
    await p.answer('Allow');
    await p.until(() => readdirSync(p.editor.workspace).includes('seen.txt'), () => 'the command did not run');
    // What was said before is there when the view comes back.
    await p.sees('make a file', '.bubble');
    await p.sees('It is done.');
    await p.sees('You answered: Allow', '.answered');

    p.model.reply([{ call: 'bash', args: { command: 'echo [safe](command:workbench.action.quit)\ntouch gone.txt' } }], ['Not that.']);
    await p.ask('make another');
    await p.chat.locator('.question.open').waitFor();
    await p.leaveChat();
    const other = p.page.locator('.notifications-toasts .notification-toast', { hasText: 'touch gone.txt' });
    await other.locator('.notification-list-item-message', { hasText: 'echo [safe]\\u{28}command:workbench.action.quit)\\u{a}touch gone.txt' }).waitFor();
    assert.equal(await other.locator('.notification-list-item-message a').count(), 0);
    await other.locator('.monaco-button', { hasText: /^Reject$/ }).click();
    await p.openChat();
    await p.sees('Not that.');
    await p.sees('You answered: Reject', '.answered');
    assert.ok(!readdirSync(p.editor.workspace).includes('gone.txt'));
  });

  it('FindingS17 a change that is too large for the chat is opened before it can be allowed', async () => {
    await fresh('ask');
    const content = Array.from({ length: 500 }, (_, i) => `line ${i}\n`).join('');
    p.model.reply([{ call: 'write_file', args: { path: 'large.txt', content } }], ['It is there.']);
    await p.ask('write much');
    await p.sees('Open it to allow it.', '.question.open');
    assert.ok(await p.chat.locator('.question.open button', { hasText: /^Allow$/ }).isDisabled());
    await p.chat.locator('.question.open button.link').first().click();
    await p.page.locator('.tab.active', { hasText: 'large.txt (now ↔ proposed)' }).waitFor();
    await p.page.locator('.part.editor .monaco-editor .view-line', { hasText: /^line.499$|^line.0$/ }).first().waitFor();
    await p.picture('S17 proposal');
    await p.answer('Allow');
    await p.sees('It is there.');
    await p.until(async () => (await disk('large.txt').catch(() => '')) === content, () => 'it is not written');
    await p.leaveFields();
    await p.page.locator('.tab.active .action-label[aria-label^="Close"]').click();
  });

  it('one change is accepted and another rejected', async () => {
    await fresh('auto');
    await p.openFile('hunks.txt');
    p.model.reply(
      [{ call: 'read_file', args: { path: 'hunks.txt' } }],
      [{ call: 'edit_file', args: { path: 'hunks.txt', old_text: 'a\n', new_text: 'AAA\n' } }],
      [{ call: 'edit_file', args: { path: 'hunks.txt', old_text: 'g\n', new_text: 'GGG\n' } }],
      ['Both changed.'],
    );
    await p.ask('louder');
    await p.sees('Both changed.');
    await p.sees('1 file changed', '.changes');
    await p.marks(2);
    await p.lens('Accept').first().click();
    await p.marks(1);
    await p.lens('Reject').first().click();
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    await saved('hunks.txt', 'AAA\nb\nc\nd\ne\nf\ng\n');
  });

  it('FindingU2 lines that go beside lines that begin alike: the chat, the lens and the mark say the same', async () => {
    await fresh('auto');
    await p.openFile('alike.txt');
    p.model.reply(
      [{ call: 'read_file', args: { path: 'alike.txt' } }],
      [{ call: 'edit_file', args: { path: 'alike.txt', old_text: '\ttwo();\n\tthree();\n', new_text: '\tthree();\n' } }],
      ['One call less.'],
    );
    await p.ask('without two');
    await p.sees('One call less.');
    await p.idle();
    await p.sees('1 file changed', '.changes');
    const counts = (locator) => locator.innerText().then((text) => text.replace(/\s+/g, ' '));
    assert.equal(await counts(p.call('Edit alike.txt').locator('.counts')), '+0 −1');
    assert.equal(await counts(p.chat.locator('.changes .counts').first()), '+0 −1');
    await p.lens('\\+0 −1').waitFor();
    await p.picture('U2 deletion');
    // The line that went is told of behind one that stays; it is the only one.
    const behind = await p.page
      .locator('.part.editor .monaco-editor .view-line span')
      .evaluateAll((all) => all.map((e) => getComputedStyle(e, '::after').content).filter((text) => text.includes('−')));
    assert.deepEqual([...new Set(behind)], ['"− two();"']);
    await p.lens('Reject').click();
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    await saved('alike.txt', ALIKE);
  });

  it('the agent asks back, and goes on with the answer', async () => {
    await fresh('ask');
    const options = [{ id: 'tea', label: 'Tea' }, { id: 'milk', label: 'Milk' }];
    p.model.reply([{ call: 'clarify', args: { question: 'What shall it be?', options } }]);
    await p.ask('put something in');
    await p.sees('What shall it be?', '.question.open');
    p.model.reply(['As you like.']);
    await p.answer('Milk');
    await p.sees('As you like.');
    await p.sees('What shall it be? Milk', '.answered');
    const told = p.model.requests.at(-1).messages.at(-1);
    assert.equal(told.role, 'tool');
    assert.match(told.content, /milk/i);
  });

  it('a turn is taken back and own typing stays; all of another is accepted in the chat', async () => {
    await fresh('auto');
    const edit = (from, to) => [{ call: 'edit_file', args: { path: 'turn.txt', old_text: from, new_text: to } }];
    await p.openFile('turn.txt');
    p.model.reply([{ call: 'read_file', args: { path: 'turn.txt' } }], edit('one\n', 'uno\n'), edit('three\n', 'tre\n'), ['Translated.']);
    await p.ask('translate');
    await p.sees('Translated.');
    await p.reads('uno\ntwo\ntre\n');
    await p.caretAfter('two');
    await p.page.keyboard.type(' mine');
    await p.command('Tandem: Undo Last Turn');
    await p.reads('one\ntwo mine\nthree\n');
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });

    p.model.reply([{ call: 'read_file', args: { path: 'turn.txt' } }], edit('one\n', 'eins\n'), ['Again.']);
    await p.ask('to German then');
    await p.sees('Again.');
    await p.idle();
    await p.chat.locator('.changes .judge button', { hasText: 'Accept' }).click();
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
    await p.goTo(1);
    await saved('turn.txt', 'eins\ntwo mine\nthree\n');
  });

  it('F158 a patch moves one file and deletes another, the review says so, and all of it is taken back', async () => {
    await fresh('auto');
    await p.openFile('here.txt');
    const patch = '*** Begin Patch\n*** Update File: here.txt\n*** Move to: sub/there.txt\n-two\n+2\n*** Delete File: old.txt\n*** End Patch';
    p.model.reply(
      [{ call: 'read_file', args: { path: 'here.txt' } }, { call: 'read_file', args: { path: 'old.txt' } }],
      [{ call: 'patch', args: { patch } }],
      ['Tidied.'],
    );
    await p.ask('tidy up');
    await p.sees('Tidied.');
    await p.idle();
    const fates = p.chat.locator('.changes .fate');
    await fates.filter({ hasText: 'moved from here.txt' }).waitFor({ state: 'attached' });
    await fates.filter({ hasText: 'deleted' }).waitFor({ state: 'attached' });
    const there = () => readdirSync(p.editor.workspace, { recursive: true }).filter((f) => /(here|old)\.txt$/.test(f)).sort().join(' ');
    assert.equal(there(), join('sub', 'there.txt'));
    await p.reads('one\n2\n');
    await p.command('Tandem: Undo Last Turn');
    await p.until(() => there() === 'here.txt old.txt', () => `there are ${there()}`);
    await p.reads('one\ntwo\n');
    assert.equal(await disk('old.txt'), 'old\n');
    await p.chat.locator('.changes').waitFor({ state: 'hidden' });
  });

  it('undo goes back over own edits and the agent\'s, one step each', async () => {
    await fresh('auto');
    await p.openFile('mixed.txt');
    p.model.reply([{ call: 'read_file', args: { path: 'mixed.txt' } }]);
    await p.ask('change the middle');
    await p.model.asked(p.model.requests.length);
    await p.caretAfter('top');
    await p.page.keyboard.type(' mine');
    p.model.reply([{ call: 'edit_file', args: { path: 'mixed.txt', old_text: 'middle', new_text: 'centre of it all' } }], ['Changed.']);
    await p.sees('Changed.');
    await p.reads('top mine\ncentre of it all\nend\n');
    await p.caretAfter('end');
    await p.page.keyboard.type(' yours');
    await p.reads('top mine\ncentre of it all\nend yours\n');
    await p.page.keyboard.press('Control+Z');
    await p.reads('top mine\ncentre of it all\nend\n');
    await p.page.keyboard.press('Control+Z');
    await p.reads('top mine\nmiddle\nend\n');
    await p.page.keyboard.press('Control+Z');
    await p.reads('top\nmiddle\nend\n');
    await p.page.keyboard.press('Control+Shift+Z');
    await p.page.keyboard.press('Control+Shift+Z');
    await p.reads('top mine\ncentre of it all\nend\n');
  });

  it('a file that is not saved is read and edited as it is on the screen', async () => {
    await fresh('auto');
    await p.openFile('dirty.txt');
    await p.caretAfter('first');
    await p.page.keyboard.type(' unsaved');
    p.model.reply(
      [{ call: 'read_file', args: { path: 'dirty.txt' } }],
      [{ call: 'edit_file', args: { path: 'dirty.txt', old_text: 'first unsaved', new_text: 'first kept' } }],
      ['Changed the buffer.'],
    );
    await p.ask('change the first line');
    await p.sees('Changed the buffer.');
    await p.reads('first kept\nsecond\n');
    assert.equal(await disk('dirty.txt'), 'first\nsecond\n', 'nobody saved it');
    await saved('dirty.txt', 'first kept\nsecond\n');
  });

  it('a file keeps its line endings', async () => {
    await fresh('auto');
    await p.openFile('crlf.txt');
    p.model.reply(
      [{ call: 'read_file', args: { path: 'crlf.txt' } }],
      [{ call: 'edit_file', args: { path: 'crlf.txt', old_text: 'two\n', new_text: 'two\nand a half\n' } }],
      ['One line more.'],
    );
    await p.ask('one line more');
    await p.sees('One line more.');
    await saved('crlf.txt', 'one\r\ntwo\r\nand a half\r\nthree\r\n');
  });

  // That no tab opens at all is held in the extension host, where the time can be measured: VS Code itself opens one for a
  // document that stays unsaved for most of a second, on a busy machine.
  it('a file that is not open is changed and saved, and the tab in front stays', async () => {
    await fresh('auto');
    const front = () => p.page.locator('.tab.active').allInnerTexts();
    const before = await front();
    p.model.reply(
      [{ call: 'read_file', args: { path: 'closed.txt' } }],
      [{ call: 'edit_file', args: { path: 'closed.txt', old_text: 'shut', new_text: 'ajar' } }],
      [{ call: 'write_file', args: { path: 'made/new.txt', content: 'fresh\n' } }],
      ['Both are done.'],
    );
    await p.ask('open the door');
    await p.sees('Both are done.');
    await p.idle();
    assert.equal(await disk('closed.txt'), 'ajar\n');
    assert.equal(await disk('made/new.txt'), 'fresh\n');
    assert.deepEqual(await front(), before);
    await p.chat.locator('.tool', { hasText: 'closed.txt' }).last().locator('a.file').click();
    await p.page.locator('.tab.active', { hasText: 'closed.txt' }).waitFor();
  });

  it('FindingU1 a killed server is started again, with the conversation, and asked again', async () => {
    await fresh('auto');
    p.model.reply(['Half an answer', gate().promise]);
    await p.ask('talk');
    await p.sees('Half an answer');
    process.kill(await serverOf(p.editor), 'SIGKILL');
    // The conversation is that of before, with what was read of the answer and what became of the turn.
    await p.sees('The program ended during this turn', '.notice');
    await p.sees('Half an answer');
    await p.until(async () => (await p.chat.locator('select[aria-label="Mode"]').isEnabled()), () => 'no server came back');
    assert.equal(await p.chat.locator('select[aria-label="Mode"]').inputValue(), 'auto');
    assert.equal(await p.chat.locator('.ending').count(), 0);
    p.model.reply(['Here again.']);
    await p.ask('are you there?');
    await p.sees('Here again.');
    await p.sees('Half an answer');
    assert.equal(await p.chat.locator('.bubble', { hasText: 'talk' }).count(), 1);
    const said = p.model.requests.at(-1).messages.filter((m) => m.role === 'user').map((m) => m.content);
    assert.ok(said.some((text) => /talk/.test(text)), 'the model knows what was said before');
  });

  it('F200 a service that fails is said with what to do, and tried again', async () => {
    await fresh('auto');
    p.model.reply({ status: 401, message: 'Incorrect API key provided.' });
    await p.ask('hello');
    await p.sees('401', '.ending');
    await p.chat.locator('.ending button', { hasText: 'Set API Key' }).waitFor();
    assert.equal(await p.chat.locator('.ending').count(), 1);
    p.model.reply({ status: 400, message: 'No such model.' }, ['Better now.']);
    await p.ask('hello again');
    await p.sees('No such model', '.ending');
    await p.chat.locator('.ending button', { hasText: 'Try Again' }).last().click();
    await p.sees('Better now.');
  });

  it('prompts come back with the arrow key, and a half-written one is kept', async () => {
    await fresh('auto');
    await p.input().fill('half');
    await p.input().press('Home');
    await p.input().press('ArrowUp');
    assert.equal(await p.input().inputValue(), 'hello again');
    await p.input().press('End');
    await p.input().press('ArrowDown');
    assert.equal(await p.input().inputValue(), 'half');
    await p.leaveChat();
    await p.openChat();
    assert.equal(await p.input().inputValue(), 'half');
    await p.input().fill('');
  });

  it('text of a model is never markup', async () => {
    await fresh('auto');
    p.model.reply(['<img src=x onerror="document.title=1"> <b>bold</b> [x](javascript:alert(1)) `a<b`\n\n<script>document.title=2</script>\n\nend of it']);
    await p.ask('attack');
    await p.sees('end of it');
    const html = p.chat.locator('.agent').last();
    assert.equal(await html.locator('img, script, b, a').count(), 0);
    assert.match(await html.innerText(), /<b>bold<\/b>[\s\S]*a<b[\s\S]*<script>/);
    assert.equal(last().role, 'user');
  });
});
