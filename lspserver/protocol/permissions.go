package protocol

import (
	"encoding/json"

	lsp "go.lsp.dev/protocol"
)

// ListRulesParams of tandem/permissions/list.
type ListRulesParams struct {
	SessionID string `json:"sessionId,omitempty" doc:"Its own rules too."`
}

// RulesResult of tandem/permissions/list and set.
type RulesResult struct {
	Rules []PermissionRule `json:"rules"`
}

// SetRulesParams of tandem/permissions/set.
type SetRulesParams struct {
	Scope     string            `json:"scope" enum:"session,workspace,user" doc:"Where allow, ask and deny are added: for a session, for the workspace, or everywhere. The last two are kept in the person's own file."`
	SessionID string            `json:"sessionId,omitempty" doc:"For the scope session; its folder is the one of the scope workspace, else the first of the workspace."`
	Allow     []json.RawMessage `json:"allow,omitempty" doc:"PermissionRules: tool, params, class, act, profile. Another member is refused."`
	Ask       []json.RawMessage `json:"ask,omitempty"`
	Deny      []json.RawMessage `json:"deny,omitempty"`
	Remove    []string          `json:"remove,omitempty" doc:"Ids of rules, of any scope."`
}

// AssessParams of tandem/tools/assess.
type AssessParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	SessionID string          `json:"sessionId,omitempty" doc:"Else the one that was used last, or a new one of the first folder."`
}

// AssessResult of tandem/tools/assess.
type AssessResult struct {
	Danger          string          `json:"danger" enum:"safe,moderate,dangerous"`
	ReadOnly        bool            `json:"readOnly"`
	ConcurrencySafe bool            `json:"concurrencySafe"`
	Paths           []string        `json:"paths"`
	DerivedRule     *PermissionRule `json:"derivedRule,omitempty" doc:"What a person might write for calls like this one. No answer makes it."`
	ExactRule       *PermissionRule `json:"exactRule,omitempty" doc:"What an answer for longer than once makes."`
	Decision        string          `json:"decision" enum:"allow,ask,deny"`
	Reason          string          `json:"reason"`
}

// DroppedTool is a tool that a model is not offered.
type DroppedTool struct {
	Name   string `json:"name"`
	Stage  string `json:"stage" enum:"mode,deny,enabled,pool"`
	Reason string `json:"reason"`
}

// PermissionRule is a rule about calls of tools. In tandem/permissions/set a client gives tool, params, class, act, profile and scripts.
type PermissionRule struct {
	ID        string            `json:"id,omitempty"`
	Tool      string            `json:"tool" doc:"Name or alias; * stands for any letters."`
	Params    map[string]string `json:"params,omitempty" doc:"Patterns that arguments must match: globs of paths, commands word by word."`
	Effect    string            `json:"effect,omitempty" enum:"allow,ask,deny"`
	Scope     string            `json:"scope,omitempty" enum:"session,workspace,user"`
	Source    string            `json:"source,omitempty" doc:"Where it was written: a file, a layer of the configuration, or an answer."`
	Class     string            `json:"class,omitempty" enum:"read,write,execute,network" doc:"Only tools of this permission class."`
	Act       string            `json:"act,omitempty" enum:"create,edit,replace" doc:"The most that it allows to be done to a file."`
	Profile   string            `json:"profile,omitempty" doc:"The only sandbox profile of commands that it allows."`
	Scripts   string            `json:"scripts,omitempty" doc:"What the scripts that a command runs must be for it to allow that: their names and a hash."`
	Workspace string            `json:"workspace,omitempty" doc:"The only folder whose sessions it is for."`
	Files     []string          `json:"files,omitempty" doc:"The only files, of an answer."`
	Turn      int               `json:"turn,omitzero" doc:"The only turn, of an answer."`
	Text      string            `json:"text,omitempty" doc:"The rule in one line, for a person."`
	Removable bool              `json:"removable,omitzero" doc:"tandem/permissions/set can take it back; another one is in a file that people write."`
}

// ClaimsParams of tandem/claims/list.
type ClaimsParams struct {
	SessionID string `json:"sessionId,omitempty" doc:"Of all sessions if absent."`
}

// ClaimsResult of tandem/claims/list, in the order in which they were taken.
type ClaimsResult struct {
	Claims []Claim `json:"claims"`
}

// Claim is what a call is about to change.
type Claim struct {
	URI        string     `json:"uri"`
	Range      *lsp.Range `json:"range,omitempty" doc:"Absent for the whole file: it is made, overwritten, deleted or moved."`
	Holder     string     `json:"holder" doc:"The session."`
	ToolCallID string     `json:"toolCallId"`
	Since      string     `json:"since" doc:"RFC 3339."`
}
