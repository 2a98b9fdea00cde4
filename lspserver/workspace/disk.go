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
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"tandem/filetime"
	"tandem/filetime/text"
)

// TempPrefix begins the name of every file that stands beside the one being written, for as long as that takes.
const TempPrefix = ".tandem-tmp-"

// racy is how young a modification time must not be to be trusted: a second write may carry the same one.
const racy = 2 * time.Second

// stat is what tells an unchanged file without reading it.
type stat struct {
	size    int64
	mtime   time.Time
	ctime   syscall.Timespec
	ino     uint64
	links   uint64
	mode    fs.FileMode
	checked time.Time
}

func (s stat) unchanged(t stat) bool {
	return s.ino == t.ino && s.size == t.size && s.mtime.Equal(t.mtime) && s.ctime == t.ctime &&
		s.checked.Sub(s.mtime) > racy && s.checked.Sub(time.Unix(s.ctime.Unix())) > racy
}

func statOf(info fs.FileInfo, now time.Time) stat {
	s := stat{size: info.Size(), mtime: info.ModTime(), mode: info.Mode(), checked: now}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ino, s.links, s.ctime = sys.Ino, uint64(sys.Nlink), sys.Ctim
	}
	return s
}

// onDisk is what one look at a path found.
type onDisk struct {
	exists bool
	text   text.Text
	stat   stat
}

// refresh makes f say what the disk says; what is new becomes one revision. f.mu is held and f is not open.
func (w *Workspace) refresh(f *file) error {
	if f.known && f.exists {
		if info, err := os.Stat(f.path); err == nil && f.disk.unchanged(statOf(info, w.o.Now())) {
			return nil
		}
	}
	d, err := readDisk(f.path, w.o.MaxFileBytes)
	if err != nil {
		return err
	}
	w.adopt(f, d, filetime.Disk)
	return nil
}

// adopt takes in what was found on disk. f.mu is held.
func (w *Workspace) adopt(f *file, d onDisk, author filetime.Author) {
	d.stat.checked = w.o.Now()
	f.disk = d.stat
	was := f.exists
	f.exists = d.exists
	switch {
	case !f.known:
		f.text, f.rev = d.text, w.next()
		f.base, f.history, f.known = f.rev, nil, true
	case !f.text.Equal(d.text):
		w.record(f, text.Infer(f.text, d.text), author)
		w.tell(f, "stale", "disk")
	case was && !d.exists:
		w.tell(f, "stale", "disk")
	}
}

// readDisk reads a regular file that is text. It never waits for one that is not regular.
func readDisk(path string, limit int64) (onDisk, error) {
	fail := func(code filetime.Code, reason, format string, args ...any) (onDisk, error) {
		return onDisk{}, &filetime.Error{Code: code, Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)}
	}
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return onDisk{}, nil
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
	if bytes.IndexByte(b.Bytes()[:min(b.Len(), 8192)], 0) >= 0 || !utf8.Valid(b.Bytes()) {
		return fail(filetime.BinaryFile, "binary", "Looks like a binary file: %s. It cannot be read or edited as text.", path)
	}
	return onDisk{exists: true, text: text.New(b.String()), stat: statOf(info, time.Time{})}, nil
}

// commitDisk lands an edit on disk by compare-and-swap: the new text is written beside the file and exchanged with it,
// and what comes out of the exchange must be what the edit was computed for. If somebody saved in between, their text
// goes back to its place and the edit is rebased over it.
func (w *Workspace) commitDisk(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	for {
		if err := ctx.Err(); err != nil {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		f.mu.Lock()
		if f.open {
			f.mu.Unlock()
			return filetime.LandedFile{}, errOpened
		}
		if err := w.refresh(f); err != nil {
			f.mu.Unlock()
			return filetime.LandedFile{}, err
		}
		p, err := w.prepare(f, e)
		if err != nil || len(p.set) == 0 && !e.Create && !e.Delete {
			f.mu.Unlock()
			return p.landed(f, err == nil), err
		}
		swapped, err := w.swap(f, e, p)
		if err != nil {
			f.mu.Unlock()
			return filetime.LandedFile{}, err
		}
		if !swapped {
			f.mu.Unlock()
			continue
		}
		if e.Delete {
			f.exists = false
		} else if info, err := os.Lstat(f.path); err == nil {
			f.exists = true
			f.disk = statOf(info, w.o.Now())
		}
		w.record(f, p.set, filetime.User)
		f.claim(len(f.history)-1, len(f.history), c)
		w.tell(f, "written", "agent")
		l := p.landed(f, true)
		l.Source, l.Created = "disk", e.Create
		f.mu.Unlock()
		return l, nil
	}
}

// swap puts the new text in place; false means that somebody else got there first and nothing was changed.
func (w *Workspace) swap(f *file, e filetime.FileEdit, p plan) (ok bool, err error) {
	fail := func(err error) (bool, error) { return false, writeError(f.path, err) }
	dir := filepath.Dir(f.path)
	if e.Delete {
		aside := filepath.Join(dir, TempPrefix+rand.Text())
		if err := os.Rename(f.path, aside); err != nil {
			return fail(err)
		}
		if d, err := readDisk(aside, 0); err != nil || !d.text.Equal(f.text) {
			// Somebody saved it meanwhile. If they have even made it anew by now, both texts stay.
			return false, unix.Renameat2(unix.AT_FDCWD, aside, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
		}
		if err := os.Remove(aside); err != nil {
			return fail(err)
		}
		return true, syncDir(dir)
	}
	if !f.exists {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fail(err)
		}
	}
	temp, err := writeTemp(dir, p.after, f.disk, f.exists)
	if err != nil {
		return fail(err)
	}
	defer func() {
		if !errors.Is(err, errKept) {
			_ = os.Remove(temp)
		}
	}()
	if !f.exists {
		err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			err = os.Link(temp, f.path)
		}
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		if err != nil {
			return fail(err)
		}
		return true, syncDir(dir)
	}
	err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, f.path, unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return replace(f.path, temp, f.text)
	case err != nil:
		return fail(err)
	}
	if d, err := readDisk(temp, 0); err == nil && d.text.Equal(f.text) {
		return true, syncDir(dir)
	}
	err = w.giveBack(f.path, temp, p.after)
	return false, err
}

// errKept says that a temporary file holds the only copy of somebody's text and must stay.
var errKept = errors.New("it could not be put back in its place")

// giveBack exchanges back until the path holds what somebody else saved last and temp holds our own text.
func (w *Workspace) giveBack(path, temp string, ours text.Text) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
		if errors.Is(err, fs.ErrNotExist) { // somebody removed ours: theirs goes back all the same
			err = unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err == nil {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("what somebody else saved stands in %s: %w", temp, errKept)
		}
		if d, err := readDisk(temp, 0); err == nil && d.text.Equal(ours) {
			return nil
		}
	}
}

// replace is for file systems without an exchange: a second name keeps what stood there until it has been compared.
func replace(path, temp string, expected text.Text) (bool, error) {
	kept := temp + ".old"
	if err := os.Link(path, kept); err != nil {
		return false, writeError(path, err)
	}
	defer os.Remove(kept)
	if d, err := readDisk(kept, 0); err != nil || !d.text.Equal(expected) {
		return false, nil
	}
	if err := os.Rename(temp, path); err != nil {
		return false, writeError(path, err)
	}
	return true, syncDir(filepath.Dir(path))
}

func writeTemp(dir string, content text.Text, like stat, existing bool) (string, error) {
	mode := fs.FileMode(0o666)
	if existing {
		mode = like.mode.Perm()
	}
	name := filepath.Join(dir, TempPrefix+rand.Text())
	h, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, mode)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(h, strings.NewReader(content.String()))
	if err == nil && existing {
		err = h.Chmod(mode)
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
	return &filetime.Error{
		Code: filetime.WriteError, Reason: reason, Path: path,
		Message: fmt.Sprintf("Write file failed: %v. The file is as it was.", err),
	}
}
