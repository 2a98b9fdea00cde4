package lspserver_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// The clock of the machine goes an hour forth and back, between turns, in the middle of one, and between two processes:
// calls and turns end as ever, what is told has no time before its beginning, and no session is lost from the list.
func TestClockJumps(t *testing.T) {
	path := filepath.Join(folder(t), "sessions.db")
	var offset atomic.Int64
	now := func() time.Time { return time.Now().Round(0).Add(time.Duration(offset.Load())) }
	o := options(nil)
	o.Now = now
	o.Store = func(config.Config) (store.Store, error) { return store.Open(path, store.Options{Now: now}) }
	at := func(raw json.RawMessage) {
		var u struct {
			Update struct {
				Meta struct {
					Tandem struct{ At map[string]float64 }
				} `json:"_meta"`
			}
		}
		if json.Unmarshal(raw, &u) != nil {
			t.Error(string(raw))
		}
		for state, ms := range u.Update.Meta.Tandem.At {
			if ms < 0 {
				t.Errorf("%s at %v ms", state, ms)
			}
		}
	}
	heard := func(method string, params json.RawMessage) {
		if method == "tandem/session/update" {
			at(params)
		}
	}
	root := folder(t)
	r := start(t, conformance.Options{Root: root, Heard: heard, Ask: func(int, conformance.Ask) string { return "allow_once" }}, o)
	r.write("a.txt", "0\n")
	if err := r.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i, jump := range []time.Duration{0, time.Hour, -time.Hour, -2 * time.Hour, time.Hour, 0} {
		offset.Store(int64(jump))
		s := r.session(map[string]any{"mode": "auto", "model": r.script(fmt.Sprintf(`call read_file {"path":"a.txt"}

call edit_file {"path":"a.txt","old_text":"%d","new_text":"%d"}

call bash {"command":"touch begun-%d; while [ ! -e go-%d ]; do sleep 0.01; done; echo done"}

see /done\nexit code: 0/
say Well.
`, i, i+1, i, i))})
		ids = append(ids, s)
		turn := r.Begin("tandem/session/prompt", prompt(s, fmt.Sprint("prompt ", i)))
		until(t, "the command runs", patience, func() bool { _, ok := r.Text(fmt.Sprintf("begun-%d", i)); return ok })
		offset.Add(int64(-90 * time.Minute)) // in the middle of a turn
		r.write(fmt.Sprintf("go-%d", i), "")
		raw, err := turn(r.ctx)
		if err != nil || !strings.Contains(string(raw), `"end_turn"`) {
			t.Errorf("turn %d: %s %v %s", i, raw, err, r.said(s, "notice"))
		}
		got := r.call(s, "read_file", `{"path":"a.txt"}`)
		var ms struct{ DurationMs float64 }
		if err := json.Unmarshal(got.raw, &ms); err != nil || !got.Success || ms.DurationMs < 0 {
			t.Errorf("%s %v", got.raw, err)
		}
		// A command's time is its own, whatever the clock says.
		began := time.Now()
		if got = r.call(s, "bash", `{"command":"sleep 60","timeout_ms":300}`); got.Error != "TIMEOUT" || time.Since(began) > 10*time.Second {
			t.Errorf("%s after %v", got.raw, time.Since(began))
		}
	}
	listed := func(r *rig) {
		t.Helper()
		var page struct{ Sessions []struct{ SessionID string } }
		r.ask("tandem/session/list", map[string]any{}, &page)
		var found []string
		for _, s := range page.Sessions {
			found = append(found, s.SessionID)
		}
		slices.Sort(found)
		sameList(t, "the list", found, slices.Sorted(slices.Values(ids))...)
	}
	listed(r)
	text, _ := r.Text("a.txt")
	equal(t, "a.txt", text, "6\n")
	r.end()

	offset.Store(int64(-24 * time.Hour)) // everything that is kept is of tomorrow
	r = start(t, conformance.Options{Root: root, Heard: heard}, o)
	listed(r)
	for _, id := range ids {
		r.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	}
	equal(t, "a loaded session", r.prompt(ids[2], "go on").StopReason, "end_turn")
	listed(r)
	r.end()
}
