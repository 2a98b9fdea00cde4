//go:build !linux

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Flags for opening a Place.
const (
	forReading = os.O_RDONLY | dontWait
	forFolder  = os.O_RDONLY
)

// holdRoot opens a folder.
func holdRoot(path string) (*os.File, error) { return os.Open(path) }

// unlinked is known on Linux only.
func unlinked(string) bool { return false }

// open opens a clean path below the root with an os.Root, whose folder is compared with the held
// one.
func (r *root) open(rel string, flags int) (f *os.File, crossed bool, err error) {
	below, err := r.below()
	if err != nil {
		return nil, false, err
	}
	defer below.Close()
	name := filepath.FromSlash(rel)
	info, err := below.Lstat(name)
	if err != nil {
		return nil, false, bare(err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, false, syscall.ELOOP
	case flags == forFolder && !info.IsDir():
		return nil, false, syscall.ENOTDIR
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, false, ErrNotRegular
	}
	f, err = below.OpenFile(name, flags, 0)
	return f, false, bare(err)
}

func (r *root) stat(rel string) (fs.FileInfo, error) {
	below, err := r.below()
	if err != nil {
		return nil, err
	}
	defer below.Close()
	info, err := below.Lstat(filepath.FromSlash(rel))
	return info, bare(err)
}

func (r *root) below() (*os.Root, error) {
	folder, err := r.folder()
	if err != nil {
		return nil, err
	}
	defer r.release()
	below, err := os.OpenRoot(r.path)
	if err != nil {
		return nil, bare(err)
	}
	was, err := folder.Stat()
	now, err2 := below.Stat(".")
	if err != nil || err2 != nil || !os.SameFile(was, now) {
		_ = below.Close()
		return nil, fs.ErrNotExist
	}
	return below, nil
}

// bare is the error of a system call without its path.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
