// Package agent runs a session: the turn loop between a model and the tools. It never touches a file and never sees
// JSON-RPC; the editor is the Client interface.
package agent

import (
	"context"
	"time"

	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// Client is the editor, or whoever else hosts a session, as the agent sees it.
type Client interface {
	// Update tells of something that happened; it never blocks and may be called concurrently.
	Update(session string, e Event)
	// Ask asks a person for permission and returns when there is an answer or ctx has ended.
	Ask(ctx context.Context, session string, q run.Question) run.Answer
}

// Clarifier is a Client that can also ask a person what the model wants to know; see tools.Env.
type Clarifier interface {
	Clarify(ctx context.Context, session string, q tools.Clarification) (answer string, err error)
}

// Event is one piece of news of a session; exactly one of Text, Thought, Call, Usage and Notice is set.
type Event struct {
	Turn int
	// At is the time since the turn began.
	At      time.Duration
	Text    string
	Thought string
	User    string
	Call    *run.Event
	// Partial is the raw text of a call's arguments so far, while the model writes them; Call then names it.
	Partial string
	// Usage is the turn's so far; with it come the Session's, and Context, the tokens of the last request and its answer.
	Usage   *model.Usage
	Session model.Usage
	Context int64
	Notice  string
	Mode    string
}

// StopReason is why a turn ended; the values are those of the wire.
type StopReason string

// The reasons.
const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
	BudgetExceeded  StopReason = "budget_exceeded"
	Failed          StopReason = "error"
)

// TurnResult is how a turn ended.
type TurnResult struct {
	Stop  StopReason
	Usage model.Usage
	Turn  int
	// Err is set where Stop is Failed.
	Err error
}

// Mode is how much a session may do without asking.
type Mode string

// The modes.
const (
	Ask         Mode = "ask"
	AcceptEdits Mode = "acceptEdits"
	ReadOnly    Mode = "readOnly"
	Auto        Mode = "auto"
)
