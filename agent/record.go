package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/agent/window"
)

// record writes down what happens in a session, so that it can go on in another process. What it was told is kept when
// its methods return, or where they give a batch once that is written. A session is in the store from its first entry on.
type record struct {
	open   func() store.Store // nil where nothing is kept
	now    func() time.Time
	log    *slog.Logger
	failed func(error) // told of the first failure, and with nil once everything is written again

	saving  sync.Mutex  // one Save at a time, so that the last one holds the latest
	resave  *time.Timer // flushes where one has failed; under saving
	writing sync.Mutex  // one Append at a time, so that entries stay in their order
	// What could not be written is tried again with what comes, though not at once, and after a while. All are under writing.
	missed  []store.Entry
	retryAt time.Time
	again   *time.Timer // flushes

	mu      sync.Mutex
	meta    store.Session
	begun   bool
	failing bool                     // the last try to write came to nothing
	unsaved bool                     // the metadata is not written
	broken  bool                     // nothing is written any more
	saying  map[string]string        // by call: what the model had said when it asked for it
	results map[string]model.Message // by call of a turn: what a model reads of its result
	next    *batch                   // what the next Append writes; nil for nothing
}

// batch are entries that are written at once, which takes about as long as to write one.
type batch struct {
	entries []store.Entry
	size    atomic.Int64 // bytes of their bodies
	written atomic.Bool  // or it will not be
}

// maxBlob is the size of the largest text of a file that is kept: a larger one would hold its call up.
const maxBlob = 1 << 20

// add writes entries, with those that wait and those that others add meanwhile.
func (r *record) add(entries ...store.Entry) {
	if r.open == nil || len(entries) == 0 {
		return
	}
	r.commit(r.join(entries))
}

// soon puts entries into the next batch, for its caller to commit; nil where nothing is kept.
func (r *record) soon(entries ...store.Entry) *batch {
	if r.open == nil || len(entries) == 0 {
		return nil
	}
	return r.join(entries)
}

// join puts entries into the next batch.
func (r *record) join(entries []store.Entry) *batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &batch{}
	}
	r.next.entries = append(r.next.entries, entries...)
	for _, e := range entries {
		r.next.size.Add(int64(len(e.Body)))
	}
	return r.next
}

// commit writes a batch, unless that was done while it waited for its turn.
func (r *record) commit(b *batch) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if b.written.Load() {
		return
	}
	_ = r.commitNow(b, r.append, false) // the person is told of it
}

// intend writes entries at once, with those that wait. An error means that they are not written, though they may be later. With
// synced they survive a crash of the machine.
func (r *record) intend(synced bool, entries []store.Entry) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.commitNow(r.join(entries), func(all []store.Entry) error { return r.open().Intend(r.meta.ID, synced, all...) }, true)
}

// commitNow writes the next batch, which is b. r.writing is held.
func (r *record) commitNow(b *batch, write func([]store.Entry) error, now bool) error {
	defer b.written.Store(true)
	r.mu.Lock()
	r.next = nil // it was b: only one is not written
	r.mu.Unlock()
	return r.write(b.entries, write, now)
}

func (r *record) append(entries []store.Entry) error { return r.open().Append(r.meta.ID, entries...) }

const (
	// retry is how long after a failure the next try comes: each may take seconds.
	retry = 10 * time.Second
	// maxMissed bounds the bytes that wait to be written again; more end the record, which must have no gaps.
	maxMissed = 16 << 20
)

// write writes entries after those that could not be written before, by a method of the store. r.writing is held.
func (r *record) write(entries []store.Entry, how func([]store.Entry) error, now bool) error {
	if len(r.missed) > 0 {
		entries = append(r.missed, entries...)
	}
	r.missed = nil
	r.mu.Lock()
	failing, broken, unsaved := r.failing, r.broken, r.unsaved
	r.mu.Unlock()
	if broken {
		return errNotKept
	}
	if len(entries) == 0 {
		return nil
	}
	var err error
	if !failing || now || !r.now().Before(r.retryAt) {
		err = r.sound(func() error {
			err := r.begin()
			if err == nil {
				err = how(entries)
			}
			return err
		})
		var held *store.HeldError
		final := errors.Is(err, store.ErrUnknown) || errors.As(err, &held) // another process has the session, or it was deleted
		if r.came(err, final); err == nil || final {
			if (failing || unsaved) && !final {
				r.set(func(*store.Session) {}) // it may have been changed meanwhile
			}
			return err
		}
		r.retryAt = r.now().Add(retry)
	}
	size := 0
	for _, e := range entries {
		size += len(e.Body) + len(e.Text)
		for _, b := range e.Blobs {
			size += len(b.Data)
		}
	}
	if size > maxMissed {
		r.mu.Lock()
		r.broken = true
		r.mu.Unlock()
		r.log.Error("the session is no longer stored: too much could not be written")
		return err
	}
	r.missed = entries
	if r.again == nil { // nothing else may come
		r.again = time.AfterFunc(retry, r.flush)
	} else {
		r.again.Reset(retry)
	}
	return err
}

// sound calls do and turns a panic into an error, also on goroutines where no caller would recover it.
func (r *record) sound(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("the store panicked", "panic", v, "stack", string(debug.Stack()))
			err = errors.New("an internal error occurred in the store")
		}
	}()
	return do()
}

// pending writes what waits.
func (r *record) pending() {
	r.mu.Lock()
	b := r.next
	r.mu.Unlock()
	if b != nil {
		r.commit(b)
	}
}

// flush writes what waits, and what could not be written before.
func (r *record) flush() {
	r.pending()
	if r.open == nil {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	_ = r.write(nil, r.append, true) // the person is told of it
	r.mu.Lock()
	unsaved := r.unsaved
	r.mu.Unlock()
	if unsaved {
		r.set(func(*store.Session) {})
	}
}

// begin brings the session into the store.
func (r *record) begin() error {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	begun, meta := r.begun, r.meta
	r.mu.Unlock()
	if begun {
		return nil
	}
	err := r.open().Save(meta)
	if err == nil {
		r.mu.Lock()
		r.begun = true
		r.mu.Unlock()
	}
	return err
}

// came says how writing went, and tells of it where that has changed. final is that no other try makes sense.
func (r *record) came(err error, final bool) {
	r.mu.Lock()
	changed := r.failing != (err != nil)
	r.failing, r.broken = err != nil, r.broken || final
	r.mu.Unlock()
	if changed {
		r.failed(err)
	}
}

// set changes the metadata of the session.
func (r *record) set(change func(*store.Session)) {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	change(&r.meta)
	save, meta := r.begun && !r.broken, r.meta
	r.mu.Unlock()
	if !save {
		return
	}
	err := r.sound(func() error { return r.open().Save(meta) })
	var held *store.HeldError
	again := err != nil && !errors.As(err, &held)
	r.mu.Lock()
	r.unsaved = again
	r.mu.Unlock()
	if err != nil {
		r.log.Warn("the metadata of the session could not be written", "error", err)
	}
	switch {
	case !again:
	case r.resave == nil: // nothing else may come
		r.resave = time.AfterFunc(retry, r.flush)
	default:
		r.resave.Reset(retry)
	}
}

// resume begins the record and the window of s, or goes on with them. key is that of a new prompt cache.
func (s *Session) resume(at Start, key string) {
	past := at.Past
	if past != nil {
		key = past.CacheKey
	}
	o := s.o
	s.record = &record{
		open: o.Keeping.Store, now: o.Now, log: o.Log, saying: map[string]string{}, results: map[string]model.Message{},
		meta: store.Session{ID: o.ID, Cwd: o.Cwd, More: at.More, CacheKey: key},
		failed: func(err error) {
			if err == nil {
				o.Log.Info("the session is kept again")
				s.outbox.notify(Event{Notice: "The session is saved again, including what happened in between."})
				return
			}
			o.Log.Error("the session is not kept", "error", err)
			s.outbox.notify(Event{Notice: fmt.Sprintf("The session cannot be saved from here on: %v.", err)})
		},
	}
	s.outbox = newOutbox(s.record, func(e Event) { o.Client.Update(o.ID, e) })
	if past != nil {
		if s.window = window.New(key, past.history, past.usage); past.news != "" {
			s.window.Note(past.news)
		}
		s.window.Recall(past.full, past.summary)
		for _, a := range past.asked {
			s.window.Asked(a.turn, a.text)
		}
		s.turns, s.tasks.now = past.turns, past.tasks
		s.ids.use(slices.Collect(maps.Keys(past.ids))...)
		s.loaded.add(slices.Collect(maps.Keys(past.loaded))...)
		s.record.meta, s.record.begun = past.Session, true
		return
	}
	var history []model.Message
	for _, m := range at.History {
		m = m.Carried(func(a model.Attachment) bool { return len(a.Data) <= at.Config.Limits.MaxImageBytes })
		for _, c := range m.Calls {
			s.ids.use(c.ID)
		}
		history = append(history, m)
		s.record.said(0, m.Text, m)
	}
	s.window = window.New(key, history, model.Usage{})
	for _, m := range history {
		if m.Role == model.User {
			s.window.Asked(0, m.Text)
		}
	}
}

// Title is what a person knows the session by; "" before the first prompt.
func (s *Session) Title() string { return s.record.title() }

// Busy says whether a prompt is being answered.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil
}

// Kept says whether there is anything of the session in its Store.
func (s *Session) Kept() bool {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return s.record.begun
}

// Written returns when what has happened so far is written down, as far as that can be done, and told.
func (s *Session) Written() {
	s.record.pending()
	s.outbox.flush()
}

// Tell tells the client of something besides what the session does itself, behind what was told before.
func (s *Session) Tell(e Event) { s.outbox.notify(e) }

// Rename gives the session another title.
func (s *Session) Rename(title string) { s.record.set(func(r *store.Session) { r.Title = title }) }

func (r *record) title() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.meta.Title
}

// release lets another process have the session.
func (r *record) release() {
	r.flush()
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	begun := r.begun
	r.begun, r.broken = false, true
	r.mu.Unlock()
	if !begun {
		return
	}
	if err := r.open().Release(r.meta.ID); err != nil && !errors.Is(err, store.ErrUnknown) {
		r.log.Warn("the session was not let go", "error", err)
	}
}
