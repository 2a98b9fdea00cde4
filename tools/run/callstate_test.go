package run

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/schema"
)

func TestStageLog(t *testing.T) {
	usual, always := stage{name: "plan"}, stage{name: "audit", always: true}
	l := stageLog{}
	if l.skips(usual) || l.skips(always) {
		t.Error("a stage is left out before one has failed")
	}
	l.failed = "validate"
	if !l.skips(usual) || l.skips(always) {
		t.Error("after a failure the others are left out, and those for every call are not")
	}
	l.took(always, 1500*time.Microsecond)
	if want := []tools.Stage{{Stage: "audit", MS: 1.5}}; !reflect.DeepEqual(l.trace, want) {
		t.Errorf("%v instead of %v", l.trace, want)
	}
}

func TestArgumentsAreValid(t *testing.T) {
	wrong := schema.Checked{Issues: []schema.Issue{{}}}
	for _, c := range []struct {
		args arguments
		want bool
	}{{arguments{}, false}, {arguments{known: true}, true}, {arguments{known: true, checked: wrong}, false}, {arguments{checked: wrong}, false}} {
		if got := c.args.valid(); got != c.want {
			t.Errorf("%+v: %v", c.args, got)
		}
	}
	a := arguments{known: true}
	a.change("one", schema.Checked{Args: []byte("1")})
	a.change("two", schema.Checked{Args: []byte("2")})
	if string(a.checked.Args) != "2" || !reflect.DeepEqual(a.hooks.changedBy, []string{"one", "two"}) {
		t.Errorf("%+v", a)
	}
}

func TestAppearanceOfAResult(t *testing.T) {
	for want, r := range map[string]tools.Result{
		"result": {Success: true}, "rejected": {Error: tools.GateDenied}, "error": {Error: filetime.Timeout},
	} {
		var shown tools.Showing
		a := appearance{renders: func(s tools.Showing) *tools.Render { shown = s; return &tools.Render{} }}
		if a.ended(&r); a.phase != want || r.Render == nil || shown.Phase != want || shown.Result != &r {
			t.Errorf("%s: phase %q, %+v", want, a.phase, shown)
		}
	}
	own := &tools.Render{}
	r, a := tools.Result{Success: true, Render: own}, appearance{renders: func(tools.Showing) *tools.Render { return &tools.Render{} }}
	if a.ended(&r); r.Render != own {
		t.Error("what the tool had rendered is replaced")
	}
	if (&appearance{}).render(tools.Showing{}) != nil {
		t.Error("a tool without a renderer renders")
	}
}

func TestAttemptsLoseTheSandboxOnce(t *testing.T) {
	a := attempts{}
	if a.loses(errors.New("broken"), nil) || a.lost != "" {
		t.Error("any error loses the sandbox")
	}
	failed := fmt.Errorf("bash: %w: no namespaces", sandbox.ErrNotConfined)
	if !a.loses(failed, []string{"w"}) || a.lost != "the sandbox that there is failed (no namespaces)" || !reflect.DeepEqual(a.warnings, []string{"w"}) {
		t.Errorf("%+v", a)
	}
	if a.loses(failed, nil) {
		t.Error("it is lost twice")
	}
}

func TestAttemptsAreReported(t *testing.T) {
	for _, c := range []struct {
		failed  int
		success bool
		want    int
		data    string
	}{{0, true, 0, "d"}, {2, true, 3, "d"}, {1, false, 0, "d"}, {3, false, 3, "d\nIt was tried 3 times. Go on without it, or try it again later."}} {
		r := tools.Result{Success: c.success, Data: "d"}
		if (&attempts{failed: c.failed}).report(&r); r.Meta.Attempts != c.want || r.Data != c.data {
			t.Errorf("%+v: %d %q", c, r.Meta.Attempts, r.Data)
		}
	}
}

func TestLifecycleGoesForward(t *testing.T) {
	l := lifecycle{}
	for _, c := range []struct {
		to   State
		want bool
	}{{Queued, true}, {Executing, true}, {Queued, false}, {Executing, false}, {Yielded, true}, {Completed, false}} {
		if got := l.advance(c.to); got != c.want {
			t.Errorf("to %s: %v", c.to, got)
		}
	}
	if l.state != Yielded {
		t.Errorf("it ends as %s", l.state)
	}
}

func TestSchedulingIsFoundOutAgainAfterHooks(t *testing.T) {
	s := scheduling{footprint: &footprint{together: tools.WithReads}}
	s.hooksBegin()
	if !s.hooking || s.footprint == nil {
		t.Errorf("%+v", s)
	}
	if s.hooksEnd(); s.hooking || s.footprint != nil {
		t.Errorf("%+v", s)
	}
}

func TestJudgementByAPerson(t *testing.T) {
	j := judgement{decision: gate.Decision{Verdict: gate.Ask, Rule: "r", Layer: "mode"}}
	if j.byPerson(AllowTurn); j.decision.Verdict != gate.Allow || j.decision.Rule != "allow_turn" || j.decision.Layer != "person" {
		t.Errorf("%+v", j.decision)
	}
}

// TestHostWithoutFunctions: none of what a host may leave out is needed.
func TestHostWithoutFunctions(t *testing.T) {
	var changes Changes
	began := changes.before(t.Context(), Command{})
	changes.landed(filetime.Change{}, filetime.Landed{})
	changes.stale(filetime.Landed{Files: make([]filetime.LandedFile, 1)})
	if began.Ended != nil || began.Warnings != nil || changes.unkept(t.Context(), Command{}) != "" {
		t.Error("a host without functions keeps track of something")
	}
	set := tools.NewSet()
	var o Offering
	if o.now(set) != set || o.lazy(set, "x") || o.Of(set).Full != nil {
		t.Error("a host without functions offers something else")
	}
	o.Present = func() *tools.Set { return set }
	o.Resolve = func(context.Context, string) (bool, error) { return false, nil }
	if !o.lazy(set, "x") {
		t.Error("a tool of no set cannot be made known")
	}
}

func TestStaleFilesAreReported(t *testing.T) {
	var got []int
	changes := Changes{Stale: func(l filetime.Landed) { got = append(got, len(l.Files)) }}
	changes.stale(filetime.Landed{}, filetime.Landed{Files: make([]filetime.LandedFile, 2)})
	if !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("%v", got)
	}
}
