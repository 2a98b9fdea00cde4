package tree

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// rule is one line of a .gitignore file. It is about the entries below the file's folder, whose rules a walk reads before
// it looks at them: an entry of an ignored folder is never judged, so a rule is matched with whole paths only.
type rule struct {
	glob  []piece // a pattern for each name of a path; ** is any number of names
	depth int     // of the rule's folder below the top

	negated  bool // ! takes entries back in
	folders  bool // a slash at the end: folders only
	anchored bool // a slash elsewhere: the path has to match, not the name
}

// parseRule reads a line that is neither empty nor a remark; ok is false where it can match nothing. folder is where its
// file lies, relative to the top.
func parseRule(line string, folder []string) (r rule, ok bool) {
	r.depth = len(folder)
	line, r.negated = strings.CutPrefix(line, "!")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	line, r.folders = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the folder, not the folder
	}
	glob := withoutBraces(line)
	for name := range strings.SplitSeq(glob, "/") {
		r.glob = append(r.glob, pieceOf(name))
	}
	return r, line != "" && doublestar.ValidatePattern(glob)
}

// piece is the pattern of one name. Most are a name, or a star and an ending, for which no pattern has to be matched.
type piece struct {
	glob string
	kind byte
}

// The kinds of pieces.
const (
	aPattern byte = iota
	aName
	anEnding // the glob without its star
	anyNames // **
)

func pieceOf(glob string) piece {
	const signs = `*?[]{}\`
	switch {
	case glob == "**":
		return piece{glob, anyNames}
	case !strings.ContainsAny(glob, signs):
		return piece{glob, aName}
	case glob[0] == '*' && !strings.ContainsAny(glob[1:], signs):
		return piece{glob[1:], anEnding}
	}
	return piece{glob, aPattern}
}

func (p piece) matches(name string) bool {
	switch p.kind {
	case aName:
		return p.glob == name
	case anEnding:
		return strings.HasSuffix(name, p.glob)
	}
	return doublestar.MatchUnvalidated(p.glob, name)
}

// withoutBraces escapes braces, which mean nothing in a .gitignore file.
func withoutBraces(glob string) string {
	if !strings.ContainsAny(glob, "{}") {
		return glob
	}
	var b strings.Builder
	escaped := false
	for i := range len(glob) {
		if c := glob[i]; !escaped && (c == '{' || c == '}') {
			b.WriteByte('\\')
		}
		escaped = !escaped && glob[i] == '\\'
		b.WriteByte(glob[i])
	}
	return b.String()
}

// verdict is what rules say of an entry.
type verdict uint8

const (
	silent verdict = iota
	excludes
	includes
)

// judge gives the verdict of the last of the rules that match an entry. parts are its path relative to the top.
func judge(rules []rule, parts []string, folder bool) verdict {
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if r.folders && !folder {
			continue
		}
		subject := parts[len(parts)-1:]
		if r.anchored {
			subject = parts[r.depth:]
		}
		switch {
		case !matches(r.glob, subject):
		case r.negated:
			return includes
		default:
			return excludes
		}
	}
	return silent
}

// matches is glob matching over names: each ** tries to match as few as possible, and only the latest is tried again.
func matches(glob []piece, names []string) bool {
	star, next := -1, 0 // the latest **, and the first name that it has not been tried with
	g, n := 0, 0
	for n < len(names) {
		switch {
		case g < len(glob) && glob[g].kind == anyNames:
			star, next = g, n+1
			g++
		case g < len(glob) && glob[g].matches(names[n]):
			g, n = g+1, n+1
		case star >= 0:
			g, n, next = star+1, next, next+1
		default:
			return false
		}
	}
	for g < len(glob) && glob[g].kind == anyNames {
		g++
	}
	return g == len(glob)
}

// layers are the rules that apply in a folder by the kind of their files: what one says is not asked of those after it.
type layers struct{ ripgrep, search, git Rules }

// ruleFile is a kind of files that say what is ignored in their folder.
func (l *layers) ruleFile(name string) *Rules {
	switch name {
	case ".rgignore":
		return &l.ripgrep
	case ".ignore":
		return &l.search
	}
	return &l.git
}

// ruleFiles are the names of the files that say what is ignored in their folder.
func ruleFiles() [3]string { return [3]string{".gitignore", ".ignore", ".rgignore"} }

// excludes tells whether an entry of a folder that is not ignored itself is.
func (l *layers) excludes(parts []string, folder bool) bool {
	for _, r := range [...]Rules{l.ripgrep, l.search, l.git} {
		if v := judge(r.list, parts, folder); v != silent {
			return v == excludes
		}
	}
	return false
}

// Rules are what the files that say what is ignored have said so far, on the way down to a folder. They are immutable; the zero value
// ignores nothing.
type Rules struct{ list []rule }

// Add adds the lines of a file. folder are the names of its folder, relative to where the rules begin.
func (r Rules) Add(text string, folder []string) Rules {
	r.list = slices.Clip(r.list)
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && line[0] != '#' {
			if rule, ok := parseRule(line, folder); ok {
				r.list = append(r.list, rule)
			}
		}
	}
	return r
}

// Ignore tells whether an entry of a folder that is not ignored itself is. names are its path from where the rules begin.
func (r Rules) Ignore(names []string, isFolder bool) bool {
	return judge(r.list, names, isFolder) == excludes
}

// Equal says that both are the same rules.
func (r Rules) Equal(o Rules) bool {
	return slices.EqualFunc(r.list, o.list, func(a, b rule) bool {
		return slices.Equal(a.glob, b.glob) && a.depth == b.depth && a.negated == b.negated && a.folders == b.folders && a.anchored == b.anchored
	})
}
