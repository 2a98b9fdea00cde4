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
	host   *Host
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	calls   []*call // in order
	begun   int     // how many of them have begun
	open    batch   // that the last of them belongs to
	running int     // how many of them run, all of the open batch, and
	limit   int     // how many may
	batches [][]int
	closed  bool
	over    sync.Cond // on mu: everything has ended

	order   sync.Mutex // held while results are given out
	done    map[*call]bool
	yielded int
}

// NewStream makes a Stream. The end of ctx cancels the calls that run and those that have not begun; each still gets
// its Result.
func NewStream(ctx context.Context, host *Host) *Stream {
	s := &Stream{host: host, done: map[*call]bool{}}
	s.over.L = &s.mu
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

// Submit adds a call. It never waits for one.
func (s *Stream) Submit(asked Call) {
	c := &call{Call: asked, ctx: s.ctx, host: s.host, cancelTurn: s.cancel}
	c.over = func() { s.ended(c) }
	c.prepare()
	c.where = c.slot()
	c.enter(Queued, Event{Phase: "use"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		panic("run: Submit after Wait")
	}
	s.calls = append(s.calls, c)
	s.advance()
}

// advance begins the calls that may begin: the next one with those of its batch, or alone once they have ended. s.mu is held.
func (s *Stream) advance() {
	for s.begun < len(s.calls) {
		c, fresh := s.calls[s.begun], !s.open.begun
		if s.running > 0 && s.running >= s.limit {
			return
		}
		if !s.open.join(c.where) {
			if s.running > 0 {
				return
			}
			s.open, fresh = batch{}, true
			s.open.join(c.where)
		}
		if fresh {
			s.limit, s.batches = max(1, c.limit()), append(s.batches, nil)
		}
		last := len(s.batches) - 1
		s.batches[last] = append(s.batches[last], s.begun)
		c.batch, c.group = last+1, s.calls[s.batches[last][0]].ID
		s.begun++
		s.running++
		go func() {
			roomy()
			c.begun = c.host.now()
			c.run()
		}()
	}
}

// ended takes the result of a call, and begins what has waited for its end.
func (s *Stream) ended(c *call) {
	s.yield(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.advance(); s.running == 0 {
		s.over.Broadcast()
	}
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
	for s.running > 0 { // the last to end begins what has waited for it
		s.over.Wait()
	}
	s.mu.Unlock()
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
