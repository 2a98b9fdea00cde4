package model

import (
	"context"
	"encoding/json"
)

// Lend requests an answer from the editor's own model. It calls on for every chunk, in order and on
// the calling goroutine, and returns at the end of the answer. Errors are *Error, the context's, or
// the editor's unchanged.
type Lend func(ctx context.Context, r Loan, on func(Chunk)) (Lent, error)

// Loan is a request to an editor's model: messages and tools are as in Chat Completions. Model is
// the editor's own name for one of its models, "" lets the editor choose.
type Loan struct {
	Model           string
	Messages, Tools json.RawMessage
}

// Chunk is a piece of a lent answer; one of its fields is set.
type Chunk struct {
	Text     string     `json:"text,omitempty"`
	Thought  string     `json:"thought,omitempty"`
	ToolCall *ChunkCall `json:"toolCall,omitempty"`
}

// ChunkCall is a piece of a call. Pieces with the same Index belong to one call.
type ChunkCall struct {
	Index          int    `json:"index"`
	ID             string `json:"id"`
	Name           string `json:"name,omitempty"`
	ArgumentsDelta string `json:"argumentsDelta,omitempty"`
}

// Lent is the end of a lent answer. StopReason is that of a turn.
type Lent struct {
	StopReason string
	Usage      Usage
}
