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

const findingsFile = "docs/findings.md"

// findings are the lines of docs/findings.md that a test's name says it keeps: FindingU2Lines, FindingS3S4_titles.
var findingNames = regexp.MustCompile(`Finding((?:[A-Z]\d+)+)`)

// findingTests finds every test that names a line, by the line's key.
func findingTests(t *testing.T, r *repository) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	key := regexp.MustCompile(`[A-Z]\d+`)
	add := func(where, name string) {
		for _, m := range findingNames.FindAllStringSubmatch(name, 1) {
			for _, k := range key.FindAllString(m[1], -1) {
				out[k] = append(out[k], where+" "+strings.ReplaceAll(name, "|", `\|`))
			}
		}
	}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	quoted := regexp.MustCompile("[\"'`](Finding[A-Z]\\d[^\"'`]*)")
	for _, name := range r.files {
		switch base := path.Base(name); {
		case strings.HasSuffix(name, "_test.go"):
			content, _ := text(t, name)
			for _, m := range function.FindAllStringSubmatch(content, -1) {
				add(path.Dir(name), m[1])
			}
		case path.Ext(name) == ".txtar":
			dir, below, cases := strings.Cut(name, "/testdata/")
			if cases {
				add(dir, below)
			} else {
				add(path.Dir(name), base)
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

// TestFindings keeps the last column of docs/findings.md: which tests keep each line mended. A line that is said to be
// mended must have one.
func TestFindings(t *testing.T) {
	content, _ := text(t, findingsFile)
	have := findingTests(t, repo(t))
	row := regexp.MustCompile(`^\| ([A-Z]\d+) \| (.+?) \| (mended|partly|open) \|`)
	known := map[string]bool{}
	var out strings.Builder
	for line := range strings.Lines(content) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			out.WriteString(line)
			continue
		}
		if known[m[1]] {
			t.Errorf("%s stands in %s twice", m[1], findingsFile)
		}
		known[m[1]] = true
		names := have[m[1]]
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
		names = slices.Compact(names)
		if m[3] == "mended" && len(names) == 0 {
			t.Errorf("%s is said to be mended in %s and no test is named after it", m[1], findingsFile)
		}
		out.WriteString(m[0] + " " + strings.Join(names, "<br>") + " |\n")
	}
	for k, names := range have {
		if !known[k] {
			t.Errorf("%s names line %s, which %s does not have", names[0], k, findingsFile)
		}
	}
	if out.String() == content {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the tests' names say: go test . -run TestFindings -update", findingsFile)
	}
	if err := os.WriteFile(findingsFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
