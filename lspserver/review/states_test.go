package review

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime/text"
)

// TestStatesAreWhole: what is kept as differences is found as if each state were whole.
func TestStatesAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWeave(text.New(strings.Repeat("line\n", rapid.IntRange(0, 3000).Draw(t, "lines"))), 1)
		var whole []state // oldest first, as if none were a difference
		edits := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if n := len(whole); n > 0 && whole[n-1].rev == w.rev && whole[n-1].text.Equal(w.text) {
					whole = whole[:n-1]
				}
				whole = append(whole, state{w.rev, w.text, w.pieces})
				w = w.clone()
				w.keep()
			case 1, 2:
				start := rapid.IntRange(0, w.text.Len()).Draw(t, "start")
				end := rapid.IntRange(start, min(w.text.Len(), start+20)).Draw(t, "end")
				set := text.Set{{Start: start, End: end, New: rapid.SampledFrom([]string{"", "a", "new\n"}).Draw(t, "new")}}
				if edits++; rapid.Bool().Draw(t, "ours") {
					w.land(set, func(int) int { return edits })
				} else {
					w.change(set)
				}
				w.rev += uint64(rapid.IntRange(0, 1).Draw(t, "revisions"))
			case 3:
				if len(whole) == 0 {
					continue
				}
				want := rapid.SampledFrom(whole).Draw(t, "state")
				rev := rapid.SampledFrom([]uint64{0, want.rev, anyRevision}).Draw(t, "rev")
				var found *state
				for i := range whole {
					if whole[i].rev <= rev && whole[i].text.Equal(want.text) {
						found = &whole[i]
					}
				}
				got, ok := w.past.find(rev, want.text)
				if ok != (found != nil) {
					t.Fatalf("found: %v", ok)
				}
				if ok && (got.rev != found.rev || !got.text.Equal(found.text) || !samePieces(got.pieces, found.pieces)) {
					t.Fatalf("%v in place of %v", got, *found)
				}
			}
		}
	})
}

func samePieces(a, b []piece) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

// TestStatesAreBounded: rewrites of a whole file push out older states, not more than fit.
func TestStatesAreBounded(t *testing.T) {
	w := newWeave(text.New(strings.Repeat("a", 1<<20)), 1)
	for i := range 20 {
		w.keep()
		w.change(text.Set{{End: w.text.Len(), New: strings.Repeat(string(rune('b'+i)), 1<<20)}})
		w.rev++
	}
	size := 0
	for _, d := range w.past.older {
		size += d.bytes()
	}
	if size > maxStateBytes || len(w.past.older) < 2 {
		t.Errorf("%d bytes of %d states", size, len(w.past.older))
	}
}

// TestReviewKeepsChanges: a thousand edits of one open file take memory by what they change,
// not by the size of the file, and all of them can still be taken back.
func TestReviewKeepsChanges(t *testing.T) {
	const lines = 1500
	var content strings.Builder
	for i := range lines {
		fmt.Fprintf(&content, "line %d of a file that is fairly long\n", i)
	}
	d := newDesk(t, content.String(), true)
	change := func(from, to int) {
		for i := from; i < to; i++ {
			n := i * 797 % lines
			d.agent(1, fmt.Sprintf("line %d of a", n), fmt.Sprintf("row %d of this", n))
			d.log.Marks(d.path)
			d.back = nil
		}
	}
	change(0, 50)
	before := heap()
	change(50, 1000)
	const each = 2500 // bytes for an edit of a few words, at most
	if grown := heap() - before; grown > 950*each {
		t.Errorf("%d bytes for 950 edits of a file of %d", grown, content.Len())
	}
	if n := len(d.log.Marks(d.path)); n != 1000 {
		t.Errorf("%d hunks", n)
	}
	texts := 0
	for _, o := range d.log.tracks[d.path].ops {
		if o.before.Len() > 0 {
			texts++
		}
	}
	if texts > 1 {
		t.Errorf("%d operations have whole texts", texts)
	}
	if u := d.log.Undo(t.Context(), Scope{All: true}); len(u.Conflicts) > 0 || d.now() != content.String() {
		t.Errorf("%+v", u)
	}
	runtime.KeepAlive(d)
}
