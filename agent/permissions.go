package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"tandem/agent/config"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// Judge implements run.Gate by the present mode and rules.
func (s *Session) Judge(c gate.Call) gate.Decision { return s.rights.current().Judge(c) }

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

// RuleOf is a rule of the configuration in the list of an effect.
func RuleOf(effect gate.Verdict, r config.Rule) gate.Rule {
	r.Effect, r.Scope, r.Source = effect, "user", "a rule of the configuration (permissions."+effect.String()+")"
	if r.Workspace != "" {
		r.Scope = "workspace"
	}
	return r
}

// Drops says at which stage a tool is left out of what the session's model is offered, and why; see gate.Policy. Those for commands
// in the background are offered once one was started: before, they would only cost the model its attention; those about code, where there are language servers. "pool" is that stage.
func (s *Session) Drops(spec tools.Spec) (stage, reason string) {
	if (spec.Name == tools.JobOutput || spec.Name == tools.JobKill) && !s.jobs.Any() {
		return "pool", "no command was started in the background"
	}
	if spec.Category == tools.Code && !s.reach.coded() {
		return NoLanguages()
	}
	return s.rights.current().Drops(spec)
}

// NoLanguages says at which stage tools are left out that ask language servers where there are none.
func NoLanguages() (stage, reason string) { return "pool", "no language server can be asked" }

// Assess says what would become of a call.
func (s *Session) Assess(ctx context.Context, c run.Call) run.Assessment {
	return run.Assess(ctx, s.host(0, s.o.Now(), func() {}, s.Tools), c)
}

// Grants are the rules that hold in this session alone.
func (s *Session) Grants() []gate.Rule { return s.rights.granted() }

// Grant adds rules that hold until the session ends, and takes others back, by id. What was asked and is allowed now is not
// asked any more.
func (s *Session) Grant(remove []string, add ...gate.Rule) { s.rights.grant(remove, add...) }

// Workspace is the canonical folder of the session, which rules for this workspace name.
func (s *Session) Workspace() string { return s.rights.workspace() }

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
	switch before := a.s.rights.reject(a.turn, key, 0); {
	case before >= mostRejected:
		a.s.Tell(Event{Turn: a.turn, Notice: "The turn was stopped: the model kept repeating a call that you rejected."})
		a.endTurn()
		return run.Answer{Outcome: run.Cancelled}
	case before >= mostPrompts:
		a.s.rights.reject(a.turn, key, 1)
		return run.Answer{Outcome: run.RejectedBefore}
	}
	a.s.outbox.flush()
	q.Folder = a.s.Workspace()
	answer := a.ask(ctx, q)
	if answer.Outcome == run.Cancelled {
		a.endTurn()
		return answer
	}
	if err := a.s.rights.answer(q, answer.Option, a.turn); err != nil {
		a.s.o.Log.Warn("a rule was not kept", "error", err)
		a.s.Tell(Event{Turn: a.turn, Notice: fmt.Sprintf("The rule could not be saved (%v). The answer applies to this session only.", err)})
	}
	if answer.Outcome == run.Rejected {
		a.s.rights.reject(a.turn, key, 1)
	}
	return answer
}

// ask puts the question, until it is answered, here or by the answer to another one.
func (a asker) ask(ctx context.Context, q run.Question) run.Answer {
	ctx, answered := a.s.rights.asking(ctx, gate.Call{Tool: q.Tool, Args: q.Args, Needs: q.Plan.Needs, Turn: a.turn})
	defer answered()
	answer := a.s.o.Client.Ask(ctx, a.s.o.ID, q)
	if answer.Outcome != run.Allowed && answer.Outcome != run.Rejected && errors.Is(context.Cause(ctx), ErrGranted) {
		return run.Answer{Outcome: run.Allowed}
	}
	return answer
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
