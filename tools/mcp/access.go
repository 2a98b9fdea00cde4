package mcp

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"

	"tandem/sandbox"
)

// access is what a confined process may do with the files of the workspace at a time: it changes
// them while a call runs, and is read-only otherwise. So all that it changes is that of a call,
// which is looked after, undone and reviewed as such. Where the process cannot be switched, as when
// it keeps a file open for writing, the guard looks after the workspace between the calls as well,
// see autorun.Guard.
type access struct {
	process sandbox.Process
	// always is for an entry that says that the server writes between calls.
	always bool
	// begin and end are those of the guard. Both say what was found.
	begin, end func() (said []string)
	// keeps says that the process could not be switched once, because it had files open for
	// writing.
	keeps atomic.Bool

	mu      sync.Mutex
	calls   int
	watched bool // between begin and end
	closed  bool
}

// watch begins to look after the workspace, before the process is started.
func (a *access) watch() (said []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched = true
	return a.begin()
}

// use lets the process write until done is called, which says what was found meanwhile. On nil it
// does nothing.
func (a *access) use() (done func() (said []string)) {
	if a == nil {
		return func() []string { return nil }
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls++; a.calls == 1 && !a.watched {
		_ = a.process.Access(true) // where that fails, the process has ended
	}
	return func() []string {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls--
		return a.rest()
	}
}

// rest makes the process read-only unless a call runs, and looks after the workspace where that
// cannot be. a.mu is held.
func (a *access) rest() (said []string) {
	if a.always || a.calls > 0 || a.closed {
		return nil
	}
	err := a.process.Access(false)
	switch {
	case err == nil && a.watched:
		a.watched = false
		return a.end()
	case err != nil && !a.watched:
		a.watched = true
		said = a.begin()
	}
	if errors.Is(err, syscall.EBUSY) {
		a.keeps.Store(true)
	}
	return said
}

// settle is for a process that has started.
func (a *access) settle() (said []string) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rest()
}

// close is for a process that has ended.
func (a *access) close() (said []string) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed = true; a.watched {
		a.watched = false
		return a.end()
	}
	return nil
}
