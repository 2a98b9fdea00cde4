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

// ErrNotRegular is the error of opening what is neither a regular file nor a folder.
var ErrNotRegular = errors.New("not a regular file")

// Place is a path that was judged, and the only way to open it: a root, which is held open, and the
// path below it. It is not a file: a save by rename puts another file at the same Place.
//
// Each call resolves the path again from the root and follows no symbolic link (openat2 with
// RESOLVE_BENEATH). So nothing outside of the root is reached, whatever was replaced since the path
// was judged: such a call fails with syscall.ELOOP or ENOTDIR. The path need not exist: such a call
// fails with fs.ErrNotExist. Errors are *fs.PathError, or *PathError if the opened file is of a
// stricter class than the Place. Outside Linux a link that is made afterwards is followed as long
// as it stays below the root.
//
// With the zero value every call fails. Places are values; all methods may be called concurrently.
type Place struct {
	root  *root
	rel   string // clean, with forward slashes, "." for the root
	class Class
}

// Path is the canonical absolute path, for messages, as a key, and for the journal; never open it.
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

// Class is the class of the path. A file with further names (hard links) is judged again when it is
// opened. The zero Place is of the strictest class.
func (p Place) Class() Class {
	if p.root == nil {
		return Internal
	}
	return p.class
}

// Join is a Place below p, which need not exist, nor be UTF-8. It is the zero Place if rel is not
// relative or leads above p.
func (p Place) Join(rel string) Place {
	if p.root == nil || !filepath.IsLocal(filepath.FromSlash(path.Clean(rel))) {
		return Place{}
	}
	return p.root.place(path.Join(p.rel, rel))
}

// Joiner is Join for clean paths in the order of a walk: the classes that the entries of a folder
// have in common are judged once a folder, not once an entry. It is for one goroutine and for one
// walk.
func (p Place) Joiner() func(rel string) Place {
	var in string // the folder of the last path, with a slash
	var classes func(entry string) Class
	return func(rel string) Place {
		if p.root == nil || rel == "." || rel != path.Clean(rel) || !filepath.IsLocal(filepath.FromSlash(rel)) {
			return p.Join(rel)
		}
		at := rel
		if p.rel != "." {
			at = p.rel + "/" + rel
		}
		folder, name := path.Split(at)
		if classes == nil || folder != in {
			in, classes = folder, p.root.classes(path.Clean(folder))
		}
		return Place{root: p.root, rel: at, class: classes(name)}
	}
}

// Top is the Place of the root.
func (p Place) Top() Place {
	if p.root == nil {
		return p
	}
	return p.root.place(".")
}

// Parent is the folder of the Place, and its name there. The parent of a root is the root, with the
// name ".".
func (p Place) Parent() (folder Place, name string) {
	if p.root == nil || p.rel == "." {
		return p, "."
	}
	return p.root.place(path.Dir(p.rel)), path.Base(p.rel)
}

// Holds says that both have the same root, and q is p or below it.
func (p Place) Holds(q Place) bool {
	rest, below := strings.CutPrefix(q.rel, p.rel)
	return p.root != nil && p.root == q.root && (p.rel == "." || below && (rest == "" || rest[0] == '/'))
}

// Open opens a regular file for reading. It never blocks. The error for a folder is syscall.EISDIR,
// for anything else ErrNotRegular.
func (p Place) Open() (*os.File, fs.FileInfo, error) {
	if p.root == nil {
		return nil, nil, p.failed("open", fs.ErrInvalid)
	}
	f, crossed, err := p.root.open(p.rel, forReading)
	if err != nil {
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

// Stat is Lstat: a symbolic link is not followed.
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

// Same says that what Stat gave of two places is one entry, which has both names.
func Same(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// Dir opens a folder for system calls that take names in it, such as openat. It need not be
// permitted to list it.
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

// judge refuses an opened file that under another name is of a class that may not be read, or not
// without a question.
func (p Place) judge(info fs.FileInfo) error {
	found := p.root.set.classOfFile(p, info, true)
	if p.class.Is(found) {
		return nil
	}
	return refuse("PROTECTED_PATH", "protected", p.Path(), "%s is the same file as one that holds %s. It is not touched under another name.",
		shorten(p.Path()), map[Class]string{Secret: "keys or passwords", Internal: "Tandem's own configuration or state"}[found])
}

// identified is the class of an existing file or folder by its device and inode number, and whether
// it is a file with further names. It is for writing.
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
