package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"go.lsp.dev/uri"

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
	holder  string
}

type holderKey struct{}

// WithHolder names who takes locks under ctx, for those who ask.
func WithHolder(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, holderKey{}, name)
}

// Lock implements filetime.Files: the locks are taken in sorted order, so that two calls never wait for each other.
func (w *Workspace) Lock(ctx context.Context, paths ...string) (func(), error) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	who, _ := ctx.Value(holderKey{}).(string)
	var taken []string
	release := func() {
		for _, p := range slices.Backward(taken) {
			w.locks.release(p)
		}
	}
	for _, p := range paths {
		if err := w.locks.take(ctx, p, who); err != nil {
			release()
			return nil, err
		}
		taken = append(taken, p)
	}
	return sync.OnceFunc(release), nil
}

func (l *locks) take(ctx context.Context, path, who string) error {
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
	k.holder = ""
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

func (l *locks) holder(path string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.held[path]; k != nil {
		return k.holder
	}
	return ""
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
