// Package stored reads the texts of files as they are on disk: with a timeout, at a Place below the
// roots, once no program is in the middle of writing them. It knows by what an unchanged file is
// recognised, and merges what another program has saved with what is to be written.
package stored

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/sandbox"
)

// Reader reads files below some roots. Limit, if it is not 0, refuses larger ones.
type Reader struct {
	Roots *sandbox.Roots
	Limit int64
}

// Dir opens a folder, for changing files in it.
func (r Reader) Dir(path string) (*os.File, error) {
	p, err := r.Roots.Place(path)
	if err != nil {
		return nil, err
	}
	return p.Dir()
}

// racyAge is the age that a modification time must have to prove anything: a second write may have
// the same time.
const racyAge = 2 * time.Second

// Stat is the metadata by which an unchanged file is recognised, and its charset.
type Stat struct {
	Size       int64
	ModTime    time.Time
	ChangeTime time.Time
	Inode      uint64
	Links      uint64
	Mode       fs.FileMode
	Checked    time.Time
	Charset    text.Charset
}

// Same says that two states of a file cannot be told apart.
func (s Stat) Same(t Stat) bool {
	return s.Inode == t.Inode && s.Size == t.Size && s.ModTime.Equal(t.ModTime) && s.ChangeTime.Equal(t.ChangeTime)
}

// Unchanged says that the content is the same too, since both are old enough to prove it.
func (s Stat) Unchanged(t Stat) bool {
	return s.Same(t) && s.Checked.Sub(s.ModTime) > racyAge && s.Checked.Sub(s.ChangeTime) > racyAge
}

// Of is what the system says of a file, looked at now.
func Of(info fs.FileInfo, now time.Time) Stat {
	s := Stat{Size: info.Size(), ModTime: info.ModTime(), Mode: info.Mode(), Checked: now}
	s.identify(info)
	return s
}

// File is the result of reading a path.
type File struct {
	Exists bool
	Text   text.Text
	Stat   Stat
}

// Timeouts of the disk: a network mount may never answer. For a message of the editor it is
// shorter, since all later ones wait.
const (
	DiskTimeout    = 10 * time.Second
	CompareTimeout = time.Second
)

// Bounded runs do with a timeout, after which its result is dropped.
func Bounded[T any](path string, limit time.Duration, do func() (T, error)) (T, error) {
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

// Compare reads a file to compare it with a buffer.
func (r Reader) Compare(path string) (File, error) {
	return Bounded(path, CompareTimeout, func() (File, error) { return r.Read(path, r.Limit) })
}

// Stat is Lstat of a path at its Place.
func (r Reader) Stat(path string) (fs.FileInfo, error) {
	p, err := r.Roots.Place(path)
	if err != nil {
		return nil, err
	}
	return p.Stat()
}

// A program that writes a file in place truncates it first, and what is read before it has written
// all is a text that nobody meant. A file that is shorter than it was is therefore read again while
// a program has it open for writing: every writePoll, until WriteWait is over.
const (
	writePoll = 5 * time.Millisecond
	WriteWait = 100 * time.Millisecond
)

// ReadWritten is Read of a file that had that size, once the program that truncated it has written
// it.
func (r Reader) ReadWritten(path string, was int64) (File, error) {
	for began := time.Now(); time.Since(began) < WriteWait; time.Sleep(writePoll) {
		if d, writing, err := r.readFile(path, r.Limit, was); !writing {
			return d, err
		}
	}
	return r.Read(path, r.Limit)
}

// Read reads a regular file in UTF-8 or, with a byte order mark, UTF-16. It never blocks on other
// files, and follows no link that was made since the path was judged.
func (r Reader) Read(path string, limit int64) (File, error) {
	d, _, err := r.readFile(path, limit, 0)
	return d, err
}

// readFile is Read. writing says, in place of a result, that the file is shorter than it was, and
// that a program has it open for writing; where the system cannot tell that, it is said of an empty
// file.
func (r Reader) readFile(path string, limit, was int64) (_ File, writing bool, _ error) {
	fail := func(code filetime.Code, reason, format string, args ...any) (File, bool, error) {
		return File{}, false, fail(path, code, reason, format, args...)
	}
	p, err := r.Roots.Place(path)
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
			return File{}, false, nil
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
			return File{}, true, nil
		}
	}
	if limit > 0 && info.Size() > limit {
		return File{}, false, filetime.TooLarge(path, info.Size(), limit)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead) // which ReadFrom wants to see the end
	from := io.Reader(h)
	if limit > 0 {
		from = io.LimitReader(h, limit+1)
	}
	if _, err := b.ReadFrom(from); err != nil {
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	}
	if limit > 0 && int64(b.Len()) > limit {
		return File{}, false, filetime.TooLarge(path, int64(b.Len()), limit) // it has grown since
	}
	if int64(b.Len()) < min(info.Size(), was) { // it was truncated since it was opened
		return File{}, true, nil
	}
	d, err := Decode(path, b.Bytes())
	if err != nil {
		return File{}, false, err
	}
	charset := d.Stat.Charset
	d.Stat = Of(info, time.Time{})
	d.Stat.Charset = charset
	return d, false, nil
}

// Decode decodes the bytes of a text file.
func Decode(path string, raw []byte) (File, error) {
	t, charset, err := text.Decode(raw)
	var unknown *text.CharsetError
	marked := errors.As(err, &unknown) && unknown.Marked // with a mark it is text, and UTF-16 and UTF-32 have NULs
	head := raw
	if err == nil {
		head = []byte(t.Slice(0, min(t.Len(), text.Sniffed)))
	}
	if !marked && text.Binary(head[:min(len(head), text.Sniffed)]) {
		return File{}, fail(path, filetime.BinaryFile, "binary", "Looks like a binary file: %s. It cannot be read or edited as text.", path)
	}
	if err != nil {
		return File{}, fail(path, filetime.BinaryFile, "encoding", "%s cannot be read or edited as text: %v. Convert it to UTF-8 first.", path, err)
	}
	return File{Exists: true, Text: t, Stat: Stat{Charset: charset}}, nil
}

func fail(path string, code filetime.Code, reason, format string, args ...any) *filetime.Error {
	return &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
}

// SameButEnd is text.EqualLines for texts of which one may lack the final line end: editors add it
// when they save.
func SameButEnd(a, b text.Text) bool {
	return strings.TrimSuffix(text.Unified(a), "\n") == strings.TrimSuffix(text.Unified(b), "\n")
}

// Merge is a three-way merge of what another program saved with what is to be written, in the
// charset of theirs.
func Merge(path string, base, ours, theirs []byte) ([]byte, error) {
	var sides [3]File
	for i, raw := range [][]byte{base, ours, theirs} {
		d, err := Decode(path, raw)
		if err != nil {
			return nil, errors.New("it was replaced by something that is not text")
		}
		sides[i] = d
	}
	b, o, t := sides[0].Text, sides[1].Text, sides[2].Text
	edits := text.Diff(b, o)
	merged := text.Rebase(b, edits, text.Diff(b, t))
	if len(merged.Conflicts) > 0 {
		return nil, &Conflict{b, t, edits, merged.Conflicts}
	}
	return text.Encode(merged.Set.Apply(t), sides[2].Stat.Charset)
}

// Conflict is an edit in conflict with what another program saved, which stays.
type Conflict struct {
	Base, Theirs text.Text
	Ours         text.Set
	Conflicts    []text.Conflict
}

func (*Conflict) Error() string { return "the file was saved meanwhile" }

// WriteError makes an error of the disk one for the model.
func WriteError(path string, err error) error {
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
