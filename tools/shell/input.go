package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input is what a statement can read: from its redirects, from a pipe, and from the statement that
// it is a part of. What it reads of that does not matter: a shell that is given several texts is
// looked into for each.
type input struct {
	// texts are those of which is known what they are.
	texts []word
	// stream says what gives it something that is not known: "a pipe" or "a command"; "" is
	// nothing.
	stream string
}

func (in input) and(more input) input {
	in.texts = slices.Concat(in.texts, more.texts)
	if in.stream == "" {
		in.stream = more.stream
	}
	return in
}

// feed notes what a statement and its parts can read, where it is itself given something.
func (s *search) feed(stmt *syntax.Stmt, in input) {
	in = in.and(s.redirected(stmt))
	s.inputs[stmt] = in
	delete(s.prints, stmt)
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		s.feed(b.X, in)
		s.feed(b.Y, input{s.printed(b.X), "a pipe"})
		return
	}
	for _, part := range statements(stmt.Cmd) {
		s.feed(part, in)
	}
	for _, part := range writtenTo(stmt) {
		s.feed(part, input{slices.Concat(s.printed(stmt), in.texts), "a pipe"})
	}
}

// writtenTo are the commands that stand in the words of a statement as >(…): they read what it
// writes.
func writtenTo(stmt *syntax.Stmt) (list []*syntax.Stmt) {
	var words []*syntax.Word
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		words = append(words, call.Args...)
	}
	for _, r := range stmt.Redirs {
		words = append(words, r.Word)
	}
	for _, w := range words {
		if w == nil {
			continue
		}
		for _, part := range w.Parts {
			if p, ok := part.(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
				list = append(list, p.Stmts...)
			}
		}
	}
	return list
}

// statements are those that a command consists of, but for what its words run.
func statements(c syntax.Command) (list []*syntax.Stmt) {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		return []*syntax.Stmt{c.X, c.Y}
	case *syntax.Block:
		return c.Stmts
	case *syntax.Subshell:
		return c.Stmts
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			list = append(append(list, c.Cond...), c.Then...)
		}
	case *syntax.WhileClause:
		return slices.Concat(c.Cond, c.Do)
	case *syntax.ForClause:
		return c.Do
	case *syntax.CaseClause:
		for _, item := range c.Items {
			list = append(list, item.Stmts...)
		}
	case *syntax.TimeClause: // time may stand alone
		list = []*syntax.Stmt{c.Stmt}
	case *syntax.CoprocClause:
		list = []*syntax.Stmt{c.Stmt}
	case *syntax.FuncDecl:
		list = []*syntax.Stmt{c.Body}
	}
	return slices.DeleteFunc(list, func(stmt *syntax.Stmt) bool { return stmt == nil })
}

// redirected is what the redirects of a statement give it.
func (s *search) redirected(stmt *syntax.Stmt) (in input) {
	for _, r := range stmt.Redirs {
		switch {
		case r.Word == nil:
		case r.Op == syntax.Hdoc, r.Op == syntax.DashHdoc, r.Op == syntax.WordHdoc:
			in.texts = append(in.texts, given(r))
		case r.Op == syntax.RdrIn:
			in = in.and(s.substituted(r.Word))
		}
	}
	return in
}

// substituted is what the commands print that stand in a word as <(…).
func (s *search) substituted(w *syntax.Word) (in input) {
	for _, part := range w.Parts {
		if p, ok := part.(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn {
			in.stream = "a command"
			in.texts = append(in.texts, s.printedAlone(p.Stmts)...)
		}
	}
	return in
}

// printedAlone is printed of commands that stand in a word.
func (s *search) printedAlone(stmts []*syntax.Stmt) (texts []word) {
	for _, stmt := range stmts {
		if _, fed := s.inputs[stmt]; !fed {
			s.feed(stmt, input{})
		}
		texts = append(texts, s.printed(stmt)...)
	}
	return texts
}

// printed are the texts that a statement prints, as far as they are known, of what it was fed with.
func (s *search) printed(stmt *syntax.Stmt) []word {
	texts, known := s.prints[stmt]
	if !known {
		texts = s.printing(stmt)
		s.prints[stmt] = texts
	}
	return texts
}

func (s *search) printing(stmt *syntax.Stmt) (texts []word) {
	switch c := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		words := wordsOf(c.Args)
		if len(words) == 0 {
			return nil
		}
		switch base(words[0]) {
		case "echo":
			return []word{joined(words[1:])}
		case "printf":
			return words[1:]
		case "cat", "tee":
			return s.inputs[stmt].texts
		}
		return nil
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return s.printed(c.Y)
		}
	}
	for _, part := range statements(stmt.Cmd) {
		texts = append(texts, s.printed(part)...)
	}
	return texts
}

// reads looks at what an interpreter runs of what it can read.
func (s *search) reads(stmt *syntax.Stmt) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	words := wordsOf(call.Args)
	if body := s.functions[words[0].text]; body != nil {
		s.calls(words[0].text, body, s.inputs[stmt])
		return
	}
	name, args := interpreter(words)
	lines := shells.has(name) || words[0].text == "eval"
	if name == "" && !lines {
		return
	}
	var in input
	if runsInput(args) {
		in = s.inputs[stmt]
		for _, w := range call.Args {
			in = in.and(s.substituted(w))
		}
	}
	for _, w := range call.Args[1:] {
		if lines {
			in.texts = slices.Concat(in.texts, s.printedAlone(whole(w)))
		}
	}
	if in.stream != "" {
		s.endanger(source(words) + " runs what " + in.stream + " gives it")
	}
	for _, text := range in.texts {
		if !text.exact {
			s.endanger(source(words) + " runs a text that the shell expands")
		}
		key := judged{text.text, len(s.dirs)}
		if lines && !s.judged[key] { // a program in another language is not looked into, as with -c
			s.judged[key] = true
			s.nested(text)
		}
	}
}

// maxCalled is how many calls of functions are looked into that can read something.
const maxCalled = 64

// calls looks at what a function runs of what it can read.
func (s *search) calls(name string, body *syntax.Stmt, in input) {
	if len(in.texts) == 0 && in.stream == "" {
		return
	}
	if s.called++; s.called > maxCalled {
		s.endanger("functions that read something, called too often to tell what they run")
		return
	}
	delete(s.functions, name) // it may call itself
	s.feed(body, in)
	syntax.Walk(body, func(n syntax.Node) bool {
		if s.ctx.Err() != nil {
			return false
		}
		if stmt, ok := n.(*syntax.Stmt); ok {
			s.reads(stmt)
		}
		return true
	})
	s.functions[name] = body
}

// whole are the commands whose output a word is, with nothing else in it.
func whole(w *syntax.Word) []*syntax.Stmt {
	parts := w.Parts
	if len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = quoted.Parts
		}
	}
	if len(parts) == 1 {
		if c, ok := parts[0].(*syntax.CmdSubst); ok {
			return c.Stmts
		}
	}
	return nil
}

// judged is a text that was looked into when so many folders were known.
type judged struct {
	text string
	dirs int
}

// runsInput says that an interpreter with some arguments may run what it reads: the first one is no
// script. Behind an option it may be the option's value.
func runsInput(args []word) bool {
	if len(args) == 0 || !args[0].exact || strings.HasPrefix(args[0].text, "-") || args[0].text == "" {
		return true
	}
	at := path.Clean(args[0].text)
	return strings.HasPrefix(at, "/dev/") || strings.HasPrefix(at, "/proc/")
}

// interpreter names the program of a command that runs what it reads, and gives its arguments; ""
// where it is none.
func interpreter(words []word) (name string, args []word) {
	for len(words) > 0 {
		name := base(words[0])
		if shells.has(name) || slices.Contains(interpreters, strings.TrimRight(name, "0123456789.")) {
			return name, words[1:]
		}
		row := runners()[name]
		if row == nil {
			return "", nil
		}
		at, _, ok := (&search{depth: maxNested}).inner(row, words)
		if !ok {
			return "", nil
		}
		words = words[at:]
	}
	return "", nil
}
