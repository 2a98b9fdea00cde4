package sandbox

import (
	"errors"
	"io/fs"
	"os"
)

// Folder is a folder that a session works in: its path, and which folder stood there when it was opened. That one is held
// open, for then its device and its inode number, which are all that is compared, are given to no other one: many file
// systems give a new folder the number of one that was deleted just before. A file system whose numbers change while a folder
// is held makes it look like another one. Where there was none, or the system does not let one be held, it is never replaced.
// All methods may be called concurrently.
type Folder struct {
	path string
	held *os.File // may be nil
}

// OpenFolder holds the folder that stands at an absolute path now, until Close.
func OpenFolder(path string) *Folder { return &Folder{path, hold(path)} }

// ErrExchanged is what entering a folder answers where another one has come to stand at its path since it was judged.
var ErrExchanged = errors.New("another folder has come to stand there since it was judged")

// Enter holds the folder at the Place, for a command to run in, until Close. judged is what Stat said of it when it was
// judged; nil is whichever folder stands there now.
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

// Path is where the folder stood when it was opened.
func (f *Folder) Path() string { return f.path }

// Replaced says that something else stands at the path now. A path with nothing there is not replaced: the folder may come
// back, as one does that was renamed.
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

// Again is f, or where that is replaced, the folder that stands at its path now; f is closed then.
func (f *Folder) Again() *Folder {
	if !f.Replaced() {
		return f
	}
	f.Close()
	return OpenFolder(f.path)
}

// Close lets go of the folder.
func (f *Folder) Close() {
	if f.held != nil {
		_ = f.held.Close()
	}
}
