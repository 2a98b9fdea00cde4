package tandem

import (
	"cmp"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is a table whose lines have tests named after them.
type page struct {
	file string
	// word stands before the keys in a test's name: FindingU2Lines, FindingS3S4_titles, CaseP22P23_git.
	word string
	// row has a line's key, all of the line but the last column, which is generated, and what must have a test.
	row *regexp.Regexp
	// must says by the last part of row that a line has a test.
	must func(state string) bool
}

var pages = []page{
	{
		"docs/findings.md", "Finding",
		regexp.MustCompile(`^\| ([A-Z]\d+) \| .+? \| (mended|partly|open) \|`),
		func(state string) bool { return state == "mended" },
	},
	{
		"docs/faults.md", "Fault",
		regexp.MustCompile(`^\| ([A-Z]\d+) \| .+? \| (mended|partly|open) \|`),
		func(state string) bool { return state == "mended" },
	},
	{
		"docs/security-cases.md", "Case",
		regexp.MustCompile(`^\| ([A-Z]\d\d) \| .+? \| (.+?) \|`),
		func(state string) bool { return !strings.HasSuffix(state, "(*later*)") },
	},
}

// tests finds every test that names a line of the page, by the line's key.
func (p page) tests(t *testing.T, r *repository) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	key := regexp.MustCompile(`[A-Z]\d+`)
	keys := regexp.MustCompile(p.word + `((?:[A-Z]\d+)+)`)
	add := func(where, name string) {
		for _, m := range keys.FindAllStringSubmatch(name, 1) {
			for _, k := range key.FindAllString(m[1], -1) {
				out[k] = append(out[k], where+" "+strings.ReplaceAll(name, "|", `\|`))
			}
		}
	}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	quoted := regexp.MustCompile("[\"'`](" + p.word + "[A-Z]\\d[^\"'`]*)")
	// The cases of a tool are all of one kind, and leave the word out.
	short := regexp.MustCompile(`^([A-Z]\d\d)_`)
	for _, name := range r.files {
		switch base := path.Base(name); {
		case strings.HasSuffix(name, "_test.go"):
			content, _ := text(t, name)
			for _, m := range function.FindAllStringSubmatch(content, -1) {
				add(path.Dir(name), m[1])
			}
		case path.Ext(name) == ".txtar":
			dir, below, cases := strings.Cut(name, "/testdata/")
			if !cases {
				dir, below = path.Dir(name), base
			}
			add(dir, below)
			if m := short.FindStringSubmatch(base); m != nil && p.word == "Case" && strings.HasPrefix(name, "tools/") {
				out[m[1]] = append(out[m[1]], dir+" "+below)
			}
		case strings.HasPrefix(name, "editors/") && slices.Contains([]string{".lua", ".ts", ".mjs", ".el"}, path.Ext(name)):
			content, _ := text(t, name)
			for _, m := range quoted.FindAllStringSubmatch(content, -1) {
				add(path.Dir(name), base+": "+m[1])
			}
		}
	}
	return out
}

// TestFindings keeps the last columns of docs/findings.md, docs/faults.md and docs/security-cases.md: which tests keep each line mended, and
// which try each attack. A line that is said to hold must have one.
func TestFindings(t *testing.T) {
	for _, p := range pages {
		t.Run(p.word, p.check)
	}
}

func (p page) check(t *testing.T) {
	content, _ := text(t, p.file)
	have := p.tests(t, repo(t))
	known := map[string]bool{}
	var out strings.Builder
	for line := range strings.Lines(content) {
		m := p.row.FindStringSubmatch(line)
		if m == nil {
			out.WriteString(line)
			continue
		}
		if known[m[1]] {
			t.Errorf("%s stands in %s twice", m[1], p.file)
		}
		known[m[1]] = true
		names := have[m[1]]
		slices.SortFunc(names, cmp.Compare[string])
		names = slices.Compact(names)
		if p.must(m[2]) && len(names) == 0 {
			t.Errorf("%s is said to hold in %s and no test is named after it", m[1], p.file)
		}
		out.WriteString(m[0] + " " + strings.Join(names, "<br>") + " |\n")
	}
	for k, names := range have {
		if !known[k] {
			t.Errorf("%s names line %s, which %s does not have", names[0], k, p.file)
		}
	}
	if out.String() == content {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the tests' names say: go test . -run TestFindings -update", p.file)
	}
	if err := os.WriteFile(p.file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
