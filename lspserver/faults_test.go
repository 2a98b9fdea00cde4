package lspserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/conformance"
	"tandem/lspserver/logs"
	"tandem/sandbox"
	"tandem/tools"
)

// faulty is a value that cannot be written down.
type faulty struct{}

func (faulty) MarshalJSON() ([]byte, error) { panic("secret words of a value") }

type faultyRunner struct{ sandbox.Runner }

func (faultyRunner) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	panic("secret words of a runner")
}

// faultyStore is one in which a text, at every other try, or with "" nothing at all can be written without a fault.
type faultyStore struct {
	store.Store
	text  string
	tries int
}

func (f *faultyStore) Append(id string, entries ...store.Entry) error {
	for _, e := range entries {
		if e.Text == f.text {
			f.tries++
		}
		if f.text == "" || e.Text == f.text && f.tries%2 == 1 {
			panic("secret words of a store")
		}
	}
	return f.Store.Append(id, entries...)
}

func faultyTool(name string, plan func(env *tools.Env) (*tools.Plan, error)) tools.Tool {
	return tools.Define(tools.Definition[struct{}]{
		Spec:  tools.Spec{Name: name, Kind: tools.Read, Description: "Fails."},
		Needs: tools.Always[struct{}](tools.Need{Act: tools.Reads}),
		Plan:  func(_ context.Context, env *tools.Env, _ struct{}) (*tools.Plan, error) { return plan(env) },
	})
}

func runs(run func(env *tools.Env) (tools.Result, error)) func(*tools.Env) (*tools.Plan, error) {
	return func(env *tools.Env) (*tools.Plan, error) {
		return &tools.Plan{Title: "t", Kind: tools.Read, Run: func(context.Context) (tools.Result, error) {
			return run(env)
		}}, nil
	}
}

// A panic anywhere fails one call, one turn or one message and nothing else: the session goes on, a crash report without
// text of the user is written, and the user is told once.
func TestFaultsInside(t *testing.T) {
	var zero []int
	calls := func(name string) func(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
		return func(_ context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.Tool {
				on(model.Delta{Text: "It went on."})
				return ended()
			}
			args := "{}"
			if name == "bash" {
				args = `{"command":"true"}`
			}
			on(model.Delta{Call: &model.CallDelta{ID: "", Name: name, Arguments: args, Done: true}})
			return model.Response{Stop: model.StopCalls}, nil
		}
	}
	fine := func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
		on(model.Delta{Text: "Fine."})
		return ended()
	}
	kit := []tools.Tool{
		faultyTool("plans", func(*tools.Env) (*tools.Plan, error) { panic("secret words of a plan") }),
		faultyTool("runs", runs(func(*tools.Env) (tools.Result, error) { return tools.Result{Data: string(rune(zero[7]))}, nil })),
		faultyTool("gives", runs(func(*tools.Env) (tools.Result, error) {
			return tools.Result{Success: true, Data: "given", Value: faulty{}}, nil
		})),
	}
	every := models{
		"fine": fine, "plans": calls("plans"), "runs": calls("runs"), "gives": calls("gives"), "bash": calls("bash"),
		"before": func(context.Context, model.Request, func(model.Delta)) (model.Response, error) { panic("secret words") },
		"amid": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
			on(model.Delta{Text: "Half"})
			panic(errors.New("secret words of a model"))
		},
		"half": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
			on(model.Delta{Text: "Half"})
			return ended()
		},
		"after": func(_ context.Context, _ model.Request, on func(model.Delta)) (model.Response, error) {
			return model.Response{Stop: "", Usage: model.Usage{Input: int64(zero[3])}}, nil
		},
	}
	for _, c := range []struct {
		name, model string
		stop        string
		change      func(o *lspserver.Options)
	}{
		{"a tool that plans", "plans", "end_turn", nil},
		{"a tool that runs", "runs", "end_turn", nil},
		{"a value of a tool", "gives", "end_turn", nil},
		{"a runner of commands", "bash", "end_turn", func(o *lspserver.Options) { o.Runner = faultyRunner{o.Runner} }},
		{"a model before its answer", "before", "error", nil},
		{"a model amid its answer", "amid", "error", nil},
		{"a model that goes out of bounds", "after", "error", nil},
		{"what begins in the background", "fine", "end_turn", func(o *lspserver.Options) {
			configured := o.Started
			o.Started = func(c config.Config) {
				configured(c)
				panic("secret words of the background")
			}
		}},
		{"the store", "fine", "end_turn", func(o *lspserver.Options) {
			o.Store = func(config.Config) (store.Store, error) {
				return &faultyStore{Store: agenttest.Store(t)}, nil
			}
		}},
		{"the store amid a turn", "half", "end_turn", func(o *lspserver.Options) {
			o.Store = func(config.Config) (store.Store, error) {
				return &faultyStore{Store: agenttest.Store(t), text: "Half"}, nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t)
			var out lockedBuilder
			l := logs.New(&out, logs.Options{Version: "test", Now: time.Now})
			defer l.Close()
			o := options(nil, kit...)
			o.Opener = func(config.Config, model.Lend) model.Opener { return every }
			o.Log, o.Crashes = l.Logger(), l.Crashes()
			o.Started = func(config.Config) { l.Configure("debug", filepath.Join(dir, "log"), filepath.Join(dir, "crashes")) }
			if c.change != nil {
				c.change(&o)
			}
			var shown atomic.Int32
			r := start(t, conformance.Options{Heard: func(method string, params json.RawMessage) {
				if method == "window/showMessage" && strings.Contains(string(params), filepath.Join(dir, "crashes")) {
					shown.Add(1)
				}
			}}, o)
			until(t, "the log file", patience, func() bool { _, err := os.Stat(filepath.Join(dir, "log")); return err == nil })
			s := r.session(map[string]any{"mode": "auto", "model": c.model})
			for turn := 1; turn <= 2; turn++ {
				raw, err := r.Request(r.ctx, "tandem/session/prompt", prompt(s, "my secret words"))
				var end turnEnd
				if err != nil || json.Unmarshal(raw, &end) != nil || end.StopReason != c.stop || end.Turn != turn {
					t.Errorf("turn %d: %s %v", turn, raw, err)
				}
			}
			if c.stop == "end_turn" && c.model != "fine" && c.model != "half" {
				if said := r.said(s, "agent_message_chunk"); said != strings.Repeat("It went on.", 2) {
					t.Errorf("said %q", said)
				}
			}
			r.ask("tandem/session/setModel", map[string]any{"sessionId": s, "model": "fine"}, nil)
			equal(t, "the same session", r.prompt(s, "go on").StopReason, "end_turn")
			r.ask("tandem/status", map[string]any{}, nil)
			until(t, "the message", patience, func() bool { return shown.Load() > 0 })
			r.end()
			equal(t, "messages", shown.Load(), 1)
			found, err := filepath.Glob(filepath.Join(dir, "crashes", "*"))
			if err != nil || len(found) == 0 {
				t.Fatal(found, err, out.String())
			}
			for _, path := range found {
				raw, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if text := string(raw); strings.Contains(text, "secret words") || !strings.Contains(text, "tandem/lspserver") {
					t.Errorf("%s:\n%s", path, text)
				}
			}
		})
	}
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// lockedBuilder is a strings.Builder for several goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
