// Package history has the text of one file and how it came about: its revisions, whose each of them
// is, which one the disk has, and which of them leads back to an earlier text.
package history

import (
	"cmp"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// How much a file's history may hold before its older half is folded.
const (
	MaxRevisions = 20_000
	maxWeight    = 32 << 20 // bytes
	maxRun       = 64       // revisions that become one
	maxGiven     = 256      // revisions that are kept apart because snapshots had them
)

// History is the text of a file and how it came about. It has no lock of its own.
type History struct {
	text       text.Text
	rev        uint64
	base       uint64 // the revision before the oldest of revisions
	revisions  []filetime.Revision
	weight     int      // of the revisions, in bytes
	pinnedRevs []uint64 // revisions that snapshots had, ascending: fold keeps them apart
	past       filetime.Past
	loaded     bool // text is the file's when it was last read

	saved    text.Text // the text of savedRev, which the disk had too
	savedRev uint64    // 0: not known
	saves    int       // counts how often unsaved text was saved
	reloads  int       // how many of the latest revisions are a reload from disk, see Reloaded
	back     [2]uint64 // when the editor discarded unsaved text: the revision of the text that came back, and the new one
}

// New is the history of a file of which nothing is known yet.
func New(rev uint64) History { return History{rev: rev, base: rev} }

// Text is the present text.
func (h *History) Text() text.Text { return h.text }

// Rev is the revision of the present text.
func (h *History) Rev() uint64 { return h.rev }

// Loaded says that the text is the file's when it was last read.
func (h *History) Loaded() bool { return h.loaded }

// Drop says that the file's text is not known any more.
func (h *History) Drop() { h.loaded = false }

// Spell puts another form of the present text into its place: it may differ in line ends, and no
// revision leads to it.
func (h *History) Spell(t text.Text) { h.text = t }

// MovedAway gives the history to another path, and leaves one in which nothing is known.
func (h *History) MovedAway(rev uint64) History {
	gone := *h
	*h = History{saves: h.saves}
	h.Begin(text.Text{}, rev)
	h.loaded = false
	return gone
}

// Begin sets the first known text of the file, as revision rev.
func (h *History) Begin(t text.Text, rev uint64) {
	h.text, h.loaded = t, true
	h.rev, h.base = rev, rev
	h.revisions, h.weight, h.pinnedRevs, h.past = nil, 0, nil, filetime.Past{}
}

// Record makes a change the next revision. keep leaves the older ones as they are, for an edit in
// flight that looks up its own.
func (h *History) Record(rev uint64, set text.Set, author filetime.Author, keep bool) {
	h.past.Add(h.rev, h.text)
	h.text, h.rev, h.reloads = set.Apply(h.text), rev, 0
	h.past.Add(h.rev, h.text)
	r := filetime.Revision{Rev: rev, Set: set, Author: author}
	h.revisions = append(h.revisions, r)
	h.weight += weigh(r)
	if keep || len(h.revisions) <= MaxRevisions && h.weight <= maxWeight {
		return
	}
	h.fold()
	for h.weighAll(); len(h.revisions) > MaxRevisions*3/4 || h.weight > maxWeight*3/4; h.weighAll() {
		half := len(h.revisions) / 2
		if half == 0 {
			return
		}
		// Older snapshots are carried on by a diff.
		h.base = h.revisions[half-1].Rev
		h.revisions = slices.Clone(h.revisions[half:])
	}
}

// weigh estimates the size of a revision in bytes.
func weigh(r filetime.Revision) int {
	n := 80
	for _, e := range r.Set {
		n += 32 + len(e.New)
	}
	return n
}

func (h *History) weighAll() {
	h.weight = 0
	for _, r := range h.revisions {
		h.weight += weigh(r)
	}
}

// fold composes runs of revisions in the older half of the history, which is exact. Revisions of
// the agent, and those that snapshots had, are kept.
func (h *History) fold() {
	half := len(h.revisions) / 2
	var kept []filetime.Revision
	var run []text.Set
	for i, r := range h.revisions[:half] {
		run = append(run, r.Set)
		next := h.revisions[i+1]
		_, given := slices.BinarySearch(h.pinnedRevs, r.Rev)
		if given || r.Rev == h.savedRev || len(run) == maxRun || i+1 == half || r.Session != "" || next.Author != r.Author || next.Ours != r.Ours {
			r.Set = text.ComposeAll(run)
			kept = append(kept, r)
			run = nil
		}
	}
	h.revisions = append(kept, h.revisions[half:]...)
}

// After gives the revisions after rev, which are not to be changed; ok is false if the history does
// not have rev any more.
func (h *History) After(rev uint64) (revs []filetime.Revision, ok bool) {
	if rev == h.rev {
		return nil, true
	}
	if rev == h.base {
		return h.revisions, true
	}
	i, ok := slices.BinarySearchFunc(h.revisions, rev, func(r filetime.Revision, rev uint64) int {
		return cmp.Compare(r.Rev, rev)
	})
	if !ok {
		return nil, false
	}
	return h.revisions[i+1:], true
}

// Since is After, as a copy that says what each revision restores: that depends on the text which
// it leads to alone, so it outlasts a new division into revisions.
func (h *History) Since(rev uint64) ([]filetime.Revision, bool) {
	revs, ok := h.After(rev)
	revs = slices.Clone(revs)
	for i, r := range revs {
		was := h.past.Restores(r.Rev)
		for was > rev { // it is inside of r
			was = h.past.Restores(was)
		}
		revs[i].Restores, rev = was, r.Rev
	}
	return revs, ok
}

// Unsaved gives the revisions since the last save; ok is false if they are not known.
func (h *History) Unsaved() (revs []filetime.Revision, ok bool) {
	if h.savedRev == 0 {
		return nil, false
	}
	return h.After(h.savedRev)
}

// Claim makes the revisions from first to last one, by a change.
func (h *History) Claim(first, last uint64, c filetime.Change) {
	if i, j := h.span(first, last); i < j {
		h.Replace(first, last, revisionOf(c, last, Compose(h.revisions[i:j])))
	}
}

// All gives the revisions, which are not to be changed.
func (h *History) All() []filetime.Revision { return h.revisions }

// Between gives the revisions from first to last, which are not to be changed; none if the history
// does not have them.
func (h *History) Between(first, last uint64) []filetime.Revision {
	i, j := h.span(first, last)
	return h.revisions[i:j]
}

// Restores is the latest revision before rev with the same text, 0 for none.
func (h *History) Restores(rev uint64) uint64 { return h.past.Restores(rev) }

// SetPart says of the latest revision whether the next one belongs to the same message.
func (h *History) SetPart(is bool) { h.revisions[len(h.revisions)-1].Part = is }

// Pin keeps the present revision apart: a snapshot has it.
func (h *History) Pin() {
	if n := len(h.pinnedRevs); n == 0 || h.pinnedRevs[n-1] != h.rev {
		h.pinnedRevs = append(h.pinnedRevs, h.rev)
		h.pinnedRevs = h.pinnedRevs[max(0, len(h.pinnedRevs)-maxGiven):]
	}
}

// span is where the revisions from first to last stand: from index i and up to j. It is empty if
// the history does not have them.
func (h *History) span(first, last uint64) (i, j int) {
	i = slices.IndexFunc(h.revisions, func(r filetime.Revision) bool { return r.Rev == first })
	j = slices.IndexFunc(h.revisions, func(r filetime.Revision) bool { return r.Rev == last })
	if i < 0 || j < i {
		return 0, 0
	}
	return i, j + 1
}

// Replace puts other revisions into the place of those from first to last, which lead to the same
// text.
func (h *History) Replace(first, last uint64, by ...filetime.Revision) {
	if i, j := h.span(first, last); i < j {
		h.revisions = slices.Replace(slices.Clone(h.revisions), i, j, by...)
	}
}

// revisionOf is a change as an entry of a history.
func revisionOf(c filetime.Change, rev uint64, set text.Set) filetime.Revision {
	r := filetime.Revision{Rev: rev, Set: set, Author: filetime.User, Ours: true}
	if !c.ForUser {
		r.Author, r.Session, r.Call = filetime.Agent, c.Session, c.Call
	}
	return r
}

// Compose composes consecutive revisions.
func Compose(revs []filetime.Revision) text.Set {
	sets := make([]text.Set, len(revs))
	for i, r := range revs {
		sets[i] = r.Set
	}
	return text.ComposeAll(sets)
}

// MarkSaved notes that the disk has the present text.
func (h *History) MarkSaved() { h.saved, h.savedRev = h.text, h.rev }

// SetSaved notes whether the disk has the present text.
func (h *History) SetSaved(is bool) {
	switch {
	case is:
		h.MarkSaved()
	case h.savedRev == h.rev:
		h.saved, h.savedRev = text.Text{}, 0
	}
}

// Discard is the change to now if that is the last saved text: the inverse of all changes since,
// which a diff would only guess.
func (h *History) Discard(now text.Text) (text.Set, bool) {
	if h.savedRev == 0 || h.savedRev == h.rev || !h.saved.Equal(now) {
		return nil, false
	}
	revs, ok := h.Since(h.savedRev)
	if !ok {
		return nil, false
	}
	all := Compose(revs)
	if !all.Apply(h.saved).Equal(h.text) {
		return nil, false
	}
	return all.Inverse(h.saved), true
}

// DiscardedBy says that revision rev is among those that the editor discarded last.
func (h *History) DiscardedBy(rev uint64) bool { return h.back[0] < rev && rev < h.back[1] }

// Discarded says that the latest revision is the one that Discard has given.
func (h *History) Discarded() { h.back = [2]uint64{h.savedRev, h.rev} }

// SavedRev is the revision that the disk has too, 0 if it is not known, and Saved its text.
func (h *History) SavedRev() uint64 { return h.savedRev }

// Saved is the text of SavedRev.
func (h *History) Saved() text.Text { return h.saved }

// Saves counts how often unsaved text was saved.
func (h *History) Saves() int { return h.saves }

// Reloaded says that the latest n revisions are those by which an editor has loaded the file again
// that another program has written.
func (h *History) Reloaded(n int) {
	h.MarkSaved()
	h.reloads = min(n, len(h.revisions))
	h.reloadedBy(filetime.Disk)
}

// SavedUnsaved counts a save, unless no text was unsaved. What looked like a reload was none: the
// save was on disk before it was told of.
func (h *History) SavedUnsaved(dirty bool) {
	if dirty || h.reloads > 0 {
		h.reloadedBy(filetime.User)
		h.reloads = 0
		h.saves++
	}
}

func (h *History) reloadedBy(a filetime.Author) {
	for i := range min(h.reloads, len(h.revisions)) {
		if r := &h.revisions[len(h.revisions)-1-i]; r.Session == "" {
			r.Author = a
		}
	}
}
