import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Permission, ToolCall } from '../src/chat/state.ts';
import { MOST_CHARACTERS, MOST_LINES, addressed, unseen, within } from './allow.ts';

const question = (unified?: string, looked = false) =>
  ({ type: 'permission', id: 1, options: [], looked, diffs: [{ path: 'a', unified }] }) as unknown as Permission;

describe('what can be allowed', () => {
  it('is not a change of which a part is not shown, before it was opened', () => {
    assert.equal(unseen(question('@@ -1 +1 @@\n-a\n+b\n')), false);
    for (const text of [undefined, `+${'x'.repeat(MOST_CHARACTERS)}`, '+x\n'.repeat(MOST_LINES)]) {
      assert.equal(unseen(question(text)), true);
      assert.equal(unseen(question(text, true)), false);
    }
  });

  it('is the question that has the keyboard, else the first', () => {
    const open = [7, 8].map((id) => ({ question: { id } }) as ToolCall);
    assert.equal(addressed(open, undefined)?.id, 7);
    assert.equal(addressed(open, '8')?.id, 8);
    assert.equal(addressed(open, '9')?.id, 7, 'answered, but not yet drawn so');
    assert.equal(addressed([], undefined), undefined);
  });

  it('has its buttons wholly in sight of the part that scrolls', () => {
    const view = { top: 0, bottom: 400 };
    assert.ok(within({ top: 370, bottom: 400.4 }, view));
    assert.ok(!within({ top: 390, bottom: 420 }, view));
    assert.ok(!within({ top: -10, bottom: 20 }, view));
  });
});
