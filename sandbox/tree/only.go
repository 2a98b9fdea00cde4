package tree

import (
	"fmt"
	"path"
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

// spelt says that the last name of a pattern is spelt out: such a pattern names a file, also an
// ignored one.
func spelt(pattern string) bool {
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
	return &Glob{rule: r, spelt: spelt(pattern)}, nil
}

// Excludes tells whether the pattern leaves out an entry by its path relative to the directory.
func (g *Glob) Excludes(rel string, folder bool) bool { return g.judge(rel, folder) == excludes }

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

// TakesIgnored says that the pattern spells out the name of an entry, so that it is taken though it
// is ignored.
func (g *Glob) TakesIgnored(rel string, folder bool) bool {
	return g != nil && g.spelt && g.judge(rel, folder) == includes
}

// Rejects tells whether a file is left out whatever its folder, since the pattern is about its name
// alone.
func (g *Glob) Rejects(name string) bool {
	return g != nil && g.rule.glob.ofName() && g.judge(name, false) == excludes
}

// Names says that the files which are meant are those that the pattern names.
func (g *Glob) Names() bool { return g != nil && !g.rule.negated }

// Fits tells whether a file is meant, where nothing is ignored.
func (g *Glob) Fits(rel string) bool {
	if g == nil {
		return true
	}
	if g.Excludes(rel, false) {
		return false
	}
	for at := path.Dir(rel); at != "."; at = path.Dir(at) {
		if g.Excludes(at, true) {
			return false
		}
	}
	return true
}

// Only makes walks come by the files that a pattern means alone, and by the folders that these may
// be in. It is called before the first walk.
func (t *Tree) Only(g *Glob) { t.only = g }

// Pattern is that of Only; nil is none.
func (t *Tree) Pattern() *Glob { return t.only }
