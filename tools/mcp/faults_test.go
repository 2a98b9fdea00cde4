package mcp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/tools"
	"tandem/tools/mcp"
	"tandem/tools/run"
)

// TestFaultT6IdleStopDuringACall: where the time of a server without calls is over in the moment in which a call is under way, the server
// goes on and the call gets its answer, whether the server has begun the call or is being started for it. Once nobody uses it, it ends.
func TestFaultT6IdleStopDuringACall(t *testing.T) {
	b := begin(t, mcp.Options{Idle: func() time.Duration { return time.Hour }}, entry(t, "x", ""))
	stops := 0
	b.person = func() { // in the middle of the call
		stops++
		b.Retire("x")
	}
	b.prepare(t) // asks whether it may be started
	b.locked(func() { b.reply = "0" })
	for range 2 {
		if r := b.call("mcp__x__ask", `{}`); !r.Success || !strings.Contains(r.Data, "accept") {
			t.Errorf("%+v", r)
		}
	}
	if s := b.state("x"); s.State != mcp.Ready || len(b.launched) != 1 || stops != 3 {
		t.Errorf("%+v, started %d times, %d stops", s, len(b.launched), stops)
	}
	b.Retire("x")
	if s := b.state("x"); s.State != mcp.Off || s.Reason != "" {
		t.Errorf("nobody uses it: %+v", s)
	}
	if r := b.call("mcp__x__ask", `{}`); !r.Success || len(b.launched) != 2 || len(b.told) > 0 {
		t.Errorf("%+v, started %d times, %q", r, len(b.launched), b.told)
	}
}

// TestFaultT14PersonsTimeInACall: the time in which a person thinks about a question of a server, or about whether it may be started, is not
// that of the tools.
func TestFaultT14PersonsTimeInACall(t *testing.T) {
	b := begin(t, mcp.Options{}, entry(t, "x", ""))
	b.prepare(t)
	b.Retire("x") // the first call starts it
	now, asked := time.Now(), 0
	b.person = func() {
		asked++
		now = now.Add(time.Hour)
	}
	b.Host.Now = func() time.Time { return now }
	b.Host.Schedule.Budget = &run.Budget{MaxTime: time.Minute}
	b.locked(func() { b.reply = "0" })
	for range 3 {
		if r := b.call("mcp__x__ask", `{}`); !r.Success || !strings.Contains(r.Data, "accept") {
			t.Errorf("%+v", r)
		}
	}
	if asked != 4 || len(b.launched) != 2 {
		t.Errorf("asked %d times, started %d times", asked, len(b.launched))
	}
	now = now.Add(time.Hour) // between calls
	if r := b.call("mcp__x__echo", `{"text":"x"}`); !r.Success {
		t.Errorf("%+v", r)
	}
	b.person = nil
	b.Host.Schedule.Budget = &run.Budget{MaxTime: time.Minute}
	slow := func() time.Time { now = now.Add(time.Hour); return now }
	b.Host.Now = slow
	b.call("mcp__x__echo", `{"text":"x"}`)
	if r := b.call("mcp__x__echo", `{"text":"x"}`); r.Error != tools.BudgetExceeded {
		t.Errorf("the server's own time is not counted: %+v", r)
	}
}

// TestFaultT18ResourcesListChanged: a server that says that its resources have changed, and nothing else, is asked for them.
func TestFaultT18ResourcesListChanged(t *testing.T) {
	b := begin(t, mcp.Options{}, offers(t))
	b.prepare(t)
	has := func() bool {
		return slices.ContainsFunc(b.Resources(), func(r mcp.Resource) bool { return r.Mention == "my_docs:x://late" })
	}
	if has() {
		t.Fatal("it is there already")
	}
	if r := b.call("mcp__my_docs__publish", `{}`); !r.Success {
		t.Fatalf("%+v", r)
	}
	until(t, has)
}
