// Package run carries tool calls out: the pipeline of one call as a list of stages, the partition of many calls into
// batches, and the executor that starts calls while the model is still writing.
//
// The rules:
//
//   - A call goes through stages (call.go), in order. The first error ends it: the stages after that one are left out, but for those that
//     happen to every call. One return goes back: a sandbox that failed leads to the needs again, once.
//   - What a call needs is judged before anything is read for it, what its plan needs before a person is asked, and both again when the
//     answer comes.
//   - Consecutive calls whose footprints (partition.go) allow it form a batch. A batch begins when all calls of the one before have ended.
//   - A call that has none beside it runs in a goroutine; two and more run on the batch's pool (conc.go), which has the limit, the context of
//     the turn and the order of submission.
//   - Progress and completion are reported at once, results in the order of the calls (Stream.yield).
//   - A call gives up its slot and stops its clock while a person is asked.
package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
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
	Call Call
	Tool string // canonical name, or the name asked for where there is no such tool
	Kind tools.Kind
	// Source is where the tool comes from, "" where there is no such tool.
	Source string
	State  State
	// Phase is "use", "progress", "result", "rejected" or "error".
	Phase    string
	Title    string
	Plan     *tools.Plan     // once it is known
	Result   *tools.Result   // from Completed on
	Progress *tools.Progress // with phase "progress"
	// Render is what the tool says of the call in this phase, until there is a Result; nil where it says nothing.
	Render *tools.Render
	Batch  int
	// Group is the id of the first call of the batch; it names the batch in the whole session.
	Group string
	At    time.Time
}

// Gate judges calls, before anything is read for them and anybody is asked; a pure function of its argument.
type Gate interface {
	Judge(c gate.Call) gate.Decision
}

// Outcome is how a question to a person ended. The zero value refuses.
type Outcome uint8

// The outcomes. Cancelled ends the turn; Unavailable means that there is nobody to ask, Unanswered that what came back was no
// answer to the question, RejectedBefore that the same call was rejected in this turn and nobody was asked again.
const (
	Rejected Outcome = iota
	Allowed
	Cancelled
	Unavailable
	Unanswered
	RejectedBefore
)

// Answer is what a person said to a question. Option is the one that they chose among Question.Options, "" where they had no
// choice, which is about this call alone; Feedback is what they wrote with it, which the model reads.
type Answer struct {
	Outcome  Outcome
	Option   Option
	Feedback string
}

// Option is the id of an answer.
type Option string

// The answers. What is called always is a rule, which Judged of the question shows; it outlives the session.
const (
	AllowOnce    Option = "allow_once"
	AllowTurn    Option = "allow_turn"  // all edits of this turn
	AllowFiles   Option = "allow_files" // edits of these files in this session
	AllowSession Option = "allow_session"
	AllowAlways  Option = "allow_always"
	AllowWide    Option = "allow_wide" // the same with the wider rule of a command
	RejectOnce   Option = "reject_once"
	RejectAlways Option = "reject_always"
)

// Outcome is what a chosen answer says to the call.
func (o Option) Outcome() Outcome {
	switch o {
	case AllowOnce, AllowTurn, AllowFiles, AllowSession, AllowAlways, AllowWide:
		return Allowed
	case RejectOnce, RejectAlways:
		return Rejected
	}
	return Unanswered
}

// Question is what a person is asked before a call goes on.
type Question struct {
	Call Call
	Tool tools.Tool
	Plan *tools.Plan
	// Turn is that of the call; 0 is none.
	Turn int
	// Args are the checked arguments.
	Args json.RawMessage
	// Folder is the canonical one of the session, which the paths of rules are shown from; the Asker sets it.
	Folder string
	// Judged is the decision to ask: its reason, and the rules that Options mean.
	Judged gate.Decision
	// Diffs are what the plan would change as things stand.
	Diffs []DiffPreview
	// Unkept is what a command may change for good, a sentence; "" is nothing.
	Unkept string
}

// Options are the answers on offer, those for once first: clients number them, and a hand knows the first two. What is asked about
// each time has no others. A command without a sandbox is refused by the answer that allows elsewhere.
func (q Question) Options() []Option {
	d, out := q.Judged, []Option{AllowOnce, RejectOnce}
	if d.Layer == gate.LayerSandbox {
		slices.Reverse(out)
	}
	if d.Edits != nil && q.Turn != 0 {
		out = append(out, AllowTurn)
	}
	if d.Edits != nil {
		out = append(out, AllowFiles)
	}
	if d.Allows != nil {
		out = append(out, AllowSession, AllowAlways)
	}
	if d.Wide != nil {
		out = append(out, AllowWide)
	}
	if d.Denies != nil {
		out = append(out, RejectAlways)
	}
	return out
}

// DiffPreview is one file of a plan as it is and as it would be.
type DiffPreview struct {
	Path     string
	Old, New string
	Unified  string
	// Spans are the changed parts of the lines of Unified.
	Spans []show.LineSpan
}

// Asker asks a person. It may be called concurrently and must return when ctx ends.
type Asker interface {
	Ask(ctx context.Context, q Question) Answer
}

// Command is a command that is about to run.
type Command struct {
	// Change is the call, without files.
	Change filetime.Change
	Paths  *sandbox.Paths
	// Seen are the files that the session has seen.
	Seen []string
	// Unwatched says that nobody asks what it changes: it provably only reads, or it goes on after its call.
	Unwatched bool
}

// Began is a command that runs. The disk is as new as the buffers then, as far as that is possible: Warnings name what stays older.
type Began struct {
	Warnings []filetime.Warning
	// Ended says what the command has changed, after its end; nil if nobody asks.
	Ended func(ctx context.Context) tools.Effects
}

// Host is everything a run needs of the session that it belongs to.
type Host struct {
	// Tools are what may be called. They belong to the request whose calls these are, and stay as they are until the last of
	// them has ended.
	Tools *tools.Set
	// Offering is what of Tools may be called and seen by now.
	Offering Offering
	// Hooks stand around the calls of the tools that they match, in order: before a call each gets the arguments that the one before
	// it has left, after it the text.
	Hooks []Hook
	Gate  Gate
	Asker Asker
	// Claims are those of all sessions; nil takes none.
	Claims *Claims
	// Files is what changes land in.
	Files filetime.Files
	// Audit keeps a record of every call; nil keeps none.
	Audit Audit
	// Life ends calls that a cancel waits for: a second cancel, or the end of the session. nil never ends.
	Life context.Context
	// Env makes the environment of one call.
	Env func(call Call) *tools.Env
	// Observe gets every event; it must not block. May be nil.
	Observe func(Event)
	// Changes keeps track of what calls change.
	Changes Changes
	// Apply overrides where changes go, "" for the files' own choice.
	Apply filetime.Apply
	Trace bool
	// Schedule says which calls run at the same time, and how many.
	Schedule Schedule
	// Retry is for calls that only look, and those that their tool declares to be idempotent.
	Retry Retry
	// Keys are what the session was told of files that hold keys; nil remembers none.
	Keys *Keys
	// Validation is how arguments are read.
	Validation Validation
	Now        func() time.Time
	// Log gets what no model and no person should read, such as the stack of a tool that panicked. nil means the
	// default logger.
	Log *slog.Logger
}
