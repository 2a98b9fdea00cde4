package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"tandem/agent/store"
	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/task"
)

func titles(list []tools.Task) (out []string) {
	for _, t := range list {
		out = append(out, t.ID+" "+t.Title+" "+string(t.Status))
	}
	return out
}

// Tasks are in the session's record: they are there in the process that goes on with it, and its client is told. Calls of one
// message take effect in the order of the request.
func TestF178TasksAreKept(t *testing.T) {
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s, c := newKeptSession(t, st, nil, play(t, "say Hi.\n"), task.New()...)
			ask(t, s, "Hi.") // a session is in the store from its first prompt on
			var calls []run.Call
			var want []string
			for i := range 20 {
				calls = append(calls, run.Call{Name: "task_create", Arguments: json.RawMessage(fmt.Sprintf(`{"title": "t%d"}`, i))})
				calls = append(calls, run.Call{
					Name: "task_update", Arguments: json.RawMessage(fmt.Sprintf(`{"id": "%d", "status": "completed"}`, i+1)),
				})
				want = append(want, fmt.Sprintf("%d t%d completed", i+1, i))
			}
			results, _, err := s.CallTools(t.Context(), calls, CallOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				if !r.Success {
					t.Fatalf("%d: %+v", i, r)
				}
			}
			c.mu.Lock()
			plans := 0
			for _, e := range c.events {
				if e.Tasks != nil {
					plans++
				}
			}
			c.mu.Unlock()
			if plans != len(calls) {
				t.Errorf("the client was told %d times of %d changes", plans, len(calls))
			}
			s.Close()
			past, err := TakePast(t.Context(), st, "kept", s.o.Workspace, time.Now, func(store.Session) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := titles(lastOf(past).Tasks); !slices.Equal(got, want) {
				t.Errorf("replayed: %q", got)
			}
			next, _ := newKeptSession(t, st, past, play(t, "say Hi.\n"), task.New()...)
			if got := titles(turnTasks{s: next}.Get()); !slices.Equal(got, want) {
				t.Errorf("loaded: %q", got)
			}
		})
	}
}

// lastOf is the last event of a session.
func lastOf(past *Past) (last Event) {
	for e := range past.Events() {
		last = e
	}
	return last
}
