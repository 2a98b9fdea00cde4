package workspace

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// An editor that checks no version and tells of typing and of an edit at its old places in one range: what it took away at the wrong
// place is put back, the edit lands at its place, and no line of anybody is lost or stands twice.
func TestFaultE14OneRange(t *testing.T) {
	lines := []string{"alpha\n", "beta\n", "gamma\n", "delta\n", "epsilon\n"}
	base := strings.Join(lines, "")
	rapid.Check(t, func(r *rapid.T) {
		k := rapid.IntRange(2, len(lines)-1).Draw(r, "line") // further up it would come over the typing, of which nobody is ever told
		new := rapid.SampledFrom([]string{"", "AGENT\n", "AGENT one\nAGENT two\n"}).Draw(r, "new")
		typed := rapid.SampledFrom([]string{"typed\n", "typed one\ntyped two\n"}).Draw(r, "typed")
		synctest.Test(t, func(t *testing.T) {
			w, b, path := opened(t, base)
			b.blind, b.above = true, typed
			s, err := w.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.Commit(t.Context(), replaceIn(s, lines[k], new))
			want := typed + strings.Join(lines[:k], "") + new + strings.Join(lines[k+1:], "")
			if err != nil || b.text != want {
				r.Errorf("line %d by %q, typed %q: %v, %q", k, new, typed, err, b.text)
			}
		})
	})
}

// An editor that holds its changes back after its yes gets the edit once, however long that takes while it lives.
func TestFaultE14HeldBack(t *testing.T) {
	for _, features := range []Features{{Apply: true, Versions: true}, {Apply: true, Versions: true, Plain: true}} {
		for _, late := range []time.Duration{150 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second, 25 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				w, b, path := opened(t, doc)
				features.Encoding = w.o.Features.Encoding
				w.o.Features = features
				b.late = late
				s, err := w.Read(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = w.Commit(t.Context(), replaceIn(s, "four", "FOUR"))
				if want := strings.Replace(doc, "four", "FOUR", 1); err != nil || b.text != want || b.tries != 1 {
					t.Errorf("after %v, plain %v: %v, %q, %d tries", late, features.Plain, err, b.text, b.tries)
				}
			})
		}
	}
}

// What was typed between the sending of an edit and its landing is in the answer as rebased over, so that it counts as seen.
func TestFaultE5TypingUntilTheEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, b, path := opened(t, doc)
		b.blind = true
		b.before = func(try int) {
			if try == 1 {
				b.typeAt(len(doc), "typed\n")
			}
		}
		s, err := w.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		l, err := w.Commit(t.Context(), replaceIn(s, "four", "FOUR"))
		if err != nil {
			t.Fatal(err)
		}
		if f := l.Files[0]; f.Over != 1 || len(f.Rebased) != 1 || f.Rebased[0] != (text.Edit{Start: len(doc), End: len(doc), New: "typed\n"}) {
			t.Errorf("rebased over %v", f.Rebased)
		}
	})
}
