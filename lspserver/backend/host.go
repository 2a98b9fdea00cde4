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
			h.b.tally.count(e.Call)
			h.b.face.Called(id, e.Call, e.Call.Source)
		}
		if se, err := h.b.Find(id); err == nil {
			se.View.On(e)
			se.news.landed(e)
		}
	})
}

// Plans implements agent.Planner.
func (h host) Plans() bool { return h.b.client.Plans }

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
