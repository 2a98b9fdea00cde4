package agent

import (
	"slices"
	"sync"
	"time"
)

// teller tells the client what happens in a session, in its order, each event once what it says is written down: a client
// is told nothing that could be missing after a crash. The turn goes on meanwhile, and what comes within a moment is
// written at once.
type teller struct {
	record *record
	update func(Event)

	mu      sync.Mutex
	waiting []told
	timer   *time.Timer // drains
	timed   bool        // it runs
	hurried bool        // it runs to drain at once
}

// told is an event that waits until a batch is written, or behind one that does. Either may be nil.
type told struct {
	event *Event
	after *batch
}

const (
	// gather is how long an event waits for others to be written with, unless they are as many bytes as enough. Nobody
	// sees it.
	gather = 10 * time.Millisecond
	enough = 16 << 10
	// maxWaiting is how many events wait before the turn does.
	maxWaiting = 1024
)

// say tells of an event, after what was said before it and once after is written.
func (t *teller) say(e Event, after *batch) { t.add(told{&e, after}) }

// keep has a batch written before what is said from now on is told.
func (t *teller) keep(b *batch) {
	if b != nil {
		t.add(told{nil, b})
	}
}

func (t *teller) add(w told) {
	t.mu.Lock()
	t.queue(w)
	many := len(t.waiting) > maxWaiting
	t.mu.Unlock()
	if many {
		t.drain()
	}
}

// mention tells of an event like say, and never waits: it may come while something is written.
func (t *teller) mention(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue(told{&e, nil})
}

// queue adds an event and tells of what need not wait. t.mu is held.
func (t *teller) queue(w told) {
	t.waiting = append(t.waiting, w)
	t.deliver()
	if len(t.waiting) > 0 {
		t.later(w.after != nil && w.after.size.Load() >= enough)
	}
}

// later sees to it that there will be a drain, at once with hurry. t.mu is held.
func (t *teller) later(hurry bool) {
	if t.hurried || t.timed && !hurry {
		return
	}
	wait := gather
	if hurry {
		wait = 0
	}
	if t.timed, t.hurried = true, hurry; t.timer == nil {
		t.timer = time.AfterFunc(wait, t.drain)
		return
	}
	t.timer.Reset(wait)
}

// drain has everything written that waits, and tells of it before it returns.
func (t *teller) drain() {
	t.mu.Lock()
	t.timed, t.hurried = false, false
	var open []*batch // calls may have been told of in another order than they were written down in
	for _, w := range t.waiting {
		if w.after != nil && !w.after.written.Load() && !slices.Contains(open, w.after) {
			open = append(open, w.after)
		}
	}
	t.mu.Unlock()
	for _, b := range open {
		t.record.commit(b)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deliver()
}

// deliver tells of what need not wait any more. t.mu is held.
func (t *teller) deliver() {
	n := 0
	for n < len(t.waiting) && (t.waiting[n].after == nil || t.waiting[n].after.written.Load()) {
		if e := t.waiting[n].event; e != nil {
			t.update(*e)
		}
		n++
	}
	t.waiting = slices.Delete(t.waiting, 0, n)
}
