package lspserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
	"tandem/tools"
)

// TestF223DeadLetters: a call that failed for good is kept with arguments, error, attempts and trace; it is made again or discarded. What
// was refused, or failed by what was asked for, is none.
func TestF223DeadLetters(t *testing.T) {
	var mended atomic.Bool
	kept := agenttest.Store(t)
	type in struct {
		Secret string `json:"secret,omitempty" desc:"x"`
		How    string `json:"how" desc:"x"`
	}
	tool := tools.Define(tools.Definition[in]{
		Spec:  tools.Spec{Name: "fragile", Kind: tools.Read, Description: "Breaks.", Source: "builtin"},
		Needs: tools.Always[in](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, _ *tools.Env, i in) (*tools.Plan, error) {
			if i.How == "plan" && !mended.Load() {
				panic("boom")
			}
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				switch {
				case mended.Load():
					return tools.Result{Success: true, Data: "It holds."}, nil
				case i.How == "network":
					return tools.Result{}, tools.Transient("READ_ERROR", "network", "The host is not reachable.")
				case i.How == "missing":
					return tools.Result{}, tools.Refuse("READ_ERROR", "enoent", "There is no such file.")
				}
				return tools.Result{}, fmt.Errorf("broken: %s", i.How)
			}}, nil
		},
	})
	so := options(nil, tool)
	so.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[redacted]")) }
	so.Store = func(config.Config) (store.Store, error) { return kept, nil }
	r := start(t, conformance.Options{
		Settings: map[string]any{"retry": map[string]any{"attempts": 3, "backoffMs": 1}},
		Ask:      func(int, conformance.Ask) string { return "reject_once" },
	}, so)
	r.write("a.txt", "one\n")
	id := r.session(nil)
	for _, c := range []struct{ name, args string }{
		{"fragile", `{"how":"badly","secret":"hunter2"}`},
		{"fragile", `{"how":"network"}`},
		{"fragile", `{"how":"plan"}`},
		{"fragile", `{"how":"missing"}`},
		{"fragile", `{}`},
		{"frobnicate", `{}`},
		{"read_file", `{"path":"none"}`},
		{"bash", `{"command":"exit 3"}`},
		{"write_file", `{"path":"b.txt","content":"x"}`},
		{"read_file", `{"path":"a.txt"}`},
	} {
		r.call(id, c.name, c.args)
	}
	list := func() (items []protocol.DeadLetter) {
		t.Helper()
		var out protocol.DeadLettersResult
		r.ask("tandem/deadLetters/list", map[string]any{"sessionId": id}, &out)
		return out.Items
	}
	items := list()
	var got []string
	for _, l := range items {
		var stages []string
		for _, s := range l.Trace {
			stages = append(stages, s.Stage)
		}
		got = append(got, fmt.Sprintf("%s %s %s %d %s", l.Tool, l.Args, l.Error, l.Attempts, lastStage(stages)))
		if l.SessionID != id || l.CallID == "" || l.Time == "" || l.Message == "" {
			t.Errorf("%+v", l)
		}
	}
	equal(t, "dead letters", strings.Join(got, "\n"), `fragile {"how":"plan"} EXECUTION_ERROR 1 plan
fragile {"how":"network"} READ_ERROR 3 execute
fragile {"how":"badly","secret":"[redacted]"} EXECUTION_ERROR 1 execute`)

	// Once more in vain: the letter is another one.
	var again protocol.RetryResult
	r.ask("tandem/deadLetters/retry", map[string]any{"ids": []string{items[1].ID}}, &again)
	if now := list(); len(again.Results) != 1 || again.Results[0].Success || len(now) != 3 || now[0].ID == items[1].ID || now[0].CallID == items[1].CallID {
		t.Errorf("%+v, then %+v", again, now)
	}
	mended.Store(true)
	r.ask("tandem/deadLetters/retry", map[string]any{"ids": []string{items[2].ID, items[0].ID}}, &again)
	if len(again.Results) != 2 || !again.Results[0].Success || !strings.Contains(string(again.Results[0].Meta.EffectiveArgs), "hunter2") {
		t.Errorf("%+v", again)
	}
	left := list()
	equal(t, "left", len(left), 1)
	for _, bad := range []any{[]string{}, []string{"x"}, []string{items[0].ID}, []string{left[0].ID, left[0].ID}, []string{left[0].ID, "99999"}} {
		for _, method := range []string{"tandem/deadLetters/retry", "tandem/deadLetters/discard"} {
			if err := r.refused(method, map[string]any{"ids": bad}); err == nil || err.Code != -32602 {
				t.Errorf("%s %v: %v", method, bad, err)
			}
		}
	}
	equal(t, "still left", len(list()), 1)
	r.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
	if err := r.refused("tandem/deadLetters/retry", map[string]any{"ids": []string{left[0].ID}}); err == nil || err.Code != -32011 {
		t.Errorf("in a session that is closed: %v", err)
	}
	r.ask("tandem/deadLetters/discard", map[string]any{"ids": []string{left[0].ID}}, nil)
	equal(t, "after all", len(list()), 0)
	r.end()
}
