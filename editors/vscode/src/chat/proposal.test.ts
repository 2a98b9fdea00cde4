import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proposal } from './proposal.ts';
import { type Permission, type ToolCall, empty, reduce } from './state.ts';
import type { PermissionParams } from './wire.ts';

const asked = (rawInput: unknown, content?: object[], kind = 'edit'): PermissionParams => ({
  sessionId: 's',
  toolCall: { sessionUpdate: 'tool_call_update', toolCallId: '1', kind, rawInput, content, locations: [{ path: '/w/a' }] } as PermissionParams['toolCall'],
  options: [],
});
const now = async (path: string) => `now of ${path}`;

describe('FindingS17 a change that is asked about', () => {
  it('FindingS17 is opened as the server sends it, or else as the call says it', async () => {
    const diffs = [{ type: 'diff', path: '/w/b', newText: 'B' }, { type: 'diff', path: '/w/a', oldText: 'a', newText: 'A' }];
    assert.deepEqual(await proposal(asked({}, diffs), '/w/a', now), { path: '/w/a', before: 'a', after: 'A' });
    assert.deepEqual(await proposal(asked({}, diffs), undefined, now), { path: '/w/b', before: '', after: 'B' });
    const word = [{ type: 'content', content: { type: 'text', text: 'too large' } }];
    assert.deepEqual(await proposal(asked({ path: 'a', old_text: 'x', new_text: 'y' }, word), undefined, now), { path: '/w/a', before: 'x', after: 'y' });
    assert.deepEqual(await proposal(asked({ path: 'a', content: 'all' }, word), '/w/a', now), { path: '/w/a', before: 'now of /w/a', after: 'all' });
    const edits = [{ old_text: '1', new_text: '2' }, { old_text: '3', new_text: '4' }];
    assert.deepEqual(await proposal(asked({ edits }, word), undefined, now), { path: '/w/a', before: '1\n\n3', after: '2\n\n4' });
    assert.deepEqual(await proposal(asked({ patch: 'a\nb', n: 1 }, word), undefined, now), { path: '/w/a', before: '', after: 'patch:\na\nb\n\nn:\n1' });
  });

  it('FindingS17 is known not to be shown where the server leaves its texts out', () => {
    const question = (content: object[], kind?: string, input: unknown = {}) => {
      const c = reduce(empty, { type: 'permission', id: 1, params: asked(input, content, kind) });
      return (c.items[0] as ToolCall).question as Permission;
    };
    const text = (words: string) => ({ type: 'content', content: { type: 'text', text: words } });
    assert.deepEqual(question([text('The change is too large.')]).diffs, [
      { path: '/w/a', unified: undefined, created: false, additions: 0, deletions: 0 },
    ]);
    const unified = '--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n';
    assert.deepEqual(question([text(unified)]).diffs, [{ path: '/w/a', unified, created: false, additions: 1, deletions: 1 }]);
    const command = question([text('@@ -1 +1 @@')], 'execute', { command: 'patch' });
    assert.deepEqual([command.diffs, command.command, command.cwd], [[], 'patch', '/w/a']);
  });
});
