package builtin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

// shown says what the cases of a tool show of it.
type shown struct{ success, failure, rule bool }

// elsewhere are tests in Go that show a success, a graceful failure and the permission of a tool whose cases cannot be files: each
// needs a server or a list of deferred tools.
var elsewhere = map[string]struct {
	dir                    string
	success, failure, rule string
}{
	"tool_search": {"../toolsearch", "TestF028Loads", "TestF028Loads", ""},

	"fetch":      {"../fetch", "TestF174Page", "TestF174Statuses", "TestCaseN02"},
	"web_search": {"../websearch", "TestF175Services", "TestF175Failures", "TestF175Judge"},
}

// Every tool has cases on disk that show a success, a failure that says what to do, and what a mode, a rule or a person makes of it. What is
// allowed in every mode needs no third.
func TestF228_F034EveryToolHasItsCases(t *testing.T) {
	set := toolstest.SetOf(builtin.Tools()...)
	seen := map[string]*shown{}
	of := func(name string) *shown {
		tool := set.Get(name)
		if tool == nil {
			return &shown{}
		}
		s := tool.Spec().Name
		if seen[s] == nil {
			seen[s] = &shown{}
		}
		return seen[s]
	}
	call, failed := regexp.MustCompile(`^> (\S+) `), regexp.MustCompile(`^[A-Z]+(_[A-Z0-9]+)* `)
	update := regexp.MustCompile(`^\d+ (\S+) .*?  (.*)$`)
	cases := 0
	for _, root := range []string{"..", "../../lspserver/conformance/testdata"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".txtar" {
				return err
			}
			a, err := txtar.ParseFile(path)
			if err != nil {
				return err
			}
			for _, f := range a.Files {
				s := &shown{}
				for line := range strings.Lines(string(f.Data)) {
					line = strings.TrimSuffix(line, "\n")
					m := call.FindStringSubmatch(line)
					u := update.FindStringSubmatch(line)
					switch {
					case f.Name == "@out" && m != nil:
						s = of(m[1])
						cases++
					case f.Name == "@out" && line == "ok":
						s.success = true
					case f.Name == "@out" && (strings.HasPrefix(line, "asked: ") || strings.HasPrefix(line, "GATE_DENIED ")):
						s.rule = true
					case f.Name == "@out" && failed.MatchString(line):
						s.failure = true
					case f.Name == "@updates" && u != nil:
						s = of(u[1])
						s.success = s.success || strings.Contains(u[2], "completed")
						s.failure = s.failure || strings.Contains(u[2], "failed")
						s.rule = s.rule || strings.Contains(u[2], "asked") || strings.Contains(u[2], "GATE_DENIED")
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if cases < 100 {
		t.Fatalf("only %d calls were found in cases", cases)
	}
	for _, tool := range builtin.Tools() {
		s := tool.Spec()
		got := of(s.Name)
		if e, is := elsewhere[s.Name]; is {
			have := tests(t, e.dir)
			for what, name := range map[*bool]string{&got.success: e.success, &got.failure: e.failure, &got.rule: e.rule} {
				if name != "" && !slices.Contains(have, name) {
					t.Errorf("%s has no test %s", e.dir, name)
				}
				*what = *what || name != ""
			}
		}
		free := s.Danger == tools.Safe && (s.Kind.ReadOnly() || s.Kind == tools.Think)
		if !got.success || !got.failure || !got.rule && !free {
			t.Errorf("%s: no case shows all of success, failure and permission: %+v", s.Name, *got)
		}
	}
}

// tests are the names of the tests of a folder.
func tests(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out = append(out, fn.Name.Name)
			}
		}
	}
	return out
}

// budgets are the most bytes of an answer to the model, of a success and of a failure, over all cases: what is worth saying fits. Those
// of which more is asked for by the arguments (a file's text, a command's output) have what their cases need.
var budgets = map[string][2]int{
	"": {600, 600}, // every tool without a line of its own

	"read_file": {4_000, 1_500}, "grep": {1_500, 600}, "bash": {4_000, 4_000},
	"edit_file": {800, 1_200}, "multi_edit": {800, 1_200}, "write_file": {600, 1_200}, "patch": {2_500, 2_500},
	"delete_file": {800, 1_200}, "move_file": {800, 1_200},
}

// Answers to the model are as short as they can be: in the golden answers of all cases none is larger than its tool's budget.
func TestF263SizesOfAnswers(t *testing.T) {
	set := toolstest.SetOf(builtin.Tools()...)
	files, err := filepath.Glob("../*/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(raw).Files {
			if f.Name != "@out" {
				continue
			}
			for _, one := range strings.Split("\n"+string(f.Data), "\n> ")[1:] {
				name, _, _ := strings.Cut(one, " ")
				tool := set.Get(name)
				if tool == nil {
					continue
				}
				size, which := 0, 1
				for line := range strings.Lines(one) {
					if line == "ok\n" {
						which = 0
					}
					if text, ok := strings.CutPrefix(line, "| "); ok {
						size += len(text)
					}
				}
				most, own := budgets[tool.Spec().Name]
				if !own {
					most = budgets[""]
				}
				if answers++; size > most[which] {
					t.Errorf("%s: an answer of %s has %d bytes; the budget is %d", path, name, size, most[which])
				}
			}
		}
	}
	if answers < 100 {
		t.Errorf("%d answers", answers)
	}
}
