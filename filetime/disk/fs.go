package disk

import (
	"io"
	"io/fs"
	"time"
)

// FS opens the folders in which files are changed. System is the real one.
type FS interface {
	// Open opens a folder by its absolute path, in which there must be no symbolic link.
	Open(path string) (Dir, error)
}

// Dir is a folder that was opened. It stays the same folder whatever becomes of its path. Each method is one system call
// or so; names are those of entries, and no link is followed.
type Dir interface {
	// Open opens a file to be read. It never waits for one that is not regular.
	Open(name string) (File, error)
	// Create makes a file that must not exist.
	Create(name string, mode fs.FileMode) (File, error)
	// Anonymous makes a file that is gone when it is closed, unless it has been given a name.
	Anonymous(mode fs.FileMode) (File, error)
	Stat(name string) (Stat, error)
	// Writable fails where the user may not write to the file.
	Writable(name string) error
	Mkdir(name string) error
	Link(name string, to Dir, as string) error
	// Rename replaces what has the new name, Place fails with fs.ErrExist, Exchange swaps the two.
	Rename(name, as string) error
	Place(name string, to Dir, as string) error
	Exchange(a, b string) error
	Remove(name string) error
	Rmdir(name string) error
	Names() ([]string, error)
	Sync() error
	Close() error
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	Stat() (Stat, error)
	// Name gives an anonymous file a name that nothing has.
	Name(in Dir, name string) error
	Chown(uid, gid int) error
	Chmod(mode fs.FileMode) error
	Xattrs() (map[string][]byte, error)
	// SetXattr removes an attribute where value is nil.
	SetXattr(name string, value []byte) error
	Sync() error
	// Alone reports that nobody has the file open for writing, and keeps it so until the file is closed: who wants to waits,
	// and Alone reports that from then on. sure is false where the system cannot tell.
	Alone() (alone, sure bool)
	// Again opens the file once more to be read from its beginning, even if it has no name any more.
	Again() (File, error)
}

// Stat is what a folder says of an entry.
type Stat struct {
	Dev, Ino, Links uint64
	Size            int64
	Mode            fs.FileMode
	UID, GID        int
	ModTime         time.Time
}
