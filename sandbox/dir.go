package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
)

// Dir is a folder at a Place that is held open, for programs that look at many of its entries: what
// it opens is in that folder, whatever its path leads to by now, and no symbolic link is followed.
// All methods may be called concurrently.
type Dir struct {
	root *root
	rel  string
	f    *os.File
	// crossed says that a mount lies between the root and the folder.
	crossed bool
	users   atomic.Int32
}

// OpenDir opens the folder at a path relative to the Place. Errors are those of Place.
func (p Place) OpenDir(rel string) (*Dir, error) {
	if p.root == nil || !filepath.IsLocal(filepath.FromSlash(path.Clean(rel))) {
		return nil, p.failed("open", fs.ErrInvalid)
	}
	rel = path.Join(p.rel, rel)
	f, crossed, err := p.root.open(rel, forFolder)
	if err != nil {
		return nil, p.root.place(rel).failed("open", err)
	}
	return newDir(p.root, rel, f, crossed), nil
}

func newDir(r *root, rel string, f *os.File, crossed bool) *Dir {
	d := &Dir{root: r, rel: rel, f: f, crossed: crossed}
	d.users.Store(1)
	return d
}

// Place is the Place of an entry.
func (d *Dir) Place(name string) Place { return d.root.place(path.Join(d.rel, name)) }

// Classes gives the classes that the Places of the entries have now, by their names.
func (d *Dir) Classes() func(entry string) Class { return d.root.classes(d.rel) }

// Crossed says that a mount lies between the root and the folder.
func (d *Dir) Crossed() bool { return d.crossed }

// Entries lists the folder in no order. What could be read before an error is given with it.
func (d *Dir) Entries() ([]fs.DirEntry, error) { return d.f.ReadDir(-1) }

// Hold keeps the folder open until one more Close.
func (d *Dir) Hold() { d.users.Add(1) }

// Close ends one use of the folder, which is closed with the last one.
func (d *Dir) Close() {
	if d.users.Add(-1) == 0 {
		_ = d.f.Close()
	}
}

// readPlace is Dir.Read for a file that is opened at its Place.
func readPlace(p Place, buf []byte) (n int, rest io.ReadCloser, err error) {
	f, _, err := p.Open()
	if err != nil {
		return 0, nil, err
	}
	n, err = io.ReadFull(f, buf)
	switch {
	case err == nil:
		return n, f, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = nil
	}
	_ = f.Close()
	return n, nil, err
}
