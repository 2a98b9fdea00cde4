package filetime

import (
	"testing"

	"tandem/filetime/text"
)

// history is files whose one file has these revisions.
type history struct {
	Files
	revs []Revision
}

func (h *history) History(_ string, rev uint64) ([]Revision, Snapshot, bool) {
	for i, r := range h.revs {
		if r.Rev > rev {
			return h.revs[i:], Snapshot{}, true
		}
	}
	return nil, Snapshot{}, true
}

// TestFindingE7Standing has what an edit put there be known wherever it has moved to, until somebody takes some of it away.
func TestFindingE7Standing(t *testing.T) {
	before := text.New("one\nbeta\nthree\n")
	set := text.Set{{Start: 8, End: 8, New: "2"}}
	l := LandedFile{Path: "f", Before: before, After: set.Apply(before), Set: set, Applied: true, Rev: 2}
	files := &history{}
	f := New(files, "s", nil)
	f.RecordEdit("edit", l, []text.Range{{Start: 4, End: 8}})
	now := l.After
	standing := func(what string) []string {
		var out []string
		snap := Snapshot{Path: "f", Text: now, Rev: 2 + uint64(len(files.revs))}
		for _, r := range f.StandingEdits(what, snap) {
			out = append(out, now.Slice(r.Start, r.End))
		}
		return out
	}
	step := func(set text.Set, want ...string) {
		t.Helper()
		now = set.Apply(now)
		files.revs = append(files.revs, Revision{Rev: 3 + uint64(len(files.revs)), Set: set})
		if got := standing("edit"); len(got) != len(want) || len(want) > 0 && got[0] != want[0] {
			t.Errorf("of %q stands %q, want %q", now.String(), got, want)
		}
	}
	step(text.Set{{Start: 0, End: 0, New: "zero\n"}}, "beta2")
	step(text.Set{{Start: 9, End: 9, New: "x"}, {Start: 14, End: 14, New: "y"}}, "beta2") // beside it
	step(text.Set{{Start: 12, End: 12, New: "T"}}, "beTta2")                              // typed into it
	if got := standing("another edit"); len(got) != 0 {
		t.Errorf("of an edit that was not made stands %q", got)
	}
	step(text.Set{{Start: 15, End: 16}}) // taken back
	step(text.Set{{Start: 15, End: 15, New: "2"}})
	f.RecordEdit("nowhere", LandedFile{Path: "f", After: now, Set: set}, []text.Range{{}})
	if got := standing("nowhere"); len(got) != 0 {
		t.Errorf("of an edit that was not applied stands %q", got)
	}
}
