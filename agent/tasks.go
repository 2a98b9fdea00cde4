package agent

import (
	"slices"
	"sync"

	"tandem/agent/store"
	"tandem/tools"
)

// tasks are the task list of a session. Each state of it is an entry of the record, of which the last one counts.
type tasks struct {
	mu  sync.Mutex
	now []tools.Task
}

// turnTasks is the list as a call of a turn works with it.
type turnTasks struct {
	s    *Session
	turn int
	call string
}

// Get implements tools.Tasks.
func (t turnTasks) Get() []tools.Task {
	t.s.tasks.mu.Lock()
	defer t.s.tasks.mu.Unlock()
	return slices.Clone(t.s.tasks.now)
}

// Change implements tools.Tasks.
func (t turnTasks) Change(change func([]tools.Task) ([]tools.Task, error)) error {
	s := t.s
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	next, err := change(slices.Clone(s.tasks.now))
	if err != nil {
		return err
	}
	s.tasks.now = append([]tools.Task{}, next...) // not nil: an empty list is news too
	var written *batch
	if s.record.open != nil {
		written = s.record.soon(s.record.entry(t.turn, store.Tasks, t.call, "", body{Tasks: s.tasks.now}))
	}
	s.outbox.put(Event{Turn: t.turn, Tasks: s.tasks.now}, written)
	return nil
}
