package run

import (
	"context"
	"maps"
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
	begun   int     // how many of them were started, or wait for a worker of their batch
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
	for s.begun < len(s.calls) {
		c := s.calls[s.begun]
		if !s.fits(s.footprintOf(c)) {
			break
		}
		if c.sched.hooking || c.awaitsHooks() { // which may take long, and change what the call is about
			if s.busy > 0 && s.busy >= s.open.limit {
				break // hooks take a worker's place
			}
			if s.hookTogether(); c.sched.hooking {
				break
			}
			continue
		}
		s.join(c)
		s.begun++
		s.start(c)
	}
	s.feeding = false
	if s.closed && s.begun == len(s.calls) {
		s.open.close()
	}
}

// start runs a call of the open batch: in a goroutine of its own while nothing runs beside it, else on the batch's pool. The pool is
// made for the second call; the first one occupies one of its workers until it has ended. s.mu is held.
func (s *Stream) start(c *call) {
	b := s.open
	switch {
	case b.pool == nil && s.busy == 0:
		s.busy++
		s.open.lone, s.open.over = c, nil
		s.running.start(func() { s.carry(c, b.inBatch(c, s.ctx), b.stop) })
		return
	case b.pool == nil:
		over := make(chan struct{})
		s.open.over = over
		s.open.pool = newBatchPool(s.ctx, b.limit, &s.running)
		s.open.pool.submit(func(context.Context) { <-over })
	}
	s.busy++
	s.open.pool.submit(func(ctx context.Context) { s.carry(c, b.inBatch(c, ctx), b.stop) })
}

// carry runs a call under a context and gives its result out.
func (s *Stream) carry(c *call, ctx context.Context, stop context.CancelCauseFunc) {
	defer s.ended(c)
	c.ctx = ctx
	if c.run(); c.fails() {
		stop(errSibling)
	}
	s.yield(c)
}

// footprintOf is where a call belongs, by what is known of it. s.mu is held, and released while it is found out.
func (s *Stream) footprintOf(c *call) footprint {
	if c.sched.footprint == nil {
		s.mu.Unlock()
		where := c.footprint()
		s.mu.Lock()
		c.sched.footprint = &where
	}
	return *c.sched.footprint
}

// hookTogether starts the hooks of the next call, and of those behind it that may run together with it by what is known of them. Each is
// placed anew when its hooks have run. s.mu is held, and released in between; s.feeding is set.
func (s *Stream) hookTogether() {
	next := batch{limit: max(1, s.calls[s.begun].limit())}
	room := next.limit
	if s.busy > 0 {
		next.files, room = maps.Clone(s.open.files), s.open.limit-s.busy
		next.begun, next.together = s.open.begun, s.open.together
	}
	for i := s.begun; i < len(s.calls) && room > 0; i++ {
		c := s.calls[i]
		where := s.footprintOf(c)
		if next.begun && !next.takes(where) {
			return
		}
		next.add(where)
		room--
		if c.sched.hooking || !c.awaitsHooks() {
			continue
		}
		c.sched.hooksBegin()
		s.running.start(func() {
			_ = c.beforeHooks() // the error is that of its stage
			s.mu.Lock()
			defer s.mu.Unlock()
			c.sched.hooksEnd()
			s.feed()
		})
	}
}

// fits reports whether a call may be started: it joins the open batch, or all calls of that one have ended. s.mu is held.
func (s *Stream) fits(where footprint) bool { return s.busy == 0 || s.open.takes(where) }

// join makes the next call, which fits, one of the open batch, or of a new one. s.mu is held.
func (s *Stream) join(c *call) {
	if !s.open.begun || !s.open.takes(*c.sched.footprint) {
		s.open.close()
		s.open = batch{limit: max(1, c.limit())}
		s.open.commands, s.open.stop = context.WithCancelCause(s.ctx)
		s.batches = append(s.batches, nil)
	}
	s.open.add(*c.sched.footprint)
	last := len(s.batches) - 1
	s.batches[last] = append(s.batches[last], s.begun)
	c.sched.join(last+1, s.calls[s.batches[last][0]].ID)
}

// ended starts what may run now that a call has ended.
func (s *Stream) ended(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if s.open.lone == c && s.open.over != nil {
		close(s.open.over)
		s.open.lone = nil
	}
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
		c.enter(Yielded, Event{Phase: c.shown.phase, Result: &c.result})
	}
}

// Wait returns the results of all calls, in order, once the last one has ended.
func (s *Stream) Wait() []tools.Result {
	s.mu.Lock()
	s.closed = true
	s.feed()
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
