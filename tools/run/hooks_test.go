package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// renames is a hook that appends to the path of a call.
func renames(name, suffix string) run.Hook {
	return run.Hook{
		Name:    name,
		Matches: func(s tools.Spec) bool { return s.Name == "write_file" },
		Before: func(_ context.Context, c run.Hooked) (json.RawMessage, error) {
			var in map[string]any
			if err := json.Unmarshal(c.Args, &in); err != nil {
				return nil, err
			}
			in["path"] = in["path"].(string) + suffix
			return json.Marshal(in)
		},
	}
}

func TestF221HooksCompose(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	var told []string
	after := func(name string) run.Hook {
		return run.Hook{Name: name, After: func(_ context.Context, c run.Hooked, output string) (string, error) {
			told = append(told, fmt.Sprintf("%s %s %s %s", name, c.Tool, c.Args, strings.SplitN(output, "\n", 2)[0]))
			return output + "\nseen by " + name + "\x1b[31m", nil
		}}
	}
	w.Host.Hooks = []run.Hook{
		renames("first", ".a"), renames("second", ".b"), after("third"), after("fourth"),
		{Name: "another tool's", Matches: func(tools.Spec) bool { return false }, Before: func(context.Context, run.Hooked) (json.RawMessage, error) {
			return nil, errors.New("not for this tool")
		}},
	}
	r := w.Call("write_file", `{"path":"x","content":"c"}`)
	if !r.Success {
		t.Fatal(r.Data)
	}
	equal(t, "modified", r.Meta.Modified, []string{w.Path("x.a.b")})
	equal(t, "arguments", string(r.Meta.EffectiveArgs), `{"content":"c","mode":"overwrite","path":"x.a.b"}`)
	args := `write_file {"content":"c","mode":"overwrite","path":"x.a.b"} `
	if len(told) != 2 || !strings.HasPrefix(told[0], "third "+args+"File created") || !strings.HasPrefix(told[1], "fourth "+args) {
		t.Errorf("told %q", told)
	}
	for _, want := range []string{"\nseen by third\\u{1b}[31m\n", "\nseen by fourth\\u{1b}[31m", "changed by first, second: {"} {
		if !strings.Contains(r.Data, want) {
			t.Errorf("no %q in\n%s", want, r.Data)
		}
	}
}

// TestF221ChangedInputIsJudged: what a hook makes of the arguments is validated and judged as if the model had sent it.
func TestF221ChangedInputIsJudged(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	sends := func(args string) []run.Hook {
		return []run.Hook{{Name: "h", Before: func(context.Context, run.Hooked) (json.RawMessage, error) { return json.RawMessage(args), nil }}}
	}
	for _, c := range []struct {
		args, code, says string
		failed           string
	}{
		{`{"path":""}`, "INVALID_ARGS", "those of the hook h", "before-hooks"},
		{`nonsense`, "INVALID_ARGS", "those of the hook h", "before-hooks"},
		{`{"path":"/etc/x","content":""}`, "OUTSIDE_WRITE_ROOTS", "/etc/x", "needs"},
		{`{"path":".git/config","content":""}`, "PROTECTED_PATH", ".git/config", "needs"},
	} {
		w.Host.Hooks, w.Host.Trace = sends(c.args), true
		r := w.Call("write_file", `{"path":"fine","content":"c"}`)
		if r.Success || string(r.Error) != c.code || !strings.Contains(r.Data, c.says) {
			t.Errorf("%s: %s %s", c.args, r.Error, r.Data)
		}
		last := ""
		for _, s := range r.Meta.Trace {
			if s.Stage == "after-hooks" {
				break
			}
			last = s.Stage
		}
		equal(t, c.args, last, c.failed)
	}
	// A person is asked about what will run.
	w.Host.Gate, w.Host.Hooks = gate.ModeAsk, sends(`{"path":"other","content":"c"}`)
	if r := w.Call("write_file", `{"path":"fine","content":"c"}`); !r.Success {
		t.Fatal(r.Data)
	}
	equal(t, "asked", string(w.Asked[0].Args), `{"content":"c","mode":"overwrite","path":"other"}`)
	equal(t, "shown", w.Asked[0].Diffs[0].Path, w.Path("other"))
}

// TestCaseA11HookCannotAllow: whatever a hook answers, a rule that denies holds, also for what a hook changed into something denied.
func TestCaseA11HookCannotAllow(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{
		{Effect: gate.Deny, Tool: "write_file", Params: map[string]string{"path": "secret*"}},
	}})
	w.Host.Hooks = []run.Hook{{Name: "allows", Before: func(_ context.Context, c run.Hooked) (json.RawMessage, error) { return c.Args, nil }}}
	r := w.Call("write_file", `{"path":"secret.txt","content":"c"}`)
	if r.Error != tools.GateDenied || r.Denial == nil || r.Denial.Layer == "hook" {
		t.Errorf("%s %+v", r.Error, r.Denial)
	}
	w.Host.Hooks = []run.Hook{renames("turns", "")}
	w.Host.Hooks[0].Before = func(context.Context, run.Hooked) (json.RawMessage, error) {
		return json.RawMessage(`{"path":"secret.txt","content":"c"}`), nil
	}
	if r := w.Call("write_file", `{"path":"harmless","content":"c"}`); r.Error != tools.GateDenied {
		t.Errorf("%s %s", r.Error, r.Data)
	}
	equal(t, "files", w.Files.Open(), []string(nil))
}

func TestF221FailingHooks(t *testing.T) {
	w := toolstest.NewWorld(t, write.New())
	before := func(err error, panics bool) run.Hook {
		return run.Hook{Name: "judge", Before: func(context.Context, run.Hooked) (json.RawMessage, error) {
			if panics {
				panic("boom")
			}
			return nil, err
		}}
	}
	for _, c := range []struct {
		hook run.Hook
		says string
	}{
		{before(&run.HookDenial{Reason: "not on a Friday\x1b[0m"}, false), "Permission denied by the hook judge: not on a Friday\\u{1b}[0m\n"},
		{before(errors.New("exit 3"), false), "the hook judge has to judge this call, and failed: exit 3\n"},
		{before(nil, true), "and failed: boom\n"},
	} {
		w.Host.Hooks = []run.Hook{c.hook}
		r := w.Call("write_file", `{"path":"x","content":"c"}`)
		if r.Error != tools.GateDenied || r.Denial == nil || r.Denial.Layer != "hook" || r.Denial.Rule != "judge" || !strings.Contains(r.Data, c.says) {
			t.Errorf("%s: %s %+v", c.says, r.Data, r.Denial)
		}
	}
	// What has happened stands, whatever a hook does after it.
	for _, fails := range []func() (string, error){
		func() (string, error) { return "", errors.New("no formatter") }, func() (string, error) { panic("no formatter") },
	} {
		w.Host.Hooks = []run.Hook{{Name: "late", After: func(context.Context, run.Hooked, string) (string, error) { return fails() }}}
		r := w.Call("write_file", `{"path":"y","content":"c","mode":"append"}`)
		if !r.Success || !strings.Contains(r.Data, "The hook late failed after the call: no formatter") || len(r.Warnings) != 1 {
			t.Errorf("%v %s", r.Success, r.Data)
		}
	}
}

// TestF221AfterHooksAreTruncated: what a hook writes keeps to the limit of answers, and it is told of failures.
func TestF221AfterHooksAreTruncated(t *testing.T) {
	w := toolstest.NewWorld(t, probe(tools.Spec{Name: "fails"}, func(context.Context, *tools.Env, args) (tools.Result, error) {
		return tools.Fail(filetime.ReadError, "", "It cannot be read."), nil
	}))
	w.Env.Limits.MaxToolOutputChars = 1000
	w.Host.Hooks = []run.Hook{{Name: "floods", After: func(_ context.Context, c run.Hooked, output string) (string, error) {
		return c.Error + ": " + output + strings.Repeat("long ", 1000), nil
	}}}
	r := w.Call("fails", `{}`)
	if r.Success || !strings.HasPrefix(r.Data, "READ_ERROR: It cannot be read.long ") || len(r.Data) > 1100 || !r.Truncated {
		t.Errorf("%d characters: %.60s", len(r.Data), r.Data)
	}
}

// TestF221HooksAndScheduling: a call is scheduled by what hooks leave of it, its hooks run when its turn comes, and nobody who adds a
// call waits for them.
func TestF221HooksAndScheduling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		var r recorder
		w := toolstest.NewWorld(t, s.tool("edit", tools.OtherFiles))
		w.Host.Observe, w.Host.Trace = r.observe, true
		began := time.Now()
		var mu sync.Mutex
		var ran []string
		w.Host.Hooks = []run.Hook{{Name: "one file", Before: func(_ context.Context, c run.Hooked) (json.RawMessage, error) {
			mu.Lock()
			ran = append(ran, fmt.Sprintf("%s at %v", c.Call, time.Since(began)))
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			if c.Call == "1" {
				return nil, nil
			}
			return json.RawMessage(`{"path":"a","ms":1000}`), nil
		}}}
		st := run.NewStream(t.Context(), w.Host)
		for _, c := range calls(`edit {"path":"a","ms":1000}`, `edit {"path":"b","ms":1000}`, `edit {"path":"a","ms":1000}`) {
			st.Submit(c)
		}
		equal(t, "submitted after", time.Since(began), time.Duration(0))
		results := st.Wait()
		// The second is about another file until its hook has run; the third is about the first's from the start.
		slices.Sort(ran)
		equal(t, "hooks", ran, []string{"1 at 0s", "2 at 0s", "3 at 2.1s"})
		equal(t, "batches", st.Batches(), [][]int{{0}, {1}, {2}})
		equal(t, "most at once", s.most.Load(), int32(1))
		for _, stage := range results[1].Meta.Trace {
			if stage.Stage == "before-hooks" {
				equal(t, "time of the hooks", stage.MS, 100.0)
			}
		}
	})
}

// TestF221HooksTogether: the hooks of calls that run together do so too, up to the limit of calls, also of calls that are added while they
// run; those of a call that has to wait run when its turn comes.
func TestF221HooksTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("look", tools.WithReads), s.tool("alone", tools.Alone))
		w.Env.Limits.MaxConcurrency = 4
		began := time.Now()
		var mu sync.Mutex
		at := map[string]time.Duration{}
		w.Host.Hooks = []run.Hook{{Name: "slow", Before: func(_ context.Context, c run.Hooked) (json.RawMessage, error) {
			mu.Lock()
			at[c.Call] = time.Since(began)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		}}}
		st := run.NewStream(t.Context(), w.Host)
		for i, c := range calls(`look {"ms":1000}`, `look {"ms":1000}`, `look {"ms":1000}`, `look {"ms":1000}`, `look {"ms":1000}`, `alone {"ms":10}`) {
			if i == 2 {
				time.Sleep(50 * time.Millisecond)
			}
			st.Submit(c)
		}
		for _, r := range st.Wait() {
			if !r.Success {
				t.Error(r.Data)
			}
		}
		ms := time.Millisecond
		want := map[string]time.Duration{"1": 0, "2": 0, "3": 50 * ms, "4": 50 * ms, "5": 1100 * ms, "6": 2200 * ms}
		equal(t, "hooks", at, want)
		equal(t, "batches", st.Batches(), [][]int{{0, 1, 2, 3, 4}, {5}})
	})
}

// TestF221CancelledHook: a turn that is cancelled while a hook runs ends with it, and no hook runs for the calls behind.
func TestF221CancelledHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := toolstest.NewWorld(t, write.New())
		var ran atomic.Int32
		w.Host.Hooks = []run.Hook{{Name: "slow", Before: func(ctx context.Context, _ run.Hooked) (json.RawMessage, error) {
			ran.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		results, _ := run.Batch(ctx, w.Host, calls(`write_file {"path":"a","content":""}`, `write_file {"path":"b","content":""}`,
			`write_file {"path":"a","content":"x"}`))
		for _, r := range results {
			equal(t, "error", r.Error, filetime.Cancelled)
		}
		equal(t, "hooks", ran.Load(), int32(2))
	})
}
