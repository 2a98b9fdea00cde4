package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/sandbox"
)

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

const (
	unsure proof = iota
	wasRead
	// wasWritten is a change by us or the editor. That the system tells of it, a moment later, proves nothing; with Changed it is over.
	wasWritten
)

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

func (*mergeConflict) Error() string { return "the file was saved meanwhile" }

func fail(path string, code filetime.Code, reason, format string, args ...any) *filetime.Error {
	return &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
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

// sameButEnd is text.EqualLines for texts of which one may lack the final line end: editors add it when they save.
func sameButEnd(a, b text.Text) bool {
	return strings.TrimSuffix(text.Unified(a), "\n") == strings.TrimSuffix(text.Unified(b), "\n")
}

func endsLine(s string) bool { return strings.HasSuffix(s, "\n") }

func deletedSince(path string) error {
	return fail(path, filetime.EditConflict, "deleted", "%s was deleted since it was read. Nothing was moved.", path)
}

func crossDevice(from, to string) error {
	return fail(from, filetime.Unsupported, "other_file_system", "%s is on another file system than %s, so it cannot be moved in one step. Nothing was moved. "+
		"Write the file there with write_file, then delete this one with delete_file.", to, from)
}

func targetExists(path string) error {
	return fail(path, filetime.FileExists, "exists", "%s exists now: another program or the user created it. Nothing was moved.", path)
}

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

// mergeConflict is an edit in conflict with what another program saved, which stays.
type mergeConflict struct {
	base, theirs text.Text
	ours         text.Set
	conflicts    []text.Conflict
}
