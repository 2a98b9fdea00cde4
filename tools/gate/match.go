package gate

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/rule"
	"tandem/tools/shell"
)

// maxGlob is the length of a pattern in bytes up to which it is compared, as grep's glob has it. A longer one is broken.
const maxGlob = 1000

// glob is a pattern that is ready to be compared with thousands of texts. A broken one fits nothing where it allows, and all else.
type glob struct {
	pattern string
	// needle is a part of every text that fits, by which most others are told without the pattern.
	needle string
	fixed  string // what the texts that fit begin with
	broken bool
	all    bool // what a broken one fits
}

// globOf reads a pattern.
func globOf(pattern string, allows bool) glob {
	if !allows {
		pattern = strings.ToLower(pattern)
	}
	broken := len(pattern) > maxGlob || !doublestar.ValidatePattern(pattern)
	fixed := pattern
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		fixed = pattern[:i]
	}
	return glob{pattern: pattern, fixed: fixed, needle: needle(pattern), broken: broken, all: !allows}
}

// pieces are texts that every text which fits has; none where it may fit any.
func (g glob) pieces() []string {
	if g.broken || g.pattern == "." { // which is all below a folder
		return nil
	}
	return pieces(g.pattern)
}

// literal reports whether the pattern is the one text that fits.
func (g glob) literal() bool { return g.needle == g.pattern }

func (g glob) fits(text string) bool {
	if g.broken {
		return g.all
	}
	return strings.Contains(text, g.needle) && doublestar.MatchUnvalidated(g.pattern, text)
}

// needle is the longest text that a pattern has outside of what stands for others.
func needle(pattern string) (longest string) {
	for _, piece := range pieces(pattern) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// pieces are the texts that a pattern has outside of what stands for others: what fits has all of them.
func pieces(pattern string) []string {
	if strings.ContainsAny(pattern, `{[\\`) { // what stands within is one of several
		pattern, _, _ = strings.Cut(pattern, "{")
		pattern, _, _ = strings.Cut(pattern, "[")
		pattern, _, _ = strings.Cut(pattern, `\`)
		pattern += "*"
	}
	// "a/**" fits "a" too: a slash before or after ** need not be in the text.
	return strings.FieldsFunc(strings.ReplaceAll(strings.ReplaceAll(pattern, "/**", "*"), "**/", "*"), func(r rune) bool { return r == '*' || r == '?' })
}

// subject is a call as rules are compared with it: what many rules ask for is found out once, and what none asks for never. Most calls
// are compared with no rule.
type subject struct {
	Call
	now    time.Time                  // by which rules hold
	names  []string                   // see called
	args   map[string]json.RawMessage // see text
	params map[string]string          // by alias; "" is not known
	texts  map[string]argument
	at     []*targets // of the need that is judged
	parts  []part     // of the need that is judged
}

// comparison is what a parameter of a rule is compared with.
type comparison uint8

const (
	never     comparison = iota // it covers nothing
	always                      // it covers everything: a prohibition with a mistake in it forbids more, not less
	byTouched                   // the paths that the need is about, see rule.touches
	byPath                      // the path that the parameter holds
	byCommand                   // the simple commands of the line
	byText                      // the text of the parameter
)

// compared says what a parameter of a rule is compared with for a need, and the parameter's own name.
func (s *subject) compared(r *compiled, n tools.Need, param string) (name string, with comparison) {
	name, known := s.param(param)
	if !known && n.Written != "" && param == n.Arg { // a path within another parameter
		name, known = param, true
	}
	placed := n.Place != sandbox.Place{}
	switch {
	case !r.allows && (name == tools.PathArg || !known && param == tools.PathArg) && placed:
		return name, byTouched
	case !known && (r.allows || strings.Contains(r.Tool, "*")):
		return name, never
	case !known:
		return name, always
	case name == rule.CommandParam && n.Act == tools.Runs:
		return name, byCommand
	case name == n.Arg && placed:
		return name, byPath
	}
	return name, byText
}

// written is the text that a parameter is compared as, for byText.
func (s *subject) written(n tools.Need, name string) (text string, there bool) {
	if n.Written != "" && name == n.Arg {
		return n.Written, true
	}
	return s.text(name)
}

// argument is one of a call as a pattern sees it.
type argument struct {
	text  string
	there bool
}

// targets are the paths that a need is about, as one folder's rules compare them: what is known of it, what the model wrote, and words
// of a command that may be paths.
type targets struct {
	base                  string
	allows                bool // else in small letters
	known, written, words []target
	all                   target // of them joined, for a first look
}

// target is a path, and as it is seen from a folder; "" where it is not.
type target struct{ abs, rel string }

// of is the spelling that a pattern is compared with.
func (t *target) of(pattern *glob) string {
	if strings.HasPrefix(pattern.pattern, "/") {
		return t.abs
	}
	return t.rel
}

// called are the names of the tool, in small letters.
func (s *subject) called() []string {
	if s.names == nil {
		s.names = namesOf(s.Tool.Spec())
	}
	return s.names
}

// param is the name of a parameter by one of its names.
func (s *subject) param(alias string) (name string, known bool) {
	name, ok := s.params[alias]
	if !ok {
		if name, known = s.Tool.Schema().Param(alias); !known {
			name = ""
		}
		if s.params == nil {
			s.params = map[string]string{}
		}
		s.params[alias] = name
	}
	return name, name != ""
}

// text is an argument as a pattern sees it: a string as it is, any other value as JSON. ok is false where it is absent.
func (s *subject) text(param string) (text string, ok bool) {
	a, ok := s.texts[param]
	if !ok {
		if s.texts == nil {
			s.texts = map[string]argument{}
			_ = json.Unmarshal(s.Call.Args, &s.args) // nil where only the needs are known
		}
		var raw json.RawMessage
		if raw, a.there = s.args[param]; a.there && json.Unmarshal(raw, &a.text) != nil {
			a.text = strings.TrimSpace(string(raw))
		}
		s.texts[param] = a
	}
	return a.text, a.there
}

// targets are the paths of the need that is judged, for a rule.
func (s *subject) targets(r *compiled, n tools.Need) *targets {
	for _, t := range s.at {
		if t.allows == r.allows && t.base == r.base {
			return t
		}
	}
	t := &targets{base: r.base, allows: r.allows}
	add := func(list []target, abs string) []target {
		if !filepath.IsAbs(abs) {
			return list
		}
		rel, err := filepath.Rel(r.base, abs)
		if err != nil {
			rel = ""
		}
		at := target{r.folded(filepath.ToSlash(abs)), r.folded(filepath.ToSlash(rel))}
		t.all.abs, t.all.rel = t.all.abs+at.abs+"\x00", t.all.rel+at.rel+"\x00"
		return append(list, at)
	}
	t.known = add([]target{}, n.Place.Path())
	if written, there := s.writtenOf(n); there {
		if !filepath.IsAbs(written) {
			written = filepath.Join(r.cwd, written)
		}
		t.written = add(nil, filepath.Clean(written))
	}
	for _, w := range n.Shell.Writes {
		t.known = add(t.known, w.Path)
	}
	for _, list := range [][]string{n.Shell.Inside, n.Shell.Named} {
		for _, p := range list {
			t.words = add(t.words, p)
		}
	}
	s.at = append(s.at, t)
	return t
}

// writtenOf is the path of a need as the model wrote it.
func (s *subject) writtenOf(n tools.Need) (path string, there bool) {
	switch {
	case n.Written != "":
		return n.Written, true
	case n.Arg == "":
		return s.text(tools.PathArg)
	}
	return s.text(n.Arg)
}

// part is one simple command of a line.
type part struct {
	argv      []string
	spellings [][]string
	// shifts says that a command of the line changes what others in it do.
	shifts bool
	// words are all words of the spellings, each between two NUL; open says that one of them is known at run time only.
	words string
	open  bool
}

// spelled is a part with what it is found by.
func spelled(argv []string, shifts bool) part {
	p := part{argv: argv, spellings: shell.Spellings(argv), shifts: shifts}
	var b strings.Builder
	b.WriteByte(0)
	for _, words := range append([][]string{argv}, p.spellings...) {
		for _, w := range words {
			p.open = p.open || w == ""
			b.WriteString(w)
			b.WriteByte(0)
		}
	}
	p.words = b.String()
	return p
}

// whole is all of a line, or a call that has none.
var whole = []part{{}}

// partsOf are the simple commands of a command line, each once, else one part that is all of it.
func partsOf(n tools.Need) (parts []part) {
	if len(n.Shell.Calls) == 0 {
		return whole
	}
	shifts := len(n.Shell.Calls) > 1 && slices.ContainsFunc(n.Shell.Calls, changesShell)
	seen := map[string]bool{}
	for _, argv := range n.Shell.Calls {
		if key := strings.Join(argv, "\x00"); !seen[key] {
			seen[key] = true
			parts = append(parts, spelled(argv, shifts))
		}
	}
	return parts
}
