package agent

import (
	"runtime/debug"
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
	telling bool      // somebody tells of what need not wait
	told    sync.Cond // on mu: nobody does any more
	timer   *time.Timer
	timed   bool // the timer runs, to drain
	hurried bool // it runs to drain at once
}

// told is an event that waits until a batch is written, or behind one that does. Either may be nil.
type told struct {
	event *Event
	after *batch
}

const (
	// gather is how long an event waits for others to be written with. Nobody sees it.
	gather = 10 * time.Millisecond
	// enough bytes are written as soon as the turn waits for its model.
	enough = 16 << 10
	// maxWaiting is how many events wait before the turn does.
	maxWaiting = 1024
)

func newTeller(r *record, update func(Event)) *teller {
	t := &teller{record: r, update: update}
	t.told.L = &t.mu
	return t
}

// say tells of an event, after what was said before it and once after is written.
func (t *teller) say(e Event, after *batch) {
	t.mu.Lock()
	t.queue(told{&e, after})
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

// keep has a batch written before what is said from now on is told. The turn is about to wait for its model.
func (t *teller) keep(b *batch) {
	if b == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue(told{nil, b})
	if len(t.waiting) > 0 && b.size.Load() >= enough {
		t.later(true)
	}
}

// queue adds an event and tells of what need not wait. t.mu is held.
func (t *teller) queue(w told) {
	t.waiting = append(t.waiting, w)
	t.deliver()
	if len(t.waiting) > 0 {
		t.later(false)
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
	for t.telling {
		t.told.Wait()
	}
	t.deliver()
}

// deliver tells of what need not wait any more, unless somebody does. t.mu is held, and let go meanwhile.
func (t *teller) deliver() {
	if t.telling {
		return
	}
	t.telling = true
	for {
		n := 0
		for n < len(t.waiting) && (t.waiting[n].after == nil || t.waiting[n].after.written.Load()) {
			n++
		}
		if n == 0 {
			break
		}
		ready := slices.Clone(t.waiting[:n])
		t.waiting = slices.Delete(t.waiting, 0, n)
		t.mu.Unlock()
		for _, w := range ready {
			if w.event != nil {
				t.tell(*w.event)
			}
		}
		t.mu.Lock()
	}
	t.telling = false
	t.told.Broadcast()
}

// tell hands an event to the client. A fault there must not silence the session.
func (t *teller) tell(e Event) {
	defer func() {
		if v := recover(); v != nil {
			t.record.log.Error("telling of an event panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	t.update(e)
}
