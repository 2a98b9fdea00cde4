package tree

import (
	"context"
	"sync"
	"time"
)

// searchGate let work in the background wait while there are searches. A thread of low priority is not enough for that: the goroutine on it
// keeps one of the few places that the scheduler of Go has, also while its thread waits for a processor.
type searchGate struct {
	mu       sync.Mutex
	searches int
	idle     chan struct{} // closed when there is none any more; nil while there is none
}

// Search has what is done in the background wait until the end of a search that is more than a Scan or a Walk, which end gives. x may be nil.
func (x *Indexes) Search() (end func()) {
	if x == nil {
		return func() {}
	}
	return x.searches.begin()
}

// begin notes that a search has begun; what it gives notes that it has ended.
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

// How long the background waits in all while an index is built, beside a share of the time that it works, and each time that what no event
// tells of is looked for.
const (
	buildWaitBudget = 10 * time.Second
	checkWaitBudget = time.Second
	// buildDutyCycle has it work a tenth of the time where searches never end.
	buildDutyCycle = 9
)

// throttle is work that waits while there are searches, but in all no longer than its patience. It is for one goroutine.
type throttle struct {
	searches   *searchGate
	now        func() time.Time
	waitBudget time.Duration
	// dutyCycle is how much longer it may wait for the time that it works between two calls of yield.
	dutyCycle time.Duration
	since     time.Time // the last such call has ended
	// waited is how long it has waited in all.
	waited time.Duration
}

// yield waits until there is no search.
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
