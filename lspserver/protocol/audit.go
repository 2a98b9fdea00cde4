package protocol

import "encoding/json"

// AuditParams of tandem/audit/query.
type AuditParams struct {
	SessionID string `json:"sessionId,omitempty" doc:"Of all sessions if absent; it need not be stored any more."`
	Since     string `json:"since,omitempty" doc:"RFC 3339: calls that began then or later."`
	Limit     int    `json:"limit,omitzero" doc:"How many of the newest entries, 1000 if absent."`
}

// AuditResult of tandem/audit/query.
type AuditResult struct {
	Entries []AuditEntry `json:"entries"`
}

// AuditEntry is the record of one call.
type AuditEntry struct {
	Time       string          `json:"time" doc:"When the call began, RFC 3339."`
	Who        AuditWho        `json:"who"`
	SessionID  string          `json:"sessionId"`
	CallID     string          `json:"callId"`
	Tool       string          `json:"tool" doc:"The canonical name, or the name that was asked for where there is no such tool."`
	Args       json.RawMessage `json:"args" doc:"The arguments as they were checked. What looks like a secret is replaced by [redacted], and long texts are cut. Arguments that are no JSON are a string."`
	ArgsHash   string          `json:"argsHash" doc:"SHA-256 of the whole arguments: JSON without blanks and with sorted keys, as in meta.effectiveArgs."`
	ResultHash string          `json:"resultHash" doc:"SHA-256 of the result's data; empty where the end is not recorded."`
	Decision   string          `json:"decision" enum:"allow,deny" doc:"deny also where the call ended before anybody had allowed it."`
	Rule       string          `json:"rule" doc:"What decided: a mode, a rule, or the option that a person chose."`
	Layer      string          `json:"layer" doc:"What the rule belongs to: mode, rules, sandbox, person, audit and so on, or the stage at which the call ended undecided."`
	Sandbox    string          `json:"sandbox" doc:"The level and the profile that the call's command ran with; empty where it runs none."`
	DurationMs float64         `json:"durationMs"`
	Error      string          `json:"error,omitempty" doc:"As in ToolResult."`
	Pending    bool            `json:"pending,omitzero" doc:"The call has not ended, or its process ended before it."`
}

// AuditWho is who made a call.
type AuditWho struct {
	User   string     `json:"user" doc:"The account of the server's process."`
	Client string     `json:"client" doc:"What the client calls itself."`
	Agent  AuditAgent `json:"agent"`
}

// AuditAgent is the agent whose model asked for a call.
type AuditAgent struct {
	Session string `json:"session"`
	Parent  string `json:"parent,omitempty" doc:"The session of the agent that started this one."`
}
