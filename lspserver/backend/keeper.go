package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent/store"
	"tandem/filetime/disk"
)

// memoryQuota is the quota of a store in memory, in bytes.
const memoryQuota = 16 << 20

// keeper opens the store on first use and gives figures of it. It is also the journal of the workspace: what changes a file is in the
// store before.
type keeper struct {
	open func() (store.Store, error) // nil keeps sessions in memory
	warn func(string)
	now  func() time.Time
	life *lifetime

	opening  sync.Once
	kept     store.Store // once opened
	opened   atomic.Bool
	inMemory error // why no file is used, once the store was opened

	judging sync.Mutex // held while the interrupted changes of other processes are judged

	mu    sync.Mutex
	asked chan struct{} // closed when the figures have been read
	last  StoreState    // the last known figures
}

// store gives the store. If it cannot be opened it is one in memory, and the user gets a warning.
func (k *keeper) store() store.Store {
	k.opening.Do(func() {
		defer k.opened.Store(true)
		if k.open != nil {
			if k.kept, k.inMemory = k.open(); k.inMemory == nil {
				if e, ok := k.kept.(interface{ Emptied() bool }); ok && e.Emptied() {
					k.warn("the session database was empty: earlier sessions are lost, and a new database was created")
				}
				return
			}
			k.life.log.Error("sessions are not stored", "error", k.inMemory)
			next := ""
			if errors.Is(k.inMemory, store.ErrNewer) {
				next = " Move that file away to start with an empty one."
			}
			k.warn(fmt.Sprintf(
				"sessions are not stored: they end with the editor, and a crash is not recovered from: %v.%s", k.inMemory, next))
		}
		k.kept = store.NewMemory(memoryQuota, k.now)
		if k.inMemory != nil {
			k.kept = unaudited{k.kept, k.inMemory}
		}
	})
	return k.kept
}

// unkept says why no file is used, "" where one is; the store must have been opened.
func (k *keeper) unkept() string {
	if k.inMemory == nil {
		return ""
	}
	return k.inMemory.Error()
}

// close closes the store, if it was opened.
func (k *keeper) close() {
	k.opening.Do(func() {})
	if k.kept == nil {
		return
	}
	if err := k.kept.Close(); err != nil {
		k.life.log.Warn("the store of sessions", "error", err)
	}
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

func (k *keeper) Begin(in disk.Intent) (int64, error) { return k.store().Begin(in) }

func (k *keeper) Keep(intent int64, path string, data []byte) (string, error) {
	return k.store().Keep(intent, path, data)
}

func (k *keeper) End(id int64, o disk.Outcome) error { return k.store().End(id, o) }

func (k *keeper) Orphans() ([]disk.Intent, error) { return k.store().Orphans() }

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

// statsTimeout is how long a request waits for figures; then it gets the last known ones.
const statsTimeout = 100 * time.Millisecond

// state gives the state of the store without waiting for a busy one.
func (k *keeper) state(ctx context.Context) StoreState {
	if !k.opened.Load() {
		return StoreState{Kind: "closed"}
	}
	k.mu.Lock()
	asked := k.asked
	if asked == nil {
		asked = make(chan struct{})
		k.asked = asked
		go k.life.guard("figures of the store", func() { k.read(asked) })
	}
	k.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-time.After(statsTimeout):
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// read reads the figures.
func (k *keeper) read(asked chan struct{}) {
	st, err := k.kept.Stats()
	now := StoreState{
		Kind: "file", Path: st.Path, Size: st.Size, Quota: st.Quota, Sessions: st.Sessions, Intents: st.Intents, Problem: k.unkept(),
	}
	if st.Path == "" {
		now.Kind = "memory"
	}
	if err != nil {
		now.Problem = err.Error()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.asked = now, nil
	close(asked)
}
