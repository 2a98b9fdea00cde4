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

// undone is a file whose history says what each of its revisions restores, as the workspace does.
type undone struct {
	history
	past Past
	now  text.Text
	rev  uint64
}

func newUndone(s string) *undone {
	u := &undone{now: text.New(s), rev: 1}
	u.past.Add(1, u.now)
	return u
}

func (u *undone) snapshot() Snapshot {
	return Snapshot{Path: "f", Text: u.now, Rev: u.rev, Exists: true}
}

func (u *undone) change(set text.Set, r Revision) {
	u.now = set.Apply(u.now)
	u.rev++
	u.past.Add(u.rev, u.now)
	r.Rev, r.Set, r.Restores = u.rev, set, u.past.Restores(u.rev)
	u.revs = append(u.revs, r)
}

// TestUndoInTheLedger: what others have changed and taken back, they have not changed, whatever it was told with, and by nobody.
func TestUndoInTheLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUndone("one two three\n")
		f := New(u, "s", nil)
		f.Read(u.snapshot(), 1, 1)
		own := text.Set{{Start: 0, End: 3, New: "1"}}
		if rapid.Bool().Draw(t, "own edit first") {
			before := u.now
			u.change(own, Revision{Author: Agent, Session: "s", Call: "c"})
			f.Wrote(LandedFile{Path: "f", Before: before, After: u.now, Set: own, Rev: u.rev, Applied: true})
		}
		texts := []text.Text{u.now}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "undo") {
				to := rapid.SampledFrom(texts).Draw(t, "to")
				u.change(text.Set{{Start: 0, End: u.now.Len(), New: to.String()}}, Revision{Author: User})
			} else {
				at := rapid.IntRange(0, u.now.Len()-1).Draw(t, "at")
				u.change(text.Set{{Start: at, End: at + 1, New: rapid.SampledFrom([]string{"x", "yy"}).Draw(t, "new")}}, Revision{Author: User})
			}
			texts = append(texts, u.now)
			if rapid.Bool().Draw(t, "look") {
				f.Since(u.snapshot())
			}
		}
		views, err := f.Assert(u.snapshot(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range views {
			if !v.Since.Apply(v.Text).Equal(u.now) {
				t.Fatalf("%v leads from %q elsewhere than to %q", v.Since, v.Text.String(), u.now.String())
			}
			if v.Text.Equal(u.now) && (len(v.Since) > 0 || v.By != 0) {
				t.Fatalf("%q is as the model knows it, and was changed by %d: %v", u.now.String(), v.By, v.Since)
			}
		}
		f.Read(u.snapshot(), 1, 1)
		again, err := f.Assert(u.snapshot(), false)
		if known := views[0].Text.Equal(u.now); err != nil || known && len(again) != len(views) {
			t.Fatalf("%d views of %d texts", len(again), len(views))
		}
	})
}

// TestEditStandsAfterRedo: an edit that an editor has taken back does not stand, and stands when the editor brings it again; what
// the user typed is theirs once more, and what the undo brought back is not.
func TestEditStandsAfterRedo(t *testing.T) {
	u := newUndone("one\nbeta\n")
	f := New(u, "s", nil)
	f.Read(u.snapshot(), 1, 2)
	typed := text.Set{{Start: 0, End: 0, New: "mine "}}
	u.change(typed, Revision{Author: User})
	before, set := u.now, text.Set{{Start: 9, End: 13, New: "BETA"}}
	u.change(set, Revision{Author: Agent, Session: "s", Call: "c"})
	l := LandedFile{Path: "f", Before: before, After: u.now, Set: set, Rev: u.rev, Applied: true}
	f.RecordEdit("edit", l, []text.Range{{Start: 9, End: 13}})
	check := func(standing int) {
		t.Helper()
		if got := f.StandingEdits("edit", u.snapshot()); len(got) != standing {
			t.Errorf("of %q stands %v", u.now.String(), got)
		}
		if got := f.UserRanges(u.snapshot()); len(got) != 1 || got[0] != (text.Range{Start: 0, End: 5}) {
			t.Errorf("of %q the user typed %v", u.now.String(), got)
		}
	}
	check(1)
	for range 2 {
		u.change(set.Inverse(before), Revision{Author: User})
		check(0)
		u.change(set, Revision{Author: User})
		check(1)
	}
}
