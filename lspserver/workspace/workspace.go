// Package workspace says what the files of a workspace are right now, unsaved text included: the editor's open documents
// over the disk. It implements filetime.Files, and lands changes through one of two sinks: the editor, which applies a
// versioned edit in its own undo stack and confirms it by the didChange that follows, or the disk, by compare-and-swap.
// Nothing else in the program knows that there is an editor's buffer.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/sandbox"
)

// Range is a range of a document in the editor's positions.
type Range struct{ Start, End text.Position }

// TextEdit replaces a range by New.
type TextEdit struct {
	Range Range
	New   string
}

// Delivery is one edit of one document as the editor is asked to apply it.
type Delivery struct {
	URI string
	// Version is what the edit was computed for; nil for a document that is not open.
	Version *int32
	// Create makes the file first, Delete removes it instead of editing it.
	Create, Delete bool
	Edits          []TextEdit
	Label          string
	Session, Call  string
	Tool           string
	Turn           int
	// Old and New are the whole text before and after, for the diff that goes along.
	Old, New text.Text
	// Save says that the document will be asked to be saved.
	Save bool
}

// ErrGone is what an Editor answers that has left.
var ErrGone = errors.New("the editor has left")

// RefusedError is what an Editor answers that cannot make an edit at all, in its own words, which are for a person.
type RefusedError struct{ Words string }

func (e *RefusedError) Error() string { return e.Words }

// Editor is the client as this package needs it. Methods may be called concurrently.
type Editor interface {
	// Apply asks for an edit. applied is a hint and no more; err is a reply that never came or was an error.
	Apply(ctx context.Context, d Delivery) (applied bool, reason string, err error)
	// Save asks for documents to be saved and gives those that were not, with the reason.
	Save(ctx context.Context, uris []string) (failed map[string]string, err error)
	// Resync asks for a document's whole text.
	Resync(ctx context.Context, uri string) (text string, version int32, err error)
}

// Features is what the editor said of itself.
type Features struct {
	Encoding text.Encoding
	// Apply: workspace/applyEdit is served. Create: it may create files. Save, Resync: those requests are served.
	Apply, Create, Delete, Save, Resync bool
	// Plain: the client knows nothing of Tandem but LSP. What it has open never goes to disk, and how late it tells of its
	// changes is not known.
	Plain bool
	// Versions: an edit says which version it is for.
	Versions bool
	// Versionless: the editor tells of no document; see versionless.go. None of the others holds then.
	Versionless bool
}

// State is what tandem/fileTime tells.
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
	// Lock is who has the lock of the file, nil for nobody. It is in States only.
	Lock *filetime.Holder
}

// Options are what a Workspace needs.
type Options struct {
	Editor   Editor
	Features Features
	// Closed is the default place of files that are not open: filetime.Editor, filetime.OnDisk or filetime.Auto.
	Closed filetime.Apply
	// Apply is the default place of every change.
	Apply filetime.Apply
	// MaxFileBytes refuses larger files on disk.
	MaxFileBytes int64
	// Roots is what files are opened below. nil is none: only open documents are had then.
	Roots *sandbox.Roots
	// Canonical resolves the symbolic links of a path that may not exist.
	Canonical func(string) string
	// Notify is told when what was read, or written, changes its state; it must not block. May be nil.
	Notify func(State)
	// Locks is the folder of the locks that are shared with other processes, "" for none.
	Locks string
	// Watch is asked to watch the folder of a file that was seen; may be nil.
	Watch func(path string)
	// Journal keeps changes over the end of the process; see disk.Journal. May be nil.
	Journal disk.Journal
	Now     func() time.Time
	Log     *slog.Logger
}

// Workspace is the files of one connection. All methods may be called concurrently; Open, Change, Saved and Close must
// come in the order in which the editor sent them.
type Workspace struct {
	o    Options
	disk *disk.Disk
	// recovery is a disk that opens what earlier processes left in the midst of a change, also below no root of this one.
	recovery *disk.Disk
	revs     atomic.Uint64

	mu    sync.Mutex
	files map[string]*file // by canonical path
	gone  map[string]*file // what is left of files that were forgotten and that a session has seen: its state and its hash
	uris  map[string]*file // open documents, by the editor's own spelling
	// elsewhere are the files that the editor has unsaved in something that is no text document; see Elsewhere.
	elsewhere map[string]bool

	clock    uint64        // counts the uses of files
	commands atomic.Uint64 // counts the commands that the agent has begun

	locks  locks
	shared *shared // nil without Options.Locks
}

// New makes a Workspace with nothing open.
func New(o Options) *Workspace {
	if o.Now == nil {
		o.Now = time.Now
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
	w := &Workspace{o: o, files: map[string]*file{}, gone: map[string]*file{}, uris: map[string]*file{}}
	if o.Locks != "" {
		w.shared = newShared(o.Locks, o.Log)
	}
	w.disk, w.recovery = disk.New(w.diskOptions(disk.System(w.dir))), disk.New(w.diskOptions(disk.System(nil)))
	return w
}

// Configure changes the default places of changes.
func (w *Workspace) Configure(apply, closed filetime.Apply) {
	w.mu.Lock()
	w.o.Apply, w.o.Closed = apply, closed
	w.mu.Unlock()
}

// file is one file that the workspace keeps track of, open or not.
type file struct {
	path string
	uri  string
	used uint64        // guarded by Workspace.mu
	slot chan struct{} // one edit on its way at a time

	mu      sync.Mutex
	text    text.Text
	rev     uint64
	base    uint64 // the revision before the oldest entry of history
	history []filetime.Revision
	weight  int      // of the history, in bytes, as record counted it
	given   []uint64 // revisions that somebody has asked for, ascending: fold keeps them apart
	known   bool     // text is what the file said when last looked at
	exists  bool
	open    bool
	dirty   bool
	version int32
	lent    bool       // opened by the editor only to take our edit
	unseen  bool       // it was opened where it has no Place, so that nobody knows what the disk says
	suspect bool       // positions that did not fit: its text may not be the editor's
	rivals  int        // further names that the editor has it open under
	clamped int        // positions that were cut to fit
	held    bool       // the editor has said yes to an edit and not told of it: the slot stays taken until it tells of anything
	edited  bool       // the agent changed the buffer since it was saved
	behind  *text.Text // what the editor shows, where the file was written on disk because it cannot apply edits
	touched bool       // the agent changed the buffer and the user had not made it dirty before
	disk    stat
	wake    *wake // of an edit that landed on disk
	out     *delivery
	echo    bool          // the latest change made the document say what out was to make of it
	changed chan struct{} // closed at every change

	last     [sha256.Size]byte // of the text that the disk had when last looked at while the document was open, or forgotten
	saved    text.Text         // the text of savedRev, which the disk had, too
	savedRev uint64
	back     [2]uint64 // the revision whose text came back when the editor threw away what was not saved, and the one after that

	seen   string // the state last told: "", read, stale, written
	readAt time.Time
}

// next gives a revision number. They grow over all files, so that a file that was forgotten and met again never reuses
// one; every second is kept free for a change that turns out to be two.
func (w *Workspace) next() uint64 { return w.revs.Add(2) }

func (w *Workspace) file(path string) *file {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fileLocked(path)
}

func (w *Workspace) fileLocked(path string) *file {
	f := w.files[path]
	w.clock++
	if f == nil {
		w.forget()
		f = &file{path: path, uri: URI(path), slot: make(chan struct{}, 1), changed: make(chan struct{})}
		f.rev = w.next()
		f.base = f.rev
		if g := w.gone[path]; g != nil {
			f.seen, f.readAt, f.last = g.seen, g.readAt, g.last
			delete(w.gone, path)
		}
		w.files[path] = f
	}
	f.used = w.clock
	return f
}

// maxFiles is how many files are kept track of that are not open.
const maxFiles = 512

// forget drops the texts of files that nobody has asked for in a while. A view of one goes on, by comparing. w.mu is held.
func (w *Workspace) forget() {
	if len(w.files) < maxFiles {
		return
	}
	old := slices.SortedFunc(maps.Values(w.files), func(a, b *file) int { return cmp.Compare(a.used, b.used) })
	for _, f := range old[:maxFiles/4] {
		if f.mu.TryLock() {
			if !f.open && f.out == nil && len(f.slot) == 0 && !w.locks.taken(f.path) {
				delete(w.files, f.path)
				if f.seen != "" {
					w.gone[f.path] = &file{path: f.path, uri: f.uri, seen: f.seen, readAt: f.readAt, last: f.hash()}
				}
			}
			f.mu.Unlock()
		}
	}
}

// hash is that of the text, or of what it was when it was forgotten. f.mu is held.
func (f *file) hash() [sha256.Size]byte {
	if f.known {
		return f.text.Hash()
	}
	return f.last
}

// record makes set the file's next revision. f.mu is held.
func (w *Workspace) record(f *file, set text.Set, author filetime.Author) {
	before := f.text
	f.text = set.Apply(before)
	f.rev = w.next()
	f.remember(filetime.Revision{Rev: f.rev, Set: set, Author: author})
	if f.out != nil {
		f.out.events = append(f.out.events, event{set: set, before: before, after: f.text, rev: f.rev})
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *file) snapshot() filetime.Snapshot {
	return filetime.Snapshot{
		Path: f.path, Text: f.text, Rev: f.rev, Version: f.version, Open: f.open, Dirty: f.open && f.dirty,
		Exists: f.exists || f.open, Mode: f.disk.mode, ModTime: f.disk.mtime, Links: f.disk.links,
	}
}

// Read implements filetime.Files.
func (w *Workspace) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	f := w.file(path)
	w.trusted(ctx, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unseen {
		w.lookOpened(f)
	}
	if !f.open {
		if err := w.refresh(f); err != nil {
			return filetime.Snapshot{Path: path}, err
		}
	}
	return f.give(), nil
}

// History implements filetime.Files.
func (w *Workspace) History(path string, rev uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	f := w.file(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	revs, ok := f.since(rev)
	return revs, f.give(), ok
}

// Seen says that the model has seen a file; its folder is watched from now on.
func (w *Workspace) Seen(path string) {
	f := w.file(path)
	f.mu.Lock()
	f.readAt = w.o.Now()
	w.tell(f, "read", "agent")
	f.mu.Unlock()
	if w.o.Watch != nil {
		w.o.Watch(path)
	}
}

// tell notifies of a new state, once. f.mu is held.
func (w *Workspace) tell(f *file, state, by string) {
	if state == "stale" && (f.seen == "" || f.seen == "stale") {
		return
	}
	if f.seen == state && state == "read" {
		return
	}
	f.seen = state
	w.o.Notify(f.state(by))
}

func (f *file) state(by string) State {
	return State{
		Path: f.path, URI: f.uri, State: f.seen, By: by, ModTime: f.disk.mtime, Version: f.version, Open: f.open,
		Dirty: f.open && f.dirty, Seen: f.seen != "", ReadAt: f.readAt, Size: f.text.Len(),
	}
}

// States lists what is known of the files that were seen, or of the given paths.
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
			s.Hash = hex.EncodeToString(g.last[:])
			out = append(out, s)
		}
	}
	w.mu.Unlock()
	for _, f := range list {
		f.mu.Lock()
		s, t, charset := f.state(""), f.text, text.CharsetUTF8
		if !f.open && f.exists {
			s.Size, charset = int(f.disk.size), f.disk.charset
		}
		f.mu.Unlock()
		if s.Seen || len(paths) > 0 {
			s.Hash = hexHash(t, charset)
			if h, ok := w.holder(f.path); ok {
				s.Lock = &h
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b State) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// Changed is told by the watch that something happened to a path on disk. What is found there decides; the workspace's
// own writes are known by their text. With lost, a file is read even where its stat says that nothing happened.
func (w *Workspace) Changed(path string, lost bool) {
	w.mu.Lock()
	f := w.files[path]
	if g := w.gone[path]; f == nil && g != nil && g.seen != "stale" {
		f = w.fileLocked(path)
	}
	w.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.hash(), f.known
	if lost {
		f.disk.checked = time.Time{}
	}
	switch {
	case f.open:
		w.lookBeside(f, true)
	case f.known || f.seen != "":
		if err := w.refresh(f); err != nil {
			w.o.Log.Debug("watched file cannot be read", "path", path, "error", err)
		} else if !known && was != f.text.Hash() {
			w.tell(f, "stale", "disk")
		}
	}
}

// safely runs what nobody waits for. A fault there must not end the process.
func (w *Workspace) safely(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			w.o.Log.Error("work on files panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// beside is how long an editor may take to tell of what it has just saved.
const beside = 200 * time.Millisecond

// lookBeside tells of a save of an open document that was not its editor's: the disk says what neither the buffer nor the
// last save does, and goes on to say it. f.mu is held.
func (w *Workspace) lookBeside(f *file, first bool) {
	if !f.open || f.seen == "" || f.seen == "stale" {
		return
	}
	d, err := w.lookAt(f)
	if err != nil || d.exists && (f.last == d.text.Hash() || sameText(d.text, f.text)) || !d.exists && !f.exists {
		return
	}
	if first || f.out != nil {
		time.AfterFunc(beside, func() {
			w.safely(func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				w.lookBeside(f, false)
			})
		})
		return
	}
	f.exists, f.last = d.exists, d.text.Hash()
	w.tell(f, "stale", "disk")
}

// Unsaved lists the paths of open documents whose text differs from what was last saved.
func (w *Workspace) Unsaved() []string {
	var out []string
	for _, f := range w.opened() {
		f.mu.Lock()
		if f.dirty {
			out = append(out, f.path)
		}
		f.mu.Unlock()
	}
	slices.Sort(out)
	return out
}

// Documents counts the open documents and those whose positions once did not fit.
func (w *Workspace) Documents() (open, suspect int) {
	for _, f := range w.opened() {
		open++
		f.mu.Lock()
		if f.suspect || f.clamped > 0 {
			suspect++
		}
		f.mu.Unlock()
	}
	return open, suspect
}

// opened gives the open documents by URI, so that nothing is waited for under w.mu.
func (w *Workspace) opened() map[string]*file {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.uris)
}

// SaveForCommand saves the open documents that the agent changed and the user had not made dirty before, so that a
// command sees them; it gives a sentence for each whose disk stays older than its buffer.
func (w *Workspace) SaveForCommand(ctx context.Context) []string {
	ask := map[string]*file{} // by URI
	var stale []*file
	w.commands.Add(1)
	for uri, f := range w.opened() {
		f.mu.Lock()
		switch {
		case f.dirty && f.touched && w.o.Features.Save:
			ask[uri] = f
		case f.dirty && f.edited:
			stale = append(stale, f)
		}
		f.mu.Unlock()
	}
	if len(ask) > 0 {
		failed, err := w.o.Editor.Save(ctx, slices.Sorted(maps.Keys(ask)))
		for uri, f := range ask {
			if _, bad := failed[uri]; bad || err != nil {
				stale = append(stale, f)
			}
		}
	}
	var out []string
	for _, f := range stale {
		out = append(out, f.path+" on disk is older than the editor's buffer: the command sees the text that was last saved.")
	}
	slices.Sort(out)
	return out
}
