package run

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/schema"
)

// scheduling is what the scheduler keeps of a call; it is guarded by Stream.mu.
type scheduling struct {
	footprint *footprint // nil until it is known
	hooking   bool       // its hooks run ahead of it
	batch     int        // from 1
	group     string
}

// join makes the call one of a batch, which has the name of its first call.
func (s *scheduling) join(batch int, group string) { s.batch, s.group = batch, group }

// hooksBegin and hooksEnd are called around the hooks that run ahead of the call: what the call is about has to be found out again.
func (s *scheduling) hooksBegin() { s.hooking = true }
func (s *scheduling) hooksEnd()   { s.footprint, s.hooking = nil, false }

// stageLog is how far a call has come.
type stageLog struct {
	begun  time.Time
	failed string // the stage that failed, "" while none has
	trace  []tools.Stage
}

// skips reports whether a stage is left out.
func (l *stageLog) skips(s stage) bool { return l.failed != "" && !s.always }

// took notes that a stage is over.
func (l *stageLog) took(s stage, d time.Duration) {
	l.trace = append(l.trace, tools.Stage{Stage: s.name, MS: float64(d.Microseconds()) / 1000})
}

// arguments are those of a call, as the model sent them or as hooks have changed them.
type arguments struct {
	known   bool // checked is set
	checked schema.Checked
	hooks   hooked
}

// valid reports whether the arguments were checked and nothing is wrong with them.
func (a *arguments) valid() bool { return a.known && len(a.checked.Issues) == 0 }

// hooked is what hooks have done to a call.
type hooked struct {
	ran bool // the ones before the call
	err error
	// took is how long they ran before the call began.
	took time.Duration
	// changedBy are the names of those that have changed the arguments.
	changedBy []string
}

// change takes over the arguments that a hook leaves.
func (a *arguments) change(hook string, checked schema.Checked) {
	a.hooks.changedBy = append(a.hooks.changedBy, hook)
	a.checked = checked
}

// appearance is how a call is shown.
type appearance struct {
	title   string
	renders func(tools.Showing) *tools.Render // nil where the tool leaves that to the host
	phase   string                            // of the result
}

func (a *appearance) render(s tools.Showing) *tools.Render {
	if a.renders == nil {
		return nil
	}
	return a.renders(s)
}

// ended finds the phase that a result is shown with, and has the tool render it.
func (a *appearance) ended(r *tools.Result) {
	switch {
	case r.Success:
		a.phase = "result"
	case r.Error == tools.GateDenied, r.Error == tools.PlanMode:
		a.phase = "rejected"
	default:
		a.phase = "error"
	}
	if r.Render == nil {
		r.Render = a.render(tools.Showing{Phase: a.phase, Result: r})
	}
}

// judgement is what the gate and a person have said of a call.
type judgement struct {
	decision gate.Decision
	question Question // that a person is asked, see safety
	feedback string   // that the person gave with the answer
}

// byPerson is the decision that an answer makes.
func (j *judgement) byPerson(option Option) {
	j.decision = gate.Decision{Verdict: gate.Allow, Rule: string(option), Layer: "person"}
}

// attempts are those of a call that did not succeed.
type attempts struct {
	lost     string   // why no sandbox could confine the call's command, though there is one; "" as long as one can
	warnings []string // of the attempt in the sandbox that failed
	failed   int      // for a reason that may pass
}

// loses reports whether a call goes back to its needs, once, because the sandbox failed.
func (a *attempts) loses(err error, warnings []string) bool {
	if a.lost != "" || !errors.Is(err, sandbox.ErrNotConfined) {
		return false
	}
	_, why, _ := strings.Cut(err.Error(), sandbox.ErrNotConfined.Error()+": ")
	a.warnings = warnings
	a.lost = "the sandbox that there is failed (" + cmp.Or(why, err.Error()) + ")"
	return true
}

// report puts into the result how often the call was made, where that is more than once.
func (a *attempts) report(r *tools.Result) {
	switch {
	case r.Success && a.failed > 0:
		r.Meta.Attempts = a.failed + 1
	case a.failed > 1:
		r.Meta.Attempts = a.failed
		r.Data += fmt.Sprintf("\nIt was tried %d times. Go on without it, or try it again later.", a.failed)
	}
}

// look is what language servers said of a file before an edit.
type look struct {
	findings []tools.Finding
	err      error
}

// changeSet is what a call has changed, itself and by its command.
type changeSet struct {
	landed  filetime.Landed
	effects tools.Effects   // of a command
	found   map[string]look // by path, of the files that are edited
}

// lifecycle is the state of a call. mu guards it, and the order of events: progress comes from other goroutines.
type lifecycle struct {
	mu    sync.Mutex
	state State
}

// advance brings the call into a state that comes after the one that it is in. mu is held.
func (l *lifecycle) advance(s State) bool {
	if s.order() <= l.state.order() {
		return false
	}
	l.state = s
	return true
}

func (s State) order() int {
	switch s {
	case Queued:
		return 1
	case Executing:
		return 2
	case Completed:
		return 3
	case Yielded:
		return 4
	}
	return 0
}
