package shell

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// structured says in half a sentence why a line is more than literal commands joined by |, &&, ||
// and ;. "" is that it is not.
func structured(stmts []*syntax.Stmt) string {
	if len(stmts) == 0 {
		return "runs nothing"
	}
	for _, s := range stmts {
		if why := structuredStmt(s); why != "" {
			return why
		}
	}
	return ""
}

func structuredStmt(s *syntax.Stmt) string {
	if s.Background || s.Coprocess || s.Disown {
		return "leaves a command in the background"
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			return "redirects to or from more than /dev/null"
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 {
			return "sets variables"
		}
		for _, w := range c.Args {
			if !wordOf(w).exact {
				return "has words that the shell expands"
			}
		}
		return ""
	case *syntax.BinaryCmd:
		if why := structuredStmt(c.X); why != "" {
			return why
		}
		return structuredStmt(c.Y)
	}
	return "has more structure than a list of commands"
}

// harmless says that a redirect opens nothing but /dev/null, or a file for reading.
func harmless(r *syntax.Redirect) bool {
	number := ""
	if r.N != nil {
		number = r.N.Value
	}
	w := wordOf(r.Word)
	if !w.exact || !slices.Contains([]string{"", "0", "1", "2"}, number) {
		return false
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut:
		return w.text == "/dev/null" || w.text == "/dev/stderr" || w.text == "/dev/stdout"
	case syntax.RdrAll, syntax.AppAll:
		return w.text == "/dev/null"
	case syntax.DplOut:
		return w.text == "1" || w.text == "2"
	case syntax.RdrIn: // bash connects to hosts by names below these two
		return number == "" && w.text != "" && !strings.HasPrefix(w.text, "/dev/tcp/") && !strings.HasPrefix(w.text, "/dev/udp/")
	}
	return false
}

// readsFiles says that a command reads a file as its input. The structure is known.
func readsFiles(stmts []*syntax.Stmt) bool {
	return slices.ContainsFunc(stmts, func(s *syntax.Stmt) bool {
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && readsFiles([]*syntax.Stmt{b.X, b.Y}) {
			return true
		}
		return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrIn && wordOf(r.Word).text != "/dev/null" })
	})
}

// read notes paths that are read in one of the folders.
func (r *reader) read(in []string, reads ...Read) {
	for _, read := range reads {
		if upAfterName(read.Path) || len(in) > 0 && in[0] != "" && (read.Path == ".." || strings.HasPrefix(read.Path, "../")) {
			// The system follows links before it goes up, and paths are judged without that.
			r.refuse("goes up from a folder that it has named")
			continue
		}
		for _, dir := range in {
			full := read
			full.Path = joinPath(dir, read.Path)
			switch {
			case slices.Contains(r.reads, full):
			case len(r.reads) == maxReads:
				r.refuse("has too many operands")
			default:
				r.reads = append(r.reads, full)
			}
		}
	}
}

// maxReads is how many operands a line may have that are looked up.
const maxReads = 64

// upAfterName says that a path has a .. behind the name of a folder.
func upAfterName(p string) bool {
	named := false
	for name := range strings.SplitSeq(p, "/") {
		switch name {
		case "", ".":
		case "..":
			if named {
				return true
			}
		default:
			named = true
		}
	}
	return false
}

func joinPath(dir, p string) string {
	if dir == "" || strings.HasPrefix(p, "/") {
		return p
	}
	return dir + "/" + p
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// onlyReads says what a command reads, or why it is not known to only read. A word of argv that is
// known only when the line runs is unknown with its index in values behind it.
func onlyReads(argv []string, values ...value) (reads []Read, searches bool, why string) {
	name, args := argv[0], argv[1:]
	if name == "git" {
		var dir string
		for len(args) > 0 && strings.HasPrefix(args[0], "-") {
			switch {
			case args[0] == "--no-pager", args[0] == "--no-optional-locks":
				args = args[1:]
				continue
			case args[0] == "-C" && len(args) > 1 && dir == "" && !strings.HasPrefix(args[1], unknown) && !strings.HasPrefix(args[1], ".."):
				dir, args = args[1], args[2:]
				continue
			}
			break
		}
		defer func() {
			if dir == "" {
				return
			}
			for i := range reads {
				if strings.HasPrefix(reads[i].Path, "..") {
					why = "goes up from a folder that it has named"
				}
				reads[i].Path = joinPath(dir, reads[i].Path)
			}
			reads = append([]Read{{Path: dir}}, reads...)
		}()
	}
	argv = append([]string{name}, args...)
	p, words := rowOf(programs(), argv)
	if p == nil {
		if words = 1; len(args) > 0 && name == "git" {
			words = 2
		}
		return nil, false, "runs " + shown(strings.Join(argv[:words], " ")) + ", which is not known to only read"
	}
	if words == 1 && len(argv) == 2 && asksForHelp(argv[1]) {
		return nil, false, ""
	}
	name = strings.Join(argv[:words], " ")
	reads, bad := p.reads(argv[words:], values...)
	if bad != "" {
		return nil, false, "runs " + shown(name) + " with " + bad
	}
	return reads, p.flags["SEARCHES"], ""
}

// asksForHelp reports whether a word has a program print what it is and do nothing, where it is the
// only one.
func asksForHelp(a string) bool { return a == "--help" || a == "--version" }

// shown is a word for a sentence.
func shown(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// reads says which operands are read where the arguments are none but those that the row permits,
// or what is not permitted.
func (p *program) reads(args []string, values ...value) (reads []Read, bad string) {
	var operands, paths []string
	const later = "a word that is known only when it runs"
	// of is a word that is known only when the line runs.
	of := func(a string) (v value, ok bool) {
		index, ok := strings.CutPrefix(a, unknown)
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i >= len(values) {
			return value{}, false
		}
		return values[i], true
	}
	first, below, shows, instead := false, false, false, false
	given := func(o option) {
		first, below, shows, instead = first || o.first, below || o.below, shows || o.shows, instead || o.instead
	}
	take := func(o option, value string) bool {
		given(o)
		if o.kind == "" {
			return true
		}
		if v, ok := of(value); ok {
			if o.kind == "path" {
				reads = append(reads, v.names...)
			}
			return !v.many && (o.kind == "text" || o.kind == "path" && !v.free)
		}
		switch o.kind {
		case "path", "archive":
			reads = append(reads, Read{Path: value})
		case "rev":
			reads = append(reads, revPaths(value)...)
		}
		return kinds()[o.kind](value)
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		v, known := of(a)
		switch {
		case known:
			if v.dash && !p.flags["RAW"] && (!p.flags["ANY"] || v.free || slices.ContainsFunc(v.names, literalOption)) {
				return nil, later
			}
			operands = append(operands, a)
		case p.flags["RAW"], a == "-", a == "":
			operands = append(operands, a)
		case a == "--" && !p.flags["WHOLE"]:
			if paths = args[i+1:]; !p.flags["PATHS"] {
				operands, paths = append(operands, paths...), nil
			}
			i = len(args)
		case p.flags["WHOLE"] || strings.HasPrefix(a, "--"):
			name, value, joined := a, "", false
			if p.flags["DASHES"] && strings.HasPrefix(a, "--") {
				name = a[1:]
			}
			if !p.flags["WHOLE"] || p.flags["DASHES"] && strings.HasPrefix(a, "-") {
				name, value, joined = strings.Cut(name, "=")
			}
			o, ok := p.options[name]
			switch {
			case !ok && p.flags["WHOLE"] && !strings.HasPrefix(a, "-"):
				operands = append(operands, a)
				continue
			case !ok || joined && o.kind == "":
				return nil, shown(a)
			case o.kind != "" && !joined && !o.optional:
				if i++; i == len(args) {
					return nil, shown(a)
				}
				value = args[i]
			}
			if !(o.optional && !joined) && !take(o, value) {
				return nil, shown(a)
			}
			given(o)
		case strings.HasPrefix(a, "-"):
			if p.flags["NUMBERS"] && isNumber(a[1:]) {
				continue
			}
			for j := 1; j < len(a); j++ {
				name := "-" + a[j:j+1]
				o, ok := p.options[name]
				rest := a[j+1:]
				switch {
				case !ok || !o.many:
					return nil, shown(a)
				case o.kind == "" || o.optional && rest == "":
					given(o)
					continue
				case rest == "":
					if i++; i == len(args) {
						return nil, shown(a)
					}
					rest = args[i]
				}
				if !take(o, rest) {
					return nil, shown(a)
				}
				break
			}
		default:
			operands = append(operands, a)
		}
	}
	expected := p.operands
	if first && len(expected) > 0 {
		expected = expected[1:]
	}
	named, object := false, false
	files := 0 // operands that name a file of a revision
	for i, e := range expected {
		n := len(operands)
		switch e.count {
		case '1':
			if n == 0 {
				return nil, "too few operands"
			}
			n = 1
		case '?':
			n = min(n, 1)
		}
		for _, o := range operands[:n] {
			if v, ok := of(o); ok {
				switch {
				case e.count != '*' && v.many && !(i+1 < len(expected) && expected[i+1] == operand{e.kind, '*'}):
					return nil, later
				case e.kind == "text":
				case v.free || e.kind != "path" && e.kind != "below":
					return nil, later
				default:
					for _, r := range v.names {
						if r.Extent == Itself {
							r.Extent = p.extent(below, e.kind == "below")
						}
						reads = append(reads, r)
					}
					named = true
				}
				continue
			}
			if !kinds()[e.kind](o) {
				return nil, shown(o)
			}
			switch e.kind {
			case "path", "below", "archive":
				if o != "-" {
					reads = append(reads, Read{Path: o, Extent: p.extent(below, e.kind == "below")})
				}
				named = true
			case "rev", "object":
				reads = append(reads, revPaths(o)...)
				if _, file, ok := strings.Cut(o, ":"); e.kind == "object" && ok && file != "" {
					files++
				} else {
					object = object || e.kind == "object" && !isHead.match(o)
				}
			}
		}
		operands = operands[n:]
	}
	if len(operands) > 0 {
		return nil, "more operands than it should have"
	}
	if !named && (below || p.flags["HERE"]) {
		reads = append(reads, Read{Path: ".", Extent: p.extent(below, true)})
	}
	// An object is shown whatever the paths say.
	whole, content := object, object || shows || p.flags["TRACKED"] && !instead
	if files > 0 && files == len(args) {
		content = false // nothing else is shown
	}
	within := 0
	for _, o := range paths {
		switch {
		case strings.HasPrefix(o, unknown):
			return nil, later
		case !kinds()["rev"](o):
			return nil, shown(o)
		case excludes(o):
			continue
		case content && !strings.ContainsAny(o, `*?[\`):
			reads = append(reads, Read{Path: o, Extent: TrackedBelow})
			within++
			continue
		}
		reads, whole = append(reads, Read{Path: o}), true
	}
	if content && (whole || within == 0) {
		reads = append(reads, Read{Path: ".", Extent: Tracked})
	}
	return reads, ""
}

// literalOption reports whether a file of a value is one that a program takes for an option.
func literalOption(r Read) bool { return r.Extent == Itself && !r.Glob && startsOption(r.Path) }

// extent is how much is read of a path: below says that an option wants what is below it, all that
// the operand is of that kind.
func (p *program) extent(below, all bool) Extent {
	switch {
	case !below && !all:
		return Itself
	case p.flags["HERE"] && !below:
		return Visible
	}
	return Below
}

// revPaths are the paths that a git command may mean by an operand: a path, or one behind a
// revision and a colon.
func revPaths(o string) (reads []Read) {
	if o == "" || excludes(o) {
		return nil
	}
	reads = append(reads, Read{Path: o})
	if _, file, ok := strings.Cut(o, ":"); ok && file != "" {
		reads = append(reads, Read{Path: file})
	}
	return reads
}

// isHead says that an operand of git is a commit for certain: the present one, or one before it.
var isHead = expression{whole: true, text: `(?:HEAD|@)(?:[~^][0-9]*)*`}

// revision is a revision or a path.
func revision(s string) bool {
	return excludes(s) || !strings.HasPrefix(s, ":") && !strings.HasPrefix(s, "-")
}

// excludes says that an operand of git leaves out files.
func excludes(o string) bool { return strings.HasPrefix(o, ":!") || strings.HasPrefix(o, ":^") }

func isNumber(s string) bool { return kinds()["num"](s) }

// pattern matches whole texts.
func pattern(text string) func(string) bool { return (&expression{whole: true, text: text}).match }

// kinds say which values and operands are permitted. Of path, below and rev is reported what they
// read.
var kinds = sync.OnceValue(func() map[string]func(string) bool {
	return map[string]func(string) bool{
		"object": revision,
		"text":   func(string) bool { return true },
		// A duration.
		"secs":  pattern(`[0-9]+(?:\.[0-9]+)?[smhd]?`),
		"awk":   awkReads,
		"num":   pattern(`[+-]?[0-9]+[bkKMGT]?`),
		"path":  func(s string) bool { return s != "" },
		"below": func(s string) bool { return s != "" },
		// A file for programs that take host:file for one of another host, or find files by patterns of
		// their own.
		"archive": pattern(`-|[^-:*?\[\\][^:*?\[\\]*`),
		// A path with magic, such as :(attr), is none of these, but for one that leaves files out.
		"rev": revision,
		// The content of a submodule is not in the index of the repository.
		"submodule": pattern(`short|log`),
		// Addresses and p, = or q; or a substitution without the flags e and w.
		"sed": pattern(sedScript + `(?:;` + sedScript + `)*;?`),
		// Bash has %n, which sets a variable, and an option that does.
		"fmt": func(s string) bool { return !strings.HasPrefix(s, "-") && !assigning(s) },
		// What git prints with %G is what gpg says, which the configuration names.
		"gitfmt": func(s string) bool { return !strings.Contains(s, "%G") },
		"date":   func(s string) bool { return strings.HasPrefix(s, "+") },
		// Modules and files of jq are read by words.
		"jq":    func(s string) bool { return !jqReads.match(s) },
		"gomod": pattern(`readonly|vendor`),
		// Names of targets, files, packages and branches, which no program reads as more than that.
		"word":   pattern(`[A-Za-z0-9_./:%+][A-Za-z0-9_./:@%+~^-]*`),
		"remote": pattern(`origin|upstream`),
		// What stands behind -O, -W, -s, -f and -m of a compiler, but for what names a program, such as
		// -Wl,-plugin.
		"cflag":    pattern(`[a-z0-9+=-]*`),
		"cstd":     pattern(`td=[a-z0-9+:]+`),
		"cfeature": pattern(`PIC|PIE|pic|pie|no-[a-z0-9-]+|sanitize=[a-z,]+|openmp`),
		"cmachine": pattern(`32|64|(?:arch|tune)=[a-z0-9.+-]+`),
		"gitkey":   pattern(`(user|core|init|branch|remote|pull|push|merge|diff|color|alias|commit|fetch|rebase|status|log)\..*`),
	}
})

const (
	sedAddress = `(?:[0-9]+|\$|/[^/\\\n]*/)`
	sedScript  = ` *(?:` + sedAddress + `(?:,(?:` + sedAddress + `|[+~][0-9]+))?)? *!? *(?:[p=qd]|` +
		`s(?:` + sedSlash + `|` + sedBar + `|` + sedComma + `|` + sedHash + `)[gpiI0-9]*) *`
	sedSlash = `/(?:[^/\\\n]|\\[^/\n])*/(?:[^/\\\n]|\\[^/\n])*/`
	sedBar   = `\|(?:[^|\\\n]|\\[^|\n])*\|(?:[^|\\\n]|\\[^|\n])*\|`
	sedComma = `,(?:[^,\\\n]|\\[^,\n])*,(?:[^,\\\n]|\\[^,\n])*,`
	sedHash  = `#(?:[^#\\\n]|\\[^#\n])*#(?:[^#\\\n]|\\[^#\n])*#`
)

// jqReads finds the words by which a program of jq reads more than its operands: modules, and the
// environment.
var jqReads = expression{text: `\b(import|include|modulemeta|env|ENV)\b`}

var assigningFormat = expression{text: `%[^%a-zA-Z]*[hlLqjzt]*n`}

// assigning says that a format of printf sets a variable.
func assigning(format string) bool {
	return assigningFormat.match(format)
}

// assigns says that a call of printf may set a variable.
func assigns(words []word) bool {
	return len(words) > 1 && (strings.HasPrefix(words[1].text, "-") || assigning(words[1].text))
}
