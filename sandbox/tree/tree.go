// Package tree walks directories as the tools that look for files see them: at Places below the
// roots, in a fixed order, without following links, without what .gitignore and .ignore exclude or
// what holds keys, and never into .git.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"tandem/sandbox"
)

// TempPrefix begins the names of files that stand in a directory only while a change lands.
const TempPrefix = ".tandem-tmp-"

// Hidden tells whether a name is never shown, whatever is asked for.
func Hidden(name string) bool { return name == ".git" || strings.HasPrefix(name, TempPrefix) }

// Tree is a directory. It holds nothing open; its methods may be called concurrently.
type Tree struct {
	// place is the directory, root what it lies below.
	place, root sandbox.Place
	// dir is the directory, relative to root, base its path.
	dir, base string
	// itself says that the directory is ignored, all that walks visit what is ignored too, only,
	// where it is not nil, what they visit.
	itself, all bool
	only        *Glob
	// ignore are the rules that the directory gets from above it.
	ignore   layers
	withheld atomic.Int64
	// exhausted is the first error of an open because too many files are open.
	exhausted atomic.Pointer[error]
	deep      atomic.Int64
	// OnWithheld is told of each of those entries; nil is nobody. It is set before the first walk.
	OnWithheld func(sandbox.Place)
}

// Entry is one file, directory or link of a tree.
type Entry struct {
	// Path is relative to the tree's directory, with forward slashes.
	Path string
	Type fs.FileMode

	tree *Tree
	dir  *sandbox.Dir // it is open as long as the visit lasts; nil where the entry comes from a table
	name string       // in dir
}

// Info looks the rest up.
func (e Entry) Info() (fs.FileInfo, error) { return e.tree.at(e.Path).Stat() }

// Open takes a Place, at which there must be a directory. Errors are those of os.
func Open(place sandbox.Place) (*Tree, error) {
	t := &Tree{place: place, root: place.Top(), base: place.Path(), dir: place.Rel()}
	switch info, err := place.Stat(); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: t.base, Err: syscall.ENOTDIR}
	}
	t.ignore = rulesAbove(t.root.Path())
	down := components(t.dir)
	for i := range down {
		at := path.Join(down[:i]...)
		t.ignore = t.rulesIn(t.ignore, at, t.has(at))
		t.itself = t.itself || t.ignore.excludes(&subject{names: t.names(path.Join(down[:i+1]...)), folder: true})
	}
	return t, nil
}

// names are those of the path of an entry of the root, from the root of the file system on: rules
// are about them.
func (t *Tree) names(rel string) []string {
	return append(components(strings.Trim(filepath.ToSlash(t.root.Path()), "/")), components(rel)...)
}

// Open opens a file for reading by its path relative to the directory. What is no regular file is
// refused at once.
func (t *Tree) Open(name string) (*os.File, error) {
	f, _, err := t.at(name).Open()
	return f, err
}

// at is the Place of a path relative to the directory.
func (t *Tree) at(name string) sandbox.Place { return t.root.Join(path.Join(t.dir, name)) }

// open opens a folder by its path relative to the directory.
func (t *Tree) open(name string) (*sandbox.Dir, error) { return t.root.OpenDir(path.Join(t.dir, name)) }

// Withholds says that a walk leaves a path out because keys are kept there, or it is Tandem's own.
// Who may look into such a directory itself may see what is in it.
func (t *Tree) Withholds(name string) bool {
	return t.at(name).Class().Unlisted() && !t.place.Class().Unlisted()
}

// Withheld says how many entries the walks so far have left out for that.
func (t *Tree) Withheld() int { return int(t.withheld.Load()) }

// Everything makes walks visit what is ignored too. It is called before the first walk.
func (t *Tree) Everything() { t.all = true }

// Walk visits what is in the directory down to a depth, 0 meaning all of it, sorted by the names on
// the way. A directory is visited before what is in it; visit may answer fs.SkipDir and fs.SkipAll.
// What cannot be read is left out. It gives how many entries were left out because they are
// ignored. The only errors are those of visit, of ctx and of Incomplete.
func (t *Tree) Walk(ctx context.Context, depth int, visit func(Entry) error) (ignored int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	d, err := t.open(".")
	if err != nil {
		return 0, t.note(err)
	}
	ignored, err = t.walk(ctx, d, ".", t.names(t.dir), depth, t.ignore, visit)
	if err == nil || errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = t.Incomplete()
	}
	return ignored, err
}

// note remembers that something could not be opened because no file can be, and returns the error
// of Incomplete then. All else that cannot be read is left out without an error.
func (t *Tree) note(err error) error {
	if sandbox.Exhausted(err) {
		t.exhausted.CompareAndSwap(nil, &err)
		return t.Incomplete()
	}
	return nil
}

// Incomplete is an error if walks and scans left out files because too many are open: what they
// found is not all there is.
func (t *Tree) Incomplete() error {
	if err := t.exhausted.Load(); err != nil {
		return fmt.Errorf("some could not be opened, so what was found is not all there is: %w", *err)
	}
	return nil
}

// MaxPath is how long a path may be for the system (PATH_MAX). No program opens what lies deeper by
// its path, and a walk would hold paths of a length that is quadratic in the depth.
const MaxPath = 4096

// tooDeep reports whether what is in a folder, by its path relative to the root, has paths that are
// too long. It counts the folder.
func (t *Tree) tooDeep(rel string) bool {
	if !t.unreachable(rel) {
		return false
	}
	t.deep.Add(1)
	return true
}

// unreachable is tooDeep that counts nothing.
func (t *Tree) unreachable(rel string) bool {
	return len(t.root.Path())+len("/")+len(rel)+len("/x") >= MaxPath
}

// Deep says how many folders the walks so far have not entered since paths in them are longer than
// the system's.
func (t *Tree) Deep() int { return int(t.deep.Load()) }

// walk visits what is in d, which it closes. names are those of its path, and may be appended to.
func (t *Tree) walk(
	ctx context.Context, d *sandbox.Dir, at string, names []string, depth int, rules layers, visit func(Entry) error,
) (ignored int, err error) {
	defer d.Close()
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	entries, err := d.Entries()
	if err != nil {
		return 0, t.note(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if !t.all {
		rules = t.rulesIn(rules, path.Join(t.dir, at), among(entries))
	}
	names = append(names, "")
	classes := d.Classes()
	for _, e := range entries {
		name := e.Name()
		if Hidden(name) {
			continue
		}
		below := name
		if at != "." {
			below = at + "/" + name
		}
		meant := t.only.judge(below, e.IsDir())
		names[len(names)-1] = name
		if !t.all && !t.only.names(below, e.IsDir()) && rules.excludes(&subject{names: names, folder: e.IsDir()}) {
			ignored++
			continue
		}
		if classes(name).Unlisted() && !t.place.Class().Unlisted() {
			t.withheld.Add(1)
			if t.OnWithheld != nil {
				t.OnWithheld(d.Place(name))
			}
			continue
		}
		if meant == excludes {
			continue
		}
		err := visit(Entry{Path: below, Type: e.Type(), tree: t, dir: d, name: name})
		switch {
		case errors.Is(err, fs.SkipDir) && e.IsDir():
			continue
		case err != nil:
			return ignored, err
		}
		if e.IsDir() && depth != 1 && !t.tooDeep(path.Join(t.dir, below)) {
			sub, err := d.Sub(name)
			if err != nil {
				if err := t.note(err); err != nil {
					return ignored, err
				}
				continue
			}
			n, err := t.walk(ctx, sub, below, names, depth-1, rules, visit)
			ignored += n
			if err != nil {
				return ignored, err
			}
		}
	}
	return ignored, nil
}

// among tells which names are those of entries, which are sorted by them.
func among(entries []fs.DirEntry) func(name string) bool {
	return func(name string) bool {
		_, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return found
	}
}

// Ignored tells whether a walk leaves out the file of that path relative to the directory, which
// need not exist.
func (t *Tree) Ignored(name string) bool {
	rules, at := t.ignore, t.dir
	names := components(name)
	for i, part := range names {
		if Hidden(part) {
			return true
		}
		folder := i < len(names)-1
		rel := path.Join(names[:i+1]...)
		if t.only.judge(rel, folder) == excludes {
			return true
		}
		if t.all {
			continue
		}
		rules = t.rulesIn(rules, at, t.has(at))
		at = path.Join(at, part)
		if !t.only.names(rel, folder) && rules.excludes(&subject{names: t.names(at), folder: folder}) {
			return true
		}
	}
	return false
}

// Rel gives a canonical path relative to the directory; ok is false where it does not lie below.
func (t *Tree) Rel(canonical string) (rel string, ok bool) {
	if rel, err := filepath.Rel(t.base, canonical); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel), true
	}
	return "", false
}

// exclude is the file of what git has of a repository that says what is ignored in all of it.
const exclude = "info/exclude"

// rulesIn adds the rules that a folder of the root brings; has says which entries it has.
func (t *Tree) rulesIn(rules layers, at string, has func(name string) bool) layers {
	return rules.in(t.names(at), func(name string) (string, bool) { return t.text(path.Join(at, name)) }, has)
}

// has tells which entries a folder of the root has.
func (t *Tree) has(at string) func(string) bool {
	return func(name string) bool {
		_, err := t.root.Join(path.Join(at, name)).Stat()
		return err == nil || t.note(err) != nil
	}
}

// text reads a file of the root.
func (t *Tree) text(name string) (string, bool) {
	f, _, err := t.root.Join(name).Open()
	if err != nil {
		_ = t.note(err)
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err == nil
}

func components(rel string) []string {
	if rel == "." || rel == "" {
		return nil
	}
	return strings.Split(rel, "/")
}
