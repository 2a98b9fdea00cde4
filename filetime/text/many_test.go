package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What maps or numbers many offsets says the same as what does one.
func TestFaultW18ManyAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := strings.Repeat(drawText(t, "text", 12), rapid.SampledFrom([]int{1, 1, 400}).Draw(t, "times"))
		x := New(base)
		set := drawSet(t, "set", base[:min(len(base), 60)], 6)
		over, liner, eols := set.Mapping(), x.Liner(), x.ends()
		for range 20 {
			off := rapid.IntRange(0, len(base)).Draw(t, "offset")
			if got, want := liner.Line(off), x.Line(off); got != want {
				t.Fatalf("line %d, want %d of %d in %q", got, want, off, base)
			}
			if got, want := eols.at(off), eolAt(x, off); got != want && !x.splitsAt(off) {
				t.Fatalf("line end %q, want %q at %d in %q", got, want, off, base)
			}
			for _, after := range []bool{false, true} {
				if got, want := over.Pos(off, after), set.MapPos(off, after); got != want {
					t.Fatalf("%d (%v) is at %d, want %d after %v", off, after, got, want, set)
				}
			}
			end := off + rapid.IntRange(0, 9).Draw(t, "length")
			want := false
			for _, e := range set {
				want = want || e.Start < end && off < e.End
			}
			if got := set.Meets(off, end); got != want {
				t.Fatalf("%d-%d meets %v: %v", off, end, set, got)
			}
		}
	})
}

func (t Text) splitsAt(off int) bool { c := cursor{c: t.chunks()}; return c.splits(off) }
