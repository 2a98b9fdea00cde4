package git

import (
	"slices"
	"strings"
)

// Rules are what .gitignore files and info/exclude have said so far, on the way down to a folder,
// read as git reads them: wildmatch patterns, of which the last that matches counts. They are
// immutable; the zero value ignores nothing.
type Rules struct {
	list []rule
	fold bool // core.ignoreCase
	// doubted says that a file could not be read as git reads it: nothing is ignored then, since a
	// later rule may take an entry back in.
	doubted bool
}

// rule is one line of a file.
type rule struct {
	line string
	// pattern is the line without its signs, literal how much of its beginning has no special sign.
	pattern string
	literal int
	depth   int // names of the path of the file's folder

	negated bool // ! takes entries back in
	folders bool // a slash at the end: folders only
	name    bool // no slash: about the last name, at any depth
	ending  bool // a star and a literal
}

// maxPattern is how long a pattern may be that is matched.
const maxPattern = 4 << 10

// Fold gives the same rules where the case of ASCII letters does not count, as with git's setting
// core.ignoreCase.
func (r Rules) Fold() Rules {
	r.fold = true
	return r
}

// Doubt gives rules that ignore nothing, whatever is added: what git ignores cannot be told.
func (r Rules) Doubt() Rules {
	r.doubted = true
	return r
}

// Add adds the lines of a file. folder are the names of its folder, relative to where the rules
// begin.
func (r Rules) Add(text string, folder []string) Rules {
	r.list = slices.Clip(r.list)
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		line = trimBlanks(line)
		if len(line) > maxPattern {
			r.doubted = true
			continue
		}
		if line != "" {
			r.list = append(r.list, parseRule(line, len(folder)))
		}
	}
	return r
}

// trimBlanks drops the blanks at the end of a line, but for one behind a backslash.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i >= len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

func parseRule(line string, depth int) rule {
	r := rule{line: line, depth: depth}
	p := line
	p, r.negated = strings.CutPrefix(p, "!")
	r.literal = literal(p)
	r.ending = strings.HasPrefix(p, "*") && literal(p[1:]) == len(p)-1
	p, r.folders = strings.CutSuffix(p, "/")
	r.literal = min(r.literal, len(p))
	r.name = !strings.Contains(p, "/")
	r.pattern = p
	if !r.name && p[0] == '/' {
		r.pattern, r.literal = p[1:], r.literal-1
	}
	return r
}

// literal is how many bytes a pattern has before its first special sign.
func literal(pattern string) int {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return i
	}
	return len(pattern)
}

// Ignore tells whether an entry of a folder that is not ignored itself is. names are its path from
// where the rules begin.
func (r Rules) Ignore(names []string, isFolder bool) bool {
	if r.doubted {
		return false
	}
	path := ""
	for i := len(r.list) - 1; i >= 0; i-- {
		rule := &r.list[i]
		switch {
		case rule.folders && !isFolder, rule.depth >= len(names):
			continue
		case rule.name:
			if rule.fitsName(names[len(names)-1], r.fold) {
				return !rule.negated
			}
			continue
		case path == "":
			path = strings.Join(names, "/")
		}
		below := path
		for _, name := range names[:rule.depth] {
			below = below[len(name)+1:]
		}
		if rule.fitsPath(below, r.fold) {
			return !rule.negated
		}
	}
	return false
}

func (r *rule) fitsName(name string, fold bool) bool {
	switch {
	case r.literal == len(r.pattern):
		return same(r.pattern, name, fold)
	case r.ending:
		end := r.pattern[1:]
		return len(end) <= len(name) && same(end, name[len(name)-len(end):], fold)
	}
	return wildmatch(r.pattern, name, false, fold)
}

// fitsPath matches the literal beginning by itself, so that what follows it counts as the beginning
// of a pattern: a**/b fits ax/y/b.
func (r *rule) fitsPath(path string, fold bool) bool {
	if r.literal > len(path) || !same(r.pattern[:r.literal], path[:r.literal], fold) {
		return false
	}
	rest := r.pattern[r.literal:]
	return rest == "" && len(path) == r.literal || wildmatch(rest, path[r.literal:], true, fold)
}

// same compares bytes, with fold without the case of ASCII letters.
func same(a, b string, fold bool) bool {
	if !fold || len(a) != len(b) {
		return a == b
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Equal says that both are the same rules.
func (r Rules) Equal(o Rules) bool {
	return r.fold == o.fold && r.doubted == o.doubted &&
		slices.EqualFunc(r.list, o.list, func(a, b rule) bool { return a.line == b.line && a.depth == b.depth })
}
