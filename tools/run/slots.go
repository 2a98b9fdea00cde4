package run

import (
	"context"
	"slices"
	"sync"
)

// Slots is a FIFO semaphore: it bounds how many calls run at the same time. Calls that wait for a person take no slot.
type Slots struct {
	limit func() int
	of    *Slots

	mu    sync.Mutex
	used  int
	queue []chan struct{} // who waits, the first is next
}

// NewSlots makes as many slots as limit returns, which is asked whenever one is free. Each takes one of the wider slots too, unless those
// are nil.
func NewSlots(limit func() int, wider *Slots) *Slots { return &Slots{limit: limit, of: wider} }

// take waits for a slot; nil has as many as are wanted. release gives it back.
func (p *Slots) take(ctx context.Context) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	p.mu.Lock()
	if p.used < p.limit() && len(p.queue) == 0 {
		p.used++
		p.mu.Unlock()
	} else {
		turn := make(chan struct{})
		p.queue = append(p.queue, turn)
		p.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			p.mu.Lock()
			i := slices.Index(p.queue, turn)
			if i >= 0 {
				p.queue = slices.Delete(p.queue, i, i+1)
			}
			p.mu.Unlock()
			if i < 0 { // it came at the same moment
				p.leave()
			}
			return nil, context.Cause(ctx)
		}
	}
	wider, err := p.of.take(ctx)
	if err != nil {
		p.leave()
		return nil, err
	}
	return func() { wider(); p.leave() }, nil
}

// leave gives a slot back, and hands out those that are free.
func (p *Slots) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	for len(p.queue) > 0 && p.used < p.limit() {
		p.used++
		close(p.queue[0])
		p.queue = p.queue[1:]
	}
}
