package tree

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"tandem/sandbox"
)

const (
	// maxEvents is how many paths are kept between two scans; beyond, looking at every folder costs less.
	maxEvents = 20_000
	// cookieTimeout is how long the system may take to tell of what has happened.
	cookieTimeout = 250 * time.Millisecond
)

// watch tells in which folders something has happened, by a queue of the kernel (inotify). A program that changes a folder puts the event
// into the queue before its system call returns, so whoever has read the queue up to an event of its own, the cookie, knows of every
// change that was complete before. The cookie is a change of the mode of a file without a name.
type watch struct {
	w          *fsnotify.Watcher
	cookie     int
	path       string // of the cookie
	maxWatches int    // how many folders may be watched

	mu    sync.Mutex
	count int // of watched folders
	// pathOf is the path that each watched folder was found at, at the other way round. The kernel has one watch for a folder, whatever its
	// path, and tells of it by the path that it was first added by.
	pathOf   map[sandbox.Ident]string
	identOf  map[string]sandbox.Ident
	changed  map[string]bool
	overflow bool

	cookieSeen chan struct{} // gets a value for each cookie
	done       chan struct{} // is closed when no more events come
}

func newWatch() (*watch, error) {
	w := &watch{
		changed: map[string]bool{}, pathOf: map[sandbox.Ident]string{}, identOf: map[string]sandbox.Ident{},
		cookieSeen: make(chan struct{}, 1), done: make(chan struct{}), maxWatches: maxWatches(),
	}
	var err error
	if w.cookie, err = unix.MemfdCreate("tandem", unix.MFD_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	w.path = fmt.Sprintf("/proc/self/fd/%d", w.cookie)
	if w.w, err = fsnotify.NewWatcher(); err == nil {
		if err = w.w.Add(w.path); err == nil {
			go w.receive()
			return w, nil
		}
		_ = w.w.Close()
	}
	_ = unix.Close(w.cookie)
	return nil, err
}

// maxWatches is half of what the system lets a user watch.
func maxWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		n = 8192
	}
	return n / 2
}

// receive takes events in, until the watch is closed.
func (w *watch) receive() {
	defer close(w.done)
	events, errs := w.w.Events, w.w.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
			case e.Name == w.path:
				select {
				case w.cookieSeen <- struct{}{}:
				default:
				}
			default:
				w.mu.Lock()
				if w.overflow = w.overflow || len(w.changed) >= maxEvents; !w.overflow {
					w.changed[e.Name] = true
				}
				w.mu.Unlock()
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			w.mu.Lock()
			w.overflow = true
			w.mu.Unlock()
		}
	}
}

// add begins to watch a folder. Several goroutines may add and remove.
func (w *watch) add(dir string) error {
	w.mu.Lock()
	full := w.count >= w.maxWatches
	if !full {
		w.count++
	}
	w.mu.Unlock()
	if full {
		return errors.New("there are too many folders")
	}
	err := w.w.Add(dir)
	if err != nil {
		w.mu.Lock()
		w.count--
		w.mu.Unlock()
	}
	return err
}

// holds says that the watch that was added for a path is on the folder that was found there since, and tells of it by that path. It is not
// where the folder has been moved or is mounted twice, or something has been mounted on it or unmounted.
func (w *watch) holds(dir string, found sandbox.Ident) bool {
	found = found.Bare()
	w.mu.Lock()
	defer w.mu.Unlock()
	path, watched := w.pathOf[found]
	if _, known := w.identOf[dir]; !watched && !known {
		w.pathOf[found], w.identOf[dir] = dir, found
		return true
	}
	return watched && path == dir
}

// remove ends that for a folder that is watched.
func (w *watch) remove(dir string) {
	w.mu.Lock()
	w.count--
	if found, known := w.identOf[dir]; known {
		delete(w.pathOf, found)
		delete(w.identOf, dir)
	}
	w.mu.Unlock()
	_ = w.w.Remove(dir) // there is none where the folder is gone
}

// since tells to what something has happened since it was last asked: entries of watched folders, or the folders themselves. It knows
// of all that was complete when it was called. ok is false where it does not, for good. One goroutine asks at a time.
func (w *watch) since() (paths map[string]bool, ok bool) {
	if err := unix.Fchmod(w.cookie, 0o600); err != nil {
		return nil, false
	}
	late := time.NewTimer(cookieTimeout)
	defer late.Stop()
	select {
	case <-w.cookieSeen:
	case <-w.done:
		return nil, false
	case <-late.C:
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overflow {
		return nil, false
	}
	if len(w.changed) == 0 {
		return nil, true
	}
	paths, w.changed = w.changed, map[string]bool{}
	return paths, true
}

// close ends the watch. It is called once.
func (w *watch) close() {
	_ = w.w.Close()
	<-w.done
	_ = unix.Close(w.cookie)
}
