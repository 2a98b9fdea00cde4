// Takes the pictures of the documentation anew: npm run screenshots [light|dark] [state …], in editors/vscode
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository, start, vsix } from './drive.mjs';
import { gate } from './journeys/model.mjs';
import { sit, version } from './journeys/person.mjs';

const THEMES = { light: 'Default Light Modern', dark: 'Default Dark Modern' };
/** What a picture may weigh. */
const MOST_BYTES = 150_000;

const FILES = {
  'go.mod': 'module example.com/shop\n',
  'cart/cart.go': `package cart

// Item is a line of a cart.
type Item struct {
	Name     string
	Cents    int
	Quantity int
}

// Total is what a cart costs, in cents.
func Total(items []Item) int {
	sum := 0
	for _, item := range items {
		sum += item.Cents
	}
	return sum
}

// Count is how many things a cart holds.
func Count(items []Item) int {
	return len(items)
}
`,
  'cart/cart_test.go': `package cart

import "testing"

func TestTotal(t *testing.T) {
	items := []Item{{"tea", 250, 2}, {"cup", 900, 1}}
	if got := Total(items); got != 1400 {
		t.Errorf("Total = %d, want 1400", got)
	}
}
`,
};

const READS = [
  { think: 'The total ignores the quantity. I look at the test and at who calls it.' },
  { call: 'read_file', args: { path: 'cart/cart.go' } },
  { call: 'read_file', args: { path: 'cart/cart_test.go' } },
  { call: 'grep', args: { pattern: 'Total\\(' } },
];
const FOUND =
  '`Total` adds the price of each line **once**, whatever its quantity, so `TestTotal` gets 1150 instead of 1400. ' +
  'The fix is in `cart/cart.go:13`:\n\n```go\nsum += item.Cents * item.Quantity\n```\n\n';
const MEND = { call: 'edit_file', args: { path: 'cart/cart.go', old_text: '\t\tsum += item.Cents\n', new_text: '\t\tsum += item.Cents * item.Quantity\n' } };
const COUNT = { call: 'edit_file', args: { path: 'cart/cart.go', old_text: '\treturn len(items)\n', new_text: '\tn := 0\n\tfor _, item := range items {\n\t\tn += item.Quantity\n\t}\n\treturn n\n' } };
const QUESTION = 'The total of a cart is too small when somebody buys two of a thing. Can you fix it?';

/** How each picture comes about. */
const STATES = {
  async empty(p) {
    await p.input().focus();
  },

  async running(p) {
    await auto(p);
    p.model.reply(READS, [FOUND, MEND], ['Now to see that it builds.', { call: 'bash', args: { command: 'go build ./... && echo built' } }]);
    p.model.reply(['It builds. I look for other places that forget the quantity: ', gate().promise]);
    await p.ask(QUESTION);
    await p.sees('other places');
  },

  async permission(p) {
    p.model.reply([READS[0], READS[1], READS[2]], [FOUND, MEND]);
    await p.ask(QUESTION);
    await p.chat.locator('.question.open .diff').waitFor();
  },

  async answers(p) {
    await STATES.permission(p);
    await p.chat.locator('.question.open summary', { hasText: 'More answers' }).click();
    await p.chat.locator('[data-option="reject_always"]:enabled').waitFor();
  },

  async review(p) {
    await auto(p);
    p.model.reply(READS, [FOUND, MEND], ['`Count` has the same mistake.', COUNT], ['Both functions now heed the quantity.']);
    await p.ask(QUESTION);
    await p.sees('Both functions');
    await p.idle();
    await p.sees('1 file changed', '.changes');
    await p.page.locator('.codelens-decoration a', { hasText: 'Reject' }).first().waitFor();
  },

  async error(p) {
    p.model.reply(READS, { status: 401, message: 'Incorrect API key provided. Check the key and try again.' });
    await p.ask(QUESTION);
    await p.chat.locator('.ending').waitFor();
  },
};

async function auto(p) {
  await p.chat.locator('select[aria-label="Mode"]').selectOption('auto');
}

const given = process.argv.slice(2);
const themes = Object.keys(THEMES).filter((t) => !given.some((g) => g in THEMES) || given.includes(t));
const states = Object.keys(STATES).filter((s) => !given.some((g) => g in STATES) || given.includes(s));
const out = process.env.SCREENSHOTS || join(repository, 'docs', 'images');
await mkdir(out, { recursive: true });

const editor = await start({ version, vsix: await vsix() });
for (const theme of themes) {
  for (const state of states) {
    const folder = await editor.folder(`${theme}-${state}`, FILES);
    const p = await sit(editor, {
      folder,
      model: state === 'empty' ? false : undefined,
      modelName: 'qwen3-coder',
      settings: {
        'workbench.colorTheme': THEMES[theme],
        'workbench.sideBar.location': 'right',
        'workbench.layoutControl.enabled': false,
        'window.commandCenter': false,
        'breadcrumbs.enabled': false,
        'editor.fontSize': 13,
      },
    });
    try {
      await p.openFile('cart.go');
      await p.openChat();
      await widen(p.page, 480);
      await STATES[state](p);
      await p.page.mouse.move(300, 780);
      const picture = await still(p.page);
      const path = join(out, `vscode-${theme}-${state}.png`);
      await writeFile(path, picture);
      console.log(`${path}: ${Math.ceil(picture.length / 1000)} kB`);
      if (picture.length > MOST_BYTES) {
        throw new Error(`${path} is larger than ${MOST_BYTES} bytes`);
      }
    } catch (err) {
      await p.page.screenshot({ path: join(tmpdir(), 'tandem-screenshot-failed.png') }).catch(() => {});
      throw err;
    } finally {
      await p.end();
    }
  }
}
await editor.stop();

/** The picture of a window in which nothing changes any more. What turns by itself stands still for it. */
async function still(page) {
  const take = () => page.screenshot({ animations: 'disabled' });
  for (let last = await take(), tries = 0; ; tries++) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 200))));
    const next = await take();
    if (next.equals(last)) {
      return next;
    }
    if (tries === 50) {
      throw new Error('the window does not come to rest');
    }
    last = next;
  }
}

/** Drags the side bar, which stands at the right, to a width. */
async function widen(page, width) {
  const bar = await page.locator('.part.sidebar').boundingBox();
  const sashes = await page.locator('.monaco-sash.vertical').all();
  for (const sash of sashes) {
    const box = await sash.boundingBox();
    if (box && Math.abs(box.x + box.width / 2 - bar.x) < 8) {
      await page.mouse.move(box.x + box.width / 2, 400);
      await page.mouse.down();
      await page.mouse.move(bar.x + bar.width - width, 400, { steps: 5 });
      await page.mouse.up();
      return;
    }
  }
}
