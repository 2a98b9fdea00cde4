package protocol

import "encoding/json"

// DeadLettersParams of tandem/deadLetters/list.
type DeadLettersParams struct {
	SessionID string `json:"sessionId,omitempty" doc:"Of all sessions if absent."`
}

// DeadLettersResult of tandem/deadLetters/list, the newest first.
type DeadLettersResult struct {
	Items []DeadLetter `json:"items"`
}

// DeadLetter is a call that failed for good.
type DeadLetter struct {
	ID        string          `json:"id"`
	Time      string          `json:"time" doc:"When the call began, RFC 3339."`
	SessionID string          `json:"sessionId"`
	CallID    string          `json:"callId"`
	Turn      int             `json:"turn,omitzero"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args" doc:"The arguments that were sent. What looks like a secret is replaced by [redacted], and long texts are cut; null where they were too long to be kept."`
	Error     string          `json:"error,omitempty" doc:"As in ToolResult."`
	Reason    string          `json:"reason,omitempty"`
	Message   string          `json:"message" doc:"The beginning of what the model read."`
	Attempts  int             `json:"attempts"`
	Trace     []TraceStage    `json:"trace"`
}

// DeadLetterParams of tandem/deadLetters/retry and discard.
type DeadLetterParams struct {
	IDs []string `json:"ids"`
}

// RetryResult of tandem/deadLetters/retry, in the order of the ids.
type RetryResult struct {
	Results []ToolResult `json:"results"`
}
