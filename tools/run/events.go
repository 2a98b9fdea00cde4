package run

import (
	"cmp"
	"errors"

	"tandem/tools"
)

// emit gives the result out.
func (c *call) emit() error {
	c.enter(Executing, Event{Phase: "use"})
	c.enter(Completed, Event{Phase: c.shown.phase, Result: &c.result})
	return nil
}

func (c *call) log(err error) {
	attrs := []any{"tool", c.Name, "call", c.ID, "error", err.Error()}
	if boom, ok := errors.AsType[*crash](err); ok {
		attrs = append(attrs, "stack", boom.stack)
	}
	c.host.log().Error("tool call", attrs...)
}

// enter brings the call into a state, once, and tells of it.
func (c *call) enter(s State, e Event) {
	c.life.mu.Lock()
	defer c.life.mu.Unlock()
	if c.life.advance(s) {
		c.tell(e)
	}
}

// progress tells how a running call gets on. What comes after its end is dropped.
func (c *call) progress(p tools.Progress) {
	c.life.mu.Lock()
	defer c.life.mu.Unlock()
	if c.life.state == Executing {
		c.tell(Event{Phase: "progress", Progress: &p})
	}
}

func (c *call) tell(e Event) {
	if c.host.Observe == nil {
		return
	}
	e.Call, e.State, e.Batch, e.Group, e.At = c.Call, c.life.state, c.sched.batch, c.sched.group, c.host.now()
	e.Plan = c.plan
	e.Tool, e.Kind, e.Title = c.Name, tools.Other, c.shown.title
	if c.tool != nil {
		spec := c.tool.Spec()
		e.Tool, e.Kind, e.Source = spec.Name, spec.Kind, Source(spec)
	}
	if c.plan != nil {
		e.Kind, e.Title = c.plan.Kind, c.plan.Title
	}
	if e.Result == nil {
		e.Render = c.shown.render(tools.Showing{Phase: e.Phase, Progress: e.Progress})
	}
	c.host.Observe(e)
}

// Source is where a tool comes from; one that does not say is shipped.
func Source(s tools.Spec) string { return cmp.Or(s.Source, tools.SourceBuiltin) }
