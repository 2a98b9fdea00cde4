// Package git reads what git keeps of files, the index and the objects, from the files of a repository. It runs no program and reads no
// setting but the format of the repository, so nothing that a hostile repository holds is executed.
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
	dir    string // has the index
	common string // has the objects
}

// ErrFormat is the error of what this package cannot read.
var ErrFormat = errors.New("an unknown format of a repository")

// maxFile is how large a file of a repository may be that is read whole.
const maxFile = 256 << 20

// Open opens the repository of a work tree, whose folder has an entry .git. Errors are those of os, and ErrFormat.
func Open(worktree string) (*Repository, error) {
	r := &Repository{dir: filepath.Join(worktree, ".git")}
	if info, err := os.Lstat(r.dir); err != nil {
		return nil, err
	} else if info.Mode().IsRegular() { // a submodule, or a further work tree
		text, err := whole(r.dir, 4<<10)
		if err != nil {
			return nil, err
		}
		at, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrFormat, r.dir)
		}
		r.dir = beside(worktree, at)
	}
	r.common = r.dir
	if text, err := whole(filepath.Join(r.dir, "commondir"), 4<<10); err == nil {
		r.common = beside(r.dir, strings.TrimSpace(string(text)))
	}
	settings, err := whole(filepath.Join(r.common, "config"), 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if bytes.Contains(bytes.ToLower(settings), []byte("objectformat")) { // SHA-256
		return nil, fmt.Errorf("%w: %s", ErrFormat, r.common)
	}
	return r, nil
}

// IndexFile is the path of the index.
func (r *Repository) IndexFile() string { return filepath.Join(r.dir, "index") }

func beside(folder, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return filepath.Clean(path)
}

// whole reads a regular file of at most limit bytes. It never blocks.
func whole(path string, limit int64) ([]byte, error) {
	f, size, err := open(path)
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

func open(path string) (*os.File, int64, error) {
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
