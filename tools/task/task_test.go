package task_test

import (
	"fmt"
	"testing"

	"tandem/tools/task"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, task.New()...) }

// The list is bounded, and what does not fit is not added.
func TestMostTasks(t *testing.T) {
	w := toolstest.NewWorld(t, task.New()...)
	for i := range 100 {
		if r := w.Call("task_create", fmt.Sprintf(`{"title": "task %d"}`, i)); !r.Success {
			t.Fatalf("%+v", r)
		}
	}
	if r := w.Call("task_create", `{"title": "one more"}`); r.Reason != "too_many_tasks" || len(w.Env.Tasks.Get()) != 100 {
		t.Errorf("%+v", r)
	}
}
