package sandbox

import (
	"io/fs"
	"time"
)

// Ident tells the states of an entry of a folder apart: while it is the same, so is what the entry
// has, as far as the file system says. Idents are compared with ==.
type Ident struct {
	device, inode          uint64
	linked                 bool
	size, modified, change int64
	// Type is that of fs.DirEntry.
	Type fs.FileMode
}

// granule is how long a file system may give changes the same time.
const granule = 2 * time.Second

// Settled says that a change after now, when the Ident was asked for, shows in the next one. It
// does not where the latest change was so shortly before that another one might be given the same
// time.
func (i Ident) Settled(now time.Time) bool {
	return now.Sub(time.Unix(0, i.change)) > granule && now.Sub(time.Unix(0, i.modified)) > granule
}

// Size is the length of a file.
func (i Ident) Size() int64 { return i.size }

// Linked says that it is of a file with more than one name.
func (i Ident) Linked() bool { return i.linked }

// Bare is what tells which entry it is of, and nothing else.
func (i Ident) Bare() Ident { return Ident{device: i.device, inode: i.inode, Type: i.Type} }

// Same says that both are of the same entry, whatever has become of it.
func (i Ident) Same(o Ident) bool {
	return i.Bare() == o.Bare()
}
