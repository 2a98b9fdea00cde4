// Written by `go test ./lspserver/protocol -update`: change the types or the table there.

/** The version of the methods that are spoken here. */
export const VERSION = 1;

/** The error codes that are Tandem's own. */
export const ERRORS = {
  /** There is no session of that id, or it is not loaded. */
  unknown_session: -32011,
  /** The session is answering another prompt, or another process has it. */
  session_busy: -32012,
  /** The provider or the model is unknown, or its key is missing; the message says what to set. Nothing was sent. */
  model_unavailable: -32013,
  /** The session or the configuration does not allow it. */
  not_permitted: -32014,
  /** A cwd, a root or a workspace folder is not there or is no folder. */
  no_such_folder: -32602,
  /** There is no running turn to steer. */
  no_turn: -32602,
} as const;

/** What people are told of a failed call, by its class, or by class and reason. */
export const FAILURES: Readonly<Record<string, string>> = {
  'BINARY_FILE': 'This is not a text file.',
  'BINARY_FILE/encoding': 'The encoding of this file is not supported. Save it as UTF-8.',
  'BUDGET_EXCEEDED': 'This turn reached its limit of tool calls or time. The budget settings raise the limits.',
  'CANCELLED': 'This was stopped.',
  'CANCELLED/cut_off': 'The model\'s answer was cut off here. Nothing was changed.',
  'CANCELLED/interrupted': 'Tandem exited before this was done. Nothing was changed.',
  'CLAIMED': 'Another agent is working on this file. Nothing was changed.',
  'CLARIFY_TIMEOUT': 'The question was not answered in time.',
  'EDIT_CONFLICT': 'These lines were changed while the agent was editing them. Its edit was not applied.',
  'EDIT_CONFLICT/deleted': 'The file was deleted in the meantime. Nothing was written.',
  'EDIT_CONFLICT/disk_newer': 'The file is newer on disk than in the editor. Reload it first. It was not deleted.',
  'EDIT_CONFLICT/editor_busy': 'The files were being changed all the time. Nothing was changed.',
  'EDIT_CONFLICT/linked': 'The file has more than one name on disk, and the edit would change all of them. It was not made.',
  'EDIT_CONFLICT/not_empty': 'The folder is not empty. It was not removed.',
  'EDIT_CONFLICT/open_elsewhere': 'The file has unsaved changes in a notebook or another kind of editor. Save it first.',
  'EDIT_CONFLICT/opened_twice': 'The editor has this file open under two names. Close one of them.',
  'EDIT_CONFLICT/out_of_step': 'Tandem\'s copy of this file is out of sync with the editor. Close and reopen it.',
  'EDIT_CONFLICT/undone': 'You took the edit back at once. It is not in the text.',
  'EDIT_CONFLICT/unsaved': 'The file has unsaved changes, and the editor cannot apply edits. Save the file first.',
  'EXECUTION_ERROR': 'The tool failed. See the log for details.',
  'EXECUTION_ERROR/not_started': 'The command could not be started.',
  'FILE_EXISTS': 'A file with this name already exists. It was not changed.',
  'FILE_TOO_LARGE': 'The file is too large. The setting limits.maxFileBytes raises the limit.',
  'GATE_DENIED': 'Permission was denied. Nothing was done.',
  'GATE_DENIED/mode': 'The mode of this session does not allow this. Change the mode to allow it.',
  'GATE_DENIED/protected': 'No tool may do this, in any mode. Nothing was done.',
  'GATE_DENIED/rules': 'A permission rule denies this. Change the rule in your settings to allow it.',
  'GATE_DENIED/sandbox': 'The sandbox that this command needs is not available. Nothing was run.',
  'GATE_DENIED/too_large': 'The change is too large to be shown for approval. Nothing was changed.',
  'GATE_DENIED/unanswered': 'The permission prompt got an invalid reply. Nothing was changed.',
  'GATE_DENIED/unattended': 'No one was available to grant permission. Nothing was changed.',
  'GATE_DENIED/user': 'You denied this. Nothing was done.',
  'INVALID_ARGS': 'The model called this tool with invalid arguments. It has received the error.',
  'IS_DIRECTORY': 'This is a folder, not a file.',
  'NETWORK_DENIED': 'Network access is not allowed. The setting sandbox.network allows hosts.',
  'NETWORK_DENIED/address': 'This address is not on the public internet.',
  'NOT_READ': 'The model has not read this text yet. Nothing was changed.',
  'NO_CHANGE': 'There was nothing to change.',
  'OUTSIDE_ROOTS': 'The path is outside this session\'s folders. The setting readRoots adds folders.',
  'OUTSIDE_ROOTS/replaced': 'The session\'s folder was deleted and created again. Reopen the session or start a new one. Nothing was changed.',
  'OUTSIDE_WRITE_ROOTS': 'The path is outside the folders that may be changed. The setting writeRoots adds folders.',
  'PATCH_FAILED': 'The patch does not fit the files. Nothing was changed.',
  'PATCH_PARSE_ERROR': 'The patch is malformed. Nothing was changed.',
  'PLAN_MODE': 'In plan mode nothing is changed or run. Choose another mode to allow it.',
  'PROTECTED_PATH': 'This path is protected. Nothing was changed.',
  'READ_ERROR': 'This could not be read.',
  'READ_ERROR/eacces': 'You have no permission to read this. Check the permissions of the file.',
  'READ_ERROR/enoent': 'There is no file or folder with this name.',
  'READ_ERROR/enotdir': 'A part of the path is not a folder.',
  'READ_ERROR/invalid_path': 'The path is not valid.',
  'READ_ERROR/name_too_long': 'The path is too long.',
  'READ_ERROR/not_directory': 'This is not a folder.',
  'READ_ERROR/not_regular': 'This is not a regular file.',
  'READ_ERROR/out_of_step': 'Tandem\'s copy of this file is out of sync with the editor. Close and reopen it.',
  'READ_ERROR/search_failed': 'The search failed.',
  'READ_ERROR/symlink_loop': 'The symbolic links in this path form a loop.',
  'READ_ERROR/timeout': 'The disk did not answer in time.',
  'SIBLING_CANCELLED': 'This was stopped because another command of the same batch failed.',
  'TEXT_MULTIPLE_MATCHES': 'The text to replace occurs more than once in the file. Nothing was changed.',
  'TEXT_NOT_FOUND': 'The text to replace is not in the file. Nothing was changed.',
  'TIMEOUT': 'This took too long and was stopped.',
  'TIMEOUT/editor_busy': 'The editor did not apply the edit in time. Nothing was changed.',
  'TIMEOUT/held': 'The editor has not confirmed the edit before this one yet. Nothing was changed.',
  'TIMEOUT/locked': 'Another edit of this file was still running. Nothing was changed.',
  'TIMEOUT/timeout': 'The command took too long and was stopped.',
  'TOOL_NOT_FOUND': 'The model called a tool that does not exist.',
  'TOOL_NOT_FOUND/disabled': 'This tool is disabled in the settings.',
  'UNKNOWN': 'It is unknown whether this took effect. Check the file.',
  'UNKNOWN/held': 'The editor has not confirmed the edit yet.',
  'UNKNOWN/interrupted': 'Tandem exited while this was running. It is unknown whether it took effect.',
  'UNKNOWN/no_echo': 'The editor did not confirm the edit. Check the file.',
  'UNKNOWN/no_reply': 'The editor did not answer. Check whether the edit was applied.',
  'UNSUPPORTED': 'This is not possible here.',
  'UNSUPPORTED/no_client': 'This editor cannot show the model\'s questions.',
  'WRITE_ERROR': 'The file could not be written. It was not changed.',
  'WRITE_ERROR/eacces': 'You have no permission to write this file. Check its permissions.',
  'WRITE_ERROR/encoding': 'The text cannot be written in the encoding of this file. Save the file as UTF-8.',
  'WRITE_ERROR/enospc': 'The disk is full. The file was not changed.',
  'WRITE_ERROR/journal': 'The state folder of Tandem could not be written. The file was not changed.',
  'WRITE_ERROR/name_too_long': 'The path is too long.',
  'WRITE_ERROR/no_editor': 'The editor cannot apply edits. Nothing was changed.',
  'WRITE_ERROR/not_regular': 'This is not a regular file. It was not changed.',
  'WRITE_ERROR/refused': 'The editor refused the edit. The file may be read-only. It was not changed.',
  'WRITE_ERROR/size': 'The file would become too large. It was not changed.',
  'WRITE_ERROR/stuck': 'Writing the file was interrupted. Check its content.',
};

/** What people are told of the end of a turn, by its stopReason, or lost where the server ended. */
export const ENDINGS: Readonly<Record<string, string>> = {
  'budget_exceeded': 'The turn reached the budget in your settings.',
  'cancelled': 'Stopped.',
  'end_turn': 'Done.',
  'error': 'The turn failed.',
  'interrupted': 'The turn was interrupted: its window or session was closed.',
  'lost': 'The server stopped.',
  'max_tokens': 'The answer reached the model\'s length limit.',
  'max_turn_requests': 'The turn reached the limit of model requests in your settings.',
  'refusal': 'The model refused to answer.',
};

/** The word for the state of a call: its status, or rejected or cancelled. */
export const STATES: Readonly<Record<string, string>> = {
  'cancelled': 'stopped',
  'completed': 'done',
  'failed': 'failed',
  'in_progress': 'running',
  'pending': 'waiting',
  'rejected': 'denied',
};

/** The sentence for people of a failed call, from its error and reason. The call's summary is that sentence too. */
export function failure(error: string, reason?: string): string {
  const exit = /^EXIT_CODE_(.+)$/.exec(error)?.[1];
  return (
    FAILURES[error + '/' + reason] ??
    FAILURES[error] ??
    (exit === undefined ? 'This failed.' : 'The command ended with exit code ' + exit + '.')
  );
}

/** The sentence for people of the end of a turn. */
export function ending(stopReason: string): string {
  return ENDINGS[stopReason] ?? ENDINGS['error'] ?? '';
}

/** The word for people of the state of a call, from its status, phase and error. */
export function state(status: string, phase?: string, error?: string): string {
  const key =
    phase === 'rejected' || error === 'GATE_DENIED'
      ? 'rejected'
      : error === 'CANCELLED' || error === 'SIBLING_CANCELLED'
        ? 'cancelled'
        : status;
  return STATES[key] ?? '';
}

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface WorkspaceEdit {
  documentChanges?: unknown[];
}

/** AnswerMeta is _meta of a person's answer. */
export interface AnswerMeta {
  tandem: AnswerWords;
}

/** AnswerWords is _meta.tandem of a person's answer. */
export interface AnswerWords {
  /** What the person wrote with the answer, for the model to read. */
  feedback?: string;
}

/** ApplyEditInfo says whose edit it is. */
export interface ApplyEditInfo {
  sessionId: string;
  toolCallId: string;
  turn: number;
  unified: UnifiedDiff[];
  /** The document will be asked to be saved. */
  save: boolean;
}

/** ApplyEditParams are LSP's with fields of our own. A plain client, one that did not declare experimental.tandem, gets the edit alone. */
export interface ApplyEditParams {
  label?: string;
  edit: WorkspaceEdit;
  tandem?: ApplyEditInfo;
}

/** ApplyEditResult is LSP's with a field of our own, from a client that declared landed. */
export interface ApplyEditResult {
  applied: boolean;
  failureReason?: string;
  failedChange?: number;
  tandem?: ApplyEditVersion;
}

/** ApplyEditVersion says where an edit landed. */
export interface ApplyEditVersion {
  /** Each document of the edit with the version that the edit made, or its present one where its text did not change. The client may have carried the edit over changes that it has told of. */
  versions: LandedVersion[];
}

/** ApproveParams of tandem/plan/approve. */
export interface ApproveParams {
  sessionId: string;
  /** All that are not stale if absent or empty. */
  planIds?: string[];
  /** Of one plan, the numbers of the hunks that land; the rest of it waits on. All if absent or empty. */
  hunks?: number[];
}

/** ApproveResult of tandem/plan/approve, in the order in which the plans were to land. */
export interface ApproveResult {
  results: PlanApproval[];
}

/** AskTarget is the argument of the command tandem.ask. */
export interface AskTarget {
  /** The file that it is about. The session is that of the workspace folder which it lies in, or else of its own folder; the first prompt begins it. */
  uri: string;
  /** The cursor, or the selection. */
  range?: Range;
  /** The prompt. */
  text: string;
}

/** AssessParams of tandem/tools/assess. */
export interface AssessParams {
  name: string;
  arguments: unknown;
  /** Else the one that was used last, or a new one of the first folder. */
  sessionId?: string;
}

/** AssessResult of tandem/tools/assess. */
export interface AssessResult {
  danger: 'safe' | 'moderate' | 'dangerous';
  readOnly: boolean;
  concurrencySafe: boolean;
  paths: string[];
  /** What a person might write for calls like this one. No answer makes it. */
  derivedRule?: PermissionRule;
  /** What an answer for longer than once makes. */
  exactRule?: PermissionRule;
  decision: 'allow' | 'ask' | 'deny';
  reason: string;
}

/** AuditAgent is the agent whose model asked for a call. */
export interface AuditAgent {
  session: string;
  /** The session of the agent that started this one. */
  parent?: string;
}

/** AuditEntry is the record of one call. */
export interface AuditEntry {
  /** When the call began, RFC 3339. */
  time: string;
  who: AuditWho;
  sessionId: string;
  callId: string;
  /** The canonical name, or the name that was asked for where there is no such tool. */
  tool: string;
  /** The arguments as they were checked. What looks like a secret is replaced by [redacted], and long texts are cut. Arguments that are no JSON are a string. */
  args: unknown;
  /** SHA-256 of the whole arguments: JSON without blanks and with sorted keys, as in meta.effectiveArgs. */
  argsHash: string;
  /** SHA-256 of the result's data; empty where the end is not recorded. */
  resultHash: string;
  /** deny also where the call ended before anybody had allowed it. */
  decision: 'allow' | 'deny';
  /** What decided: a mode, a rule, or the option that a person chose. */
  rule: string;
  /** What the rule belongs to: mode, rules, sandbox, person, audit and so on, or the stage at which the call ended undecided. */
  layer: string;
  /** The level and the profile that the call's command ran with; empty where it runs none. */
  sandbox: string;
  durationMs: number;
  /** As in ToolResult. */
  error?: string;
  /** The call has not ended, or its process ended before it. */
  pending?: boolean;
}

/** AuditParams of tandem/audit/query. */
export interface AuditParams {
  /** Of all sessions if absent; it need not be stored any more. */
  sessionId?: string;
  /** RFC 3339: calls that began then or later. */
  since?: string;
  /** How many of the newest entries, 1000 if absent. */
  limit?: number;
}

/** AuditResult of tandem/audit/query. */
export interface AuditResult {
  entries: AuditEntry[];
}

/** AuditWho is who made a call. */
export interface AuditWho {
  /** The account of the server's process. */
  user: string;
  /** What the client calls itself. */
  client: string;
  agent: AuditAgent;
}

/** BatchCall is one call of a batch. */
export interface BatchCall {
  /** Made up if absent; one that was used before in the session is refused. */
  callId?: string;
  name: string;
  arguments: unknown;
}

/** BatchParams of tandem/tools/batch. */
export interface BatchParams {
  sessionId: string;
  calls: BatchCall[];
  apply?: 'auto' | 'editor' | 'disk' | 'none';
  trace?: boolean;
  /** All calls run at the same time, whatever they do. A command that fails ends the other commands. */
  parallel?: boolean;
  /** Only say which calls would run together. */
  dryRun?: boolean;
}

/** BatchResult of tandem/tools/batch, in the order of the calls. */
export interface BatchResult {
  results: ToolResult[];
  /** Which calls ran together, by their place in the request. */
  batches: number[][];
}

/** CacheStats counts reads of files. */
export interface CacheStats {
  /** Answered from memory: the buffer of an open document, or a text that is proven to be what the disk has. */
  hits: number;
  /** For which a file was read. */
  misses: number;
}

/** CallToolParams of tandem/tools/call. */
export interface CallToolParams {
  sessionId: string;
  /** Made up if absent; one that was used before in the session is refused. */
  callId?: string;
  name: string;
  arguments: unknown;
  /** Where a change goes; the configuration says if absent. */
  apply?: 'auto' | 'editor' | 'disk' | 'none';
  trace?: boolean;
}

/** ChangeRecord is one change of one file, as it was written down when it happened. */
export interface ChangeRecord {
  /** Unique in the session, for good. */
  id: string;
  /** Absolute. */
  filePath: string;
  /** What was changed, where it is no text: the hashes are empty then. */
  entry?: 'bytes' | 'folder' | 'link';
  /** Where the file was before it was moved to filePath; absolute. */
  from?: string;
  operation: 'create' | 'edit' | 'delete' | 'move' | 'shell' | 'undo';
  /** 0 outside a turn. */
  turnNumber: number;
  toolCallId: string;
  /** RFC 3339. */
  time: string;
  /** SHA-256 of the text before, empty where there was no file. */
  beforeHash: string;
  /** SHA-256 of the text after, empty where there is no file any more. */
  afterHash: string;
  /** Absent where there was no file, or its text was too large to keep or was forgotten. */
  contentBefore?: string;
  /** Likewise. */
  contentAfter?: string;
}

/** ChangedFile is what a session has changed in one file and what still stands. */
export interface ChangedFile {
  uri: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed';
  /** The URI that a renamed file had. */
  from?: string;
  /** What it is, where it is no text. */
  entry?: 'bytes' | 'folder' | 'link';
  additions: number;
  deletions: number;
  unified: string;
  truncated?: boolean;
  hunks: ChangedHunk[];
  /** An edit of the session may be in the text: the editor says that it has applied it, and has not told of it yet. */
  unknown?: boolean;
}

/** ChangedHunk is one run of changed lines of one tool call; range is where newText stands now. */
export interface ChangedHunk {
  id: string;
  range: Range;
  /** Whole lines, like newText; neither has a line that is in the other. */
  oldText: string;
  newText: string;
  /** accepted also from the start, where a person was asked about the change and allowed it. */
  status: 'pending' | 'accepted' | 'rejected' | 'conflict';
  turn: number;
  toolCallId: string;
  /** The changed parts of lines, of a hunk that is not settled. */
  inline?: InlineSpan[];
}

/** ChatCall is a call that a model has asked for. */
export interface ChatCall {
  id: string;
  type: 'function';
  function: ChatFunction;
}

/** ChatFunction names the function that is called. */
export interface ChatFunction {
  name: string;
  /** An object, as JSON. */
  arguments: string;
}

/** ChatImage is a picture. */
export interface ChatImage {
  /** A data URL in Base64. */
  url: string;
}

/** ChatMessage is a message as Chat Completions has it. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** Text, or a list of ChatPart. */
  content?: unknown;
  /** Of an assistant. */
  tool_calls?: ChatCall[];
  /** Of a tool's message: the call that it answers. */
  tool_call_id?: string;
}

/** ChatPart is a part of a message that is not text alone. */
export interface ChatPart {
  type: 'text' | 'image_url';
  text?: string;
  image_url?: ChatImage;
}

/** ChatTool is a tool that a model may call. */
export interface ChatTool {
  type: 'function';
  function: ChatToolSpec;
}

/** ChatToolSpec describes a tool. */
export interface ChatToolSpec {
  name: string;
  description?: string;
  /** A JSON Schema. */
  parameters: unknown;
}

/** Checkpoint is the beginning of a turn. */
export interface Checkpoint {
  turn: number;
  /** RFC 3339. */
  time: string;
  prompt: string;
  /** How many files the turn has changed. */
  files: number;
  /** Lines, of the files whose texts are kept. */
  additions: number;
  deletions: number;
}

/** CheckpointsResult of tandem/session/checkpoints. */
export interface CheckpointsResult {
  checkpoints: Checkpoint[];
}

/** Choice is a mode or a model that a session can have. */
export interface Choice {
  id: string;
  name: string;
}

/** Claim is what a call is about to change. */
export interface Claim {
  uri: string;
  /** Absent for the whole file: it is made, overwritten, deleted or moved. */
  range?: Range;
  /** The session. */
  holder: string;
  toolCallId: string;
  /** RFC 3339. */
  since: string;
}

/** ClaimsParams of tandem/claims/list. */
export interface ClaimsParams {
  /** Of all sessions if absent. */
  sessionId?: string;
}

/** ClaimsResult of tandem/claims/list, in the order in which they were taken. */
export interface ClaimsResult {
  claims: Claim[];
}

/** ClarifyOption is one answer on offer. */
export interface ClarifyOption {
  id: string;
  label: string;
}

/** ClarifyParams of tandem/session/clarify. */
export interface ClarifyParams {
  sessionId: string;
  toolCallId: string;
  question: string;
  /** Answers on offer; the id of the chosen one is the answer. */
  options?: ClarifyOption[];
  /** Holds where no answer comes in time. */
  defaultAnswer?: string;
  /** How long the server waits; it then cancels the request. */
  timeoutMs?: number;
}

/** ClarifyResult of tandem/session/clarify. */
export interface ClarifyResult {
  /** Text, or the id of an option; empty where the person gave none. */
  answer: string;
}

/** ClientExperimental is capabilities.experimental.tandem of the initialize request: what the client answers. */
export interface ClientExperimental {
  /** The version of the tandem/* methods that the client was made for; the server says so where its own is another. */
  protocolVersion?: number;
  /** tandem/session/requestPermission. */
  permission?: boolean;
  /** tandem/session/clarify. */
  clarify?: boolean;
  /** tandem/documents/save. */
  save?: boolean;
  /** tandem/documents/resync. */
  resync?: boolean;
  /** Replies to workspace/applyEdit name the version that the edit made. */
  landed?: boolean;
  /** tandem/editor/request. */
  editorRequest?: boolean;
  /** tandem/model/stream. */
  model?: boolean;
  /** The client shows hunks and checks every document's version. */
  review?: boolean;
  /** The tandem section never holds a repository's settings. Without it the section may only make things stricter, like a workspace's file. */
  settingsAreOwn?: boolean;
  /** tandem/tools/event. */
  events?: boolean;
}

/** Command is what a person can call by /name, and words behind it, at the beginning of a prompt. */
export interface Command {
  /** Without the /. */
  name: string;
  /** One line. */
  description: string;
  /** Absent where it takes no words. */
  input?: CommandInput;
}

/** CommandInput is what a command takes. */
export interface CommandInput {
  /** The names of the words that it takes; those in brackets may be left out. */
  hint: string;
}

/** CompactParams of tandem/session/compact. */
export interface CompactParams {
  sessionId: string;
  /** What the summary should mind, in a person's words. */
  instructions?: string;
}

/** CompactResult of tandem/session/compact. */
export interface CompactResult {
  /** That of the compaction_update; absent where nothing was done. */
  compactionId?: string;
  /** prune cleared results of tools; ledger replaced messages without a summary. */
  kind: 'none' | 'prune' | 'summary' | 'ledger';
  /** Tokens of a request, about. */
  before: number;
  after: number;
}

/** ContentBlock is a piece of a prompt or of a message, as the Agent Client Protocol has it. */
export interface ContentBlock {
  type: 'text' | 'resource_link' | 'resource' | 'image';
  text?: string;
  uri?: string;
  name?: string;
  mimeType?: string;
  /** Base64, for an image. */
  data?: string;
  resource?: EmbeddedResource;
}

/** ContentPart is a part of a result. */
export interface ContentPart {
  type: 'text' | 'image' | 'document';
  text?: string;
  /** application/octet-stream where the content is not what the file's name says. */
  mediaType?: string;
  name?: string;
  /** Base64. */
  data?: string;
}

/** Cost is an amount of money. */
export interface Cost {
  amount: number;
  /** USD. */
  currency: string;
}

/** DeadLetter is a call that failed for good. */
export interface DeadLetter {
  id: string;
  /** When the call began, RFC 3339. */
  time: string;
  sessionId: string;
  callId: string;
  turn?: number;
  tool: string;
  /** The arguments that were sent. What looks like a secret is replaced by [redacted], and long texts are cut; null where they were too long to be kept. */
  args: unknown;
  /** As in ToolResult. */
  error?: string;
  reason?: string;
  /** The beginning of what the model read. */
  message: string;
  attempts: number;
  trace: TraceStage[];
}

/** DeadLetterParams of tandem/deadLetters/retry and discard. */
export interface DeadLetterParams {
  ids: string[];
}

/** DeadLettersParams of tandem/deadLetters/list. */
export interface DeadLettersParams {
  /** Of all sessions if absent. */
  sessionId?: string;
}

/** DeadLettersResult of tandem/deadLetters/list, the newest first. */
export interface DeadLettersResult {
  items: DeadLetter[];
}

/** DeferredTools are those that the next request of the session used last tells a model of by name alone. */
export interface DeferredTools {
  names: string[];
  /** In each request, about: a token for four bytes. */
  tokensSaved: number;
}

/** Denial says who refused a call and why. */
export interface Denial {
  reason: string;
  rule?: string;
  layer?: string;
  source?: string;
}

/** DidChangeParams of tandem/changes/didChange. */
export interface DidChangeParams {
  sessionId: string;
  uris: string[];
}

/** DiffChangesParams of tandem/changes/diff. */
export interface DiffChangesParams {
  sessionId: string;
  uri: string;
  /** Lift the limit on the size of a diff. */
  full?: boolean;
  /** Only these hunks of tandem/changes/list. */
  hunkIds?: string[];
}

/** DiffHunk is one run of changed lines. */
export interface DiffHunk {
  /** Where newText stands. */
  range: Range;
  oldText: string;
  newText: string;
  inline?: InlineSpan[];
}

/** DiffMeta is _meta.tandem of a diff. */
export interface DiffMeta {
  unified: string;
  /** The changed parts of lines; a line that is changed as a whole has none. */
  spans?: LineSpan[];
}

/** DiscardPlansParams of tandem/plan/discard. */
export interface DiscardPlansParams {
  sessionId: string;
  /** All if absent or empty. */
  planIds?: string[];
}

/** DroppedTool is a tool that a model is not offered. */
export interface DroppedTool {
  name: string;
  stage: 'mode' | 'deny' | 'enabled' | 'pool';
  reason: string;
}

/** EditorContext is what a person has in front of them. With it the model is told of the document, the cursor and the selected text, up to 8 KiB of it, and of up to 20 other open documents by name; never of what lies outside of the session's folders, nor of files such as .env, *.pem or id_rsa. */
export interface EditorContext {
  /** The document with the cursor. */
  uri: string;
  cursor: Position;
  /** The text is that of the document as the server was told of it. */
  selection?: Range;
  /** What can be seen of the document. */
  visible?: Range;
}

/** EditorReply is the answer of one language server. */
export interface EditorReply {
  /** What a person calls it. */
  server?: string;
  /** That of the positions in result; that of the connection if absent. */
  positionEncoding?: 'utf-8' | 'utf-16' | 'utf-32';
  /** Of textDocument/diagnostic: the version of the document, as this server was told it, that the answer is about, any older one if it is about an older text; absent where it is not known. */
  version?: number;
  /** The result of the method. Of textDocument/diagnostic a full report, also where the language server publishes its diagnostics. */
  result: unknown;
}

/** EditorRequestParams of tandem/editor/request. */
export interface EditorRequestParams {
  /** The file, which says the language servers that are asked. That of a folder is all of them. */
  uri: string;
  /** textDocument/definition, textDocument/references, textDocument/documentSymbol, textDocument/diagnostic, textDocument/rename, textDocument/formatting, textDocument/codeAction, workspace/symbol or workspace/diagnostic. */
  method: string;
  /** Those of the method. Positions are in the encoding that this server and the client have agreed upon; the client converts them for a language server with another one. To the context of textDocument/codeAction it adds the diagnostics of the range. */
  params: unknown;
  /** Of textDocument/codeAction: the title of the action whose edit is wanted. Where it has none yet the client resolves it. */
  resolve?: string;
}

/** EditorRequestResult of tandem/editor/request. It is empty where no language server serves the file. */
export interface EditorRequestResult {
  results: EditorReply[];
}

/** ElsewhereParams of tandem/documents/elsewhere. */
export interface ElsewhereParams {
  /** All such files; an empty list for none. */
  uris: string[];
}

/** EmbeddedResource is text that goes along with a prompt, or a document of a result. */
export interface EmbeddedResource {
  uri: string;
  text?: string;
  /** Base64, where it is no text. */
  blob?: string;
  mimeType?: string;
}

/** Empty is a result that says nothing. */
export type Empty = Record<string, never>;

/** ExportParams of tandem/session/export. */
export interface ExportParams {
  sessionId: string;
  /** For a person, or everything for a program. */
  format: 'markdown' | 'jsonl';
}

/** ExportResult of tandem/session/export. */
export interface ExportResult {
  text: string;
}

/** FileDiff is the diff of one file. Over the limit unified and hunks are left out and truncated is true. */
export interface FileDiff {
  path: string;
  unified?: string;
  additions: number;
  deletions: number;
  hunks?: DiffHunk[];
  truncated?: boolean;
}

/** FileLock is a lock and its holder. */
export interface FileLock {
  /** The id of a session, maybe one of another process. */
  holder: string;
  toolCallId?: string;
  /** RFC 3339. */
  since?: string;
  /** The process that the session is in. */
  pid?: number;
}

/** FileTimeNotice of tandem/fileTime. */
export interface FileTimeNotice {
  uri: string;
  state: 'read' | 'stale' | 'written' | 'conflict';
  by: 'user' | 'disk' | 'agent';
  /** RFC 3339. */
  mtime?: string;
  version?: number;
}

/** FileTimeParams of tandem/fileTime/get. */
export interface FileTimeParams {
  uris?: string[];
}

/** FileTimeResult of tandem/fileTime/get. */
export interface FileTimeResult {
  files: FileTimeState[];
}

/** FileTimeState is the state of one file. */
export interface FileTimeState {
  uri: string;
  /** read, stale, written or conflict; empty where the file was never seen. */
  state: string;
  /** RFC 3339. */
  readAt?: string;
  /** RFC 3339. */
  mtime?: string;
  /** Bytes of the text. */
  size?: number;
  /** SHA-256 of the text. */
  hash?: string;
  version?: number;
  dirty: boolean;
  lock?: FileLock;
}

/** ForkParams of tandem/session/fork. */
export interface ForkParams {
  sessionId: string;
  /** The last turn that the new session has; 0 for none. The last one that has ended if absent. */
  atTurn?: number;
}

/** GetToolParams of tandem/tools/get. */
export interface GetToolParams {
  name: string;
  sessionId?: string;
}

/** HunksParams of tandem/changes/accept and tandem/changes/reject. */
export interface HunksParams {
  sessionId: string;
  /** Only hunks of this file. */
  uri?: string;
  /** Those of tandem/changes/list; all if absent, to be rejected all that are not accepted. */
  hunkIds?: string[];
}

/** HunksResult of tandem/changes/accept and tandem/changes/reject. */
export interface HunksResult {
  /** The hunks that were accepted, or that are gone. */
  changed: string[];
  /** The hunks that stay, because a person or a later call has changed their text. */
  conflicts: string[];
}

/** InlineSpan is a changed run of characters (code points) within a hunk. */
export interface InlineSpan {
  start: number;
  end: number;
  /** A span of newText, or of oldText. */
  op: 'insert' | 'delete';
}

/** InvokeToolParams of tandem/tools/invoke. */
export interface InvokeToolParams {
  name: string;
  /** Checked against parameters, with its defaults. */
  arguments: unknown;
  sessionId: string;
  callId: string;
}

/** Issue is one thing wrong with the arguments of a call. */
export interface Issue {
  /** $.items[2].name */
  path: string;
  /** RFC 6901. */
  pointer: string;
  expected: string;
  /** At most 60 characters. */
  received: string;
  message: string;
}

/** JobState is a command that a session runs in the background. */
export interface JobState {
  sessionId: string;
  jobId: string;
  title: string;
}

/** KeyVariable is the environment variable that the key of a service is read from, as its apiKeyEnv says. */
export interface KeyVariable {
  provider: string;
  variable: string;
}

/** LandedVersion is one version of a document. */
export interface LandedVersion {
  uri: string;
  version: number;
}

/** LineSpan is a changed part of a line of a unified diff, in characters (code points) behind the sign of the line. */
export interface LineSpan {
  /** Of unified, from 0. */
  line: number;
  start: number;
  end: number;
}

/** ListChangesParams of tandem/changes/list. */
export interface ListChangesParams {
  sessionId: string;
  uri?: string;
}

/** ListChangesResult of tandem/changes/list. */
export interface ListChangesResult {
  files: ChangedFile[];
}

/** ListRulesParams of tandem/permissions/list. */
export interface ListRulesParams {
  /** Its own rules too. */
  sessionId?: string;
}

/** ListSessionsParams of tandem/session/list. */
export interface ListSessionsParams {
  /** Only sessions of this folder. */
  cwd?: string;
  /** nextCursor of the answer before. */
  cursor?: string;
}

/** ListSessionsResult of tandem/session/list. */
export interface ListSessionsResult {
  sessions: SessionInfo[];
  nextCursor?: string;
}

/** ListToolsParams of tandem/tools/list. */
export interface ListToolsParams {
  sessionId?: string;
  kind?: string;
  readOnly?: boolean;
  /** Without the tools that models of this provider do not take. If absent, the provider of the session's model. */
  provider?: string;
  /** With the tools that are deferred because there are more than deferTools.threshold, or because they are an MCP server's. */
  includeDeferred?: boolean;
  /** With disabledBy. */
  includeDisabled?: boolean;
  /** Say in dropped which tools are not offered, and why. */
  explain?: boolean;
}

/** ListToolsResult of tandem/tools/list, sorted by name. */
export interface ListToolsResult {
  tools: ToolInfo[];
  dropped?: DroppedTool[];
}

/** LoadSessionParams of tandem/session/load. */
export interface LoadSessionParams {
  sessionId: string;
  /** The folder that the client works in; a session of another is refused. The workspace folders if absent. */
  cwd?: string;
}

/** Location is a place that a tool call is about. */
export interface Location {
  /** Absolute. */
  path: string;
  /** 1-based. */
  line?: number;
}

/** MCPServerState is an MCP server of a session. */
export interface MCPServerState {
  sessionId: string;
  name: string;
  /** Where it was written down. */
  source?: string;
  /** It was not the user who wrote it down, so they are asked before it is started. */
  proposed?: boolean;
  /** Its program, or its URL. */
  command?: string;
  state: 'off' | 'starting' | 'ready';
  /** Why it is off. Without a reason it was not needed yet. */
  reason?: string;
  /** On offer. */
  tools?: string[];
  /** Tools that are not what they were when they were first seen, and are not on offer until the user has accepted them. */
  held?: string[];
  /** What else is to be known, each a sentence. */
  remarks?: string[];
}

/** MentionItem is something that can be mentioned. */
export interface MentionItem {
  label: string;
  /** file, folder, resource (of an MCP server), symbol, selection, diagnostics or command. Others may follow. */
  kind: string;
  /** The text for the prompt, with the @, or the / of a command. */
  insert: string;
}

/** MentionParams of tandem/mentions/complete. */
export interface MentionParams {
  /** Its folder is looked at; that of the workspace if absent. */
  sessionId?: string;
  /** The letters behind the @. With a / at its beginning commands are meant, which stand at the beginning of a prompt. */
  prefix: string;
  /** The most items to give, up to 200; 20 if absent. */
  limit?: number;
}

/** MentionResult of tandem/mentions/complete. */
export interface MentionResult {
  items: MentionItem[];
}

/** Meta holds our own fields of a payload of the Agent Client Protocol. */
export interface Meta {
  tandem: UpdateMeta | DiffMeta | PermissionMeta;
}

/** ModeState lists the modes and names the present one. */
export interface ModeState {
  currentModeId: string;
  availableModes: Choice[];
}

/** ModelChoice is a model that a session can have. */
export interface ModelChoice {
  modelId: string;
  name: string;
}

/** ModelChunk of tandem/model/chunk; one of text, thought and toolCall is set. */
export interface ModelChunk {
  streamId: string;
  text?: string;
  thought?: string;
  toolCall?: ModelChunkCall;
}

/** ModelChunkCall is a piece of a call; pieces of one index belong together. */
export interface ModelChunkCall {
  index: number;
  /** With the first piece. */
  id?: string;
  /** With the first piece. */
  name?: string;
  /** The next piece of the arguments, which are an object as JSON. */
  argumentsDelta?: string;
}

/** ModelOptions say how a model is to answer. */
export interface ModelOptions {
  /** The id that follows editor/ in the model's name; absent leaves the choice to the client. */
  model?: string;
}

/** ModelState lists the models and names the present one. */
export interface ModelState {
  currentModelId: string;
  availableModels: ModelChoice[];
}

/** ModelStreamParams of tandem/model/stream. */
export interface ModelStreamParams {
  /** What the chunks of the answer name. */
  streamId: string;
  /** The whole conversation, the system prompt first. */
  messages: ChatMessage[];
  /** What the model may call. */
  tools: ChatTool[];
  options: ModelOptions;
}

/** ModelStreamResult of tandem/model/stream, after the last chunk. */
export interface ModelStreamResult {
  /** end_turn, also where the model waits for its calls; max_tokens or refusal. Others are failures. */
  stopReason: string;
  usage?: Usage;
}

/** NewSessionParams of tandem/session/new. */
export interface NewSessionParams {
  /** Absolute; the first workspace folder if absent. */
  cwd?: string;
  /** Absolute; further roots. */
  additionalDirectories?: string[];
  /** provider/model; the configuration says if absent. */
  model?: string;
  /** The configuration says if absent. */
  mode?: string;
  /** A conversation to go on with: the system prompt, if any, then the user's message first, every call with its result, the assistant's message last. The model gets it before the first prompt, and it is kept with the session. */
  messages?: ChatMessage[];
  /** MCP servers of this session alone, each an MCPServer. They count as the user's own. */
  mcpServers?: unknown[];
}

/** NewSessionResult of tandem/session/new. */
export interface NewSessionResult {
  sessionId: string;
  modes: ModeState;
  models: ModelState;
}

/** PatchOp is what became of one file of a patch: an element of result.operations of the tool patch. Paths are absolute. */
export interface PatchOp {
  op: 'add' | 'delete' | 'update';
  path: string;
  /** Where an update has moved the file. */
  to?: string;
  /** Lines. */
  additions: number;
  deletions: number;
  /** Somebody else had made the same change. */
  already?: boolean;
}

/** PermissionMeta is _meta.tandem of a permission request. */
export interface PermissionMeta {
  danger: 'safe' | 'moderate' | 'dangerous';
  reason: string;
  /** What allow_session and allow_always allow from then on; absent where the answers are for once only. allow_wide keeps the rule that its name says. */
  suggestedRule?: PermissionRule;
}

/** PermissionOption is one answer that a person can give. */
export interface PermissionOption {
  optionId: string;
  name: string;
  kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';
}

/** PermissionOutcome is a person's answer. */
export interface PermissionOutcome {
  outcome: 'selected' | 'cancelled';
  /** That of the selected option. */
  optionId?: string;
}

/** PermissionParams of tandem/session/requestPermission. */
export interface PermissionParams {
  sessionId: string;
  toolCall: Update;
  options: PermissionOption[];
  _meta?: Meta;
}

/** PermissionResult of tandem/session/requestPermission. */
export interface PermissionResult {
  outcome: PermissionOutcome;
  _meta?: AnswerMeta;
}

/** PermissionRule is a rule about calls of tools. In tandem/permissions/set a client gives tool, params, class, act, profile and scripts. */
export interface PermissionRule {
  id?: string;
  /** Name or alias; * stands for any letters. */
  tool: string;
  /** Patterns that arguments must match: globs of paths, commands word by word. */
  params?: Record<string, string>;
  effect?: 'allow' | 'ask' | 'deny';
  scope?: 'session' | 'workspace' | 'user';
  /** Where it was written: a file, a layer of the configuration, or an answer. */
  source?: string;
  /** Only tools of this permission class. */
  class?: 'read' | 'write' | 'execute' | 'network';
  /** The most that it allows to be done to a file. */
  act?: 'create' | 'edit' | 'replace';
  /** The only sandbox profile of commands that it allows. */
  profile?: string;
  /** What the scripts that a command runs must be for it to allow that: their names and a hash. */
  scripts?: string;
  /** The only folder whose sessions it is for. */
  workspace?: string;
  /** The only files, of an answer. */
  files?: string[];
  /** The only turn, of an answer. */
  turn?: number;
  /** The rule in one line, for a person. */
  text?: string;
  /** tandem/permissions/set can take it back; another one is in a file that people write. */
  removable?: boolean;
}

/** Plan is a change that waits for the user. */
export interface Plan {
  planId: string;
  toolCallId: string;
  title: string;
  kind: 'edit';
  /** approved is on its way; stale fits the text no more, and can only be discarded. */
  state: 'queued' | 'approved' | 'stale';
  /** Why it is stale: its text was changed, or a plan that it needs is gone. */
  reason?: 'text' | 'depends';
  uris: string[];
  /** The plans without which it cannot be approved: approve them before it, or with it. */
  needs?: string[];
  /** What it changes as things stand, after all plans before it. Ranges are of the text after it. */
  diff: FileDiff[];
  /** The parts of it that can be approved alone; their numbers are their places in this list. */
  hunks: PlanHunk[];
  /** Of a stale plan: the file that it does not fit. */
  uri?: string;
  /** What that file says. */
  text?: string;
}

/** PlanApproval is what became of one plan. */
export interface PlanApproval {
  planId: string;
  /** EDIT_CONFLICT with the reason text or depends where it cannot land; result is {path, text} then, if the file's text is known. */
  result: ToolResult;
}

/** PlanDidChangeParams of tandem/plan/didChange. */
export interface PlanDidChangeParams {
  sessionId: string;
  planIds: string[];
}

/** PlanEntry is one task of the model's own list. Cancelled ones are left out. */
export interface PlanEntry {
  /** One line. */
  content: string;
  priority: 'high' | 'medium' | 'low';
  status: 'pending' | 'in_progress' | 'completed';
}

/** PlanHunk is a part of a plan, in whole lines. */
export interface PlanHunk {
  uri: string;
  /** Its first line from 0, in the text before the plan. */
  line: number;
  oldText: string;
  newText: string;
}

/** PlansParams of tandem/plan/list. */
export interface PlansParams {
  sessionId: string;
}

/** PlansResult of tandem/plan/list, in the order in which the plans land. */
export interface PlansResult {
  plans: Plan[];
}

/** PluginState is a plug-in of the configuration. */
export interface PluginState {
  folder: string;
  id?: string;
  tools: number;
  /** Why it has no tools. */
  reason?: string;
}

/** PromptContext is _meta.tandem of a prompt. */
export interface PromptContext {
  editor?: EditorContext;
}

/** PromptMeta holds our own fields of a prompt. */
export interface PromptMeta {
  tandem?: PromptContext;
}

/** PromptParams of tandem/session/prompt. */
export interface PromptParams {
  sessionId: string;
  prompt: ContentBlock[];
  /** For this turn alone. */
  model?: string;
  /** For this turn alone, run by the client: see tandem/tools/invoke. A name that another tool has stands for this one meanwhile. */
  tools?: ToolSpec[];
  _meta?: PromptMeta;
}

/** PromptResult of tandem/session/prompt, sent when the turn is over. */
export interface PromptResult {
  /** end_turn, max_tokens, max_turn_requests, budget_exceeded, refusal, cancelled or error. Others may follow. */
  stopReason: string;
  usage: Usage;
  /** Counts from 1. */
  turn: number;
  /** With stopReason error. */
  error?: TurnError;
}

/** RecordsParams of tandem/changes/records. */
export interface RecordsParams {
  sessionId: string;
  /** Only changes of this turn; 0 is outside a turn. */
  turn?: number;
  /** Only changes of this file. */
  uri?: string;
  /** With the texts. */
  contents?: boolean;
}

/** RecordsResult of tandem/changes/records. */
export interface RecordsResult {
  records: ChangeRecord[];
}

/** RegisterToolsParams of tandem/tools/register. */
export interface RegisterToolsParams {
  tools: ToolSpec[];
  /** A tool may take the place of a built-in one of its name, until it is unregistered. */
  replace?: boolean;
}

/** RenameParams of tandem/session/rename. */
export interface RenameParams {
  sessionId: string;
  /** One line of up to 200 characters. */
  title: string;
}

/** Render is how a call can be shown: Markdown, and widgets beside it. */
export interface Render {
  markdown: string;
  widgets?: Widget[];
}

/** ResolvedParams of tandem/session/resolved. */
export interface ResolvedParams {
  sessionId: string;
  toolCallId: string;
  /** What another client chose. */
  optionId?: string;
  /** The name of the client that answered; rule: an answer to another question covers this one; end: the turn, the session or the time for it is over. */
  by: string;
  /** Always true: an answer that comes now is ignored. */
  alreadyResolved: boolean;
}

/** RestoreParams of tandem/session/restore. */
export interface RestoreParams {
  sessionId: string;
  /** The first turn that is to be gone: the session goes back to before its prompt. */
  turn: number;
  what: 'conversation' | 'files' | 'both';
  /** Changes nothing, and says what would be changed. */
  dryRun?: boolean;
}

/** RestoreResult of tandem/session/restore. */
export interface RestoreResult {
  /** The session that goes on: another one where the conversation was restored. */
  sessionId: string;
  modes: ModeState;
  models: ModelState;
  /** That of the turn: it can be sent again, changed. */
  prompt: string;
  /** The URIs of the files that were changed. */
  changed: string[];
  /** Files in which changes stay, since they were edited. */
  conflicts: UndoConflict[];
  /** Files in which changes stay, since their original text is not stored. */
  kept: UndoConflict[];
}

/** ResultMeta is how a call went. */
export interface ResultMeta {
  effectiveArgs?: unknown;
  coerced?: string[];
  /** URIs. */
  modified?: string[];
  source?: 'buffer' | 'disk';
  version?: number;
  /** Of a read: whether the text was in memory and proven to be the present one. */
  cache?: 'hit' | 'miss';
  attempts?: number;
  /** How the old text was found where it was not there character by character. */
  tier?: string;
  /** Changes by others that the edit was carried over. */
  rebasedOver?: number;
  /** Of a result that was cut: what read_file shows all of it by, with the path output: and this id. */
  output?: string;
  trace?: TraceStage[];
}

/** ResyncParams of tandem/documents/resync. */
export interface ResyncParams {
  uri: string;
}

/** ResyncResult of tandem/documents/resync. */
export interface ResyncResult {
  text: string;
  version: number;
}

/** RetryResult of tandem/deadLetters/retry, in the order of the ids. */
export interface RetryResult {
  results: ToolResult[];
}

/** ReviewTarget is the argument of the commands tandem.acceptHunk, rejectHunk, acceptFile, rejectFile, acceptAll and undoTurn. */
export interface ReviewTarget {
  /** May be left out where there is one session. */
  sessionId?: string;
  /** For acceptFile and rejectFile. */
  uri?: string;
  /** For acceptHunk and rejectHunk. */
  hunkId?: string;
  /** For undoTurn: the last turn that changed something if absent. */
  turn?: number;
}

/** RulesResult of tandem/permissions/list and set. */
export interface RulesResult {
  rules: PermissionRule[];
}

/** SandboxState is what commands are confined with. */
export interface SandboxState {
  /** full, landlock+seccomp or none. */
  level: string;
  reason: string;
}

/** SaveFailure is a document that was not saved. */
export interface SaveFailure {
  uri: string;
  reason: string;
}

/** SaveParams of tandem/documents/save. */
export interface SaveParams {
  uris: string[];
}

/** SaveResult of tandem/documents/save. */
export interface SaveResult {
  saved: string[];
  failed: SaveFailure[];
}

/** SearchParams of tandem/session/search. */
export interface SearchParams {
  /** What stands in the title or was said, by either side; letters of ASCII in either case. */
  query: string;
  /** The most sessions to give; 50 if absent. */
  limit?: number;
}

/** SearchResult of tandem/session/search. */
export interface SearchResult {
  sessions: SessionInfo[];
}

/** SearchToolsParams of tandem/tools/search. */
export interface SearchToolsParams {
  /** Words of the name or the description; select:name,name for exactly these. */
  query: string;
  /** 5 if absent. */
  limit?: number;
  sessionId?: string;
}

/** SearchToolsResult of tandem/tools/search, the best first. */
export interface SearchToolsResult {
  tools: ToolInfo[];
}

/** SearchedRoot is a folder of the workspace in which grep has searched. */
export interface SearchedRoot {
  root: string;
  /** ready: an index says in which files a search can find something. */
  state: 'walking' | 'building' | 'ready';
  /** Why there is no index, and each file is read, or why some files are not in it. */
  reason?: string;
  /** In the index. */
  files?: number;
  /** That the index takes in memory, about. */
  bytes?: number;
}

/** ServerExperimental is capabilities.experimental.tandem of the initialize result. */
export interface ServerExperimental {
  /** 1. */
  protocolVersion: number;
  /** Every tandem/* request and notification that the server takes. */
  methods: string[];
  /** For a person, where the client named another version: which of the two is older, and what to do. It is also shown with window/showMessage. What both know works. */
  mismatch?: string;
}

/** SessionInfo is one session. */
export interface SessionInfo {
  sessionId: string;
  cwd: string;
  title: string;
  /** RFC 3339. */
  updatedAt: string;
  /** In tandem/session/list; absent where it could not be found out in time. */
  _meta?: SessionMeta;
}

/** SessionMeta holds our own fields of a session. */
export interface SessionMeta {
  tandem: SessionState;
}

/** SessionParams name a session. */
export interface SessionParams {
  sessionId: string;
}

/** SessionState is what a person chooses a session by. */
export interface SessionState {
  /** Those that have ended or changed something. */
  turns: number;
  /** The hunks that stand and are neither accepted nor rejected. */
  pending: number;
}

/** SetModeParams of tandem/session/setMode. */
export interface SetModeParams {
  sessionId: string;
  mode: string;
}

/** SetModelParams of tandem/session/setModel. */
export interface SetModelParams {
  sessionId: string;
  /** provider/model; empty for the one that the configuration says, now and after it has changed. */
  model: string;
}

/** SetRulesParams of tandem/permissions/set. */
export interface SetRulesParams {
  /** Where allow, ask and deny are added: for a session, for the workspace, or everywhere. The last two are kept in the person's own file. */
  scope: 'session' | 'workspace' | 'user';
  /** For the scope session; its folder is the one of the scope workspace, else the first of the workspace. */
  sessionId?: string;
  /** PermissionRules: tool, params, class, act, profile. Another member is refused. */
  allow?: unknown[];
  ask?: unknown[];
  deny?: unknown[];
  /** Ids of rules, of any scope. */
  remove?: string[];
}

/** ShellResult is the result of the tool bash. */
export interface ShellResult {
  /** -1 where the command was stopped. */
  exitCode: number;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** The level that the command ran at. */
  sandbox?: string;
}

/** StatusResult of tandem/status. */
export interface StatusResult {
  version: string;
  /** What can be used now, the default first. */
  models: string[];
  sessions: number;
  clients: number;
  tools: number;
  sandbox: SandboxState;
  /** on, off, or why it is off. */
  watcher: string;
  perTool: ToolStats[];
  usage: Usage;
  /** Open documents. */
  documents: number;
  /** Open documents in which positions came that did not fit. */
  suspect: number;
  cache: CacheStats;
  /** Errors and hints of the configuration. */
  config: string[];
  store: StoreState;
  /** Commands that run in the background. */
  jobs?: JobState[];
  /** The MCP servers of the sessions. */
  mcpServers?: MCPServerState[];
  /** The plug-ins of the configuration. */
  plugins?: PluginState[];
  deferred: DeferredTools;
  /** The folders in which grep has searched. */
  searched?: SearchedRoot[];
  /** Where the keys of configured services come from, whichever settings say so. */
  keys?: KeyVariable[];
}

/** SteerParams of tandem/session/steer. */
export interface SteerParams {
  sessionId: string;
  prompt: ContentBlock[];
}

/** StoreState is what keeps the sessions and the journal of changes. */
export interface StoreState {
  /** closed until there is something to keep; in memory it ends with the server. */
  kind: 'closed' | 'file' | 'memory';
  path?: string;
  /** Bytes in use. */
  size?: number;
  /** Bytes to keep to. */
  quota?: number;
  /** That are kept, of all folders. */
  sessions?: number;
  /** Changes that have begun and whose end is not written down. */
  intents?: number;
  /** Why nothing is kept in a file, or why there are no figures. */
  problem?: string;
}

/** ToolContent is something that a tool call shows. */
export interface ToolContent {
  type: 'content' | 'diff';
  content?: ContentBlock;
  path?: string;
  /** Absent for a new file. */
  oldText?: string;
  newText?: string;
  _meta?: Meta;
}

/** ToolEvent of tandem/tools/event. */
export interface ToolEvent {
  type: 'register' | 'unregister' | 'execute' | 'error';
  name: string;
  source: string;
  sessionId?: string;
  callId?: string;
  durationMs?: number;
  error?: string;
}

/** ToolInfo describes a tool. */
export interface ToolInfo {
  name: string;
  aliases: string[];
  title?: string;
  kind: 'read' | 'search' | 'edit' | 'delete' | 'move' | 'execute' | 'fetch' | 'think' | 'other';
  category: string;
  description: string;
  /** A JSON Schema. */
  parameters: unknown;
  readOnly: boolean;
  concurrencySafe: boolean;
  destructive: boolean;
  danger: 'safe' | 'moderate' | 'dangerous';
  permissionClass: 'read' | 'write' | 'execute' | 'network';
  /** What a cancelled turn does to a running call: end it, or let it finish. */
  interrupt: 'cancel' | 'block';
  inputStreaming: boolean;
  providers: string[];
  /** builtin, or where else it comes from. */
  source: string;
  /** A model is told of it by name alone, in the description of tool_search, until it has searched for it. */
  deferred: boolean;
  enabled: boolean;
  disabledBy?: string;
  /** The built-in tool whose place it has taken; see tandem/tools/register. */
  replaces?: string;
}

/** ToolResult is what every call answers, the same shape for success and failure. */
export interface ToolResult {
  success: boolean;
  /** Plain language for the model. */
  data: string;
  /** The same as data. */
  context: string;
  /** The class of the failure; present exactly when success is false. */
  error?: string;
  /** The detail of an error, one word in lower case. */
  reason?: string;
  /** One line for a person. */
  summary?: string;
  /** Structured data for a program. */
  result?: unknown;
  /** What there is beside data. */
  content?: ContentPart[];
  /** A list for several files. */
  diff?: FileDiff | FileDiff[];
  /** What a changing call changes, as documentChanges. */
  edit?: WorkspaceEdit;
  /** Whether edit has landed. */
  applied?: boolean;
  warnings?: string[];
  issues?: Issue[];
  denial?: Denial;
  truncated?: boolean;
  durationMs: number;
  callId: string;
  meta?: ResultMeta;
}

/** ToolSpec describes a tool that the client runs. What it does not declare is assumed to be the worst: a person is asked about each call, and no other call runs at the same time. */
export interface ToolSpec {
  /** Up to 64 letters, digits, _ and -. */
  name: string;
  /** Other names that are understood, never shown to a model. */
  aliases?: string[];
  /** What a person knows it by. */
  title?: string;
  /** What the model reads: when to use it, when not, what to do about an error. */
  description: string;
  /** A JSON Schema; absent, or no object, is no constraints. */
  parameters?: unknown;
  /** other if absent; write is edit. */
  kind?: 'read' | 'search' | 'edit' | 'write' | 'delete' | 'move' | 'execute' | 'fetch' | 'think' | 'other';
  category?: string;
  /** true is the kind read where there is no kind. Only the kinds read and search are read-only. */
  readOnly?: boolean;
  /** It may run at the same time as reads and others that say so; false if absent. */
  concurrencySafe?: boolean;
  /** true if absent, and the kind is neither read nor search. */
  destructive?: boolean;
  /** If absent, dangerous for a destructive tool, else moderate, or safe for one that only reads. */
  danger?: 'safe' | 'moderate' | 'dangerous';
  /** By the kind if absent. */
  permissionClass?: 'read' | 'write' | 'execute' | 'network';
  /** cancel if absent. */
  interrupt?: 'cancel' | 'block';
  /** Its arguments are shown while the model writes them. */
  inputStreaming?: boolean;
  /** The providers whose models take it, each by its name or by the protocol that it speaks (anthropic, openai, openai-chat); all if empty. */
  providers?: string[];
  /** The key of featureFlags that it stands behind. */
  featureFlag?: string;
}

/** ToolStats is how often a tool was called and what it took. */
export interface ToolStats {
  name: string;
  calls: number;
  errors: number;
  ms: number;
  /** Of the results, as the model gets them. */
  bytes: number;
  /** About how many these are, at four bytes each. */
  tokens: number;
}

/** TraceStage is one stage of the pipeline. */
export interface TraceStage {
  stage: string;
  ms: number;
}

/** TurnError is why a turn ended with stopReason "error". */
export interface TurnError {
  code: string;
  message: string;
}

/** UndoConflict is a file in which changes were left as they are, because they were edited since or their original text is no longer stored. */
export interface UndoConflict {
  uri: string;
  reason: string;
}

/** UndoParams of tandem/changes/undo and tandem/changes/redo. */
export interface UndoParams {
  sessionId: string;
  scope: 'file' | 'turn' | 'toolCall' | 'session';
  uri?: string;
  /** The last turn that changed something if absent, to bring again the one of what was taken back last. */
  turn?: number;
  toolCallId?: string;
}

/** UndoResult of tandem/changes/undo and tandem/changes/redo. */
export interface UndoResult {
  changed: string[];
  conflicts: UndoConflict[];
}

/** UnifiedDiff is the diff of one document. */
export interface UnifiedDiff {
  uri: string;
  diff: string;
}

/** UnregisterToolsParams of tandem/tools/unregister. */
export interface UnregisterToolsParams {
  names: string[];
}

/** Update is one piece of news; SessionUpdate says which of the fields it has. */
export interface Update {
  /** user_message_chunk, agent_message_chunk, agent_thought_chunk, tool_call, tool_call_update, plan, current_mode_update, available_commands_update, usage_update, compaction_update or notice. Others may follow. */
  sessionUpdate: string;
  /** A block of a message or a notice, a list for a tool call. */
  content?: ContentBlock | ToolContent[];
  toolCallId?: string;
  title?: string;
  /** read, search, edit, delete, move, execute, fetch, think or other. */
  kind?: string;
  status?: 'pending' | 'in_progress' | 'completed' | 'failed';
  locations?: Location[];
  /** The arguments; text where they are no JSON. */
  rawInput?: unknown;
  /** The result of ToolResult; absent where a result has more than 256 KiB for the model, of which content has the first lines. */
  rawOutput?: unknown;
  currentModeId?: string;
  /** Of an available_commands_update: all of them as they are now. */
  availableCommands?: Command[];
  /** Of a plan: all of it as it is now. */
  entries?: PlanEntry[];
  /** Of the turn so far, in a usage_update. */
  usage?: Usage;
  /** Tokens of the conversation as the model has read it last, in a usage_update. */
  used?: number;
  /** Tokens that the model can read at most, in a usage_update, where that is known. */
  size?: number;
  /** Of a compaction_update, whose status is completed: from here on the model is sent less of what was before. A notice with the figures follows. */
  compactionId?: string;
  /** Of the session so far, in a usage_update, where the price is known. */
  cost?: Cost;
  _meta?: Meta;
}

/** UpdateMeta is _meta.tandem of an update. */
export interface UpdateMeta {
  /** Where a call is on its way; yielded when its result has its place in the order. */
  state?: 'queued' | 'executing' | 'completed' | 'yielded';
  /** When each state was reached, in ms since the turn began. */
  at?: Record<string, number>;
  /** grouped: the call runs together with those of calls. */
  phase?: 'use' | 'progress' | 'result' | 'rejected' | 'error' | 'grouped';
  /** Names the calls that run together, once there is more than one. */
  groupId?: string;
  /** With phase grouped: the calls of the group so far. */
  calls?: string[];
  /** Calls of one number run together. */
  batch?: number;
  /** The text of the arguments so far, while the model writes them. */
  partialInput?: string;
  semantic?: 'read' | 'search' | 'write';
  /** It only looks: a client may fold it. */
  collapsible?: boolean;
  render?: Render;
  /** Of a notice without text, once in a turn: from here on the turn changes things. */
  boundary?: 'writes';
  /** One line for a person: of a failure the sentence for its error and reason. */
  summary?: string;
  /** The class of a failure. */
  error?: string;
  /** What is wrong with the arguments, with error INVALID_ARGS: the same as in the result, and as the model reads. */
  issues?: Issue[];
  /** The detail of a failure, one word in lower case; of a denied permission who denied it: user, unattended, unanswered, mode, rules or sandbox, or too_large where nobody could be shown it. */
  reason?: string;
  /** With phase rejected. */
  denial?: Denial;
  /** Text that a running command has printed since the last update. */
  output?: string;
  turn?: number;
  /** Of a call that had failed with UNKNOWN: its edit has landed since. */
  late?: boolean;
  /** Of a session_info_update: the commands of the session that run in the background now. */
  jobs?: JobState[];
}

/** UpdateParams of tandem/session/update. */
export interface UpdateParams {
  sessionId: string;
  update: Update;
}

/** Usage counts tokens, of a turn where nothing else is said. */
export interface Usage {
  /** All that the model has read. */
  inputTokens: number;
  outputTokens: number;
  /** Those of inputTokens that came from the service's cache. */
  cachedInputTokens?: number;
  /** Those of inputTokens that went into the service's cache. */
  cacheWriteTokens?: number;
  totalTokens: number;
  /** Where the price is known. */
  cost?: Cost;
}

/** Widget is something to be drawn; a client that does not know its type shows its title and its markdown. */
export interface Widget {
  /** progress (value of total), collapsible (title over markdown) or diff (of path). Others may follow. */
  type: string;
  value?: number;
  /** Absent where it is not known. */
  total?: number;
  title?: string;
  markdown?: string;
  /** Absolute. */
  path?: string;
}

/** What the server answers. */
export interface ServerRequests {
  /** Ends all sessions and their commands. Every request after it gets -32600. */
  'shutdown': { params: unknown; result: unknown };
  /** Begins a conversation in a folder. Any number live at once. From its first prompt or call on it is kept, and can be loaded again in another process. */
  'tandem/session/new': { params: NewSessionParams; result: NewSessionResult };
  /** The sessions that live in this server and those that are kept, the last used first. */
  'tandem/session/list': { params: ListSessionsParams; result: ListSessionsResult };
  /** Goes on with a session that is kept. First its history is sent as updates. A turn that the end of its process has cut short has ended: a call that may have been under way failed with UNKNOWN and is not tried again. The agent has to read files anew, and what was changed before is not among the hunks. -32012 where another living process has the session, with the process in the message; -32014 for a session of another folder. A session that lives here already goes on in the folders that stand at their paths now. */
  'tandem/session/load': { params: LoadSessionParams; result: NewSessionResult };
  /** Begins a session that goes on from a turn of another one, which is left as it is and may be running: the conversation up to and with that turn, without updates of it. The files stay as they are now, and what was changed before is not among the hunks of the new session; the model is told with the first prompt which files the other session has changed since that turn. -32602 for a turn that has not ended. */
  'tandem/session/fork': { params: ForkParams; result: NewSessionResult };
  /** The turns that a session can go back to, the oldest first. */
  'tandem/session/checkpoints': { params: SessionParams; result: CheckpointsResult };
  /** Goes back to before the prompt of a turn. The conversation goes on in a session of its own, as tandem/session/fork makes it, and the answer has its id; the files are changed by tandem/changes/undo of that turn and those after it, so that what was typed stays and tandem/changes/redo brings it again. -32012 while a turn runs, -32602 for a turn that there is not. */
  'tandem/session/restore': { params: RestoreParams; result: RestoreResult };
  /** Runs a turn: what happens in it arrives as tandem/session/update, the answer comes when it is over. One turn at a time in a session; a second prompt gets -32012. Where no request could go out the answer is -32013; once one has, a failure is stopReason "error". -32014 where one of the session's folders was deleted and made anew, or another one was put in its place. */
  'tandem/session/prompt': { params: PromptParams; result: PromptResult };
  /** Adds to the running turn what a person wants to say meanwhile. The model gets it with its next request, after the results of its calls, and there is such a request even where its present answer would have been the last. When it joins it arrives as a user_message_chunk of its own; the answer here comes at once. Where the turn ends before that, cancelled or failed, it joins the conversation all the same, a notice says so, and the model gets it with the next prompt. Where no turn is running, or one is just answering, the error is -32602 no_turn and nothing is kept: send it as a prompt once the last one is answered. */
  'tandem/session/steer': { params: SteerParams; result: Empty };
  /** Makes the conversation shorter for the model: by a summary that the model writes, or else by clearing old results of tools, which it can read again. The transcript stays as it is. While a turn runs it is done before the next request to the model. A compaction_update and a notice tell of it. -32012 while another one works between two turns. */
  'tandem/session/compact': { params: CompactParams; result: CompactResult };
  /** How much the session may do unasked: one of the modes that tandem/session/new answers with. */
  'tandem/session/setMode': { params: SetModeParams; result: Empty };
  /** What may be meant by an @ and the letters behind it: files and folders of the session's folders, the likeliest first, without what .gitignore excludes; symbols that language servers know, from the second letter on; and the words selection and diagnostics. In a prompt @symbol:NAME is the lines where NAME is defined, @diagnostics what the language servers report, and @selection what is selected in the editor. */
  'tandem/mentions/complete': { params: MentionParams; result: MentionResult };
  /** Which model answers, from the next turn on. It is refused where the model cannot be had. */
  'tandem/session/setModel': { params: SetModelParams; result: Empty };
  /** Ends the session, its turn and its commands. It is kept, and another process may load it. */
  'tandem/session/close': { params: SessionParams; result: Empty };
  /** Forgets a session and everything that was kept of it, after ending it where it lives in this server. */
  'tandem/session/delete': { params: SessionParams; result: Empty };
  /** Gives a session another title. */
  'tandem/session/rename': { params: RenameParams; result: Empty };
  /** Finds sessions by what was said, the last used first. */
  'tandem/session/search': { params: SearchParams; result: SearchResult };
  /** The whole session as text. */
  'tandem/session/export': { params: ExportParams; result: ExportResult };
  /** The diff of what a session has changed in one file, also one that was too large to come with the list. */
  'tandem/changes/diff': { params: DiffChangesParams; result: FileDiff };
  /** What a session has changed and what still stands, one hunk for each run of changed lines of one call. oldText and newText are those whole lines as the call changed them; range is where they stand now, with what was typed since. Accepted hunks stay, rejected and undone ones leave the list, also those that the editor's own undo took back, and those over whose lines another program wrote. */
  'tandem/changes/list': { params: ListChangesParams; result: ListChangesResult };
  /** Marks hunks as kept. */
  'tandem/changes/accept': { params: HunksParams; result: HunksResult };
  /** Takes hunks back, each whole or not at all, in one edit a file, and keeps everything that was typed since. A hunk that was typed into, or that a later call builds upon, stays and is named in conflicts. A file that the call made goes once nothing else is in it, a deleted one comes back. The model is told of what was rejected at the head of the next prompt. */
  'tandem/changes/reject': { params: HunksParams; result: HunksResult };
  /** Takes changes back and keeps what a person has typed since, beside them. Text that was changed over is left and named in conflicts, and so is what was changed before the session was loaded where the text before it is no longer stored. Calls outside a turn carry turn 0 and are undone by toolCall. */
  'tandem/changes/undo': { params: UndoParams; result: UndoResult };
  /** Every change of a file that a session has made, the oldest first, also from before the session was loaded: what its calls did, what a command did to files that the session had seen (shell), and what a person took back (undo, with the hunks' own turn). Texts of up to 1 MiB are kept. */
  'tandem/changes/records': { params: RecordsParams; result: RecordsResult };
  /** Applies again the changes that tandem/changes/undo or reject reverted. A change whose text, or the text around it, was changed or deleted since is left out and named in conflicts. Without a turn it is the turn that was reverted last. */
  'tandem/changes/redo': { params: UndoParams; result: UndoResult };
  /** The changes that the mode plan has queued: nothing of them is in a file. The model's own tools read files with them. */
  'tandem/plan/list': { params: PlansParams; result: PlansResult };
  /** Has queued changes land, one after another in their order, rebased over what was typed meanwhile; in any mode but one that denies them. One that cannot land has a result with success false, and the others go on. Their hunks are accepted from the start. The model is told with its next request. An unknown plan or hunk is -32602, and nothing is done. */
  'tandem/plan/approve': { params: ApproveParams; result: ApproveResult };
  /** Takes queued changes out of the queue: what builds upon one becomes stale. An unknown plan is -32602, and nothing is done. */
  'tandem/plan/discard': { params: DiscardPlansParams; result: Empty };
  /** The state of files: of those asked for, else of all that were seen. */
  'tandem/fileTime/get': { params: FileTimeParams; result: FileTimeResult };
  /** The tools on offer. */
  'tandem/tools/list': { params: ListToolsParams; result: ListToolsResult };
  /** One tool by its name or an alias; null if there is none of that name, or it is disabled. */
  'tandem/tools/get': { params: GetToolParams; result: ToolInfo | null };
  /** Runs one tool, for a host that brings a model of its own: the same checks, questions and edits as in a turn. A tool that fails is a result with success false, never a JSON-RPC error. With apply "none" nothing is applied and edit is for the host to apply. -32014 as for tandem/session/prompt. */
  'tandem/tools/call': { params: CallToolParams; result: ToolResult };
  /** Runs several calls as a model's answer with several calls would run: calls that are safe together run together. Results are in the order of the calls. */
  'tandem/tools/batch': { params: BatchParams; result: BatchResult };
  /** What would become of a call, without anything of it being done: how dangerous it is, and what the mode and the rules say. */
  'tandem/tools/assess': { params: AssessParams; result: AssessResult };
  /** The rules that hold, the strictest first. */
  'tandem/permissions/list': { params: ListRulesParams; result: RulesResult };
  /** Adds rules and takes others back; the answer lists all. A rule in a file that people write is taken back there (-32014). */
  'tandem/permissions/set': { params: SetRulesParams; result: RulesResult };
  /** Finds tools by words or by their exact names, those that are deferred too. Unlike a call of tool_search it loads none. */
  'tandem/tools/search': { params: SearchToolsParams; result: SearchToolsResult };
  /** Adds tools that the client runs, for all sessions, until the connection ends: all of them or, with an error, none. A name or an alias that a tool has already is refused, naming that tool. Models are offered them from the next request on; calls of them are checked, judged by the mode and the rules, asked about and recorded like any other, and then sent as tandem/tools/invoke. */
  'tandem/tools/register': { params: RegisterToolsParams; result: Empty };
  /** Takes tools away that the client has registered, all of them or, with an error, none. Calls that run end as they are; those that have not begun fail with TOOL_NOT_FOUND. */
  'tandem/tools/unregister': { params: UnregisterToolsParams; result: Empty };
  /** The records of tool calls, in the order in which they ended: one entry a call, also of one that failed validation or was refused, of the sessions of all folders and processes that share the store. The records are append-only and outlive their sessions; 'tandem audit verify' finds out whether they were changed. */
  'tandem/audit/query': { params: AuditParams; result: AuditResult };
  /** What calls of tools are about to change: from the permission to its end a call claims the text that it replaces, or the whole file. A call of another session that would change a part of that fails with CLAIMED, which names the holder. */
  'tandem/claims/list': { params: ClaimsParams; result: ClaimsResult };
  /** Calls that failed for good, the newest first, of the sessions of all folders and processes that share the store: the tool broke (EXECUTION_ERROR), its time was over (TIMEOUT), what became of it is not known (UNKNOWN), a file could not be written (WRITE_ERROR), or the network failed in each attempt. What was refused, had wrong arguments, or found other text than it expected is none, nor is a command with an exit code. The newest 200 are kept, as long as their sessions are. */
  'tandem/deadLetters/list': { params: DeadLettersParams; result: DeadLettersResult };
  /** Makes calls again, one after another, each in its session, which must be open (-32011): judged, asked about and recorded as any call. The letter is dropped then; a call that fails for good again is a new one. An id that is none is -32602, and nothing is done. */
  'tandem/deadLetters/retry': { params: DeadLetterParams; result: RetryResult };
  /** Drops dead letters: all of them or, with an error, none. */
  'tandem/deadLetters/discard': { params: DeadLetterParams; result: Empty };
  /** How the server is; answered at once whatever else goes on. */
  'tandem/status': { params: unknown; result: StatusResult };
}

/** What the server takes without an answer. */
export interface ServerNotifications {
  /** Ends the server: exit code 0 after shutdown, else 1. The end of the input does the same. */
  'exit': unknown;
  /** Ends the running turn; its prompt is answered with stopReason "cancelled". */
  'tandem/session/cancel': SessionParams;
  /** A piece of the answer to a tandem/model/stream: text, thought, or a piece of a call. One that comes after the answer or after the cancellation is passed over. */
  'tandem/model/chunk': ModelChunk;
  /** The files that the editor has open and changed in something that is no text document: a notebook, a custom editor. Each message names all of them. A change of one is EDIT_CONFLICT, reason open_elsewhere, until it is saved and named no more. */
  'tandem/documents/elsewhere': ElsewhereParams;
}

/** What the server asks. */
export interface ClientRequests {
  /** Asks a person before a call goes on, with everything it would do; nothing has happened yet. To clients that declared permission. An error, the end of the connection and the outcome "cancelled" are all a no; "cancelled" also ends the turn. */
  'tandem/session/requestPermission': { params: PermissionParams; result: PermissionResult };
  /** A question of the model's, for a person. To clients that declared clarify; a question with options goes to others by window/showMessageRequest. It is cancelled when its time or the turn is over. */
  'tandem/session/clarify': { params: ClarifyParams; result: ClarifyResult };
  /** Asks for an answer of the client's own model, for a session whose model is "editor" or "editor/ID". To clients that declared model. What the model says goes out as tandem/model/chunk while it says it; the answer here comes after the last chunk. It is cancelled when the turn is, and after five minutes without a chunk. A failure is an error -32013 whose message tells the person what to do; the turn then ends with stopReason "error". */
  'tandem/model/stream': { params: ModelStreamParams; result: ModelStreamResult };
  /** LSP's, with label and tandem beside the edit. Always documentChanges; each open document with the version that the edit was made for. A client that did not declare experimental.tandem gets the edit alone: as documentChanges where it declared these or resourceOperations, else as changes, which have no version and are sent only when nothing was typed for 300 ms. One call's edit of one document is one request and one step of undo. From a client that declared landed, the didChange of the version that the answer names is the edit. From any other the answer is a hint: what counts is the didChange that shows the edit. A refusal or a newer version makes the server carry the edit over what was typed and ask again. The error -32803 with a sentence for a person says that the edit cannot be made at all, as in a read-only document. */
  'workspace/applyEdit': { params: ApplyEditParams; result: ApplyEditResult };
  /** Asks to save documents, for a command that is to see them or for files that were opened only to take an edit. To clients that declared save. */
  'tandem/documents/save': { params: SaveParams; result: SaveResult };
  /** Asks what a document says, when it and what the server was told have come apart. To clients that declared resync. */
  'tandem/documents/resync': { params: ResyncParams; result: ResyncResult };
  /** Asks the other language servers of the editor about code. To clients that declared editorRequest. */
  'tandem/editor/request': { params: EditorRequestParams; result: EditorRequestResult };
  /** Hunks have changed, to a client that shows the server's code lenses and says that it takes this. */
  'workspace/codeLens/refresh': { params: unknown; result: unknown };
  /** Runs a tool of the client's. The answer is a ToolResult, of which success, data, error, reason, summary, result, content and warnings are heeded; any other JSON value is the result of a success, a string its text. An error fails the call with EXECUTION_ERROR. It is cancelled when the turn is, and when limits.toolTimeoutMs is over. */
  'tandem/tools/invoke': { params: InvokeToolParams; result: unknown };
}

/** What the server tells. */
export interface ClientNotifications {
  /** News of a session. Streamed text and progress are gathered to at most 30 updates a second; the order is that of the events. */
  'tandem/session/update': UpdateParams;
  /** A question that the client has not answered needs no answer any more. $/cancelRequest of the question comes before it. */
  'tandem/session/resolved': ResolvedParams;
  /** The hunks of these files have changed: made, accepted, taken back, or changed by what was typed, at most ten times a second. That they only moved is not told. */
  'tandem/changes/didChange': DidChangeParams;
  /** These plans were queued, approved or discarded, or have become stale. That what was typed makes one stale is found when the list is asked for, a plan approved, or the file read by the session. */
  'tandem/plan/didChange': PlanDidChangeParams;
  /** A file that the agent has seen was read, written, or changed by others. */
  'tandem/fileTime': FileTimeNotice;
  /** A tool was registered, taken away, run, or failed. To clients that declared events. */
  'tandem/tools/event': ToolEvent;
}
