package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// moved lets a file move on under a quotation of the lines from at to end. The last of
// the ways changes blanks alone, and comes up rarely; formatted says so.
func (a author) moved(lines []string, at, end int) (now []string, how string, formatted bool) {
	block := slices.Clone(lines[at:end])
	k := a.r.IntN(len(block))
	for strings.TrimSpace(block[k]) == "" {
		k = (k + 1) % len(block)
	}
	switch n := a.r.IntN(100); {
	case n < 30:
		how, block[k] = "a word changed", a.renamed(block[k])
	case n < 45:
		how, block = "a line put in", slices.Insert(block, a.r.IntN(len(block)-1)+1, a.line())
	case n < 55:
		how, block = "a line gone", slices.Delete(block, k, k+1)
	case n < 65:
		how, block[k] = "a line replaced", a.line()
	case n < 75:
		how = "indented, and a word changed"
		for i, l := range block {
			if strings.TrimSpace(l) != "" {
				block[i] = "\t" + l
			}
		}
		block[k] = a.renamed(block[k])
	case n < 80:
		how = "two lines exchanged"
		j := (k + 1 + a.r.IntN(len(block)-1)) % len(block)
		block[k], block[j] = block[j], block[k]
	case n < 85:
		how = "signs changed"
		block[k] = strings.TrimRight(block[k], "\n") + " // “" + a.word() + "”\n"
	case n < 90:
		how, block[k] = "commented out", "//"+block[k]
	case n < 95:
		how, block[k] = "one line indented", "\t"+block[k]
	case n < 99:
		how, block = "gone", []string{a.line()}
	default:
		how, formatted = "formatted", true
		for i, l := range block {
			if a.r.IntN(2) == 0 {
				block[i] = strings.TrimRight(l, "\n") + "  \n"
			} else if strings.TrimSpace(l) != "" && k%2 == 0 {
				block[i] = "\t" + l
			}
		}
	}
	return slices.Replace(slices.Clone(lines), at, end, block...), how, formatted
}

// TestStaleText quotes what a file said before it moved on. Where words, signs or the
// order of lines have changed, that place may not be found; where it was blanks alone,
// it may. Now and then the same lines stand elsewhere with another indentation, and are
// the only ones left: Locate cannot know that others were meant, which is why callers
// look in what the model was shown.
func TestStaleText(t *testing.T) {
	t.Parallel()
	const want = 1500
	r := rand.New(rand.NewPCG(9, 9))
	a := author{r, "later"}
	tried, accepted := map[string]int{}, map[string]int{}
	all, fuzzy, twins := 0, 0, 0
	for _, base := range corpus(t, 250, 2) {
		lines := strings.SplitAfter(base, "\n")
		for range 10 {
			size := 2 + r.IntN(8)
			if all == want || len(lines) < 2*size {
				break
			}
			at := r.IntN(len(lines) - size)
			old := strings.Join(lines[at:at+size], "")
			if f, err := Locate(New(base), old, "other\n", false); err != nil || f.Tier != TierExact || len(old) < 30 {
				continue // no model could have quoted it
			}
			moved, how, formatted := a.moved(lines, at, at+size)
			now := strings.Join(moved, "")
			if strings.Contains(now, old) {
				continue // the quotation still stands
			}
			all++
			tried[how]++
			f, err := Locate(New(now), old, "other\n", false)
			if err != nil {
				continue
			}
			fuzzy++
			accepted[how]++
			start := len(strings.Join(lines[:at], ""))
			end := len(now) - len(strings.Join(lines[at+size:], ""))
			if m := f.Matches[0]; m.End <= start || m.Start >= end {
				twins++
			} else if !formatted {
				t.Errorf("%s: %q is taken for %q at %s", how, now[f.Matches[0].Start:f.Matches[0].End], old, f.TierName)
			}
		}
	}
	t.Logf("%d of %d accepted, %d of them elsewhere: %v of %v", fuzzy, all, twins, accepted, tried)
	if all < 1000 || len(tried) < 11 || tried["formatted"] == 0 {
		t.Errorf("%d quotations in %d ways: too few to mean anything", all, len(tried))
	}
	if float64(fuzzy) > 0.015*float64(all) {
		t.Errorf("%d of %d accepted", fuzzy, all)
	}
}
