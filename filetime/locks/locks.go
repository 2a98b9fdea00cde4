// Package locks has the exclusive locks of paths under which files are read, changed and written.
// In one process they are semaphores, between processes flock on files of a shared folder, in the
// order in which the processes asked.
package locks

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"tandem/filetime"
)

// Options are what Locks need.
type Options struct {
	// Dir is the folder of the lock files that are shared with other processes, "" for none.
	Dir string
	// Private reports that no other process can change a path now, as the buffer of an open
	// document: it gets no lock file. May be nil.
	Private func(path string) bool
	Now     func() time.Time
	Log     *slog.Logger
}

// Locks are the locks of one process. All methods may be called concurrently.
type Locks struct {
	o         Options
	processes *processes // nil without Options.Dir

	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot    chan struct{}   // semaphore
	users   int             // the holder and those who wait
	holder  filetime.Holder // zero while it is free
	blocked time.Time       // since when the holder, or earlier ones that timed out, have waited for another process
}

// New makes Locks of which none is held.
func New(o Options) *Locks {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Locks{o: o, held: map[string]*lock{}}
	if o.Dir != "" {
		l.processes = newProcesses(o.Dir, o.Log)
	}
	return l
}

// Lock takes the locks of paths in sorted order, against deadlocks. The Holder of ctx is named to
// others. It waits without limit for calls of this process; the time that it and those wait for
// another process is limited to Wait in all, and then the error is a *filetime.Error with reason
// "locked".
func (l *Locks) Lock(ctx context.Context, paths ...string) (unlock func(), err error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	who := filetime.HolderOf(ctx)
	who.PID, who.Since = os.Getpid(), l.o.Now()
	wait := waiter{began: time.Now()}
	if l.processes != nil {
		wait.most = l.processes.wait
	}
	var undo []func()
	release := func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	var private, shared []string
	for _, path := range paths {
		if err := l.take(ctx, path, who, &wait); err != nil {
			release()
			if errors.Is(err, errLocked) {
				err = l.processes.refusal(path, err)
			}
			return nil, err
		}
		undo = append(undo, func() { l.release(path) })
		if l.o.Private != nil && l.o.Private(path) {
			private = append(private, path)
		} else {
			shared = append(shared, path)
		}
	}
	if l.processes != nil {
		if wait.since.IsZero() {
			wait.since = time.Now()
		}
		l.block(private, time.Time{}) // no other process has them, whatever an earlier holder waited for
		l.block(shared, wait.since)
		unlock, err := l.processes.lock(ctx, shared, who, wait.since)
		if err != nil {
			release()
			return nil, err
		}
		l.block(shared, time.Time{})
		undo = append(undo, unlock)
	}
	return sync.OnceFunc(release), nil
}

// waiter is the time that a call has waited for another process.
type waiter struct {
	began time.Time
	most  time.Duration // the limit; 0 without lock files
	// since is when it, or a call that it waits for, began to wait; zero for not yet.
	since time.Time
}

// from is when it began to wait, if it waits for a call that has waited for another process since
// blocked.
func (w *waiter) from(blocked time.Time) time.Time {
	switch {
	case !w.since.IsZero():
		return w.since
	case blocked.Before(w.began):
		return w.began
	}
	return blocked
}

// take waits for a lock: without limit while its holder works, and up to the limit while that waits
// for another process.
func (l *Locks) take(ctx context.Context, path string, who filetime.Holder, wait *waiter) error {
	l.mu.Lock()
	k := l.held[path]
	if k == nil {
		k = &lock{slot: make(chan struct{}, 1)}
		l.held[path] = k
	}
	k.users++
	l.mu.Unlock()
	var timer <-chan time.Time
	if wait.most > 0 {
		left := wait.most
		if !wait.since.IsZero() {
			left -= time.Since(wait.since)
		}
		timer = time.After(left)
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

// block sets since when the locks, which the caller has in this process, are waited for in another
// one.
func (l *Locks) block(paths []string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range paths {
		l.held[p].blocked = since
	}
}

func (l *Locks) release(path string) {
	l.mu.Lock()
	k := l.held[path]
	k.holder = filetime.Holder{}
	l.mu.Unlock()
	<-k.slot
	l.leave(path, k)
}

func (l *Locks) leave(path string, k *lock) {
	l.mu.Lock()
	if k.users--; k.users == 0 {
		delete(l.held, path)
	}
	l.mu.Unlock()
}

// Taken reports that a call of this process has the lock of a path, or waits for it.
func (l *Locks) Taken(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[path] != nil
}

// Holder is the holder of the lock of a path, in this process or in another.
func (l *Locks) Holder(path string) (filetime.Holder, bool) {
	l.mu.Lock()
	k := l.held[path]
	if k != nil && k.holder.PID != 0 {
		h := k.holder
		l.mu.Unlock()
		return h, true
	}
	l.mu.Unlock()
	if l.processes == nil {
		return filetime.Holder{}, false
	}
	return l.processes.holder(path)
}
