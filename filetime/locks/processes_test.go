package locks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/filetime"
)

// many are Locks that know of each other only by the folder of their lock files, as those of processes do.
func many(t *testing.T, n int, dir string, log *slog.Logger) []*Locks {
	t.Helper()
	out := make([]*Locks, n)
	for i := range out {
		out[i] = New(Options{Dir: dir, Log: log})
	}
	return out
}

// TestF241ProcessesExclude has many calls of several processes lock several files each: nobody waits for ever, and nobody
// is in a file at the same time as another.
func TestF241ProcessesExclude(t *testing.T) {
	var paths []string
	for i := range 12 {
		paths = append(paths, fmt.Sprintf("/w/%d", i))
	}
	paths = append(paths, sameShard(paths[0]))
	inside := make([]atomic.Int32, len(paths))
	dir := filepath.Join(t.TempDir(), "state", "locks")
	var wg sync.WaitGroup
	for p, w := range many(t, 3, dir, nil) {
		for range 4 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(p), 1))
				for range 40 {
					var mine []string
					var at []int
					for range 1 + r.IntN(3) {
						i := r.IntN(len(paths))
						at, mine = append(at, i), append(mine, paths[i])
					}
					unlock, err := w.Lock(t.Context(), mine...)
					if err != nil {
						t.Error(err)
						return
					}
					counted := map[int]bool{}
					for _, i := range at {
						if !counted[i] && inside[i].Add(1) != 1 {
							t.Errorf("%s is locked twice", paths[i])
						}
						counted[i] = true
					}
					for i := range counted {
						inside[i].Add(-1)
					}
					unlock()
				}
			})
		}
	}
	wg.Wait()
}

// sameShard is another path with the same lock.
func sameShard(path string) string {
	for i := 0; ; i++ {
		if other := fmt.Sprintf("/other/%d", i); shardOf(other) == shardOf(path) {
			return other
		}
	}
}

// TestF241HolderIsNamed has another process ask and wait for a file that is locked.
func TestF241HolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ws := many(t, 2, dir, nil)
		ctx := filetime.WithHolder(t.Context(), filetime.Holder{Session: "s1", Call: "call_7"})
		const path = "/w/a"
		other := sameShard(path)
		unlock, err := ws[0].Lock(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range ws {
			h, ok := w.Holder(path)
			if !ok || h.Session != "s1" || h.Call != "call_7" || h.PID != os.Getpid() || !h.Since.Equal(time.Now()) {
				t.Errorf("process %d is told of %+v", i, h)
			}
			if h, ok := w.Holder(other); ok {
				t.Errorf("process %d is told that %+v has a file that nobody has", i, h)
			}
		}
		// A call of the same process does not wait for one that has another file.
		unlockOther, err := ws[0].Lock(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		unlockOther()
		began := time.Now()
		_, err = ws[1].Lock(t.Context(), path)
		var refused *filetime.Error
		want := fmt.Sprintf("call call_7 of session s1 in process %d", os.Getpid())
		if !errors.As(err, &refused) || refused.Reason != "locked" || !strings.Contains(refused.Message, want) {
			t.Errorf("refused with %v", err)
		}
		if took := time.Since(began); took != Wait {
			t.Errorf("waited for %v", took)
		}
		ended, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("it was enough"))
		defer cancel()
		if _, err := ws[1].Lock(ended, "/w/b", path); err == nil || err.Error() != "it was enough" {
			t.Errorf("cancelled with %v", err)
		}
		if _, ok := ws[0].Holder("/w/b"); ok {
			t.Error("a call that was cancelled has left a lock")
		}
		unlock()
		if h, ok := ws[1].Holder(path); ok {
			t.Errorf("after its release it is held by %+v", h)
		}
		if unlock, err = ws[1].Lock(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		unlock()
		// What a killed process leaves behind: its line, and no lock.
		left := fmt.Sprintf(`{"pid":1,"session":"dead","path":%q}`, path)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02x.lock", shardOf(path))), []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, ok := ws[1].Holder(path); ok {
			t.Errorf("the lock is held by %+v, who is dead", h)
		}
	})
}

// TestF241ProcessesTakeTurns has one process lock a file again and again: another one gets its turn.
func TestF241ProcessesTakeTurns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ws := many(t, 2, dir, nil)
		var busy, turns int
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					unlock, err := ws[0].Lock(ctx, "/w/a")
					if err != nil {
						return
					}
					busy++
					time.Sleep(5 * time.Millisecond)
					unlock()
				}
			})
		}
		for range 50 {
			time.Sleep(time.Millisecond)
			unlock, err := ws[1].Lock(t.Context(), "/w/a")
			if err != nil {
				t.Fatal(err)
			}
			turns++
			unlock()
		}
		stop()
		wg.Wait()
		if busy > 3*turns {
			t.Errorf("%d turns of the one, %d of the other", busy, turns)
		}
	})
}

// Where there can be no lock files, edits go on without, and the log says so once.
func TestF241NoLocksHere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w := many(t, 1, filepath.Join(file, "locks"), slog.New(slog.NewTextHandler(&log, nil)))[0]
	for range 3 {
		unlock, err := w.Lock(t.Context(), "/w/a", "/w/b")
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	if n := strings.Count(log.String(), "cannot lock files"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	if _, ok := w.Holder("/w/a"); ok {
		t.Error("it is held")
	}
}
