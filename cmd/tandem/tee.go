package main

import (
	"io"
	"sync"
)

// tee writes to one place always and to a file once there is one. It may be used concurrently.
type tee struct {
	first io.Writer

	mu   sync.Mutex
	more io.WriteCloser
}

func (t *tee) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.more != nil {
		if _, err := t.more.Write(b); err != nil {
			t.more = nil
		}
	}
	return t.first.Write(b)
}

// file changes the file; nil closes it.
func (t *tee) file(f io.WriteCloser) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.more != nil {
		_ = t.more.Close()
	}
	t.more = f
}
