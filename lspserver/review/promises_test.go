package review

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/filetime/text"
)

// replace is the edit that puts new in the place of the only old.
func replace(t *testing.T, in text.Text, old, new string) text.Set {
	t.Helper()
	at := strings.Index(in.String(), old)
	if at < 0 {
		t.Fatalf("%q is not in %q", old, in.String())
	}
	return text.Set{{Start: at, End: at + len(old), New: new}}
}

// TestWeaveTakesBack: an edit is taken back whatever happened since, without what others wrote; where somebody has written into it, or
// round what it took away, it cannot be, and what it then would say shows that nobody else's text goes. Steps are "agent OLD>NEW" and "user OLD>NEW"; the edits count from 1.
func TestWeaveTakesBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		old   string
		steps []string
		back  []int
		want  string
		bad   []int // of those of back
		again string
	}{
		{"a replacement", "one two three", []string{"agent two>2"}, []int{1}, "one two three", nil, "one 2 three"},
		{"an insertion", "one three", []string{"agent three>two three"}, []int{1}, "one three", nil, "one two three"},
		{"a deletion", "one two three", []string{"agent two >"}, []int{1}, "one two three", nil, "one three"},
		{"all of a text", "one", []string{"agent one>two"}, []int{1}, "one", nil, "two"},
		{"typed before", "one two", []string{"agent two>2", "user one>first one"}, []int{1}, "first one two", nil, "first one 2"},
		{"typed behind", "one two three", []string{"agent two>2", "user three>three four"}, []int{1}, "one two three four", nil, "one 2 three four"},
		{"typed into it", "one two", []string{"agent two>abcdef", "user cd>cXd"}, []int{1}, "one twoX", []int{1}, ""},
		{"a part of it deleted", "one two", []string{"agent two>abcdef", "user cd>"}, []int{1}, "one two", []int{1}, ""},
		{"all of it deleted by the user", "one two three", []string{"agent two>abc", "user abc>"}, []int{1}, "one two three", []int{1}, ""},
		{"the user puts the old text back", "one two", []string{"agent two>2", "user 2>two"}, nil, "one two", nil, ""},
		{"the first of two", "one two three", []string{"agent one>1", "agent three>3"}, []int{1}, "one two 3", nil, "1 two 3"},
		{"the second of two", "one two three", []string{"agent one>1", "agent three>3"}, []int{2}, "1 two three", nil, "1 two 3"},
		{"both", "one two three", []string{"agent one>1", "agent three>3"}, []int{1, 2}, "one two three", nil, "1 two 3"},
		{"the lower of two in one place", "one two", []string{"agent two>abc", "agent b>B"}, []int{1}, "one twoB", []int{1}, ""},
		{"the upper of two in one place", "one two", []string{"agent two>abc", "agent b>B"}, []int{2}, "one abc", nil, "one aBc"},
		{"both in one place", "one two", []string{"agent two>abc", "agent b>B"}, []int{1, 2}, "one two", nil, "one aBc"},
		{"words beside a deletion are gone", "a bb cc dd e", []string{"agent cc >", "user bb dd>"}, []int{1}, "a cc  e", []int{1}, ""},
		{"typed where something was deleted", "a bb c", []string{"agent bb >", "user a c>a X c"}, []int{1}, "a X bb c", nil, "a X c"},
		{"the word that was deleted, typed anew", "a bb c", []string{"agent bb >", "user a c>a xbb c"}, []int{1}, "a xbb bb c", []int{1}, ""},
		{"a word made longer", "a c", []string{"agent c>bb c", "user bb>bbX"}, []int{1}, "a Xc", []int{1}, ""},
		{"a word made longer before it", "a c", []string{"agent c>bb c", "user bb>Xbb"}, []int{1}, "a Xc", []int{1}, ""},
		{"a word beside it", "a c", []string{"agent c>bb c", "user bb>X bb"}, []int{1}, "a X c", nil, "a X bb c"},
		{"a word made longer at the beginning", "c", []string{"agent c>bb c", "user bb>Xbb"}, []int{1}, "Xc", []int{1}, ""},
		{"a word made longer at the end", "a", []string{"agent a>a bb", "user bb>bbX"}, []int{1}, "aX", []int{1}, ""},
		{"a word beside it at the beginning", "c", []string{"agent c>bb c", "user bb>X bb"}, []int{1}, "X c", nil, "X bb c"},
		{"a deletion at the end, with the word before gone", "a xx bb", []string{"agent  bb>", "user  xx>"}, []int{1}, "a bb", nil, ""},
		{"a deletion at the beginning, with the word behind gone", "bb xx a", []string{"agent bb >", "user xx >"}, []int{1}, "bb a", nil, ""},
		{"nothing of it", "one two", []string{"agent two>2"}, []int{7}, "one 2", nil, ""},
		{"an empty text", "", []string{"user >x"}, []int{1}, "x", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWeave(text.New(tt.old), 0)
			n := 0
			for _, step := range tt.steps {
				who, what, _ := strings.Cut(step, " ")
				old, new, _ := strings.Cut(what, ">")
				set := replace(t, w.text, old, new)
				if who == "agent" {
					first := n
					set = text.Trim(w.text, text.Minimize(w.text, set)) // as Log.add does
					w.land(set, func(i int) int { n++; return first + 1 + i })
				} else {
					w.change(set)
				}
			}
			before := w.text
			in := func(e int) bool { return slices.Contains(tt.back, e) }
			var bad []int
			for e, is := range w.revertConflicts(max(n, 7), in) {
				if is {
					bad = append(bad, e)
				}
			}
			if !slices.Equal(bad, tt.bad) {
				t.Errorf("in the way of %v, want %v", bad, tt.bad)
			}
			set, pieces := w.flip(in, false)
			if got := set.Apply(w.text).String(); got != tt.want {
				t.Errorf("taken back it says %q, want %q", got, tt.want)
			}
			w.text, w.pieces = set.Apply(w.text), pieces
			alive := 0
			for _, p := range w.pieces {
				if p.deletedBy == 0 {
					alive += p.size
				}
			}
			if alive != w.text.Len() {
				t.Errorf("the pieces have %d bytes of %d", alive, w.text.Len())
			}
			if tt.again == "" {
				return
			}
			for e, is := range w.redoConflicts(n, in) {
				if is {
					t.Errorf("%d cannot be brought again", e)
				}
			}
			set, _ = w.flip(in, true)
			if got := set.Apply(w.text); got.String() != tt.again || got.String() != before.String() {
				t.Errorf("brought again it says %q, want %q", got, tt.again)
			}
		})
	}
}

// TestComeback: dead pieces that together, in their order, say a text are found; those that are there, and those that say too much, are not.
func TestComeback(t *testing.T) {
	gap := func(texts ...string) (out []piece) {
		for _, s := range texts {
			out = append(out, piece{size: len(s), insertedBy: 1, deletedBy: byOthers, text: s})
		}
		return out
	}
	for _, tt := range []struct {
		gap  []piece
		s    string
		want []int
	}{
		{gap("a", "b", "c"), "abc", []int{0, 1, 2}},
		{gap("a", "b", "c"), "ac", []int{0, 2}},
		{gap("a", "b", "c"), "b", []int{1}},
		{gap("a", "b", "c"), "ca", nil},
		{gap("a", "ab", "b"), "aab", []int{0, 1}},
		{gap("a", "ab", "c"), "abc", []int{1, 2}},
		{gap("", "a", ""), "a", []int{1}},
		{gap("abc"), "ab", nil},
		{gap("a"), "ab", nil},
		{gap("a"), "", nil},
		{nil, "a", nil},
		{gap(slices.Repeat([]string{"a"}, 60)...), strings.Repeat("a", 59) + "b", nil}, // in reasonable time
	} {
		if got := findRestored(tt.gap, tt.s); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.s, got, tt.want)
		}
	}
	for _, tt := range []struct {
		p    piece
		s    string
		want []string
	}{
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "cd", []string{"ab", "cd", "ef"}},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "ab", []string{"ab", "cdef"}},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "ef", []string{"abcd", "ef"}},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "abcdef", []string{"abcdef"}},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "c", nil},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "aéöb"}, "éö", []string{"a", "éö", "b"}},
		{piece{insertedBy: 1, deletedBy: byOthers, text: "abcdef"}, "xy", nil},
		{piece{insertedBy: 0, deletedBy: byOthers, text: "abcdef"}, "cd", nil},
		{piece{insertedBy: byOthers, deletedBy: byOthers, text: "abcdef"}, "cd", nil},
		{piece{insertedBy: 1, deletedBy: 2, text: "abcdef"}, "cd", nil},
		{piece{insertedBy: 1, deletedBy: byRevert, text: "abcdef"}, "cd", nil},
	} {
		var got []string
		_, parts := part([]piece{tt.p}, tt.s)
		for _, p := range parts {
			got = append(got, p.text)
			if p.insertedBy != tt.p.insertedBy || p.deletedBy != tt.p.deletedBy || p.size != len(p.text) {
				t.Errorf("%q: %+v", tt.s, p)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v %q: %q, want %q", tt.p, tt.s, got, tt.want)
		}
	}
}

// TestTidy: neighbours with one past are joined; what others took away goes unless something of the agent's is gone beside it.
func TestTidy(t *testing.T) {
	for name, tt := range map[string]struct{ in, want []piece }{
		"neighbours":              {[]piece{{size: 1}, {size: 2}}, []piece{{size: 3}}},
		"of two authors":          {[]piece{{size: 1}, {size: 2, insertedBy: 1}}, []piece{{size: 1}, {size: 2, insertedBy: 1}}},
		"with another past":       {[]piece{{size: 1}, {size: 2, formerDeleters: []int{1}}}, []piece{{size: 1}, {size: 2, formerDeleters: []int{1}}}},
		"with one past":           {[]piece{{size: 1, formerDeleters: []int{1}}, {size: 2, formerDeleters: []int{1}}}, []piece{{size: 3, formerDeleters: []int{1}}}},
		"empty":                   {[]piece{{size: 0}, {size: 2}}, []piece{{size: 2}}},
		"gone by others":          {[]piece{{size: 1}, {size: 2, deletedBy: byOthers}, {size: 3}}, []piece{{size: 4}}},
		"the agent's, gone":       {[]piece{{size: 1}, {size: 2, insertedBy: 1, deletedBy: byOthers}, {size: 3}}, []piece{{size: 1}, {size: 2, insertedBy: 1, deletedBy: byOthers}, {size: 3}}},
		"gone by the agent":       {[]piece{{size: 2, deletedBy: 1}}, []piece{{size: 2, deletedBy: 1}}},
		"was gone by the agent":   {[]piece{{size: 2, deletedBy: byOthers, formerDeleters: []int{1}}}, []piece{{size: 2, deletedBy: byOthers, formerDeleters: []int{1}}}},
		"beside the agent's":      {[]piece{{size: 1, deletedBy: byOthers}, {size: 2, deletedBy: 1}, {size: 3, deletedBy: byOthers}}, []piece{{size: 1, deletedBy: byOthers}, {size: 2, deletedBy: 1}, {size: 3, deletedBy: byOthers}}},
		"not beside the agent's":  {[]piece{{size: 1, deletedBy: byOthers}, {size: 2}, {size: 3, deletedBy: 1}}, []piece{{size: 2}, {size: 3, deletedBy: 1}}},
		"what nobody took, twice": {[]piece{{size: 1, insertedBy: byOthers}, {size: 1, insertedBy: byOthers}}, []piece{{size: 2, insertedBy: byOthers}}},
	} {
		if got := compact(slices.Clone(tt.in)); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestOverwrittenLines: an edit of whole lines meets a hunk where it changes its lines, or the place where it took lines away, and not where
// it only touches it.
func TestOverwrittenLines(t *testing.T) {
	for _, tt := range []struct {
		start, end int
		new        string
		from, to   int // of the hunk
		want       bool
	}{
		{0, 2, "", 2, 4, false},
		{4, 6, "", 2, 4, false},
		{1, 3, "", 2, 4, true},
		{3, 5, "", 2, 4, true},
		{2, 4, "", 2, 4, true},
		{0, 6, "", 2, 4, true},
		{3, 3, "x", 2, 4, true},
		{2, 2, "x", 2, 4, false},
		{4, 4, "x", 2, 4, false},
		{1, 3, "", 2, 2, true},
		{2, 4, "", 2, 2, false},
		{0, 2, "", 2, 2, false},
		{2, 2, "x", 2, 2, true},
		{2, 4, "x", 2, 2, true},
		{3, 3, "x", 2, 2, false},
	} {
		if got := overlapsLines(text.Edit{Start: tt.start, End: tt.end, New: tt.new}, Hunk{Start: tt.from, End: tt.to}); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if withoutBlanks(" a\tb\n c ") != "abc" {
		t.Error("blanks are letters")
	}
}

// TestWhatASessionKnows: which files and turns have changes that stand, and where files were, follow what is taken back and brought again.
func TestWhatASessionKnows(t *testing.T) {
	d := newDesk(t, four, false)
	if d.log.Tracks("") || d.log.Tracks(d.path) || d.log.LastTurn() != 0 || d.log.LastTaken() != 0 || d.log.Leave() != nil {
		t.Error("an empty log knows something")
	}
	d.agent(1, "beta", "BETA")
	d.agent(3, "delta", "DELTA")
	if !d.log.Tracks("") || !d.log.Tracks(d.path) || d.log.Tracks(d.path+"x") {
		t.Error("the file is not tracked, or another one is")
	}
	for n, want := range map[int]int{1: 1, 2: 0, 3: 1} {
		if got := d.log.ChangedIn(n); len(got) != want || want > 0 && got[0] != d.path {
			t.Errorf("turn %d has changed %q", n, got)
		}
	}
	if got := d.log.Origins(d.path); len(got) > 0 {
		t.Errorf("it was moved from %q", got)
	}
	if got := d.log.LastTurn(); got != 3 {
		t.Errorf("the newest turn is %d", got)
	}
	d.log.Undo(t.Context(), turn(3))
	if got := d.log.LastTurn(); got != 1 || d.log.LastTaken() != 3 {
		t.Errorf("with the newest taken back it is %d, and %d was taken", got, d.log.LastTaken())
	}
	d.log.Undo(t.Context(), turn(1))
	if got := d.log.LastTurn(); got != 0 || d.log.LastTaken() != 1 {
		t.Errorf("with all taken back it is %d, and %d was taken", got, d.log.LastTaken())
	}
	d.log.Redo(t.Context(), Scope{All: true})
	if got := d.log.LastTurn(); got != 3 || d.log.LastTaken() != 0 {
		t.Errorf("with all brought again it is %d, and %d was taken", got, d.log.LastTaken())
	}
	left := d.log.Leave()
	if left == nil || left.Left[d.path] != digest(d.now()) {
		t.Errorf("left %+v", left)
	}
}

// TestDecisionsAreKept: a decision is kept where something was decided, names those hunks alone, and is not made twice.
func TestDecisionsAreKept(t *testing.T) {
	d := newDesk(t, four, true)
	var kept []Decision
	d.log = New(d.w, "s", func(x Decision) { kept = append(kept, x) })
	d.agent(1, "beta", "BETA")
	d.agent(1, "delta", "DELTA")
	ids := func() (out []string) {
		for _, h := range d.log.Marks(d.path) {
			out = append(out, h.ID+" "+h.Status)
		}
		return out
	}
	step := func(what string, j JudgeResult, changed, conflicts, paths, decisions int) {
		t.Helper()
		if len(j.Changed) != changed || len(j.Conflicts) != conflicts || len(j.Paths) != paths || len(kept) != decisions {
			t.Errorf("%s: %+v, kept %+v", what, j, kept)
		}
		kept = nil
	}
	first, second := d.log.Marks(d.path)[0].ID, d.log.Marks(d.path)[1].ID
	step("accepting what is not there", d.log.Accept("", []string{"none"}), 0, 0, 0, 0)
	step("accepting in another file", d.log.Accept(d.path+"x", nil), 0, 0, 0, 0)
	step("rejecting what is not there", d.log.Reject(t.Context(), "", []string{"none"}), 0, 0, 0, 0)
	step("accepting the first", d.log.Accept("", []string{first}), 1, 0, 1, 1)
	step("accepting it again", d.log.Accept("", []string{first}), 0, 0, 0, 0)
	if got, want := ids(), []string{first + " accepted", second + " pending"}; !slices.Equal(got, want) || d.log.Pending() != 1 {
		t.Errorf("%q, %d wait", got, d.log.Pending())
	}
	if r := d.log.RevertTurn(t.Context(), "u", d.path, 1); r.Accepted != 1 || r.Taken != 1 {
		t.Errorf("the agent would take back what a person has accepted: %+v", r)
	}
	d.insert("TA\ngamma", "X") // into the first
	at := strings.Index(d.buffer.text.String(), "DELTA")
	d.change(text.Set{{Start: at + 2, End: at + 2, New: "yy"}})
	step("rejecting all, of which one is accepted and one was typed into", d.log.Reject(t.Context(), "", nil), 0, 1, 1, 1)
	if got, want := ids(), []string{first + " accepted", second + " conflict"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	d.change(text.Set{{Start: at + 2, End: at + 4}})
	if got, want := ids(), []string{first + " accepted", second + " pending"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	step("rejecting it now", d.log.Reject(t.Context(), "", []string{second}), 1, 0, 1, 1)
	if got := d.now(); !strings.Contains(got, "delta\n") || !strings.Contains(got, "BEXTA") {
		t.Errorf("%q", got)
	}
	u := d.log.Redo(t.Context(), turn(1))
	if len(u.Changed) != 1 || len(u.Conflicts) > 0 || !strings.Contains(d.now(), "DELTA") {
		t.Errorf("%+v %q", u, d.now())
	}
}

// TestConflictsAreCounted: where text was changed since, an undo and a redo tell how many of the changes stay.
func TestConflictsAreCounted(t *testing.T) {
	d := newDesk(t, four, true)
	d.agent(1, "beta", "one two three")
	d.agent(1, "delta", "DELTA")
	at := strings.Index(d.buffer.text.String(), "two")
	d.change(text.Set{{Start: at, End: at + 3, New: "2"}})
	if u := d.log.Undo(t.Context(), turn(1)); u.Conflicts[d.path] != "1 of 2 changes was edited since and is left as it is" {
		t.Errorf("%+v", u)
	}
	e := newDesk(t, four, true)
	e.agent(1, "beta", "BETA")
	e.agent(1, "delta", "DELTA")
	e.log.Undo(t.Context(), turn(1))
	at = strings.Index(e.buffer.text.String(), "delta")
	e.change(text.Set{{Start: at + 2, End: at + 2, New: "xx"}})
	if u := e.log.Redo(t.Context(), turn(1)); u.Conflicts[e.path] != "1 of 2 changes was edited since and is left as it is" {
		t.Errorf("%+v", u)
	}
}

// TestLostChanges: a change whose original text is no longer stored is named for what it belongs to, and taken back by nobody.
func TestLostChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(four), 0o644); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, four, false)
	log := New(d.w, "s", nil)
	if err := log.Restore(t.Context(), []Step{{Path: d.path, Call: "c", Turn: 2, Lost: true}, {Path: d.path, Call: "e", Turn: 3, Lost: true}}); err != nil {
		t.Fatal(err)
	}
	two, four := 2, 4
	for name, tt := range map[string]struct {
		s    Scope
		want int
	}{
		"all": {Scope{All: true}, 2}, "the turn": {Scope{Turn: &two}, 1}, "another turn": {Scope{Turn: &four}, 0},
		"the call": {Scope{Call: "c"}, 1}, "another call": {Scope{Call: "d"}, 0}, "the file": {Scope{Path: d.path}, 2}, "another file": {Scope{Path: "/x"}, 0}, "nothing": {Scope{}, 0},
	} {
		if got := log.countLost(tt.s)[d.path]; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
		u := log.Undo(t.Context(), tt.s)
		if len(u.Changed) > 0 || strings.Contains(u.Conflicts[d.path], fmt.Sprintf("changes whose original text is no longer stored: %d", tt.want)) != (tt.want > 0) {
			t.Errorf("%s: %+v", name, u)
		}
	}
	if got := log.ChangedIn(2); !slices.Equal(got, []string{d.path}) {
		t.Errorf("turn 2 has changed %q", got)
	}
	if got := log.ChangedIn(4); len(got) > 0 {
		t.Errorf("turn 4 has changed %q", got)
	}
	if r := log.RevertTurn(t.Context(), "u", d.path, 2); r.Lost != 1 || r.Edit != nil {
		t.Errorf("%+v", r)
	}
}

// TestAcceptedStays: what a person has accepted is not taken back by the session itself, and is counted.
func TestAcceptedStays(t *testing.T) {
	d := newDesk(t, four, false)
	for _, e := range [][2]string{{"alpha", "ALPHA"}, {"gamma", "GAMMA"}, {"delta", "DELTA"}} {
		d.agent(1, e[0], e[1])
	}
	d.log.Accept("", []string{d.log.Marks(d.path)[0].ID})
	if r := d.log.RevertTurn(t.Context(), "u", d.path, 1); r.Accepted != 1 || r.Taken != 2 || len(r.Stay) > 0 {
		t.Errorf("%+v", r)
	}
	d.own("u", d.log.RevertTurn(t.Context(), "u", d.path, 1))
	if got, want := d.now(), "ALPHA\nbeta\ngamma\ndelta\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOriginsOfAFile: a moved file has the paths that it was at, the latest first; one that was not moved has none.
func TestOriginsOfAFile(t *testing.T) {
	d := newDesk(t, four, false)
	log := New(d.w, "s", nil)
	same := text.New(four)
	err := log.Restore(t.Context(), []Step{
		{Path: d.path + ".1", Origin: d.path + ".0", Call: "a", Turn: 1, Before: same, After: same},
		{Path: d.path, Origin: d.path + ".1", Call: "b", Turn: 1, Before: same, After: same},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := log.Origins(d.path), []string{d.path + ".1", d.path + ".0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := log.Origins(d.path + ".1"); len(got) > 0 {
		t.Errorf("a path where nothing is any more: %q", got)
	}
}
