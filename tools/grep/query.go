package grep

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
)

// searcher is a way to search. It hands what it finds to a sink, file by file in the order of compare, until the sink
// has enough. errUnavailable means that another searcher must do it.
type searcher interface {
	files(ctx context.Context, env *tools.Env, q *query, to sink) error
	text(ctx context.Context, env *tools.Env, q *query, text string, to sink) error
}

// sink takes what is found. Every method answers whether more is wanted.
type sink interface {
	// start begins a file; a searcher that only counts calls total instead of line.
	start(path string) bool
	line(l line) bool
	total(n int) bool
}

var errUnavailable = errors.New("this way of searching is not available")

// line is a line of a file, numbered from 1, without its end. at is where the match begins in it.
type line struct {
	n, at int
	text  string
	// match says that the line matches, more that it only goes on with the match of the line before.
	match, more bool
	// cut says that the text is not the whole line.
	cut bool
}

// span is where a match lies in a text, in bytes.
type span struct{ Start, End int }

// mark cuts text into lines, numbered from 1, and says what the matches, in their order, make of each.
func mark(text string, matches []span) []line {
	var lines []line
	covered, at := 0, 0
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		out := line{n: len(lines) + 1, text: strings.TrimSuffix(l, "\r")}
		out.more = covered > at
		out.match = out.more
		end := at + len(l) + 1
		for len(matches) > 0 && matches[0].Start < end {
			if !out.match {
				out.match, out.at = true, matches[0].Start-at
			}
			covered = max(covered, matches[0].End)
			matches = matches[1:]
		}
		lines, at = append(lines, out), end
	}
	return lines
}

// buffer is an unsaved text with what was found in it.
type buffer struct {
	path  string
	snap  filetime.Snapshot
	found recorder
}

// query is what to look for and where.
type query struct {
	input
	before, after int
	// re has the match in its first group. It is nil for what only ripgrep may understand; why then says what is wrong.
	re  *regexp.Regexp
	why string
	// steps is how many steps re takes, at the most, for each byte that it looks at.
	steps int
	// perl says that the pattern looks around or refers back.
	perl bool
	// literally says why the pattern was taken literally.
	literally string
	fits      func(path string) bool
	negated   bool
	kind      string

	dir, file string
	folder    sandbox.Place // dir
	tree      *tree.Tree
	withheld  int // entries of the directory that hold keys
	buffers   []buffer
}

// enough is after how many results a search ends: the one after the last that is shown says that there are more.
func (q *query) enough() int { return q.Offset + q.HeadLimit + 1 }

func parse(in input) (*query, error) {
	q := &query{input: in, before: max(in.Before, in.Context), after: max(in.After, in.Context), kind: in.Type}
	if in.OutputMode == "" {
		q.OutputMode = content
	}
	if in.HeadLimit == 0 {
		q.HeadLimit = 100
	}
	if strings.ContainsRune(in.Pattern, 0) {
		return nil, invalid("$.pattern", "string", "pattern cannot contain a NUL character")
	}
	if len(in.Pattern) > maxPattern {
		return nil, invalid("$.pattern", "string", fmt.Sprintf("pattern is %d bytes long, the limit is %d: look for a part of it",
			len(in.Pattern), maxPattern))
	}
	glob, negated := strings.CutPrefix(in.Glob, "!")
	if glob != "" {
		fits, err := tree.Matcher(glob)
		if err != nil {
			return nil, invalid("$.glob", "glob", "glob: "+err.Error())
		}
		q.fits, q.negated = fits, negated
	}
	q.compile()
	if q.steps > maxSteps {
		return nil, invalid("$.pattern", "pattern", fmt.Sprintf("pattern repeats so much that it stands for more than %d "+
			"characters or classes: make the numbers in its braces smaller", maxSteps))
	}
	return q, nil
}

// The limits of a pattern: its length in bytes, and the steps that it may take for each byte of a text.
const (
	maxPattern = 4 << 10
	maxSteps   = 20_000
)

// stepsOf counts what a pattern stands for once its repetitions are written out.
func stepsOf(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += stepsOf(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n *= max(1, re.Min, re.Max)
	}
	return min(n, 2*maxSteps) // more makes no difference, and cannot overflow
}

// compile finds out what kind of pattern it is. One that fails only for a brace or a bracket was not meant as a regular
// expression.
func (q *query) compile() {
	source := regexp.QuoteMeta(q.Pattern)
	if !q.Fixed {
		t := translation{in: q.Pattern}
		err := t.run()
		if err == nil {
			_, err = syntax.Parse(t.out.String(), syntax.Perl)
		}
		var se *syntax.Error
		switch {
		case errors.Is(err, errBrace):
			q.literally = "a brace that repeats nothing"
		case errors.As(err, &se) && (se.Code == syntax.ErrMissingBracket || se.Code == syntax.ErrMissingParen ||
			se.Code == syntax.ErrUnexpectedParen):
			q.literally = string(se.Code)
		case errors.As(err, &se) && (se.Code == syntax.ErrInvalidPerlOp || se.Code == syntax.ErrInvalidNamedCapture ||
			se.Code == syntax.ErrInvalidEscape && strings.Trim(se.Expr, `\123456789`) == ""):
			q.perl, q.why = true, err.Error()
			return
		case err != nil:
			q.why = err.Error()
			return
		}
		q.Multiline = q.Multiline || t.newline
		if source = t.out.String(); q.literally != "" {
			source, q.Fixed = regexp.QuoteMeta(q.Pattern), true
		}
	}
	if q.Word {
		source = `(?:^|[^` + word + `])(` + source + `)(?:[^` + word + `]|$)`
	} else {
		source = "(" + source + ")"
	}
	flags := "m"
	if q.IgnoreCase {
		flags += "i"
	}
	if q.Multiline {
		flags += "s"
	}
	source = "(?" + flags + ":" + source + ")"
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err == nil {
		if q.steps = stepsOf(parsed); q.steps > maxSteps {
			return
		}
	}
	re, err := regexp.Compile(source)
	if err != nil {
		q.why = err.Error()
		return
	}
	q.re = re
}

// The classes of ripgrep, which knows all of Unicode, inside brackets.
const (
	word  = `\p{L}\p{M}\p{Nd}\p{Pc}`
	space = `\s\x{0B}\x{85}\p{Z}`
	digit = `\p{Nd}`
)

var (
	errBrace = errors.New("a brace repeats nothing")
	errClass = errors.New("&& in brackets is not understood here: write the class out")
)

// translation writes a pattern of ripgrep's so that Go's regexp understands the same by it, and refuses the braces that
// only Go takes literally.
type translation struct {
	in      string
	out     strings.Builder
	newline bool
}

func (t *translation) run() error {
	class, atom := false, false
	for i := 0; i < len(t.in); {
		rest := t.in[i:]
		n := 1
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			n = t.escape(rest, class)
			i, atom = i+n, true
			continue
		case class:
			if strings.HasPrefix(rest, "&&") {
				return errClass
			}
			if strings.HasPrefix(rest, "[:") {
				if end := strings.Index(rest, ":]"); end > 0 {
					n = end + 2
				}
			} else if rest[0] == ']' {
				class, atom = false, true
			}
		case rest[0] == '[':
			class = true
			for _, first := range []string{"[^]", "[]", "[^"} {
				if strings.HasPrefix(rest, first) {
					n = len(first)
					break
				}
			}
		case rest[0] == '{':
			end := repetition(rest)
			if end == 0 || !atom {
				return errBrace
			}
			n, atom = end, true
		default:
			atom = !strings.ContainsRune("(|", rune(rest[0]))
		}
		t.out.WriteString(rest[:n])
		i += n
	}
	return nil
}

// escape translates the escape that rest begins with, and gives its length.
func (t *translation) escape(rest string, class bool) int {
	wrap := func(s string, not string) {
		if class {
			t.out.WriteString(s)
		} else {
			t.out.WriteString("[" + not + s + "]")
		}
	}
	c := rest[1]
	switch c {
	case 'd':
		wrap(digit, "")
	case 'w':
		wrap(word, "")
	case 's':
		wrap(space, "")
	case 'D', 'W', 'S':
		if class {
			t.out.WriteString(rest[:2]) // the complement of a union cannot be written inside brackets
		} else {
			wrap(map[byte]string{'D': digit, 'W': word, 'S': space}[c], "^")
		}
	case 'p', 'P', 'x':
		if end := strings.IndexByte(rest, '}'); len(rest) > 2 && rest[2] == '{' && end > 0 {
			t.out.WriteString(rest[:end+1])
			return end + 1
		}
		t.out.WriteString(rest[:2])
	default:
		t.newline = t.newline || c == 'n' && !class
		t.out.WriteString(rest[:2])
	}
	return 2
}

// repetition is the length of a {2}, {2,} or {2,3} that s begins with, 0 where it begins with no such.
func repetition(s string) int {
	i := 1
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if !digits() {
		return 0
	}
	if i < len(s) && s[i] == ',' {
		i++
		digits()
	}
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	return 0
}

// compare is the order of paths: name by name on the way down, so that what is in a directory stays together.
func compare(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// hasType tells whether a file is of a type as ripgrep names them; a type that is not listed is taken for an ending.
func hasType(kind, file string) bool {
	name := path.Base(file)
	for _, glob := range strings.Fields(types()[kind]) {
		if ok, _ := path.Match(glob, name); ok {
			return true
		}
	}
	return types()[kind] == "" && strings.HasSuffix(name, "."+kind)
}

func types() map[string]string {
	return map[string]string{
		"c": "*.[chH] *.cats *.[ch].in", "cpp": "*.C *.H *.cc *.cpp *.cxx *.hh *.hpp *.hxx *.inl *.[ChH].in *.cc.in *.hh.in",
		"cs": "*.cs", "css": "*.css *.scss", "dart": "*.dart", "docker": "*Dockerfile*", "elixir": "*.ex *.eex *.exs",
		"erlang": "*.erl *.hrl", "go": "*.go", "haskell": "*.hs *.lhs *.cpphs *.c2hs *.hsc", "html": "*.htm *.html *.ejs",
		"java": "*.java *.jsp *.jspx *.properties", "js": "*.js *.jsx *.vue *.mjs *.cjs", "json": "*.json composer.lock",
		"kotlin": "*.kt *.kts", "lua": "*.lua", "make": "[Gg][Nn][Uu]makefile *.mak *.mk Makefile* makefile* CMakeLists.txt",
		"markdown": "*.markdown *.md *.mdown *.mkdn *.mdx", "md": "*.markdown *.md *.mdown *.mkdn *.mdx",
		"php":   "*.php *.php3 *.php4 *.php5 *.phtml",
		"proto": "*.proto", "py": "*.py *.pyi", "python": "*.py *.pyi",
		"ruby": "*.rb *.rbw *.gemspec Gemfile Rakefile config.ru .irbrc",
		"rust": "*.rs", "scala": "*.scala *.sbt", "sh": "*.sh *.bash *.zsh *.ksh *.csh *.tcsh .bashrc .profile .zshrc",
		"sql": "*.sql *.psql", "swift": "*.swift", "toml": "*.toml Cargo.lock", "ts": "*.ts *.tsx *.cts *.mts",
		"txt": "*.txt", "xml": "*.xml *.xsd *.xsl *.xslt *.dtd *.rng *.sch *.xjb *.xml.dist",
		"yaml": "*.yml *.yaml", "zig": "*.zig",
	}
}

func (q *query) unsupported() error {
	if q.perl {
		return invalid("$.pattern", "pattern", fmt.Sprintf("pattern %q looks around or refers back, "+
			"which is not supported here. Search for the plain part and judge the lines yourself.", q.Pattern))
	}
	return invalid("$.pattern", "pattern", fmt.Sprintf("pattern %q is no regular expression: %s. "+
		"Mend it, or set fixed to take it literally.", q.Pattern, strings.TrimPrefix(q.why, "error parsing regexp: ")))
}
