package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tandem/agent/config"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// grants is what a person has answered in a session, beside what the configuration says. Under Session.mu.
type grants struct {
	// askAlways says that a restriction of the configuration could not be parsed: then nothing is allowed by a rule.
	askAlways bool
	rules     []gate.Rule
	// open are the questions that stand, by call.
	open map[*question]bool
	// rejected counts how often each call was rejected in the running turn, by a person or from memory.
	rejected map[string]int
	turn     int // of rejected
}

// question is one that stands.
type question struct {
	about gate.Call
	end   context.CancelCauseFunc
}

// ErrGranted is the cause with which a question ends that an answer to another one has answered too.
var ErrGranted = errors.New("a rule allows it now")

// Judge implements run.Gate by the present mode and rules.
func (s *Session) Judge(c gate.Call) gate.Decision {
	s.mu.Lock()
	p := s.policy
	s.mu.Unlock()
	return p.Judge(c)
}

// decide makes the policy anew. s.mu is held.
func (s *Session) decide() {
	mode, rules := s.mode, slices.Concat(RulesOf(s.config, s.sources), s.grants.rules)
	if s.grants.askAlways {
		mode = mode.AtMost(gate.ModeAsk)
		rules = slices.DeleteFunc(rules, func(r gate.Rule) bool { return r.Effect == gate.Allow })
	}
	s.policy = gate.New(gate.Options{
		Mode: mode, Strict: s.config.Sandbox.Level == "strict", Cwd: sandbox.Canonical(s.o.Cwd), Rules: rules,
	})
}

// RulesOf are the rules of a configuration. sources say where they were written, as config.Loaded.Sources has it.
func RulesOf(c config.Config, sources map[string]config.Origin) []gate.Rule {
	var out []gate.Rule
	for _, list := range []struct {
		effect gate.Verdict
		rules  []config.Rule
	}{{gate.Deny, c.Permissions.Deny}, {gate.Ask, c.Permissions.Ask}, {gate.Allow, c.Permissions.Allow}} {
		for _, r := range list.rules {
			rule := RuleOf(list.effect, r)
			if at := sources[config.SourceKey(list.effect.String(), r)].Source; at != "" {
				rule.Source = writtenIn(list.effect, at)
			}
			out = append(out, rule)
		}
	}
	return out
}

// writtenIn says where a rule is written, for a person and a model.
func writtenIn(effect gate.Verdict, at string) string {
	name := at
	if filepath.IsAbs(at) {
		name = filepath.Base(at)
		if folder := filepath.Base(filepath.Dir(at)); folder == ".tandem" {
			name = folder + "/" + name
		}
	}
	if name == filepath.Base(config.RulesFile(at)) {
		return "a rule of " + name + ", where answers are kept"
	}
	return "a rule of " + name + " (permissions." + effect.String() + ")"
}

// RuleOf is a rule of the configuration as the gate compares it; ConfigRule is the way back.
func RuleOf(effect gate.Verdict, r config.Rule) gate.Rule {
	scope := "user"
	if r.Workspace != "" {
		scope = "workspace"
	}
	most, _ := gate.MostOf(r.Act)
	return gate.Rule{
		Effect: effect, Tool: r.Tool, Params: r.Params, Class: tools.Class(r.Class), Workspace: r.Workspace, Profile: r.Profile,
		Most: most, Scripts: r.Scripts, Scope: scope,
		Source: "a rule of the configuration (permissions." + effect.String() + ")",
	}
}

// Drops says at which stage a tool is left out of what the session's model is offered, and why; see gate.Policy. Those for commands
// in the background are offered once one was started: before, they would only cost the model its attention; those about code, where there are language servers. "pool" is that stage.
func (s *Session) Drops(spec tools.Spec) (stage, reason string) {
	s.mu.Lock()
	p := s.policy
	s.mu.Unlock()
	if (spec.Name == tools.JobOutput || spec.Name == tools.JobKill) && !s.jobs.Any() {
		return "pool", "no command was started in the background"
	}
	if spec.Category == tools.Code && !s.coded() {
		return NoLanguages()
	}
	return p.Drops(spec)
}

// NoLanguages says at which stage tools are left out that ask language servers where there are none.
func NoLanguages() (stage, reason string) { return "pool", "no language server can be asked" }

// Assess says what would become of a call.
func (s *Session) Assess(ctx context.Context, c run.Call) run.Assessment {
	return run.Assess(ctx, s.host(0, s.o.Now(), func() {}, s.Tools), c)
}

// ConfigRule is a rule as it is kept.
func ConfigRule(r gate.Rule) config.Rule {
	return config.Rule{
		Tool: r.Tool, Params: r.Params, Class: string(r.Class), Workspace: r.Workspace, Act: r.Act(), Profile: r.Profile,
		Scripts: r.Scripts,
	}
}

// Grants are the rules that hold in this session alone.
func (s *Session) Grants() []gate.Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants.rules)
}

// Grant adds rules that hold until the session ends, and takes others back, by id. What was asked and is allowed now is not
// asked any more.
func (s *Session) Grant(remove []string, add ...gate.Rule) {
	s.mu.Lock()
	s.grants.rules = slices.DeleteFunc(slices.Clone(s.grants.rules), func(r gate.Rule) bool { return slices.Contains(remove, r.ID()) })
	s.grants.rules = append(s.grants.rules, add...)
	s.decide()
	s.mu.Unlock()
	s.reconsider()
}

// reconsider ends the questions that the present rules answer.
func (s *Session) reconsider() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := range s.grants.open {
		if s.policy.Judge(q.about).Verdict == gate.Allow {
			q.end(ErrGranted)
		}
	}
}

// Workspace is the canonical folder of the session, which rules for this workspace name.
func (s *Session) Workspace() string { return sandbox.Canonical(s.o.Cwd) }

// asker asks the session's user in a turn, and keeps the rules that the answers make.
type asker struct {
	s       *Session
	turn    int
	endTurn func()
}

// A person is asked mostPrompts times about one call in a turn, as long as they reject it; from then on it is rejected from
// memory, and after mostRejected times in all the turn ends.
const (
	mostPrompts  = 3
	mostRejected = 6
)

func (a asker) Ask(ctx context.Context, q run.Question) run.Answer {
	key := q.Tool.Spec().Name + " " + string(canonical(q.Args))
	switch before := a.rejected(key, 0); {
	case before >= mostRejected:
		a.s.Tell(Event{Turn: a.turn, Notice: "The model repeats a call that you rejected, so the turn was ended."})
		a.endTurn()
		return run.Answer{Outcome: run.Cancelled}
	case before >= mostPrompts:
		a.rejected(key, 1)
		return run.Answer{Outcome: run.RejectedBefore}
	}
	a.s.outbox.flush()
	q.Folder = a.s.Workspace()
	answer := a.ask(ctx, q)
	if answer.Outcome == run.Cancelled {
		a.endTurn()
		return answer
	}
	if err := a.keep(q, answer.Option); err != nil {
		a.s.o.Log.Warn("a rule was not kept", "error", err)
		a.s.Tell(Event{Turn: a.turn, Notice: fmt.Sprintf("The answer holds in this session only: the rule could not be kept (%v).", err)})
	}
	if answer.Outcome == run.Rejected {
		a.rejected(key, 1)
	}
	return answer
}

// rejected says how often a call was rejected in this turn, and adds to that.
func (a asker) rejected(key string, more int) (times int) {
	if a.turn == 0 {
		return 0
	}
	g := &a.s.grants
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if g.turn != a.turn || g.rejected == nil {
		g.turn, g.rejected = a.turn, map[string]int{}
	}
	g.rejected[key] += more
	return g.rejected[key]
}

// ask puts the question, until it is answered, here or by the answer to another one.
func (a asker) ask(ctx context.Context, q run.Question) run.Answer {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	open := &question{about: gate.Call{Tool: q.Tool, Args: q.Args, Needs: q.Plan.Needs, Turn: a.turn}, end: end}
	a.s.mu.Lock()
	if a.s.grants.open == nil {
		a.s.grants.open = map[*question]bool{}
	}
	a.s.grants.open[open] = true
	a.s.mu.Unlock()
	defer func() {
		a.s.mu.Lock()
		delete(a.s.grants.open, open)
		a.s.mu.Unlock()
	}()
	answer := a.s.o.Client.Ask(ctx, a.s.o.ID, q)
	if answer.Outcome != run.Allowed && answer.Outcome != run.Rejected && errors.Is(context.Cause(ctx), ErrGranted) {
		return run.Answer{Outcome: run.Allowed}
	}
	return answer
}

// keep makes the rule that an answer means.
func (a asker) keep(q run.Question, o run.Option) error {
	if !slices.Contains(q.Options(), o) {
		return nil
	}
	edits := gate.Rule{Effect: gate.Allow, Tool: "*", Most: tools.Edits, Scope: "session", Source: "an answer in this session"}
	session := func(r gate.Rule) gate.Rule {
		r.Scope, r.Source = edits.Scope, edits.Source
		return r
	}
	always := func(r gate.Rule) error {
		if a.s.o.Remember == nil {
			a.s.Grant(nil, session(r))
			return errors.New("there is no file for rules")
		}
		kept := r.In(a.s.Workspace())
		kept.Workspace = a.s.Workspace()
		if err := a.s.o.Remember(kept); err != nil {
			a.s.Grant(nil, session(r))
			return err
		}
		a.s.reconsider()
		return nil
	}
	switch o {
	case run.AllowTurn:
		edits.Turn = a.turn
		a.s.Grant(nil, edits)
	case run.AllowFiles:
		edits.Files = q.Judged.Edits
		a.s.Grant(nil, edits)
	case run.AllowSession:
		a.s.Grant(nil, session(*q.Judged.Allows))
	case run.AllowAlways:
		return always(*q.Judged.Allows)
	case run.AllowWide:
		return always(*q.Judged.Wide)
	case run.RejectAlways:
		return always(*q.Judged.Denies)
	}
	return nil
}

// canonical are arguments in the same bytes for the same values.
func canonical(args json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return out
}
