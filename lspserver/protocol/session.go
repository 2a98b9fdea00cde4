// Package protocol is what Tandem says and hears beyond LSP: the payloads of the tandem/* methods and the one table of
// all methods, from which the documentation and the JSON Schema are generated. The payloads of tandem/session/* are
// those of the Agent Client Protocol, version 1. Nothing here has behaviour.
package protocol

import (
	"encoding/json"

	lsp "go.lsp.dev/protocol"
)

// Version is the version of the tandem/* methods.
const Version = 1

// ServerExperimental is capabilities.experimental.tandem of the initialize result.
type ServerExperimental struct {
	ProtocolVersion int      `json:"protocolVersion" doc:"1."`
	Methods         []string `json:"methods" doc:"Every tandem/* request and notification that the server takes."`
	Mismatch        string   `json:"mismatch,omitempty" doc:"For a person, where the client named another version: which of the two is older, and what to do. It is also shown with window/showMessage. What both know works."`
}

// ClientExperimental is capabilities.experimental.tandem of the initialize request: what the client answers.
type ClientExperimental struct {
	ProtocolVersion int  `json:"protocolVersion,omitzero" doc:"The version of the tandem/* methods that the client was made for; the server says so where its own is another."`
	Permission      bool `json:"permission,omitzero" doc:"tandem/session/requestPermission."`
	Clarify         bool `json:"clarify,omitzero" doc:"tandem/session/clarify."`
	Save            bool `json:"save,omitzero" doc:"tandem/documents/save."`
	Resync          bool `json:"resync,omitzero" doc:"tandem/documents/resync."`
	Landed          bool `json:"landed,omitzero" doc:"Replies to workspace/applyEdit name the version that the edit made."`
	EditorRequest   bool `json:"editorRequest,omitzero" doc:"tandem/editor/request."`
	Model           bool `json:"model,omitzero" doc:"tandem/model/stream."`
	Review          bool `json:"review,omitzero" doc:"The client shows hunks and checks every document's version."`
	SettingsAreOwn  bool `json:"settingsAreOwn,omitzero" doc:"The tandem section never holds a repository's settings. Without it the section may only make things stricter, like a workspace's file."`
	Events          bool `json:"events,omitzero" doc:"tandem/tools/event."`
}

// ContentBlock is a piece of a prompt or of a message, as the Agent Client Protocol has it.
type ContentBlock struct {
	Type     string            `json:"type" enum:"text,resource_link,resource,image"`
	Text     string            `json:"text,omitempty"`
	URI      string            `json:"uri,omitempty"`
	Name     string            `json:"name,omitempty"`
	MimeType string            `json:"mimeType,omitempty"`
	Data     string            `json:"data,omitempty" doc:"Base64, for an image."`
	Resource *EmbeddedResource `json:"resource,omitempty"`
}

// EmbeddedResource is text that goes along with a prompt, or a document of a result.
type EmbeddedResource struct {
	URI      string `json:"uri"`
	Text     string `json:"text,omitempty"`
	Blob     string `json:"blob,omitempty" doc:"Base64, where it is no text."`
	MimeType string `json:"mimeType,omitempty"`
}

// NewSessionParams of tandem/session/new.
type NewSessionParams struct {
	Cwd                   string            `json:"cwd,omitempty" doc:"Absolute; the first workspace folder if absent."`
	AdditionalDirectories []string          `json:"additionalDirectories,omitempty" doc:"Absolute; further roots."`
	Model                 string            `json:"model,omitempty" doc:"provider/model; the configuration says if absent."`
	Mode                  string            `json:"mode,omitempty" doc:"The configuration says if absent."`
	Messages              []ChatMessage     `json:"messages,omitempty" doc:"A conversation to go on with: the system prompt, if any, then the user's message first, every call with its result, the assistant's message last. The model gets it before the first prompt, and it is kept with the session."`
	MCPServers            []json.RawMessage `json:"mcpServers,omitempty" doc:"MCP servers of this session alone, each an MCPServer. They count as the user's own."`
}

// MCPServer is an MCP server in tandem/session/new, as in the Agent Client Protocol.
type MCPServer struct {
	Type    string     `json:"type,omitempty" enum:"stdio,http" doc:"stdio if absent."`
	Name    string     `json:"name"`
	Command string     `json:"command,omitempty" doc:"The program, for stdio."`
	Args    []string   `json:"args,omitempty"`
	Env     []Variable `json:"env,omitempty"`
	URL     string     `json:"url,omitempty" doc:"For http."`
	Headers []Variable `json:"headers,omitempty"`
}

// Variable is a name with its value.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Choice is a mode or a model that a session can have.
type Choice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ModeState lists the modes and names the present one.
type ModeState struct {
	CurrentModeID  string   `json:"currentModeId"`
	AvailableModes []Choice `json:"availableModes"`
}

// ModelChoice is a model that a session can have.
type ModelChoice struct {
	ModelID string `json:"modelId"`
	Name    string `json:"name"`
}

// ModelState lists the models and names the present one.
type ModelState struct {
	CurrentModelID  string        `json:"currentModelId"`
	AvailableModels []ModelChoice `json:"availableModels"`
}

// NewSessionResult of tandem/session/new.
type NewSessionResult struct {
	SessionID string     `json:"sessionId"`
	Modes     ModeState  `json:"modes"`
	Models    ModelState `json:"models"`
}

// SessionParams name a session.
type SessionParams struct {
	SessionID string `json:"sessionId"`
}

// Empty is a result that says nothing.
type Empty struct{}

// ListSessionsParams of tandem/session/list.
type ListSessionsParams struct {
	Cwd    string `json:"cwd,omitempty" doc:"Only sessions of this folder."`
	Cursor string `json:"cursor,omitempty" doc:"nextCursor of the answer before."`
}

// LoadSessionParams of tandem/session/load.
type LoadSessionParams struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd,omitempty" doc:"The folder that the client works in; a session of another is refused. The workspace folders if absent."`
}

// ForkParams of tandem/session/fork.
type ForkParams struct {
	SessionID string `json:"sessionId"`
	AtTurn    *int   `json:"atTurn,omitempty" doc:"The last turn that the new session has; 0 for none. The last one that has ended if absent."`
}

// Checkpoint is the beginning of a turn.
type Checkpoint struct {
	Turn      int    `json:"turn"`
	Time      string `json:"time" doc:"RFC 3339."`
	Prompt    string `json:"prompt"`
	Files     int    `json:"files" doc:"How many files the turn has changed."`
	Additions int    `json:"additions" doc:"Lines, of the files whose texts are kept."`
	Deletions int    `json:"deletions"`
}

// CheckpointsResult of tandem/session/checkpoints.
type CheckpointsResult struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// CompactParams of tandem/session/compact.
type CompactParams struct {
	SessionID    string `json:"sessionId"`
	Instructions string `json:"instructions,omitempty" doc:"What the summary should mind, in a person's words."`
}

// CompactResult of tandem/session/compact.
type CompactResult struct {
	CompactionID string `json:"compactionId,omitempty" doc:"That of the compaction_update; absent where nothing was done."`
	Kind         string `json:"kind" enum:"none,prune,summary,ledger" doc:"prune cleared results of tools; ledger replaced messages without a summary."`
	Before       int64  `json:"before" doc:"Tokens of a request, about."`
	After        int64  `json:"after"`
}

// RestoreParams of tandem/session/restore.
type RestoreParams struct {
	SessionID string `json:"sessionId"`
	Turn      int    `json:"turn" doc:"The first turn that is to be gone: the session goes back to before its prompt."`
	What      string `json:"what" enum:"conversation,files,both"`
	DryRun    bool   `json:"dryRun,omitzero" doc:"Changes nothing, and says what would be changed."`
}

// RestoreResult of tandem/session/restore.
type RestoreResult struct {
	SessionID string         `json:"sessionId" doc:"The session that goes on: another one where the conversation was restored."`
	Modes     ModeState      `json:"modes"`
	Models    ModelState     `json:"models"`
	Prompt    string         `json:"prompt" doc:"That of the turn: it can be sent again, changed."`
	Changed   []string       `json:"changed" doc:"The URIs of the files that were changed."`
	Conflicts []UndoConflict `json:"conflicts" doc:"Files in which changes stay, since they were edited."`
	Kept      []UndoConflict `json:"kept" doc:"Files in which changes stay, since their original text is not stored."`
}

// RenameParams of tandem/session/rename.
type RenameParams struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title" doc:"One line of up to 200 characters."`
}

// SearchParams of tandem/session/search.
type SearchParams struct {
	Query string `json:"query" doc:"What stands in the title or was said, by either side; letters of ASCII in either case."`
	Limit int    `json:"limit,omitzero" doc:"The most sessions to give; 50 if absent."`
}

// SearchResult of tandem/session/search.
type SearchResult struct {
	Sessions []SessionInfo `json:"sessions"`
}

// ExportParams of tandem/session/export.
type ExportParams struct {
	SessionID string `json:"sessionId"`
	Format    string `json:"format" enum:"markdown,jsonl" doc:"For a person, or everything for a program."`
}

// ExportResult of tandem/session/export.
type ExportResult struct {
	Text string `json:"text"`
}

// SessionInfo is one session.
type SessionInfo struct {
	SessionID string       `json:"sessionId"`
	Cwd       string       `json:"cwd"`
	Title     string       `json:"title"`
	UpdatedAt string       `json:"updatedAt" doc:"RFC 3339."`
	Meta      *SessionMeta `json:"_meta,omitempty" doc:"In tandem/session/list; absent where it could not be found out in time."`
}

// SessionMeta holds our own fields of a session.
type SessionMeta struct {
	Tandem SessionState `json:"tandem"`
}

// SessionState is what a person chooses a session by.
type SessionState struct {
	Turns   int `json:"turns" doc:"Those that have ended or changed something."`
	Pending int `json:"pending" doc:"The hunks that stand and are neither accepted nor rejected."`
}

// ListSessionsResult of tandem/session/list.
type ListSessionsResult struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// PromptParams of tandem/session/prompt.
type PromptParams struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
	Model     string         `json:"model,omitempty" doc:"For this turn alone."`
	Tools     []ToolSpec     `json:"tools,omitempty" doc:"For this turn alone, run by the client: see tandem/tools/invoke. A name that another tool has stands for this one meanwhile."`
	Meta      *PromptMeta    `json:"_meta,omitempty"`
}

// PromptMeta holds our own fields of a prompt.
type PromptMeta struct {
	Tandem PromptContext `json:"tandem,omitzero"`
}

// PromptContext is _meta.tandem of a prompt.
type PromptContext struct {
	Editor *EditorContext `json:"editor,omitempty"`
}

// EditorContext is what a person has in front of them. With it the model is told of the document, the cursor and the
// selected text, up to 8 KiB of it, and of up to 20 other open documents by name; never of what lies outside of the
// session's folders, nor of files such as .env, *.pem or id_rsa.
type EditorContext struct {
	URI       string       `json:"uri" doc:"The document with the cursor."`
	Cursor    lsp.Position `json:"cursor"`
	Selection *lsp.Range   `json:"selection,omitempty" doc:"The text is that of the document as the server was told of it."`
	Visible   *lsp.Range   `json:"visible,omitempty" doc:"What can be seen of the document."`
}

// SteerParams of tandem/session/steer.
type SteerParams struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
}

// Usage counts tokens, of a turn where nothing else is said.
type Usage struct {
	InputTokens       int64 `json:"inputTokens" doc:"All that the model has read."`
	OutputTokens      int64 `json:"outputTokens"`
	CachedInputTokens int64 `json:"cachedInputTokens,omitzero" doc:"Those of inputTokens that came from the service's cache."`
	CacheWriteTokens  int64 `json:"cacheWriteTokens,omitzero" doc:"Those of inputTokens that went into the service's cache."`
	TotalTokens       int64 `json:"totalTokens"`
	Cost              *Cost `json:"cost,omitempty" doc:"Where the price is known."`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency" doc:"USD."`
}

// TurnError is why a turn ended with stopReason "error".
type TurnError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// PromptResult of tandem/session/prompt, sent when the turn is over.
type PromptResult struct {
	StopReason string     `json:"stopReason" doc:"end_turn, max_tokens, max_turn_requests, budget_exceeded, refusal, cancelled or error. Others may follow."`
	Usage      Usage      `json:"usage"`
	Turn       int        `json:"turn" doc:"Counts from 1."`
	Error      *TurnError `json:"error,omitempty" doc:"With stopReason error."`
}

// MentionParams of tandem/mentions/complete.
type MentionParams struct {
	SessionID string `json:"sessionId,omitempty" doc:"Its folder is looked at; that of the workspace if absent."`
	Prefix    string `json:"prefix" doc:"The letters behind the @. With a / at its beginning commands are meant, which stand at the beginning of a prompt."`
	Limit     int    `json:"limit,omitzero" doc:"The most items to give, up to 200; 20 if absent."`
}

// MentionResult of tandem/mentions/complete.
type MentionResult struct {
	Items []MentionItem `json:"items"`
}

// MentionItem is something that can be mentioned.
type MentionItem struct {
	Label  string `json:"label"`
	Kind   string `json:"kind" doc:"file, folder, resource (of an MCP server), symbol, selection, diagnostics or command. Others may follow."`
	Insert string `json:"insert" doc:"The text for the prompt, with the @, or the / of a command."`
}

// SetModeParams of tandem/session/setMode.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	Mode      string `json:"mode"`
}

// SetModelParams of tandem/session/setModel.
type SetModelParams struct {
	SessionID string `json:"sessionId"`
	Model     string `json:"model" doc:"provider/model; empty for the one that the configuration says, now and after it has changed."`
}

// UpdateParams of tandem/session/update.
type UpdateParams struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Update is one piece of news; SessionUpdate says which of the fields it has.
type Update struct {
	SessionUpdate string      `json:"sessionUpdate" doc:"user_message_chunk, agent_message_chunk, agent_thought_chunk, tool_call, tool_call_update, plan, current_mode_update, available_commands_update, usage_update, compaction_update or notice. Others may follow."`
	Content       any         `json:"content,omitzero" as:"ContentBlock,[]ToolContent" doc:"A block of a message or a notice, a list for a tool call."`
	ToolCallID    string      `json:"toolCallId,omitempty"`
	Title         string      `json:"title,omitempty"`
	Kind          string      `json:"kind,omitempty" doc:"read, search, edit, delete, move, execute, fetch, think or other."`
	Status        string      `json:"status,omitempty" enum:"pending,in_progress,completed,failed"`
	Locations     []Location  `json:"locations,omitempty"`
	RawInput      any         `json:"rawInput,omitzero" doc:"The arguments; text where they are no JSON."`
	RawOutput     any         `json:"rawOutput,omitzero" doc:"The result of ToolResult; absent where a result has more than 256 KiB for the model, of which content has the first lines."`
	CurrentModeID string      `json:"currentModeId,omitempty"`
	Commands      []Command   `json:"availableCommands,omitzero" doc:"Of an available_commands_update: all of them as they are now."`
	Entries       []PlanEntry `json:"entries,omitzero" doc:"Of a plan: all of it as it is now."`
	Usage         *Usage      `json:"usage,omitempty" doc:"Of the turn so far, in a usage_update."`
	Used          int64       `json:"used,omitzero" doc:"Tokens of the conversation as the model has read it last, in a usage_update."`
	Size          int64       `json:"size,omitzero" doc:"Tokens that the model can read at most, in a usage_update, where that is known."`
	CompactionID  string      `json:"compactionId,omitempty" doc:"Of a compaction_update, whose status is completed: from here on the model is sent less of what was before. A notice with the figures follows."`
	Cost          *Cost       `json:"cost,omitempty" doc:"Of the session so far, in a usage_update, where the price is known."`
	Meta          *Meta       `json:"_meta,omitempty"`
}

// Command is what a person can call by /name, and words behind it, at the beginning of a prompt.
type Command struct {
	Name        string        `json:"name" doc:"Without the /."`
	Description string        `json:"description" doc:"One line."`
	Input       *CommandInput `json:"input,omitempty" doc:"Absent where it takes no words."`
}

// CommandInput is what a command takes.
type CommandInput struct {
	Hint string `json:"hint" doc:"The names of the words that it takes; those in brackets may be left out."`
}

// PlanEntry is one task of the model's own list. Cancelled ones are left out.
type PlanEntry struct {
	Content  string `json:"content" doc:"One line."`
	Priority string `json:"priority" enum:"high,medium,low"`
	Status   string `json:"status" enum:"pending,in_progress,completed"`
}

// ToolContent is something that a tool call shows.
type ToolContent struct {
	Type    string        `json:"type" enum:"content,diff"`
	Content *ContentBlock `json:"content,omitempty"`
	Path    string        `json:"path,omitempty"`
	OldText *string       `json:"oldText,omitzero" doc:"Absent for a new file."`
	NewText *string       `json:"newText,omitzero"`
	Meta    *Meta         `json:"_meta,omitempty"`
}

// Location is a place that a tool call is about.
type Location struct {
	Path string `json:"path" doc:"Absolute."`
	Line int    `json:"line,omitzero" doc:"1-based."`
}

// Meta holds our own fields of a payload of the Agent Client Protocol.
type Meta struct {
	Tandem any `json:"tandem" as:"UpdateMeta,DiffMeta,PermissionMeta"`
}

// DiffMeta is _meta.tandem of a diff.
type DiffMeta struct {
	Unified string     `json:"unified"`
	Spans   []LineSpan `json:"spans,omitempty" doc:"The changed parts of lines; a line that is changed as a whole has none."`
}

// LineSpan is a changed part of a line of a unified diff, in characters (code points) behind the sign of the line.
type LineSpan struct {
	Line  int `json:"line" doc:"Of unified, from 0."`
	Start int `json:"start"`
	End   int `json:"end"`
}

// UpdateMeta is _meta.tandem of an update.
type UpdateMeta struct {
	State        string           `json:"state,omitempty" enum:"queued,executing,completed,yielded" doc:"Where a call is on its way; yielded when its result has its place in the order."`
	At           map[string]int64 `json:"at,omitempty" doc:"When each state was reached, in ms since the turn began."`
	Phase        string           `json:"phase,omitempty" enum:"use,progress,result,rejected,error,grouped" doc:"grouped: the call runs together with those of calls."`
	GroupID      string           `json:"groupId,omitempty" doc:"Names the calls that run together, once there is more than one."`
	Calls        []string         `json:"calls,omitempty" doc:"With phase grouped: the calls of the group so far."`
	Batch        int              `json:"batch,omitzero" doc:"Calls of one number run together."`
	PartialInput string           `json:"partialInput,omitempty" doc:"The text of the arguments so far, while the model writes them."`
	Semantic     string           `json:"semantic,omitempty" enum:"read,search,write"`
	Collapsible  bool             `json:"collapsible,omitzero" doc:"It only looks: a client may fold it."`
	Render       *Render          `json:"render,omitempty"`
	Boundary     string           `json:"boundary,omitempty" enum:"writes" doc:"Of a notice without text, once in a turn: from here on the turn changes things."`
	Summary      string           `json:"summary,omitempty" doc:"One line for a person: of a failure the sentence for its error and reason."`
	Error        string           `json:"error,omitempty" doc:"The class of a failure."`
	Issues       []Issue          `json:"issues,omitempty" doc:"What is wrong with the arguments, with error INVALID_ARGS: the same as in the result, and as the model reads."`
	Reason       string           `json:"reason,omitempty" doc:"The detail of a failure, one word in lower case; of a denied permission who denied it: user, unattended, unanswered, mode, rules or sandbox, or too_large where nobody could be shown it."`
	Denial       *Denial          `json:"denial,omitempty" doc:"With phase rejected."`
	Output       string           `json:"output,omitempty" doc:"Text that a running command has printed since the last update."`
	Turn         int              `json:"turn,omitzero"`
	Late         bool             `json:"late,omitzero" doc:"Of a call that had failed with UNKNOWN: its edit has landed since."`
	Jobs         *[]JobState      `json:"jobs,omitzero" doc:"Of a session_info_update: the commands of the session that run in the background now."`
}

// Render is how a call can be shown: Markdown, and widgets beside it.
type Render struct {
	Markdown string   `json:"markdown"`
	Widgets  []Widget `json:"widgets,omitempty"`
}

// Widget is something to be drawn; a client that does not know its type shows its title and its markdown.
type Widget struct {
	Type     string `json:"type" doc:"progress (value of total), collapsible (title over markdown) or diff (of path). Others may follow."`
	Value    int64  `json:"value,omitzero"`
	Total    int64  `json:"total,omitzero" doc:"Absent where it is not known."`
	Title    string `json:"title,omitempty"`
	Markdown string `json:"markdown,omitempty"`
	Path     string `json:"path,omitempty" doc:"Absolute."`
}

// PermissionParams of tandem/session/requestPermission.
type PermissionParams struct {
	SessionID string             `json:"sessionId"`
	ToolCall  Update             `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
	Meta      *Meta              `json:"_meta,omitempty"`
}

// PermissionOption is one answer that a person can give.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind" enum:"allow_once,allow_always,reject_once,reject_always"`
}

// PermissionMeta is _meta.tandem of a permission request.
type PermissionMeta struct {
	Danger        string          `json:"danger" enum:"safe,moderate,dangerous"`
	Reason        string          `json:"reason"`
	SuggestedRule *PermissionRule `json:"suggestedRule,omitempty" doc:"What allow_session and allow_always allow from then on; absent where the answers are for once only. allow_wide keeps the rule that its name says."`
}

// PermissionResult of tandem/session/requestPermission.
type PermissionResult struct {
	Outcome PermissionOutcome `json:"outcome"`
	Meta    *AnswerMeta       `json:"_meta,omitempty"`
}

// AnswerMeta is _meta of a person's answer.
type AnswerMeta struct {
	Tandem AnswerWords `json:"tandem"`
}

// AnswerWords is _meta.tandem of a person's answer.
type AnswerWords struct {
	Feedback string `json:"feedback,omitempty" doc:"What the person wrote with the answer, for the model to read."`
}

// PermissionOutcome is a person's answer.
type PermissionOutcome struct {
	Outcome  string `json:"outcome" enum:"selected,cancelled"`
	OptionID string `json:"optionId,omitempty" doc:"That of the selected option."`
}

// ClarifyParams of tandem/session/clarify.
type ClarifyParams struct {
	SessionID     string          `json:"sessionId"`
	ToolCallID    string          `json:"toolCallId"`
	Question      string          `json:"question"`
	Options       []ClarifyOption `json:"options,omitempty" doc:"Answers on offer; the id of the chosen one is the answer."`
	DefaultAnswer string          `json:"defaultAnswer,omitempty" doc:"Holds where no answer comes in time."`
	TimeoutMs     int64           `json:"timeoutMs,omitzero" doc:"How long the server waits; it then cancels the request."`
}

// ClarifyOption is one answer on offer.
type ClarifyOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// ClarifyResult of tandem/session/clarify.
type ClarifyResult struct {
	Answer string `json:"answer" doc:"Text, or the id of an option; empty where the person gave none."`
}

// ResolvedParams of tandem/session/resolved.
type ResolvedParams struct {
	SessionID       string `json:"sessionId"`
	ToolCallID      string `json:"toolCallId"`
	OptionID        string `json:"optionId,omitempty" doc:"What another client chose."`
	By              string `json:"by" doc:"The name of the client that answered; rule: an answer to another question covers this one; end: the turn, the session or the time for it is over."`
	AlreadyResolved bool   `json:"alreadyResolved" doc:"Always true: an answer that comes now is ignored."`
}

// ElsewhereParams of tandem/documents/elsewhere.
type ElsewhereParams struct {
	URIs []string `json:"uris" doc:"All such files; an empty list for none."`
}

// SaveParams of tandem/documents/save.
type SaveParams struct {
	URIs []string `json:"uris"`
}

// SaveFailure is a document that was not saved.
type SaveFailure struct {
	URI    string `json:"uri"`
	Reason string `json:"reason"`
}

// SaveResult of tandem/documents/save.
type SaveResult struct {
	Saved  []string      `json:"saved"`
	Failed []SaveFailure `json:"failed"`
}

// EditorRequestParams of tandem/editor/request.
type EditorRequestParams struct {
	URI     string `json:"uri" doc:"The file, which says the language servers that are asked. That of a folder is all of them."`
	Method  string `json:"method" doc:"textDocument/definition, textDocument/references, textDocument/documentSymbol, textDocument/diagnostic, textDocument/rename, textDocument/formatting, textDocument/codeAction, workspace/symbol or workspace/diagnostic."`
	Params  any    `json:"params" doc:"Those of the method. Positions are in the encoding that this server and the client have agreed upon; the client converts them for a language server with another one. To the context of textDocument/codeAction it adds the diagnostics of the range."`
	Resolve string `json:"resolve,omitempty" doc:"Of textDocument/codeAction: the title of the action whose edit is wanted. Where it has none yet the client resolves it."`
}

// EditorRequestResult of tandem/editor/request. It is empty where no language server serves the file.
type EditorRequestResult struct {
	Results []EditorReply `json:"results"`
}

// EditorReply is the answer of one language server.
type EditorReply struct {
	Server           string          `json:"server,omitempty" doc:"What a person calls it."`
	PositionEncoding string          `json:"positionEncoding,omitempty" enum:"utf-8,utf-16,utf-32" doc:"That of the positions in result; that of the connection if absent."`
	Version          *int32          `json:"version,omitempty" doc:"Of textDocument/diagnostic: the version of the document, as this server was told it, that the answer is about, any older one if it is about an older text; absent where it is not known."`
	Result           json.RawMessage `json:"result" doc:"The result of the method. Of textDocument/diagnostic a full report, also where the language server publishes its diagnostics."`
}

// ResyncParams of tandem/documents/resync.
type ResyncParams struct {
	URI string `json:"uri"`
}

// ResyncResult of tandem/documents/resync.
type ResyncResult struct {
	Text    string `json:"text"`
	Version int32  `json:"version"`
}

// ApplyEditParams are LSP's with fields of our own. A plain client, one that did not declare experimental.tandem,
// gets the edit alone.
type ApplyEditParams struct {
	Label  string            `json:"label,omitempty"`
	Edit   lsp.WorkspaceEdit `json:"edit"`
	Tandem *ApplyEditInfo    `json:"tandem,omitempty"`
}

// ApplyEditInfo says whose edit it is.
type ApplyEditInfo struct {
	SessionID  string        `json:"sessionId"`
	ToolCallID string        `json:"toolCallId"`
	Turn       int           `json:"turn"`
	Unified    []UnifiedDiff `json:"unified"`
	Save       bool          `json:"save" doc:"The document will be asked to be saved."`
}

// ApplyEditResult is LSP's with a field of our own, from a client that declared landed.
type ApplyEditResult struct {
	Applied       bool              `json:"applied"`
	FailureReason string            `json:"failureReason,omitempty"`
	FailedChange  *uint32           `json:"failedChange,omitempty"`
	Tandem        *ApplyEditVersion `json:"tandem,omitempty"`
}

// ApplyEditVersion says where an edit landed.
type ApplyEditVersion struct {
	Versions []LandedVersion `json:"versions" doc:"Each document of the edit with the version that the edit made, or its present one where its text did not change. The client may have carried the edit over changes that it has told of."`
}

// LandedVersion is one version of a document.
type LandedVersion struct {
	URI     string `json:"uri"`
	Version int32  `json:"version"`
}

// UnifiedDiff is the diff of one document.
type UnifiedDiff struct {
	URI  string `json:"uri"`
	Diff string `json:"diff"`
}
