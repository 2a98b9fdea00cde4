// Package agent runs a session: turns between a user, a model and the tools, and their record in the store. It opens no
// file of the workspace and knows no JSON-RPC; the editor is the Client interface.
package agent

import (
	"context"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// Client is the editor or another host of a session.
type Client interface {
	// Update delivers an event; it never blocks and may be called concurrently.
	Update(session string, e Event)
	// Ask asks the user for permission and blocks until there is an answer or ctx has ended.
	Ask(ctx context.Context, session string, q run.Question) run.Answer
}

// Clarifier is a Client that can also put a question of the model to the user; see tools.Env.
type Clarifier interface {
	Clarify(ctx context.Context, session string, q tools.Clarification) (answer string, err error)
}

// Planner is a Client whose user may be able to approve what plan mode queues. For one who is not it refuses changes.
type Planner interface {
	// Plans says that the user is shown Session.Plans and can approve them.
	Plans() bool
}

// Event is an event of a session.
type Event = loop.Event

// StopReason is why a turn ended.
type StopReason = loop.StopReason

// The reasons.
const (
	EndTurn         = loop.EndTurn
	MaxTokens       = loop.MaxTokens
	MaxTurnRequests = loop.MaxTurnRequests
	Refusal         = loop.Refusal
	Cancelled       = loop.Cancelled
	BudgetExceeded  = loop.BudgetExceeded
	Failed          = loop.Failed
)

// TurnResult is how a turn ended.
type TurnResult struct {
	Stop  StopReason
	Usage model.Usage
	Turn  int
	// Err is set where Stop is Failed.
	Err error
}
