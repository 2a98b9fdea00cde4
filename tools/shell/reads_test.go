package shell

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/reads.txt
var readsText string

// whatReads is what is known of a line that may only read: whether it looks for something, what of each path is read, or why it is asked
// about.
func whatReads(c Command) string {
	if !c.ReadOnly {
		return "asks: " + c.Opaque
	}
	out := "reads"
	if c.Searches {
		out = "searches"
	}
	for _, r := range c.Reads {
		out += " " + strings.NewReplacer(" ", "%20", "\n", "␤").Replace(r.Path) + [...]string{"", "+below", "+visible", "+tracked", "+trackedbelow"}[r.Extent]
		if r.Glob {
			out += "+glob"
		}
		if r.Names {
			out += "+names"
		}
		if r.Split {
			out += "+split"
		}
	}
	return out
}

// TestWhatLinesRead: for each line of the table what of which path it reads, or why it is asked about.
func TestWhatLinesRead(t *testing.T) {
	for row := range strings.Lines(readsText) {
		row = strings.TrimSuffix(row, "\n")
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		line, want, _ := strings.Cut(row, " => ")
		if got := whatReads(parse(strings.ReplaceAll(line, "␤", "\n"), "/w/app")); got != want {
			t.Errorf("%s\n is  %s\nwant %s", line, got, want)
		}
	}
}

// TestFoldersWithBlanks: where the path of the folder is several words to the shell, nobody knows what $PWD and $(pwd) name.
func TestFoldersWithBlanks(t *testing.T) {
	for _, line := range []string{"cat $PWD/a", "cat $(pwd)/a", "x=$PWD; cat $x/a", "pwd | xargs ls", "for d in $(pwd); do ls \"$d\"; done", "bash -c 'cat $PWD/a'", "cat `pwd`/a"} {
		if c := parse(line, "/w/app"); !c.ReadOnly {
			t.Errorf("%q is asked about: %s", line, c.Opaque)
		}
		if c := parse(line, "/w/my app"); c.ReadOnly {
			t.Errorf("%q is not asked about: %+v", line, c)
		}
		if c := parse("cd 'a b' && "+line, "/w/app"); c.ReadOnly {
			t.Errorf("%q is not asked about: %+v", line, c)
		}
	}
	for _, line := range []string{"cat a", "pwd", "echo $PWD", "ls", "for f in *.go; do cat \"$f\"; done"} {
		if c := parse(line, "/w/my app"); !c.ReadOnly {
			t.Errorf("%q is asked about: %s", line, c.Opaque)
		}
	}
}
