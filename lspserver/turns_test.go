package lspserver_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// TestF083ClarifyOnlyWhereItIsServed has a turn ask the person: of a client that declared the request, and of one that
// did not, which is never asked. The end of a turn withdraws the question.
func TestF083ClarifyOnlyWhereItIsServed(t *testing.T) {
	const script = "call ask_user {\"question\": \"Which?\"}\n\nsee /Both|\\[UNSUPPORTED\\]/\nsay I see.\n"
	for _, declared := range []bool{true, false} {
		var asked atomic.Int32
		withdrawn := make(chan struct{})
		hang := false
		r := start(t, conformance.Options{
			Settings: map[string]any{"mode": "auto"},
			Capabilities: map[string]any{
				"experimental": map[string]any{"tandem": map[string]any{"clarify": declared}}, "window": map[string]any{"showMessage": nil},
			},
			Invoke: func(method string, _ json.RawMessage) (any, error) {
				if asked.Add(1); method != "tandem/session/clarify" {
					t.Error(method)
				}
				if hang {
					<-withdrawn
				}
				return map[string]any{"answer": "Both"}, nil
			},
			Heard: func(method string, _ json.RawMessage) {
				if method == "$/cancelRequest" {
					close(withdrawn)
				}
			},
		}, options(nil))
		id := r.session(map[string]any{"model": r.script(script)})
		equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
		failed := false
		for _, u := range r.told(id) {
			failed = failed || u.Update.Meta.Tandem.Error == "UNSUPPORTED"
		}
		equal(t, "unsupported", failed, !declared)
		equal(t, "questions", asked.Load(), map[bool]int32{true: 1, false: 0}[declared])
		if declared {
			hang = true
			id = r.session(map[string]any{"model": r.script(script)})
			answer := r.Begin("tandem/session/prompt", prompt(id, "go"))
			until(t, "the question", patience, func() bool { return asked.Load() == 2 })
			r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
			raw, err := answer(r.ctx)
			if err != nil || !strings.Contains(string(raw), `"cancelled"`) {
				t.Errorf("%s %v", raw, err)
			}
			<-withdrawn
		}
		r.end()
	}
}

// TestF232OutputComesWhileTheCommandRuns sees the progress of a command before it has ended: it ends only once that was
// seen.
func TestF232OutputComesWhileTheCommandRuns(t *testing.T) {
	var r *rig
	seen := make(chan struct{}, 1)
	r = start(t, conformance.Options{
		Heard: func(method string, params json.RawMessage) {
			said := string(params)
			if strings.Contains(said, `"output":"first\n`) && strings.Contains(said, `"phase":"progress"`) {
				select {
				case seen <- struct{}{}:
				default:
				}
			}
		},
	}, options(nil))
	id := r.session(map[string]any{"model": r.script(
		`call bash {"command": "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second"}` + "\n\nsee /first\\s+second/\nsay Done.\n",
	)})
	answer := r.Begin("tandem/session/prompt", prompt(id, "go"))
	select {
	case <-seen:
	case <-r.ctx.Done():
		t.Error("nothing is told of what the command prints")
	}
	r.write("go", "")
	raw, err := answer(r.ctx)
	if err != nil || !strings.Contains(string(raw), `"end_turn"`) {
		t.Errorf("%s %v", raw, err)
	}
	r.end()
}

// TestF097_F245NothingWaitsForACommand asks for all sorts of things while a command of a minute runs, and then ends it.
func TestF097_F245NothingWaitsForACommand(t *testing.T) {
	seen := make(chan struct{})
	var once sync.Once
	r := start(t, conformance.Options{
		Heard: func(method string, params json.RawMessage) {
			if method == "tandem/session/update" && strings.Contains(string(params), `"output":"first\n`) {
				once.Do(func() { close(seen) })
			}
		},
	}, options(nil))
	r.write("a.txt", "one\n")
	id := r.session(map[string]any{"model": r.script(`call bash {"command": "echo first; sleep 60", "timeout_ms": 90000}` + "\n\nsay Done.\n")})
	answer := r.Begin("tandem/session/prompt", prompt(id, "go"))
	select {
	case <-seen:
	case <-r.ctx.Done():
		t.Fatal("the command does not run")
	}
	began := time.Now()
	other := r.session(nil)
	for method, params := range map[string]any{
		"tandem/tools/list":   map[string]any{},
		"tandem/status":       map[string]any{},
		"tandem/session/list": map[string]any{},
		"tandem/tools/call": map[string]any{
			"sessionId": other, "name": "read_file", "arguments": map[string]any{"path": "a.txt"},
		},
		"tandem/changes/list": map[string]any{"sessionId": id},
	} {
		if raw, err := r.Begin(method, params)(r.ctx); err != nil {
			t.Errorf("%s: %s %v", method, raw, err)
		}
	}
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
	raw, err := answer(r.ctx)
	if err != nil || !strings.Contains(string(raw), `"cancelled"`) {
		t.Errorf("%s %v", raw, err)
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("it took %v: something waited for the command", took)
	}
	r.end()
}

// TestUsageAndCost sees what turns, the session and the server have used, where the price is known, and where it is
// not.
func TestUsageAndCost(t *testing.T) {
	type usage struct {
		InputTokens, OutputTokens, TotalTokens int64
		Cost                                   *struct {
			Amount   float64
			Currency string
		}
	}
	for _, priced := range []bool{true, false} {
		s := newService(t, "k", map[int]string{0: content("Yes.") + stop("stop")})
		settings := s.settings()
		if priced {
			mock := settings["providers"].(map[string]any)["mock"].(map[string]any)
			mock["prices"] = map[string]any{"m": map[string]any{"input": 1000, "output": 2000}}
		}
		type news struct {
			Update struct {
				Used int64
				Cost *struct{ Amount float64 }
			}
		}
		var updates []news
		r := start(t, conformance.Options{Settings: settings, Heard: func(method string, params json.RawMessage) {
			if method == "tandem/session/update" && strings.Contains(string(params), `"usage_update"`) {
				var n news
				if err := json.Unmarshal(params, &n); err != nil {
					t.Error(err)
				}
				updates = append(updates, n)
			}
		}}, options(map[string]string{"MOCK_KEY": "k"}))
		id := r.session(nil)
		var end struct{ Usage usage }
		for range 2 {
			r.ask("tandem/session/prompt", prompt(id, "go"), &end)
		}
		var status struct{ Usage usage }
		r.ask("tandem/status", map[string]any{}, &status)
		if u := end.Usage; u.InputTokens != 11 || u.OutputTokens != 3 || u.TotalTokens != 14 {
			t.Errorf("%+v", u)
		}
		if len(updates) != 2 || updates[1].Update.Used != 14 || status.Usage.TotalTokens != 28 {
			t.Fatalf("%+v, status %+v", updates, status)
		}
		cost := updates[1].Update.Cost
		if !priced {
			if end.Usage.Cost != nil || cost != nil || status.Usage.Cost != nil {
				t.Errorf("a cost without a known price: %+v %+v %+v", end, cost, status)
			}
		} else if end.Usage.Cost.Amount != 0.017 || cost.Amount != 0.034 || status.Usage.Cost.Amount != 0.034 ||
			end.Usage.Cost.Currency != "USD" {
			t.Errorf("%+v %+v %+v", end.Usage.Cost, cost, status.Usage.Cost)
		}
		r.end()
	}
}
