package tree

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// rule is one line of a .gitignore file. It is about the entries below the file's folder, whose
// rules a walk reads before it looks at them: an entry of an ignored folder is never judged, so a
// rule is matched with whole paths only.
type rule struct {
	line string // as it was written
	glob *glob
	// depth is how many names the path of the rule's folder has.
	depth int

	negated bool // ! takes entries back in
	folders bool // a slash at the end: folders only
}

// parseRule reads a line as ripgrep does; ok is false where it says nothing, and err is of a
// pattern that is none. openClass says that a bracket need not be closed.
func parseRule(line string, depth int, openClass bool) (r rule, ok bool, err error) {
	if strings.HasPrefix(line, "#") {
		return r, false, nil
	}
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	if line == "" {
		return r, false, nil
	}
	r.line, r.depth = line, depth
	anchored := false
	if strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`) {
		line = line[1:]
	} else {
		line, r.negated = strings.CutPrefix(line, "!")
		line, anchored = strings.CutPrefix(line, "/")
	}
	if line, r.folders = strings.CutSuffix(line, "/"); r.folders {
		line = strings.TrimSuffix(line, `\`)
	}
	if !anchored && !strings.Contains(line, "/") && line != "**" {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // what is in the folder, not the folder
	}
	r.glob, err = parseGlob(line, openClass)
	return r, err == nil, err
}

// verdict is what rules say of an entry.
type verdict uint8

const (
	silent verdict = iota
	excludes
	includes
)

// subject is an entry that is judged, by the names of its path.
type subject struct {
	names  []string
	folder bool
	path   string // all names, "" until it is wanted
}

// below is the path without so many names.
func (s *subject) below(depth int) string {
	if s.path == "" {
		s.path = strings.Join(s.names, "/")
	}
	from := 0
	for _, name := range s.names[:depth] {
		from += len(name) + 1
	}
	return s.path[from:]
}

// says is what a rule says of an entry.
func (r *rule) says(s *subject) verdict {
	if r.folders && !s.folder {
		return silent
	}
	path, name := "", s.names[len(s.names)-1]
	if k := r.glob.kind; k == aPattern || k == aPath {
		if !strings.HasSuffix(name, r.glob.ending[strings.LastIndexByte(r.glob.ending, '/')+1:]) {
			return silent
		}
		path = s.below(r.depth)
	}
	switch {
	case !r.glob.fits(path, name):
		return silent
	case r.negated:
		return includes
	}
	return excludes
}

// judge gives the verdict of the last of the rules that match an entry.
func judge(rules []rule, s *subject) verdict {
	for i := len(rules) - 1; i >= 0; i-- {
		if v := rules[i].says(s); v != silent {
			return v
		}
	}
	return silent
}

// Rules are those that apply in a folder by the kind of their files: what one says is not
// asked of those after it.
type Rules struct {
	ripgrep, search, git ruleList
	global               ruleList // where a repository begins
	// repository says that the folder lies in a repository: elsewhere .gitignore says nothing.
	repository bool
}

// Equal says that both are the same rules.
func (l *Rules) Equal(o *Rules) bool {
	return l.repository == o.repository && l.ripgrep.equal(o.ripgrep) && l.search.equal(o.search) && l.git.equal(o.git) && l.global.equal(o.global)
}

// ruleFile is a kind of files that say what is ignored in their folder.
func (l *Rules) ruleFile(name string) *ruleList {
	switch name {
	case ".rgignore":
		return &l.ripgrep
	case ".ignore":
		return &l.search
	}
	return &l.git
}

// RuleFiles are the names of the files that say what is ignored in their folder.
func RuleFiles() [3]string { return [3]string{gitIgnore, ".ignore", ".rgignore"} }

const gitIgnore = ".gitignore"

// repositories are what a folder has that is the top of a repository.
func repositories() [2]string { return [2]string{".git", ".jj"} }

// excludes tells whether an entry of a folder that is not ignored itself is.
func (l *Rules) excludes(s *subject) bool {
	for _, r := range [...]ruleList{l.ripgrep, l.search, l.git} {
		if v := judge(r.list, s); v != silent {
			return v == excludes
		}
	}
	return false
}

// ruleList has the rules of the ignore files from the root down to a folder. It is immutable; the
// zero value ignores nothing.
type ruleList struct{ list []rule }

// add adds the lines of a file. folder are the names of its folder, relative to where the rules
// begin. A line that is no pattern says nothing, and one that is not UTF-8 ends the file, as
// ripgrep has it.
func (r ruleList) add(text string, folder []string) ruleList {
	r.list = slices.Clip(r.list)
	text = strings.TrimLeft(text, "\uFEFF")
	for line := range strings.Lines(text) {
		if !utf8.ValidString(line) {
			break
		}
		line, ended := strings.CutSuffix(line, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		if rule, ok, _ := parseRule(line, len(folder), true); ok {
			r.list = append(r.list, rule)
		}
	}
	return r
}

// equal says that both are the same rules.
func (r ruleList) equal(o ruleList) bool {
	return slices.EqualFunc(r.list, o.list, func(a, b rule) bool { return a.line == b.line && a.depth == b.depth })
}
