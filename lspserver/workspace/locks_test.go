package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"tandem/filetime"
	"tandem/filetime/locks"
)

// The lock of a document that is open is none of other processes: only this one has its buffer.
func TestF241BuffersAreNotShared(t *testing.T) {
	w, b, path := opened(t, doc)
	dir := filepath.Join(t.TempDir(), "locks")
	w.locks = locks.New(locks.Options{Dir: dir, Private: w.inBuffer})
	other := locks.New(locks.Options{Dir: dir})
	for _, open := range []bool{true, false} {
		if !open {
			w.Close(b.uri)
		}
		unlock, err := w.Lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, shared := other.Holder(path); shared == open {
			t.Errorf("open %v: another process knows the holder: %v", open, shared)
		}
		unlock()
	}
}

// WithLock is the third verb of FileTime: two sessions never change a file at the same time, and each is named as the holder to others.
func TestF187WithLock(t *testing.T) {
	w, _, path := opened(t, doc)
	var inside, most, turns atomic.Int32
	var wg sync.WaitGroup
	for i := range 50 {
		session := fmt.Sprintf("s%d", i)
		wg.Go(func() {
			ft := filetime.New(w, session, nil)
			ctx := filetime.WithHolder(t.Context(), filetime.Holder{Call: "call_1"})
			err := ft.WithLock(ctx, []string{path, "/w/other"}, func() error {
				most.Store(max(most.Load(), inside.Add(1)))
				if h, ok := w.locks.Holder(path); !ok || h.Session != session || h.Call != "call_1" {
					t.Errorf("the holder is %+v", h)
				}
				turns.Add(1)
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || turns.Load() != 50 {
		t.Errorf("%d calls at once, %d in all", most.Load(), turns.Load())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, err := w.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ft := filetime.New(w, "late", nil)
	if err := ft.WithLock(gone, []string{path}, func() error { t.Error("called without the lock"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
