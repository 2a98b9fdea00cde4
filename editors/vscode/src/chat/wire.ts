// The payloads of tandem/session/* as far as the chat reads them: those of the protocol, in which every field of a meta may
// be missing and every word may be a new one: what is not known is passed over.

import type * as protocol from '../protocol.ts';

/** A payload whose words may be others than those that are known today. */
type Open<T> = T extends string
  ? string
  : T extends readonly (infer E)[]
    ? Open<E>[]
    : T extends object
      ? { [K in keyof T]: Open<T[K]> }
      : T;

type Meta<T> = { tandem?: Partial<Open<T>> };

export type ContentBlock = Open<protocol.ContentBlock>;
export type LineSpan = protocol.LineSpan;
export type Location = protocol.Location;
export type Widget = protocol.Widget;
export type Render = Partial<protocol.Render>;
export type Usage = Partial<protocol.Usage>;
export type Cost = protocol.Cost;
export type PermissionOption = Open<protocol.PermissionOption>;
export type ClarifyParams = protocol.ClarifyParams;

export interface ToolContent extends Omit<Open<protocol.ToolContent>, '_meta'> {
  _meta?: Meta<protocol.DiffMeta>;
}

/** A parent is of a call that an agent's own helper makes; the server does not say so yet. */
export type UpdateMeta = Partial<Omit<Open<protocol.UpdateMeta>, 'render'>> & { render?: Render; parentId?: string };

export type PlanEntry = Partial<Open<protocol.PlanEntry>> & { content: string };

/** The commands are those of the Agent Client Protocol. */
export interface Update extends Omit<Open<protocol.Update>, 'content' | 'usage' | 'entries' | '_meta'> {
  content?: ContentBlock | ToolContent[];
  usage?: Usage;
  entries?: PlanEntry[];
  _meta?: { tandem?: UpdateMeta };
}

export interface UpdateParams {
  sessionId: string;
  update: Update;
}

export type NewSessionResult = Pick<protocol.NewSessionResult, 'sessionId'> & Partial<protocol.NewSessionResult>;
export type PromptResult = Pick<protocol.PromptResult, 'stopReason'> &
  Partial<Omit<protocol.PromptResult, 'usage'>> & { usage?: Usage };

export interface PermissionParams {
  sessionId: string;
  toolCall: Update;
  options: PermissionOption[];
  _meta?: Meta<protocol.PermissionMeta>;
}

export interface PermissionResult {
  outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' };
  _meta?: { tandem: protocol.AnswerWords };
}

export type ChangedFile = Omit<Open<protocol.ChangedFile>, 'hunks' | 'unified' | 'truncated'> & {
  hunks: Pick<Open<protocol.ChangedHunk>, 'status'>[];
};

export interface MentionItem {
  label: string;
  kind: string;
  insert: string;
}
