package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/sandbox"
)

// diskOptions are for changing files that no editor has open.
func (w *Workspace) diskOptions(system disk.FS) disk.Options {
	o := disk.Options{
		FS: system, Journal: w.o.Journal, Merge: w.merge, Nearest: nearest, Now: w.o.Now, Log: w.o.Log,
		// In a goroutine, since it may be called from within a change of the same file.
		Late:  func(l disk.Late) { go w.safely(func() { w.Changed(l.Path, true) }) },
		Go:    func(f func()) { go w.safely(f) },
		After: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, func() { w.safely(f) }).Stop },
	}
	if w.o.MaxFileBytes > 0 {
		o.Limit = 2*w.o.MaxFileBytes + 1<<20 // another program may have saved more than may be edited
	}
	return o
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

// dir opens a folder, for changing files in it.
func (w *Workspace) dir(path string) (*os.File, error) {
	p, err := w.o.Roots.Place(path)
	if err != nil {
		return nil, err
	}
	return p.Dir()
}

// racyAge is the age that a modification time must have to prove anything: a second write may have the same time.
const racyAge = 2 * time.Second

// stat is the metadata by which an unchanged file is recognised, and its charset.
type stat struct {
	size    int64
	mtime   time.Time
	ctime   time.Time
	ino     uint64
	links   uint64
	mode    fs.FileMode
	checked time.Time
	charset text.Charset
}

func (s stat) same(t stat) bool {
	return s.ino == t.ino && s.size == t.size && s.mtime.Equal(t.mtime) && s.ctime.Equal(t.ctime)
}

// unchanged says that the content is the same too, since both are old enough to prove it.
func (s stat) unchanged(t stat) bool {
	return s.same(t) && s.checked.Sub(s.mtime) > racyAge && s.checked.Sub(s.ctime) > racyAge
}

func statOf(info fs.FileInfo, now time.Time) stat {
	s := stat{size: info.Size(), mtime: info.ModTime(), mode: info.Mode(), checked: now}
	s.identify(info)
	return s
}

// onDisk is the result of reading a path.
type onDisk struct {
	exists bool
	text   text.Text
	stat   stat
}

// diskState is what is known of a file on disk. It is guarded by the lock of its file.
type diskState struct {
	stat
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

// refresh reads the disk; a new text becomes one revision. f.mu is held and f is not open.
func (w *Workspace) refresh(f *file) error {
	_, err := w.renew(f)
	return err
}

// renew is refresh; cached says that the file was not read, since it has not changed.
func (w *Workspace) renew(f *file) (cached bool, err error) {
	if w.o.Features.Versionless {
		return false, w.readFromEditor(f)
	}
	live, changes := w.covers(f.path)
	sure := live && (f.disk.valid == wasWritten || f.disk.valid == wasRead && f.disk.changes == changes)
	path, was, size, compare := f.path, f.disk.stat, f.size(), f.loaded && f.disk.exists
	d, err := bounded(path, diskTimeout, func() (*onDisk, error) {
		if compare {
			if info, err := w.statDisk(path); err == nil {
				if now := statOf(info, w.o.Now()); sure && was.same(now) || was.unchanged(now) {
					return nil, nil
				}
			}
		}
		d, err := w.readWritten(path, size)
		return &d, err
	})
	if err != nil {
		f.disk.valid, f.disk.readFailed = unsure, true
		return false, err
	}
	if d != nil {
		w.adopt(f, w.restore(f, *d), filetime.Disk)
		f.disk.valid = unsure
	}
	if live && f.disk.valid != wasWritten {
		f.disk.valid, f.disk.changes = wasRead, changes
	}
	return d == nil, nil
}

// distrust has the file read again, whatever its stat says. f.mu is held.
func (f *file) distrust() { f.disk.checked, f.disk.valid = time.Time{}, unsure }

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

// Timeouts of the disk: a network mount may never answer. For a message of the editor it is shorter, since all later
// ones wait.
const (
	diskTimeout    = 10 * time.Second
	compareTimeout = time.Second
)

// bounded runs do with a timeout, after which its result is dropped.
func bounded[T any](path string, limit time.Duration, do func() (T, error)) (T, error) {
	type outcome struct {
		v     T
		err   error
		fault any // what it panicked with
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.fault = recover()
			done <- o
		}()
		o.v, o.err = do()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-done:
		if o.fault != nil {
			panic(o.fault) // the caller recovers
		}
		return o.v, o.err
	case <-timer.C:
		var none T
		return none, fail(path, filetime.ReadError, "timeout", "Read file failed: the disk of %s did not answer within %v.", path, limit)
	}
}

// readForCompare reads a file to compare it with a buffer.
func (w *Workspace) readForCompare(f *file) (onDisk, error) {
	path := f.path
	return bounded(path, compareTimeout, func() (onDisk, error) { return w.readDisk(path, w.o.MaxFileBytes) })
}

// newerOnDisk reads the file of an open document. newer is true if another program has saved it and the editor has not loaded that: the
// disk has neither the buffer's text nor the one last saved there. A command of the agent is no other program. f.mu is held.
func (w *Workspace) newerOnDisk(f *file) (d onDisk, newer bool, err error) {
	if d, err = w.readForCompare(f); err != nil || !d.exists || d.text.Len() == 0 {
		return d, false, err
	}
	known := func(t text.Text) bool { return sameButEnd(d.text, t) }
	return d, !known(f.text) && !(f.savedRev > 0 && known(f.saved)) && !(f.expected != nil && known(f.expected.after)), nil
}

// overwrites says that saving the buffer would overwrite what another program has saved. f.mu is held.
func (w *Workspace) overwrites(f *file) bool {
	_, newer, err := w.newerOnDisk(f)
	return err == nil && newer
}

const newerReason = "disk_newer"

// deletion is a document that was deleted as its buffer and as its file, which may differ in line ends, charset and byte order mark.
// An undo writes the file's.
type deletion struct {
	buffer, file text.Text
	charset      text.Charset
}

// lostForm is the document that was deleted last, if an edit creates the file again with its text and the file had another form than its
// buffer. An editor would write the buffer's. f.mu is held.
func (f *file) lostForm(e filetime.FileEdit) (deletion, bool) {
	was := f.disk.removed
	if !e.Create || was.buffer.Len() == 0 || was.file.Equal(was.buffer) && was.charset == text.CharsetUTF8 {
		return deletion{}, false
	}
	return was, e.Edits.Apply(text.Text{}).Equal(was.buffer)
}

// mayDelete refuses to delete an open document whose file is newer on disk: its buffer is not dirty, and deleting both would lose the
// text that was saved. f.mu is held.
func (w *Workspace) mayDelete(f *file) error {
	d, newer, err := w.newerOnDisk(f)
	switch {
	case err != nil:
		return err
	case newer:
		e := fail(f.path, filetime.EditConflict, newerReason, "%s is newer on disk than in the editor: another program has saved it. "+
			"It was not deleted. Look at the newer text, then decide.", f.path)
		e.Now, e.Known = d.text, true
		return e
	case d.exists:
		f.disk.mode = d.stat.mode
		if sameButEnd(d.text, f.text) {
			f.disk.removed = deletion{f.text, d.text, d.stat.charset}
		}
	}
	return nil
}

// reloadWait is how long an editor has to load a changed file by itself.
const reloadWait = time.Second

// loadNewer puts the newer text of a file into its clean buffer, after a deletion was refused because of it and if the editor does not
// load it by itself. Otherwise each later read would give the old text, and each deletion would be refused again.
func (w *Workspace) loadNewer(ctx context.Context, refused error, c filetime.Change) {
	var e *filetime.Error
	if !errors.As(refused, &e) || e.Reason != newerReason || c.Apply == filetime.None || !w.o.Features.Apply {
		return
	}
	f := w.file(e.Path)
	f.mu.Lock()
	changed := f.changed
	f.mu.Unlock()
	wait := time.NewTimer(reloadWait)
	defer wait.Stop()
	select {
	case <-changed:
	case <-wait.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	d, newer, err := w.newerOnDisk(f)
	load := f.open() && !f.dirty() && newer && err == nil
	edit := filetime.FileEdit{Path: f.path, Base: f.text, Rev: f.rev, Edits: text.Overwrite(f.text, d.text.String())}
	f.mu.Unlock()
	if !load {
		return
	}
	by := filetime.Change{Session: c.Session, Call: c.Call, Turn: c.Turn, Tool: c.Tool, ForUser: true, Label: "Load from disk"}
	if _, err := w.commitEditor(ctx, f, edit, by); err != nil {
		w.o.Log.Debug("the editor did not take the newer text of a file", "path", f.path, "error", err)
	}
}

// adopt makes a text that was read the present one. f.mu is held.
func (w *Workspace) adopt(f *file, d onDisk, author filetime.Author) {
	d.stat.checked = w.o.Now()
	f.disk.stat, f.disk.readFailed = d.stat, false
	was := f.disk.exists
	f.disk.exists = d.exists
	switch {
	case !f.loaded:
		f.begin(d.text, w.next())
	case !f.text.Equal(d.text):
		set, back := f.discard(d.text)
		if !back {
			set = text.Infer(f.text, d.text)
		}
		w.record(f, set, author)
		if f.out != nil {
			f.out.events[len(f.out.events)-1].disk = true
		}
		if back {
			f.back = [2]uint64{f.savedRev, f.rev}
		}
		w.notify(f, "stale", "disk")
	case was && !d.exists:
		w.notify(f, "stale", "disk")
	}
	f.markSaved()
}

// statDisk is Lstat of a path at its Place.
func (w *Workspace) statDisk(path string) (fs.FileInfo, error) {
	p, err := w.o.Roots.Place(path)
	if err != nil {
		return nil, err
	}
	return p.Stat()
}

// A program that writes a file in place truncates it first, and what is read before it has written all is a text that nobody meant. A
// file that is shorter than it was is therefore read again while a program has it open for writing: every writePoll, until writeWait
// is over.
const (
	writePoll = 5 * time.Millisecond
	writeWait = 100 * time.Millisecond
)

// readWritten is readDisk of a file that had that size, once the program that truncated it has written it.
func (w *Workspace) readWritten(path string, was int64) (onDisk, error) {
	for began := time.Now(); time.Since(began) < writeWait; time.Sleep(writePoll) {
		if d, writing, err := w.readFile(path, w.o.MaxFileBytes, was); !writing {
			return d, err
		}
	}
	return w.readDisk(path, w.o.MaxFileBytes)
}

// size is that of the file when it was last read, 0 where it did not exist, or was waited for since.
func (f *file) size() int64 {
	if f.loaded && f.disk.exists && !f.disk.readFailed {
		return f.disk.size
	}
	return 0
}

// readDisk reads a regular file in UTF-8 or, with a byte order mark, UTF-16. It never blocks on other files, and
// follows no link that was made since the path was judged.
func (w *Workspace) readDisk(path string, limit int64) (onDisk, error) {
	d, _, err := w.readFile(path, limit, 0)
	return d, err
}

// readFile is readDisk. writing says, in place of a result, that the file is shorter than it was, and that a program has it open for
// writing; where the system cannot tell that, it is said of an empty file.
func (w *Workspace) readFile(path string, limit, was int64) (_ onDisk, writing bool, _ error) {
	fail := func(code filetime.Code, reason, format string, args ...any) (onDisk, bool, error) {
		return onDisk{}, false, fail(path, code, reason, format, args...)
	}
	p, err := w.o.Roots.Place(path)
	var h *os.File
	var info fs.FileInfo
	if err == nil {
		h, info, err = p.Open()
	}
	if err != nil {
		var refused *sandbox.PathError
		switch {
		case errors.As(err, &refused):
			return fail(filetime.Code(refused.Code), refused.Reason, "%s", refused.Message)
		case errors.Is(err, fs.ErrNotExist):
			return onDisk{}, false, nil
		case errors.Is(err, syscall.ENOTDIR):
			return fail(filetime.ReadError, "enotdir", "%s is below something that is not a directory (ENOTDIR).", path)
		case errors.Is(err, syscall.ELOOP):
			return fail(filetime.ReadError, "not_regular", "Read file failed: a symbolic link was made on the way to %s "+
				"since the path was judged. Nothing was done. List the directory again.", path)
		case errors.Is(err, syscall.ENAMETOOLONG):
			return fail(filetime.ReadError, "name_too_long", "Read file failed: the path is too long (ENAMETOOLONG).")
		case errors.Is(err, fs.ErrPermission):
			return fail(filetime.ReadError, "eacces", "Read file failed: no permission to read %s (EACCES).", path)
		case errors.Is(err, syscall.EISDIR):
			return fail(filetime.IsDirectory, "is_directory", "%s is a directory, not a file.", path)
		case errors.Is(err, sandbox.ErrNotRegular):
			return fail(filetime.ReadError, "not_regular", "Read file failed: %s is not a regular file.", path)
		}
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	}
	defer h.Close()
	if info.Size() < was {
		alone, sure := disk.Alone(h) // a program that opens it for writing now waits until it is closed
		if !alone && (sure || info.Size() == 0) {
			return onDisk{}, true, nil
		}
	}
	if limit > 0 && info.Size() > limit {
		return onDisk{}, false, filetime.TooLarge(path, info.Size(), limit)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead) // which ReadFrom wants to see the end
	r := io.Reader(h)
	if limit > 0 {
		r = io.LimitReader(h, limit+1)
	}
	if _, err := b.ReadFrom(r); err != nil {
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	}
	if limit > 0 && int64(b.Len()) > limit {
		return onDisk{}, false, filetime.TooLarge(path, int64(b.Len()), limit) // it has grown since
	}
	if int64(b.Len()) < min(info.Size(), was) { // it was truncated since it was opened
		return onDisk{}, true, nil
	}
	d, err := decode(path, b.Bytes())
	if err != nil {
		return onDisk{}, false, err
	}
	charset := d.stat.charset
	d.stat = statOf(info, time.Time{})
	d.stat.charset = charset
	return d, false, nil
}

// decode decodes the bytes of a text file.
func decode(path string, raw []byte) (onDisk, error) {
	t, charset, err := text.Decode(raw)
	var unknown *text.CharsetError
	marked := errors.As(err, &unknown) && unknown.Marked // with a mark it is text, and UTF-16 and UTF-32 have NULs
	head := raw
	if err == nil {
		head = []byte(t.Slice(0, min(t.Len(), text.Sniffed)))
	}
	if !marked && text.Binary(head[:min(len(head), text.Sniffed)]) {
		return onDisk{}, fail(path, filetime.BinaryFile, "binary", "Looks like a binary file: %s. It cannot be read or edited as text.", path)
	}
	if err != nil {
		return onDisk{}, fail(path, filetime.BinaryFile, "encoding", "%s cannot be read or edited as text: %v. Convert it to UTF-8 first.", path, err)
	}
	return onDisk{exists: true, text: t, stat: stat{charset: charset}}, nil
}

// maxAgain is how often the compare-and-swap of a file is tried.
const maxAgain = 100

// putOnDisk lands an edit on disk by compare-and-swap, merged with what others have saved meanwhile.
func (w *Workspace) putOnDisk(ctx context.Context, f *file, e filetime.FileEdit, tx *transaction) (filetime.LandedFile, error) {
	for range maxAgain {
		if err := ctx.Err(); err != nil {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		l, again, err := w.tryDisk(f, e, tx)
		if !again {
			return l, err
		}
	}
	return filetime.LandedFile{}, writeError(f.path, errors.New("another program keeps changing it"))
}

// tryDisk is one try; again says that the comparison failed and nothing was changed.
func (w *Workspace) tryDisk(f *file, e filetime.FileEdit, tx *transaction) (l filetime.LandedFile, again bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.open() && (w.o.Features.Apply || w.o.Features.Plain):
		return l, false, errOpened
	case f.open():
		return w.tryDiskWhileOpen(f, e, tx)
	}
	if err := w.openElsewhere(f.path); err != nil {
		return l, false, err
	}
	if err := w.refresh(f); err != nil {
		return l, false, err
	}
	p, err := w.prepare(f, e)
	if err != nil {
		return l, false, err
	}
	if len(p.set) == 0 && !e.Create && !e.Delete {
		return p.already(f), false, nil
	}
	charset, mode := f.disk.charset, f.disk.mode
	if e.Delete {
		p.set, p.after = allOf(p.before), text.Text{}
	}
	written := p
	if was, ok := f.lostForm(e); ok && tx.takesBack() {
		written.after, written.set, charset = was.file, text.Set{{New: was.file.String()}}, was.charset
	}
	live, _ := w.covers(f.path)
	f.disk.valid = unsure
	final, err := w.swap(f, written, charset, e, tx)
	if again = errors.Is(err, disk.ErrChanged); err != nil {
		f.distrust() // it is to be read again
	}
	if again {
		return l, true, nil
	}
	if err != nil {
		return l, false, w.diskError(f, err)
	}
	f.disk.exists = !e.Delete
	if info, err := w.statDisk(f.path); err == nil {
		if f.disk.stat = statOf(info, w.o.Now()); live && f.disk.exists {
			f.disk.valid = wasWritten
		}
	}
	f.disk.charset = final.stat.charset
	w.record(f, p.set, filetime.User)
	f.claim(len(f.revisions)-1, len(f.revisions), tx.change)
	l = p.landed(f, true)
	l.Source, l.Created, l.Deleted = "disk", e.Create, e.Delete
	if l.Mode = e.Mode; e.Delete {
		l.Mode = mode
	}
	if w.o.Features.Versionless && !e.Delete {
		l.Source, l.Stale = "buffer", w.unsavedReason(f)
	}
	if !final.text.Equal(p.after) {
		w.record(f, text.Diff(p.after, final.text), filetime.Disk)
	}
	w.notify(f, "written", "agent")
	return l, false, nil
}

// swap changes one file on disk as planned and gives its text then, merged with what others have saved meanwhile.
func (w *Workspace) swap(f *file, p plan, charset text.Charset, e filetime.FileEdit, tx *transaction) (onDisk, error) {
	if w.o.Features.Versionless {
		if !e.Delete {
			return onDisk{exists: true, text: p.after, stat: stat{charset: charset}}, w.applyWhole(f, p, e, tx)
		}
		stored, err := w.readForDelete(f, p)
		if err != nil {
			return onDisk{}, err
		}
		p.before, charset = stored.text, stored.stat.charset
	}
	var before, after []byte
	var err error
	if !e.Create {
		before, err = text.Encode(p.before, charset)
	}
	if err == nil {
		after, err = text.Encode(p.after, charset)
	}
	if err != nil {
		return onDisk{}, err
	}
	var r disk.Result
	switch {
	case e.Delete:
		r, err = tx.disk.Delete(f.path, before)
	case !f.disk.exists:
		r, err = tx.disk.Create(f.path, after, e.Mode)
	default:
		tx.disk.Lately(w.lately(f))
		if r, err = tx.disk.Replace(f.path, before, after); err == nil {
			w.leaveWake(f, r.Versions)
		}
	}
	for _, warning := range r.Warnings {
		tx.warnings = append(tx.warnings, filetime.Warning{Path: f.path, Says: warning + "."})
	}
	if err != nil || bytes.Equal(r.After, after) {
		return onDisk{exists: !e.Delete, text: p.after, stat: stat{charset: charset}}, err
	}
	return decode(f.path, r.After)
}

// tryDiskWhileOpen lands an edit on disk although the document is open: the editor cannot apply edits, and the buffer is
// saved. The buffer changes when the editor reads the file again. f.mu is held.
func (w *Workspace) tryDiskWhileOpen(f *file, e filetime.FileEdit, tx *transaction) (l filetime.LandedFile, again bool, err error) {
	d, err := w.readDisk(f.path, w.o.MaxFileBytes)
	if err != nil {
		return l, false, err
	}
	if f.dirty() || !d.exists || !sameText(d.text, f.text) {
		return l, false, unsaved(f.path)
	}
	p, err := w.prepare(f, e)
	if err != nil {
		return l, false, err
	}
	if len(p.set) == 0 {
		return p.already(f), false, nil
	}
	stored := p
	if !d.text.Equal(p.before) { // a buffer may have other line ends, and no byte order mark
		stored.before, stored.after = d.text, text.Overwrite(d.text, p.after.String()).Apply(d.text)
	}
	f.disk.stat = d.stat
	if _, err = w.swap(f, stored, d.stat.charset, e, tx); errors.Is(err, disk.ErrChanged) {
		return l, true, nil
	}
	if err != nil {
		return l, false, w.diskError(f, err)
	}
	if f.doc.editorText == nil {
		f.doc.editorText = &p.before
	}
	w.record(f, p.set, filetime.User)
	f.claim(len(f.revisions)-1, len(f.revisions), tx.change)
	f.markSaved()
	l = p.landed(f, true)
	l.Source = "disk"
	l.Stale = "was changed on disk, because the editor cannot apply edits; its buffer shows the change once the file is read again."
	w.notify(f, "written", "agent")
	return l, false, nil
}

func unsaved(path string) error {
	return fail(path, filetime.EditConflict, "unsaved",
		"%s is open with unsaved text and the editor cannot apply edits. Ask the user to save it, then try again.", path)
}

// mergeConflict is an edit in conflict with what another program saved, which stays.
type mergeConflict struct {
	base, theirs text.Text
	ours         text.Set
	conflicts    []text.Conflict
}

func (*mergeConflict) Error() string { return "the file was saved meanwhile" }

// merge is a three-way merge of what another program saved with what is to be written, in the charset of theirs.
func (w *Workspace) merge(path string, base, ours, theirs []byte) ([]byte, error) {
	var sides [3]onDisk
	for i, raw := range [][]byte{base, ours, theirs} {
		d, err := decode(path, raw)
		if err != nil {
			return nil, errors.New("it was replaced by something that is not text")
		}
		sides[i] = d
	}
	b, o, t := sides[0].text, sides[1].text, sides[2].text
	edits := text.Diff(b, o)
	merged := text.Rebase(b, edits, text.Diff(b, t))
	if len(merged.Conflicts) > 0 {
		return nil, &mergeConflict{b, t, edits, merged.Conflicts}
	}
	return text.Encode(merged.Set.Apply(t), sides[2].stat.charset)
}

// diskError makes an error of the disk one for the model: a conflict with what another program saved, or a write error.
// f.mu is held.
func (w *Workspace) diskError(f *file, err error) error {
	var met *mergeConflict
	var worded *filetime.Error
	switch {
	case errors.As(err, &worded):
		return err
	case !errors.As(err, &met):
		return writeError(f.path, err)
	}
	if !f.open() {
		if err := w.refresh(f); err != nil {
			return err
		}
	}
	theirs := text.Diff(met.base, met.theirs)
	if !met.theirs.Equal(f.text) { // it was saved once more, or the buffer has other line ends
		theirs = text.Compose(theirs, text.Diff(met.theirs, f.text))
	}
	w.notify(f, "conflict", "disk")
	e := filetime.FileEdit{Path: f.path, Base: met.base, Edits: met.ours}
	return filetime.Collision(e, theirs, f.text, met.conflicts, filetime.Disk)
}

// writeError makes an error of the disk one for the model.
func writeError(path string, err error) error {
	var charset *text.CharsetError
	var journal *disk.JournalError
	var stuck *disk.StuckError
	var system *fs.PathError
	reason, state := "io", "The file is unchanged."
	switch {
	case errors.As(err, &charset):
		reason = "encoding"
	case errors.As(err, &journal):
		reason = "journal"
	case errors.As(err, &stuck):
		reason, state = "stuck", "Read the file before going on."
	case errors.Is(err, disk.ErrNotRegular):
		reason = "not_regular"
	case errors.Is(err, disk.ErrTooLarge):
		reason = "size"
	case errors.Is(err, disk.ErrNoBackup):
		reason = "no_backup"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		reason = "eacces"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		reason = "enospc"
	case errors.Is(err, syscall.ENOTDIR):
		reason = "enotdir"
	case errors.Is(err, syscall.ELOOP):
		reason = "symlink"
	case errors.Is(err, syscall.ENAMETOOLONG):
		reason = "name_too_long"
	}
	if stuck == nil && journal == nil && errors.As(err, &system) {
		err = system.Err // its path may be that of a temporary file
	}
	return fail(path, filetime.WriteError, reason, "Write file failed: %v. %s", err, state)
}

func fail(path string, code filetime.Code, reason, format string, args ...any) *filetime.Error {
	return &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
}

// fail is an error with the present text. f.mu is held.
func (f *file) fail(code filetime.Code, reason, format string, args ...any) error {
	e := fail(f.path, code, reason, format, args...)
	e.Now, e.Known = f.text, true
	return e
}
