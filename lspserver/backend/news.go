package backend

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/lspserver/review"
)

// settleDown is the least time between two notifications that hunks have changed.
const settleDown = 100 * time.Millisecond

// reviewNews tells the editor that a session's hunks have changed, gathered to one notification in a while.
type reviewNews struct {
	changes *review.Log
	send    func(paths []string)
	guard   func(func()) // runs what stands beside the connection

	mu    sync.Mutex
	paths map[string]bool   // to be told of
	look  map[string]bool   // somebody typed there: to be looked at first
	state map[string]string // what the hunks were when they were last told of
	timer *time.Timer
	last  time.Time
}

func newReviewNews(changes *review.Log, guard func(func()), send func(paths []string)) *reviewNews {
	return &reviewNews{
		changes: changes, guard: guard, send: send, paths: map[string]bool{}, look: map[string]bool{}, state: map[string]string{},
	}
}

// tell says that the hunks of paths have changed; it never blocks.
func (n *reviewNews) tell(paths ...string) { n.gather(true, paths) }

// typed says that somebody else has changed the text of a path, which may have changed its hunks too.
func (n *reviewNews) typed(path string) {
	if n.changes.Tracks(path) {
		n.gather(false, []string{path})
	}
}

func (n *reviewNews) gather(tell bool, paths []string) {
	if len(paths) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	into := n.look
	if tell {
		into = n.paths
	}
	for _, p := range paths {
		into[p] = true
	}
	if n.timer == nil {
		n.timer = time.AfterFunc(max(0, settleDown-time.Since(n.last)), func() { n.guard(n.flush) })
	}
}

func (n *reviewNews) flush() {
	n.mu.Lock()
	paths, look := n.paths, n.look
	n.paths, n.look, n.timer, n.last = map[string]bool{}, map[string]bool{}, nil, time.Now()
	n.mu.Unlock()
	for p := range look {
		paths[p] = paths[p] || false
	}
	var changed []string
	for p, told := range paths {
		now := fingerprint(n.changes.Marks(p))
		n.mu.Lock()
		if told || n.state[p] != now {
			changed = append(changed, p)
		}
		n.state[p] = now
		n.mu.Unlock()
	}
	if slices.Sort(changed); len(changed) > 0 {
		n.send(changed)
	}
}

// fingerprint is what of hunks is news; that they have moved is not, since editors move what they show along with the text.
func fingerprint(hunks []review.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		text := ""
		if h.Amended {
			text = h.Now.Slice(h.Start, h.End)
		}
		fmt.Fprintf(&b, "%s %s %q\n", h.ID, h.Status, text)
	}
	return b.String()
}
