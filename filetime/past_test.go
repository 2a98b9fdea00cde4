package filetime

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// TestRestoresProperty: a revision restores what a naive search over the texts before it finds,
// the latest first, whatever leads there.
func TestRestoresProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Past
		now := text.New(rapid.SampledFrom([]string{"", "ab", "one\ntwo\n"}).Draw(t, "old"))
		type old struct {
			rev uint64
			s   string
		}
		rev := uint64(7)
		p.Add(rev, now)
		texts := []old{{rev, now.String()}}
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			if rapid.Bool().Draw(t, "undo") {
				now = text.New(texts[rapid.IntRange(0, len(texts)-1).Draw(t, "to")].s)
			} else {
				start := rapid.IntRange(0, now.Len()).Draw(t, "start")
				end := rapid.IntRange(start, now.Len()).Draw(t, "end")
				now = now.Replace(start, end, rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 0, 3, -1).Draw(t, "new"))
			}
			rev += uint64(rapid.IntRange(1, 3).Draw(t, "step"))
			p.Add(rev, now)
			if rapid.Bool().Draw(t, "twice") {
				p.Add(rev, now)
			}
			want := uint64(0)
			for _, o := range texts {
				if o.s == now.String() {
					want = o.rev
				}
			}
			texts = append(texts, old{rev, now.String()})
			if got := p.Restores(rev); got != want {
				t.Fatalf("revision %d of %v restores %d, want %d", rev, texts, got, want)
			}
			if p.Restores(rev+1) != 0 || p.Restores(1) != 0 {
				t.Fatal("it knows a revision that was never added")
			}
		}
	})
}

// TestRestoresWithinLimit: exactly the last PastTexts are searched, and what was found stays known
// for as many.
func TestRestoresWithinLimit(t *testing.T) {
	for distance, want := range map[int]uint64{1: 1, PastTexts - 1: 1, PastTexts: 1, PastTexts + 1: 0, 3 * PastTexts: 0} {
		var p Past
		p.Add(1, text.New("first"))
		now := text.New("")
		for rev := 2; rev <= distance; rev++ {
			now = now.Replace(0, 0, "x")
			p.Add(uint64(rev), now)
		}
		back := uint64(distance + 1)
		p.Add(back, text.New("first"))
		if got := p.Restores(back); got != want {
			t.Errorf("%d revisions later: %d, want %d", distance, got, want)
		}
		for rev := range uint64(PastTexts - 1) {
			p.Add(back+1+rev, now)
		}
		if got := p.Restores(back); got != want {
			t.Errorf("%d revisions later, and long ago: %d, want %d", distance, got, want)
		}
		if len(p.texts) > 2*PastTexts {
			t.Errorf("%d texts are kept", len(p.texts))
		}
	}
}
