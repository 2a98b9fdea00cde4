package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"slices"
	"sync"

	"go.lsp.dev/uri"

	"tandem/filetime"
	"tandem/filetime/text"
)

// locks are the read-modify-write locks of paths, shared by all sessions of the process.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	slot    chan struct{}
	waiting int
	holder  filetime.Holder // the zero one while nobody holds it
}

// Lock implements filetime.Files: the locks are taken in sorted order, so that two calls never wait for each other. Those
// of files that are written on disk are shared with other processes.
func (w *Workspace) Lock(ctx context.Context, paths ...string) (func(), error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	who := filetime.HolderOf(ctx)
	who.PID, who.Since = os.Getpid(), w.o.Now()
	var undo []func()
	release := func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	var outside []string
	for _, p := range paths {
		if err := w.locks.take(ctx, p, who); err != nil {
			release()
			return nil, err
		}
		undo = append(undo, func() { w.locks.release(p) })
		if !w.inBuffer(p) {
			outside = append(outside, p)
		}
	}
	if w.shared != nil {
		release, err := w.shared.lock(ctx, outside, who)
		if err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return nil, err
		}
		undo = append(undo, release)
	}
	return sync.OnceFunc(release), nil
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

func (l *locks) take(ctx context.Context, path string, who filetime.Holder) error {
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
	select {
	case k.slot <- struct{}{}:
		l.mu.Lock()
		k.holder = who
		l.mu.Unlock()
		return nil
	case <-ctx.Done():
		l.leave(path, k)
		return context.Cause(ctx)
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

// holder is who has the lock of a path, in this process or in another.
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
func URI(path string) string { return string(uri.File(path)) }

// hexHash is the hash of what a file holds that has a text in a charset.
func hexHash(t text.Text, c text.Charset) string {
	h := t.Hash()
	if c != text.CharsetUTF8 {
		if coded, err := text.Encode(t, c); err == nil {
			h = sha256.Sum256(coded)
		}
	}
	return hex.EncodeToString(h[:])
}
