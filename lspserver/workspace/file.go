package workspace

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/follow"
	"tandem/lspserver/history"
	"tandem/lspserver/stored"
)

// status is what clients were last notified of.
type status struct {
	seen   string // "", read, stale, written, conflict
	readAt time.Time
}

// next gives a revision number. They grow over all files, so that a file whose text was dropped never reuses one; every
// second one is reserved for a change that turns out to be two.
func (w *Workspace) next() uint64 { return w.revs.Add(2) }

// hash is that of the text, or of the one that was dropped. f.mu is held.
func (f *file) hash() [sha256.Size]byte {
	if f.Loaded() {
		return f.Text().Hash()
	}
	return f.disk.last
}

// record makes set the file's next revision. f.mu is held.
func (w *Workspace) record(f *file, set text.Set, author filetime.Author) {
	before := f.Text()
	f.Record(w.next(), set, author, f.Busy())
	f.Told(follow.Change{Set: set, Before: before, After: f.Text(), Rev: f.Rev()})
}

func (f *file) snapshot() filetime.Snapshot {
	return filetime.Snapshot{
		Path: f.path, Text: f.Text(), Rev: f.Rev(), Version: f.version(), Open: f.open(), Dirty: f.dirty(),
		Exists: f.disk.exists || f.open(), Mode: f.disk.Mode, ModTime: f.disk.ModTime, Links: f.disk.Links,
	}
}

// pinnedSnapshot is a snapshot whose revision the history will keep.
func (f *file) pinnedSnapshot() filetime.Snapshot {
	f.Pin()
	return f.snapshot()
}

// notify notifies of a new state, not twice in a row. f.mu is held.
func (w *Workspace) notify(f *file, state, by string) {
	if state == "stale" && (f.status.seen == "" || f.status.seen == "stale") {
		return
	}
	if f.status.seen == state && state == "read" {
		return
	}
	f.status.seen = state
	w.o.Notify(f.state(by))
}

func (f *file) state(by string) State {
	return State{
		Path: f.path, URI: f.uri, State: f.status.seen, By: by, ModTime: f.disk.ModTime, Version: f.version(), Open: f.open(),
		Dirty: f.dirty(), Seen: f.status.seen != "", ReadAt: f.status.readAt, Size: f.Text().Len(),
	}
}

// size is that of the file when it was last read, 0 where it did not exist, or was waited for since.
func (f *file) size() int64 {
	if f.Loaded() && f.disk.exists && !f.disk.readFailed {
		return f.disk.Size
	}
	return 0
}

// distrust has the file read again, whatever its stat says. f.mu is held.
func (f *file) distrust() { f.disk.Checked, f.disk.valid = time.Time{}, unsure }

func (f *file) open() bool { return f.doc != nil }

// openedForEdit reports that the editor has opened the document only for us, and no person has typed into it.
func (f *file) openedForEdit() bool { return f.doc != nil && f.doc.opener == forEdit }

// uncertain reports that the text may differ from the editor's.
func (f *file) uncertain() bool { return f.doc != nil && f.doc.sync != inSync }

// dirty reports that an open document has text that is not on disk, as far as is known.
func (f *file) dirty() bool {
	return f.doc != nil && (f.doc.unplaced || f.doc.sync == lostSync || f.SavedRev() != f.Rev())
}

// edited reports that the agent changed the document since it was saved.
func (f *file) edited() bool {
	revs, ok := f.Unsaved()
	if !ok {
		revs = f.All()
	}
	return f.doc != nil && slices.ContainsFunc(revs, func(r filetime.Revision) bool { return r.Ours })
}

// touched reports that the agent changed the document since it was saved, and before the user did.
func (f *file) touched() bool {
	revs, ok := f.Unsaved()
	return f.doc != nil && ok && len(revs) > 0 && revs[0].Ours
}

// version is the editor's version of the document, 0 while it is closed.
func (f *file) version() int32 {
	if f.doc == nil {
		return 0
	}
	return f.doc.version
}

// diskState is what is known of a file on disk. It is guarded by the lock of its file.
type diskState struct {
	stored.Stat
	exists     bool
	valid      proof  // why the text is what the disk has while the stat is the same
	readFailed bool   // the last attempt to read it failed, see readWritten
	changes    uint64 // of which the system had told when it was read, with wasRead
	wake       *wake  // of an edit that landed on disk
	// last is the hash of the disk's text when it was last read while the document was open, or of a text that was dropped.
	last    [sha256.Size]byte
	removed deletion // the last text of the document that was deleted
}

// proof is why the text of a file is what the disk has as long as its stat stays the same, also if the stat is too young to prove that
// by itself: the system tells of changes, and has told of none since.
type proof uint8

const (
	unsure proof = iota
	wasRead
	// wasWritten is a change by us or the editor. That the system tells of it, a moment later, proves nothing; with Changed it is over.
	wasWritten
)

// deletion is a document that was deleted as its buffer and as its file, which may differ in line ends, charset and byte order mark.
// An undo writes the file's.
type deletion struct {
	buffer, file text.Text
	charset      text.Charset
}

func fail(path string, code filetime.Code, reason, format string, args ...any) *filetime.Error {
	return &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
}

// fail is an error with the present text. f.mu is held.
func (f *file) fail(code filetime.Code, reason, format string, args ...any) error {
	e := fail(f.path, code, reason, format, args...)
	e.Now, e.Known = f.Text(), true
	return e
}

// file is one file that the workspace keeps track of, open or not.
type file struct {
	path  string
	uri   string       // the editor's own spelling if it has opened the file
	used  uint64       // guarded by Workspace.mu
	asked atomic.Int32 // requests to the editor about the file that are under way

	mu sync.Mutex // guards all below
	*delivery.Slot
	history.History
	disk     diskState
	doc      *document // nil while it is closed
	expected *expected // what the editor has yet to read of a command's changes
	status   status
}
