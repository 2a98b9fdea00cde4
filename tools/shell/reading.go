package shell

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a word can be when the line runs: text where it is exact, any text where it is
// free, otherwise one of names. Loops and substitutions make values; a value is never what decides
// which program runs.
type value struct {
	text  string
	exact bool
	free  bool
	names []Read // the files that it may name
	dash  bool   // it may begin with a dash
	many  bool   // it may be no word or several
}

// maxNames is how many files a word may name.
const maxNames = 64

func exactly(text string) value { return value{text: text, exact: true, dash: startsOption(text)} }

// anything is a word of which nothing is known.
func anything() value { return value{free: true, dash: true} }

func startsOption(text string) bool { return text != "" && strings.ContainsRune("-+(!", rune(text[0])) }

// loosened is a value that a variable has: what decides on programs and options has to stand in the
// line itself.
func (v value) loosened() value {
	if v.exact {
		return value{names: []Read{{Path: v.text}}, dash: v.dash}
	}
	return v
}

// joined is a value that is one of two.
func (v value) joined(w value) value {
	v, w = v.loosened(), w.loosened()
	out := value{free: v.free || w.free, dash: v.dash || w.dash, many: v.many || w.many}
	for _, r := range slices.Concat(v.names, w.names) {
		if !slices.Contains(out.names, r) {
			out.names = append(out.names, r)
		}
	}
	if out.free || len(out.names) > maxNames {
		out.free, out.names = true, nil
	}
	return out
}

func (v value) equal(w value) bool {
	return v.text == w.text && v.exact == w.exact && v.free == w.free && v.dash == w.dash && v.many == w.many && slices.Equal(v.names, w.names)
}

// then is the word that two parts make.
func (v value) then(w value) value {
	switch {
	case v.exact && w.exact:
		return exactly(v.text + w.text)
	case v.exact && v.text == "":
		return w
	case w.exact && w.text == "":
		return v
	}
	dash, many := v.dash, v.many || w.many
	free := value{free: true, dash: dash, many: many}
	v, w = v.loosened(), w.loosened()
	if v.free || w.free || len(v.names)*len(w.names) > maxNames {
		return free
	}
	out := value{dash: dash, many: many}
	for _, a := range v.names {
		for _, b := range w.names {
			switch {
			case a.Extent == Itself && b.Extent == Itself && !(a.Glob && strings.ContainsAny(b.Path, `*?[\`) && !b.Glob) && !(b.Glob && strings.ContainsAny(a.Path, `*?[\`) && !a.Glob):
				out.names = append(out.names, Read{Path: a.Path + b.Path, Glob: a.Glob || b.Glob, Split: a.Split || b.Split})
			case a.Extent == Below && b.Extent == Itself && !b.Glob && !strings.Contains(b.Path, "..") && strings.HasPrefix(b.Path, "/"):
				out.names = append(out.names, a) // something below what is read
			default:
				return free
			}
		}
	}
	return out
}

// split is the value where the shell makes words of it.
func (v value) split() value {
	if v.exact {
		return v
	}
	if v.free {
		v.many = true
		return v
	}
	v.names = slices.Clone(v.names)
	for i, r := range v.names {
		switch {
		case r.Extent != Itself || r.Glob:
			v.names[i].Split, v.many = true, true
		case !plain.match(r.Path):
			return value{free: true, dash: true, many: true}
		}
	}
	return v
}

// plain is a text that is one word, and that nothing is expanded in.
var plain = expression{whole: true, text: `[A-Za-z0-9_./:@%+,=-]+`}

// Variables that a line may show, and what they are. PWD is the folder.
var shownVariables = sync.OnceValue(func() map[string]func() value {
	return map[string]func() value{
		"PWD": func() value { return value{names: []Read{{Path: "."}}} }, "HOME": number, "OLDPWD": number, "TMPDIR": number, "SHELL": number,
		"PATH": anything, "USER": anything, "LOGNAME": anything, "LANG": anything, "TERM": anything, "HOSTNAME": anything, "BASH_VERSION": anything,
		"RANDOM": number, "SECONDS": number, "LINENO": number, "UID": number, "EUID": number, "PPID": number, "?": number, "#": number, "$": number,
	}
})

// number is a text that is known only when the line runs, and no option: a number, or an absolute
// path.
func number() value { return value{free: true} }

// settable are the variables that a line may set: those that no program and no part of the shell
// reads.
var (
	settableName = expression{whole: true, text: `[a-z_][a-z0-9_]*|[A-Z]|` + settableWord + `(?:_` + settableWord + `)*`}
	unsettable   = wordSet{list: "_ histchars auto_resume LINES"}
)

// settableWord is a word of the names that people give to variables of their own: no variable of a
// program consists of these alone.
const settableWord = `(?:FOO|BAR|BAZ|QUX|MY|VAR|VALUE|FILES?|DIRS?|NAMES?|LINES?|COUNT|TOTAL|OUT|RESULT|ROOT|SRC|TEST|DEBUG|VERBOSE|CI|APP|ITEM)[0-9]*`

func settable(name string) bool {
	return settableName.match(name) && !unsettable.has(name) && !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_")
}

// harmlessEnv are variables that may stand in front of a command, with these values.
var harmlessEnv = expression{whole: true, text: `(?:LC_[A-Z]+|LANG|LANGUAGE)=[A-Za-z0-9_.@-]*|(?:NO_COLOR|CLICOLOR|FORCE_COLOR|COLUMNS|GIT_OPTIONAL_LOCKS|GIT_TERMINAL_PROMPT)=[0-9]*|` +
	`(?:GIT_PAGER|PAGER)=cat|TERM=dumb|TZ=(?:UTC|GMT)`}

// reader judges the commands of a line in the order in which bash runs them, with the folders that
// each may run in.
type reader struct {
	ctx      context.Context
	reads    []Read
	searches bool
	opaque   string
	entered  int
	loops    int
	through  int  // runners that the present command runs through
	splits   bool // the path of the folder is several words where the shell splits it
	vars     map[string]value
	assigned map[string]bool // anywhere in the line
	changed  bool            // a variable has got another value in this pass
	stdin    value           // what standard input names, line by line
}

// maxPasses is how often a line is judged until no variable gets another value.
const maxPasses = 6

// readOnly says what a line reads, or why it is not known to only read.
func readOnly(ctx context.Context, stmts []*syntax.Stmt, dir string) (reads []Read, searches bool, opaque string) {
	if len(stmts) == 0 {
		return nil, false, "runs nothing"
	}
	r := (&reader{ctx: ctx, stdin: anything(), splits: !plain.match(dir)}).settled(stmts, []string{""})
	return r.reads, r.searches, r.opaque
}

// settled judges the statements of a shell that begins with no variables, again and again until no
// variable gets another value.
func (r *reader) settled(stmts []*syntax.Stmt, in []string) *reader {
	assigned := assignments(stmts)
	vars := map[string]value{}
	for range maxPasses {
		n := &reader{ctx: r.ctx, vars: vars, assigned: assigned, stdin: r.stdin, entered: r.entered, loops: r.loops, through: r.through, splits: r.splits}
		n.list(stmts, in)
		if !n.changed {
			return n
		}
		vars = n.vars
	}
	return &reader{opaque: "sets variables in a way that is not understood"}
}

// assignments are the names of the variables that a line sets.
func assignments(stmts []*syntax.Stmt) map[string]bool {
	names := map[string]bool{}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				if len(n.Args) == 0 {
					for _, a := range n.Assigns {
						names[a.Name.Value] = true
					}
				} else if wordOf(n.Args[0]).text == "read" {
					for _, w := range n.Args[1:] {
						names[wordOf(w).text] = true
					}
				}
			case *syntax.DeclClause:
				for _, a := range n.Args {
					if a.Name != nil {
						names[a.Name.Value] = true
					}
				}
			case *syntax.WordIter:
				names[n.Name.Value] = true
			}
			return true
		})
	}
	return names
}

// refuse notes the first reason; "" is none.
func (r *reader) refuse(why string) {
	if r.opaque == "" {
		r.opaque = why
	}
}

// set gives a variable a value, beside those that it has elsewhere in the line.
func (r *reader) set(name string, v value) {
	if !settable(name) {
		r.refuse("sets variables that programs or the shell may read")
		return
	}
	before, ok := r.vars[name]
	now := v.loosened()
	if ok {
		now = before.joined(v)
	}
	if !ok || !now.equal(before) {
		vars := map[string]value{}
		maps.Copy(vars, r.vars)
		vars[name] = now
		r.vars, r.changed = vars, true
	}
}

// list judges statements one after the other.
func (r *reader) list(stmts []*syntax.Stmt, in []string) []string {
	for _, s := range stmts {
		yes, no := r.stmt(s, in)
		in = union(yes, no)
	}
	return in
}

// stmt judges a statement that runs in one of the folders in, and gives those that the next one may
// run in: after a success, and after a failure.
func (r *reader) stmt(s *syntax.Stmt, in []string) (yes, no []string) {
	if r.ctx.Err() != nil {
		r.refuse("was not checked to its end")
	}
	if r.opaque != "" {
		return in, in
	}
	if s.Background || s.Coprocess || s.Disown {
		r.refuse("leaves a command in the background")
		return in, in
	}
	before := r.stdin
	for _, redirect := range s.Redirs {
		r.redirect(redirect, in)
	}
	yes, no = r.command(s.Cmd, in)
	r.stdin = before
	if s.Negated {
		yes, no = no, yes
	}
	return yes, no
}

// redirect judges what a redirect opens: /dev/null and the outputs, a file for reading, a text of
// the line.
func (r *reader) redirect(d *syntax.Redirect, in []string) {
	number := ""
	if d.N != nil {
		number = d.N.Value
	}
	input := number == "" || number == "0"
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if d.Hdoc != nil && !given(d).exact {
			r.parts(d.Hdoc.Parts, in, true)
		}
		r.stdin = anything()
		if input {
			return
		}
	case syntax.WordHdoc:
		r.stdin = r.word(d.Word, in).loosened()
		if input {
			return
		}
	case syntax.RdrIn:
		if len(d.Word.Parts) == 1 {
			if p, ok := d.Word.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn && input {
				r.stdin = r.output(p.Stmts, in)
				return
			}
		}
		v := r.word(d.Word, in)
		r.stdin = anything()
		switch {
		case !input || v.free || v.many:
		case v.exact && (v.text == "" || strings.HasPrefix(v.text, "/dev/tcp/") || strings.HasPrefix(v.text, "/dev/udp/")):
		case v.exact && v.text == "/dev/null":
			return
		case v.exact || !slices.ContainsFunc(v.names, func(n Read) bool { return strings.HasPrefix(n.Path, "/dev/") }):
			r.read(in, v.loosened().names...)
			return
		}
	default:
		if harmless(d) {
			return
		}
	}
	r.refuse("redirects to or from more than /dev/null")
}

// command judges what a statement runs.
func (r *reader) command(c syntax.Command, in []string) (yes, no []string) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return r.simple(c, in)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			first, failed := r.stmt(c.X, in)
			yes, no = r.stmt(c.Y, first)
			return yes, union(no, failed)
		case syntax.OrStmt:
			first, failed := r.stmt(c.X, in)
			yes, no = r.stmt(c.Y, failed)
			return union(yes, first), no
		case syntax.Pipe, syntax.PipeAll: // the parts of a pipe are processes of their own
			r.stmt(c.X, in)
			before := r.stdin
			r.stdin = r.printed(c.X)
			r.stmt(c.Y, in)
			r.stdin = before
			return in, in
		}
	case *syntax.Subshell:
		r.list(c.Stmts, in)
		return in, in
	case *syntax.Block:
		out := r.list(c.Stmts, in)
		return out, out
	case *syntax.IfClause:
		var out []string
		for ; c != nil; c = c.Else {
			if len(c.Cond) > 0 {
				in = r.list(c.Cond, in)
			}
			out = union(out, r.list(c.Then, in))
		}
		out = union(out, in)
		return out, out
	case *syntax.WhileClause:
		r.loops++
		in = r.list(c.Cond, in)
		r.list(c.Do, in)
		r.loops--
		return in, in
	case *syntax.ForClause:
		if iter, ok := c.Loop.(*syntax.WordIter); ok && !c.Select && iter.InPos.IsValid() {
			for _, w := range iter.Items {
				for _, v := range r.words(w, in) {
					v.many = false
					r.set(iter.Name.Value, v)
				}
			}
			if len(iter.Items) == 0 {
				r.set(iter.Name.Value, exactly(""))
			}
			r.loops++
			r.list(c.Do, in)
			r.loops--
			return in, in
		}
	case *syntax.CaseClause:
		r.word(c.Word, in)
		out := in
		for _, item := range c.Items {
			for _, w := range item.Patterns {
				r.inert(w, in)
			}
			out = union(out, r.list(item.Stmts, in))
		}
		return out, out
	case *syntax.DeclClause:
		r.declares(c, in)
		return in, in
	case *syntax.TestClause:
		r.test(c.X, in)
		return in, in
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return r.stmt(c.Stmt, in)
		}
	}
	r.refuse("has a part that is no command, loop or condition")
	return in, in
}

// inert judges a pattern, which is compared and names no file.
func (r *reader) inert(w *syntax.Word, in []string) {
	for _, p := range w.Parts {
		if _, ok := p.(*syntax.Lit); !ok {
			r.parts([]syntax.WordPart{p}, in, true)
		}
	}
}

// test judges what [[ ]] looks at. Numbers are not compared: bash runs commands in what it takes
// for one.
func (r *reader) test(x syntax.TestExpr, in []string) {
	switch x := x.(type) {
	case *syntax.Word:
		r.inert(x, in)
		return
	case *syntax.ParenTest:
		r.test(x.X, in)
		return
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			r.test(x.X, in)
			return
		case syntax.TsEmpStr, syntax.TsNempStr:
			r.test(x.X, in)
			return
		case syntax.TsOptSet, syntax.TsVarSet, syntax.TsRefVar, syntax.TsFdTerm, syntax.TsParen:
		default:
			if w, ok := x.X.(*syntax.Word); ok {
				r.looksAt(in, r.quoted(w, in))
				return
			}
		}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest, syntax.TsReMatch, syntax.TsMatch, syntax.TsMatchShort, syntax.TsNoMatch, syntax.TsBefore, syntax.TsAfter:
			r.test(x.X, in)
			r.test(x.Y, in)
			return
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			for _, e := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := e.(*syntax.Word); ok {
					r.looksAt(in, r.quoted(w, in))
				}
			}
			return
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			a, ok := x.X.(*syntax.Word)
			b, ok2 := x.Y.(*syntax.Word)
			if ok && ok2 && isNumber(wordOf(a).text) && isNumber(wordOf(b).text) && wordOf(a).exact && wordOf(b).exact {
				return
			}
		}
	}
	r.refuse("has a test that is not understood")
}

// looksAt notes a file that a test looks at; of one that is not known only whether it is there is
// shown.
func (r *reader) looksAt(in []string, v value) {
	if v = v.loosened(); !v.free && !(len(v.names) == 1 && v.names[0].Path == "") {
		r.read(in, v.names...)
	}
}

// quoted is the value of a word of which the shell makes no others.
func (r *reader) quoted(w *syntax.Word, in []string) value {
	v := r.word(w, in)
	v.many = false
	return v
}

// simple judges a command of words.
func (r *reader) simple(c *syntax.CallExpr, in []string) (yes, no []string) {
	for _, a := range c.Assigns {
		if a.Append || a.Naked || a.Index != nil || a.Array != nil || a.Name == nil {
			r.refuse("sets variables in a way that is not understood")
			return in, in
		}
		v := exactly("")
		if a.Value != nil {
			v = r.quoted(a.Value, in)
		}
		switch {
		case len(c.Args) == 0:
			r.set(a.Name.Value, v)
		case a.Name.Value == "IFS" && v.exact && wordOf(c.Args[0]).text == "read":
		case settable(a.Name.Value) && !r.assigned[a.Name.Value]:
		case !v.exact || !harmlessEnv.match(a.Name.Value+"="+v.text):
			r.refuse("sets variables for a command")
		}
	}
	if len(c.Args) == 0 {
		if len(c.Assigns) == 0 {
			r.refuse("runs nothing")
		}
		return in, in
	}
	var words []value
	for _, w := range c.Args {
		words = append(words, r.words(w, in)...)
	}
	if r.opaque != "" {
		return in, in
	}
	return r.call(words, in, false)
}

// word judges a word and says what it can be.
func (r *reader) word(w *syntax.Word, in []string) value {
	if exact := wordOf(w); exact.exact {
		return exactly(exact.text)
	}
	if braces(w) {
		r.refuse("has words that the shell expands")
		return anything()
	}
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn {
			r.output(p.Stmts, in)
			return value{} // a pipe of the line itself
		}
	}
	if text, ok := globOf(w); ok {
		return globbed(text)
	}
	return r.parts(w.Parts, in, false)
}

// words are those that a word of the line becomes: several where it has braces.
func (r *reader) words(w *syntax.Word, in []string) (list []value) {
	texts := expanded(w)
	for _, text := range texts {
		v, ok := exactly(text), !strings.ContainsAny(text, "*?")
		if !ok {
			v = globbed(text)
		}
		list = append(list, v)
	}
	if texts == nil {
		list = append(list, r.word(w, in))
	}
	return list
}

// globbed is what a pattern can be: the files that fit, or itself.
func globbed(text string) value {
	return value{names: []Read{{Path: text, Glob: true}}, many: true, dash: startsOption(text) || text[0] == '*' || text[0] == '?'}
}

// globOf is the pattern of a word that is one, of literal parts.
func globOf(w *syntax.Word) (text string, ok bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "[]\\~$`") {
				return "", false
			}
			b.WriteString(p.Value)
			ok = ok || strings.ContainsAny(p.Value, "*?")
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted := wordOf(&syntax.Word{Parts: []syntax.WordPart{p}})
			if !quoted.exact || strings.ContainsAny(quoted.text, `*?[]\`) {
				return "", false
			}
			b.WriteString(quoted.text)
		default:
			return "", false
		}
	}
	return b.String(), ok
}

// parts is what the parts of a word make.
func (r *reader) parts(list []syntax.WordPart, in []string, quoted bool) value {
	out := exactly("")
	for i, p := range list {
		var v value
		switch p := p.(type) {
		case *syntax.Lit:
			var b strings.Builder
			if !lit(&b, p.Value, quoted, i == 0) {
				if text := b.String(); quoted || !strings.ContainsAny(text, "*?") || strings.ContainsAny(p.Value, "[]\\~$`") {
					r.refuse("has words that the shell expands")
				}
				v = value{names: []Read{{Path: b.String(), Glob: true}}, many: true, dash: strings.ContainsAny(b.String()[:1], "*?-+(!")}
				break
			}
			v = exactly(b.String())
		case *syntax.SglQuoted:
			v = exactly(p.Value)
			if p.Dollar {
				r.refuse("has words that the shell expands")
			}
		case *syntax.DblQuoted:
			if p.Dollar {
				r.refuse("has words that the shell expands")
			}
			v = r.parts(p.Parts, in, true)
			v.many = false
		case *syntax.ParamExp:
			if v = r.param(p, in); !quoted {
				v = v.split()
			}
		case *syntax.CmdSubst:
			if p.TempFile || p.ReplyVar {
				r.refuse("has words that the shell expands")
			}
			if v = r.output(p.Stmts, in); !quoted {
				v = v.split()
			}
		case *syntax.ArithmExp:
			syntax.Walk(p, func(n syntax.Node) bool {
				switch n := n.(type) {
				case nil, *syntax.ArithmExp, *syntax.BinaryArithm, *syntax.ParenArithm, *syntax.Word:
				case *syntax.Lit:
					if !isNumber(n.Value) {
						r.refuse("calculates with what is known only when it runs")
					}
				default:
					r.refuse("calculates with what is known only when it runs")
				}
				return true
			})
			v = anything()
		default:
			r.refuse("has words that the shell expands")
		}
		out = out.then(v)
	}
	return out
}

// param is what a variable can be.
func (r *reader) param(p *syntax.ParamExp, in []string) value {
	if p.Flags != nil || p.Excl || p.Width || p.IsSet || p.Param == nil || p.NestedParam != nil || p.Index != nil || p.Modifiers != nil || p.Slice != nil || p.Names != 0 ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 {
		r.refuse("has a variable in a form that is not understood")
		return anything()
	}
	name := p.Param.Value
	v, known := r.vars[name]
	switch of := shownVariables()[name]; {
	case known:
	case name == "PWD" && r.splits:
		v = anything()
	case of != nil:
		v = of()
	case r.assigned[name]: // later in the line, as in a loop
		v = value{}
	default:
		r.refuse("shows a variable that it does not set")
	}
	if p.Length {
		return number()
	}
	if p.Repl != nil {
		for _, w := range []*syntax.Word{p.Repl.Orig, p.Repl.With} {
			if w != nil {
				r.inert(w, in)
			}
		}
		return anything()
	}
	if p.Exp == nil {
		return v
	}
	switch p.Exp.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll,
		syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if p.Exp.Word != nil {
			r.inert(p.Exp.Word, in)
		}
	default:
		r.refuse("has a variable in a form that is not understood")
	}
	return anything()
}

// output judges commands whose output is a word, and says what it can be.
func (r *reader) output(stmts []*syntax.Stmt, in []string) value {
	before := r.stdin
	r.stdin = anything()
	defer func() { r.stdin = before }()
	r.list(stmts, in)
	if len(stmts) != 1 || r.opaque != "" {
		return anything()
	}
	return r.printed(stmts[0])
}

// printed is what a statement that was judged prints, line by line: the names of files where that
// is known.
func (r *reader) printed(s *syntax.Stmt) value {
	if len(s.Redirs) > 0 && slices.ContainsFunc(s.Redirs, func(d *syntax.Redirect) bool { return d.Op != syntax.RdrOut || !harmless(d) }) {
		return anything()
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe && passes(c.Y) {
			return r.printed(c.X)
		}
	case *syntax.CallExpr:
		if words := wordsOf(c.Args); len(c.Assigns) == 0 && len(words) > 0 && !(r.splits && words[0].text == "pwd") {
			return namesPrinted(words)
		}
	}
	return anything()
}

// passes reports whether a filter gives on whole lines of its input and nothing else.
func passes(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || len(c.Assigns) > 0 {
		return false
	}
	words := wordsOf(c.Args)
	operands := 0
	for _, w := range words[min(1, len(words)):] {
		if !w.exact {
			return false
		}
		if !strings.HasPrefix(w.text, "-") {
			operands++
		}
	}
	switch words[0].text {
	case "head", "tail", "sort", "uniq", "tac":
		return operands == 0 || operands == 1 && words[len(words)-2].text == "-n" && isNumber(words[len(words)-1].text)
	case "grep", "egrep", "fgrep":
		return operands == 1 && !slices.ContainsFunc(words[1:len(words)-1], func(w word) bool {
			return strings.Trim(w.text, "-viEFwxPqs") != ""
		})
	}
	return false
}

// namesPrinted is what a command prints that lists files: their names, and nothing else.
func namesPrinted(words []word) value {
	name, operands := words[0].text, []string{}
	for _, w := range words[1:] {
		within := name == "ls" && !strings.ContainsAny(w.text, unknown+"~") && !strings.HasPrefix(w.text, "/") && !strings.Contains(w.text, "..")
		if !w.exact && !within {
			return anything()
		}
	}
	options := func(allowed string) bool {
		for _, w := range words[1:] {
			if len(w.text) > 1 && w.text[0] == '-' {
				if strings.Trim(w.text[1:], allowed) != "" {
					return false
				}
				continue
			}
			if w.exact {
				operands = append(operands, w.text)
			}
		}
		return true
	}
	below := func(paths []string) value {
		if len(paths) == 0 {
			paths = []string{"."}
		}
		v := value{dash: true}
		for _, p := range paths {
			v.names = append(v.names, Read{Path: p, Extent: Below, Names: true})
		}
		return v
	}
	switch name {
	case "pwd":
		if len(words) == 1 {
			return value{names: []Read{{Path: "."}}}
		}
	case "echo":
		if len(words) > 1 && options("") {
			v := value{dash: true}
			for _, o := range operands {
				if !plain.match(o) {
					return anything()
				}
				v.names = append(v.names, Read{Path: o})
			}
			return v
		}
	case "ls":
		if options("1AtrSU") { // -a prints ..
			return below(append(operands, "."))
		}
	case "find":
		for _, w := range words[1:] {
			if strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" {
				break
			}
			operands = append(operands, w.text)
		}
		if !slices.ContainsFunc(words, func(w word) bool { return w.text == "-printf" || w.text == "-ls" || strings.HasPrefix(w.text, "-exec") }) {
			return below(operands)
		}
	case "git":
		if len(words) > 1 && words[1].text == "ls-files" {
			for _, w := range words[2:] {
				if strings.HasPrefix(w.text, "-") && !slices.Contains([]string{"-c", "-o", "-m", "-d", "-z", "--cached", "--others", "--modified", "--exclude-standard", "--"}, w.text) {
					return anything()
				}
			}
			return below(nil)
		}
	case "rg":
		if slices.ContainsFunc(words, func(w word) bool { return w.text == "--files" || w.text == "-l" || w.text == "--files-with-matches" }) {
			return below(nil)
		}
	case "grep":
		if options("lrinEFwhs") && slices.ContainsFunc(words[1:], func(w word) bool { return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "l") }) && len(operands) > 0 {
			return below(operands[1:])
		}
	}
	return anything()
}

// call judges one command by its words. Within says that another program runs it: then it is no
// builtin of the shell.
func (r *reader) call(words []value, in []string, within bool) (yes, no []string) {
	if len(words) == 0 || !words[0].exact {
		r.refuse("runs a program that is known only when it runs")
		return in, in
	}
	name := words[0].text
	switch {
	case name == "cd" && !within:
		return r.enter(words, in)
	case name == "read" && !within:
		r.readsLine(words[1:])
		return in, in
	case name == "set" && !within:
		r.options(words[1:])
		return in, in
	case name == "test", name == "[":
		r.tests(words, in)
		return in, in
	case name == "find":
		words = r.executes(words, in)
	}
	var argv []string
	for i, w := range words {
		if w.exact {
			argv = append(argv, w.text)
		} else {
			argv = append(argv, unknown+strconv.Itoa(i))
		}
	}
	if _, n := rowOf(programs(), argv); n == 0 {
		row := readingRunners()[name]
		switch {
		case row != nil:
			r.runner(row, words, argv, in)
			return in, in
		case name == "bash", name == "sh":
			r.shellLine(words, in)
			return in, in
		}
	}
	reads, searches, why := onlyReads(argv, words...)
	if why != "" {
		r.refuse(why)
	}
	r.searches = r.searches || searches
	r.read(in, reads...)
	return in, in
}

// tests judges the builtin test, by the words that decide what it does.
func (r *reader) tests(words []value, in []string) {
	if words[0].text == "[" {
		if words[len(words)-1].text != "]" {
			r.refuse("runs [ without ]")
			return
		}
		words = words[:len(words)-1]
	}
	args := words[1:]
	if slices.ContainsFunc(args, func(v value) bool { return v.many }) {
		r.refuse("runs test with words that are known only when it runs")
		return
	}
	if len(args) > 1 && args[0].exact && args[0].text == "!" {
		args = args[1:]
	}
	switch {
	case len(args) == 1:
		return
	case len(args) == 2 && args[0].exact:
		op := args[0].text
		if op == "-n" || op == "-z" {
			return
		}
		if len(op) == 2 && op[0] == '-' && strings.Contains("bcdefghkprsuwxLNOGS", op[1:]) {
			r.looksAt(in, args[1])
			return
		}
	case len(args) == 3 && args[1].exact:
		switch args[1].text {
		case "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge": // test takes numbers as they are
			return
		case "-nt", "-ot", "-ef":
			r.looksAt(in, args[0])
			r.looksAt(in, args[2])
			return
		}
	}
	r.refuse("runs test with more than one simple test")
}

// executes judges what find runs for each file, and gives its words without that.
func (r *reader) executes(words []value, in []string) (rest []value) {
	var found []Read
	for _, w := range words[1:] {
		if w.exact && startsOption(w.text) {
			break
		}
		for _, n := range w.loosened().names {
			n.Extent, n.Names = Below, true
			found = append(found, n)
		}
		if w.free || w.dash {
			r.refuse("looks for files in a folder that is known only when it runs")
		}
	}
	if len(found) == 0 {
		found = []Read{{Path: ".", Extent: Below, Names: true}}
	}
	for i := 0; i < len(words); i++ {
		if w := words[i]; !w.exact || w.text != "-exec" && w.text != "-execdir" {
			rest = append(rest, w)
			continue
		}
		var run []value
		ended := false
		for i++; i < len(words) && !ended; i++ {
			w := words[i]
			switch {
			case w.exact && w.text == ";", w.exact && w.text == "+" && len(run) > 0 && !run[len(run)-1].exact:
				ended = true
			case w.exact && w.text == "{}":
				run = append(run, value{names: found, many: true})
			case !w.exact || strings.Contains(w.text, "{}"):
				r.refuse("has find run words that are not understood")
			default:
				run = append(run, w)
			}
		}
		if i--; !ended {
			r.refuse("has find run words that are not understood")
			return rest
		}
		r.call(run, in, true)
	}
	return rest
}

// readingRunners are the programs that run what their operands name and do nothing else, with the
// options that they may be given.
var readingRunners = sync.OnceValue(func() map[string]*program {
	return table(`
timeout: -v -k:text -s:text --preserve-status --foreground --kill-after=text --signal=text SKIP
nice: -n:num NUMBERS
stdbuf: -i:text -o:text -e:text
command:
env: ASSIGN
xargs: -0rt -n:num -P:num -L:num -I:text -d:text --null --no-run-if-empty --max-args=num --max-procs=num --delimiter=text MANY
`)
})

// runner judges a program that runs another one: that must only read, whatever words the runner
// adds.
func (r *reader) runner(row *program, words []value, argv []string, in []string) {
	if r.through++; r.through > maxNested {
		r.refuse("runs a program through too many others")
	}
	defer func() { r.through-- }()
	if r.opaque != "" {
		return
	}
	var list []word
	for i, w := range words {
		list = append(list, word{argv[i], w.exact})
	}
	at, unsure, ok := (&search{ctx: r.ctx, depth: maxNested}).inner(row, list)
	if !ok || unsure || slices.ContainsFunc(words[:at], func(v value) bool { return !v.exact }) {
		r.refuse("runs " + shown(words[0].text) + " with options that are not understood")
		return
	}
	for _, w := range words[1:at] {
		if name, _, _ := strings.Cut(w.text, "="); row.flags["ASSIGN"] && !settable(name) && !harmlessEnv.match(w.text) {
			r.refuse("sets variables for a command")
		}
	}
	run := slices.Clone(words[at:])
	if row.flags["MANY"] {
		added := r.stdin.loosened()
		added.dash, added.many = true, true
		null, holder := false, ""
		for i, w := range words[1:at] {
			null = null || w.text == "--null" || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "0") && strings.Trim(w.text, "-0rt") == ""
			value, ok := strings.CutPrefix(w.text, "-I")
			switch {
			case ok && value == "" && i+2 < at:
				holder = words[i+2].text
			case ok:
				holder = value
			case strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "I"):
				r.refuse("has xargs run words that are not understood")
			}
		}
		if !null {
			added.names = slices.Clone(added.names)
			for i := range added.names {
				added.names[i].Split = true
			}
		}
		switch {
		case len(run) == 0:
			return // it prints
		case holder != "":
			for i, w := range run {
				switch {
				case w.exact && w.text == holder:
					run[i] = added
				case !w.exact || strings.Contains(w.text, holder):
					r.refuse("has xargs run words that are not understood")
				}
			}
		default:
			run = append(run, added)
		}
	}
	switch {
	case len(run) > 0:
	case row.flags["ASSIGN"]: // it prints
		return
	default:
		r.refuse("runs " + shown(words[0].text) + " alone")
		return
	}
	r.call(run, in, true)
}
