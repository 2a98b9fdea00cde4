package shell

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/rows.txt
var rowsText string

// TestFaultW15RowsOfPrograms takes each row of the table of programs away: a line that is known to read by it is asked about then. So no row is
// there that no test would miss.
func TestFaultW15RowsOfPrograms(t *testing.T) {
	reads := func(line string) bool { return parse(line, "/w/app", "/home/u", "/w/app").ReadOnly }
	var lines []string
	for text := range strings.Lines(sentText) {
		if line, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "reads "); ok {
			lines = append(lines, strings.ReplaceAll(line, "␤", "\n"))
		}
	}
	for line := range strings.Lines(rowsText) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		if lines = append(lines, line); !reads(line) {
			t.Errorf("%q is asked about", line)
		}
	}
	whole := programs
	defer func() { programs = whole }()
	for _, name := range slices.Sorted(maps.Keys(whole())) {
		less := maps.Clone(whole())
		delete(less, name)
		programs = func() map[string]*program { return less }
		last := name[strings.LastIndexByte(name, ' ')+1:]
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, last) && !reads(line) }) {
			t.Errorf("no line needs the row of %s", name)
		}
	}
}
