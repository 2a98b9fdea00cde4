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
	Deferred        bool            `json:"deferred"`
	Enabled         bool            `json:"enabled"`
	DisabledBy      string          `json:"disabledBy,omitempty"`
}

// ListToolsParams of tandem/tools/list.
type ListToolsParams struct {
	SessionID       string `json:"sessionId,omitempty"`
	Kind            string `json:"kind,omitempty"`
	ReadOnly        *bool  `json:"readOnly,omitempty"`
	Provider        string `json:"provider,omitempty"`
	IncludeDisabled bool   `json:"includeDisabled,omitzero" doc:"With disabledBy."`
	Explain         bool   `json:"explain,omitzero" doc:"Say in dropped which tools are not offered, and why."`
}

// ListToolsResult of tandem/tools/list, sorted by name.
type ListToolsResult struct {
	Tools   []ToolInfo    `json:"tools"`
	Dropped []DroppedTool `json:"dropped,omitempty"`
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
	Content    []ContentBlock     `json:"content,omitempty"`
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
	Attempts      int             `json:"attempts,omitzero"`
	Tier          string          `json:"tier,omitempty" doc:"How the old text was found where it was not there character by character."`
	RebasedOver   int             `json:"rebasedOver,omitzero" doc:"Changes by others that the edit was carried over."`
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

// InlineSpan is a run of characters within a hunk.
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
