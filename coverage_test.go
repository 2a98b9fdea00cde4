package tandem

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/coverage.md anew")

const (
	featuresFile = "docs/features.md"
	coverageFile = "docs/coverage.md"
)

// feature is one number of the checklist.
type feature struct {
	key    string // F12, F139a
	number int
	served bool
}

// features reads the checklist and what is wrong with it.
func features(t *testing.T) []feature {
	t.Helper()
	content, _ := text(t, featuresFile)
	line := regexp.MustCompile(`^- \*\*(F(\d+)[ab]?)\*\* \[(served|later)\] \S.*\. \*Seen:\* \S`)
	var out []feature
	for i, l := range strings.Split(content, "\n") {
		if !strings.HasPrefix(l, "- ") {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("%s:%d: not of the form: - **F12** [served|later] what. *Seen:* how", featuresFile, i+1)
			continue
		}
		n, _ := strconv.Atoi(m[2])
		out = append(out, feature{m[1], n, m[3] == "served"})
	}
	return out
}

// TestFeatures wants the numbers of the checklist to be all there, each once and in order of their groups.
func TestFeatures(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, f := range features(t) {
		if seen[f.key] {
			t.Errorf("%s stands in %s twice", f.key, featuresFile)
		}
		if seen[f.key] = true; f.number != last && f.number != last+1 {
			t.Errorf("%s comes after F%d", f.key, last)
		}
		last = f.number
	}
	if last != 285 {
		t.Errorf("the checklist ends with F%d: numbers are never taken away; a new one needs its number here", last)
	}
}

var (
	numbers = regexp.MustCompile(`^(?:F\d{1,3}(?:[ab](?:[^a-z]|$))?_?)+`)
	number  = regexp.MustCompile(`F(\d{1,3})([ab]\b|[ab][^a-z])?`)
)

// numbersOf are the features that a name says it tests: F155_F157_shifted, F139aPool, F042OneDefinition.
func numbersOf(name string) []string {
	var out []string
	for _, m := range number.FindAllStringSubmatch(numbers.FindString(name), -1) {
		n, _ := strconv.Atoi(m[1])
		key := fmt.Sprintf("F%d", n)
		if m[2] != "" {
			key += m[2][:1]
		}
		out = append(out, key)
	}
	return out
}

func TestNumbersOf(t *testing.T) {
	for name, want := range map[string]string{
		"F155EditUnique": "F155", "F042OneDefinition": "F42", "F139aPool": "F139a", "F139a": "F139a",
		"F155_F157_shifted": "F155 F157", "F12anything": "F12", "F7": "F7", "F139abc": "F139",
		"Frame": "", "Resolve": "", "_F9": "",
	} {
		if got := strings.Join(numbersOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// named is a test that names features.
type named struct {
	where, name string
	features    []string
}

// tests finds everything that names a feature: test, fuzz and benchmark functions in Go, cases in files of their own,
// and the tests of the editor clients.
func tests(t *testing.T, r *repository) []named {
	t.Helper()
	var out []named
	add := func(where, name, stem string) {
		if f := numbersOf(stem); len(f) > 0 {
			out = append(out, named{where, name, f})
		}
	}
	runs := map[string]bool{} // folders with Go tests
	for _, f := range r.code {
		if !f.test() {
			continue
		}
		runs[f.dir] = true
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			for _, kind := range []string{"Test", "Fuzz", "Benchmark"} {
				if stem, ok := strings.CutPrefix(fn.Name.Name, kind); ok {
					add(f.dir, fn.Name.Name, strings.TrimPrefix(stem, "_"))
				}
			}
		}
	}
	quoted := regexp.MustCompile(`\b(?:it|test|describe|case|T)\s*[(\[]\s*["'` + "`" + `](F\d[^"'` + "`" + `]*)`)
	function := regexp.MustCompile(`function\s+[\w.:]*?test_(F\d\w*)`)
	for _, name := range r.files {
		dir, below, cases := strings.Cut(name, "/testdata/")
		switch path.Ext(name) {
		case ".txtar":
			if cases && !runs[dir] {
				t.Errorf("%s is a case that no test of %s runs", name, dir)
			}
			if stem := path.Base(name); cases {
				add(dir, below, strings.TrimSuffix(stem, ".txtar"))
			} else if strings.HasPrefix(name, "editors/transcripts/") {
				add(path.Dir(name), stem, strings.TrimSuffix(stem, ".txtar"))
			}
		case ".lua", ".ts":
			if !strings.HasPrefix(name, "editors/") || !strings.Contains(name, "test") && !strings.Contains(name, "spec") {
				continue
			}
			content, _ := text(t, name)
			for _, m := range append(quoted.FindAllStringSubmatch(content, -1), function.FindAllStringSubmatch(content, -1)...) {
				add(path.Dir(name), path.Base(name)+": "+m[1], m[1])
			}
		}
	}
	slices.SortFunc(out, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.where, b.where), cmp.Compare(a.name, b.name))
	})
	return out
}

// TestCoverage keeps docs/coverage.md: which tests each number of the checklist has. A served number must have one.
func TestCoverage(t *testing.T) {
	list := features(t)
	covered := map[string][]string{}
	for _, f := range list {
		covered[f.key] = nil
	}
	for _, n := range tests(t, repo(t)) {
		for _, key := range n.features {
			if _, ok := covered[key]; !ok {
				t.Errorf("%s: %s names %s, which %s does not have", n.where, n.name, key, featuresFile)
				continue
			}
			covered[key] = append(covered[key], n.where+" "+strings.ReplaceAll(n.name, "|", `\|`))
		}
	}
	var bare []string
	served, tested := 0, 0
	var table strings.Builder
	for _, f := range list {
		where := slices.Compact(covered[f.key])
		what := strings.Join(where, "<br>")
		if f.served {
			served++
		}
		switch {
		case len(where) > 0:
			tested++
		case f.served:
			bare = append(bare, f.key)
			what = "**none**"
		default:
			what = "later"
		}
		fmt.Fprintf(&table, "| %s | %s |\n", f.key, what)
	}
	doc := fmt.Sprintf("<!-- Generated from the names of tests: go test . -run TestCoverage -update -->\n"+
		"# Which tests cover which features\n\n"+
		"Of %d numbers in [features.md](features.md), %d are served and %d have tests. A test covers the numbers in its "+
		"name:\n`TestF155EditUnique`, `F155_F157_shifted.txtar`.\n\n| feature | tests |\n|---|---|\n%s",
		len(list), served, tested, table.String())
	if len(bare) > 0 {
		t.Errorf("%d served features have no test: %s", len(bare), strings.Join(bare, " "))
	}
	if *update {
		if err := os.WriteFile(coverageFile, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(coverageFile); err != nil || string(have) != doc {
		t.Errorf("%s is out of date: go test . -run TestCoverage -update", coverageFile)
	}
	if extra := slices.Sorted(maps.Keys(covered)); len(extra) != len(list) {
		t.Errorf("%d numbers for %d lines of %s", len(extra), len(list), featuresFile)
	}
}
