package index

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"tandem/sandbox"
)

const (
	// maxEvents is the limit of paths kept between two scans; with more, checking all folders costs
	// less.
	maxEvents = 20_000
	// cookieTimeout limits how long events may be late.
	cookieTimeout = 250 * time.Millisecond
)

// watch is an inotify watch of folders, synchronised by a cookie. The kernel queues the event of a
// change before the system call returns. So a reader that has reached its own event, the cookie,
// has seen all changes completed before it. The cookie is a change of mode of an unnamed file.
type watch struct {
	w          *fsnotify.Watcher
	cookie     int
	path       string // of the cookie
	maxWatches int    // how many folders may be watched

	mu    sync.Mutex
	count int // of watched folders
	// pathOf maps watched folders to the paths that they were found at, identOf is the inverse. The
	// kernel has one watch for a folder, and reports the path by which it was first added.
	pathOf   map[sandbox.Ident]string
	identOf  map[string]sandbox.Ident
	changed  map[string]bool
	overflow bool

	cookieSeen chan struct{} // receives a value for each cookie
	done       chan struct{} // closed after the last event
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

// maxWatches is half of the system's limit for a user.
func maxWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		n = 8192
	}
	return n / 2
}

// receive collects events until the watch is closed.
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

// add watches a folder. add and remove may be called concurrently.
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

// holds reports whether the watch added for a path is on the folder found there, and reports that
// path. It does not after the folder was moved, is mounted twice, or was mounted over.
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

// remove removes the watch of a folder.
func (w *watch) remove(dir string) {
	w.mu.Lock()
	w.count--
	if found, known := w.identOf[dir]; known {
		delete(w.pathOf, found)
		delete(w.identOf, dir)
	}
	w.mu.Unlock()
	_ = w.w.Remove(dir) // a deleted folder has none
}

// since returns the paths with events since its last call: entries of watched folders, or the
// folders. It covers all changes completed before the call. After ok is false the watch is of no
// more use. It is called by one goroutine at a time.
func (w *watch) since() (paths map[string]bool, ok bool) {
	if err := unix.Fchmod(w.cookie, 0o600); err != nil {
		return nil, false
	}
	select {
	case <-w.cookieSeen:
	case <-w.done:
		return nil, false
	case <-time.After(cookieTimeout):
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

// close stops the watch. It is called once.
func (w *watch) close() {
	_ = w.w.Close()
	<-w.done
	_ = unix.Close(w.cookie)
}

// lower gives the goroutine, until it ends, a thread of its own that runs when no other wants to.
func lower() {
	runtime.LockOSThread() // the thread ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
}
