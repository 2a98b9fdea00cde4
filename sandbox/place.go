package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotRegular is what opening a Place answers where something stands that is neither a regular file nor a folder.
var ErrNotRegular = errors.New("not a regular file")

// Place is a path that was judged, and the only way to open it: a root, which is held open, and the path below it. It names
// what stands there at the moment of each call, not a file: a save by renaming puts another file at the same Place.
//
// Each call walks anew from the root and follows no symbolic link, so whatever is exchanged on the way since the path was
// judged, nothing outside of the root is reached: such a call fails with syscall.ELOOP or ENOTDIR. Nothing that stands there
// need exist: such calls fail with fs.ErrNotExist. Errors are *fs.PathError, or *PathError where what was opened is of a
// stricter class than the Place. Outside Linux a link that comes to stand below the root afterwards is followed, as long as it
// stays below the root.
//
// The zero value is no place: every call fails. Places are values; all methods may be called concurrently.
type Place struct {
	root  *root
	rel   string // clean, with forward slashes, "." for the root
	class Class
}

// Path is the canonical absolute path: a name for messages, maps and the journal, never to be opened.
func (p Place) Path() string {
	if p.root == nil {
		return ""
	}
	return join(p.root.path, p.rel)
}

func (p Place) String() string { return p.Path() }

// Root is the path of the root.
func (p Place) Root() string {
	if p.root == nil {
		return ""
	}
	return p.root.path
}

// Rel is the path below the root, with forward slashes; "." is the root.
func (p Place) Rel() string { return p.rel }

// Class is the class of the path. That of a file which has further names is judged when it is opened. What is no place is of the
// strictest class.
func (p Place) Class() Class {
	if p.root == nil {
		return Internal
	}
	return p.class
}

// Join is a Place below p, whose path need not exist, nor be UTF-8. It is the zero Place where rel is not relative or leads above p.
func (p Place) Join(rel string) Place {
	if p.root == nil || !filepath.IsLocal(filepath.FromSlash(path.Clean(rel))) {
		return Place{}
	}
	return p.root.place(path.Join(p.rel, rel))
}

// Top is the Place of the root.
func (p Place) Top() Place {
	if p.root == nil {
		return p
	}
	return p.root.place(".")
}

// Parent is the folder that the Place lies in, and its name there. That of a root is the root, with the name ".".
func (p Place) Parent() (folder Place, name string) {
	if p.root == nil || p.rel == "." {
		return p, "."
	}
	return p.root.place(path.Dir(p.rel)), path.Base(p.rel)
}

// Open opens a regular file for reading, without waiting for anything, and says what it is. A folder is syscall.EISDIR, anything
// else ErrNotRegular.
func (p Place) Open() (*os.File, fs.FileInfo, error) {
	if p.root == nil {
		return nil, nil, p.failed("open", fs.ErrInvalid)
	}
	f, crossed, err := p.root.open(p.rel, forReading)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket
			err = ErrNotRegular
		}
		return nil, nil, p.failed("open", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = p.failed("open", syscall.EISDIR)
	case !info.Mode().IsRegular():
		err = p.failed("open", ErrNotRegular)
	case crossed || linksOf(info) > 1:
		err = p.judge(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Stat says what stands there; a symbolic link is not followed.
func (p Place) Stat() (fs.FileInfo, error) {
	if p.root == nil {
		return nil, p.failed("stat", fs.ErrInvalid)
	}
	info, err := p.root.stat(p.rel)
	if err != nil {
		return nil, p.failed("stat", err)
	}
	return info, nil
}

// Dir opens a folder, for what is done in it by the names of its entries. One that may not be listed can be had all the same.
func (p Place) Dir() (*os.File, error) {
	if p.root == nil {
		return nil, p.failed("open", fs.ErrInvalid)
	}
	f, _, err := p.root.open(p.rel, forFolder)
	if err != nil {
		return nil, p.failed("open", err)
	}
	return f, nil
}

func (p Place) failed(op string, err error) error {
	return &fs.PathError{Op: op, Path: p.Path(), Err: err}
}

// judge refuses what was opened where it is, under another name, of a class that may not be read, or not unasked.
func (p Place) judge(info fs.FileInfo) error {
	found := p.root.set.classOfFile(p, info, true)
	if p.class.Is(found) {
		return nil
	}
	return refuse("PROTECTED_PATH", "protected", p.Path(), "%s is the same file as one that holds %s. It is not touched under another name.",
		shorten(p.Path()), map[Class]string{Secret: "keys or passwords", Internal: "Tandem's own configuration or state"}[found])
}

// identified is the class that the identity of what stands there tells, for who is about to write, and whether it is a file with
// further names.
func (p Place) identified() (class Class, further bool) {
	info, err := p.Stat()
	if err != nil {
		info = nil
	}
	further = info != nil && linksOf(info) > 1 && !info.IsDir()
	return p.root.set.classOfFile(p, info, further), further
}

// join is a path below root.
func join(root, rel string) string {
	if rel == "." {
		return root
	}
	return strings.TrimSuffix(root, "/") + "/" + rel
}
