package backend

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent"
	"tandem/filetime"
	"tandem/lspserver/review"
	"tandem/tools/run"
)

// newsEvery is the least time between two events that hunks have changed.
const newsEvery = 100 * time.Millisecond

// reviewNews debounces the news that a session's hunks have changed: one event of all files in a while, which goes the way of
// the session's other events, behind those that are there already.
type reviewNews struct {
	changes *review.Log
	send    func(agent.Event)
	guard   func(func()) // runs what no request waits for

	mu      sync.Mutex
	changed map[string]bool   // files of which there is news
	typed   map[string]bool   // files in which somebody typed: whether that is news is looked at by the flush
	state   map[string]string // the fingerprints of the hunks when news of them was last sent
	timer   *time.Timer       // flushes; nil while nothing waits
	last    time.Time
}

func newReviewNews(changes *review.Log, guard func(func()), send func(agent.Event)) *reviewNews {
	return &reviewNews{
		changes: changes, guard: guard, send: send, changed: map[string]bool{}, typed: map[string]bool{}, state: map[string]string{},
	}
}

// landed looks for changes in an event of the session. They are in the store then, so there is no news of what a crash could
// lose.
func (n *reviewNews) landed(e agent.Event) {
	if e.Call == nil || e.Call.State != run.Completed || e.Call.Result == nil {
		return
	}
	for _, l := range []*filetime.Landed{e.Call.Result.Landed, e.Call.Result.Effects} {
		if l == nil {
			continue
		}
		for _, f := range l.Files {
			if f.Applied && !f.Already {
				n.hunksChanged(f.Path)
				if f.Origin != "" {
					n.hunksChanged(f.Origin)
				}
			}
		}
	}
}

// hunksChanged says that the hunks of files have changed; it never blocks.
func (n *reviewNews) hunksChanged(paths ...string) { n.gather(&n.changed, paths) }

// textChanged says that somebody else has changed the text of a file, which may have changed its hunks too.
func (n *reviewNews) textChanged(path string) {
	if n.changes.Tracks(path) {
		n.gather(&n.typed, []string{path})
	}
}

func (n *reviewNews) gather(into *map[string]bool, paths []string) {
	if len(paths) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range paths {
		(*into)[p] = true
	}
	if n.timer == nil {
		n.timer = time.AfterFunc(max(0, newsEvery-time.Since(n.last)), func() { n.guard(n.flush) })
	}
}

// flush sends what waits.
func (n *reviewNews) flush() {
	n.mu.Lock()
	paths, typed := n.changed, n.typed
	if n.timer != nil {
		n.timer.Stop()
	}
	n.changed, n.typed, n.timer, n.last = map[string]bool{}, map[string]bool{}, nil, time.Now()
	n.mu.Unlock()
	for p := range typed {
		paths[p] = paths[p] || false
	}
	var news []string
	for p, certain := range paths {
		now := fingerprint(n.changes.Marks(p))
		n.mu.Lock()
		if certain || n.state[p] != now {
			news = append(news, p)
		}
		n.state[p] = now
		n.mu.Unlock()
	}
	if slices.Sort(news); len(news) > 0 {
		n.send(agent.Event{Hunks: news})
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
