package protocol

import (
	"encoding/json"

	lsp "go.lsp.dev/protocol"
)

// ToolInfo describes a tool.
type ToolInfo struct {
	Name            string          `json:"name"`
	Aliases         []string        `json:"aliases"`
	Title           string          `json:"title,omitempty"`
	Kind            string          `json:"kind" enum:"read,search,edit,delete,move,execute,fetch,think,other"`
	Category        string          `json:"category"`
	Description     string          `json:"description"`
	Parameters      json.RawMessage `json:"parameters" doc:"A JSON Schema."`
	ReadOnly        bool            `json:"readOnly"`
	ConcurrencySafe bool            `json:"concurrencySafe"`
	Destructive     bool            `json:"destructive"`
	Danger          string          `json:"danger" enum:"safe,moderate,dangerous"`
	PermissionClass string          `json:"permissionClass" enum:"read,write,execute,network"`
	Interrupt       string          `json:"interrupt" enum:"cancel,block" doc:"What a cancelled turn does to a running call: end it, or let it finish."`
	InputStreaming  bool            `json:"inputStreaming"`
	Providers       []string        `json:"providers"`
	Source          string          `json:"source" doc:"builtin, or where else it comes from."`
	Deferred        bool            `json:"deferred" doc:"A model is told of it by name alone, in the description of tool_search, until it has searched for it."`
	Enabled         bool            `json:"enabled"`
	DisabledBy      string          `json:"disabledBy,omitempty"`
	Replaces        string          `json:"replaces,omitempty" doc:"The built-in tool whose place it has taken; see tandem/tools/register."`
}

// ListToolsParams of tandem/tools/list.
type ListToolsParams struct {
	SessionID       string `json:"sessionId,omitempty"`
	Kind            string `json:"kind,omitempty"`
	ReadOnly        *bool  `json:"readOnly,omitempty"`
	Provider        string `json:"provider,omitempty" doc:"Without the tools that models of this provider do not take. If absent, the provider of the session's model."`
	IncludeDeferred bool   `json:"includeDeferred,omitzero" doc:"With the tools that are deferred because there are more than deferTools.threshold, or because they are an MCP server's."`
	IncludeDisabled bool   `json:"includeDisabled,omitzero" doc:"With disabledBy."`
	Explain         bool   `json:"explain,omitzero" doc:"Say in dropped which tools are not offered, and why."`
}

// ListToolsResult of tandem/tools/list, sorted by name.
type ListToolsResult struct {
	Tools   []ToolInfo    `json:"tools"`
	Dropped []DroppedTool `json:"dropped,omitempty"`
}

// ToolSpec describes a tool that the client runs. What it does not declare is assumed to be the worst: a person is asked about each
// call, and no other call runs at the same time.
type ToolSpec struct {
	Name            string          `json:"name" doc:"Up to 64 letters, digits, _ and -."`
	Aliases         []string        `json:"aliases,omitempty" doc:"Other names that are understood, never shown to a model."`
	Title           string          `json:"title,omitempty" doc:"What a person knows it by."`
	Description     string          `json:"description" doc:"What the model reads: when to use it, when not, what to do about an error."`
	Parameters      json.RawMessage `json:"parameters,omitempty" doc:"A JSON Schema; absent, or no object, is no constraints."`
	Kind            string          `json:"kind,omitempty" enum:"read,search,edit,write,delete,move,execute,fetch,think,other" doc:"other if absent; write is edit."`
	Category        string          `json:"category,omitempty"`
	ReadOnly        *bool           `json:"readOnly,omitempty" doc:"true is the kind read where there is no kind. Only the kinds read and search are read-only."`
	ConcurrencySafe *bool           `json:"concurrencySafe,omitempty" doc:"It may run at the same time as reads and others that say so; false if absent."`
	Destructive     *bool           `json:"destructive,omitempty" doc:"true if absent, and the kind is neither read nor search."`
	Danger          string          `json:"danger,omitempty" enum:"safe,moderate,dangerous" doc:"If absent, dangerous for a destructive tool, else moderate, or safe for one that only reads."`
	PermissionClass string          `json:"permissionClass,omitempty" enum:"read,write,execute,network" doc:"By the kind if absent."`
	Interrupt       string          `json:"interrupt,omitempty" enum:"cancel,block" doc:"cancel if absent."`
	InputStreaming  bool            `json:"inputStreaming,omitzero" doc:"Its arguments are shown while the model writes them."`
	Providers       []string        `json:"providers,omitempty" doc:"The providers whose models take it, each by its name or by the protocol that it speaks (anthropic, openai, openai-chat); all if empty."`
	FeatureFlag     string          `json:"featureFlag,omitempty" doc:"The key of featureFlags that it stands behind."`
}

// RegisterToolsParams of tandem/tools/register.
type RegisterToolsParams struct {
	Tools   []ToolSpec `json:"tools"`
	Replace bool       `json:"replace,omitzero" doc:"A tool may take the place of a built-in one of its name, until it is unregistered."`
}

// UnregisterToolsParams of tandem/tools/unregister.
type UnregisterToolsParams struct {
	Names []string `json:"names"`
}

// InvokeToolParams of tandem/tools/invoke.
type InvokeToolParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments" doc:"Checked against parameters, with its defaults."`
	SessionID string          `json:"sessionId"`
	CallID    string          `json:"callId"`
}

// SearchToolsParams of tandem/tools/search.
type SearchToolsParams struct {
	Query     string `json:"query" doc:"Words of the name or the description; select:name,name for exactly these."`
	Limit     int    `json:"limit,omitzero" doc:"5 if absent."`
	SessionID string `json:"sessionId,omitempty"`
}

// SearchToolsResult of tandem/tools/search, the best first.
type SearchToolsResult struct {
	Tools []ToolInfo `json:"tools"`
}

// GetToolParams of tandem/tools/get.
type GetToolParams struct {
	Name      string `json:"name"`
	SessionID string `json:"sessionId,omitempty"`
}

// CallToolParams of tandem/tools/call.
type CallToolParams struct {
	SessionID string          `json:"sessionId"`
	CallID    string          `json:"callId,omitempty" doc:"Made up if absent; one that was used before in the session is refused."`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Apply     string          `json:"apply,omitempty" enum:"auto,editor,disk,none" doc:"Where a change goes; the configuration says if absent."`
	Trace     bool            `json:"trace,omitzero"`
}

// BatchCall is one call of a batch.
type BatchCall struct {
	CallID    string          `json:"callId,omitempty" doc:"Made up if absent; one that was used before in the session is refused."`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// BatchParams of tandem/tools/batch.
type BatchParams struct {
	SessionID string      `json:"sessionId"`
	Calls     []BatchCall `json:"calls"`
	Apply     string      `json:"apply,omitempty" enum:"auto,editor,disk,none"`
	Trace     bool        `json:"trace,omitzero"`
	Parallel  bool        `json:"parallel,omitzero" doc:"All calls run at the same time, whatever they do. A command that fails ends the other commands."`
	DryRun    bool        `json:"dryRun,omitzero" doc:"Only say which calls would run together."`
}

// BatchResult of tandem/tools/batch, in the order of the calls.
type BatchResult struct {
	Results []ToolResult `json:"results"`
	Batches [][]int      `json:"batches" doc:"Which calls ran together, by their place in the request."`
}

// ToolResult is what every call answers, the same shape for success and failure.
type ToolResult struct {
	Success    bool               `json:"success"`
	Data       string             `json:"data" doc:"Plain language for the model."`
	Context    string             `json:"context" doc:"The same as data."`
	Error      string             `json:"error,omitempty" doc:"The class of the failure; present exactly when success is false."`
	Reason     string             `json:"reason,omitempty" doc:"The detail of an error, one word in lower case."`
	Summary    string             `json:"summary,omitempty" doc:"One line for a person."`
	Result     any                `json:"result,omitzero" doc:"Structured data for a program."`
	Content    []ContentPart      `json:"content,omitempty" doc:"What there is beside data."`
	Diff       any                `json:"diff,omitzero" as:"FileDiff,[]FileDiff" doc:"A list for several files."`
	Edit       *lsp.WorkspaceEdit `json:"edit,omitempty" doc:"What a changing call changes, as documentChanges."`
	Applied    *bool              `json:"applied,omitempty" doc:"Whether edit has landed."`
	Warnings   []string           `json:"warnings,omitempty"`
	Issues     []Issue            `json:"issues,omitempty"`
	Denial     *Denial            `json:"denial,omitempty"`
	Truncated  bool               `json:"truncated,omitzero"`
	DurationMs float64            `json:"durationMs"`
	CallID     string             `json:"callId"`
	Meta       *ResultMeta        `json:"meta,omitempty"`
}

// ContentPart is a part of a result.
type ContentPart struct {
	Type      string `json:"type" enum:"text,image,document"`
	Text      string `json:"text,omitempty"`
	MediaType string `json:"mediaType,omitempty" doc:"application/octet-stream where the content is not what the file's name says."`
	Name      string `json:"name,omitempty"`
	Data      string `json:"data,omitempty" doc:"Base64."`
}

// PatchOp is what became of one file of a patch: an element of result.operations of the tool patch. Paths are absolute.
type PatchOp struct {
	Op        string `json:"op" enum:"add,delete,update"`
	Path      string `json:"path"`
	To        string `json:"to,omitempty" doc:"Where an update has moved the file."`
	Additions int    `json:"additions" doc:"Lines."`
	Deletions int    `json:"deletions"`
	Already   bool   `json:"already,omitzero" doc:"Somebody else had made the same change."`
}

// ShellResult is the result of the tool bash.
type ShellResult struct {
	ExitCode int    `json:"exitCode" doc:"-1 where the command was stopped."`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	TimedOut bool   `json:"timedOut"`
	Sandbox  string `json:"sandbox,omitempty" doc:"The level that the command ran at."`
}

// Issue is one thing wrong with the arguments of a call.
type Issue struct {
	Path     string `json:"path" doc:"$.items[2].name"`
	Pointer  string `json:"pointer" doc:"RFC 6901."`
	Expected string `json:"expected"`
	Received string `json:"received" doc:"At most 60 characters."`
	Message  string `json:"message"`
}

// Denial says who refused a call and why.
type Denial struct {
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Layer  string `json:"layer,omitempty"`
	Source string `json:"source,omitempty"`
}

// ResultMeta is how a call went.
type ResultMeta struct {
	EffectiveArgs json.RawMessage `json:"effectiveArgs,omitempty"`
	Coerced       []string        `json:"coerced,omitempty"`
	Modified      []string        `json:"modified,omitempty" doc:"URIs."`
	Source        string          `json:"source,omitempty" enum:"buffer,disk"`
	Version       *int32          `json:"version,omitempty"`
	Cache         string          `json:"cache,omitempty" enum:"hit,miss" doc:"Of a read: whether the text was in memory and proven to be the present one."`
	Attempts      int             `json:"attempts,omitzero"`
	Tier          string          `json:"tier,omitempty" doc:"How the old text was found where it was not there character by character."`
	RebasedOver   int             `json:"rebasedOver,omitzero" doc:"Changes by others that the edit was carried over."`
	Output        string          `json:"output,omitempty" doc:"Of a result that was cut: what read_file shows all of it by, with the path output: and this id."`
	Trace         []TraceStage    `json:"trace,omitempty"`
}

// TraceStage is one stage of the pipeline.
type TraceStage struct {
	Stage string  `json:"stage"`
	MS    float64 `json:"ms"`
}

// FileDiff is the diff of one file. Over the limit unified and hunks are left out and truncated is true.
type FileDiff struct {
	Path      string     `json:"path"`
	Unified   string     `json:"unified,omitempty"`
	Additions int        `json:"additions"`
	Deletions int        `json:"deletions"`
	Hunks     []DiffHunk `json:"hunks,omitempty"`
	Truncated bool       `json:"truncated,omitzero"`
}

// DiffHunk is one run of changed lines.
type DiffHunk struct {
	Range   lsp.Range    `json:"range" doc:"Where newText stands."`
	OldText string       `json:"oldText"`
	NewText string       `json:"newText"`
	Inline  []InlineSpan `json:"inline,omitempty"`
}

// InlineSpan is a changed run of characters (code points) within a hunk.
type InlineSpan struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Op    string `json:"op" enum:"insert,delete" doc:"A span of newText, or of oldText."`
}

// ToolEvent of tandem/tools/event.
type ToolEvent struct {
	Type       string  `json:"type" enum:"register,unregister,execute,error"`
	Name       string  `json:"name"`
	Source     string  `json:"source"`
	SessionID  string  `json:"sessionId,omitempty"`
	CallID     string  `json:"callId,omitempty"`
	DurationMs float64 `json:"durationMs,omitzero"`
	Error      string  `json:"error,omitempty"`
}
