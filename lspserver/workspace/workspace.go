// Package workspace has the present texts of the files of a workspace: the editor's open documents, unsaved text
// included, over the disk. It implements filetime.Files, and lands changes through one of two sinks: the editor, which
// applies a versioned edit in its own undo stack and confirms it by the didChange that follows, or the disk, by
// compare-and-swap. Nothing else in the program knows that there is an editor's buffer.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/locks"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/history"
	"tandem/lspserver/stored"
	"tandem/sandbox"
)

// Editor is the client as this package needs it. Methods may be called concurrently.
type Editor interface {
	delivery.Editor
	// Resync requests a document's whole text.
	Resync(ctx context.Context, uri string) (text string, version int32, err error)
}

// Features are the capabilities of the editor.
type Features struct {
	Encoding text.Encoding
	// Apply: workspace/applyEdit is served. Create, Delete, Rename: it may do that to files. Save, Resync: those requests are served.
	Apply, Create, Delete, Rename, Save, Resync bool
	// Plain: the client has only LSP. Changes of its open documents never go to the disk, and it may delay didChange.
	Plain bool
	// Landed: replies to edits name the version that they made.
	Landed bool
	// Versions: edits carry the version that they are for.
	Versions bool
	// Versionless: the editor sends no document notifications; see versionless.go. All others are false then.
	Versionless bool
}

// State is the state of a file as in tandem/fileTime.
type State struct {
	Path    string
	URI     string
	State   string // read, stale, written, conflict
	By      string // user, disk, agent
	ModTime time.Time
	Version int32
	Open    bool
	Dirty   bool
	Seen    bool
	ReadAt  time.Time
	// Size and Hash are of the bytes of the file, or of the buffer as UTF-8. Hash is in States only.
	Size int
	Hash string
	// Lock is the holder of the file's lock, or nil. It is in States only.
	Lock *filetime.Holder
}

// Options are what a Workspace needs.
type Options struct {
	Editor   Editor
	Features Features
	// Closed is the default sink of files that are not open: filetime.Editor, filetime.OnDisk or filetime.Auto.
	Closed filetime.Apply
	// Apply is the default sink of every change.
	Apply filetime.Apply
	// MaxFileBytes refuses larger files on disk.
	MaxFileBytes int64
	// Roots are what files are opened below. nil is none: only open documents can be read then.
	Roots *sandbox.Roots
	// Canonical resolves the symbolic links of a path that may not exist.
	Canonical func(string) string
	// Notify is called when the state of a file that was read or written changes; it must not block. May be nil.
	Notify func(State)
	// Locks is the folder of the locks that are shared with other processes, "" for none.
	Locks string
	// Watcher is what tells of changes on disk, by Changed; may be nil.
	Watcher Watcher
	// Journal is the write-ahead log. May be nil.
	Journal disk.Journal
	// Held is how long an edit is waited for of which the editor says that it has applied it, and has not told of yet. 0 is 2 minutes.
	Held time.Duration
	// Waits is called when an edit of the file at path has waited for a while for an editor that has applied it and has not told of it.
	// Late is called when it has become known whether an edit landed of whose call that was not known: l has the file, or is empty where
	// the edit is not in the text. Either may be nil, and must not block.
	Waits func(c filetime.Change, path string)
	Late  func(c filetime.Change, l filetime.Landed)
	Now   func() time.Time
	Log   *slog.Logger
}

// Watcher watches files. All methods may be called concurrently.
type Watcher interface {
	// Add begins to watch a file that was read before, Watch one that is read after it returns. Again either does nothing.
	Add(path string)
	Watch(path string)
	// Covers says whether the system tells of changes of a file; the number grows with every change of it, before it is told.
	Covers(path string) (live bool, changes uint64)
}

// Workspace is the files of one connection. All methods may be called concurrently; Open, Change, Saved and Close must
// come in the order in which the editor sent them.
type Workspace struct {
	o    Options
	disk *disk.Disk
	// recovery is a disk for interrupted changes of earlier processes, whose files may be below no root of this one.
	recovery *disk.Disk
	revs     atomic.Uint64

	mu    sync.Mutex
	files map[string]*file // by canonical path
	gone  map[string]*file // state and hash of files that a session has seen and whose texts were dropped
	uris  map[string]*file // open documents, by the editor's own spelling
	// elsewhere are the files that the editor has unsaved in an editor that is not a text document; see Elsewhere.
	elsewhere map[string]bool
	moves     []*moving

	wrote map[string]wrote // by canonical path

	hits, misses atomic.Int64 // of reads

	clock    uint64        // counts the uses of files
	forgetAt int           // how many files there are when forget looks again
	commands atomic.Uint64 // counts the commands that the agent has begun

	counting counting
	traffic  delivery.Traffic
	locks    *locks.Locks
}

// New makes a Workspace with nothing open.
func New(o Options) *Workspace {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Held == 0 {
		o.Held = delivery.HeldTime
	}
	if o.Waits == nil {
		o.Waits = func(filetime.Change, string) {}
	}
	if o.Late == nil {
		o.Late = func(filetime.Change, filetime.Landed) {}
	}
	if o.Roots == nil {
		o.Roots = &sandbox.Roots{}
	}
	if o.Canonical == nil {
		o.Canonical = func(p string) string { return p }
	}
	if o.Notify == nil {
		o.Notify = func(State) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Workspace{o: o, files: map[string]*file{}, gone: map[string]*file{}, uris: map[string]*file{}, wrote: map[string]wrote{}}
	w.locks = locks.New(locks.Options{Dir: o.Locks, Private: w.inBuffer, Now: o.Now, Log: o.Log})
	w.disk, w.recovery = disk.New(w.diskOptions(disk.System(w.stored().Dir))), disk.New(w.diskOptions(disk.System(nil)))
	return w
}

// Configure changes the default places of changes.
func (w *Workspace) Configure(apply, closed filetime.Apply) {
	w.mu.Lock()
	w.o.Apply, w.o.Closed = apply, closed
	w.mu.Unlock()
}

func (w *Workspace) fileLocked(path string) *file {
	f := w.files[path]
	w.clock++
	if f == nil {
		w.forget()
		f = &file{path: path, uri: URI(path), Slot: delivery.NewSlot(), History: history.New(w.next())}
		if g := w.gone[path]; g != nil {
			f.status, f.disk.last = g.status, g.disk.last
			delete(w.gone, path)
		}
		w.files[path] = f
	}
	f.used = w.clock
	return f
}

// maxFiles is how many texts of files that are not open are kept.
const maxFiles = 512

// forget drops the least recently used texts. Views of such a file are carried on by a diff. It looks at all files only when there are a
// quarter more than after the last time, since none of thousands of open documents may be dropped. w.mu is held.
func (w *Workspace) forget() {
	if len(w.files) < max(maxFiles, w.forgetAt) {
		return
	}
	defer func() { w.forgetAt = len(w.files) + max(maxFiles, len(w.files))/4 }()
	var closed []*file
	for _, f := range w.files {
		if f.mu.TryLock() {
			if !f.open() {
				closed = append(closed, f)
			}
			f.mu.Unlock()
		}
	}
	slices.SortFunc(closed, func(a, b *file) int { return cmp.Compare(a.used, b.used) })
	for _, f := range closed[:max(0, len(closed)-maxFiles*3/4)] {
		if f.mu.TryLock() {
			if !f.open() && f.Free() && f.asked.Load() == 0 && !w.locks.Taken(f.path) {
				delete(w.files, f.path)
				if f.status.seen != "" {
					w.gone[f.path] = &file{path: f.path, uri: f.uri, status: f.status, disk: diskState{last: f.hash()}}
				}
			}
			f.mu.Unlock()
		}
	}
}

// Read implements filetime.Files.
func (w *Workspace) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	f := w.file(path)
	w.resyncIfUnsure(ctx, f)
	w.watch(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.doc != nil && f.doc.unplaced {
		w.compareOpened(f)
	}
	if f.doc != nil && f.doc.sync == lostSync {
		return filetime.Snapshot{Path: path}, fail(path, filetime.ReadError, uncertainReason,
			"Read file failed: the unsaved text of %s is not known, because a change from the editor was malformed. "+
				"Ask the user to close the file and open it again, then read it.", path)
	}
	cached, err := f.open(), error(nil)
	if !f.open() {
		cached, err = w.renew(f)
	}
	if cached {
		w.hits.Add(1)
	} else {
		w.misses.Add(1)
	}
	if err != nil {
		return filetime.Snapshot{Path: path}, err
	}
	s := f.pinnedSnapshot()
	s.Cached = cached
	return s, nil
}

// Cache counts the reads that were answered from memory, and those for which a file was read.
func (w *Workspace) Cache() (hits, misses int64) { return w.hits.Load(), w.misses.Load() }

// History implements filetime.Files.
func (w *Workspace) History(path string, rev uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	f := w.file(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	revs, ok := f.Since(rev)
	return revs, f.pinnedSnapshot(), ok
}

// Seen says that the model has seen a file; its folder is watched from now on.
func (w *Workspace) Seen(path string) {
	f := w.file(path)
	f.mu.Lock()
	f.status.readAt = w.o.Now()
	w.notify(f, "read", "agent")
	f.mu.Unlock()
	if w.o.Watcher != nil {
		w.o.Watcher.Add(path)
	}
}

// States lists the states of the files that sessions have seen, or of the given paths.
func (w *Workspace) States(paths []string) []State {
	w.mu.Lock()
	var list []*file
	for p, f := range w.files {
		if len(paths) == 0 || slices.Contains(paths, p) {
			list = append(list, f)
		}
	}
	var out []State
	for p, g := range w.gone {
		if len(paths) == 0 || slices.Contains(paths, p) {
			s := g.state("")
			s.Hash = hex.EncodeToString(g.disk.last[:])
			out = append(out, s)
		}
	}
	w.mu.Unlock()
	for _, f := range list {
		f.mu.Lock()
		s, t, charset := f.state(""), f.Text(), text.CharsetUTF8
		if !f.open() && f.disk.exists {
			s.Size, charset = int(f.disk.Size), f.disk.Charset
		}
		f.mu.Unlock()
		if s.Seen || len(paths) > 0 {
			s.Hash = hexHash(t, charset)
			if h, ok := w.locks.Holder(f.path); ok {
				s.Lock = &h
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// Changed handles an event of the watcher, which is only a hint: the content decides. With lost, a file is read even if
// its stat is unchanged.
func (w *Workspace) Changed(path string, lost bool) {
	w.mu.Lock()
	f := w.files[path]
	if g := w.gone[path]; f == nil && g != nil && g.status.seen != "stale" {
		f = w.fileLocked(path)
	}
	w.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.hash(), f.Loaded()
	f.disk.valid = unsure
	if lost {
		f.distrust()
	}
	switch {
	case f.open():
		w.checkOtherSave(f, true)
	case f.Loaded() || f.status.seen != "":
		if err := w.refresh(f); err != nil {
			w.o.Log.Debug("watched file cannot be read", "path", path, "error", err)
		} else if !known && was != f.Text().Hash() {
			w.notify(f, "stale", "disk")
		}
	}
}

// didSaveDelay is how long an editor may delay didSave.
const didSaveDelay = 200 * time.Millisecond

// checkOtherSave notifies that another program has saved an open document: the disk has neither the buffer's text nor that
// of the last save, also after a while. f.mu is held.
func (w *Workspace) checkOtherSave(f *file, first bool) {
	if !f.open() || f.status.seen == "" || f.status.seen == "stale" {
		return
	}
	d, err := w.stored().Compare(f.path)
	if err != nil || d.Exists && (f.disk.last == d.Text.Hash() || text.EqualLines(d.Text, f.Text())) || !d.Exists && !f.disk.exists {
		return
	}
	if first || f.Busy() {
		time.AfterFunc(didSaveDelay, func() {
			w.safely(func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				w.checkOtherSave(f, false)
			})
		})
		return
	}
	f.disk.exists, f.disk.last = d.Exists, d.Text.Hash()
	w.notify(f, "stale", "disk")
}

// Unsaved lists the paths of open documents whose text differs from what was last saved.
func (w *Workspace) Unsaved() []string {
	var out []string
	for _, f := range w.opened() {
		f.mu.Lock()
		if f.dirty() {
			out = append(out, f.path)
		}
		f.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

// Documents counts the open documents, and those of them with a position that did not fit.
func (w *Workspace) Documents() (open, suspect int) {
	for _, f := range w.opened() {
		open++
		f.mu.Lock()
		if f.doc != nil && (f.doc.sync != inSync || f.doc.clamped > 0) {
			suspect++
		}
		f.mu.Unlock()
	}
	return open, suspect
}

// opened is a copy of the open documents by URI, so that w.mu is not held while locking them.
func (w *Workspace) opened() map[string]*file {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.uris)
}

// URI is the file URI of an absolute path.
func URI(path string) string { return fileuri.Of(path) }

// hexHash is the hash of a text in a charset.
func hexHash(t text.Text, c text.Charset) string {
	h := t.Hash()
	if c != text.CharsetUTF8 {
		if coded, err := text.Encode(t, c); err == nil {
			h = sha256.Sum256(coded)
		}
	}
	return hex.EncodeToString(h[:])
}

func (w *Workspace) file(path string) *file {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fileLocked(path)
}

// Settle removes the temporary files of changes. It is for the end of the connection.
func (w *Workspace) Settle() {
	w.settleWakes()
	w.disk.Settle()
	w.recovery.Settle()
}

// Recover ends changes that were interrupted by the end of their process; see disk.Disk.Recover. Their paths were
// judged by that process, and need not be below a root of this one; no link is followed on the way to them.
func (w *Workspace) Recover() ([]disk.Recovered, error) { return w.recovery.Recover() }

// diskOptions are for changing files that no editor has open.
func (w *Workspace) diskOptions(system disk.FS) disk.Options {
	o := disk.Options{
		FS: system, Journal: w.o.Journal, Merge: stored.Merge, Nearest: stored.Nearest, Now: w.o.Now, Log: w.o.Log,
		// In a goroutine, since it may be called from within a change of the same file.
		Late:  func(l disk.LateWrite) { go w.safely(func() { w.Changed(l.Path, true) }) },
		Go:    func(f func()) { go w.safely(f) },
		After: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, func() { w.safely(f) }).Stop },
	}
	if w.o.MaxFileBytes > 0 {
		o.Limit = 2*w.o.MaxFileBytes + 1<<20 // another program may have saved more than may be edited
	}
	return o
}

// watch begins to watch a file that is to be read or written.
func (w *Workspace) watch(path string) {
	if w.o.Watcher != nil {
		w.o.Watcher.Watch(path)
	}
}

// covers is that of the Watcher.
func (w *Workspace) covers(path string) (live bool, changes uint64) {
	if w.o.Watcher == nil {
		return false, 0
	}
	return w.o.Watcher.Covers(path)
}

// safely runs a function in the background. A panic there must not end the process.
func (w *Workspace) safely(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			w.o.Log.Error("work on files panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// stored reads files on disk.
func (w *Workspace) stored() stored.Reader {
	return stored.Reader{Roots: w.o.Roots, Limit: w.o.MaxFileBytes}
}
