package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
)

// recorded is a file with a history of its own, and the texts that its revisions make.
type recorded struct {
	*file
	texts map[uint64]text.Text
}

func newHistory(content string) *recorded {
	f := &file{path: "f", history: history{text: text.New(content), rev: 2, base: 2, loaded: true}, changed: make(chan struct{})}
	return &recorded{f, map[uint64]text.Text{2: f.text}}
}

func (h *recorded) add(set text.Set, by filetime.Author) {
	h.text = set.Apply(h.text)
	h.rev += 2
	h.texts[h.rev] = h.text
	h.append(filetime.Revision{Rev: h.rev, Set: set, Author: by}, false)
}

// lead checks that what came after a revision leads from its text to the present.
func (h *recorded) lead(t *testing.T, rev uint64) bool {
	t.Helper()
	revs, ok := h.since(rev)
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
	for i := range maxHistory + maxHistory/2 {
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
			given = append(given, h.pinnedSnapshot().Rev)
		}
	}
	if n := len(h.revisions); n > maxHistory {
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
	for i := range maxHistory + 1 {
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
	if kept != len(landed) || len(h.revisions) > maxHistory {
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
	if _, ok := h.since(2); ok {
		t.Error("the oldest is still there")
	}
	if revs, ok := h.since(h.base); !ok || len(revs) != len(h.revisions) {
		t.Error("the base is not where the history begins")
	}
}
