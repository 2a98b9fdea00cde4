package backend

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
)

// lifetime is how long the backend lives, and what it does in the background meanwhile.
type lifetime struct {
	log *slog.Logger

	// Set by start and then read-only.
	ctx     context.Context // ends with the connection
	closing context.Context // ends when commands get the short grace period
	hurry   context.CancelFunc

	mu         sync.Mutex
	ended      bool
	background sync.WaitGroup
}

// start begins the life of a connection, with which ctx ends.
func (l *lifetime) start(ctx context.Context) {
	l.ctx = ctx
	l.closing, l.hurry = context.WithCancel(ctx)
}

// later runs fn in the background, unless the life is over.
func (l *lifetime) later(fn func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.background.Add(1)
	go func() {
		defer l.background.Done()
		l.guard("background work", func() { fn(l.ctx) })
	}()
}

// end refuses further work in the background.
func (l *lifetime) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// wait waits for the end of what is done in the background.
func (l *lifetime) wait() { l.background.Wait() }

// guard runs fn and logs a panic, which must not end the connection.
func (l *lifetime) guard(what string, fn func()) {
	var none error
	defer func() { l.panicked(recover(), what, &none) }()
	fn()
}

// panicked makes an error of what recover gave, which is nil where nothing panicked.
func (l *lifetime) panicked(p any, what string, err *error) {
	if p != nil {
		l.log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		*err = errInside
	}
}

var errInside = errors.New("an internal error occurred in Tandem; the log has the details")
