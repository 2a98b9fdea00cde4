// The chat's web page by itself, in a browser, with a test in the place of the extension: what no server sends yet, what
// must be fast, and what a person can do with the keyboard alone.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { browser, bundle, extension } from '../drive.mjs';
import { unable } from './person.mjs';

const skip = unable();
const SETUP = {
  backend: 'running',
  folder: '/project',
  trusted: true,
  can: { mentions: true, steer: false, review: true },
  context: { uri: 'file:///project/a.go', label: 'a.go' },
};
const SESSION = {
  type: 'session',
  session: {
    sessionId: 's',
    modes: { currentModeId: 'ask', availableModes: [{ id: 'ask', name: 'Ask' }, { id: 'auto', name: 'Auto' }] },
    models: { currentModelId: 'm', availableModels: [{ modelId: 'm', name: 'm' }] },
  },
};
const EMPTY = { items: [], steering: [], running: false, turn: 0, modes: [], models: [], plan: [], commands: [], before: 0, changes: [], next: 1, echo: '' };

const update = (u) => ({ type: 'update', update: u });
const say = (text) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const call = (toolCallId, more = {}) => update({ sessionUpdate: 'tool_call_update', toolCallId, ...more });
const end = { type: 'ended', result: { stopReason: 'end_turn' } };

describe('the page of the chat', { skip, timeout: 120_000 }, () => {
  let chromium;
  let page;
  let errors;

  before(async () => {
    await bundle();
    const require = createRequire(join(extension, 'package.json'));
    const args = ['--disable-gpu', '--no-first-run', '--disable-background-networking'];
    const how = { executablePath: browser(), headless: true, chromiumSandbox: false, args };
    chromium = await require('playwright-core').chromium.launch(how);
  });
  after(() => chromium?.close());

  beforeEach(async () => {
    await page?.close();
    page = await chromium.newPage({ viewport: { width: 420, height: 700 } });
    page.setDefaultTimeout(10_000);
    errors = [];
    page.on('pageerror', (err) => errors.push(String(err)));
    await page.setContent('<!DOCTYPE html><html lang="en"><body></body></html>');
    await page.addStyleTag({ content: await readFile(join(extension, 'dist/webview/main.css'), 'utf8') });
    await page.evaluate(() => {
      window.posted = [];
      let saved;
      window.acquireVsCodeApi = () => ({
        postMessage: (m) => window.posted.push(m),
        getState: () => saved,
        setState: (s) => (saved = s),
      });
    });
    await page.addScriptTag({ content: await readFile(join(extension, 'dist/webview/main.js'), 'utf8') });
    assert.deepEqual(await posted(), [{ type: 'ready' }]);
    await send({ type: 'state', state: EMPTY, setup: SETUP, history: ['older', 'old'] });
    await events(SESSION);
    // Messages of a window arrive later than the call that posts them: keys before the set-up would complete nothing.
    await page.locator('textarea[placeholder*="@ names"]').waitFor();
  });

  const send = (...messages) => page.evaluate((all) => all.forEach((m) => window.postMessage(m, '*')), messages);
  const events = (...all) => send(...all.map((event) => ({ type: 'event', event })));
  const posted = () => page.evaluate(() => JSON.parse(JSON.stringify(window.posted.splice(0))));
  const input = () => page.locator('textarea');
  const counts = (selector) => page.waitForFunction((s) => document.querySelector(s)?.disabled === false, selector);

  it('FaultV1 draws tables, line ends, boxes of tasks and bare links', async () => {
    await events({ type: 'prompt', text: 'go' });
    for (const part of ['first\nsecond\n\n| name | count |\n|---|--:|\n| `a` | 1', ' |\n| b | 2 |\n\n- [x] done\n- [ ] open\n\nsee https://example', '.org/a and ~~not~~ this.\n\n```diff\n+new\n-old\n```\n']) {
      await events(say(part));
    }
    await events(end);
    const answer = page.locator('.markdown');
    await answer.locator('a', { hasText: 'https://example.org/a' }).waitFor();
    assert.deepEqual(await answer.locator('table tr').allInnerTexts(), ['name\tcount', 'a\t1', 'b\t2']);
    assert.equal(await answer.locator('td.align-right').count(), 2);
    assert.equal(await answer.locator('p').first().innerText(), 'first\nsecond');
    assert.deepEqual(await answer.locator('li.task input').evaluateAll((all) => all.map((box) => box.checked)), [true, false]);
    assert.equal(await answer.locator('del').innerText(), 'not');
    assert.equal(await answer.locator('.hljs-addition').innerText(), '+new');
  });

  it('FaultV1 reads character references and the HTML that answers use, and shows other tags as text', async () => {
    const rows = [
      ['a &amp; b &lt;x&gt; &copy; &#8212; AT&T &nosuch;', 'a & b <x> © — AT&T &nosuch;', ''],
      ['`&amp;`', '&amp;', 'code'],
      ['one<br>two<br/>three', 'one\ntwo\nthree', 'br br'],
      ['| a |\n|---|\n| b<br>c |', 'a\nb\nc', 'table thead tr th tbody tr td br'],
      ['<kbd>Ctrl</kbd>+<kbd>**C**</kbd>, H<sub>2</sub>O', 'Ctrl+C, H2O', 'kbd kbd strong sub'],
      ['Use Vec<String>, <b>, <img src=x onerror=y>', 'Use Vec<String>, <b>, <img src=x onerror=y>', ''],
      ['a<!-- hidden -->b\n\n<!-- block -->\n\nc', 'ab\n\nc', ''],
      ['<details>\n<summary>More</summary>\n\ninside *it*\n\n</details>', 'More\n\ninside it', 'strong em'],
      ['- [x] done\n\n- [ ] open', 'done\nopen', 'ul li input li input'],
      ['1. [ ] a\n   - [x] b', 'a\nb', 'ol li input ul li input'],
      ['<div align="center">\n\ninside\n\n</div>', '<div align="center">\n\ninside\n\n</div>', ''],
    ];
    for (const [source, text, elements] of rows) {
      await events({ type: 'prompt', text: 'go' }, say(source), end);
      const answer = page.locator('.markdown').last();
      await page.waitForFunction((n) => document.querySelectorAll('.markdown').length === n, rows.findIndex((r) => r[0] === source) + 1);
      const seen = await answer.evaluate((e) => ({
        text: e.innerText.replaceAll('\u00a0', ' ').trim(),
        elements: [...e.querySelectorAll('*')].map((x) => x.localName).filter((n) => !/^(div|span|p)$/.test(n)).join(' '),
      }));
      assert.equal(seen.text.replace(/\n+/g, '\n'), text.replace(/\n+/g, '\n'), source);
      assert.equal(seen.elements, elements, source);
    }
  });

  it('FaultV16 says in a folder that is not trusted why a tool is missing', async () => {
    const refused = call('1', { title: 'Edit a.go', kind: 'edit', status: 'failed', _meta: { tandem: { error: 'TOOL_NOT_FOUND', summary: 'This tool is disabled in the settings.' } } });
    await send({ type: 'setup', setup: { ...SETUP, trusted: false } });
    await events({ type: 'prompt', text: 'go' }, refused);
    await page.locator('.failure', { hasText: 'Restricted Mode' }).waitFor();
    assert.equal(await page.getByText('disabled in the settings').count(), 0);
  });

  it('F237 draws what a tool renders, and an unknown widget as its text', async () => {
    const widgets = [
      { type: 'progress', value: 3, total: 4 },
      { type: 'collapsible', title: 'More', markdown: 'inside *it*' },
      { type: 'of_tomorrow', title: 'Ask', text: 'next year' },
    ];
    await events(call('1', { title: 'Test', status: 'in_progress', _meta: { tandem: { render: { markdown: '`npm test` → **ok**', widgets } } } }));
    await page.locator('.tool progress[value="3"][max="4"]').waitFor();
    assert.equal(await page.locator('.tool-body strong').innerText(), 'ok');
    assert.equal(await page.locator('.tool-body p', { hasText: 'next year' }).innerText(), 'Ask next year');
    await page.locator('.tool-body summary', { hasText: 'More' }).click();
    assert.equal(await page.locator('.tool-body em').innerText(), 'it');
  });

  it('F237 does not say twice what the row says already', async () => {
    const unified = '@@ -1 +1 @@\n-a\n+b\n';
    const render = (markdown, widget) => ({ render: { markdown, widgets: [widget] } });
    const output = { type: 'collapsible', title: 'Output', markdown: '```\nno_such thing\n```' };
    await events(
      call('1', {
        title: 'Edit a.go', kind: 'edit', status: 'completed',
        content: [{ type: 'diff', path: '/project/a.go', _meta: { tandem: { unified } } }],
        _meta: { tandem: { summary: 'Modified: a.go (+1 -1)', ...render('Modified: a.go (+1 -1)', { type: 'diff', path: '/project/a.go' }) } },
      }),
      call('2', {
        title: '$ x', kind: 'execute', status: 'failed', content: [{ type: 'content', content: { type: 'text', text: 'no_such thing' } }],
        _meta: { tandem: { error: 'EXIT_CODE_1', summary: '$ x (EXIT_CODE_1)', ...render('**EXIT_CODE_1** $ x (EXIT\\_CODE\\_1)', output) } },
      }),
    );
    await page.locator('.output', { hasText: 'no_such thing' }).waitFor();
    assert.equal(await page.locator('.diff').count(), 1);
    assert.equal(await page.locator('.tool-body .markdown, .tool-body details').count(), 0);
    await page.locator('.state', { hasText: 'exit 1' }).waitFor();
  });

  it('shows what is said to a running turn until it joins, and what the session has cost', async () => {
    await send({ type: 'setup', setup: { ...SETUP, can: { ...SETUP.can, steer: true } } });
    await events({ type: 'prompt', text: 'go' }, say('I work.'));
    await page.locator('textarea[placeholder="Add a message while it works"]').waitFor();
    await input().fill('also this');
    await page.getByRole('button', { name: 'Send (Enter)' }).click();
    assert.deepEqual(await posted(), [{ type: 'ask', text: 'also this' }]);
    await events({ type: 'steer', text: 'also this' }, say(' On.'));
    await page.locator('.user.waiting', { hasText: 'also this' }).waitFor();
    assert.deepEqual(await page.locator('.rows > *').allInnerTexts().then((all) => all.map((text) => text.split('\n').at(-1))), [
      'go',
      'I work. On.',
      'also this',
    ]);
    await events(
      update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'also this' } }),
      update({ sessionUpdate: 'usage_update', usage: { inputTokens: 900, outputTokens: 100, totalTokens: 1000 }, cost: { amount: 0.25, currency: 'USD' } }),
      say('Fine.'),
      end,
    );
    await page.locator('.usage', { hasText: '1.0k tokens · $0.250' }).waitFor();
    assert.equal(await page.locator('.user.waiting').count(), 0);
    assert.equal(await page.locator('.bubble', { hasText: 'also this' }).count(), 1);
  });

  it('asks back with options and with words of one\'s own', async () => {
    const params = { sessionId: 's', toolCallId: '1', question: 'Which colour?', options: [{ id: 'r', label: 'Red' }], defaultAnswer: 'r' };
    await events(call('1', { title: 'Ask' }), { type: 'clarify', id: 4, params });
    await page.locator('.card button', { hasText: 'Red' }).click();
    await page.locator('.own input').fill('teal');
    await page.locator('.own input').press('Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 4, text: 'r' }, { type: 'answer', id: 4, text: 'teal' }]);
    await events({ type: 'answered', id: 4, answer: { text: 'Red' } });
    await page.locator('.answered', { hasText: 'Which colour? Red' }).waitFor();
  });

  it('takes no key for an answer that was meant for the prompt', async () => {
    const toolCall = { sessionUpdate: 'tool_call_update', toolCallId: '1', kind: 'execute', rawInput: { command: 'make' } };
    const options = [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ];
    const ask = (id) => ({ type: 'permission', id, params: { sessionId: 's', toolCall: { ...toolCall, toolCallId: String(id) }, options } });
    await input().focus();
    await events({ type: 'prompt', text: 'go' }, ask(1));
    await page.locator('.question.open').waitFor();
    await page.waitForFunction(() => document.activeElement.matches('.card'));
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    assert.deepEqual(await posted(), []);
    await page.locator('.question.open button:enabled', { hasText: 'Allow' }).waitFor();
    await page.keyboard.press('Control+Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'yes' }]);
    await events({ type: 'answered', id: 1, answer: { text: 'Allow', allowed: true } });
    await page.locator('.question.open').waitFor({ state: 'detached' });
    // A question takes the keyboard from no words, also where they are written in the moment in which it comes.
    await input().focus();
    await page.evaluate((event) => {
      window.dispatchEvent(new MessageEvent('message', { data: { type: 'event', event } }));
      document.querySelector('textarea').value = 'writing on';
      document.querySelector('textarea').dispatchEvent(new InputEvent('input', { bubbles: true }));
    }, ask(2));
    await counts('[data-question="2"] [data-kind="allow_once"]');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA');
    assert.ok(!(await page.locator('.keys').isVisible()), 'no key is offered that does not answer');
    await page.keyboard.press('Control+Enter');
    await page.keyboard.press('Control+Backspace');
    assert.equal(await input().inputValue(), 'writing ');
    await page.keyboard.press('Control+Backspace');
    await page.keyboard.press('Control+Backspace');
    assert.deepEqual(await posted(), [], 'neither is one that follows the last word at once for the question');
    assert.equal(await input().inputValue(), '');
    await page.locator('.keys', { hasText: 'Ctrl+Enter allows' }).waitFor();
    await page.keyboard.press('Control+Backspace');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 2, optionId: 'no' }]);
    // What is typed at a question without a button being chosen is for the prompt.
    await events({ type: 'answered', id: 2, answer: { text: 'Reject' } }, ask(3));
    await page.waitForFunction(() => document.activeElement.className.startsWith('card'));
    await page.keyboard.type('as well');
    assert.equal(await input().inputValue(), 'as well');
    await page.keyboard.press('Escape');
    assert.deepEqual(await posted(), [{ type: 'stop' }]);
  });

  it('completes mentions and commands, by keyboard', async () => {
    await events(update({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'plan', description: 'first a plan' }] }));
    await input().pressSequentially('see @ca');
    const asked = (await posted()).filter((m) => m.type === 'mentions');
    assert.equal(asked.at(-1).prefix, 'ca');
    const items = [{ label: 'calc.go', kind: 'file', insert: '@calc.go' }, { label: 'cat.go', kind: 'file', insert: '@cat.go' }];
    await send({ type: 'mentions', request: asked.at(-2).request, items: [] }, { type: 'mentions', request: asked.at(-1).request, items });
    await page.locator('[role="option"][aria-selected="true"]', { hasText: 'calc.go' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Tab');
    assert.equal(await input().inputValue(), 'see @cat.go ');
    await input().fill('');
    await input().pressSequentially('/pl');
    await page.locator('[role="option"]', { hasText: 'first a plan' }).waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await input().inputValue(), '/plan ');
  });

  it('sends the open file along when it is told to, and several lines', async () => {
    await page.locator('.chip').click();
    await input().pressSequentially('one');
    await page.keyboard.press('Shift+Enter');
    await input().pressSequentially('two');
    await page.keyboard.press('Enter');
    const sent = (await posted()).filter((m) => m.type === 'ask');
    assert.deepEqual(sent, [{ type: 'ask', text: 'one\ntwo', context: SETUP.context }]);
    assert.equal(await page.locator('.chip').getAttribute('aria-pressed'), 'false');
    await page.keyboard.press('ArrowUp');
    assert.equal(await input().inputValue(), 'one\ntwo');
  });

  it('lists changed files and judges them one by one or all', async () => {
    const file = (name) => ({ uri: `file:///project/${name}`, status: 'modified', additions: 2, deletions: 1, hunks: [{ status: 'pending' }] });
    await events({ type: 'changes', files: [file('a.go'), file('b c.go'), { ...file('d.go'), hunks: [{ status: 'accepted' }] }] });
    await page.locator('.changes summary', { hasText: '2 files changed' }).click();
    await page.locator('.changes li', { hasText: 'b c.go' }).locator('button', { hasText: 'Reject' }).click();
    await page.locator('.judge button', { hasText: 'Accept' }).click();
    assert.deepEqual(await posted(), [{ type: 'reject', uri: 'file:///project/b c.go' }, { type: 'accept' }]);
    await events({ type: 'changes', files: [] });
    await page.locator('.changes').waitFor({ state: 'hidden' });
  });

  it('FaultV24 has no button of a question that is called as one of the changed files is', async () => {
    const file = (name) => ({ uri: `file:///project/${name}`, status: 'modified', additions: 2, deletions: 1, hunks: [{ status: 'pending' }] });
    const toolCall = { sessionUpdate: 'tool_call_update', toolCallId: '1', kind: 'execute', rawInput: { command: 'make' } };
    const options = [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ];
    await events(
      { type: 'changes', files: [file('a.go'), file('b.go')] },
      { type: 'prompt', text: 'go' },
      { type: 'permission', id: 1, params: { sessionId: 's', toolCall, options } },
    );
    await page.locator('.question.open').waitFor();
    await page.locator('.changes summary').click();
    const names = (where) =>
      page.locator(where).evaluateAll((all) => all.map((b) => (b.getAttribute('aria-label') ?? b.innerText).trim()));
    const [question, changes] = [await names('.question.open .buttons button'), await names('.changes button')];
    assert.ok(question.includes('Reject') && changes.filter((name) => /reject/i.test(name)).length === 3, [question, changes].join(' | '));
    assert.deepEqual(changes.filter((name) => question.includes(name)), []);
  });

  it('FaultV5 has a mark beside the colour of added lines in themes of high contrast, and there alone', async () => {
    await events(
      { type: 'prompt', text: 'go' },
      call('1', {
        title: 'Edit a.go', kind: 'edit', status: 'completed',
        content: [{ type: 'diff', path: '/project/a.go', oldText: 'a\n', newText: 'b\n', _meta: { tandem: { unified: '--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-a\n+b\n' } } }],
      }),
    );
    await page.locator('.call, .tool').filter({ hasText: 'Edit a.go' }).first().click();
    const line = page.locator('.diff .add').first();
    await line.waitFor({ state: 'attached' });
    const style = () => line.evaluate((l) => getComputedStyle(l).outlineStyle);
    assert.equal(await style(), 'none');
    await page.evaluate(() => {
      document.documentElement.style.setProperty('--vscode-contrastActiveBorder', '#f38518'); // which such a theme has
      document.body.classList.add('vscode-high-contrast');
    });
    assert.equal(await style(), 'dashed');
  });

  it('FaultV9 says which session its window showed before it was loaded again', async () => {
    // Pages of one window have one session storage, which outlives a load.
    await page.route('http://window.test/', (route) => route.fulfill({ contentType: 'text/html', body: '<!DOCTYPE html><body></body>' }));
    const load = async () => {
      await page.goto('http://window.test/');
      await page.evaluate(() => {
        window.posted = [];
        window.acquireVsCodeApi = () => ({ postMessage: (m) => window.posted.push(m), getState: () => undefined, setState: () => {} });
      });
      await page.addScriptTag({ content: await readFile(join(extension, 'dist/webview/main.js'), 'utf8') });
      return posted();
    };
    assert.deepEqual(await load(), [{ type: 'ready' }]);
    await send({ type: 'state', state: EMPTY, setup: SETUP, history: [] });
    await events(SESSION);
    assert.deepEqual(await load(), [{ type: 'ready', session: 's' }]);
    assert.deepEqual(await load(), [{ type: 'ready', session: 's' }]);
  });

  it('shows the plan', async () => {
    await events(update({ sessionUpdate: 'plan', entries: [{ content: 'look', status: 'completed' }, { content: 'mend', status: 'in_progress' }] }));
    await page.locator('.plan summary', { hasText: '1 of 2 done' }).waitFor();
  });

  const permission = (id, kind, more, input) => ({
    type: 'permission',
    id,
    params: {
      sessionId: 's',
      toolCall: { sessionUpdate: 'tool_call_update', toolCallId: `q${id}`, title: 'T', kind, rawInput: input, ...more },
      options: [
        { optionId: 'allow_once', name: 'Allow', kind: 'allow_once' },
        { optionId: 'reject_once', name: 'Reject', kind: 'reject_once' },
      ],
    },
  });
  const allow = () => page.locator('.question.open button', { hasText: 'Allow' });

  it('FindingS4 a question shows all of a command, what is hidden in it, how much it is and where', async () => {
    const command = `echo \u202esafe\u200b\n${'x'.repeat(300)}\n\tlast\x1b[2K`;
    await events(permission(1, 'execute', { locations: [{ path: '/project/sub' }] }, { command }));
    const lines = page.locator('.question.open .command .line');
    await lines.nth(2).waitFor();
    assert.deepEqual(await lines.allTextContents(), ['echo \\u{202e}safe\\u{200b}', 'x'.repeat(300), '\tlast\\u{1b}[2K']);
    assert.ok(await lines.evaluateAll((all) => all.every((e) => getComputedStyle(e).borderLeftWidth === '2px')));
    await page.locator('.about', { hasText: `3 lines, ${Buffer.byteLength(command)} bytes, in /project/sub` }).waitFor();
    assert.ok(await page.locator('.whole').evaluate((e) => e.scrollHeight <= e.clientHeight), 'all of it is in sight');
    const long = Array.from({ length: 200 }, (_, i) => `step ${i}`).join('\n');
    await events({ type: 'answered', id: 1, answer: 'withdrawn' }, permission(2, 'execute', {}, { command: long }));
    await page.locator('.about', { hasText: '200 lines, 1689 bytes, scroll to see all of them' }).waitFor();
    assert.equal(await lines.count(), 200);
    const [inside, all] = await page.locator('.whole').evaluate((e) => [e.clientHeight / (e.scrollHeight / 200), e.scrollHeight > e.clientHeight]);
    assert.ok(all && inside > 38 && inside < 42, `${inside} lines are in sight`);
  });

  /**
   * Stops the clock of the page: its time goes on by steps alone. After each the page has drawn, and has been told what is in sight,
   * however long that takes on this machine.
   */
  const stopTime = async () => {
    await page.evaluate(() => (window.frame = window.requestAnimationFrame.bind(window)));
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const step = async () => {
      await page.clock.runFor(STEP);
      await page.evaluate(() => new Promise((done) => window.frame(() => window.frame(() => window.frame(done)))));
    };
    const now = () => page.evaluate(() => Date.now());
    return {
      step,
      now,
      /** Goes on until no button counts. */
      hidden: async () => {
        for (let n = 0; n === 0 || (await counting()).length > 0; n++) {
          assert.ok(n < 50, 'a button counts');
          await step();
        }
      },
      /**
       * Goes on until the buttons of those names count, and no other does. None may before its moment is over; until the first does,
       * `hurry` tries to answer each time.
       */
      moment: async (names, hurry) => {
        const [from, begun] = [await now(), new Map()];
        for (let passed = 0; begun.size < names.length; passed = (await now()) - from) {
          const all = await counting();
          all.filter((name) => !begun.has(name)).forEach((name) => begun.set(name, passed));
          if (all.length === 0) {
            await hurry();
            assert.deepEqual(await posted(), [], `after ${passed} ms`);
          }
          assert.ok(passed < 10 * MOMENT, `after ${passed} ms only these count: ${all}`);
          await step();
        }
        assert.deepEqual([...begun.keys()].sort(), names);
        assert.ok([...begun.values()].every((ms) => ms >= MOMENT), JSON.stringify([...begun]));
        assert.deepEqual(await posted(), []);
      },
    };
  };
  /** The buttons that count, each behind the number of its question. */
  const counting = () =>
    page.evaluate(() => [...document.querySelectorAll('.question.open .card button[data-answer]:enabled')].map((e) => e.closest('.card').dataset.question + e.textContent).sort());
  /** So long a button has been in sight before it counts, and a step of the time. */
  const [MOMENT, STEP] = [300, 20];

  it('FindingS22 a question cannot be allowed in the moment in which it appears', async () => {
    const time = await stopTime();
    await input().focus();
    await events(permission(1, 'execute', {}, { command: 'make' }));
    await time.moment(['1Allow', '1Reject'], () =>
      page.evaluate(() => {
        document.querySelector('.question.open [data-kind="allow_once"]')?.click();
        const key = { key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true };
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', key));
      }),
    );
    await page.evaluate(() => document.querySelector('.question.open [data-kind="allow_once"]').click());
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'allow_once' }], 'what was pressed before did not count later');
  });

  it('FindingS22 no answer counts in the first moment of a question, nor in that in which it takes the place of another', async () => {
    const time = await stopTime();
    const ask = (id) => permission(id, 'execute', {}, { command: `make ${id}` });
    const question = { sessionId: 's', toolCallId: 'c', question: 'Which?', options: [{ id: 'a', label: 'A' }] };
    const hurry = async () => {
      await page.keyboard.press('Control+Enter');
      await page.keyboard.press('Control+Backspace');
    };
    await events(ask(1), ask(2), { type: 'clarify', id: 3, params: question });
    await time.moment(['1Allow', '1Reject', '2Allow', '2Reject', '3A', '3Send'], hurry);
    // One goes, and the others begin anew: what was meant for it meets none of them.
    await events({ type: 'answered', id: 1, answer: 'withdrawn' });
    await time.hidden();
    await time.moment(['2Allow', '2Reject', '3A', '3Send'], hurry);
    // So does one that comes back into sight.
    await events(say('line\n\n'.repeat(60)));
    await time.hidden();
    assert.equal(await page.locator('.agent p').count(), 60);
    await page.locator('.scroller').evaluate((e) => (e.scrollTop = 0));
    await time.moment(['2Allow', '2Reject', '3A', '3Send'], async () => {});
  });

  const SEVEN = [
    ['allow_once', 'Allow', 'allow_once'],
    ['reject_once', 'Reject', 'reject_once'],
    ['allow_turn', 'Allow all edits of this turn', 'allow_always'],
    ['allow_files', 'Allow edits of this file in this session', 'allow_always'],
    ['allow_session', 'Allow edits of all files below a/rather/long/folder/of/the/project/, for this session', 'allow_always'],
    ['allow_always', 'Always allow edits of all files below a/rather/long/folder/of/the/project/, in this workspace', 'allow_always'],
    ['reject_always', 'Never allow edits of a/rather/long/folder/of/the/project/a.go, in this workspace', 'reject_always'],
  ].map(([optionId, name, kind]) => ({ optionId, name, kind }));
  const seven = (id) => {
    const question = permission(id, 'edit', { content: diff(1) });
    return { ...question, params: { ...question.params, options: SEVEN } };
  };

  it('F204 seven answers have room in a narrow panel: two in sight, the others folded, each with its rule in full', async () => {
    await page.setViewportSize({ width: 240, height: 700 });
    await events(seven(1));
    await counts('[data-question="1"] [data-kind="allow_once"]');
    assert.deepEqual(await counting(), ['1Allow', '1Reject']);
    await page.locator('summary', { hasText: 'More answers (5)' }).click();
    await counts('[data-option="reject_always"]');
    assert.equal((await counting()).length, 7);
    for (const { optionId, name } of SEVEN.slice(2)) {
      const button = page.locator(`[data-option="${optionId}"]`);
      assert.equal(await button.innerText(), name, 'what is not shown must not be allowed');
      const inside = await button.evaluate((e) => e.scrollWidth <= e.clientWidth && e.getBoundingClientRect().right <= innerWidth);
      assert.ok(inside, `${name} is in sight to its last letter`);
    }
    await page.locator('[data-option="allow_always"]').click();
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'allow_always' }]);
    // The same by keyboard alone.
    await events({ type: 'answered', id: 1, answer: { text: 'Always', allowed: true } }, seven(2));
    await counts('[data-question="2"] [data-kind="allow_once"]');
    await page.waitForFunction(() => document.activeElement.matches('.card'));
    const at = () => page.evaluate(() => document.activeElement.dataset.option ?? document.activeElement.textContent);
    const tabTo = async (wanted) => {
      for (let n = 0; (await at()) !== wanted; n++) {
        assert.ok(n < 12, `${wanted} cannot be reached`);
        await page.keyboard.press('Tab');
      }
    };
    await tabTo('More answers (5)');
    await page.keyboard.press('Enter');
    await counts('[data-question="2"] [data-option="allow_turn"]');
    await tabTo('allow_turn');
    await page.keyboard.press('Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 2, optionId: 'allow_turn' }]);
  });

  it('a refusal can say why, and no key of that is another answer', async () => {
    await events(seven(1));
    await counts('[data-question="1"] [data-kind="allow_once"]');
    await page.locator('summary', { hasText: 'Reject, and say why' }).click();
    await counts('.why button');
    assert.ok(await page.evaluate(() => document.activeElement.matches('.why input')), 'it has the keyboard');
    await page.keyboard.press('Enter');
    await page.keyboard.type('use make instead');
    await page.keyboard.press('Control+Enter');
    await page.keyboard.press('Control+Backspace');
    assert.deepEqual(await posted(), []);
    // What is written stays where the card is drawn anew, and Escape ends the writing alone.
    await events({ type: 'looked', id: 1, path: '/project/a.go' });
    await page.locator('.looked').waitFor();
    assert.equal(await page.locator('.why input').inputValue(), 'use make ');
    await page.keyboard.press('Escape');
    await page.locator('.why input').waitFor({ state: 'hidden' });
    assert.deepEqual(await posted(), []);
    await page.locator('summary', { hasText: 'Reject, and say why' }).click();
    await counts('.why button');
    await page.keyboard.type('test');
    await page.keyboard.press('Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'reject_once', text: 'use make test' }]);
  });

  it('F216 a question that is answered elsewhere says so', async () => {
    await events(permission(1, 'execute', {}, { command: 'make' }), { type: 'answered', id: 1, answer: 'withdrawn' });
    await page.locator('.answered', { hasText: 'No longer needs an answer' }).waitFor();
    await events({ type: 'resolved', call: 'q1', by: 'rule' });
    await page.locator('.answered', { hasText: 'Your answer to another question covers this one' }).waitFor();
    await events(permission(2, 'execute', {}, { command: 'make' }), { type: 'answered', id: 2, answer: 'withdrawn' }, { type: 'resolved', call: 'q2', by: 'Neovim' });
    await page.locator('.answered', { hasText: 'Answered in Neovim' }).waitFor();
    await events({ type: 'resolved', call: 'of nobody', by: 'rule' }, { type: 'resolved', call: 'q1', by: 'end' });
    assert.equal(await page.locator('.answered').count(), 2);
  });

  it('FindingS22 a key answers the question that has the keyboard, else the first, and only where it is in sight', async () => {
    const ask = (id) => permission(id, 'execute', {}, { command: `make ${id}` });
    const offered = () => page.evaluate(() => [...document.querySelectorAll('.card')].filter((c) => getComputedStyle(c.querySelector('.keys')).visibility === 'visible').map((c) => c.dataset.question));
    await page.evaluate(() => document.activeElement.blur());
    await events(ask(1));
    await page.waitForFunction(() => document.activeElement.matches('.card'));
    await events(ask(2));
    await counts('[data-question="2"] [data-kind="allow_once"]');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.question), '1', 'the keyboard stays where it is');
    assert.deepEqual(await offered(), ['1']);
    await page.locator('[data-question="2"] button', { hasText: 'Reject' }).focus();
    await page.waitForFunction(() => document.querySelector('[data-question="2"]').matches('.addressed'));
    assert.deepEqual(await offered(), ['2']);
    await page.keyboard.press('Control+Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 2, optionId: 'allow_once' }]);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Control+Backspace');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'reject_once' }]);
    await page.evaluate(() => {
      for (const repeat of [true, false]) {
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, repeat, bubbles: true }));
      }
    });
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'allow_once' }], 'a key that is held down answers nothing');
    // In the window, but below the part that scrolls: the first key leads there, the second answers.
    await events(say('line\n\n'.repeat(60)));
    await page.waitForFunction(() => document.querySelectorAll('.agent p').length === 60);
    await page.locator('.scroller').evaluate((e) => {
      const buttons = document.querySelector('[data-question="1"] .buttons');
      e.scrollTop = 0;
      e.style.maxHeight = `${buttons.getBoundingClientRect().top + 8}px`;
    });
    await page.waitForFunction(() => document.querySelector('[data-question="1"] [data-kind="allow_once"]').disabled);
    assert.ok(await page.locator('[data-question="1"] .buttons').evaluate((e) => e.getBoundingClientRect().bottom < window.innerHeight));
    await page.keyboard.press('Control+Enter');
    assert.deepEqual(await posted(), []);
    await counts('[data-question="1"] [data-kind="allow_once"]');
    await page.keyboard.press('Control+Enter');
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'allow_once' }]);
  });

  it('FindingS17 a change that is not shown cannot be allowed before it was opened', async () => {
    const word = 'The change of a.go is too large to be shown here; tandem/changes/diff gives it.';
    const content = [{ type: 'content', content: { type: 'text', text: word } }];
    await events(permission(1, 'edit', { content, locations: [{ path: '/project/a.go' }] }, { path: 'a.go', old_text: 'a', new_text: 'b' }));
    await page.locator('.question.open', { hasText: 'Open it to allow it.' }).waitFor();
    await page.waitForTimeout(400); // longer than any question has to wait
    assert.ok(await allow().isDisabled());
    await page.keyboard.press('Control+Enter');
    assert.deepEqual(await posted(), []);
    await page.locator('.question.open button.link').click();
    assert.deepEqual(await posted(), [{ type: 'proposal', id: 1, path: '/project/a.go' }]);
    await events({ type: 'looked', id: 1, path: '/project/a.go' });
    await allow().click();
    assert.deepEqual(await posted(), [{ type: 'answer', id: 1, optionId: 'allow_once' }]);
    // Neither can one of which the end is left to the editor's own diff, by its lines or its characters.
    for (const [id, n, line] of [[2, 500, 'x'], [3, 2, 'x'.repeat(20_000)]]) {
      await events({ type: 'answered', id: id - 1, answer: 'withdrawn' }, permission(id, 'edit', { content: diff(n, line) }));
      await page.locator(`[data-question="${id}"]`, { hasText: 'Open it to allow it.' }).waitFor();
      await counts(`[data-question="${id}"] [data-kind="reject_once"]`);
      assert.ok(await allow().isDisabled());
    }
    await events({ type: 'looked', id: 3, path: '/project/a.go' });
    await counts('[data-question="3"] [data-kind="allow_once"]');
    // Of several each has to be opened.
    const second = { ...diff(500)[0], path: '/project/b.go' };
    await events({ type: 'answered', id: 3, answer: 'withdrawn' }, permission(4, 'edit', { content: [...diff(500), second] }));
    await events({ type: 'looked', id: 4, path: '/project/b.go' });
    await counts('[data-question="4"] [data-kind="reject_once"]');
    await page.waitForTimeout(350); // longer than any question has to wait
    assert.ok(await allow().isDisabled());
    await events({ type: 'looked', id: 4, path: '/project/a.go' });
    await counts('[data-question="4"] [data-kind="allow_once"]');
  });
  const diff = (n, line = 'x') => [{ type: 'diff', path: '/project/a.go', oldText: '', newText: '', _meta: { tandem: { unified: `@@ -1,0 +1,${n} @@\n${`+${line}\n`.repeat(n)}` } } }];

  it('FindingS17 a long line of a change is in sight to its last character', async () => {
    const line = `run("${'--flag=value '.repeat(20)}${'y'.repeat(200)}");`;
    await events(permission(1, 'edit', { content: diff(1, line) }));
    await counts('[data-question="1"] [data-kind="allow_once"]');
    const text = page.locator('.card .diff .text');
    assert.equal(await text.innerText(), line);
    const inside = await text.evaluate((e) => {
      const part = e.closest('.diff').getBoundingClientRect();
      const all = document.createRange();
      all.selectNodeContents(e);
      return [...all.getClientRects()].every((r) => r.left >= part.left && r.right <= part.right && r.bottom <= part.bottom);
    });
    assert.ok(inside, 'all of it is in sight');
    assert.equal(await page.locator('.keys').innerText(), 'Ctrl+Enter allows');
  });

  it('FindingS17 a change that is higher than its place is allowed when it was scrolled to its end, also by key', async () => {
    const command = Array.from({ length: 100 }, (_, i) => `step ${i}`).join('\n');
    const asked = [permission(1, 'edit', { content: diff(60) }), permission(2, 'edit', { content: diff(1, 'z'.repeat(3000)) }), permission(3, 'execute', {}, { command })];
    for (const [i, question] of asked.entries()) {
      await events(question);
      await counts(`[data-question="${i + 1}"] [data-kind="reject_once"]`);
      await page.waitForTimeout(350); // longer than any question has to wait
      assert.ok(await allow().isDisabled());
      await page.locator('.keys', { hasText: 'Scroll to the end first' }).waitFor();
      for (let n = 0; await allow().isDisabled(); n++) {
        assert.ok(n < 12, 'the key leads through it');
        await page.keyboard.press('Control+Enter');
        assert.deepEqual(await posted(), []);
        await page.waitForTimeout(400);
      }
      await page.locator('.keys', { hasText: 'Ctrl+Enter allows' }).waitFor();
      const end = await page.locator('.card .diff, .card .whole').evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
      assert.ok(end < 8, `${end} pixels are below`); // no more than the margin of the last line
      await page.locator('.card .diff, .card .whole').evaluate((e) => (e.scrollTop = 0)); // it was seen
      await page.keyboard.press('Control+Enter');
      assert.deepEqual(await posted(), [{ type: 'answer', id: i + 1, optionId: 'allow_once' }]);
      await events({ type: 'answered', id: i + 1, answer: { text: 'Allow', allowed: true } });
    }
    // Refusing needs no reading, and what was opened in the editor was read there.
    await events(permission(4, 'edit', { content: diff(60) }));
    await counts('[data-question="4"] [data-kind="reject_once"]');
    assert.ok(await allow().isDisabled());
    await events({ type: 'looked', id: 4, path: '/project/a.go' });
    await counts('[data-question="4"] [data-kind="allow_once"]');
  });

  it('FindingU12 a failed call says what happened in a sentence, without codes and words for the model', async () => {
    const sentence = 'The model has not read this text yet. Nothing was changed.';
    const failed = (error, summary, text) => ({
      title: 'Edit a.go', kind: 'edit', status: 'failed',
      content: [{ type: 'content', content: { type: 'text', text } }],
      _meta: { tandem: { phase: 'error', error, summary, render: { markdown: summary } } },
    });
    await events(call('1', failed('NOT_READ', sentence, sentence)), call('2', failed('FILE_TOO_LARGE', '', 'Read it in parts with read_file.')));
    await page.locator('.failure', { hasText: sentence }).waitFor();
    await page.locator('.failure', { hasText: 'The file is too large.' }).waitFor();
    const text = await page.locator('.rows').innerText();
    assert.doesNotMatch(text, /[A-Z]+_[A-Z]+/, text);
    assert.doesNotMatch(text, /Read it in parts/);
    assert.equal(text.split('Nothing was changed').length, 2, 'it is said once');
    await events({ type: 'prompt', text: 'x' }, { type: 'ended', result: { stopReason: 'of_tomorrow' } });
    await page.locator('.ending', { hasText: 'The turn failed.' }).waitFor();
  });

  it('keeps finished blocks as they are while text streams', async () => {
    await events({ type: 'prompt', text: 'x' }, say('First.\n\n```go\nfunc a() {}\n```\n\nLast'));
    const first = await page.locator('.agent p').first().elementHandle();
    const code = await page.locator('.agent pre').elementHandle();
    await events(say(' one'), say(' grows.\n\n- a\n'), say('- b'));
    await page.locator('.agent li', { hasText: 'b' }).waitFor();
    assert.ok(await first.evaluate((e) => e.isConnected));
    assert.ok(await code.evaluate((e) => e.isConnected));
    assert.equal(await page.locator('.agent pre .hljs-keyword').innerText(), 'func');
    await page.locator('.code button[aria-label="Copy"]').click();
    await page.locator('.code button[aria-label="Insert at the cursor"]').click();
    const did = (await posted()).filter((m) => m.text === 'func a() {}');
    assert.deepEqual(did.map((m) => m.type), ['copy', 'insert']);
  });

  it('opens files at their line, and takes no word for a file', async () => {
    await events(say('See `src/a.go:12`, [there](src/b.go#L3) and `fmt.Println`, `a.go:7`.'), end);
    const links = page.locator('.agent a.file');
    await links.nth(2).waitFor();
    for (const link of await links.all()) {
      await link.click();
    }
    assert.deepEqual(await posted(), [
      { type: 'open', path: 'src/a.go', line: 12 },
      { type: 'open', path: 'src/b.go', line: 3 },
      { type: 'open', path: 'a.go', line: 7 },
    ]);
  });

  it('stays at the end unless the person scrolls away', async () => {
    const text = `${'line\n\n'.repeat(60)}`;
    await events({ type: 'prompt', text: 'x' }, say(text));
    const atEnd = () =>
      page.waitForFunction(() => {
        const e = document.querySelector('.scroller');
        return e.scrollHeight - e.scrollTop - e.clientHeight < 5;
      });
    await page.waitForFunction(() => document.querySelectorAll('.agent p').length === 60);
    await atEnd();
    await page.locator('.scroller').hover();
    await page.mouse.wheel(0, -600);
    await page.locator('.latest').waitFor();
    const top = await page.locator('.scroller').evaluate((e) => e.scrollTop);
    await events(say(text));
    await page.waitForFunction(() => document.querySelectorAll('.agent p').length === 120);
    assert.equal(await page.locator('.scroller').evaluate((e) => e.scrollTop), top);
    await page.locator('.latest').click();
    await atEnd();
  });

  it('stays fast when the conversation is long', async (t) => {
    const items = [];
    for (let i = 0; i < 400; i++) {
      items.push({ type: 'prompt', text: `question ${i}` });
      for (let j = 0; j < 3; j++) {
        items.push(call(`r${i}.${j}`, { title: `Read f${j}.go`, kind: 'read', status: 'completed' }));
      }
      const unified = `@@ -1,3 +1,3 @@\n${' context\n'.repeat(6)}-old\n+new\n`;
      const content = [{ type: 'diff', path: '/project/a.go', oldText: 'o', newText: 'n', _meta: { tandem: { unified } } }];
      items.push(call(`e${i}`, { title: 'Edit a.go', kind: 'edit', status: 'completed', content }), say(`Answer ${i} with \`code\`.`), end);
    }
    await events(...items);
    await page.locator('.bubble', { hasText: 'question 399' }).waitFor({ timeout: 30_000 });
    const ms = await page.evaluate(async () => {
      const event = (text) => ({ type: 'event', event: { type: 'update', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      await frame();
      const times = [];
      for (let i = 0; i < 60; i++) {
        const begun = performance.now();
        window.dispatchEvent(new MessageEvent('message', { data: event('word ') }));
        await frame();
        times.push(performance.now() - begun);
      }
      return times.sort((a, b) => a - b)[30];
    });
    t.diagnostic(`${ms.toFixed(1)} ms a chunk with 2800 items`);
    assert.ok(ms < 100, `a chunk takes ${ms} ms`);
    assert.deepEqual(errors, []);
  });
});
