package run

import (
	"context"
	"sync"
	"time"
)

// limit is a context with a time limit that stands still while a person is asked: their time to think is not the tool's.
type limit struct {
	context.Context
	done chan struct{}

	mu    sync.Mutex
	err   error // why it has ended
	timer *time.Timer
	left  time.Duration // when the timer was started
	since time.Time     // when that was
}

// expired is the error of a limit that has ended by its time. It is a context.DeadlineExceeded too.
type expired struct{ error }

func (e expired) Unwrap() []error { return []error{e.error, context.DeadlineExceeded} }

// newLimit gives a context that ends with the parent, or with cause once it has run for d, questions left out. free must be called.
func newLimit(parent context.Context, d time.Duration, cause error) (l *limit, free func()) {
	l = &limit{Context: parent, done: make(chan struct{}), left: d, since: time.Now()}
	l.timer = time.AfterFunc(d, func() { l.end(expired{cause}) })
	detach := context.AfterFunc(parent, func() { l.end(parent.Err()) })
	return l, func() {
		detach()
		l.timer.Stop()
		l.end(context.Canceled)
	}
}

func (l *limit) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.done)
	}
}

// Deadline implements context.Context: when the limit ends unless a question comes. Work that reads it is not to go on for longer than this.
func (l *limit) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.since.Add(l.left)
	if outer, ok := l.Context.Deadline(); ok && outer.Before(at) {
		at = outer
	}
	return at, true
}

// Done implements context.Context.
func (l *limit) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *limit) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// hold stops the time until release is called. Time that is over stays over.
func (l *limit) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.left -= time.Since(l.since)
	l.since = time.Now()
}

func (l *limit) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.since = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}
