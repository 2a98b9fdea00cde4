package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// TempPrefix begins the names of temporary files. After it come the number of the intent, a hash of
// its content, the index of the file in it, and a counter.
const TempPrefix = ".tandem-tmp-"

const (
	// retainTime is how long a displaced file is kept that another program may still write to.
	retainTime = 2 * time.Second
	// maxExtensions is how often that is extended because another process still has the file open.
	maxExtensions = 14
	// syncDelay is the debounce of the ends of changes, so that many share one sync of their
	// folder.
	syncDelay = 100 * time.Millisecond
	// Limits of what is retained at a time. Beyond them the oldest is released early.
	maxRetained      = 64
	maxRetainedBytes = 64 << 20
)

// Why a change did not happen. The file has the content that others gave it.
var (
	// ErrChanged says that the file has not the content that the change was made for: read it
	// again.
	ErrChanged = errors.New("another program has changed the file meanwhile")
	// ErrNotRegular is a directory, a link, a device and so on.
	ErrNotRegular = errors.New("it is not a regular file")
	// ErrAcross is a move to another file system, which cannot be one step.
	ErrAcross = errors.New("the destination is on another file system")
	// ErrTooLarge is a file beyond the limit.
	ErrTooLarge = errors.New("it is too large to be compared")
	// ErrNoBackup says that the file system has neither exchange nor hard links, and there is no
	// journal to keep the old content.
	ErrNoBackup = errors.New("the file system can neither exchange files nor link them")
)

// JournalError is a change that did not begin because the journal could not be written.
type JournalError struct{ Err error }

func (e *JournalError) Error() string {
	return "it could not be written to the journal beforehand: " + e.Err.Error()
}

func (e *JournalError) Unwrap() error { return e.Err }

// LateWrite is what another program wrote to a file after it had been displaced.
type LateWrite struct {
	Path string
	// Merged says that it was merged into the file, Kept is its Hash in the journal.
	Merged bool
	Kept   string
}

// Options are what a Disk works with.
type Options struct {
	FS FS // nil is System(nil)
	// Journal is the write-ahead log. Without one a crash may leave temporary files behind.
	Journal Journal
	// Merge is a three-way merge. An error is a conflict: theirs stays, and the change fails with
	// it. nil never merges.
	Merge func(path string, base, ours, theirs []byte) ([]byte, error)
	// Nearest says which of several versions another program had read that has saved data: an
	// exchange can come between its read and its write. The first is the newest, and the result if
	// Nearest is nil.
	Nearest func(versions [][]byte, data []byte) int
	// Limit is the size in bytes of the largest file that is compared, 0 for any.
	Limit int64
	// Late is called for what was written to a displaced file. May be nil.
	Late func(LateWrite)
	Now  func() time.Time
	// After is time.AfterFunc; what it gives stops it.
	After func(time.Duration, func()) (stop func() bool)
	// Go runs a function concurrently; nil is a goroutine.
	Go  func(func())
	Log *slog.Logger
}

// Disk changes files. All methods may be called concurrently, also by several processes on the same
// files.
type Disk struct {
	o Options

	mu   sync.Mutex
	idle *sync.Cond // running is 0
	// running counts the functions that are ending changes.
	running       int
	retained      []*retainedFile // the oldest first
	bytes         int
	unsynced      []*Change
	syncScheduled bool
}

// New makes a Disk.
func New(o Options) *Disk {
	if o.FS == nil {
		o.FS = System(nil)
	}
	if o.Merge == nil {
		o.Merge = func(string, []byte, []byte, []byte) ([]byte, error) { return nil, ErrChanged }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if o.Nearest == nil {
		o.Nearest = func([][]byte, []byte) int { return 0 }
	}
	if o.Go == nil {
		o.Go = func(f func()) { go f() }
	}
	if o.Late == nil {
		o.Late = func(LateWrite) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Disk{o: o}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// Hash names bytes: their SHA-256 in hexadecimal digits.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// retainedFile is a displaced file that is kept until no other process has it open for writing.
type retainedFile struct {
	c       *Change
	at      place
	temp    string
	file    File   // if it has no name any more
	data    []byte // its content when it was displaced
	deletes bool   // the change was to delete it
	// conflicted says that what was written to it conflicted, and is only in the journal.
	conflicted bool
	extensions int // how often its time was extended
	stop       func() bool
}

// retain keeps a displaced file for a while.
func (d *Disk) retain(h *retainedFile) {
	h.c.retain()
	d.mu.Lock()
	d.retained = append(d.retained, h)
	d.bytes += len(h.data)
	var early []*retainedFile
	for len(d.retained) > maxRetained || d.bytes > maxRetainedBytes && len(d.retained) > 1 {
		early = append(early, d.retained[0])
		d.unlist(d.retained[0])
	}
	h.stop = d.o.After(retainTime, func() { d.release(h) })
	d.mu.Unlock()
	for _, h := range early {
		d.finishRetained(h, 0)
	}
}

// unlist takes h from the list and reports whether it was there. d.mu is held.
func (d *Disk) unlist(h *retainedFile) bool {
	i := slices.Index(d.retained, h)
	if i < 0 {
		return false
	}
	d.retained = slices.Delete(d.retained, i, i+1)
	d.bytes -= len(h.data)
	if h.stop != nil {
		h.stop()
	}
	return true
}

func (d *Disk) release(h *retainedFile) {
	d.mu.Lock()
	mine := d.unlist(h)
	if mine {
		d.running++
	}
	d.mu.Unlock()
	if mine {
		defer d.endBackground()
		d.finishRetained(h, maxExtensions)
	}
}

// endBackground decrements running.
func (d *Disk) endBackground() {
	d.mu.Lock()
	d.running--
	d.mu.Unlock()
	d.idle.Broadcast()
}

// finishRetained merges what was written to a displaced file and removes it, unless another program
// still has it open and its time was extended less than more times.
func (d *Disk) finishRetained(h *retainedFile, maxExtensions int) {
	dir, err := d.o.FS.Open(h.at.dir)
	if err == nil {
		err = h.finish(dir, maxExtensions)
		_ = dir.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.o.Log.Error("a displaced file is left behind", "path", filepath.Join(h.at.dir, h.temp), "error", err)
		h.c.leaveOpen()
	}
	h.c.release()
}

func (h *retainedFile) finish(dir Dir, maxExtensions int) error {
	d := h.c.d
	defer func() {
		if h.file != nil {
			_ = h.file.Close()
		}
	}()
	v, err := h.read(dir)
	if err != nil {
		return err
	}
	defer v.close()
	longer := v.aloneKnown && !v.alone && h.extensions < maxExtensions
	if !v.alone && !longer {
		d.o.Log.Warn("another program still has a file open that was replaced", "path", h.at.path())
	}
	if v.is(sideOf(h.data)) {
		return h.removeOrRetain(dir, v, longer, maxExtensions)
	}
	late := LateWrite{Path: h.at.path()}
	var lost error
	late.Kept, lost = h.c.keep(h.at, v.data)
	if !h.conflicted {
		if late.Merged, err = h.c.mergeLate(dir, h, v.data); err != nil {
			return err
		}
	}
	d.o.Log.Warn("another program wrote to a file that had been replaced", "path", late.Path, "merged", late.Merged)
	d.o.Late(late)
	if !late.Merged && lost != nil {
		return lost
	}
	h.conflicted = !late.Merged
	if h.file != nil && late.Merged { // it was created again, and gets what is written from now on
		h.deletes = false
	}
	return h.removeOrRetain(dir, v, longer, maxExtensions)
}

func (h *retainedFile) read(dir Dir) (*openedFile, error) {
	if h.file == nil {
		return h.c.d.read(dir, h.temp)
	}
	f, err := h.file.Again()
	if err != nil {
		return nil, err
	}
	return h.c.d.readOpened(f)
}

// removeOrRetain removes a displaced file that has the content of v, or holds it longer.
func (h *retainedFile) removeOrRetain(dir Dir, v *openedFile, longer bool, maxExtensions int) error {
	if h.file == nil && v.alone && h.extensions < maxExtensions {
		gone, err := v.removeUnlessWriter(dir, h.temp, h)
		if gone || err != nil {
			return err
		}
		longer = true
	}
	switch {
	case longer:
		h.c.d.retain(&retainedFile{c: h.c, at: h.at, temp: h.temp, file: h.file, data: v.data, deletes: h.deletes, conflicted: h.conflicted, extensions: h.extensions + 1})
		h.file = nil
		return nil
	case h.file != nil:
		return nil
	}
	return dir.Remove(h.temp)
}

// mergeLate merges what was written to a displaced file into the one that replaced it.
func (c *Change) mergeLate(dir Dir, h *retainedFile, written []byte) (bool, error) {
	if h.deletes && h.file != nil {
		more := c.d.Change(c.template)
		_, err := more.Create(h.at.path(), written, 0)
		more.End(outcome(err))
		return err == nil, nil
	}
	if h.deletes {
		switch err := c.d.place(dir, h.temp, h.at.name); {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrExist):
			return false, err
		}
		return false, nil
	}
	v, err := c.d.read(dir, h.at.name)
	if err != nil {
		return false, nil // it was removed, or is no file: what was written is in the journal
	}
	v.close()
	merged, err := c.d.o.Merge(h.at.path(), h.data, v.data, written)
	if err != nil || v.is(sideOf(merged)) {
		return err == nil, nil
	}
	more := c.d.Change(c.template)
	_, err = more.Replace(h.at.path(), v.data, merged)
	more.End(outcome(err))
	return err == nil, nil
}

func outcome(err error) Outcome {
	if err != nil {
		return NotLanded
	}
	return Landed
}

// scheduleSync takes a change whose temporary files are all removed. Its outcome is written once
// its folders are synced, so that the journal is never ahead of the disk.
func (d *Disk) scheduleSync(c *Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unsynced = append(d.unsynced, c)
	if !d.syncScheduled {
		d.syncScheduled = true
		d.o.After(syncDelay, d.sync)
	}
}

func (d *Disk) sync() {
	d.mu.Lock()
	due := d.unsynced
	d.unsynced, d.syncScheduled = nil, false
	d.running++
	d.mu.Unlock()
	defer d.endBackground()
	synced := map[string]bool{}
	for _, c := range due {
		for _, path := range c.dirs {
			if synced[path] {
				continue
			}
			synced[path] = true
			// A folder that does not exist any more, or cannot be read, cannot be synced.
			if dir, err := d.o.FS.Open(path); err == nil {
				_ = dir.Sync()
				_ = dir.Close()
			}
		}
		c.writeOutcome()
	}
}

// Settle removes displaced files and writes the outcomes of all changes that have ended. It is for
// the end of the process; changes may go on.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.retained)+len(d.unsynced)+d.running > 0 {
		switch {
		case len(d.retained) > 0:
			h := d.retained[0]
			d.unlist(h)
			d.mu.Unlock()
			d.finishRetained(h, 0)
			d.mu.Lock()
		case len(d.unsynced) > 0:
			d.mu.Unlock()
			d.sync()
			d.mu.Lock()
		default:
			d.idle.Wait()
		}
	}
}

// place is the folder and the name of a file.
type place struct{ dir, name string }

func placeOf(path string) place { return place{filepath.Dir(path), filepath.Base(path)} }

func (p place) path() string { return filepath.Join(p.dir, p.name) }

// place is a rename that does not replace.
func (d *Disk) place(dir Dir, name, as string) error {
	err := dir.Place(name, dir, as)
	if !unsupported(err) {
		return err
	}
	if err = dir.Link(name, dir, as); err == nil {
		return dir.Remove(name)
	}
	if !unsupported(err) {
		return err
	}
	switch _, err := dir.Stat(as); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return dir.Rename(name, as)
}
