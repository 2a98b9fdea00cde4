package agent

import (
	"context"
	"testing"
	"testing/synctest"

	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
)

// TestAnswerAnswersOthers: an answer for longer than once takes back the questions that it answers too, and no other.
func TestAnswerAnswersOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{answer: func(ctx context.Context, q run.Question) run.Answer {
			if q.Call.ID == "first" {
				synctest.Wait() // the others stand
				return run.Answer{Outcome: run.Allowed, Option: run.AllowTurn}
			}
			<-ctx.Done()
			return run.Answer{Outcome: run.Unanswered}
		}}
		s := session(t, c, opener{"main": play(t, "")})
		ctx, end := context.WithCancel(t.Context())
		answers := map[string]chan run.Outcome{}
		for id, act := range map[string]tools.Act{"first": tools.Edits, "edit": tools.Edits, "replace": tools.Replaces} {
			answer := make(chan run.Outcome, 1)
			answers[id] = answer
			q := run.Question{
				Call: run.Call{ID: id}, Tool: s.o.Tools().Get("put"), Turn: 1, Plan: &tools.Plan{Needs: []tools.Need{{Act: act}}},
				Judged: gate.Decision{Verdict: gate.Ask, Edits: []string{"/x"}},
			}
			go func() { answer <- asker{s, 1, func() {}}.Ask(ctx, q).Outcome }()
		}
		if a, b := <-answers["first"], <-answers["edit"]; a != run.Allowed || b != run.Allowed {
			t.Errorf("%v, %v", a, b)
		}
		synctest.Wait()
		select {
		case o := <-answers["replace"]:
			t.Errorf("replacing was answered: %v", o)
		default:
		}
		end()
		if o := <-answers["replace"]; o != run.Unanswered {
			t.Errorf("%v", o)
		}
	})
}

// TestAnswersDoNotSurvive: what was answered for a session, or a turn, is nothing to another one.
func TestAnswersDoNotSurvive(t *testing.T) {
	c := &client{}
	a := session(t, c, opener{"main": play(t, "")})
	b := session(t, c, opener{"main": play(t, "")})
	put := func(s *Session, turn int) gate.Verdict {
		return s.Judge(gate.Call{Tool: s.o.Tools().Get("put"), Needs: []tools.Need{{Act: tools.Edits}}, Turn: turn}).Verdict
	}
	for _, s := range []*Session{a, b} {
		if err := s.SetMode(gate.ModeAsk); err != nil {
			t.Fatal(err)
		}
	}
	a.Grant(nil, gate.Rule{Effect: gate.Allow, Tool: "put", Turn: 3, Scope: "session"})
	if put(a, 3) != gate.Allow || put(a, 4) != gate.Ask || put(a, 0) != gate.Ask || put(b, 3) != gate.Ask {
		t.Error(put(a, 3), put(a, 4), put(a, 0), put(b, 3))
	}
	a.Grant([]string{a.Grants()[0].ID()})
	if put(a, 3) != gate.Ask || len(a.Grants()) != 0 {
		t.Error(put(a, 3))
	}
	a.Grant(nil, gate.Rule{Effect: gate.Allow, Tool: "put", Scope: "session"})
	a.Configure(Settings{Config: a.config(), Models: a.models.opener, AskAlways: true})
	if put(a, 3) != gate.Ask {
		t.Error("a rule allows although the configuration is not understood")
	}
}
