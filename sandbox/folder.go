package sandbox

import (
	"errors"
	"io/fs"
	"os"
)

// Folder is a path and the folder that it led to when it was opened. That one is held open, so that
// no other folder gets its device and inode number, by which they are compared: many file systems
// reuse the number of a folder that was just deleted. If the path did not exist, or the system
// cannot hold folders, it counts as never replaced. All methods may be called concurrently.
type Folder struct {
	path string
	held *os.File // may be nil
}

// OpenFolder holds the folder at an absolute path until Close.
func OpenFolder(path string) *Folder { return &Folder{path, hold(path)} }

// ErrExchanged is the error of entering a folder whose path leads to another one since it was
// judged.
var ErrExchanged = errors.New("the folder was replaced by another one since it was judged")

// Enter holds the folder at the Place, for a command to run in, until Close. judged is its Stat
// when it was judged; nil accepts any folder.
func (p Place) Enter(judged fs.FileInfo) (*Folder, error) {
	held, err := p.Dir()
	if err != nil {
		return nil, err
	}
	now, err := held.Stat()
	if err == nil && judged != nil && !os.SameFile(judged, now) {
		err = p.failed("enter", ErrExchanged)
	}
	if err != nil {
		_ = held.Close()
		return nil, err
	}
	return &Folder{p.Path(), held}, nil
}

// Path is the path of the folder when it was opened.
func (f *Folder) Path() string { return f.path }

// Replaced says that the path leads to something else now. A path that does not exist is not
// replaced: the folder may have been renamed for a moment.
func (f *Folder) Replaced() bool {
	if f.held == nil {
		return false
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return false
	}
	was, err := f.held.Stat()
	return err != nil || !os.SameFile(was, now)
}

// Again is f unless it is replaced, else the folder at its path now; f is closed then.
func (f *Folder) Again() *Folder {
	if !f.Replaced() {
		return f
	}
	f.Close()
	return OpenFolder(f.path)
}

// Close releases the folder.
func (f *Folder) Close() {
	if f.held != nil {
		_ = f.held.Close()
	}
}
