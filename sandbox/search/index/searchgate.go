package index

import (
	"context"
	"sync"
	"time"
)

// searchGate pauses background work while searches run. A thread of low priority is not enough: its
// goroutine occupies one of Go's few processors (P) even while the thread waits for a CPU.
type searchGate struct {
	mu       sync.Mutex
	searches int
	idle     chan struct{} // closed when the last search ends; nil without one
}

// Search pauses background indexing until end is called; use it around searches made of several
// scans. x may be nil.
func (x *Indexes) Search() (end func()) {
	if x == nil {
		return func() {}
	}
	return x.searches.begin()
}

// begin counts a search; end uncounts it.
func (t *searchGate) begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.searches++; t.idle == nil {
		t.idle = make(chan struct{})
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.searches--; t.searches == 0 {
			close(t.idle)
			t.idle = nil
		}
	}
}

// The wait budgets of a build and of a rescan. A build gains waiting time with the time that it
// works.
const (
	buildWaitBudget = 10 * time.Second
	checkWaitBudget = time.Second
	// buildDutyCycle lets a build work a tenth of the time if searches never end.
	buildDutyCycle = 9
)

// throttle makes background work wait while searches run, up to waitBudget in all. It is for one
// goroutine.
type throttle struct {
	searches   *searchGate
	now        func() time.Time
	waitBudget time.Duration
	// dutyCycle is the waiting time gained per time worked between two calls of yield.
	dutyCycle time.Duration
	since     time.Time // the end of the last call
	// waited is the total waiting time.
	waited time.Duration
}

// yield waits until no search runs.
func (b *throttle) yield(ctx context.Context) {
	began := b.now()
	if !b.since.IsZero() {
		b.waitBudget += b.dutyCycle * began.Sub(b.since)
	}
	defer func() { b.since = b.now() }()
	b.searches.mu.Lock()
	none := b.searches.idle
	b.searches.mu.Unlock()
	if none == nil || b.waitBudget <= 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, b.waitBudget)
	defer done()
	select {
	case <-none:
		b.waitBudget -= b.now().Sub(began)
	case <-ctx.Done():
		b.waitBudget = 0
	}
	b.waited += b.now().Sub(began)
}
