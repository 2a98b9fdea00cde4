package shell

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxNested is how many lines within lines are looked into. What is nested deeper is forbidden.
const maxNested = 8

// maxDirs is how many folders are kept in mind that commands may run in. Where there are more,
// nothing may be deleted with all that is below it.
const maxDirs = 16

// Limits of what is parsed, so that a text cannot make the parser recurse without end: brackets
// that stand open at once, signs and exclamation marks in a row, and keywords in all. No line that
// does something comes near them.
const (
	maxOpen     = 256
	maxSigns    = 1024
	maxKeywords = 3000
)

var errUnparsable = errors.New("longer or deeper than a command can be")

// search finds the commands of a line, wherever they stand, and what is forbidden or dangerous of
// them.
type search struct {
	ctx  context.Context
	dirs []string // folders that commands may run in, as far as cd says; "" where it is not known
	keep []string

	lost      bool // there are more folders than dirs
	depth     int
	found     [][]string
	written   []Write  // the files that the commands write, as far as they are known
	named     []string // see Command.Named
	inside    []string // see Command.Inside
	runs      bool     // some command runs others, or changes what later ones mean
	forbidden string
	danger    Danger
	risk      string   // see Command.Risk
	removed   []string // see Command.Removes
	inputs    map[*syntax.Stmt]input
	judged    map[judged]bool
	functions map[string]*syntax.Stmt // their bodies
	called    int
	prints    map[*syntax.Stmt][]word // see printed
	seen      map[string]bool         // of named
}

// newSearch looks into lines that begin in a folder.
func newSearch(ctx context.Context, dir string, keep []string) *search {
	return &search{
		ctx: ctx, dirs: []string{dir}, keep: keep, danger: Moderate, inputs: map[*syntax.Stmt]input{}, judged: map[judged]bool{},
		functions: map[string]*syntax.Stmt{}, prints: map[*syntax.Stmt][]word{}, seen: map[string]bool{},
	}
}

// endanger says that a part of the line is dangerous.
func (s *search) endanger(part string) {
	s.danger = Dangerous
	s.risky(part)
}

// risky keeps the first part that may be dangerous, for a person.
func (s *search) risky(part string) {
	if s.risk == "" {
		s.risk = shown(part)
	}
}

func (s *search) forbid(why string) {
	if s.forbidden == "" {
		s.forbidden = why
	}
	s.danger = Dangerous
}

// line looks into a line for a shell. What could be parsed is looked into also where the rest
// cannot: bash runs a line up to where it does not understand it.
func (s *search) line(text string) (stmts []*syntax.Stmt, err error) {
	if !parsable(text) {
		err = errUnparsable
	} else {
		for stmt, e := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(text)) {
			if err != nil || s.ctx.Err() != nil { // the library goes on after a loop that ended at an error
				continue
			}
			if err = e; err != nil {
				continue
			}
			stmts = append(stmts, stmt)
			s.tree(stmt)
		}
	}
	if err != nil {
		s.rough(text)
		s.endanger("a part that cannot be parsed")
	}
	return stmts, err
}

// keywords begin something that has an end.
var keywords = wordSet{list: "if while until for case select time function coproc"}

// parsable says that a text is within the limits of what is parsed.
func parsable(text string) bool {
	open, signs, words, begun := 0, 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; c {
		case '(', '{', '[':
			open++
		case ')', '}', ']':
			open = max(0, open-1)
		case '!', '~', '-', '+':
			signs++
			if begun = i + 1; signs > maxSigns {
				return false
			}
			continue
		case ' ', '\t', '\n':
			if keywords.has(text[begun:i]) {
				words++
			}
			begun = i + 1
			continue
		case ';', '|', '&', '`', '"':
			begun = i + 1
		}
		if signs = 0; open > maxOpen || words > maxKeywords {
			return false
		}
	}
	return len(text) <= MaxLine
}

// nested looks into a line that is an argument of a command.
func (s *search) nested(w word) {
	s.runs = true
	if strings.Contains(w.text, unknown) {
		s.endanger("a line for a shell that is known only when it runs")
	}
	if s.depth++; s.depth > maxNested {
		s.forbid("it has lines for shells within each other, deeper than anybody can look")
	} else {
		s.line(strings.ReplaceAll(w.text, unknown, "$_"))
	}
	s.depth--
}

// rough looks into a text that cannot be parsed: at what stands where a command could begin.
func (s *search) rough(text string) {
	cut := func(r rune) bool { return strings.ContainsRune("\n;|&(){}`", r) }
	for part := range strings.FieldsFuncSeq(text, cut) {
		var words []word
		for _, f := range strings.Fields(part) {
			words = append(words, word{strings.NewReplacer(`\`, "", `"`, "", `'`, "").Replace(f), false})
		}
		if len(words) > 0 {
			s.command(words, texts(words), false)
		}
	}
}

// tree looks into a part of the syntax tree.
func (s *search) tree(node syntax.Node) {
	// What stands open around a node: functions by name, and pipes and commands in the background.
	var stack []func()
	functions, apart := map[string]int{}, 0
	syntax.Walk(node, func(n syntax.Node) bool {
		leave := func() {}
		if n != nil && s.ctx.Err() != nil {
			return false
		}
		switch n := n.(type) {
		case nil:
			stack[len(stack)-1]()
			stack = stack[:len(stack)-1]
			return true
		case *syntax.Word:
			s.names(wordOf(n).text)
		case *syntax.CallExpr:
			if words := wordsOf(n.Args); len(words) > 0 {
				if apart > 0 && functions[words[0].text] > 0 {
					s.forbid("it starts processes without end")
				}
				s.command(words, texts(words), false)
			}
		case *syntax.DeclClause:
			s.runs = true
			s.found = append(s.found, []string{n.Variant.Value})
		case *syntax.FuncDecl:
			s.runs = true
			if n.Name != nil {
				functions[n.Name.Value]++
				s.functions[n.Name.Value] = n.Body
				leave = func() { functions[n.Name.Value]-- }
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				apart++
				leave = func() { apart-- }
			}
		case *syntax.Stmt:
			if _, fed := s.inputs[n]; !fed { // within a word, or at the top
				s.feed(n, input{})
			}
			s.reads(n)
			for _, r := range n.Redirs {
				s.redirect(r)
			}
			if n.Background {
				apart++
				leave = func() { apart-- }
			}
		}
		stack = append(stack, leave)
		return true
	})
}

// maxNamed is how many paths are noted that a line names.
const maxNamed = 1024

// names notes the paths in a word: it may be one, or have one in it, as --file=/etc/x or
// open('/etc/x').
func (s *search) names(text string) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\x00\"'`()[]{}<>=:;,@|&$ \t\r\n", r) }) {
		if i := strings.IndexAny(part, "/~"); strings.HasPrefix(part, "-") && i > 0 {
			part = part[i:] // an option of one letter with its value
		}
		if strings.HasPrefix(part, "-") {
			continue
		}
		for _, dir := range s.dirs {
			p := under(dir, part)
			switch inside := strings.HasPrefix(p, s.dirs[0]+"/"); {
			case p == "" || p == s.dirs[0] || s.seen[p] || len(s.named)+len(s.inside) == 2*maxNamed:
			case inside && len(s.inside) < maxNamed:
				s.inside = append(s.inside, p)
			case !inside && len(s.named) < maxNamed:
				s.named = append(s.named, p)
			}
			s.seen[p] = true
		}
	}
}

// redirect looks at where a redirect writes to.
func (s *search) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.RdrIn, syntax.DplIn, syntax.DplOut:
	default:
		if r.Word != nil && device(wordOf(r.Word).text) {
			s.forbid("it writes to a device that holds a file system")
		}
		if r.Word != nil {
			s.write(wordOf(r.Word))
		}
	}
}

// command looks at one command, then at what it runs. names are the words as they are reported. Of several is said what the
// command does to an unknown number of operands.
func (s *search) command(words []word, names []string, many bool) {
	loose, filledBefore := false, false
	for s.ctx.Err() == nil {
		if len(names) > 0 {
			s.found = append(s.found, names)
		}
		if len(words) == 0 {
			return
		}
		name := base(words[0])
		if name[0] == '%' || reserved.has(name) { // % is a job; mvdan/sh takes some reserved words for commands
			s.runs = true
		}
		if strings.ContainsAny(name, unknown+"*?{") {
			s.endanger(source(words)) // nobody can say what it does
			return
		}
		s.judge(name, words, many)
		row := runners()[name]
		if row == nil {
			s.writes(name, words[1:])
		}
		if changes.has(name) || name == "printf" && assigns(words) {
			s.runs = true
		}
		if shells.has(name) {
			s.shell(words)
			return
		}
		switch name {
		case "cd", "pushd":
			s.enter(words)
			return
		case "find":
			s.executed(words, names, "-exec", "-execdir", "-ok", "-okdir")
			return
		case "fd", "fdfind":
			s.executed(words, names, "-x", "--exec", "-X", "--exec-batch")
			return
		}
		if row == nil {
			return
		}
		at, unsure, ok := s.inner(row, words)
		if unsure && !loose {
			s.loose(words[1:])
			loose = true
		}
		s.writes(name, words[1:max(1, at)]) // the words behind are those of its command
		if !ok {
			return
		}
		s.runs = true
		options := words[:at]
		words, names = words[at:], names[min(at, len(names)):]
		if row.flags["MANY"] {
			if name == "xargs" && len(words) == 0 { // it prints
				return
			}
			if held := holders(options); !filledBefore || len(held) > 1 {
				words, names = filled(words, names, held)
			}
			if many, filledBefore = true, true; len(names) == len(words) {
				names = append(names, "")
			}
		}
	}
}

// holders are the texts that a runner replaces in the words of its command. "" is one that is not known.
func holders(options []word) []string {
	list := []string{"{}"}
	if base(options[0]) != "xargs" {
		return append(list, "{", "/_")
	}
	for i, w := range options[1:] {
		letters, _, long := strings.Cut(w.text, "--")
		value, ok := strings.CutPrefix(w.text, "-I")
		switch {
		case !ok && (strings.HasPrefix(w.text, "--r") || !long && strings.HasPrefix(letters, "-") && strings.ContainsAny(letters, "Ii")):
			value = ""
		case !ok:
			continue
		case value == "" && i+2 < len(options):
			value = options[i+2].text
		}
		list = append(list, value)
	}
	return list
}

// filled are the words of a command, and their names, where those that have a holder in them are not known.
func filled(words []word, names, holders []string) ([]word, []string) {
	whole := true
	for i, w := range words {
		if slices.ContainsFunc(holders, func(h string) bool { return strings.Contains(w.text, h) }) {
			if whole {
				words, names, whole = slices.Clone(words), slices.Clone(names), false
			}
			words[i], names[i] = word{unknown, false}, ""
		}
	}
	return words, names
}

// inner finds the command that a runner runs among its operands. It is unsure where an option is not known, for the word behind it
// could be its value; ok is false where no command is run.
func (s *search) inner(row *program, words []word) (at int, unsure, ok bool) {
	at = 1
	skip := row.flags["SKIP"]
	for ; at < len(words); at++ {
		w := words[at].text
		if w == "--" {
			at++
			break
		}
		if len(w) < 2 || w[0] != '-' {
			break
		}
		name, value, joinedValue := strings.Cut(w, "=")
		o, known := row.options[name]
		if !known && !strings.HasPrefix(w, "--") {
			for i := 1; i < len(w); i++ {
				if o, known = row.options["-"+w[i:i+1]]; !known || o.kind != "" {
					value, joinedValue = w[i+1:], i+1 < len(w)
					break
				}
			}
		}
		switch {
		case known && o.kind == "none": // such as command -v, which runs nothing
			return 0, unsure, false
		case !known: // it may have a value, which would be taken for the command
			unsure = unsure || !(row.flags["NUMBERS"] && isNumber(w[1:]))
		case o.kind == "" || o.optional:
		case !joinedValue:
			if at++; at < len(words) && o.kind == "line" {
				s.nested(words[at])
			}
		case o.kind == "line":
			s.nested(word{value, words[at].exact})
		}
	}
	for ; row.flags["ASSIGN"] && at < len(words) && strings.Contains(words[at].text, "="); at++ {
	}
	if skip {
		at++
	}
	at = min(at, len(words))
	if row.flags["LINE"] {
		s.nested(joined(words[at:]))
		return 0, unsure, false
	}
	return at, unsure, true
}

// loose looks for what is forbidden at each word, where it cannot be told which one is the command.
func (s *search) loose(words []word) {
	removed := false
	for i, w := range words {
		switch name := base(w); {
		case users.has(name):
			s.forbid("it takes the rights of another user (" + name + ")")
		case name == "rm" && !removed: // the words behind a further one are among its operands
			s.judge(name, words[i:], true)
			removed = true
		}
	}
}

// shell looks into the line that a shell is given.
func (s *search) shell(words []word) {
	s.runs = true
	for i := 1; i < len(words); i++ {
		w := words[i].text
		if strings.HasPrefix(w, "--") {
			continue
		}
		if (strings.HasPrefix(w, "-") || strings.HasPrefix(w, "+")) && len(w) > 1 {
			if strings.Contains(w, "c") {
				for i++; i < len(words) && (strings.HasPrefix(words[i].text, "-") || strings.HasPrefix(words[i].text, "+")); i++ {
				}
				if i < len(words) {
					s.nested(words[i])
				}
				return
			}
			if strings.HasSuffix(w, "o") || strings.HasSuffix(w, "O") {
				i++
			}
			continue
		}
		if strings.Contains(w, unknown) {
			s.endanger(source(words))
		}
		return // a script
	}
}

// executed looks at what find and its kin run for each file.
func (s *search) executed(words []word, names []string, options ...string) {
	for i := 1; i < len(words); i++ {
		if !slices.Contains(options, words[i].text) {
			continue
		}
		s.runs = true
		end := i + 1
		for end < len(words) && words[end].text != ";" && !(words[end].text == "+" && words[end-1].text == "{}") {
			end++
		}
		if i+1 < end { // each file's name is a word of it
			run, called := filled(words[i+1:end], names[i+1:end], []string{"{"})
			s.command(run, append(called, ""), true)
		}
		i = end
	}
}

// enter notes the folder that cd goes to.
func (s *search) enter(words []word) {
	to := "~"
	for _, w := range words[1:] {
		if to = w.text; !strings.HasPrefix(to, "-") {
			break
		}
	}
	if strings.Contains(to, unknown) {
		to = ""
	}
	for _, dir := range slices.Clone(s.dirs) {
		if dir = under(dir, to); slices.Contains(s.dirs, dir) {
			continue
		}
		if s.dirs = append(s.dirs, dir); len(s.dirs) > maxDirs {
			s.dirs, s.lost = s.dirs[:maxDirs], true
		}
	}
}

// under is a path from a folder, both lexically; "" where either is not known.
func under(dir, p string) string {
	switch {
	case p == "":
		return ""
	case path.IsAbs(p), p == "~", strings.HasPrefix(p, "~/"):
		return path.Clean(p)
	case dir == "":
		return ""
	}
	return path.Join(dir, p)
}

// base is the name of the program that a word stands for.
func base(w word) string { return path.Base(w.text) }

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		if w.exact {
			out[i] = w.text
		}
	}
	return out
}

// joined is a line made of words, as eval makes it.
func joined(words []word) word {
	out := word{exact: true}
	var list []string
	for _, w := range words {
		list = append(list, w.text)
		out.exact = out.exact && w.exact
	}
	out.text = strings.Join(list, " ")
	return out
}

// given is the text that a here-document or here-string gives to a command. It is exact where the shell expands nothing in it.
func given(r *syntax.Redirect) word {
	if r.Op == syntax.WordHdoc {
		return wordOf(r.Word)
	}
	if r.Hdoc == nil {
		return word{exact: true}
	}
	text, literal := "", len(r.Word.Parts) == 1
	if literal { // the library and bash agree on whether a delimiter of one part is quoted
		lit, plain := r.Word.Parts[0].(*syntax.Lit)
		literal = !plain || strings.Contains(lit.Value, `\`)
	}
	for _, p := range r.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || !literal && strings.ContainsAny(lit.Value, "$`\\") {
			return word{wordOf(r.Hdoc).text, false}
		}
		text += lit.Value
	}
	return word{text, true}
}

// source is a command as a person reads it.
func source(words []word) string {
	out := make([]string, len(words))
	for i, w := range words {
		quoted, err := syntax.Quote(w.text, syntax.LangBash)
		if out[i] = quoted; err != nil || !w.exact {
			out[i] = strings.ReplaceAll(w.text, unknown, "…")
		}
	}
	return strings.Join(out, " ")
}
