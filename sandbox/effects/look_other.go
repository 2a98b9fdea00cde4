//go:build !linux

package effects

import (
	"io/fs"
	"os"
	"path/filepath"
)

// dirHandle is the path of a folder.
type dirHandle string

func handle(f *os.File) dirHandle { return dirHandle(f.Name()) }

func (d dirHandle) close() {}

func (d dirHandle) open(name string) (dirHandle, error) {
	return dirHandle(filepath.Join(string(d), name)), nil
}

func (d dirHandle) self() (stat, error) {
	info, err := os.Lstat(string(d))
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

func (d dirHandle) stat(name string) (stat, error) {
	info, err := os.Lstat(filepath.Join(string(d), name))
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

func (d dirHandle) names() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// statOf has no number of the file and no time of its metadata: nothing is found clean then, and
// all is read.
func statOf(info fs.FileInfo) stat {
	return stat{size: info.Size(), mode: uint32(info.Mode()), mtime: info.ModTime().UnixNano()}
}

func sameOwner(fs.FileInfo, fs.FileInfo) bool { return false }

func (s stat) fileMode() fs.FileMode { return s.kind() | fs.FileMode(s.mode).Perm() }

func (s stat) kind() fs.FileMode { return fs.FileMode(s.mode).Type() }
