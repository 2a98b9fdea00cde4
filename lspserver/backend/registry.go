package backend

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// registry is the open sessions, by id.
type registry struct {
	// loading is held while a stored session is opened, renamed or deleted: one at a time, so that none is opened twice.
	loading sync.Mutex

	mu    sync.Mutex
	open  map[string]*openSession
	ended bool // none is admitted any more
}

// openSession is a session and the time of its last use.
type openSession struct {
	*Session
	used time.Time
}

// find gives the session of an id, or nil.
func (r *registry) find(id string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.open[id]; o != nil {
		return o.Session
	}
	return nil
}

// all are the sessions, ordered by id.
func (r *registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.open))
	for _, o := range r.open {
		out = append(out, o.Session)
	}
	slices.SortFunc(out, func(x, y *Session) int { return strings.Compare(x.id, y.id) })
	return out
}

// latest is the most recently used session, or nil.
func (r *registry) latest() (found *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var used time.Time
	for _, o := range r.open {
		if found == nil || o.used.After(used) || o.used.Equal(used) && o.id < found.id {
			found, used = o.Session, o.used
		}
	}
	return found
}

// admit makes a session an open one, or says that it stays one unless it was closed meanwhile. It fails once the registry has ended.
func (r *registry) admit(se *Session, isNew bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.open[se.id]
	if r.ended || !isNew && (known == nil || known.Session != se) {
		return false
	}
	if isNew {
		if r.open == nil {
			r.open = map[string]*openSession{}
		}
		r.open[se.id] = &openSession{se, now}
	}
	return true
}

// use updates the time of a session's last use.
func (r *registry) use(se *Session, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.open[se.id]; o != nil && o.Session == se {
		o.used = now
	}
}

// lastUse is when a session was last used.
func (r *registry) lastUse(id string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.open[id]; o != nil {
		return o.used
	}
	return time.Time{}
}

// remove takes a session out.
func (r *registry) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

// end admits no further session.
func (r *registry) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
