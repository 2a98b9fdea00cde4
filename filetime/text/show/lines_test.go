package show

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// wholeLines says that a range of a text begins and ends where lines do.
func wholeLines(s string, start, end int) bool {
	at := func(i int) bool { return i == 0 || i == len(s) || s[i-1] == '\n' }
	return at(start) && at(end)
}

// TestFindingU2Lines: the changed lines lead from one text to the other, are whole, are those that the diff shows, and no
// hunk has a line on both sides.
func TestFindingU2Lines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawFile(t, "old"), drawFile(t, "new")
		set := Lines(text.New(old), text.New(new))
		if err := set.Validate(text.New(old)); err != nil {
			t.Fatal(err)
		}
		if got := set.Apply(text.New(old)).String(); got != new {
			t.Fatalf("the lines lead to %q", got)
		}
		f := patient("p", text.New(old), text.New(new), Options{})
		if len(f.Hunks) != len(set) {
			t.Fatalf("%d hunks are shown, and there are %d", len(f.Hunks), len(set))
		}
		adds, dels := 0, 0
		for i, e := range set {
			was := old[e.Start:e.End]
			if !wholeLines(old, e.Start, e.End) || was != f.Hunks[i].Old || e.New != f.Hunks[i].New {
				t.Fatalf("%q becomes %q, shown is %+v", was, e.New, f.Hunks[i])
			}
			apart(t, was, e.New)
			adds, dels = adds+len(split(e.New)), dels+len(split(was))
		}
		if adds != f.Additions || dels != f.Deletions {
			t.Fatalf("+%d -%d, shown is +%d -%d", adds, dels, f.Additions, f.Deletions)
		}
	})
}

// apart fails where a line stands on both sides.
func apart(t *rapid.T, old, new string) {
	for _, l := range split(new) {
		if slices.Contains(split(old), l) {
			t.Fatalf("%q stands on both sides of\n%q\n%q", l, old, new)
		}
	}
}

// TestFindingU2Back: a diff along known changes has only lines that they touch, and leads from one text to the other.
func TestFindingU2Back(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		new := drawFile(t, "new")
		var back text.Set
		touched := map[int]bool{} // lines of new
		for at := 0; at <= len(new) && rapid.Bool().Draw(t, "edit"); at++ {
			start := rapid.IntRange(at, len(new)).Draw(t, "start")
			end := rapid.IntRange(start, min(start+8, len(new))).Draw(t, "end")
			e := text.Edit{Start: start, End: end, New: rapid.SampledFrom([]string{"", "b", "\n", "a\n", "a\nb\nfoo"}).Draw(t, "text")}
			for l := strings.Count(new[:start], "\n"); l <= strings.Count(new[:end], "\n"); l++ {
				touched[l] = true
			}
			back, at = append(back, e), end
		}
		if back.Validate(text.New(new)) != nil {
			t.Skip("inside a character")
		}
		old := back.Apply(text.New(new)).String()
		f := Back("p", text.New(new), back, Options{})
		var out strings.Builder
		lines, at := split(old), 0
		adds, dels := 0, 0
		for _, h := range f.Hunks {
			from := h.OldStart - 1
			if h.OldLines == 0 {
				from++
			}
			out.WriteString(strings.Join(lines[at:from], ""))
			if got := strings.Join(lines[from:from+h.OldLines], ""); got != h.Old {
				t.Fatalf("hunk %+v, the lines are %q", h, got)
			}
			apart(t, h.Old, h.New)
			for l := range h.NewLines {
				if !touched[h.NewStart-1+l] {
					t.Fatalf("line %d was not touched: %+v", h.NewStart+l, h)
				}
			}
			out.WriteString(h.New)
			at = from + h.OldLines
			adds, dels = adds+h.NewLines, dels+h.OldLines
		}
		out.WriteString(strings.Join(lines[at:], ""))
		if out.String() != new || adds != f.Additions || dels != f.Deletions {
			t.Fatalf("the hunks lead from %q to %q, not %q: %+v", old, out.String(), new, f)
		}
	})
}

// TestFindingU2LinesOfManyTexts looks for a line on both sides where the search is cut off: in longer texts that repeat
// themselves.
func TestFindingU2LinesOfManyTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cases := 300
	if testing.Short() {
		cases = 30
	}
	for n := range cases {
		line := func() string { return string(rune('a'+r.IntN(26))) + "\n" }
		var old, new []string
		for range 50 + r.IntN(150)*(1+9*(n%2)) {
			l := line()
			switch r.IntN(6) {
			case 0:
				old = append(old, l)
			case 1:
				new = append(new, l)
			case 2:
				old, new = append(old, l), append(new, line())
			default:
				old, new = append(old, l), append(new, l)
			}
		}
		f := diff("p", text.New(strings.Join(old, "")), text.New(strings.Join(new, "")), Options{}, time.Hour)
		for _, h := range f.Hunks {
			for _, l := range split(h.New) {
				if slices.Contains(split(h.Old), l) {
					t.Fatalf("%q stands on both sides of %+v", l, h)
				}
			}
		}
	}
}
