// When a question can be allowed, as far as that needs no page.

import type { Permission, ToolCall } from '../src/chat/state.ts';

/** Above this many lines the rest of a diff is left to the editor's own diff. */
export const MOST_LINES = 400;
/** Above this many characters a diff has to be opened in the editor before it can be allowed. */
export const MOST_CHARACTERS = 20_000;

/** Whether a part of the change is not shown in the chat, or is too much to be read there, and was not opened either. */
export function unseen(q: Permission): boolean {
  const large = (unified: string) => unified.length > MOST_CHARACTERS || unified.split('\n').length > MOST_LINES;
  return !q.looked && q.diffs.some((d) => d.unified === undefined || large(d.unified));
}

/** The question that a key answers: the one that has the keyboard, else the first. */
export function addressed(open: readonly ToolCall[], focused: string | undefined): ToolCall['question'] {
  return (open.find((t) => String(t.question?.id) === focused) ?? open[0])?.question;
}

interface Extent {
  readonly top: number;
  readonly bottom: number;
}

/** Whether a part of the page is wholly in sight within the part that scrolls; a fraction of a pixel does not count. */
export function within(part: Extent, view: Extent): boolean {
  return part.top >= view.top - 1 && part.bottom <= view.bottom + 1;
}
