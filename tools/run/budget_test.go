package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/tools"
	"tandem/tools/edit"
	"tandem/tools/run"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

func TestF211_F248BudgetOfCalls(t *testing.T) {
	var s sleeper
	w := toolstest.NewWorld(t, s.tool("read", tools.WithReads))
	w.Host.Schedule.Budget = &run.Budget{MaxCalls: 3}
	first, _ := run.Batch(t.Context(), w.Host, calls(`read {}`, `nope {}`))
	if w.Host.Schedule.Budget.Refused() || !first[0].Success {
		t.Errorf("within the budget: %+v", first)
	}
	second, _ := run.Batch(t.Context(), w.Host, calls(`read {}`, `read {}`, `read {}`))
	refused := 0
	for _, r := range second {
		if r.Error == tools.BudgetExceeded {
			refused++
			if r.Reason != "tool_calls" || !strings.HasPrefix(r.Data, "The 3 tool calls") || !strings.Contains(r.Data, "Nothing was done") {
				t.Errorf("%+v", r)
			}
		}
	}
	if refused != 2 || !w.Host.Schedule.Budget.Refused() {
		t.Errorf("%d of 5 calls refused: %+v", refused, second)
	}
}

func TestF211BudgetOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), s.tool("alone", tools.Alone))
		w.Host.Schedule.Budget = &run.Budget{MaxTime: time.Second}
		began := time.Now()
		// Two that run together take both their times.
		results, _ := run.Batch(t.Context(), w.Host, calls(`read {"ms":400}`, `read {"ms":400}`, `alone {"ms":900}`, `alone {"ms":1}`))
		equal(t, "time", time.Since(began), 600*time.Millisecond)
		var got []string
		for _, r := range results {
			got = append(got, fmt.Sprint(r.Success, " ", r.Error, " ", r.Reason))
		}
		equal(t, "results", got, []string{"true  ", "true  ", "false BUDGET_EXCEEDED tool_time", "false BUDGET_EXCEEDED tool_time"})
		if !strings.Contains(results[2].Data, "stopped") || !strings.Contains(results[3].Data, "Nothing was done") {
			t.Errorf("%q", data(results))
		}
	})
}

// A person's time to think is not the tools'.
func TestF211QuestionsAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		asks := s.tool("clarify", tools.Alone)
		w := toolstest.NewWorld(t, thinking{asks}, s.tool("read", tools.WithReads))
		w.Host.Schedule.Budget = &run.Budget{MaxTime: time.Second}
		results, _ := run.Batch(t.Context(), w.Host, calls(`clarify {"ms":5000}`, `read {"ms":900}`))
		equal(t, "results", data(results), []string{"slept 5000", "slept 900"})
	})
}

type thinking struct{ tools.Tool }

func (t thinking) Spec() tools.Spec {
	spec := t.Tool.Spec()
	spec.Kind = tools.Think
	return spec
}

func TestF125Serial(t *testing.T) {
	var s sleeper
	w := toolstest.NewWorld(t, s.tool("read", tools.WithReads), edit.New(), write.New())
	list := calls(`read {}`, `read {}`, `write_file {"path":"a","content":"x"}`, `write_file {"path":"b","content":"x"}`)
	equal(t, "by file", run.Partition(w.Host, list), [][]int{{0, 1}, {2, 3}})
	w.Host.Schedule.Serial = true
	equal(t, "serial", run.Partition(w.Host, list), [][]int{{0, 1}, {2}, {3}})
}
