package agent

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// outbox is a transactional outbox: it delivers a session's events to the client in order, each once the entries that it tells of
// are in the store, so that a client hears of nothing that a crash could lose. The turn goes on meanwhile. What is put in
// within a short time is written in one transaction.
type outbox struct {
	record  *record
	deliver func(Event)

	mu         sync.Mutex
	items      []item // in order
	delivering bool   // a goroutine delivers; only one may
	delivered  sync.Cond
	timer      *time.Timer // flushes
	armed      bool        // the timer runs
	urgent     bool        // it runs without delay
}

// item is an event, which is delivered once a batch is written and all items before it are done. Either may be nil: an event of
// which nothing is stored, or a barrier.
type item struct {
	event *Event
	after *batch
}

const (
	// gather is how long a batch waits for more entries: too short for a person to notice.
	gather = 10 * time.Millisecond
	// enough is how many bytes a batch has that does not wait once the turn waits for its model.
	enough = 16 << 10
	// maxWaiting is how many items wait before the turn has to (back pressure).
	maxWaiting = 1024
)

func newOutbox(r *record, deliver func(Event)) *outbox {
	o := &outbox{record: r, deliver: deliver}
	o.delivered.L = &o.mu
	return o
}

// put adds an event that reports the entries of a batch, nil for none. It blocks while the queue is full.
func (o *outbox) put(e Event, after *batch) {
	o.mu.Lock()
	o.add(item{&e, after})
	full := len(o.items) > maxWaiting
	o.mu.Unlock()
	if full {
		o.flush()
	}
}

// notify adds an event of which nothing is stored, and never waits: it may be called by whoever writes.
func (o *outbox) notify(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(item{&e, nil})
}

// barrier has a batch written before the events that are put in later are delivered; nil is none. It is called when the turn is
// about to wait for its model, so that a large batch is written meanwhile.
func (o *outbox) barrier(b *batch) {
	if b == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(item{nil, b})
	if len(o.items) > 0 && b.size.Load() >= enough {
		o.arm(true)
	}
}

// add appends an item and delivers what can be. o.mu is held.
func (o *outbox) add(i item) {
	o.items = append(o.items, i)
	o.deliverReady()
	if len(o.items) > 0 {
		o.arm(false)
	}
}

// arm starts the timer, without delay where it is urgent. o.mu is held.
func (o *outbox) arm(urgent bool) {
	if o.urgent || o.armed && !urgent {
		return
	}
	delay := gather
	if urgent {
		delay = 0
	}
	if o.armed, o.urgent = true, urgent; o.timer == nil {
		o.timer = time.AfterFunc(delay, o.flush)
		return
	}
	o.timer.Reset(delay)
}

// flush writes the batches of all items and delivers their events before it returns.
func (o *outbox) flush() {
	o.mu.Lock()
	if o.armed {
		o.timer.Stop() // it need not wake anybody
	}
	o.armed, o.urgent = false, false
	var open []*batch // several: events of calls that run together may be put in out of the order of their batches
	for _, i := range o.items {
		if i.after != nil && !i.after.written.Load() && !slices.Contains(open, i.after) {
			open = append(open, i.after)
		}
	}
	o.mu.Unlock()
	for _, b := range open {
		o.record.commit(b)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.delivering {
		o.delivered.Wait()
	}
	o.deliverReady()
}

// deliverReady delivers the items up to the first whose batch is not written, unless another goroutine is about to. o.mu is
// held, and released while an event is delivered.
func (o *outbox) deliverReady() {
	if o.delivering {
		return
	}
	o.delivering = true
	for {
		n := 0
		for n < len(o.items) && (o.items[n].after == nil || o.items[n].after.written.Load()) {
			n++
		}
		if n == 0 {
			break
		}
		ready := slices.Clone(o.items[:n])
		o.items = slices.Delete(o.items, 0, n)
		o.mu.Unlock()
		for _, i := range ready {
			if i.event != nil {
				o.safely(*i.event)
			}
		}
		o.mu.Lock()
	}
	o.delivering = false
	o.delivered.Broadcast()
}

// safely delivers an event. A panic there is logged and must not silence the session.
func (o *outbox) safely(e Event) {
	defer func() {
		if v := recover(); v != nil {
			o.record.log.Error("telling of an event panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	o.deliver(e)
}
