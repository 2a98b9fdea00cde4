//go:build !linux

package sandbox

import (
	"errors"
	"io"
)

// Sub opens a folder in the folder.
func (d *Dir) Sub(name string) (*Dir, error) { return (Place{root: d.root, rel: d.rel}).OpenDir(name) }

// Read reads a file of the folder that its listing calls regular into buf, as much as has room.
// rest is nil, or what follows, until it is closed. The errors are those of Place.Open.
func (d *Dir) Read(name string, buf []byte) (n int, rest io.ReadCloser, err error) {
	return readPlace(d.Place(name), buf)
}

// Ident looks at an entry, "." for the folder itself.
func (d *Dir) Ident(name string) (Ident, error) {
	return Ident{}, d.Place(name).failed("stat", errors.ErrUnsupported)
}

// Remote says that the folder is on a file system that others may change unnoticed, or that no
// Ident can be had there.
func (d *Dir) Remote() bool { return true }
