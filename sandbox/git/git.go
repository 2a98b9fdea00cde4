// Package git says what git takes as a repository and what of one it executes, from names and texts
// alone, and reads what git keeps of files, the index and the objects, from the files of a
// repository. It runs no program and obeys no setting, so nothing that a hostile repository holds
// is executed.
package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Repository is a repository with a work tree. Its methods may be called concurrently.
type Repository struct {
	top    string // folder of the work tree
	dir    string // has the index
	common string // has the objects
}

// ErrFormat is the error of what this package cannot read.
var ErrFormat = errors.New("an unknown format of a repository")

// maxFile is how large a file of a repository may be that is read whole: an index of two million
// files.
const maxFile = 256 << 20

// Find opens the repository that git finds from an absolute folder, which need not exist; nil where
// there is none. What it opens may lie anywhere. Errors are those of os, and ErrFormat.
func Find(folder string) (*Repository, error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if r, err := open(at); r != nil || err != nil || at == filepath.Dir(at) {
			return r, err
		}
	}
}

// Open opens the repository of a work tree. Errors are those of os, fs.ErrNotExist where there is
// no repository, and ErrFormat.
func Open(worktree string) (*Repository, error) {
	r, err := open(worktree)
	if r == nil && err == nil {
		err = fmt.Errorf("%s is no work tree: %w", worktree, fs.ErrNotExist)
	}
	return r, err
}

// open opens the repository of a work tree; nil where git goes on above the folder.
func open(top string) (*Repository, error) {
	dir := filepath.Join(top, ".git")
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		if !IsRepositoryAt(dir) {
			return nil, nil
		}
	default: // a submodule, or a further work tree
		text, err := whole(dir, 64<<10)
		if err != nil {
			return nil, err
		}
		named, ok := Pointer(string(text))
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrFormat, dir)
		}
		dir = From(top, named)
	}
	r := &Repository{top, dir, dir}
	if text, err := whole(filepath.Join(dir, "commondir"), 4<<10); err == nil {
		r.common = From(dir, strings.TrimSpace(string(text)))
	}
	return r, nil
}

// Top is the folder of the work tree.
func (r *Repository) Top() string { return r.top }

// IndexFile is the path of the index.
func (r *Repository) IndexFile() string { return filepath.Join(r.dir, "index") }

// IsRepositoryAt says that git takes the folder at a path as a repository.
func IsRepositoryAt(path string) bool {
	return IsRepository(func(name string) bool { _, err := os.Lstat(filepath.Join(path, name)); return err == nil })
}

// Text is what a small file says, "" if there is none; it follows no link.
func Text(name string) string {
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	text, _ := os.ReadFile(name)
	return string(text)
}

// whole reads a regular file of at most limit bytes. It never blocks.
func whole(path string, limit int64) ([]byte, error) {
	f, size, err := regular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%w: %s is too large", ErrFormat, path)
	}
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, limit))
	return b.Bytes(), err
}

// regular opens a regular file, and blocks at nothing else.
func regular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is no file", ErrFormat, path)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
