package lspserver

import (
	"maps"
	"slices"
	"sync"
	"time"

	"tandem/lspserver/workspace"
)

// swapWait is how long a change whose version skips one waits for the missing one.
const swapWait = 50 * time.Millisecond

// changeOrder is a reorder buffer: it applies the changes of each document in the order of their versions. Helix 25.01 sends versions 34,
// 36, 35. A change that skips a version waits for the missing one. If a request, another notification about the document, or nothing comes
// in its place, the client leaves versions out by itself, as those do that gather changes, and no change of it waits again.
type changeOrder struct {
	mu    sync.Mutex // also held while a change is applied, so that no other overtakes it
	docs  map[string]*docOrder
	skips bool // the client leaves versions out
	swaps bool // the client has sent a change before the one that it follows
}

// docOrder is what has come of one document. Its timer runs while a change waits.
type docOrder struct {
	last  int32
	early map[int32]func()
	timer *time.Timer
	whole chan struct{} // of the timer: closed when nothing waits any more
}

// opened begins with the version of a document that was opened.
func (o *changeOrder) opened(uri string, version int32) {
	o.closed(uri)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.docs[uri] = &docOrder{last: version, early: map[int32]func(){}}
}

// closed ends what opened began.
func (o *changeOrder) closed(uri string) {
	o.settle(uri)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.docs, uri)
}

// change applies a change, at once if it is the next one. It keeps uri.
func (o *changeOrder) change(uri string, version int32, apply func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.docs[uri]
	if d != nil && d.early[version] != nil { // versions mean nothing there
		o.release(d)
	}
	switch {
	case d == nil || version == workspace.NoVersion:
		apply()
	case version <= d.last+1 || o.skips:
		d.take(version, apply)
		for next := d.early[d.last+1]; next != nil; next = d.early[d.last+1] {
			o.swaps = true
			d.take(d.last+1, next)
		}
	default:
		if d.early[version] = apply; d.timer == nil {
			d.whole = make(chan struct{})
			d.timer = time.AfterFunc(swapWait, func() { o.settle(uri) })
		}
	}
}

// take applies a change.
func (d *docOrder) take(version int32, apply func()) {
	delete(d.early, version)
	d.last = version
	apply()
	if len(d.early) == 0 && d.timer != nil {
		d.timer.Stop()
		d.timer = nil
		close(d.whole)
	}
}

// settle applies the early changes of a document: no missing one will come.
func (o *changeOrder) settle(uri string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.docs[uri]; d != nil {
		o.release(d)
	}
}

func (o *changeOrder) release(d *docOrder) {
	o.skips = o.skips || d.timer != nil && !o.swaps
	for _, version := range slices.Sorted(maps.Keys(d.early)) {
		d.take(version, d.early[version])
	}
}

// request is called before each request of the client. What depends on the changes that came before has them, unless the client is known
// to swap changes.
func (o *changeOrder) request() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.docs {
		if !o.swaps {
			o.release(d)
		}
	}
}

// await returns when no change of a document waits, after swapWait at the latest: an answer about the document came after them. It does not
// end the waiting itself, for a client that swaps changes may answer between two.
func (o *changeOrder) await(uri string) {
	o.mu.Lock()
	d, whole := o.docs[uri], make(chan struct{})
	if d != nil && d.timer != nil {
		whole = d.whole
	} else {
		close(whole)
	}
	o.mu.Unlock()
	<-whole
}

// complete reports that no change of a document is missing.
func (o *changeOrder) complete(uri string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.docs[uri]
	return d == nil || d.timer == nil
}
