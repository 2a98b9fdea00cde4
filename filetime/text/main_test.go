package text

import (
	"flag"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Properties are cheap here, so each is checked on 12,000 cases unless told otherwise, on 6,000 with -short: rapid takes a
// fifth of what it is told then.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		checks := "12000"
		if testing.Short() {
			checks = "30000"
		}
		flag.Set("rapid.checks", checks)
	}
	os.Exit(m.Run())
}

// nasty are pieces that meet in unpleasant ways: parts of line ends and of characters.
var nasty = rapid.SampledFrom([]string{
	"a", "b", "foo", "bar_1", " ", "\t", "  ", "\n", "\n\n", "\r\n", "\r", "é", "😀", "\xff", "\xe4", "\xb8\xad",
	"\xf0\x9f",
	"\x98\x80", "\x00", "\uFEFF", "x := y\n", "}\n", "“", "—", "\u00a0", "(", ", ",
})

func drawText(t *rapid.T, name string, n int) string {
	return strings.Join(rapid.SliceOfN(nasty, 0, n).Draw(t, name), "")
}

// places returns the offsets at which an edit of s may begin or end.
func places(s string) []int {
	var out []int
	for i := 0; i <= len(s); i++ {
		if !splits(s, i) {
			out = append(out, i)
		}
	}
	return out
}

// drawSet returns a valid set over base; its edits may touch.
func drawSet(t *rapid.T, name, base string, n int) Set {
	at := places(base)
	var s Set
	from := 0
	for range rapid.IntRange(0, n).Draw(t, name+" edits") {
		i := rapid.IntRange(from, len(at)-1).Draw(t, name+" start")
		j := rapid.IntRange(i, min(i+4, len(at)-1)).Draw(t, name+" end")
		s = append(s, Edit{at[i], at[j], drawText(t, name+" new", 3)})
		from = j
	}
	return s
}

// splice applies a set the plain way.
func splice(base string, s Set) string {
	var b strings.Builder
	last := 0
	for _, e := range s {
		b.WriteString(base[last:e.Start] + e.New)
		last = e.End
	}
	return b.String() + base[last:]
}
