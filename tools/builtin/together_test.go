package builtin_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// TestF128ReadsOverlap: each of the tools that only look runs beside a peer, and so does each of the task list, whose own calls keep their order:
// neither of two calls gets on before both have begun.
func TestF128ReadsOverlap(t *testing.T) {
	named := map[string]string{
		"read_file": `{"path":"a.txt"}`, "glob": `{"pattern":"*"}`, "grep": `{"pattern":"one"}`, "list_files": `{}`, "get_file_info": `{"path":"a.txt"}`,
		"task_create": `{"title":"x"}`, "task_update": `{"id":"1","status":"completed"}`, "task_get": `{"id":"1"}`, "task_list": `{}`,
	}
	set := toolstest.SetOf(builtin.Tools()...)
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/a.txt", Data: []byte("one\n")}}})
	for name, args := range named {
		tool := set.Get(name)
		if tool == nil {
			t.Errorf("there is no tool %s", name)
			continue
		}
		w := toolstest.NewWorld(t)
		w.Host.Tools = set
		w.Env.Paths, w.Env.Tasks = env.Paths, env.Tasks
		var mu sync.Mutex
		begun, both := map[string]bool{}, make(chan struct{})
		alone := false
		w.Host.Observe = func(e run.Event) {
			if e.State != run.Executing {
				return
			}
			mu.Lock()
			if begun[e.Call.ID] = true; len(begun) == 2 {
				close(both)
			}
			mu.Unlock()
			select {
			case <-both:
			case <-time.After(10 * time.Second):
				mu.Lock()
				alone = true
				mu.Unlock()
			}
		}
		var calls []run.Call
		for i, n := range []string{name, "read_file"} {
			calls = append(calls, run.Call{ID: fmt.Sprint(name, i), Name: n, Arguments: []byte(named[n])})
		}
		if !tool.Spec().InOrder {
			calls[1].Name, calls[1].Arguments = name, []byte(args)
		}
		results, batches := run.Batch(t.Context(), w.Host, calls)
		if !tool.Spec().InOrder && !(results[0].Success && results[1].Success) {
			t.Errorf("%s: %s", name, results[0].Data)
		}
		if len(batches) != 1 || alone {
			t.Errorf("%s does not run beside a peer: %v", name, batches)
		}
		if s := tool.Spec(); s.Together != tools.WithReads {
			t.Errorf("%s is declared to run %v", name, s.Together)
		}
	}
}
