package agent

import (
	"cmp"
	"fmt"
	"sync"

	"tandem/tools/run"
)

// callIDs are the ids of all calls of a session, each of which names one call for good. The zero value has none.
type callIDs struct {
	mu   sync.Mutex
	used map[string]bool
}

// CallIDError is a duplicate call id.
type CallIDError struct{ ID string }

func (e *CallIDError) Error() string {
	return fmt.Sprintf("the callId %q was used before in this session", e.ID)
}

// use marks ids of earlier calls as used.
func (c *callIDs) use(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.mark(id)
	}
}

// admit gives every call its id, or refuses all of them with a *CallIDError.
func (c *callIDs) admit(calls []run.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := map[string]bool{}
	for _, call := range calls {
		if call.ID != "" && (c.used[call.ID] || named[call.ID]) {
			return &CallIDError{call.ID}
		}
		named[call.ID] = true
	}
	for i, call := range calls {
		if call.ID == "" {
			calls[i].ID = c.unused("call", named)
		}
		c.mark(calls[i].ID)
	}
	return nil
}

// next is a new id that begins with stem.
func (c *callIDs) next(stem string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.unused(stem, nil)
	c.mark(id)
	return id
}

// of is the id of a model's call: the wanted one if it is free.
func (c *callIDs) of(wanted string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := wanted
	if id == "" || c.used[id] {
		id = c.unused(cmp.Or(wanted, "call"), nil)
	}
	c.mark(id)
	return id
}

// unused is an id that begins with stem and is neither used nor among others. c.mu is held.
func (c *callIDs) unused(stem string, others map[string]bool) string {
	for n := len(c.used); ; n++ {
		if id := fmt.Sprintf("%s_%d", stem, n); !c.used[id] && !others[id] {
			return id
		}
	}
}

// mark makes an id used. c.mu is held.
func (c *callIDs) mark(id string) {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	c.used[id] = true
}
