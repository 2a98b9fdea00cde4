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
	feeder background

	mu      sync.Mutex
	calls   []*call // in order
	feeding bool    // a goroutine hands calls to the workers
	fed     int     // how many of the calls it has taken
	batches [][]int
	closed  bool

	// The feeder's own.
	open    batch
	workers workers

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
	if !s.feeding {
		s.feeding = true
		s.feeder.start(s.feed)
	}
}

// feed starts the calls that are there, each as soon as it may run.
func (s *Stream) feed() {
	for {
		s.mu.Lock()
		i := s.fed
		if i == len(s.calls) {
			s.feeding = false
			s.mu.Unlock()
			return
		}
		c := s.calls[i]
		s.fed++
		s.mu.Unlock()
		s.start(i, c)
	}
}

func (s *Stream) start(i int, c *call) {
	where := c.slot()
	fresh := !s.open.begun
	if !s.open.join(where) {
		s.workers.wait()
		s.open = batch{}
		s.open.join(where)
		fresh = true
	}
	s.mu.Lock()
	if fresh {
		s.workers = newWorkers(c.limit())
		s.batches = append(s.batches, nil)
	}
	last := len(s.batches) - 1
	s.batches[last] = append(s.batches[last], i)
	c.group = s.calls[s.batches[last][0]].ID
	s.mu.Unlock()
	c.batch = last + 1
	s.workers.start(func() {
		c.run()
		s.yield(c)
	})
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
	s.feeder.wait()
	if s.open.begun {
		s.workers.wait()
	}
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
