package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tandem/sandbox"
	"tandem/tools/gate"
	"tandem/tools/rule"
	"tandem/tools/run"
)

// rights are what the calls of a session may do: its mode, the rules of the configuration, and what a person has answered in it. It is
// the gate of the session. Judging reads one pointer to a policy that is never changed, so it never waits for a change of the rules.
type rights struct {
	cwd      string
	now      func() time.Time        // by which rules hold
	remember func(r gate.Rule) error // keeps a rule beyond the session; nil where there is no file for rules

	mu        sync.Mutex
	settings  Settings
	policy    *gate.Policy // of the settings, the mode and the grants
	grants    []gate.Rule  // of this session alone
	mode      gate.Mode
	chosen    bool               // the mode, by the user for this session, so that it does not follow the configuration
	limit     gate.Mode          // of the running turn, "" for none
	questions map[*question]bool // that wait for an answer
	rejected  rejections
	launches  map[string]bool // the launches of MCP servers that a person has allowed
}

// question is one that waits for an answer.
type question struct {
	about gate.Call
	end   context.CancelCauseFunc
}

// rejections count how often each call was rejected in the running turn, by a person or from memory.
type rejections struct {
	turn  int
	times map[string]int
}

// ErrGranted is the cause with which a question ends that an answer to another one has answered too.
var ErrGranted = errors.New("a rule allows it now")

func newRights(cwd string, now func() time.Time, remember func(gate.Rule) error) *rights {
	return &rights{
		cwd: cwd, now: now, remember: remember, questions: map[*question]bool{}, launches: map[string]bool{},
	}
}

// workspace is the canonical folder of the session, which rules for one workspace name. A link on the way to it may be changed.
func (r *rights) workspace() string { return sandbox.Canonical(r.cwd) }

// configure replaces the rules of the configuration. followed is the mode if it has changed with the configuration, else "". Questions
// that the rules answer now are not withdrawn before reconsider.
func (r *rights) configure(s Settings) (followed gate.Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.settings.Config.Mode
	r.settings = s
	if next := gate.Mode(s.Config.Mode); r.mode != "" && !r.chosen && before != s.Config.Mode && next != r.mode {
		r.mode, followed = next, next // a configuration's mode is valid
	}
	r.decide()
	return followed
}

// decide makes the policy anew. r.mu is held.
func (r *rights) decide() {
	mode, rules := r.mode, slices.Concat(RulesOf(r.settings.Config, r.settings.Sources), r.grants)
	if r.limit != "" {
		mode = mode.AtMost(r.limit)
	}
	if r.settings.AskAlways {
		mode = mode.AtMost(gate.ModeAsk)
		rules = slices.DeleteFunc(rules, func(r gate.Rule) bool { return r.Effect == gate.Allow })
	}
	r.policy = gate.New(gate.Options{
		Mode: mode, Strict: r.settings.Config.Sandbox.Level == "strict", Cwd: r.workspace(), Rules: rules, Now: r.now,
	})
}

// current is the policy of the present mode and rules.
func (r *rights) current() *gate.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.policy
}

// currentMode is the present mode.
func (r *rights) currentMode() gate.Mode {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode
}

// setMode changes the mode and reports whether it was another one. With chosen it is the user's choice for this session, which no
// other call overrides. The error is a *ModeError.
func (r *rights) setMode(m gate.Mode, chosen bool) (changed bool, err error) {
	if !m.Known() {
		return false, &ModeError{m}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen && !chosen {
		return false, nil
	}
	changed = r.mode != "" && r.mode != m
	r.mode, r.chosen = m, chosen
	r.decide()
	return changed, nil
}

// limitTo has the running turn do no more than a mode, whatever the session's is; "" ends that.
func (r *rights) limitTo(m gate.Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit != m {
		r.limit = m
		r.decide()
	}
}

// granted are the rules that hold in this session alone.
func (r *rights) granted() []gate.Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.grants)
}

// grant takes rules of this session back, by id, and adds others. Questions that the rules answer now are withdrawn.
func (r *rights) grant(remove []string, add ...gate.Rule) {
	r.mu.Lock()
	r.grants = slices.DeleteFunc(slices.Clone(r.grants), func(g gate.Rule) bool { return slices.Contains(remove, g.ID()) })
	r.grants = append(r.grants, add...)
	r.decide()
	r.mu.Unlock()
	r.reconsider()
}

// reconsider withdraws the questions that the present rules answer.
func (r *rights) reconsider() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for q := range r.questions {
		if r.policy.Judge(q.about).Verdict == gate.Allow {
			q.end(ErrGranted)
		}
	}
}

// asking registers a question that is put to a person, until answered is called. ctx ends when it is withdrawn.
func (r *rights) asking(ctx context.Context, about gate.Call) (_ context.Context, answered func()) {
	ctx, end := context.WithCancelCause(ctx)
	q := &question{about, end}
	r.mu.Lock()
	r.questions[q] = true
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		delete(r.questions, q)
		r.mu.Unlock()
		end(nil)
	}
}

// reject adds to the number of times that a call was rejected in a turn, and gives it. Calls outside of a turn are not counted.
func (r *rights) reject(turn int, call string, more int) (times int) {
	if turn == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rejected.turn != turn {
		r.rejected = rejections{turn, map[string]int{}}
	}
	r.rejected.times[call] += more
	return r.rejected.times[call]
}

// launched reports whether a person has allowed this launch of an MCP server; launch says that they have.
func (r *rights) launched(launch string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launches[launch]
}

func (r *rights) launch(launch string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.launches[launch] = true
}

// answer makes the rule that an answer stands for. After an error the rule holds in this session alone.
func (r *rights) answer(q run.Question, o run.Option, turn int) error {
	if !slices.Contains(q.Options(), o) {
		return nil
	}
	edits := gate.Rule{Effect: gate.Allow, Tool: "*", Act: rule.Edit, Scope: "session", Source: "an answer in this session"}
	switch o {
	case run.AllowTurn:
		edits.Turn = turn
		r.grant(nil, edits)
	case run.AllowFiles:
		edits.Files = q.Judged.Edits
		r.grant(nil, edits)
	case run.AllowSession:
		r.grant(nil, forSession(*q.Judged.Allows))
	case run.AllowAlways:
		return r.always(*q.Judged.Allows)
	case run.AllowWide:
		return r.always(*q.Judged.Wide)
	case run.RejectAlways:
		return r.always(*q.Judged.Denies)
	}
	return nil
}

func forSession(rule gate.Rule) gate.Rule {
	rule.Scope, rule.Source = "session", "an answer in this session"
	return rule
}

// always keeps a rule for this workspace beyond the session.
func (r *rights) always(rule gate.Rule) error {
	err := errors.New("there is no file for rules")
	if r.remember != nil {
		kept := rule.In(r.workspace())
		kept.Workspace = r.workspace()
		err = r.remember(kept)
	}
	if err != nil {
		r.grant(nil, forSession(rule))
		return err
	}
	r.reconsider()
	return nil
}
