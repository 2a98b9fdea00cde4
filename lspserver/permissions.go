package lspserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/tools/gate"
	"tandem/tools/rule"
	"tandem/tools/run"
)

func (s *server) listRules(_ context.Context, p protocol.ListRulesParams) (protocol.RulesResult, error) {
	se, err := s.sessionOr(p.SessionID)
	if err != nil {
		return protocol.RulesResult{}, err
	}
	return s.rules(se), nil
}

// sessionOr finds a session; "" is none.
func (s *server) sessionOr(id string) (*backend.Session, error) {
	if id == "" {
		return nil, nil
	}
	return s.b.Find(id)
}

func (s *server) rules(se *backend.Session) protocol.RulesResult {
	r := protocol.RulesResult{Rules: []protocol.PermissionRule{}}
	for _, k := range s.b.Rules(se) {
		listed := updates.Rule(k.Rule)
		listed.Removable = k.Removable
		r.Rules = append(r.Rules, listed)
	}
	return r
}

func (s *server) setRules(_ context.Context, p protocol.SetRulesParams) (protocol.RulesResult, error) {
	se, err := s.sessionOr(p.SessionID)
	if err != nil {
		return protocol.RulesResult{}, err
	}
	var add []gate.Rule
	for _, list := range []struct {
		effect gate.Verdict
		rules  []json.RawMessage
	}{{gate.Allow, p.Allow}, {gate.Ask, p.Ask}, {gate.Deny, p.Deny}} {
		for _, raw := range list.rules {
			rule, err := ruleOf(list.effect, raw)
			if err != nil {
				return protocol.RulesResult{}, err
			}
			add = append(add, rule)
		}
	}
	if err := s.b.SetRules(p.Scope, se, add, p.Remove); err != nil {
		return protocol.RulesResult{}, err
	}
	return s.rules(se), nil
}

// ruleOf reads a rule. A member that is not known is refused: without its condition a rule could allow more. The scope says for which
// folder it is.
func ruleOf(effect gate.Verdict, raw json.RawMessage) (r gate.Rule, err error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&r); err == nil && r.Workspace != "" {
		err = errors.New("the scope says for which workspace it is")
	}
	if err != nil {
		return gate.Rule{}, invalid("a rule is {tool, params, class, act, profile, scripts}: %v", err)
	}
	if !rule.KnownAct(r.Act) {
		return gate.Rule{}, invalid("act is one of create, edit and replace, not %.40q.", r.Act)
	}
	r.Effect = effect
	return r, nil
}

func (s *server) assess(ctx context.Context, p protocol.AssessParams) (protocol.AssessResult, error) {
	se, err := s.sessionOr(p.SessionID)
	if se == nil && err == nil {
		if se = s.b.Latest(); se == nil {
			if se, err = s.b.New(backend.NewSession{}); err == nil {
				defer func() { _ = s.b.Close(se.ID()) }()
			}
		}
	}
	if err != nil {
		return protocol.AssessResult{}, err
	}
	a := se.Assess(ctx, run.Call{Name: p.Name, Arguments: p.Arguments})
	out := protocol.AssessResult{
		Danger: string(a.Danger), ReadOnly: a.ReadOnly, ConcurrencySafe: a.Together, Paths: []string{}, Reason: a.Decision.Reason,
		Decision: a.Decision.Verdict.String(),
	}
	out.Paths = append(out.Paths, a.Paths...)
	if a.Decision.Verdict == gate.Queue {
		out.Decision = gate.Deny.String()
	}
	rule := func(r *gate.Rule) *protocol.PermissionRule {
		if r == nil {
			return nil
		}
		return new(updates.Rule(r.In(se.Workspace())))
	}
	out.DerivedRule, out.ExactRule = rule(a.Wide), rule(a.Decision.Allows)
	return out, nil
}
