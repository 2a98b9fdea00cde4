// What the extension and the web page of its chat say to each other.

import type { Earlier, Kept } from './sessions.ts';
import type { Conversation, Event } from './state.ts';
import type { MentionItem } from './wire.ts';

/** How the chat stands apart from the conversation. */
export interface Setup {
  backend: 'stopped' | 'starting' | 'running' | 'failed' | 'missing';
  /** Why the backend does not run. */
  failure?: string;
  /** Why there is no session although the backend runs. */
  refused?: string;
  /** What there is to say of an earlier session. */
  earlier?: Earlier;
  /** Other sessions of the workspace, the last used first. */
  sessions?: readonly Kept[];
  /** The workspace's folder, which paths are shown relative to. */
  folder?: string;
  /** The home folder, shown as ~. */
  home?: string;
  trusted: boolean;
  /** What the server serves. */
  can: { mentions: boolean; steer: boolean; review: boolean };
  /** The file that is open beside the chat, with the lines that are selected in it. */
  context?: Context;
}

export interface Context {
  uri: string;
  label: string;
}

/** From the extension to the page. */
export type ToPage =
  | { type: 'state'; state: Conversation; setup: Setup; history: string[] }
  | { type: 'event'; event: Event }
  | { type: 'setup'; setup: Setup }
  | { type: 'draft'; text: string }
  | { type: 'focus' }
  /** Takes the person to a question. */
  | { type: 'question'; id: number }
  | { type: 'mentions'; request: number; items: MentionItem[] };

/** From the page to the extension. */
export type FromPage =
  /** `session` is what this window showed before it was loaded again. */
  | { type: 'ready'; session?: string }
  | { type: 'ask'; text: string; context?: Context }
  | { type: 'stop' }
  | { type: 'newSession' }
  | { type: 'load'; id: string }
  | { type: 'answer'; id: number; optionId?: string; text?: string }
  | { type: 'mode'; id: string }
  | { type: 'model'; id: string }
  | { type: 'open'; path: string; line?: number }
  | { type: 'diff'; path: string }
  /** Opens the change that a question is about. */
  | { type: 'proposal'; id: number; path?: string }
  | { type: 'copy'; text: string }
  | { type: 'insert'; text: string }
  | { type: 'accept' | 'reject'; uri?: string }
  | { type: 'mentions'; request: number; prefix: string }
  | { type: 'do'; what: 'setApiKey' | 'openSettings' | 'showLog' | 'restart' | 'retry' | 'sessions'; query?: string };
