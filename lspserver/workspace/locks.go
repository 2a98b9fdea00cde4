package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/fileuri"
)

// locks are the read-modify-write locks of paths, shared by all sessions of the process.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot    chan struct{}
	waiting int
	holder  filetime.Holder // zero while it is free
	// blocked is since when the holder, or earlier ones that timed out, have waited for another process.
	blocked time.Time
}

// Lock implements filetime.Files. The locks are taken in sorted order, against deadlocks. Those of files that are
// written on disk are shared with other processes. The time that this call, and those of this process that it waits
// for, wait for another process is limited to lockWait in all.
func (w *Workspace) Lock(ctx context.Context, paths ...string) (func(), error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	who := filetime.HolderOf(ctx)
	who.PID, who.Since = os.Getpid(), w.o.Now()
	wait := waiter{began: time.Now()}
	if w.shared != nil {
		wait.most = w.shared.wait
	}
	var undo []func()
	release := func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	var outside, inside []string
	for _, p := range paths {
		if err := w.locks.take(ctx, p, who, &wait); err != nil {
			release()
			if errors.Is(err, errLocked) {
				err = w.shared.refusal(p, err)
			}
			return nil, err
		}
		undo = append(undo, func() { w.locks.release(p) })
		if w.inBuffer(p) {
			inside = append(inside, p)
		} else {
			outside = append(outside, p)
		}
	}
	if w.shared != nil {
		if wait.since.IsZero() {
			wait.since = time.Now()
		}
		w.locks.block(inside, time.Time{}) // no other process has them, whatever an earlier holder waited for
		w.locks.block(outside, wait.since)
		letGo, err := w.shared.lock(ctx, outside, who, wait.since)
		if err != nil {
			release()
			return nil, err
		}
		w.locks.block(outside, time.Time{})
		undo = append(undo, letGo)
	}
	return sync.OnceFunc(release), nil
}

// waiter is the time that a call has waited for another process.
type waiter struct {
	began time.Time
	most  time.Duration // the limit; 0 without shared locks
	// since is when it, or a call that it waits for, began to wait; zero for not yet.
	since time.Time
}

// from is when it began to wait, if it waits for a call that has waited for another process since blocked.
func (w *waiter) from(blocked time.Time) time.Time {
	switch {
	case !w.since.IsZero():
		return w.since
	case blocked.Before(w.began):
		return w.began
	}
	return blocked
}

// inBuffer says that a change of a path goes to the editor's buffer, which no other process has.
func (w *Workspace) inBuffer(path string) bool {
	if !w.o.Features.Apply {
		return false
	}
	w.mu.Lock()
	f := w.files[path]
	w.mu.Unlock()
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// take waits for a lock: without limit while its holder works, and up to the limit while that waits for another process.
func (l *locks) take(ctx context.Context, path string, who filetime.Holder, wait *waiter) error {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[path]
	if k == nil {
		k = &lock{slot: make(chan struct{}, 1)}
		l.held[path] = k
	}
	k.waiting++
	l.mu.Unlock()
	var timer <-chan time.Time
	if wait.most > 0 {
		left := wait.most
		if !wait.since.IsZero() {
			left -= time.Since(wait.since)
		}
		t := time.NewTimer(left)
		defer t.Stop()
		timer = t.C
	}
	for {
		select {
		case k.slot <- struct{}{}:
			l.mu.Lock()
			defer l.mu.Unlock()
			if k.holder = who; !k.blocked.IsZero() {
				wait.since = wait.from(k.blocked)
			}
			return nil
		case <-ctx.Done():
			l.leave(path, k)
			return context.Cause(ctx)
		case <-timer:
			l.mu.Lock()
			blocked := k.blocked
			l.mu.Unlock()
			left := wait.most
			if !blocked.IsZero() {
				if left -= time.Since(wait.from(blocked)); left <= 0 {
					l.leave(path, k)
					return errLocked
				}
			}
			timer = time.After(left)
		}
	}
}

// block sets since when the locks, which the caller has in this process, are waited for in another one.
func (l *locks) block(paths []string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range paths {
		l.held[p].blocked = since
	}
}

func (l *locks) release(path string) {
	l.mu.Lock()
	k := l.held[path]
	k.holder = filetime.Holder{}
	l.mu.Unlock()
	<-k.slot
	l.leave(path, k)
}

func (l *locks) leave(path string, k *lock) {
	l.mu.Lock()
	if k.waiting--; k.waiting == 0 {
		delete(l.held, path)
	}
	l.mu.Unlock()
}

func (l *locks) taken(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[path] != nil
}

// holder is the holder of the lock of a path, in this process or in another.
func (w *Workspace) holder(path string) (filetime.Holder, bool) {
	w.locks.mu.Lock()
	k := w.locks.held[path]
	if k != nil && k.holder.PID != 0 {
		h := k.holder
		w.locks.mu.Unlock()
		return h, true
	}
	w.locks.mu.Unlock()
	if w.shared == nil {
		return filetime.Holder{}, false
	}
	return w.shared.holder(path)
}

// URI is the file URI of an absolute path.
func URI(path string) string { return fileuri.Of(path) }

// hexHash is the hash of a text in a charset.
func hexHash(t text.Text, c text.Charset) string {
	h := t.Hash()
	if c != text.CharsetUTF8 {
		if coded, err := text.Encode(t, c); err == nil {
			h = sha256.Sum256(coded)
		}
	}
	return hex.EncodeToString(h[:])
}
