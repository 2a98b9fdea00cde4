package tree

import (
	"context"
	"sync"
	"time"
)

// turns let work in the background wait while there are searches. A thread of low priority is not enough for that: the goroutine on it
// keeps one of the few places that the scheduler of Go has, also while its thread waits for a processor.
type turns struct {
	mu       sync.Mutex
	searches int
	none     chan struct{} // closed when there is none any more; nil while there is none
}

// Search has what is done in the background wait until the end of a search that is more than a Scan or a Walk, which end gives. x may be nil.
func (x *Indexes) Search() (end func()) {
	if x == nil {
		return func() {}
	}
	return x.turns.begin()
}

// begin notes that a search has begun; what it gives notes that it has ended.
func (t *turns) begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.searches++; t.none == nil {
		t.none = make(chan struct{})
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.searches--; t.searches == 0 {
			close(t.none)
			t.none = nil
		}
	}
}

// How long the background waits in all while an index is built, beside a share of the time that it works, and each time that what no event
// tells of is looked for.
const (
	buildWaits = 10 * time.Second
	checkWaits = time.Second
	// buildShare has it work a tenth of the time where searches never end.
	buildShare = 9
)

// background is work that waits while there are searches, but in all no longer than its patience. It is for one goroutine.
type background struct {
	turns    *turns
	now      func() time.Time
	patience time.Duration
	// share is how much longer it may wait for the time that it works between two calls of yield.
	share time.Duration
	since time.Time // the last such call has ended
	// waited is how long it has waited in all.
	waited time.Duration
}

// yield waits until there is no search.
func (b *background) yield(ctx context.Context) {
	began := b.now()
	if !b.since.IsZero() {
		b.patience += b.share * began.Sub(b.since)
	}
	defer func() { b.since = b.now() }()
	b.turns.mu.Lock()
	none := b.turns.none
	b.turns.mu.Unlock()
	if none == nil || b.patience <= 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, b.patience)
	defer done()
	select {
	case <-none:
		b.patience -= b.now().Sub(began)
	case <-ctx.Done():
		b.patience = 0
	}
	b.waited += b.now().Sub(began)
}
