package tandem

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestF244TopLevel(t *testing.T) {
	want := []string{"agent", "cmd", "docs", "editors", "filetime", "findings", "lspserver", "sandbox", "tools"}
	have := map[string]bool{}
	for _, f := range repo(t).files {
		if top, _, below := strings.Cut(f, "/"); below && top[0] != '.' {
			have[top] = true
		}
	}
	for _, dir := range want {
		if !have[dir] {
			t.Errorf("there is nothing in %s", dir)
		}
		delete(have, dir)
	}
	for dir := range have {
		t.Errorf("%s is no folder of the top level: it has %s", dir, strings.Join(want, ", "))
	}
}

// TestSelfContained finds what ties the repository to one machine, or to where it was written.
func TestSelfContained(t *testing.T) {
	// They are put together so that this file does not hold them. Each begins with a literal, which makes it fast.
	bad := []struct {
		what, pattern string
		path          bool // only where a path begins
		re            *regexp.Regexp
	}{
		{"a folder of one machine", "/work" + "/", true, nil},
		{"a folder of one machine", "/root" + "/", true, nil},
		{"a scratch folder", "/tmp/" + "w/", true, nil},
		{"a folder outside", `\.\./` + `shared\b`, false, nil},
		{"a module proxy", "GOPROXY" + "=", false, nil},
		{"a module proxy", "GONO" + "SUMDB", false, nil},
		{"a module proxy", `proxy\.golang` + `\.org`, false, nil},
		{"a key", "sk-" + `(?:ant-|proj-)?[A-Za-z0-9]{24,}`, false, nil},
		{"the number of an issue", "ssue" + ` #?\d`, false, nil},
		{"how the project was begun", "esign" + ` (?:page|card)`, false, nil},
	}
	for i := range bad {
		bad[i].re = regexp.MustCompile(bad[i].pattern)
	}
	within := regexp.MustCompile(`[\w.~-]$`)
	for _, name := range repo(t).files {
		content, ok := text(t, name)
		if !ok {
			continue
		}
		for _, b := range bad {
			for _, at := range b.re.FindAllStringIndex(content, -1) {
				if b.path && within.MatchString(content[max(0, at[0]-1):at[0]]) {
					continue
				}
				line := 1 + strings.Count(content[:at[0]], "\n")
				t.Errorf("%s:%d: %s: %q", name, line, b.what, content[at[0]:at[1]])
			}
		}
	}
}

// TestDocumented wants a comment on every package and on every exported name of the top level.
func TestDocumented(t *testing.T) {
	packages := map[string]bool{}
	for _, f := range repo(t).code {
		if f.test() {
			continue
		}
		packages[f.dir] = packages[f.dir] || f.ast.Doc != nil
		if f.ast.Name.Name == "main" {
			continue
		}
		missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
			if name.IsExported() && !slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool { return c != nil }) {
				t.Errorf("%s: %s has no comment", f.fset.Position(name.Pos()), name.Name)
			}
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					missing(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						missing(s.Name, d.Doc, s.Doc)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							missing(n, d.Doc, s.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
	for dir, ok := range packages {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

// harness are folders of programs that try or measure the product, and of what tests share.
func harness(dir string) bool {
	return helper(dir) || dir == "lspserver/conformance" || dir == "cmd/bench" || dir == "cmd/live"
}

// mostLines are limits: of the rooms that an edit goes through, and of the whole product. What raises one says why beside it.
var mostLines = map[string]int{
	"lspserver/workspace": 2967,
	"lspserver/follow":    433,  // a part of the workspace before; half of an edit proves nothing
	"lspserver/history":   220,  // a part of the workspace before; what was done to its fields has names
	"lspserver/stored":    353,  // a part of the workspace before
	"lspserver/landing":   176,  // a part of the workspace before
	"lspserver/delivery":  1132, // a part of the workspace before
	"lspserver/review":    2340, // what an undo would do is asked before a session goes back; an undo says which text another program has made its own; earlier states of a file are differences, since whole ones were most of the memory of a long session
	"filetime":            1012, // 845, the sources of what was seen and Forget, which the model's window calls, what waits in a plan, what a change calls when it waits for the editor, WithLock, the third verb of its front door, Revision.Ours, Past, which finds what a revision restores, and that in the ledger
	"filetime/disk":       2095,
	"all":                 92500, // the window of the model with its rewrites, the plan queue, forks and going back, commands and skills of files (decisions 143, 144, 147, 148); the walls of the heart (decision 146); lspserver/follow has a door of its own; texts and states by what changed; lists write themselves in pieces, and files over 8 MiB are indexed (decisions 139, 140); changes of documents are put in order (decision 145); the command line is parsed in cmd/commandline, which kong did; edits that are told late, and those that wait for one; a question has a reason for a person beside that for the model; the parts of Session, Options, Backend and Env are types, with locks, methods and contracts of their own
}

// TestF255Sizes prints the lines of every package (go test -v -run Sizes .), those of the harness apart, and warns where a part is over
// twice what it was meant to have. It fails where a limit is passed.
func TestF255Sizes(t *testing.T) {
	code, tries, tests := map[string]int{}, map[string]int{}, map[string]int{}
	for _, f := range repo(t).code {
		to := code
		switch {
		case f.test():
			to = tests
		case harness(f.dir):
			to = tries
		}
		to[f.dir] += linesOfCode(f)
		code[f.dir] += 0
	}
	dirs := make([]string, 0, len(code))
	all, allTries, allTests := 0, 0, 0
	for dir := range code {
		dirs = append(dirs, dir)
		all, allTries, allTests = all+code[dir], allTries+tries[dir], allTests+tests[dir]
	}
	slices.Sort(dirs)
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %8s %8s %8s\n", "lines of code", "product", "harness", "tests")
	for _, dir := range dirs {
		fmt.Fprintf(&b, "%-28s %8d %8d %8d\n", dir, code[dir], tries[dir], tests[dir])
	}
	fmt.Fprintf(&b, "%-28s %8d %8d %8d\n", "all", all, allTries, allTests)
	code["all"] = all
	for name, most := range mostLines {
		if code[name] > most {
			t.Errorf("%s has %d lines of code; the limit is %d", name, code[name], most)
		}
	}
	builtin := 0
	for dir, n := range code {
		if name, ok := roomOf(dir); ok && name == "tools/*" {
			builtin += n
		}
	}
	for _, part := range []struct {
		name         string
		lines, meant int
	}{
		{"types and registry (tools)", code["tools"], 200 + 130},
		{"paths and commands (sandbox)", code["sandbox"], 200},
		{"validators (tools/schema)", code["tools/schema"], 250 + 400},
		{"core (tools, tools/schema, sandbox)", code["tools"] + code["tools/schema"] + code["sandbox"], 1200},
		{"built-in tools", builtin, 1500},
	} {
		mark := ""
		if part.lines > 2*part.meant {
			mark = "  WARNING: over twice that"
		}
		fmt.Fprintf(&b, "%s: %d lines, meant to have %d%s\n", part.name, part.lines, part.meant, mark)
	}
	fmt.Fprint(os.Stdout, b.String())
}

// linesOfCode counts the lines that hold more than comments and blanks.
func linesOfCode(f goFile) int {
	fset := token.NewFileSet()
	file := fset.AddFile(path.Base(f.path), -1, len(f.src))
	var s scanner.Scanner
	s.Init(file, f.src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range 1 + strings.Count(lit, "\n") {
			lines[first+i] = true
		}
	}
}
