// Package tree walks directories as the tools that look for files see them: at Places below the roots, in a fixed order, without
// following links, without what .gitignore and .ignore exclude or what holds keys, and never into .git.
package tree

import (
	"context"
	"errors"
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
	// top is where the rules about what is ignored begin, relative to root, dir the directory, relative to top.
	top, dir string
	base     string
	// all says that the directory itself is ignored: who asks for it all the same means what is in it.
	all      bool
	ignore   []rule
	withheld atomic.Int64
	// OnWithheld is told of each of those entries; nil is nobody. It is set before the first walk.
	OnWithheld func(sandbox.Place)
}

// Entry is one file, directory or link of a tree.
type Entry struct {
	// Path is relative to the tree's directory, with forward slashes.
	Path string
	Type fs.FileMode
	// Info looks the rest up.
	Info func() (fs.FileInfo, error)
}

// Open takes a Place, at which there must be a directory. Errors are those of os.
func Open(place sandbox.Place) (*Tree, error) {
	t := &Tree{place: place, root: place.Top(), base: place.Path(), top: place.Rel(), dir: "."}
	switch info, err := place.Stat(); {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: t.base, Err: syscall.ENOTDIR}
	}
	names := components(t.top)
	for n := len(names); n >= 0; n-- {
		at := path.Join(names[:n]...)
		if _, err := t.root.Join(path.Join(at, ".git")).Stat(); err == nil || n == 0 && place.Root() != "/" {
			t.top, t.dir = path.Join(".", at), path.Join(names[n:]...)
			break
		}
	}
	t.ignore = t.rules(nil, ".git/info/exclude", nil)
	down := components(t.dir)
	for i := range down {
		t.ignore = t.dirRules(t.ignore, down[:i])
		t.all = t.all || excluded(t.ignore, down[:i+1], true)
	}
	return t, nil
}

// Open opens a file for reading by its path relative to the directory. What is no regular file is refused at once.
func (t *Tree) Open(name string) (*os.File, error) {
	f, _, err := t.at(name).Open()
	return f, err
}

// at is the Place of a path relative to the directory.
func (t *Tree) at(name string) sandbox.Place { return t.root.Join(path.Join(t.top, t.dir, name)) }

// Withholds says that a walk leaves a path out because keys are kept there, or it is Tandem's own. Who may look into such a
// directory itself may see what is in it.
func (t *Tree) Withholds(name string) bool {
	return t.at(name).Class().Unlisted() && !t.place.Class().Unlisted()
}

// Withheld says how many entries the walks so far have left out for that.
func (t *Tree) Withheld() int { return int(t.withheld.Load()) }

// ItselfIgnored says that the directory itself is ignored by the files .gitignore and .ignore of its repository.
func (t *Tree) ItselfIgnored() bool { return t.all }

// Everything makes walks visit what is ignored too. It is called before the first walk.
func (t *Tree) Everything() { t.all = true }

// ruleFiles are the files of a folder that say what programs ignore in it.
func ruleFiles() []string {
	return []string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude", ".git/commondir"}
}

// Blocks tells whether a file that says what is ignored, in the directory or above it, is something else, such as a pipe: a
// program that reads it may wait for ever. BlocksBelow looks for one further down.
func (t *Tree) Blocks() bool {
	for at := t.base; ; at = filepath.Dir(at) {
		for _, name := range ruleFiles() {
			if info, err := os.Stat(filepath.Join(at, name)); err == nil && unfit(info.Mode()) {
				return true
			}
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// BlocksBelow walks to find out, until ctx ends.
func (t *Tree) BlocksBelow(ctx context.Context) (blocks bool) {
	_, _ = t.Walk(ctx, 0, func(e Entry) error {
		if !e.Type.IsDir() {
			return nil
		}
		for _, name := range ruleFiles() {
			if info, err := os.Stat(filepath.Join(t.base, e.Path, name)); err == nil && unfit(info.Mode()) {
				blocks = true
				return fs.SkipAll
			}
		}
		return nil
	})
	return blocks
}

// unfit says that opening or reading something may take for ever.
func unfit(m fs.FileMode) bool { return !m.IsRegular() && !m.IsDir() }

// Walk visits what is in the directory down to a depth, 0 meaning all of it, sorted by the names on the way. A
// directory is visited before what is in it; visit may answer fs.SkipDir and fs.SkipAll. What cannot be read is left
// out. It gives how many entries were left out because they are ignored. The only errors are those of visit and of
// ctx.
func (t *Tree) Walk(ctx context.Context, depth int, visit func(Entry) error) (ignored int, err error) {
	ignored, err = t.walk(ctx, ".", depth, t.ignore, visit)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		err = nil
	}
	return ignored, err
}

func (t *Tree) walk(
	ctx context.Context, at string, depth int, rules []rule, visit func(Entry) error,
) (ignored int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	entries, err := t.read(at)
	if err != nil {
		return 0, nil
	}
	domain := components(path.Join(t.dir, at))
	if !t.all {
		rules = t.dirRules(rules[:len(rules):len(rules)], domain)
	}
	for _, e := range entries {
		name := e.Name()
		if Hidden(name) {
			continue
		}
		if !t.all && excluded(rules, append(domain, name), e.IsDir()) {
			ignored++
			continue
		}
		below := path.Join(at, name)
		if t.Withholds(below) {
			t.withheld.Add(1)
			if t.OnWithheld != nil {
				t.OnWithheld(t.at(below))
			}
			continue
		}
		err := visit(Entry{Path: below, Type: e.Type(), Info: t.at(below).Stat})
		switch {
		case errors.Is(err, fs.SkipDir) && e.IsDir():
			continue
		case err != nil:
			return ignored, err
		}
		if e.IsDir() && depth != 1 {
			n, err := t.walk(ctx, below, depth-1, rules, visit)
			ignored += n
			if err != nil {
				return ignored, err
			}
		}
	}
	return ignored, nil
}

func (t *Tree) read(at string) ([]fs.DirEntry, error) {
	f, err := t.at(at).Dir()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Ignored tells whether a walk leaves out the file of that path relative to the directory, which need not exist.
func (t *Tree) Ignored(name string) bool {
	rules := t.ignore
	domain := components(t.dir)
	parts := components(name)
	for i, part := range parts {
		if Hidden(part) {
			return true
		}
		if t.all {
			continue
		}
		rules = t.dirRules(rules[:len(rules):len(rules)], domain)
		domain = append(domain[:len(domain):len(domain)], part)
		if excluded(rules, domain, i < len(parts)-1) {
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

// dirRules adds the rules that the directory domain, relative to top, brings.
func (t *Tree) dirRules(rules []rule, domain []string) []rule {
	at := path.Join(domain...)
	for _, name := range []string{".gitignore", ".ignore"} {
		rules = t.rules(rules, path.Join(at, name), domain)
	}
	return rules
}

func (t *Tree) rules(rules []rule, file string, domain []string) []rule {
	f, _, err := t.root.Join(path.Join(t.top, file)).Open()
	if err != nil {
		return rules
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return rules
	}
	return Rules{rules}.Add(string(text), domain).list
}

func components(rel string) []string {
	if rel == "." || rel == "" {
		return nil
	}
	return strings.Split(rel, "/")
}
