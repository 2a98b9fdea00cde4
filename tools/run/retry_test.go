package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// flaky is a tool whose first calls fail for a reason that may pass, the way that how says.
func flaky(spec tools.Spec, needs []tools.Need, fails int, how string) (tools.Tool, *int) {
	n := new(int)
	return tools.Define(tools.Definition[args]{
		Spec:  spec,
		Needs: tools.Always[args](needs...),
		Plan: func(context.Context, *tools.Env, args) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				if *n++; *n > fails {
					return done("here at last"), nil
				}
				err := tools.Transient(filetime.ReadError, "network", "The line is busy.")
				switch how {
				case "result":
					r := tools.Fail(filetime.ReadError, "network", "The line is busy.")
					r.Retryable = true
					return r, nil
				case "for good":
					err = tools.Refuse(filetime.ReadError, "gone", "It is gone.")
				}
				return tools.Result{}, err
			}}, nil
		},
	}), n
}

func TestF222Retry(t *testing.T) {
	reads, reaches := []tools.Need{{Act: tools.Reads}}, []tools.Need{{Act: tools.Reaches, Host: "example.org"}}
	for _, c := range []struct {
		name     string
		spec     tools.Spec
		needs    []tools.Need
		fails    int
		how      string
		attempts int // that are made
		took     time.Duration
	}{
		{"a read", tools.Spec{Kind: tools.Read}, reads, 2, "", 3, 600 * time.Millisecond},
		{"a result", tools.Spec{Kind: tools.Search}, reads, 1, "result", 2, 200 * time.Millisecond},
		{"too often", tools.Spec{Kind: tools.Read}, reads, 3, "", 3, 600 * time.Millisecond},
		{"a reason that stays", tools.Spec{Kind: tools.Read}, reads, 1, "for good", 1, 0},
		{"no reason", tools.Spec{Kind: tools.Read}, reads, 0, "", 1, 0},
		{"the network", tools.Spec{Kind: tools.Fetch}, reaches, 1, "", 1, 0},
		{"the network, idempotent", tools.Spec{Kind: tools.Fetch, Idempotent: true}, reaches, 1, "", 2, 200 * time.Millisecond},
		{"a write that says so", tools.Spec{Kind: tools.Edit, Idempotent: true}, []tools.Need{{Act: tools.Creates}}, 1, "", 1, 0},
		{"a read that writes", tools.Spec{Kind: tools.Read}, []tools.Need{{Act: tools.Reads}, {Act: tools.Edits}}, 1, "", 1, 0},
		{"a command that says so", tools.Spec{Kind: tools.Execute, Idempotent: true}, []tools.Need{{Act: tools.Runs, Argv: []string{"/bin/ls"}}}, 1, "", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.spec.Name = "x"
				tool, made := flaky(c.spec, c.needs, c.fails, c.how)
				w := toolstest.NewWorld(t, tool)
				var r recorder
				w.Host.Observe = r.observe
				w.Host.Retry = run.Retry{Attempts: 3, Backoff: 200 * time.Millisecond}
				began := time.Now()
				got := w.Call("x", `{}`)
				equal(t, "attempts", *made, c.attempts)
				equal(t, "time", time.Since(began), c.took)
				equal(t, "success", got.Success, *made > c.fails)
				told := c.attempts
				if told == 1 {
					told = 0
				}
				equal(t, "meta.attempts", got.Meta.Attempts, told)
				if failed := strings.Contains(got.Data, "tried 3 times"); failed != (c.name == "too often") {
					t.Errorf("the answer is %q", got.Data)
				}
				again := 0
				for _, s := range r.of("call1") {
					if s == "executing progress" {
						again++
					}
				}
				equal(t, "told of", again, c.attempts-1)
			})
		})
	}
}

// TestF222NoPlaceWhileWaiting: a call that waits for its next attempt leaves its place to others, and the end of the turn ends the waiting.
func TestF222NoPlaceWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		tool, made := flaky(tools.Spec{Name: "flaky", Kind: tools.Read, Together: tools.WithReads}, []tools.Need{{Act: tools.Reads}}, 9, "")
		w := toolstest.NewWorld(t, tool, s.tool("read", tools.WithReads))
		w.Host.Schedule.Slots = run.NewSlots(func() int { return 1 }, nil)
		w.Host.Retry = run.Retry{Attempts: 9, Backoff: time.Hour, Sleep: func(ctx context.Context, d time.Duration) {
			equal(t, "pause", d, time.Hour<<(*made-1))
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		}}
		w.Env.Limits.ToolTimeout = 24 * time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Hour, cancel)
		results, _ := run.Batch(ctx, w.Host, calls(`flaky {}`, `read {"ms":5}`))
		equal(t, "results", fmt.Sprint(results[0].Error, results[1].Success), "CANCELLEDtrue")
		equal(t, "attempts", *made, 2)
	})
}
