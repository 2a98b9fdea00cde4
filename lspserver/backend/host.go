package backend

import (
	"context"
	"errors"

	"tandem/agent"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// host adapts the face to agent.Client.
type host struct{ b *Backend }

func (h host) Update(id string, e agent.Event) {
	h.b.Guard("telling of an event", func() {
		if e.Call != nil && e.Call.State == run.Completed && e.Call.Result != nil {
			h.b.count(id, e.Call)
		}
		if se, err := h.b.Find(id); err == nil {
			se.View.On(e)
			se.news.landed(e)
		}
	})
}

// ready gives the session of a question and flushes its events: the client must know a call before it is asked about
// it.
func (h host) ready(id string) (*Session, error) {
	se, err := h.b.Find(id)
	if err == nil {
		h.b.Guard("telling before asking", se.View.Flush)
	}
	return se, err
}

func (h host) Ask(ctx context.Context, id string, q run.Question) run.Answer {
	se, err := h.ready(id)
	if err != nil {
		return run.Answer{Outcome: run.Unavailable}
	}
	return resolveOnce(ctx, h.b.clients(), se, q)
}

func (h host) Clarify(ctx context.Context, id string, q tools.Clarification) (string, error) {
	se, err := h.ready(id)
	if err != nil {
		return "", errors.ErrUnsupported
	}
	return h.b.face.Clarify(ctx, se, q)
}

// ToolStats are the figures of one tool.
type ToolStats struct {
	Name          string
	Calls, Errors int64
	MS            float64 // milliseconds in all
	Bytes         int64   // of the results for the model
	Tokens        int64   // that these are about, at four bytes each: no service counts them by tool
}

// count updates the figures of a tool after a call.
func (b *Backend) count(id string, e *run.Event) {
	r := e.Result
	name := e.Tool
	if e.Source == "" {
		name = "(unknown)"
	}
	b.mu.Lock()
	st := b.stats[name]
	if st == nil {
		st = &ToolStats{Name: name}
		b.stats[name] = st
	}
	st.Calls++
	st.MS += float64(r.Duration.Microseconds()) / 1000
	st.Bytes += int64(len(r.Data))
	st.Tokens = (st.Bytes + 3) / 4
	if !r.Success {
		st.Errors++
	}
	b.mu.Unlock()
	b.face.Called(id, e, e.Source)
}

// runner is a Runner that shortens the grace period of commands once the connection has ended, and tells of a sandbox that is lost.
type runner struct {
	sandbox.Runner
	over <-chan struct{}
	lost func(sandbox.Level)
}

// Start starts c.
func (r runner) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	c.Hurry = r.over
	p, err := r.Runner.Start(ctx, c)
	if errors.Is(err, sandbox.ErrNotConfined) {
		r.lost(r.Level())
	}
	return p, err
}
