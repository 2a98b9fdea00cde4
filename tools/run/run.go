// Package run carries tool calls out: the pipeline of one call as a list of stages, the partition of many calls into
// batches, and the executor that starts calls while the model is still writing.
package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/gate"
)

// Call is one call as somebody asked for it: Arguments is raw and may be anything.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

// State is where a call is on its way; a call goes through all four, in order.
type State string

// The states.
const (
	Queued    State = "queued"
	Executing State = "executing"
	Completed State = "completed"
	Yielded   State = "yielded"
)

// Event is news of one call, sent as it happens, also out of order between calls.
type Event struct {
	Call  Call
	Tool  string // canonical name, or the name asked for where there is no such tool
	Kind  tools.Kind
	State State
	// Phase is "use", "progress", "result", "rejected" or "error".
	Phase    string
	Title    string
	Plan     *tools.Plan     // once it is known
	Result   *tools.Result   // from Completed on
	Progress *tools.Progress // with phase "progress"
	Batch    int
	// Group is the id of the first call of the batch; it names the batch in the whole session.
	Group string
	At    time.Time
}

// Gate judges what a call needs, before anything is read for it and anybody is asked; a pure function of its arguments.
type Gate interface {
	Judge(t tools.Tool, needs []tools.Need) gate.Decision
}

// Outcome is how a question to a person ended. The zero value refuses.
type Outcome uint8

// The outcomes. Cancelled ends the turn; Unavailable means that there is nobody to ask, Unanswered that what came back was no
// answer to the question.
const (
	Rejected Outcome = iota
	Allowed
	Cancelled
	Unavailable
	Unanswered
)

// Answer is what a person said to a question. Option is the id of the answer that they chose among several, "" where there
// was no choice; Feedback is what they wrote with it, which the model reads.
type Answer struct {
	Outcome  Outcome
	Option   string
	Feedback string
}

// Question is what a person is asked before a call goes on.
type Question struct {
	Call   Call
	Tool   tools.Tool
	Plan   *tools.Plan
	Reason string
	// Diffs are what the plan would change as things stand.
	Diffs []DiffPreview
}

// DiffPreview is one file of a plan as it is and as it would be.
type DiffPreview struct {
	Path     string
	Old, New string
	Unified  string
}

// Asker asks a person. It may be called concurrently and must return when ctx ends.
type Asker interface {
	Ask(ctx context.Context, q Question) Answer
}

// Host is everything a run needs of the session that it belongs to.
type Host struct {
	// Tools are what may be called. They belong to the request whose calls these are, and stay as they are until the last of
	// them has ended.
	Tools *tools.Set
	// Present gives the session's tools as they are now: a call of a tool that is not among them any more does not begin. nil
	// where nothing is taken out meanwhile.
	Present func() *tools.Set
	Gate    Gate
	Asker   Asker
	// Env makes the environment of one call.
	Env func(call Call) *tools.Env
	// Observe gets every event; it must not block. May be nil.
	Observe func(Event)
	// BeforeCommand makes the disk as new as the buffers, as far as it can, and gives a warning for what stays older. May be
	// nil.
	BeforeCommand func(ctx context.Context) []string
	// Landed is told of every change that landed, before the result is given out; calls of one batch tell concurrently.
	// May be nil.
	Landed func(c filetime.Change, l filetime.Landed)
	// Apply overrides where changes go, "" for the files' own choice.
	Apply filetime.Apply
	Trace bool
	// Serial lets no two changes happen at the same time, also of different files.
	Serial bool
	// Places bounds the calls that run at the same time, also of other runs; nil is no bound.
	Places *Places
	// Budget bounds the calls of the turn; nil is no bound.
	Budget *Budget
	// Coerce lets the validator turn "true" into true and the like.
	Coerce bool
	Now    func() time.Time
	// Log gets what no model and no person should read, such as the stack of a tool that panicked. nil means the
	// default logger.
	Log *slog.Logger
}
