package backend

import (
	"maps"
	"slices"
	"sync"

	"tandem/agent/model"
	"tandem/tools/run"
)

// ToolStats are the figures of one tool.
type ToolStats struct {
	Name          string
	Calls, Errors int64
	MS            float64 // milliseconds in all
	Bytes         int64   // of the results for the model
	Tokens        int64   // that these are about, at four bytes each: no service counts them by tool
}

// tally counts the calls of each tool and what the models have used. The zero value has counted nothing.
type tally struct {
	mu    sync.Mutex
	tools map[string]*ToolStats
	used  model.Usage
}

// count adds a call that has a result.
func (t *tally) count(e *run.Event) {
	name := e.Tool
	if e.Source == "" {
		name = "(unknown)"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.tools[name]
	if st == nil {
		if t.tools == nil {
			t.tools = map[string]*ToolStats{}
		}
		st = &ToolStats{Name: name}
		t.tools[name] = st
	}
	st.Calls++
	st.MS += float64(e.Result.Duration.Microseconds()) / 1000
	st.Bytes += int64(len(e.Result.Data))
	st.Tokens = (st.Bytes + 3) / 4
	if !e.Result.Success {
		st.Errors++
	}
}

// use adds what a model has used.
func (t *tally) use(u model.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = t.used.Add(u)
}

// figures are those of each tool, sorted by name, and the usage of all models.
func (t *tally) figures() (perTool []ToolStats, used model.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.tools)) {
		perTool = append(perTool, *t.tools[name])
	}
	return perTool, t.used
}
