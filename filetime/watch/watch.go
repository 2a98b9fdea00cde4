// Package watch tells of changes on disk to the files that matter: those that a session has seen. It watches folders,
// not files, because a watch on a file dies with the first save by rename. An event only says "look again"; what is
// found there decides.
package watch

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a burst of events is gathered before anybody looks.
const settle = 30 * time.Millisecond

// Watcher watches the folders of files. All methods may be called concurrently.
type Watcher struct {
	changed func(path string)
	log     *slog.Logger

	mu    sync.Mutex
	w     *fsnotify.Watcher
	dirs  map[string]bool
	files map[string]bool
	dirty map[string]bool
	timer *time.Timer
	done  bool
	loop  sync.WaitGroup
	err   error
}

// New makes a Watcher that watches nothing yet and holds no system resources until Add. changed is called, maybe
// concurrently, for every watched file that something happened to.
func New(changed func(path string), log *slog.Logger) *Watcher {
	return &Watcher{
		changed: changed, log: log,
		dirs: map[string]bool{}, files: map[string]bool{}, dirty: map[string]bool{},
	}
}

// Add begins to watch a file, given by its absolute path. Adding it again costs nothing. Where the system gives no
// watch, the file goes unwatched and Err says why: a commit does not rest on events.
func (w *Watcher) Add(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.files[path] {
		return
	}
	w.files[path] = true
	// Whoever adds a file has read it before: what happened in between is looked for, below, by marking it.
	dir := filepath.Dir(path)
	if w.dirs[dir] {
		w.mark(path)
		return
	}
	if w.w == nil {
		fs, err := fsnotify.NewWatcher()
		if err != nil {
			w.fail(err)
			return
		}
		w.w = fs
		w.loop.Go(func() { w.run(fs) })
	}
	if err := w.w.Add(dir); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			w.fail(err)
		}
		delete(w.files, path)
		return
	}
	w.dirs[dir] = true
	w.mark(path)
}

// Err says why files go unwatched, nil when all are watched.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends the watch and waits until changed is not being called any more.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.done = true
	if w.timer != nil && w.timer.Stop() {
		w.loop.Done()
	}
	fs := w.w
	w.mu.Unlock()
	if fs != nil {
		_ = fs.Close()
	}
	w.loop.Wait()
}

func (w *Watcher) fail(err error) {
	if w.err == nil {
		w.log.Warn("files cannot be watched; changes on disk show at the next read", "error", err)
	}
	w.err = err
}

func (w *Watcher) run(fs *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-fs.Events:
			if !ok {
				return
			}
			w.mu.Lock()
			switch {
			case w.files[e.Name]:
				w.mark(e.Name)
			case w.dirs[e.Name] && e.Has(fsnotify.Remove|fsnotify.Rename):
				delete(w.dirs, e.Name)
				w.markAll(e.Name)
			}
			w.mu.Unlock()
		case err, ok := <-fs.Errors:
			if !ok {
				return
			}
			w.mu.Lock()
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.markAll("")
			} else {
				w.log.Debug("watch", "error", err)
			}
			w.mu.Unlock()
		}
	}
}

// markAll marks every watched file, or those of one folder. w.mu is held.
func (w *Watcher) markAll(dir string) {
	for f := range w.files {
		if dir == "" || filepath.Dir(f) == dir {
			w.mark(f)
			if dir != "" {
				delete(w.files, f)
			}
		}
	}
}

// mark notes that something happened to a file and begins to gather. w.mu is held.
func (w *Watcher) mark(path string) {
	w.dirty[path] = true
	if w.timer == nil && !w.done {
		w.loop.Add(1)
		w.timer = time.AfterFunc(settle, w.flush)
	}
}

func (w *Watcher) flush() {
	defer w.loop.Done()
	w.mu.Lock()
	dirty := w.dirty
	w.dirty, w.timer = map[string]bool{}, nil
	w.mu.Unlock()
	for p := range dirty {
		w.changed(p)
	}
}
