package shell

import (
	"context"
	"strconv"
	"strings"
	"testing"
)

// TestLimits: what is at a limit is looked into, and what is one beyond is not, or is forbidden.
func TestLimits(t *testing.T) {
	nest := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	if c := parse("ls "+strings.Repeat("a", MaxLine-3), "/w"); !c.ReadOnly {
		t.Errorf("a line of %d bytes: %s", MaxLine, c.Opaque)
	}
	for _, tt := range []struct {
		what string
		text func(n int) string
		most int
	}{
		{"brackets that stand open", func(n int) string { return strings.Repeat("(", n) }, maxOpen},
		{"brackets of three kinds", func(n int) string { return strings.Repeat("({[", n/3) + strings.Repeat("(", n%3) }, maxOpen},
		{"brackets behind ones that are closed", func(n int) string { return "}])" + strings.Repeat("()", maxOpen) + strings.Repeat("[", n) }, maxOpen},
		{"signs in a row", func(n int) string { return "a" + strings.Repeat("-", n) + "a" + strings.Repeat("!~+", maxSigns/3) }, maxSigns},
		{"signs behind blanks", func(n int) string { return strings.Repeat("- ", n) }, maxSigns},
		{"keywords", func(n int) string { return strings.Repeat("if ", n) + "." }, maxKeywords},
		{"keywords behind marks", func(n int) string { return strings.Repeat(";if ", n) + "." }, maxKeywords},
		{"keywords of several lines", func(n int) string { return strings.Repeat("if\n", n) + strings.Repeat("xif ", 100) + "." }, maxKeywords},
	} {
		if !parsable(tt.text(tt.most)) {
			t.Errorf("%s: %d are too many", tt.what, tt.most)
		}
		if parsable(tt.text(tt.most + 1)) {
			t.Errorf("%s: %d are not too many", tt.what, tt.most+1)
		}
	}
	if !parsable(strings.Repeat("a", MaxLine)) || parsable(strings.Repeat("a", MaxLine+1)) {
		t.Error("the length")
	}
	within := func(n int) string { // a line in a line, n times
		line := "ls"
		for range n {
			line = "eval " + strconv.Quote(line)
			line = strings.ReplaceAll(line, "$", `\$`)
		}
		return line
	}
	if c := parse(within(maxNested), "/w"); c.Forbidden != "" {
		t.Errorf("%d lines within each other: %s", maxNested, c.Forbidden)
	}
	if c := parse(within(maxNested+1), "/w"); c.Forbidden == "" {
		t.Errorf("%d lines within each other", maxNested+1)
	}
	if c := parse(strings.Repeat("eval ls; ", 3*maxNested), "/w"); c.Forbidden != "" {
		t.Errorf("lines behind each other: %s", c.Forbidden)
	}
	cd := func(n int) (line string) {
		for i := range n {
			line += "cd /d" + strconv.Itoa(i) + "; "
		}
		return line
	}
	if c := parse(cd(maxDirs-1)+"rm -rf a", "/w"); c.Forbidden != "" {
		t.Errorf("%d folders: %s", maxDirs, c.Forbidden)
	}
	if c := parse(cd(maxDirs)+"rm -rf a", "/w"); c.Forbidden == "" {
		t.Errorf("%d folders", maxDirs+1)
	}
	if c := parse(strings.Repeat("cd /d; cd /e; ", 2*maxDirs)+"rm -rf a", "/w"); c.Forbidden != "" {
		t.Errorf("one folder again and again: %s", c.Forbidden)
	}
	calls := func(n int) string { return "f() { cat; }; " + strings.Repeat("f <<<a; ", n) }
	if c := parse(calls(maxCalled), "/w"); c.Danger != Moderate {
		t.Errorf("%d calls of a function: %s", maxCalled, c.Risk)
	}
	if c := parse(calls(maxCalled+1), "/w"); c.Danger != Dangerous {
		t.Errorf("%d calls of a function", maxCalled+1)
	}
	files := func(n int) (line string) {
		line = "cat"
		for i := range n {
			line += " a" + strconv.Itoa(i)
		}
		return line
	}
	if c := parse(files(maxReads), "/w"); !c.ReadOnly || len(c.Reads) != maxReads {
		t.Errorf("%d files: %+v", maxReads, c)
	}
	if c := parse(files(maxReads+1), "/w"); c.ReadOnly {
		t.Errorf("%d files", maxReads+1)
	}
	if c := parse(strings.Repeat("cat a; ", 2*maxReads), "/w"); !c.ReadOnly || len(c.Reads) != 1 {
		t.Errorf("one file again and again: %+v", c)
	}
	items := func(n int) (line string) {
		for i := range n {
			line += " a" + strconv.Itoa(i)
		}
		return line
	}
	if c := parse("for f in"+items(maxNames)+"; do cat \"$f\"; done", "/w"); !c.ReadOnly {
		t.Errorf("%d values: %s", maxNames, c.Opaque)
	}
	if c := parse("for f in"+items(maxNames+1)+"; do echo \"$f\"; done", "/w"); !c.ReadOnly {
		t.Errorf("any value is printed: %s", c.Opaque)
	}
	if c := parse("for f in"+items(maxNames+1)+"; do cat \"$f\"; done", "/w"); c.ReadOnly {
		t.Errorf("%d values", maxNames+1)
	}
	pairs := func(a, b int) string {
		return "for f in" + items(a) + "; do for g in" + items(b) + "; do cat \"$f$g\"; done; done"
	}
	if c := parse(pairs(8, 8), "/w"); !c.ReadOnly || len(c.Reads) != 64 {
		t.Errorf("64 pairs: %+v", c)
	}
	if c := parse(pairs(5, 13), "/w"); c.ReadOnly {
		t.Error("65 pairs")
	}
	if c := parse(nest("f() { ", "ls; ", "}; f; ", 3), "/w"); c.Forbidden != "" {
		t.Errorf("functions that call each other: %s", c.Forbidden)
	}
}

// TestNobodyWaits: a search whose context has ended looks into nothing more, wherever it is.
func TestNobodyWaits(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	s := newSearch(ended, "/w", nil)
	stmts, _ := newSearch(t.Context(), "/w", nil).line("f() { bash; }; a $(sudo ls); f <<<'sudo ls'")
	for _, stmt := range stmts {
		s.tree(stmt)
		s.reads(stmt)
	}
	s.calls("f", stmts[0], input{stream: "a pipe"})
	if s.found != nil || s.forbidden != "" || s.danger != Moderate {
		t.Errorf("%+v", s)
	}
}

// TestForkBombs: a function that calls itself in a pipe or in the background is forbidden, and one that is merely called there is not.
func TestForkBombs(t *testing.T) {
	for line, forbidden := range map[string]bool{
		"f() { f | f; }; f": true, "f() { f |& f; }; f": true, "f() { f & }; f": true, "f() { a; b & f; }": false, "f() { f; }": false, "f() { f && f; }; f | f": false,
		"f() { a; }; f | f": false, "f() { a; }; f &": false, "f() { g | g; }; g() { f; }": false, "f() { a | b; f; }": false, "f() { { a & }; f; }": false, "f() { g() { f | f; }; }": true,
	} {
		if c := parse(line, "/w"); (c.Forbidden != "") != forbidden {
			t.Errorf("%q: %q", line, c.Forbidden)
		}
	}
}

// TestUnsureRunners: where it is not known which word a runner runs, each could be it.
func TestUnsureRunners(t *testing.T) {
	for line, want := range map[string]string{
		"timeout --what 5 sudo ls": "forbidden", "timeout --what x y sudo ls": "forbidden", "nice --what x rm -rf /": "forbidden", "nice --what x rm a rm -rf /": "forbidden",
		"timeout --what 5 rm a": "dangerous", "timeout --what 5 ls a": "moderate", "nice -5 echo sudo": "moderate", "nice -x echo sudo": "forbidden", "nice -5x echo sudo": "forbidden", "env -i echo sudo": "moderate",
		"env --what echo sudo": "forbidden", "timeout -Z echo sudo ls": "forbidden", "timeout -v 5 echo sudo": "moderate", "timeout -vs KILL 5 echo sudo": "moderate", "timeout -sKILL 5 echo sudo": "moderate",
		"xargs echo sudo": "moderate", "xargs -n 1 rm": "dangerous", "flock -w 5 x echo sudo": "moderate", "env -u": "moderate", "timeout -s": "moderate", "timeout": "moderate", "flock -c": "moderate",
		"bash -o": "moderate", "bash -c -e": "moderate", "bash -c +e": "moderate", "bash -": "moderate", "bash -o pipefail": "moderate", "bash -o $x a": "moderate", "bash $x": "dangerous", "bash a $x": "moderate",
		"bash +x $x": "dangerous", "bash -O extglob $x": "dangerous", "parallel -j": "moderate", "xargs -I": "moderate", "xargs -I X rm X": "dangerous", "eval": "dangerous", "init": "moderate", "init 0": "forbidden", "init 3": "moderate", "systemctl": "moderate", "kill": "moderate", "ls | xargs -I": "moderate",
	} {
		c := parse(line, "/w")
		got := c.Danger.String()
		if c.Forbidden != "" {
			got = "forbidden"
		}
		if c.ReadOnly {
			got = "moderate"
		}
		if got != want {
			t.Errorf("%q is %s, want %s: %s%s", line, got, want, c.Risk, c.Forbidden)
		}
	}
}
