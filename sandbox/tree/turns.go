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

// How long the background waits in all while an index is built, and each time that what no event tells of is looked for.
const (
	buildWaits = 10 * time.Second
	checkWaits = time.Second
)

// background is work that waits while there are searches, but in all no longer than its patience. It is for one goroutine.
type background struct {
	turns    *turns
	now      func() time.Time
	patience time.Duration
}

// yield waits until there is no search.
func (b *background) yield(ctx context.Context) {
	if b.patience <= 0 {
		return
	}
	b.turns.mu.Lock()
	none := b.turns.none
	b.turns.mu.Unlock()
	if none == nil {
		return
	}
	ctx, done := context.WithTimeout(ctx, b.patience)
	defer done()
	began := b.now()
	select {
	case <-none:
		b.patience -= b.now().Sub(began)
	case <-ctx.Done():
		b.patience = 0
	}
}
