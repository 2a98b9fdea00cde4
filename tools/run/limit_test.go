package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// TestFaultT14ThinkingIsNoToolTime: while a person thinks about a question that a call asks as it runs, neither the time limit of the call nor
// the budget of the turn goes on, however long that takes; what the tool does before and after it counts.
func TestFaultT14ThinkingIsNoToolTime(t *testing.T) {
	again := func(ctx context.Context, env *tools.Env) error {
		return env.Judged.Again(ctx, "Fetch b.org", json.RawMessage(`{}`), []tools.Need{{Act: tools.Reaches, Host: "b.org"}})
	}
	held := func(_ context.Context, env *tools.Env) error {
		answered := env.Person.Asking()
		time.Sleep(time.Hour)
		answered()
		answered() // twice is once
		return nil
	}
	twice := func(ctx context.Context, env *tools.Env) error {
		return errors.Join(held(ctx, env), held(ctx, env))
	}
	nested := func(ctx context.Context, env *tools.Env) error {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = held(ctx, env) })
		}
		both.Wait()
		return nil
	}
	for name, c := range map[string]struct {
		asks          func(context.Context, *tools.Env) error
		budget, limit time.Duration
		before, after time.Duration
		error         filetime.Code
		reason        string
		took          time.Duration
	}{
		"a limit":                  {again, 0, time.Second, 400 * time.Millisecond, 500 * time.Millisecond, "", "", time.Hour + 900*time.Millisecond},
		"a budget":                 {again, time.Second, 0, 400 * time.Millisecond, 500 * time.Millisecond, "", "", time.Hour + 900*time.Millisecond},
		"a question of a server":   {held, time.Second, time.Second, 400 * time.Millisecond, 500 * time.Millisecond, "", "", time.Hour + 900*time.Millisecond},
		"two at once":              {nested, time.Second, time.Second, 400 * time.Millisecond, 500 * time.Millisecond, "", "", time.Hour + 900*time.Millisecond},
		"two in a row":             {twice, time.Second, time.Second, 400 * time.Millisecond, 500 * time.Millisecond, "", "", 2*time.Hour + 900*time.Millisecond},
		"a limit, and more work":   {again, 0, time.Second, 600 * time.Millisecond, 500 * time.Millisecond, filetime.Timeout, "tool_timeout", time.Hour + time.Second},
		"a budget, and more work":  {again, time.Second, 0, 600 * time.Millisecond, 500 * time.Millisecond, tools.BudgetExceeded, "tool_time", time.Hour + time.Second},
		"a server, and more work":  {nested, 0, time.Second, 600 * time.Millisecond, 500 * time.Millisecond, filetime.Timeout, "tool_timeout", time.Hour + time.Second},
		"a limit that is over now": {nil, 0, time.Second, 2 * time.Second, 0, filetime.Timeout, "tool_timeout", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool := probe(tools.Spec{Name: "fetches"}, func(ctx context.Context, env *tools.Env, _ args) (tools.Result, error) {
					work := func(d time.Duration) error {
						select {
						case <-time.After(d):
							return nil
						case <-ctx.Done():
							if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
								t.Errorf("the context ends with %v", ctx.Err())
							}
							return ctx.Err()
						}
					}
					err := work(c.before)
					if err == nil && c.asks != nil {
						err = c.asks(ctx, env)
					}
					if err == nil {
						err = work(c.after)
					}
					return done("fetched"), err
				})
				var s sleeper
				w := toolstest.NewWorld(t, tool, s.tool("read", tools.WithReads))
				w.Env.Limits.ToolTimeout = c.limit
				if c.budget > 0 {
					w.Host.Schedule.Budget = &run.Budget{MaxTime: c.budget}
				}
				w.Host.Gate = gateFunc(func(c gate.Call) gate.Decision {
					if c.Needs[0].Act == tools.Reaches {
						return gate.Decision{Verdict: gate.Ask, Reason: "it reaches another host"}
					}
					return gate.Decision{Verdict: gate.Allow}
				})
				w.Host.Asker = askFunc(func(run.Question) run.Answer {
					time.Sleep(time.Hour)
					return run.Answer{Outcome: run.Allowed}
				})
				began := time.Now()
				results, _ := run.Batch(t.Context(), w.Host, calls(`fetches {}`))
				if r := results[0]; r.Error != c.error || r.Reason != c.reason || time.Since(began) != c.took {
					t.Errorf("%+v after %v, want %s %s after %v", r, time.Since(began), c.error, c.reason, c.took)
				}
				if c.budget == 0 || c.error != "" {
					return
				}
				// What is left of the budget is what the tool has not used.
				fits, _ := run.Batch(t.Context(), w.Host, calls(`read {"ms":90}`))
				over, _ := run.Batch(t.Context(), w.Host, calls(`read {"ms":20}`))
				if !fits[0].Success || over[0].Error != tools.BudgetExceeded {
					t.Errorf("then: %+v, %+v", fits, over)
				}
			})
		})
	}
}

// TestFaultT14CancelledWhileAPersonThinks: the end of the turn ends a call that waits for a person, as cancelled.
func TestFaultT14CancelledWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := toolstest.NewWorld(t, probe(tools.Spec{Name: "asks"}, func(ctx context.Context, env *tools.Env, _ args) (tools.Result, error) {
			defer env.Person.Asking()()
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.Canceled) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the context ends with %v", ctx.Err())
			}
			return tools.Result{}, ctx.Err()
		}))
		w.Env.Limits.ToolTimeout = time.Second
		time.AfterFunc(time.Minute, cancel)
		if results, _ := run.Batch(ctx, w.Host, calls(`asks {}`)); results[0].Error != filetime.Cancelled {
			t.Errorf("%+v", results[0])
		}
	})
}
