package tree

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// Glob says which files are meant by their names, as ripgrep's option -g does: with ! at its
// beginning it leaves out what it names, with all that is below it, otherwise it leaves out all
// files that it does not name. A pattern without a slash, but one at its end, is about names at any
// depth. What is ignored is taken only where the last name of the pattern is spelt out. It is
// immutable; nil says nothing.
type Glob struct {
	rule  rule
	spelt bool // the last name is no pattern
}

// Spelt says that the last name of a pattern is spelt out: such a pattern names a file, also an
// ignored one.
func Spelt(pattern string) bool {
	name := path.Base(strings.TrimSuffix(pattern, "/"))
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '*', '?', '[', '{', '}':
			return false
		}
	}
	return true
}

// maxGlob is how many bytes a pattern may have.
const maxGlob = 4 << 10

// ParseGlob reads a pattern, which is relative to the directory of a tree. It is nil where the
// pattern says nothing.
func ParseGlob(pattern string) (*Glob, error) {
	if len(pattern) > maxGlob {
		return nil, fmt.Errorf("the pattern is %d bytes long, the limit is %d: look for a part of it", len(pattern), maxGlob)
	}
	r, ok, err := parseRule(strings.TrimPrefix(pattern, "./"), 0, false)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid pattern of file names: %w", pattern, err)
	}
	if !ok {
		return nil, nil
	}
	return &Glob{rule: r, spelt: Spelt(pattern)}, nil
}

// judge is what the pattern says of an entry by its path relative to the directory.
func (g *Glob) judge(rel string, folder bool) verdict {
	if g == nil {
		return silent
	}
	v := g.rule.says(&subject{names: []string{path.Base(rel)}, path: rel, folder: folder})
	switch {
	case v == silent && !g.rule.negated && !folder:
		return excludes
	case v == silent:
		return silent
	case g.rule.negated:
		return excludes
	}
	return includes
}

// names says that the pattern spells out the name of an entry, so that it is taken though it is
// ignored.
func (g *Glob) names(rel string, folder bool) bool {
	return g != nil && g.spelt && g.judge(rel, folder) == includes
}

// rejects tells whether a file is left out whatever its folder, since the pattern is about its name
// alone.
func (g *Glob) rejects(name string) bool {
	return g != nil && g.rule.glob.ofName() && g.judge(name, false) == excludes
}

// Names says that the files which are meant are those that the pattern names.
func (g *Glob) Names() bool { return g != nil && !g.rule.negated }

// Fits tells whether a file is meant, where nothing is ignored.
func (g *Glob) Fits(rel string) bool {
	if g == nil {
		return true
	}
	if g.judge(rel, false) == excludes {
		return false
	}
	for at := path.Dir(rel); at != "."; at = path.Dir(at) {
		if g.judge(at, true) == excludes {
			return false
		}
	}
	return true
}

// Only makes walks come by the files that a pattern means alone, and by the folders that these may
// be in. It is called before the first walk.
func (t *Tree) Only(g *Glob) { t.only = g }

// enters is fs.SkipDir for a folder of a table that a walk does not look into.
func (t *Tree) enters(f *folder, at string) error {
	if rel, below := strings.CutPrefix(f.at, at); below && t.only.judge(rel, true) == excludes {
		return fs.SkipDir
	}
	return nil
}

// namedIn are the entries of a folder that are ignored, and come by all the same.
func (t *Tree) namedIn(f *folder, at string) (out []ignored) {
	if t.only == nil {
		return nil
	}
	for _, e := range f.ignored {
		if t.only.names(strings.TrimPrefix(f.join(e.name), at), e.kind.IsDir()) {
			out = append(out, e)
		}
	}
	return out
}

// named are the files of a table that are ignored, and come by all the same, below a folder whose
// path is at; known is false where there is such a folder, since a table does not have what is in
// it.
func (t *Tree) named(f *folder, at string) (files []candidate, known bool) {
	if t.only == nil || f == nil {
		return nil, f != nil
	}
	for _, e := range t.namedIn(f, at) {
		switch {
		case e.kind.IsDir():
			return nil, false
		case e.kind.IsRegular():
			files = append(files, candidate{f, e.name})
		}
	}
	for _, sub := range f.subs {
		if t.enters(sub, at) != nil {
			continue
		}
		more, known := t.named(sub, at)
		if !known {
			return nil, false
		}
		files = append(files, more...)
	}
	return files, true
}

// down is a folder of a table by its path from f on, nil where there is none.
func (f *folder) down(rel string) *folder {
	for _, name := range components(rel) {
		e := f.find(name)
		if e == nil || e.sub == nil {
			return nil
		}
		f = e.sub
	}
	return f
}

// inOrder are files in the order of a walk.
func inOrder(list []candidate) iter.Seq[candidate] {
	slices.SortFunc(list, func(a, b candidate) int {
		return slices.Compare(strings.Split(a.path(), "/"), strings.Split(b.path(), "/"))
	})
	return slices.Values(list)
}
