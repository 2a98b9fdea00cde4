package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/filetime"
	"tandem/filetime/text"
)

// recorded is a file with a history of its own, and the texts that its revisions make.
type recorded struct {
	*History
	texts map[uint64]text.Text
}

func newHistory(content string) *recorded {
	h := New(2)
	h.Begin(text.New(content), 2)
	return &recorded{&h, map[uint64]text.Text{2: h.text}}
}

func (h *recorded) add(set text.Set, by filetime.Author) {
	h.Record(h.rev+2, set, by, false)
	h.texts[h.rev] = h.text
}

// lead checks that what came after a revision leads from its text to the present.
func (h *recorded) lead(t *testing.T, rev uint64) bool {
	t.Helper()
	revs, ok := h.Since(rev)
	if !ok {
		return false
	}
	var sets []text.Set
	for _, r := range revs {
		sets = append(sets, r.Set)
	}
	if !text.ComposeAll(sets).Apply(h.texts[rev]).Equal(h.text) {
		t.Fatalf("revision %d leads elsewhere", rev)
	}
	return true
}

func TestHistoryIsFolded(t *testing.T) {
	h := newHistory(strings.Repeat("line\n", 100))
	var given, agents []uint64
	for i := range MaxRevisions + MaxRevisions/2 {
		by := filetime.User
		if i%5000 == 77 {
			by = filetime.Agent
		}
		at := i % 50
		h.add(text.Set{{Start: at, End: at, New: string(rune('a' + i%26))}}, by)
		if by == filetime.Agent {
			agents = append(agents, h.rev)
		}
		if i%3000 == 13 {
			h.Pin()
			given = append(given, h.rev)
		}
	}
	if n := len(h.revisions); n > MaxRevisions {
		t.Errorf("%d revisions are kept", n)
	}
	for _, rev := range slices.Concat([]uint64{2}, given, agents) {
		if !h.lead(t, rev) {
			t.Errorf("revision %d is gone", rev)
		}
	}
	if h.lead(t, 1000) {
		t.Error("nothing was folded")
	}
	if got := slices.IndexFunc(h.revisions, func(r filetime.Revision) bool { return r.Author == filetime.Agent }); got < 0 {
		t.Error("the agent's revisions have lost their author")
	}
}

// What was landed for a person stays apart from what the person typed around it: whose the unsaved text is depends on it.
func TestFoldKeepsLandedApart(t *testing.T) {
	h := newHistory("line\n")
	landed := map[uint64]bool{}
	for i := range MaxRevisions + 1 {
		h.add(text.Set{{New: "x"}}, filetime.User)
		if i%5000 == 77 {
			h.revisions[len(h.revisions)-1].Ours = true
			landed[h.rev] = true
		}
	}
	var kept int
	for _, r := range h.revisions {
		if r.Ours {
			if kept++; !landed[r.Rev] || r.Set.Apply(text.Text{}).String() != "x" {
				t.Errorf("revision %d is taken for one that landed, or has typing in it: %v", r.Rev, r.Set)
			}
		}
	}
	if kept != len(landed) || len(h.revisions) > MaxRevisions {
		t.Errorf("%d of %d are kept, among %d revisions", kept, len(landed), len(h.revisions))
	}
}

// TestHistoryIsBounded has revisions that cannot be folded well: each replaces much, and they alternate.
func TestHistoryIsBounded(t *testing.T) {
	h := newHistory("x")
	most := 0
	for i := range 200 {
		by := []filetime.Author{filetime.User, filetime.Agent}[i%2]
		h.add(text.Set{{Start: 0, End: h.text.Len(), New: strings.Repeat(fmt.Sprint(i%10), 1<<20)}}, by)
		delete(h.texts, h.rev) // not held by the test
		most = max(most, h.weight)
		sum := 0
		for _, r := range h.revisions {
			sum += weigh(r)
		}
		if sum != h.weight {
			t.Fatalf("weighs %d, thought to be %d", sum, h.weight)
		}
	}
	if most > maxWeight {
		t.Errorf("%d bytes are kept", most)
	}
	if _, ok := h.Since(2); ok {
		t.Error("the oldest is still there")
	}
	if revs, ok := h.Since(h.base); !ok || len(revs) != len(h.revisions) {
		t.Error("the base is not where the history begins")
	}
}

// TestRestores: what is given of a history says of each revision which one it restores, as a search over all texts finds it,
// also where revisions were made one or parted since.
func TestRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory("one\n")
		var revs []uint64
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			set := text.Set{{Start: 0, End: rapid.IntRange(0, min(1, h.text.Len())).Draw(t, "end"), New: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "new")}}
			if len(revs) > 0 && rapid.Bool().Draw(t, "undo") {
				set = text.Diff(h.text, h.texts[rapid.SampledFrom(revs).Draw(t, "to")])
			}
			h.add(set, filetime.User)
			revs = append(revs, h.rev)
			n := len(h.revisions)
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				i := rapid.IntRange(0, n-1).Draw(t, "from")
				to := rapid.IntRange(i+1, n).Draw(t, "to")
				h.Claim(h.revisions[i].Rev, h.revisions[to-1].Rev, filetime.Change{Session: "s", Call: "c"})
			case 1:
				at := h.revisions[n-1]
				h.Replace(at.Rev, at.Rev, filetime.Revision{Rev: at.Rev - 1, Part: true}, filetime.Revision{Rev: at.Rev, Set: at.Set})
			}
		}
		from := rapid.SampledFrom(append(revs, 2)).Draw(t, "since")
		given, ok := h.Since(from)
		if !ok {
			return
		}
		for i, r := range given {
			if h.texts[r.Rev].Len() == 0 && r.Part { // the half of one that was parted
				continue
			}
			before := from
			if i > 0 {
				before = given[i-1].Rev
			}
			want := uint64(0)
			for rev, was := range h.texts {
				if rev <= before && was.Equal(h.texts[r.Rev]) {
					want = max(want, rev)
				}
			}
			if r.Restores != want {
				t.Fatalf("revision %d restores %d, want %d, in %v", r.Rev, r.Restores, want, given)
			}
		}
	})
}
