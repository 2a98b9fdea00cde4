// The payloads of tandem/session/* as far as the chat reads them: those of the Agent Client Protocol, with what is
// Tandem's own in `_meta.tandem`. Every field may be missing, and others may come: what is not known is passed over.

export interface ContentBlock {
  type: string;
  text?: string;
  uri?: string;
  name?: string;
  resource?: { uri: string; text?: string };
}

export interface ToolContent {
  type: string;
  content?: ContentBlock;
  path?: string;
  oldText?: string;
  newText?: string;
  _meta?: { tandem?: { unified?: string } };
}

export interface Location {
  path: string;
  line?: number;
}

export interface Widget {
  type: string;
  value?: number;
  total?: number;
  title?: string;
  markdown?: string;
  path?: string;
  [other: string]: unknown;
}

export interface Render {
  markdown?: string;
  widgets?: Widget[];
}

export interface UpdateMeta {
  state?: string;
  phase?: string;
  at?: Record<string, number>;
  groupId?: string;
  /** The calls of the group. */
  calls?: string[];
  batch?: number;
  partialInput?: string;
  semantic?: string;
  collapsible?: boolean;
  render?: Render;
  summary?: string;
  error?: string;
  parentId?: string;
  output?: string;
  turn?: number;
  boundary?: string;
}

export interface PlanEntry {
  content: string;
  status?: string;
  priority?: string;
}

export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cachedInputTokens?: number;
  totalTokens?: number;
}

export interface Update {
  sessionUpdate: string;
  content?: ContentBlock | ToolContent[];
  toolCallId?: string;
  title?: string;
  kind?: string;
  status?: string;
  locations?: Location[];
  rawInput?: unknown;
  rawOutput?: unknown;
  currentModeId?: string;
  entries?: PlanEntry[];
  availableCommands?: { name: string; description?: string }[];
  usage?: Usage;
  _meta?: { tandem?: UpdateMeta };
}

export interface UpdateParams {
  sessionId: string;
  update: Update;
}

export interface NewSessionResult {
  sessionId: string;
  modes?: { currentModeId: string; availableModes: { id: string; name: string }[] };
  models?: { currentModelId: string; availableModels: { modelId: string; name: string }[] };
}

export interface PromptResult {
  stopReason: string;
  usage?: Usage;
  turn?: number;
  error?: { code: string; message: string };
}

export interface PermissionOption {
  optionId: string;
  name: string;
  kind: string;
}

export interface PermissionParams {
  sessionId: string;
  toolCall: Update;
  options: PermissionOption[];
  _meta?: { tandem?: { danger?: string; reason?: string; suggestedRule?: unknown } };
}

export interface PermissionResult {
  outcome: { outcome: 'selected'; optionId: string } | { outcome: 'cancelled' };
}

export interface ClarifyParams {
  sessionId: string;
  toolCallId: string;
  question: string;
  options?: { id: string; label: string }[];
  defaultAnswer?: string;
  timeoutMs?: number;
}

export interface ChangedFile {
  uri: string;
  status: string;
  additions: number;
  deletions: number;
  hunks: { status: string }[];
}

export interface MentionItem {
  label: string;
  kind: string;
  insert: string;
}
