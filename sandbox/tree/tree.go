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
	// dir is the directory, relative to root, base its path; above are the names of root's path.
	dir, base string
	above     []string
	// itself says that the directory is ignored, all that walks visit what is ignored too, only,
	// where it is not nil, what they visit.
	itself, all bool
	only        *Glob
	// ignore are the rules that the directory gets from above it.
	ignore   Rules
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
	// ident is that of a table, compared with the file system before the visit.
	ident sandbox.Ident
}

// Entry makes that of a path relative to the directory, for a visit of what a table has.
func (t *Tree) Entry(name string, ident sandbox.Ident) Entry {
	return Entry{Path: name, Type: ident.Type, tree: t, ident: ident}
}

// Named is Entry where the table has no more than the name.
func (t *Tree) Named(name string, kind fs.FileMode) Entry {
	return Entry{Path: name, Type: kind, tree: t}
}

// In is the folder that a walk has open as it visits the entry, and the name in it.
func (e Entry) In() (dir *sandbox.Dir, name string) { return e.dir, e.name }

// Size is the length of a regular file: from the table, else by the folder that the walk has open,
// else by its path. ok is false where no such file is there by now.
func (e Entry) Size() (n int64, ok bool) {
	ident := e.ident
	if ident == (sandbox.Ident{}) && e.dir != nil {
		ident, _ = e.dir.Ident(e.name)
	}
	if ident != (sandbox.Ident{}) {
		return ident.Size(), ident.Type.IsRegular()
	}
	info, err := e.tree.at(e.Path).Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// Open takes a Place, at which there must be a directory. Errors are those of os.
func Open(place sandbox.Place) (*Tree, error) {
	t := &Tree{place: place, root: place.Top(), base: place.Path(), dir: place.Rel()}
	switch info, err := place.Stat(); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: t.base, Err: syscall.ENOTDIR}
	}
	t.above = components(strings.Trim(filepath.ToSlash(t.root.Path()), "/"))
	t.ignore = rulesAbove(t.root.Path())
	down := components(t.dir)
	for i := range down {
		at := path.Join(down[:i]...)
		t.ignore = t.RulesIn(t.ignore, at, t.has(at))
		t.itself = t.itself || t.ignore.excludes(&subject{names: t.names(path.Join(down[:i+1]...)), folder: true})
	}
	return t, nil
}

// Root is what the directory lies below.
func (t *Tree) Root() sandbox.Place { return t.root }

// Dir is the path of the directory relative to the root.
func (t *Tree) Dir() string { return t.dir }

// Rules are those that the directory gets from above it.
func (t *Tree) Rules() *Rules { return &t.ignore }

// Indexable says that a table of the root has what walks visit: no ignored entries and no keys.
func (t *Tree) Indexable() bool {
	return !t.all && !t.itself && !t.root.Class().Unlisted() && !t.place.Class().Unlisted()
}

// names are those of the path of an entry of the root, from the root of the file system on: rules
// are about them.
func (t *Tree) names(rel string) []string {
	below := components(rel)
	names := make([]string, 0, len(t.above)+len(below)+1) // with room for that of an entry
	return append(append(names, t.above...), below...)
}

// Open opens a file for reading by its path relative to the directory. What is no regular file is
// refused at once.
func (t *Tree) Open(name string) (*os.File, error) {
	f, _, err := t.at(name).Open()
	return f, err
}

// at is the Place of a path relative to the directory.
func (t *Tree) at(name string) sandbox.Place { return t.root.Join(path.Join(t.dir, name)) }

// OpenDir opens a folder by its path relative to the directory.
func (t *Tree) OpenDir(name string) (*sandbox.Dir, error) {
	return t.root.OpenDir(path.Join(t.dir, name))
}

// Withholds says that a walk leaves a path out because keys are kept there, or it is Tandem's own.
// Who may look into such a directory itself may see what is in it.
func (t *Tree) Withholds(name string) bool {
	return t.at(name).Class().Unlisted() && !t.place.Class().Unlisted()
}

// Withhold counts an entry that is left out for that, and tells OnWithheld.
func (t *Tree) Withhold(p sandbox.Place) {
	t.withheld.Add(1)
	if t.OnWithheld != nil {
		t.OnWithheld(p)
	}
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
	d, err := t.OpenDir(".")
	if err != nil {
		return 0, t.Note(err)
	}
	ignored, err = t.walk(ctx, d, ".", depth, t.ignore, visit)
	if err == nil || errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = t.Incomplete()
	}
	return ignored, err
}

// Note remembers that something could not be opened because no file can be, and returns the error
// of Incomplete then. All else that cannot be read is left out without an error.
func (t *Tree) Note(err error) error {
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

// Unreachable reports whether what is in a folder, by its path relative to the root, has paths that
// are too long.
func (t *Tree) Unreachable(rel string) bool {
	return len(t.root.Path())+len("/")+len(rel)+len("/x") >= MaxPath
}

// Deep says how many folders the walks so far have not entered since paths in them are longer than
// the system's.
func (t *Tree) Deep() int { return int(t.deep.Load()) }

// CountDeep adds folders to Deep.
func (t *Tree) CountDeep(folders int64) { t.deep.Add(folders) }

// walk visits what is in d, which it closes.
func (t *Tree) walk(ctx context.Context, d *sandbox.Dir, at string, depth int, rules Rules, visit func(Entry) error) (ignored int, err error) {
	defer d.Close()
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	entries, has, err := List(d)
	if err != nil {
		return 0, t.Note(err)
	}
	folder := path.Join(t.dir, at)
	if !t.all {
		rules = t.RulesIn(rules, folder, has)
	}
	excluded, classes := t.Judge(&rules, folder), d.Classes()
	for _, e := range entries {
		name := e.Name()
		if Hidden(name) {
			continue
		}
		below := name
		if at != "." {
			below = at + "/" + name
		}
		if !t.all && !t.only.TakesIgnored(below, e.IsDir()) && excluded(name, e.IsDir()) {
			ignored++
			continue
		}
		if classes(name).Unlisted() && !t.place.Class().Unlisted() {
			t.Withhold(d.Place(name))
			continue
		}
		if t.only.Excludes(below, e.IsDir()) {
			continue
		}
		err := visit(Entry{Path: below, Type: e.Type(), tree: t, dir: d, name: name})
		switch {
		case errors.Is(err, fs.SkipDir) && e.IsDir():
			continue
		case err != nil:
			return ignored, err
		}
		switch {
		case !e.IsDir(), depth == 1:
			continue
		case t.Unreachable(path.Join(t.dir, below)):
			t.CountDeep(1)
			continue
		}
		sub, err := d.Sub(name)
		if err != nil {
			if err := t.Note(err); err != nil {
				return ignored, err
			}
			continue
		}
		n, err := t.walk(ctx, sub, below, depth-1, rules, visit)
		if ignored += n; err != nil {
			return ignored, err
		}
	}
	return ignored, nil
}

// List gives the entries of a folder, sorted by their names, and tells which names are theirs.
func List(d *sandbox.Dir) (entries []fs.DirEntry, has func(name string) bool, err error) {
	if entries, err = d.Entries(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, func(name string) bool {
		_, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return found
	}, nil
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
		if t.only.Excludes(rel, folder) {
			return true
		}
		if t.all {
			continue
		}
		rules = t.RulesIn(rules, at, t.has(at))
		at = path.Join(at, part)
		if !t.only.TakesIgnored(rel, folder) && rules.excludes(&subject{names: t.names(at), folder: folder}) {
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

// Judge tells which entries of a folder of the root are ignored by the rules in it.
func (t *Tree) Judge(rules *Rules, at string) func(name string, folder bool) (ignored bool) {
	names := append(t.names(at), "")
	return func(name string, folder bool) bool {
		names[len(names)-1] = name
		return rules.excludes(&subject{names: names, folder: folder})
	}
}

// exclude is the file of what git has of a repository that says what is ignored in all of it.
const exclude = "info/exclude"

// RulesIn adds the rules that a folder of the root brings; has says which entries it has.
func (t *Tree) RulesIn(rules Rules, at string, has func(name string) bool) Rules {
	return rules.in(t.names(at), func(name string) (string, bool) { return t.text(path.Join(at, name)) }, has)
}

// has tells which entries a folder of the root has.
func (t *Tree) has(at string) func(string) bool {
	return func(name string) bool {
		_, err := t.root.Join(path.Join(at, name)).Stat()
		return err == nil || t.Note(err) != nil
	}
}

// text reads a file of the root.
func (t *Tree) text(name string) (string, bool) {
	f, _, err := t.root.Join(name).Open()
	if err != nil {
		_ = t.Note(err)
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
