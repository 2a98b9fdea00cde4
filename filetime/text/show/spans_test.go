package show

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// marked writes the changed parts of the lines of a unified diff in brackets.
func marked(f File) string {
	lines := strings.Split(f.Unified, "\n")
	for _, s := range slices.Backward(f.Spans()) {
		runes := []rune(lines[s.Line][1:])
		lines[s.Line] = lines[s.Line][:1] + string(runes[:s.Start]) + "[" + string(runes[s.Start:s.End]) + "]" + string(runes[s.End:])
	}
	return strings.Join(lines, "\n")
}

func TestF094SpansOfLines(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"a word":            {"x := one()\n", "x := two()\n", "-x := [one]()\n+x := [two]()\n"},
		"a whole line":      {"one\n", "alpha\n", "-one\n+alpha\n"},
		"one of two lines":  {"a\nthe text one of it\n", "a\nthe text two of it\nnew\n", " a\n-the text [one] of it\n+the text [two] of it\n+new\n"},
		"beyond the BMP":    {"😀 one 😀\n", "😀 two 😀\n", "-😀 [one] 😀\n+😀 [two] 😀\n"},
		"CRLF":              {"a one\r\n", "a two\r\n", "-a [one]\r\n+a [two]\r\n"},
		"no end":            {"a one", "a two", "-a [one]\n\\ No newline at end of file\n+a [two]\n\\ No newline at end of file\n"},
		"like a header":     {"-- one\n", "-- two\n", "--- [one]\n+-- [two]\n"},
		"only an insertion": {"f(a)\n", "f(a, b)\n", "-f(a)\n+f(a[, b])\n"},
		"not UTF-8":         {"a \xff one\n", "a \xff two\n", "-a \xff one\n+a \xff two\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got, _ := strings.Cut(marked(Diff("f", text.New(c.old), text.New(c.new), Options{})), "@@\n")
			if got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

// TestF094SpansAreOfTheirLines: each span lies within a line that was added or taken away.
func TestF094SpansAreOfTheirLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string {
			lines := rapid.SliceOfN(rapid.SampledFrom([]string{"one two", "one 2", "three", "öne two", "", "@@ x", "+ y", "one two\r"}), 0, 12).Draw(t, name)
			return strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, name+" end")
		}
		old, new := text.New(draw("old")), text.New(draw("new"))
		f := Diff("f", old, new, Options{Context: rapid.IntRange(-1, 3).Draw(t, "context")})
		lines := strings.Split(f.Unified, "\n")
		for _, s := range f.Spans() {
			line := []rune(lines[s.Line])
			if line[0] != '+' && line[0] != '-' || s.Start < 0 || s.Start >= s.End || s.End > len(line)-1 {
				t.Fatalf("%v of %q", s, string(line))
			}
		}
	})
}
