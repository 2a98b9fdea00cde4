package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tandem/filetime"
	"tandem/filetime/text"
)

// TempPrefix begins the name of every file that stands beside the one being written, for as long as that takes.
const TempPrefix = ".tandem-tmp-"

// racy is how young a modification time must not be to be trusted: a second write may carry the same one.
const racy = 2 * time.Second

// stat is what tells an unchanged file without reading it, and how its bytes are read and written.
type stat struct {
	size    int64
	mtime   time.Time
	ctime   syscall.Timespec
	ino     uint64
	links   uint64
	mode    fs.FileMode
	uid     int
	gid     int
	checked time.Time
	charset text.Charset
}

func (s stat) unchanged(t stat) bool {
	return s.ino == t.ino && s.size == t.size && s.mtime.Equal(t.mtime) && s.ctime == t.ctime &&
		s.checked.Sub(s.mtime) > racy && s.checked.Sub(time.Unix(s.ctime.Unix())) > racy
}

func statOf(info fs.FileInfo, now time.Time) stat {
	s := stat{size: info.Size(), mtime: info.ModTime(), mode: info.Mode(), checked: now}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ino, s.links, s.ctime = sys.Ino, uint64(sys.Nlink), sys.Ctim
		s.uid, s.gid = int(sys.Uid), int(sys.Gid)
	}
	return s
}

// onDisk is what one look at a path found.
type onDisk struct {
	exists bool
	text   text.Text
	stat   stat
}

// says reports whether the file holds a text in a charset, and so exactly its bytes.
func (d onDisk) says(t text.Text, c text.Charset) bool {
	return d.exists && d.stat.charset == c && d.text.Equal(t)
}

// refresh makes f say what the disk says; what is new becomes one revision. f.mu is held and f is not open.
func (w *Workspace) refresh(f *file) error {
	path, was, compare := f.path, f.disk, f.known && f.exists
	d, err := bounded(path, hung, func() (*onDisk, error) {
		if compare {
			if info, err := os.Stat(path); err == nil && was.unchanged(statOf(info, w.o.Now())) {
				return nil, nil
			}
		}
		d, err := readDisk(path, w.o.MaxFileBytes)
		return &d, err
	})
	if err != nil || d == nil {
		return err
	}
	w.adopt(f, *d, filetime.Disk)
	return nil
}

// How long a look at the disk may take: a mount whose server is gone never answers. A message of the editor's waits for
// less, as it holds up all that come after it.
const (
	hung     = 10 * time.Second
	hungOpen = time.Second
)

// bounded is what do gives, or an error when that takes too long; do then goes on for nobody.
func bounded[T any](path string, limit time.Duration, do func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := do()
		done <- outcome{v, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.v, o.err
	case <-timer.C:
		var none T
		return none, &filetime.Error{
			Code: filetime.ReadError, Reason: "timeout", Path: path,
			Message: fmt.Sprintf("Read file failed: the disk with %s gave no answer within %v.", path, limit),
		}
	}
}

// lookAt reads a file for the editor's side, which asks only whether a buffer says the same.
func (w *Workspace) lookAt(f *file) (onDisk, error) {
	path := f.path
	return bounded(path, hungOpen, func() (onDisk, error) { return readDisk(path, w.o.MaxFileBytes) })
}

// adopt takes in what was found on disk. f.mu is held.
func (w *Workspace) adopt(f *file, d onDisk, author filetime.Author) {
	d.stat.checked = w.o.Now()
	f.disk = d.stat
	was := f.exists
	f.exists = d.exists
	switch {
	case !f.known:
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
		w.tell(f, "stale", "disk")
	case was && !d.exists:
		w.tell(f, "stale", "disk")
	}
	f.settle()
}

// sniffed is how much of a file is looked at for NULs, which tell that it is no text.
const sniffed = 8192

// readDisk reads a regular file that is text: in UTF-8 or, where its byte order mark says so, in UTF-16. It never waits for
// one that is not regular.
func readDisk(path string, limit int64) (onDisk, error) {
	fail := func(code filetime.Code, reason, format string, args ...any) (onDisk, error) {
		return onDisk{}, &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
	}
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return onDisk{}, nil
		case errors.Is(err, syscall.ENOTDIR):
			return fail(filetime.ReadError, "enotdir", "%s lies below something that is no directory (ENOTDIR).", path)
		case errors.Is(err, syscall.ELOOP):
			return fail(filetime.ReadError, "symlink_loop", "Read file failed: %s is a loop of symbolic links (ELOOP).", path)
		case errors.Is(err, syscall.ENAMETOOLONG):
			return fail(filetime.ReadError, "name_too_long", "Read file failed: the path is too long (ENAMETOOLONG).")
		case errors.Is(err, fs.ErrPermission):
			return fail(filetime.ReadError, "eacces", "Read file failed: no permission to read %s (EACCES).", path)
		case errors.Is(err, syscall.ENXIO):
			return fail(filetime.ReadError, "not_regular", "Read file failed: %s is not a regular file.", path)
		}
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	}
	defer h.Close()
	info, err := h.Stat()
	switch {
	case err != nil:
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	case info.IsDir():
		return fail(filetime.IsDirectory, "is_directory", "%s is a directory. Use list_files to see what is in it.", path)
	case !info.Mode().IsRegular():
		return fail(filetime.ReadError, "not_regular", "Read file failed: %s is not a regular file.", path)
	case limit > 0 && info.Size() > limit:
		return fail(filetime.FileTooLarge, "size", "%s is too large: %.1fMB, the limit is %.1fMB.", path,
			float64(info.Size())/1e6, float64(limit)/1e6)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + 1)
	r := io.Reader(h)
	if limit > 0 {
		r = io.LimitReader(h, limit+1)
	}
	if _, err := b.ReadFrom(r); err != nil {
		return fail(filetime.ReadError, "io", "Read file failed: %v.", err)
	}
	if limit > 0 && int64(b.Len()) > limit {
		return fail(filetime.FileTooLarge, "size", "%s grew over the limit of %.1fMB while it was read.", path,
			float64(limit)/1e6)
	}
	t, charset, err := text.Decode(b.Bytes())
	var unknown *text.CharsetError
	marked := errors.As(err, &unknown) && unknown.Marked // it says that it is text, and UTF-16 and UTF-32 are full of NULs
	head := b.Bytes()
	if err == nil {
		head = []byte(t.Slice(0, min(t.Len(), sniffed)))
	}
	if !marked && bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0 {
		return fail(filetime.BinaryFile, "binary", "Looks like a binary file: %s. It cannot be read or edited as text.", path)
	}
	if err != nil {
		return fail(filetime.BinaryFile, "encoding", "%s cannot be read or edited as text: %v. Convert it to UTF-8 first.",
			path, err)
	}
	d := onDisk{exists: true, text: t, stat: statOf(info, time.Time{})}
	d.stat.charset = charset
	return d, nil
}

// commitDisk lands an edit on disk by compare-and-swap: the new text is written beside the file and exchanged with it,
// and what comes out of the exchange must be what the edit was computed for. If somebody saved in between, what they did
// is merged and put in place by another exchange, until one brings out what was expected.
func (w *Workspace) commitDisk(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	for {
		if err := ctx.Err(); err != nil {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		l, again, err := w.tryDisk(f, e, c)
		if !again {
			return l, err
		}
	}
}

// tryDisk is one try; again says that somebody else was there first and nothing was changed.
func (w *Workspace) tryDisk(f *file, e filetime.FileEdit, c filetime.Change) (l filetime.LandedFile, again bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.open && w.o.Features.Apply:
		return l, false, errOpened
	case f.open:
		return w.tryBehind(f, e, c)
	}
	if err := w.refresh(f); err != nil {
		return l, false, err
	}
	p, err := w.prepare(f, e)
	if err != nil || len(p.set) == 0 && !e.Create && !e.Delete {
		return p.landed(f, err == nil), false, err
	}
	final := p.after
	switch {
	case e.Delete:
		p.set = text.Set{{Start: 0, End: p.before.Len()}}
		p.after, final = text.Text{}, text.Text{}
		again, err = w.remove(f)
	case !f.exists:
		again, err = w.create(f, p.after)
	default:
		final, again, err = w.exchange(f, p)
	}
	var met *mergeConflict
	if again || err != nil && !errors.As(err, &met) {
		return filetime.LandedFile{}, again, err
	}
	f.exists = !e.Delete
	if info, err := os.Lstat(f.path); err == nil {
		charset := f.disk.charset
		f.disk = statOf(info, w.o.Now())
		f.disk.charset = charset
	}
	w.record(f, p.set, filetime.User)
	f.claim(len(f.history)-1, len(f.history), c)
	l = p.landed(f, true)
	l.Source, l.Created = "disk", e.Create
	if !final.Equal(p.after) {
		w.record(f, text.Diff(p.after, final), filetime.Disk)
	}
	if met != nil {
		return filetime.LandedFile{}, false, w.overtaken(f, met)
	}
	w.tell(f, "written", "agent")
	return l, false, nil
}

// tryBehind lands an edit on disk although the document is open: the editor cannot apply edits, and the buffer is what the
// disk says. The buffer changes once the editor has read the file again. f.mu is held.
func (w *Workspace) tryBehind(f *file, e filetime.FileEdit, c filetime.Change) (l filetime.LandedFile, again bool, err error) {
	d, err := readDisk(f.path, w.o.MaxFileBytes)
	if err != nil {
		return l, false, err
	}
	if f.dirty || !d.exists || !sameText(d.text, f.text) {
		return l, false, unsaved(f.path)
	}
	p, err := w.prepare(f, e)
	if err != nil || len(p.set) == 0 {
		return p.landed(f, err == nil), false, err
	}
	stored := p
	if !d.text.Equal(p.before) { // a buffer may have other line ends, and no byte order mark
		stored.before, stored.after = d.text, text.Overwrite(d.text, p.after.String()).Apply(d.text)
	}
	f.disk = d.stat
	if _, again, err = w.exchange(f, stored); again || err != nil {
		return l, again, err
	}
	if f.behind == nil {
		f.behind = &p.before
	}
	w.record(f, p.set, filetime.User)
	f.claim(len(f.history)-1, len(f.history), c)
	l = p.landed(f, true)
	l.Source, l.Stale = "disk", true
	w.tell(f, "written", "agent")
	return l, false, nil
}

func unsaved(path string) error {
	return &filetime.Error{
		Code: filetime.EditConflict, Reason: "unsaved", Path: path, Message: fmt.Sprintf(
			"%s is open with unsaved text and the editor cannot apply edits. Ask the user to save it, then try again.", path),
	}
}

// mergeConflict says that somebody saved text that the edit cannot be merged with; theirs is in place.
type mergeConflict struct {
	base      text.Text
	conflicts []text.Conflict
}

func (*mergeConflict) Error() string { return "the file was saved meanwhile" }

// overtaken is the conflict with what somebody saved at the last moment. f.mu is held.
func (w *Workspace) overtaken(f *file, met *mergeConflict) error {
	c := &filetime.Conflict{Path: f.path, Base: met.base, Now: f.text, Author: filetime.Disk}
	for _, k := range met.conflicts {
		at := max(0, strings.Index(f.text.String(), k.Theirs))
		c.Hunks = append(c.Hunks, filetime.Hunk{
			Base: k.Base, Ours: k.Ours, Now: k.Theirs, BaseLine: met.base.Line(k.Start) + 1, Line: f.text.Line(at) + 1,
		})
	}
	w.tell(f, "conflict", "disk")
	return c
}

// exchange puts the new text in place of the old one and gives what the path holds in the end: the new text, merged with
// what somebody saved while it was on its way.
func (w *Workspace) exchange(f *file, p plan) (final text.Text, again bool, err error) {
	dir := filepath.Dir(f.path)
	var temps []string
	defer func() {
		for _, t := range temps {
			_ = os.Remove(t)
		}
	}()
	var met *mergeConflict
	expected, target := p.before, p.after
	stored := f.disk.charset // how expected is
	for {
		temp, err := writeTemp(dir, target, f.disk, true)
		if n := len(temps); err != nil && n > 0 {
			// The last exchange brought out what somebody else saved: that goes back to its place.
			if unix.Renameat2(unix.AT_FDCWD, temps[n-1], unix.AT_FDCWD, f.path, unix.RENAME_EXCHANGE) != nil {
				temps = nil
			}
		}
		if err != nil {
			return final, false, writeError(f.path, err)
		}
		temps = append(temps, temp)
		err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, f.path, unix.RENAME_EXCHANGE)
		switch first := len(temps) == 1; {
		case err == nil:
		case first && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)):
			again, err := replace(f.path, temp, expected, stored)
			return target, again, err
		case first && errors.Is(err, fs.ErrNotExist):
			return final, true, nil
		case errors.Is(err, fs.ErrNotExist): // removed after our text was there: that is how it stays
			return target, false, nil
		default:
			return final, false, writeError(f.path, err)
		}
		displaced, err := readDisk(temp, 0)
		if err != nil || !displaced.exists {
			// It is no text any more: it goes back, and nothing is written.
			if unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, f.path, unix.RENAME_EXCHANGE) != nil {
				temps = temps[:len(temps)-1]
			}
			return final, false, writeError(f.path, fmt.Errorf("it was replaced by something that is no text"))
		}
		if displaced.says(expected, stored) {
			_ = syncDir(dir)
			if met != nil {
				return target, false, met
			}
			return target, false, nil
		}
		merged := text.Rebase(expected, text.Diff(expected, target), text.Diff(expected, displaced.text))
		next := merged.Set.Apply(displaced.text)
		if len(merged.Conflicts) > 0 {
			met, next = &mergeConflict{expected, merged.Conflicts}, displaced.text
		}
		expected, target = target, next
		stored, f.disk.charset = f.disk.charset, displaced.stat.charset
	}
}

// create makes the file, unless somebody else has made it first.
func (w *Workspace) create(f *file, content text.Text) (again bool, err error) {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return false, writeError(f.path, err)
	}
	temp, err := writeTemp(dir, content, stat{}, false)
	if err != nil {
		return false, writeError(f.path, err)
	}
	defer os.Remove(temp)
	err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = os.Link(temp, f.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return true, nil
	}
	if err != nil {
		return false, writeError(f.path, err)
	}
	return false, syncDir(dir)
}

// remove deletes the file, unless somebody else has changed it since.
func (w *Workspace) remove(f *file) (again bool, err error) {
	dir := filepath.Dir(f.path)
	aside := filepath.Join(dir, TempPrefix+rand.Text())
	if err := os.Rename(f.path, aside); err != nil {
		return false, writeError(f.path, err)
	}
	if d, err := readDisk(aside, 0); err != nil || !d.says(f.text, f.disk.charset) {
		// Somebody saved it meanwhile. If they have even made it anew by now, both texts stay.
		return true, unix.Renameat2(unix.AT_FDCWD, aside, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
	}
	if err := os.Remove(aside); err != nil {
		return false, writeError(f.path, err)
	}
	return false, syncDir(dir)
}

// replace is for file systems without an exchange: a second name keeps what stood there until it has been compared.
func replace(path, temp string, expected text.Text, stored text.Charset) (again bool, err error) {
	kept := temp + ".old"
	if err := os.Link(path, kept); err != nil {
		return false, writeError(path, err)
	}
	defer os.Remove(kept)
	if d, err := readDisk(kept, 0); err != nil || !d.says(expected, stored) {
		return true, nil
	}
	if err := os.Rename(temp, path); err != nil {
		return false, writeError(path, err)
	}
	return false, syncDir(filepath.Dir(path))
}

func writeTemp(dir string, content text.Text, like stat, existing bool) (string, error) {
	mode := fs.FileMode(0o666)
	if existing {
		mode = like.mode.Perm()
	}
	coded, err := text.Encode(content, like.charset)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, TempPrefix+rand.Text())
	h, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, mode)
	if err != nil {
		return "", err
	}
	_, err = h.Write(coded)
	if err == nil && existing {
		_ = h.Chown(like.uid, like.gid) // as far as this user may
		err = h.Chmod(like.mode.Perm() | like.mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
	}
	if err == nil {
		err = h.Sync()
	}
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(name)
		return "", err
	}
	return name, nil
}

func syncDir(dir string) error {
	h, err := os.Open(dir)
	if err != nil {
		return nil // the rename has happened; a folder that cannot be opened cannot be synced either
	}
	defer h.Close()
	_ = h.Sync()
	return nil
}

func writeError(path string, err error) error {
	reason := "io"
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		reason = "eacces"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		reason = "enospc"
	case errors.Is(err, syscall.ENOTDIR):
		reason = "enotdir"
	case errors.Is(err, syscall.ENAMETOOLONG):
		reason = "name_too_long"
	}
	var charset *text.CharsetError
	if errors.As(err, &charset) {
		reason = "encoding"
	}
	return &filetime.Error{
		Code: filetime.WriteError, Reason: reason, Path: path,
		Message: fmt.Sprintf("Write file failed: %v. The file is as it was.", err),
	}
}
