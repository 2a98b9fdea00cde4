package disk

import (
	"io"
	"io/fs"
	"time"
)

// FS opens the folders in which files are changed. System is the real one.
type FS interface {
	// Open opens a folder by its absolute path, which must contain no symbolic link.
	Open(path string) (Dir, error)
}

// Dir is an open folder, whatever its path leads to by now. Each method is about one system call;
// names are those of entries, and no link is followed.
type Dir interface {
	// Open opens a file for reading. It never blocks on one that is not regular.
	Open(name string) (File, error)
	// Create makes a file that must not exist.
	Create(name string, mode fs.FileMode) (File, error)
	// Anonymous makes a file without a name (O_TMPFILE).
	Anonymous(mode fs.FileMode) (File, error)
	Stat(name string) (Stat, error)
	// Writable fails if the user may not write to the file.
	Writable(name string) error
	Mkdir(name string) error
	Link(name string, to Dir, as string) error
	// Rename replaces what has the new name, Place fails with fs.ErrExist instead, Exchange swaps
	// two names atomically.
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
	// Name gives an anonymous file a name, which must be unused.
	Name(in Dir, name string) error
	Chown(uid, gid int) error
	Chmod(mode fs.FileMode) error
	Xattrs() (map[string][]byte, error)
	// SetXattr removes the attribute if value is nil.
	SetXattr(name string, value []byte) error
	Sync() error
	// Alone takes a read lease (F_SETLEASE): no other process has the file open for writing, and
	// one that opens it waits until the file is closed; from then on Alone is false. sure is false
	// if the system has no leases.
	Alone() (alone, sure bool)
	// Again opens the file once more, at its beginning, even if it has no name any more.
	Again() (File, error)
}

// Stat is the metadata of an entry.
type Stat struct {
	Dev, Ino, Links uint64
	Size            int64
	Mode            fs.FileMode
	UID, GID        int
	ModTime         time.Time
}
