package regex

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tandem/sandbox/tree/treetest"
)

var update = flag.Bool("update", false, "write what ripgrep finds")

// patterns are those of testdata/patterns and some made of pieces, each with flags before a blank.
func patterns(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/patterns")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for p := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
		out = append(out, "- "+p, "i "+p, "w "+p)
	}
	pieces := []string{
		"a", "b", "foo", "ß", "é", "k", ".", `\w`, `\W`, `\d`, `\s`, `\S`, `\b`, `\B`, "^", "$", "[a-c]", "[^a-c]", `[\w-]`, "(", ")", "|", "(?:", "*", "+", "?", "{2}", "{1,3}", "{0,2}",
		`\.`, `\(`, "_", " ", `[[:upper:]]`, `\p{Greek}`, `\p{Lu}`, "(?i)", `[a-z&&[^b]]`, "x{2,}", `\<`, `\>`, "*?", "=", `\x41`, "1",
		`\r`, `\r?$`, "(?R)", "(?x)", "(?m)", "(?-m)", "(?s)", `\A`, `\z`, `\b{start}`, `\b{end-half}`, `\p{scx=Greek}`, `\p{Emoji}`, "(|a)", `[^\w]`, `(?-u:\b)`,
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1500 {
		p := ""
		for range 1 + r.IntN(6) {
			p += pieces[r.IntN(len(pieces))]
		}
		out = append(out, []string{"-", "-", "i", "w", "iw"}[r.IntN(5)]+" "+p)
	}
	return out
}

func options(flags string) Options {
	return Options{
		IgnoreCase: strings.Contains(flags, "i"), Word: strings.Contains(flags, "w"), Fixed: strings.Contains(flags, "F"),
		Multiline: strings.Contains(flags, "U"),
	}
}

// ours are the numbers of the lines that match, or error.
func ours(pattern string, o Options, text []byte) string {
	r, err := Parse(pattern, o)
	if err != nil || r.Braces || r.perl != nil || r.Multiline {
		return "error"
	}
	var out []string
	r.Matcher(nil).Lines(text, func(start, _ int) bool {
		out = append(out, strconv.Itoa(1+bytes.Count(text[:start], []byte("\n"))))
		return true
	})
	return strings.Join(out, " ")
}

// TestAsRipgrep compares the lines that match with those that ripgrep finds, for each pattern and its flags.
func TestAsRipgrep(t *testing.T) {
	text, err := os.ReadFile("testdata/text")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "ripgrep.golden")
	if *update {
		var b strings.Builder
		for _, p := range patterns(t) {
			fmt.Fprintf(&b, "%s\t%s\n", p, theirs(t, p))
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
		p, want, _ := strings.Cut(line, "\t")
		flags, pattern, _ := strings.Cut(p, " ")
		if got := ours(pattern, options(flags), text); got != want {
			t.Errorf("%s\n got %s\nwant %s", p, got, want)
		}
		n++
	}
	if n < 1500 {
		t.Errorf("only %d patterns", n)
	}
}

func theirs(t *testing.T, p string) string {
	flags, pattern, _ := strings.Cut(p, " ")
	args := []string{"--no-config", "-n", "-a"}
	for _, f := range strings.Trim(flags, "-") {
		args = append(args, "-"+string(f))
	}
	out, err := exec.Command(treetest.Ripgrep(t), append(args, "-e", pattern, "--", "testdata/text")...).Output()
	if err, failed := err.(*exec.ExitError); failed && err.ExitCode() == 2 {
		return "error"
	}
	var lines []string
	for l := range strings.Lines(string(out)) {
		n, _, _ := strings.Cut(l, ":")
		lines = append(lines, n)
	}
	return strings.Join(lines, " ")
}
