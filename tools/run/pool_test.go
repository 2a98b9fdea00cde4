package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// TestF242OrderOfSubmission: calls of a batch that wait for a worker begin in the order in which they were submitted.
func TestF242OrderOfSubmission(t *testing.T) {
	for _, limit := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			var s sleeper
			w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
			w.Env.Limits.MaxConcurrency = limit
			var r recorder
			w.Host.Observe = r.observe
			list := calls(`read {"ms":1000}`, `read {"ms":1010}`, `read {"ms":1020}`, `read {"ms":100}`, `read {"ms":110}`, `read {"ms":120}`,
				`read {"ms":100}`, `read {"ms":100}`)
			run.Batch(t.Context(), w.Host, list)
			began := map[string]time.Time{}
			for _, e := range r.events {
				if e.State == run.Executing && began[e.Call.ID].IsZero() {
					began[e.Call.ID] = e.At
				}
			}
			for i := 1; i < len(list); i++ {
				if began[list[i].ID].Before(began[list[i-1].ID]) {
					t.Errorf("limit %d: call %s began before call %s", limit, list[i].ID, list[i-1].ID)
				}
			}
		})
	}
}

// TestF242LimitWhileTheModelWrites: a call that began alone counts towards the limit of the batch that it has become part of, and its place is
// free when it has ended.
func TestF242LimitWhileTheModelWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
		w.Env.Limits.MaxConcurrency = 2
		began := time.Now()
		st := run.NewStream(t.Context(), w.Host)
		for i, c := range calls(`read {"ms":100}`, `read {"ms":300}`, `read {"ms":100}`, `read {"ms":100}`, `read {"ms":100}`) {
			if i > 0 {
				time.Sleep(10 * time.Millisecond)
			}
			st.Submit(c)
		}
		st.Wait()
		equal(t, "at once", s.most.Load(), int32(2))
		equal(t, "time", time.Since(began), 400*time.Millisecond)
		equal(t, "batches", st.Batches(), [][]int{{0, 1, 2, 3, 4}})
	})
}

// TestF242PanicOfABatch: a tool that panics beside others is an error of its call alone; what panics beside the calls is the panic of
// whoever waits.
func TestF242PanicOfABatch(t *testing.T) {
	var s sleeper
	broken := probe(tools.Spec{Name: "broken", Together: tools.WithReads}, func(context.Context, *tools.Env, args) (tools.Result, error) { panic("a tool broke") })
	w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), broken)
	results, _ := run.Batch(t.Context(), w.Host, calls(`read {"ms":5}`, `broken {}`, `read {"ms":5}`))
	equal(t, "successes", []bool{results[0].Success, results[1].Success, results[2].Success}, []bool{true, false, true})
	equal(t, "error", results[1].Error, tools.ExecutionError)

	w.Host.Observe = func(e run.Event) {
		if e.State == run.Yielded && e.Call.ID == "3" {
			panic("an observer broke")
		}
	}
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "an observer broke") || !strings.Contains(said, "pool_test.go") {
			t.Errorf("the panic is %q", said)
		}
	}()
	run.Batch(t.Context(), w.Host, calls(`read {"ms":5}`, `read {"ms":5}`, `read {"ms":5}`))
	t.Error("there was no panic")
}

// TestF242CancelOfABatch: the end of the turn ends the calls of a batch that run, and those that wait for a worker never begin.
func TestF242CancelOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
		w.Env.Limits.MaxConcurrency, w.Env.Limits.ToolTimeout = 2, time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		began := time.Now()
		results, _ := run.Batch(ctx, w.Host, calls(slices.Repeat([]string{`read {"ms":600000}`}, 6)...))
		equal(t, "time", time.Since(began), 10*time.Millisecond)
		for i, res := range results {
			if res.Error != filetime.Cancelled {
				t.Errorf("call %d: %s %s", i+1, res.Error, res.Data)
			}
		}
		equal(t, "at once", s.most.Load(), int32(2))
	})
}
