package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/agent/config"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

func settingsOf(mode gate.Mode, rules config.Permissions) Settings {
	c := config.Default()
	c.Mode, c.Permissions = string(mode), rules
	return Settings{Config: c}
}

func puts() gate.Call {
	return gate.Call{Tool: toolstest.SetOf(tool("put", tools.Edit, tools.Alone, tools.Edits, nil)).Get("put"), Needs: []tools.Need{{Act: tools.Edits}}, Turn: 1}
}

// TestRightsMode has the mode follow the configuration until the user chooses one, whatever comes in which order.
func TestRightsMode(t *testing.T) {
	modes := []gate.Mode{gate.ModeReadOnly, gate.ModeAsk, gate.ModeAuto}
	rapid.Check(t, func(t *rapid.T) {
		r := newRights("/w", time.Now, nil)
		configured := rapid.SampledFrom(modes).Draw(t, "first")
		r.configure(settingsOf(configured, config.Permissions{}))
		if changed, err := r.setMode(configured, false); changed || err != nil {
			t.Fatal(changed, err)
		}
		want, chosen := configured, false
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			m := rapid.SampledFrom(modes).Draw(t, "mode")
			if rapid.Bool().Draw(t, "by the user") {
				changed, err := r.setMode(m, true)
				if err != nil || changed != (m != want) {
					t.Fatalf("%s after %s: changed %t, %v", m, want, changed, err)
				}
				want, chosen = m, true
				continue
			}
			followed := r.configure(settingsOf(m, config.Permissions{}))
			if expected := !chosen && m != want; (followed != "") != expected || expected && followed != m {
				t.Fatalf("%s after %s: followed %q, chosen %t", m, want, followed, chosen)
			}
			if !chosen {
				want = m
			}
		}
		if r.currentMode() != want {
			t.Fatalf("%s, want %s", r.currentMode(), want)
		}
		if _, err := r.setMode("yolo", true); !errors.As(err, new(*ModeError)) || r.currentMode() != want {
			t.Fatal(err, r.currentMode())
		}
	})
}

// TestRightsQuestions withdraws a question exactly when a rule answers it, whoever has changed the rules.
func TestRightsQuestions(t *testing.T) {
	allow := gate.Rule{Effect: gate.Allow, Tool: "put", Scope: "session"}
	other := gate.Rule{Effect: gate.Allow, Tool: "look", Scope: "session"}
	cases := []struct {
		name string
		do   func(*rights)
		ends bool
	}{
		{"a grant", func(r *rights) { r.grant(nil, allow) }, true},
		{"a grant for another tool", func(r *rights) { r.grant(nil, other) }, false},
		{"a configured rule", func(r *rights) {
			r.configure(settingsOf(gate.ModeAsk, config.Permissions{Allow: []config.Rule{{Tool: "put"}}}))
			r.reconsider()
		}, true},
		{"a mode", func(r *rights) { _, _ = r.setMode(gate.ModeAuto, true); r.reconsider() }, true},
		{"an unreadable restriction", func(r *rights) {
			s := settingsOf(gate.ModeAsk, config.Permissions{Allow: []config.Rule{{Tool: "put"}}})
			s.AskAlways = true
			r.configure(s)
			r.reconsider()
		}, false},
	}
	for _, c := range cases {
		r := newRights("/w", time.Now, nil)
		r.configure(settingsOf(gate.ModeAsk, config.Permissions{}))
		_, _ = r.setMode(gate.ModeAsk, false)
		ctx, answered := r.asking(t.Context(), puts())
		late, done := r.asking(t.Context(), puts())
		done() // an answered question is not withdrawn
		c.do(r)
		if ended := errors.Is(context.Cause(ctx), ErrGranted); ended != c.ends {
			t.Errorf("%s: withdrawn %t", c.name, ended)
		}
		if errors.Is(context.Cause(late), ErrGranted) {
			t.Errorf("%s: an answered question was withdrawn", c.name)
		}
		answered()
	}
}

// TestRightsTakenBack leaves the rules that were not taken back.
func TestRightsTakenBack(t *testing.T) {
	r := newRights("/w", time.Now, nil)
	r.configure(settingsOf(gate.ModeAsk, config.Permissions{}))
	_, _ = r.setMode(gate.ModeAsk, false)
	a, b := gate.Rule{Effect: gate.Allow, Tool: "put", Scope: "session"}, gate.Rule{Effect: gate.Allow, Tool: "look", Scope: "session"}
	r.grant(nil, a, b)
	if v := r.current().Judge(puts()).Verdict; v != gate.Allow {
		t.Error(v)
	}
	r.grant([]string{a.ID()})
	if rules := r.granted(); len(rules) != 1 || rules[0].Tool != "look" {
		t.Errorf("%v", rules)
	}
	if v := r.current().Judge(puts()).Verdict; v != gate.Ask {
		t.Error(v)
	}
}

// TestRightsRejections counts by turn and by call.
func TestRightsRejections(t *testing.T) {
	r := newRights("/w", time.Now, nil)
	for i, c := range []struct {
		turn int
		call string
		more int
		want int
	}{{1, "a", 1, 1}, {1, "a", 1, 2}, {1, "b", 1, 1}, {0, "a", 1, 0}, {1, "a", 0, 2}, {2, "a", 0, 0}, {1, "a", 0, 0}} {
		if got := r.reject(c.turn, c.call, c.more); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

// TestRightsAnswers makes of each answer its rule, for as long as the answer says; an answer that was not on offer makes none.
func TestRightsAnswers(t *testing.T) {
	full := errors.New("the disk is full")
	allows := &gate.Rule{Effect: gate.Allow, Tool: "put"}
	cases := []struct {
		option run.Option
		err    error
		kept   int // rules beyond the session
		grants int
		later  gate.Verdict // of the same call in the next turn
	}{
		{run.AllowTurn, nil, 0, 1, gate.Ask},
		{run.AllowSession, nil, 0, 1, gate.Allow},
		{run.AllowAlways, nil, 1, 0, gate.Ask}, // the configuration brings it
		{run.AllowAlways, full, 0, 1, gate.Allow},
		{run.AllowWide, nil, 0, 0, gate.Ask}, // it was not on offer
	}
	for _, c := range cases {
		var kept []gate.Rule
		r := newRights("/w", time.Now, func(rule gate.Rule) error {
			if c.err == nil {
				kept = append(kept, rule)
			}
			return c.err
		})
		r.configure(settingsOf(gate.ModeAsk, config.Permissions{}))
		_, _ = r.setMode(gate.ModeAsk, false)
		q := run.Question{
			Tool: puts().Tool, Turn: 1, Plan: &tools.Plan{Needs: puts().Needs},
			Judged: gate.Decision{Verdict: gate.Ask, Allows: allows, Denies: &gate.Rule{Effect: gate.Deny, Tool: "put"}, Edits: []string{"/w/a"}},
		}
		if err := r.answer(q, c.option, 1); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.option, err)
		}
		next := puts()
		next.Turn = 2
		if later := r.current().Judge(next).Verdict; len(kept) != c.kept || len(r.granted()) != c.grants || later != c.later {
			t.Errorf("%s, %v: %d kept, %d granted, then %s", c.option, c.err, len(kept), len(r.granted()), later)
		}
		for _, rule := range kept {
			if rule.Workspace != r.workspace() {
				t.Errorf("%s: kept for %q", c.option, rule.Workspace)
			}
		}
	}
}
