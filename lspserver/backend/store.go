package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tandem/agent/store"
	"tandem/filetime/disk"
)

// memoryQuota is the quota of a store in memory, in bytes.
const memoryQuota = 16 << 20

// store gives the store, opened on first use. If that fails it is one in memory, and the user is told.
func (b *Backend) store() store.Store {
	b.opening.Do(func() {
		defer b.opened.Store(true)
		var err error
		if b.o.Store != nil {
			if b.kept, err = b.o.Store(b.config()); err == nil {
				if e, ok := b.kept.(interface{ Emptied() bool }); ok && e.Emptied() {
					b.face.Warn("the file of the sessions was empty: those that it kept are lost, and it is begun anew")
				}
				return
			}
			b.log.Error("sessions are not kept", "error", err)
			b.figures.unkept = err.Error()
			next := ""
			if errors.Is(err, store.ErrNewer) {
				next = " Move that file away to begin anew."
			}
			b.face.Warn(fmt.Sprintf(
				"sessions are not kept, they end with the editor, and what a crash leaves is not cleared up: %v.%s", err, next))
		}
		b.kept = store.NewMemory(memoryQuota, b.o.Now)
		if err != nil {
			b.kept = unaudited{b.kept, err}
		}
	})
	return b.kept
}

// unaudited stands for a store that could not be opened: sessions go on in memory, and what needs a record before its effect is
// refused.
type unaudited struct {
	store.Store
	why error
}

func (u unaudited) Intend(string, bool, ...store.Entry) error {
	return fmt.Errorf("the audit cannot be written: %w", u.why)
}

// journal is the store's journal, opened on first use.
type journal struct{ b *Backend }

func (j journal) Begin(in disk.Intent) (int64, error) { return j.b.store().Begin(in) }

func (j journal) Keep(intent int64, path string, data []byte) (string, error) {
	return j.b.store().Keep(intent, path, data)
}

func (j journal) End(id int64, o disk.Outcome) error { return j.b.store().End(id, o) }

func (j journal) Orphans() ([]disk.Intent, error) { return j.b.store().Orphans() }

// recover judges and cleans up the interrupted changes of crashed processes.
func (b *Backend) recover() {
	b.judging.Lock()
	defer b.judging.Unlock()
	found, err := b.ws.Recover()
	if err != nil {
		b.log.Error("what earlier processes left cannot be judged", "error", err)
	}
	for _, r := range found {
		level := slog.LevelWarn
		switch r.Outcome {
		case disk.Landed:
			level = slog.LevelDebug
		case disk.NotLanded:
			level = slog.LevelInfo
		}
		for i, f := range r.Files {
			path := r.Intent.Files[i].Path
			b.log.Log(context.Background(), level, "a change was on its way when its process ended",
				"session", r.Session, "call", r.Call, "path", path, "outcome", f.Outcome, "kept", f.Kept)
			if len(f.Kept) > 0 && !f.Merged {
				last := f.Kept[len(f.Kept)-1]
				b.face.Warn(fmt.Sprintf("when it was ended, another program was just saving %s. What that saved is not in the file; "+
					"it is kept: tandem session kept --show %.12s", path, last))
			}
		}
	}
}

// StoreState is the state of the store.
type StoreState struct {
	// Kind is "closed" until the first use, then "file", or "memory", which ends with the backend.
	Kind, Path string
	// Size and Quota are in bytes. The figures may be outdated while the store is busy.
	Size, Quota       int64
	Sessions, Intents int
	// Problem says why no file is used, or why there are no figures.
	Problem string
}

// storeFigures are the last known figures.
type storeFigures struct {
	mu    sync.Mutex
	asked chan struct{} // closed when there is an answer
	last  StoreState
	// unkept says why no file is used, once the store was opened.
	unkept string
}

// storeState gives the state of the store within a short time limit.
func (b *Backend) storeState(ctx context.Context) StoreState {
	if !b.opened.Load() {
		return StoreState{Kind: "closed"}
	}
	const patience = 100 * time.Millisecond
	f := &b.figures
	f.mu.Lock()
	asked := f.asked
	if asked == nil {
		asked = make(chan struct{})
		f.asked = asked
		go b.Guard("figures of the store", func() {
			st, err := b.kept.Stats()
			f.mu.Lock()
			defer f.mu.Unlock()
			l := StoreState{
				Kind: "file", Path: st.Path, Size: st.Size, Quota: st.Quota, Sessions: st.Sessions, Intents: st.Intents,
				Problem: f.unkept,
			}
			if st.Path == "" {
				l.Kind = "memory"
			}
			if err != nil {
				l.Problem = err.Error()
			}
			f.last, f.asked = l, nil
			close(asked)
		})
	}
	f.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// closeStore closes the store, if it was opened.
func (b *Backend) closeStore() {
	b.opening.Do(func() {})
	if b.kept == nil {
		return
	}
	if err := b.kept.Close(); err != nil {
		b.log.Warn("the store of sessions", "error", err)
	}
}
