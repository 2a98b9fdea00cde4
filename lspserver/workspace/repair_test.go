package workspace

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/history"
)

// TestRepairMeetsRepair has somebody type beside an edit at a wrong place, and beside each of its repairs, so that these
// come to a wrong place too. The editor tells whole texts: what was typed is found out by comparing words.
func TestRepairMeetsRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := opened(t, "abce\n")
		b.blind, b.whole = true, true
		b.before = func(try int) {
			switch try {
			case 1:
				b.typeAt(3, "g")
			case 2:
				b.typeAt(strings.Index(b.text, "g")+1, "h")
			case 3:
				b.typeAt(strings.Index(b.text, "g"), "i")
			}
		}
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		c := replaceIn(s, "abc", "wq")
		c.Files[0].Edits = text.Set{{Start: 0, End: 3, New: "wq"}}
		_, err = w.Commit(t.Context(), c)
		var conflict *filetime.Conflict
		if !errors.As(err, &conflict) || b.text != "abcghe\n" || b.tries != 2 {
			t.Errorf("%q after %d tries: %v", b.text, b.tries, err)
		}
	})
}

var mishaps = flag.Int("mishaps", 500, "how many edits TestRepairs has land at a wrong place")

// TestRepairs has edits land at wrong places, and their repairs too, while somebody types and takes back at random around
// there, in an editor that never looks at a version. Each rune is the only one of its kind: once all is mended, none that was
// typed or stood there is lost or there twice, and what the agent writes is there as often as the answer says.
func TestRepairs(t *testing.T) {
	for seed := range *mishaps {
		synctest.Test(t, func(t *testing.T) { mishap(t, uint64(seed)) })
	}
}

func mishap(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	const firstMark = 0x20000
	kept, mark := rune(0x4E00), rune(firstMark)
	fresh := func() string { kept++; return string(kept) }
	var content strings.Builder
	for range 6 {
		for k := range 2 + r.IntN(3) {
			content.WriteString(strings.Repeat(" ", min(k, 1)))
			for range 1 + r.IntN(3) {
				content.WriteString(fresh())
			}
		}
		content.WriteString("\n")
	}
	w, b, path := opened(t, content.String())
	b.blind, b.whole = true, r.IntN(2) == 0
	s, err := w.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}

	line := s.Text.LineStart(2)
	boundary := func(t string, i int) int {
		for i = max(0, min(i, len(t))); !utf8.RuneStart((t + " ")[i]); i++ {
		}
		return i
	}
	story := []string{content.String()}
	byHand := map[rune]bool{} // what the person has taken away or brought back
	person := func() {
		at := boundary(b.text, line+r.IntN(50)-15)
		e := text.Edit{Start: at, End: at}
		set := text.Set{e}
		switch k := r.IntN(10); {
		case k < 5:
			set[0].New = fresh()
		case k < 6:
			set[0].New = fresh() + "\n"
		case k < 9 || len(b.undo) == 0:
			set[0].End = boundary(b.text, at+1+r.IntN(8))
		default:
			set = b.undo[len(b.undo)-1]
			b.undo = b.undo[:len(b.undo)-1]
			defer func() { b.undo = b.undo[:len(b.undo)-1] }()
		}
		for _, e := range set {
			for _, c := range b.text[e.Start:e.End] {
				byHand[c] = true
			}
			for _, c := range e.New {
				byHand[c] = byHand[c] || c > firstMark
			}
		}
		b.change(set)
		story = append(story, fmt.Sprintf("typed %v: %q", set, b.text))
	}
	busy := 1 + r.IntN(6)
	b.before = func(try int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		story = append(story, fmt.Sprintf("try %d for %q", try, b.text))
		if try <= busy {
			for range r.IntN(3) {
				person()
			}
		}
	}

	c := replaceIn(s, "", "")
	c.Files[0].Edits = nil
	gone, at := "", line
	for range 1 + r.IntN(2) {
		at = boundary(content.String(), at+r.IntN(12))
		end := boundary(content.String(), at+r.IntN(10))
		mark++
		gone += content.String()[at:end]
		e := text.Edit{Start: at, End: end, New: "w" + string(mark)}
		if r.IntN(3) == 0 {
			e.New += "\n"
		}
		c.Files[0].Edits = append(c.Files[0].Edits, e)
		at = end + 1
	}
	told, err := w.Commit(t.Context(), c)
	time.Sleep(delivery.RevertTime + time.Minute)

	var bad []string
	for c := rune(0x4E01); c <= kept; c++ {
		taken := byHand[c] || err == nil && strings.ContainsRune(gone, c)
		if n := strings.Count(b.text, string(c)); n > 1 || n == 0 && !taken {
			bad = append(bad, fmt.Sprintf("%c is there %d times", c, n))
		}
	}
	var unknown *filetime.Error
	for c := rune(firstMark + 1); c <= mark; c++ {
		if n := strings.Count(b.text, string(c)); n > 1 || (n == 0) == (err == nil) && !byHand[c] && !errors.As(err, &unknown) {
			bad = append(bad, fmt.Sprintf("%c is there %d times", c, n))
		}
	}
	for _, l := range append(told.Files, filetime.LandedFile{Before: s.Text, After: s.Text, Rev: s.Rev}) {
		if revs, now, ok := w.History(path, l.Rev); !ok || !l.Set.Apply(l.Before).Equal(l.After) ||
			history.Compose(revs).Apply(l.After).String() != b.text || now.Text.String() != b.text {
			bad = append(bad, fmt.Sprintf("by the history %+v comes to %q", l, now.Text))
		}
	}
	if slices.Sort(bad); len(bad) > 0 {
		t.Errorf("seed %d, whole texts %v, %v: %v\n%s\n%q\n%v", seed, b.whole, c.Files[0].Edits, bad, strings.Join(story, "\n"), b.text, err)
	}
}

// TestRevertIsForgotten: the history keeps neither a misplaced edit nor its revert, also where somebody types beside each of them: text that
// they deleted and inserted again keeps its author.
func TestRevertIsForgotten(t *testing.T) {
	for _, whole := range []bool{false, true} {
		for typings := 1; typings <= 3; typings++ {
			t.Run(fmt.Sprintf("whole %v, %d", whole, typings), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, b, path := opened(t, "one\ntwo\nthree\nfour\n")
					s, err := w.Read(t.Context(), path)
					if err != nil {
						t.Fatal(err)
					}
					c := replaceIn(s, "three\n", "3\n")
					c.Session, c.Call = "s", "before"
					first, err := w.Commit(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					b.blind, b.whole = true, whole
					b.before = func(try int) {
						if try > 1 && try < 2+typings {
							b.typeAt(0, fmt.Sprintf("typed %d\n", try))
						}
					}
					if s, err = w.Read(t.Context(), path); err != nil {
						t.Fatal(err)
					}
					c = replaceIn(s, "four\n", "4\n")
					c.Session, c.Call = "s", "after"
					if _, err := w.Commit(t.Context(), c); err != nil {
						t.Fatal(err)
					}
					if !strings.HasSuffix(b.text, "one\ntwo\n3\n4\n") || strings.Count(b.text, "typed") != typings || b.tries < 3+typings {
						t.Fatalf("%q after %d tries", b.text, b.tries)
					}
					revs, now, ok := w.History(path, first.Files[0].Rev)
					if !ok || now.Text.String() != b.text {
						t.Fatalf("%v %q", ok, now.Text)
					}
					at := first.Files[0].After
					for _, r := range revs {
						if r.Call == "" && slices.ContainsFunc(text.Minimize(at, r.Set), func(e text.Edit) bool { return e.Start < e.End }) {
							t.Errorf("%+v takes something of %q away", r, at)
						}
						at = r.Set.Apply(at)
					}
					if !at.Equal(now.Text) {
						t.Errorf("the history comes to %q", at)
					}
				})
			})
		}
	}
}
