package gate

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"tandem/tools"
	"tandem/tools/shell"
)

// maxGlob is the length of a pattern in bytes up to which it is compared, as grep's glob has it. A longer one is broken.
const maxGlob = 1000

// glob is a pattern that is ready to be compared with thousands of texts. A broken one fits nothing where it allows, and all else.
type glob struct {
	pattern string
	// needle is a part of every text that fits, by which most others are told without the pattern.
	needle string
	broken bool
	all    bool // what a broken one fits
}

// globOf reads a pattern.
func globOf(pattern string, allows bool) glob {
	if !allows {
		pattern = strings.ToLower(pattern)
	}
	broken := len(pattern) > maxGlob || !doublestar.ValidatePattern(pattern)
	return glob{pattern: pattern, needle: needle(pattern), broken: broken, all: !allows}
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
	if strings.ContainsAny(pattern, `{[\\`) { // what stands within is one of several
		pattern, _, _ = strings.Cut(pattern, "{")
		pattern, _, _ = strings.Cut(pattern, "[")
		pattern, _, _ = strings.Cut(pattern, `\`)
		pattern += "*"
	}
	// "a/**" fits "a" too: a slash before or after ** need not be in the text.
	for piece := range strings.FieldsFuncSeq(strings.ReplaceAll(strings.ReplaceAll(pattern, "/**", "*"), "**/", "*"), func(r rune) bool { return r == '*' || r == '?' }) {
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	return longest
}

// subject is a call as rules are compared with it: what many rules ask for is found out once.
type subject struct {
	Call
	names  []string
	args   map[string]json.RawMessage
	params map[string]string // by alias; "" is not known
	texts  map[string]argument
	at     []*targets // of one need
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

func subjectOf(c Call) *subject {
	s := &subject{Call: c, names: namesOf(c.Tool.Spec()), params: map[string]string{}, texts: map[string]argument{}}
	_ = json.Unmarshal(c.Args, &s.args) // nil where only the needs are known
	return s
}

// param is the name of a parameter by one of its names.
func (s *subject) param(alias string) (name string, known bool) {
	name, ok := s.params[alias]
	if !ok {
		if name, known = s.Tool.Schema().Param(alias); !known {
			name = ""
		}
		s.params[alias] = name
	}
	return name, name != ""
}

// text is an argument as a pattern sees it: a string as it is, any other value as JSON. ok is false where it is absent.
func (s *subject) text(param string) (text string, ok bool) {
	a, ok := s.texts[param]
	if !ok {
		var raw json.RawMessage
		if raw, a.there = s.args[param]; a.there && json.Unmarshal(raw, &a.text) != nil {
			a.text = strings.TrimSpace(string(raw))
		}
		s.texts[param] = a
	}
	return a.text, a.there
}

// targets are the paths of the need that is judged, for a rule.
func (s *subject) targets(r *rule, n tools.Need) *targets {
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
}

// partsOf are the simple commands of a command line, each once, else one part that is all of it.
func partsOf(n tools.Need) (parts []part) {
	if len(n.Shell.Calls) == 0 {
		return []part{{}}
	}
	shifts := len(n.Shell.Calls) > 1 && slices.ContainsFunc(n.Shell.Calls, changesShell)
	seen := map[string]bool{}
	for _, argv := range n.Shell.Calls {
		if key := strings.Join(argv, "\x00"); !seen[key] {
			seen[key] = true
			parts = append(parts, part{argv, shell.Spellings(argv), shifts})
		}
	}
	return parts
}

// ruleSet are the rules of one effect in their order, found by the tool and the program that they are about.
type ruleSet struct {
	rules []*rule
	tools map[string]*toolRules // by name
	wild  []*toolRules          // about tools by a pattern
}

// toolRules are the rules about a tool in their order, and apart: those by the first word of their command, and all others.
type toolRules struct {
	first         *rule // which says what tools they are about
	rules, others []*rule
	program       map[string][]*rule
}

func (s *ruleSet) add(r *rule) {
	s.rules = append(s.rules, r)
	var of *toolRules
	if r.tool.literal() && r.Class == "" {
		of = s.tools[r.tool.pattern]
	} else if i := slices.IndexFunc(s.wild, func(t *toolRules) bool { return t.first.tool.pattern == r.tool.pattern && t.first.Class == r.Class }); i >= 0 {
		of = s.wild[i]
	}
	if of == nil {
		of = &toolRules{first: r}
		switch {
		case !r.tool.literal() || r.Class != "":
			s.wild = append(s.wild, of)
		case s.tools == nil:
			s.tools = map[string]*toolRules{r.tool.pattern: of}
		default:
			s.tools[r.tool.pattern] = of
		}
	}
	of.rules = append(of.rules, r)
	if len(r.words) == 0 || r.words[0].wild() {
		of.others = append(of.others, r)
		return
	}
	if of.program == nil {
		of.program = map[string][]*rule{}
	}
	first := r.words[0].pieces[0]
	of.program[first] = append(of.program[first], r)
}

// each calls f with the rules that may cover a part of a need until f returns false.
func (s *ruleSet) each(c *subject, n tools.Need, p part, f func(*rule) bool) {
	command, _ := c.param(commandParam)
	byProgram := command == commandParam && len(p.argv) > 0 &&
		!slices.ContainsFunc(p.spellings, func(argv []string) bool { return argv[0] == "" })
	all := func(list []*rule) bool {
		for _, r := range list {
			if !f(r) {
				return false
			}
		}
		return true
	}
	within := func(of *toolRules) bool {
		switch {
		case of == nil:
			return true
		case !byProgram:
			return all(of.rules)
		case !all(of.others):
			return false
		}
		var last string
		for _, argv := range p.spellings {
			if argv[0] != last && !all(of.program[argv[0]]) {
				return false
			}
			last = argv[0]
		}
		return true
	}
	for _, name := range c.names {
		if !within(s.tools[name]) {
			return
		}
	}
	spec := c.Tool.Spec()
	open := spec
	if len(n.Ports) > 0 {
		open.Class = tools.ClassNetwork
	}
	for _, of := range s.wild {
		if (of.first.about(spec) || of.first.Effect != Allow && of.first.about(open)) && !within(of) {
			return
		}
	}
}
