// Package watch tells of changes on disk to the files that matter: those that a session has seen.
// It watches folders, not files, because a watch on a file dies with the first save by rename. An
// event only says "look again"; what is found there decides.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a burst of events is gathered before anybody looks.
	settle = 30 * time.Millisecond
	// Every is how often the files are looked at that the system does not watch.
	Every = 250 * time.Millisecond
	// racy is how young a file must not be for its stat to tell that it did not change.
	racy = 2 * time.Second
)

// Watcher watches the folders of files. All methods may be called concurrently.
type Watcher struct {
	changed func(path string, lost bool)
	root    func(path string) string
	log     *slog.Logger
	add     func(w *fsnotify.Watcher, dir string) error // a test may have it fail
	remote  func(dir string) string
	racy    time.Duration

	// setup is held while folders get their watches, mu only for a moment: events are always taken
	// in, for else fsnotify might wait for that, and who adds a folder for fsnotify.
	setup   sync.Mutex
	w       *fsnotify.Watcher
	watched map[string]bool
	far     map[string]error // folders that are on another machine

	mu       sync.Mutex
	files    map[string]bool // the files, and whether somebody has to look at them
	folders  map[string]bool // those of the files and the ones above them
	looks    map[string]look
	names    map[string]bool // the folders that came or went since the last flush
	dirty    map[string]bool
	overflow bool
	covered  map[string]bool // the files that the system tells of
	events   map[string]uint64
	moved    uint64 // counts what happened to folders, and losses of events
	timer    *time.Timer
	polling  bool
	err      error
	ended    chan struct{}
	loop     sync.WaitGroup
}

// look is what stands for the content of a file that is looked at now and then.
type look struct {
	ino          uint64
	size         int64
	mtime, ctime int64 // in nanoseconds
	young        bool
}

// New makes a Watcher that watches nothing yet and holds no system resources until Add. changed is
// called, maybe concurrently, for every watched file that something happened to, with lost where
// events were lost, so that a stat proves nothing. root gives the folder above a file up to which
// folders are watched for being moved or made anew, "" for the file's own folder only; it may be
// nil.
func New(changed func(path string, lost bool), root func(path string) string, log *slog.Logger) *Watcher {
	if root == nil {
		root = func(string) string { return "" }
	}
	return &Watcher{
		changed: changed, root: root, log: log, add: (*fsnotify.Watcher).Add, remote: remote, racy: racy,
		watched: map[string]bool{}, far: map[string]error{}, files: map[string]bool{}, folders: map[string]bool{}, looks: map[string]look{},
		names: map[string]bool{}, dirty: map[string]bool{}, covered: map[string]bool{}, events: map[string]uint64{}, ended: make(chan struct{}),
	}
}

// Add begins to watch a file that was read before, given by its absolute path. Adding it again
// costs nothing. Where the system gives no watch, the file is looked at every now and then instead,
// and State says so.
func (w *Watcher) Add(path string) {
	if w.begin(path) {
		// What happened since it was read is looked for.
		w.mu.Lock()
		w.mark(path)
		w.mu.Unlock()
	}
}

// Watch is Add for a file that is read only after it returns.
func (w *Watcher) Watch(path string) { w.begin(path) }

// Covers says whether the system tells of changes of a file. events is a number that grows with
// every event of it, before changed is called for that; what has happened an instant ago may not be
// in it yet.
func (w *Watcher) Covers(path string) (live bool, events uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.covered[path], w.events[path] + w.moved
}

// begin begins to watch a file; false means that it was watched before, or that the Watcher is
// closed.
func (w *Watcher) begin(path string) bool {
	w.mu.Lock()
	_, known := w.files[path]
	w.mu.Unlock()
	if known {
		return false
	}
	w.setup.Lock()
	defer w.setup.Unlock()
	chain := w.chain(path)
	w.mu.Lock()
	_, known = w.files[path]
	if known || w.done() {
		w.mu.Unlock()
		return false
	}
	w.files[path] = false
	for _, dir := range chain {
		w.folders[dir] = true
	}
	w.mu.Unlock()
	w.follow(path)
	return true
}

// State says how files are watched: "on", or "polling" with the reason where some or all are looked
// at every now and then.
func (w *Watcher) State() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	polled := 0
	for _, p := range w.files {
		if p {
			polled++
		}
	}
	if polled == 0 || w.err == nil {
		return "on"
	}
	return fmt.Sprintf("polling: %d of %d files are looked at every %v, because %v", polled, len(w.files), Every, w.err)
}

// Close ends the watch and waits until changed is not being called any more.
func (w *Watcher) Close() {
	w.mu.Lock()
	if !w.done() {
		close(w.ended)
	}
	if w.timer != nil && w.timer.Stop() {
		w.loop.Done()
	}
	w.mu.Unlock()
	w.setup.Lock()
	if w.w != nil {
		_ = w.w.Close()
	}
	w.setup.Unlock()
	w.loop.Wait()
}

// done says that Close was called. w.mu is held.
func (w *Watcher) done() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// chain is the folder of a file and those above it up to its root, the topmost first.
func (w *Watcher) chain(path string) []string {
	dir, root := filepath.Dir(path), w.root(path)
	out := []string{dir}
	for dir != root && below(dir, root) {
		dir = filepath.Dir(dir)
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// below says whether a path lies somewhere in a folder.
func below(path, dir string) bool {
	return dir != "" && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// follow sees to it that the folders of a file are watched, from the topmost down: then one that is
// missing shows up as an event of the one above it. w.setup is held.
func (w *Watcher) follow(path string) {
	var why error
	for i, dir := range w.chain(path) {
		if w.watched[dir] {
			continue
		}
		err := w.watch(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			if i == 0 {
				why = err // nobody will tell of it
			}
			break
		}
		if err != nil {
			why = err
			break
		}
		w.watched[dir] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path], w.covered[path] = why != nil, why == nil && w.watched[filepath.Dir(path)]
	if why == nil {
		delete(w.looks, path)
		return
	}
	if w.err == nil && !errors.Is(why, fs.ErrNotExist) {
		w.log.Warn("some files are not watched by the system, but looked at now and then", "every", Every, "error", why)
	}
	w.err = why
	if !w.polling && !w.done() {
		w.polling = true
		go w.poll()
	}
}

// watch has the system watch a folder. w.setup is held.
func (w *Watcher) watch(dir string) error {
	if err := w.far[dir]; err != nil {
		return err
	}
	if name := w.remote(dir); name != "" {
		w.far[dir] = fmt.Errorf("%s is on %s, where the system does not see what others do", dir, name)
		return w.far[dir]
	}
	if w.w == nil {
		fs, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		w.w = fs
		w.mu.Lock()
		w.loop.Go(func() { w.hear(fs) })
		w.mu.Unlock()
	}
	return w.add(w.w, dir)
}

// hear takes events in. It never waits for anything.
func (w *Watcher) hear(fs *fsnotify.Watcher) {
	events, errs := fs.Events, fs.Errors
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.mu.Lock()
			if _, file := w.files[e.Name]; file {
				w.mark(e.Name)
			}
			if w.folders[e.Name] && e.Op.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
				w.names[e.Name] = true
				w.moved++
				w.arm()
			}
			w.mu.Unlock()
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.mu.Lock()
				w.overflow = true
				w.moved++
				w.arm()
				w.mu.Unlock()
			} else {
				w.log.Debug("watch", "error", err)
			}
		}
	}
}

// mark notes that something happened to a file. w.mu is held.
func (w *Watcher) mark(path string) {
	w.dirty[path] = true
	w.events[path]++
	w.arm()
}

// arm begins to gather. w.mu is held.
func (w *Watcher) arm() {
	if w.timer == nil && !w.done() {
		w.loop.Add(1)
		w.timer = time.AfterFunc(settle, w.flush)
	}
}

func (w *Watcher) flush() {
	defer w.loop.Done()
	w.mu.Lock()
	dirty, names, lost := w.dirty, w.names, w.overflow
	w.dirty, w.names, w.overflow, w.timer = map[string]bool{}, map[string]bool{}, false, nil
	w.mu.Unlock()
	if lost {
		w.log.Warn("events of changes on disk were lost; looking at all files")
	}
	if lost || len(names) > 0 {
		w.again(names, lost, dirty)
	}
	for p := range dirty {
		w.mu.Lock()
		done := w.done()
		w.mu.Unlock()
		if done {
			return
		}
		w.changed(p, lost)
	}
}

// again gives folders their watches that have been moved, removed or made, and marks what lies in
// them.
func (w *Watcher) again(names map[string]bool, lost bool, dirty map[string]bool) {
	w.setup.Lock()
	defer w.setup.Unlock()
	within := func(path string) bool {
		if lost {
			return true
		}
		for name := range names {
			if path == name || below(path, name) {
				return true
			}
		}
		return false
	}
	for dir := range w.watched {
		if within(dir) {
			// It may be the watch of a folder that has another name by now.
			_ = w.w.Remove(dir)
			delete(w.watched, dir)
		}
	}
	w.mu.Lock()
	files := slices.Collect(maps.Keys(w.files))
	w.mu.Unlock()
	for _, path := range files {
		if within(path) {
			w.follow(path)
			dirty[path] = true
		}
	}
}

// poll looks at the files that nobody tells of, for as long as there are any. It is not waited for:
// a disk that is gone may hold it for ever.
func (w *Watcher) poll() {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.ended:
			return
		}
		w.mu.Lock()
		var list []string
		for path, polled := range w.files {
			if polled {
				list = append(list, path)
			}
		}
		if len(list) == 0 {
			w.polling, w.err = false, nil
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for _, path := range list {
			w.look(path)
		}
	}
}

// look looks at one file, and whether it can be watched by now.
func (w *Watcher) look(path string) {
	var now look
	if info, err := os.Lstat(path); err == nil {
		now = lookOf(info)
		now.young = time.Since(time.Unix(0, max(now.mtime, now.ctime))) < w.racy
	}
	w.setup.Lock()
	defer w.setup.Unlock()
	w.mu.Lock()
	was, looked := w.looks[path]
	if w.done() {
		w.mu.Unlock()
		return
	}
	w.looks[path] = now
	if !looked || was != now || now.young {
		w.mark(path)
	}
	w.mu.Unlock()
	w.follow(path)
	w.mu.Lock()
	if !w.files[path] {
		w.mark(path) // what came before the watch
	}
	w.mu.Unlock()
}
