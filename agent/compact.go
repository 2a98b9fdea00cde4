package agent

import (
	"context"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
)

// Compaction is what has become of a conversation that a person wanted to be shorter.
type Compaction struct {
	// ID is that of Event.Compaction, "" for none.
	ID string
	// Kind is "none", "prune" or "summary".
	Kind string
	// Before and After are the estimated tokens of a request.
	Before, After int64
}

// compaction waits for the next request of a turn.
type compaction struct {
	instructions string
	done         chan Compaction // closed where the turn has ended before
}

// leastCompacted is the number of tokens below which a conversation is left as it is.
const leastCompacted = 2000

// Compact makes the conversation shorter for the model, by a summary of its own, or else by clearing old results: before the next request
// of the turn that runs, else at once. instructions are for the summary and may be empty. Errors are ErrClosed, ErrBusy while another
// Compact works between two turns, a *model.Error of kind "unavailable", or that of ctx.
func (s *Session) Compact(ctx context.Context, instructions string) (Compaction, error) {
	for {
		s.mu.Lock()
		t := s.running
		switch {
		case s.closed:
			s.mu.Unlock()
			return Compaction{}, ErrClosed
		case t == nil:
			t = s.between()
			s.mu.Unlock()
			return t.compact(ctx, instructions)
		case t.model == nil && t.opened == nil: // see between
			s.mu.Unlock()
			return Compaction{}, ErrBusy
		}
		waiting := &compaction{instructions, make(chan Compaction, 1)}
		t.compactions = append(t.compactions, waiting)
		s.mu.Unlock()
		select {
		case c, ok := <-waiting.done:
			if ok {
				return c, nil
			}
		case <-ctx.Done():
			return Compaction{}, ctx.Err()
		}
	}
}

// between claims the session for work between two turns, which Cancel ends. Nothing can be added to it. s.mu is held.
func (s *Session) between() *Turn {
	t := &Turn{s: s, number: s.turns, began: s.o.Now(), name: s.models.current(), over: true}
	t.life, t.kill = context.WithCancel(s.ctx)
	t.ctx, t.cancel = context.WithCancel(t.life)
	s.running = t
	s.working.Add(1)
	return t
}

// compact makes the conversation shorter between two turns.
func (t *Turn) compact(ctx context.Context, instructions string) (done Compaction, err error) {
	defer context.AfterFunc(ctx, t.cancel)()
	defer t.end() // also after a panic
	m, err := t.find()
	if err != nil || m == nil {
		return Compaction{Kind: "none"}, err
	}
	_, err = t.guarded(func() (StopReason, error) {
		l := t.loop()
		l.Model = m
		c := conversation{t}
		c.s.window.Serve(m.Name(), c.s.models.window(m.Name()), c.s.o.Now())
		done = c.compactNow(t.ctx, l.Ask, instructions)
		return "", nil
	})
	if r := t.s.record; r.open != nil && t.usage != (model.Usage{}) { // it is no turn's
		r.add(r.entry(t.number, store.Notice, "", "", body{Usage: &t.usage}))
	}
	t.s.outbox.flush()
	return done, err
}

// compactWaiting does what waits for the next request, and reports whether it has rewritten messages.
func (c conversation) compactWaiting(ctx context.Context, ask loop.Ask) (rewritten bool) {
	c.s.mu.Lock()
	waiting := c.compactions
	c.compactions = nil
	c.s.mu.Unlock()
	if len(waiting) == 0 {
		return false
	}
	done := c.compactNow(ctx, ask, waiting[0].instructions)
	for _, w := range waiting {
		w.done <- done
	}
	return done.ID != ""
}

// compactNow makes the conversation shorter.
func (c conversation) compactNow(ctx context.Context, ask loop.Ask, instructions string) Compaction {
	w := c.s.window
	have := w.Tokens()
	if have-w.Overhead() >= leastCompacted {
		if done := c.summarise(ctx, ask, instructions); done.ID != "" {
			return done
		}
		if r, before := w.PruneAll(handle); r != nil {
			return Compaction{c.rewrote(r, before), "prune", r.Before, r.After}
		}
	}
	return Compaction{Kind: "none", Before: have, After: have}
}
