package run

import (
	"context"
	"sync"

	"tandem/tools"
)

// Stream runs the calls of a turn while the model is still asking for more. Calls start in the order in which they were
// submitted, as soon as they may run with those that are open; results and the state Yielded come in that order too,
// whatever finishes first.
//
// Submit and Cancelled may be called concurrently. Wait must be called once, after the last Submit.
type Stream struct {
	host    *Host
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running background

	mu      sync.Mutex
	calls   []*call // in order
	begun   int     // how many of them were started
	busy    int     // how many of those have not ended
	feeding bool    // a goroutine is in feed
	open    batch   // what the last ones that were started belong to
	batches [][]int
	closed  bool

	order   sync.Mutex // held while results are given out
	done    map[*call]bool
	yielded int
}

// NewStream makes a Stream. The end of ctx cancels the calls that run and those that have not begun; each still gets
// its Result.
func NewStream(ctx context.Context, host *Host) *Stream {
	s := &Stream{host: host, done: map[*call]bool{}}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// Submit adds a call. It never waits for one.
func (s *Stream) Submit(asked Call) {
	c := &call{Call: asked, ctx: s.ctx, host: s.host, cancelTurn: s.cancel}
	c.prepare()
	c.enter(Queued, Event{Phase: "use"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		panic("run: Submit after Wait")
	}
	s.calls = append(s.calls, c)
	s.feed()
}

// feed starts the next calls as long as they may run with those that do: whoever adds a call, or has carried one out, does it,
// one goroutine at a time, so that no goroutine of its own has to be woken for that. s.mu is held, and released while it is
// found out where a call belongs.
func (s *Stream) feed() {
	if s.feeding {
		return
	}
	s.feeding = true
	defer func() { s.feeding = false }()
	for s.begun < len(s.calls) {
		c := s.calls[s.begun]
		if c.where == nil {
			s.mu.Unlock()
			where := c.slot()
			s.mu.Lock()
			c.where = &where
		}
		if !s.join(c) {
			return
		}
		s.busy++
		s.begun++
		stop := s.open.stop
		if c.tool != nil && c.tool.Spec().Together == tools.Commands {
			c.ctx = s.open.commands
		}
		s.running.start(func() {
			defer s.ended()
			if c.run(); c.fails() {
				stop(errSibling)
			}
			s.yield(c)
		})
	}
}

// join makes the next call one of the open batch, or where all calls of that one have ended, of a new one. It is false while the
// call has to wait. s.mu is held.
func (s *Stream) join(c *call) bool {
	if s.open.begun && s.busy == s.open.limit {
		return false
	}
	if !s.open.begun || !s.open.join(*c.where) {
		if s.busy > 0 {
			return false
		}
		s.open = batch{limit: max(1, c.limit())}
		s.open.commands, s.open.stop = context.WithCancelCause(s.ctx)
		s.open.join(*c.where)
		s.batches = append(s.batches, nil)
	}
	last := len(s.batches) - 1
	s.batches[last] = append(s.batches[last], s.begun)
	c.batch, c.group = last+1, s.calls[s.batches[last][0]].ID
	return true
}

// ended starts what may run now that a call has ended.
func (s *Stream) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.feed()
}

// yield gives out the results that are ready and whose turn it is.
func (s *Stream) yield(finished *call) {
	s.order.Lock()
	defer s.order.Unlock()
	s.done[finished] = true
	for {
		s.mu.Lock()
		if s.yielded == len(s.calls) || !s.done[s.calls[s.yielded]] {
			s.mu.Unlock()
			return
		}
		c := s.calls[s.yielded]
		s.yielded++
		s.mu.Unlock()
		delete(s.done, c)
		c.enter(Yielded, Event{Phase: c.phase, Result: &c.result})
	}
}

// Wait returns the results of all calls, in order, once the last one has ended.
func (s *Stream) Wait() []tools.Result {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.wait()
	results := make([]tools.Result, len(s.calls))
	for i, c := range s.calls {
		results[i] = c.result
	}
	s.cancel(nil)
	return results
}

// Batches says which calls ran together, as indexes in order. It may be called after Wait.
func (s *Stream) Batches() [][]int { return s.batches }

// Batch carries calls out as Partition groups them and gives their results in request order, with the groups.
func Batch(ctx context.Context, host *Host, calls []Call) ([]tools.Result, [][]int) {
	s := NewStream(ctx, host)
	for _, c := range calls {
		s.Submit(c)
	}
	return s.Wait(), s.Batches()
}
