package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFaultE11NothingToRebaseOver: an edit that nobody has typed beside is applied as it is, wherever its lines could slide to.
func TestFaultE11NothingToRebaseOver(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.SampledFrom([]string{"\tfoo()\n", "\tbar()\n", "foo()\n", "}\n", "\n", "é\n", "\r\n"})
		lines := func(label string, least, most int) string {
			return strings.Join(rapid.SliceOfN(line, least, most).Draw(r, label), "")
		}
		content := lines("content", 1, 12) + rapid.SampledFrom([]string{"", "end"}).Draw(r, "last")
		start := rapid.IntRange(0, len(content)).Draw(r, "start")
		end := rapid.IntRange(start, min(len(content), start+20)).Draw(r, "end")
		set := Set{{Start: start, End: end, New: lines("new", 0, 2) + rapid.SampledFrom([]string{"", "\t", "foo", "o()"}).Draw(r, "rest")}}
		base := New(content)
		if set.Validate(base) != nil {
			return
		}
		got := Rebase(base, set, nil)
		switch {
		case len(got.Conflicts) > 0:
			r.Fatalf("%q %+v: %+v", content, set, got.Conflicts)
		case got.Set.Apply(base).String() != set.Apply(base).String():
			r.Fatalf("%q %+v: became %+v", content, set, got.Set)
		case !SameSpans(base, set, base, got.Set):
			r.Fatalf("%q %+v: deletes other text as %+v", content, set, got.Set)
		}
	})
}
