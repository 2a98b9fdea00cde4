package workspace

import (
	"cmp"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// How much a file's history may hold before its older half is folded.
const (
	maxHistory = 20_000   // revisions
	maxWeight  = 32 << 20 // bytes
	maxRun     = 64       // revisions that become one
	maxGiven   = 256      // revisions that are kept apart because snapshots had them
)

// history is the text of a file and how it came about. All methods want the lock of its file.
type history struct {
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
	reloads  int       // how many of the latest revisions are a reload from disk, see detectReload
	back     [2]uint64 // when the editor discarded unsaved text: the revision of the text that came back, and the new one
}

// begin sets the first known text of the file, as revision rev.
func (h *history) begin(t text.Text, rev uint64) {
	h.text, h.loaded = t, true
	h.rev, h.base = rev, rev
	h.revisions, h.weight, h.pinnedRevs, h.past = nil, 0, nil, filetime.Past{}
}

// append appends r, which has led to the present text, to the history. keep leaves it as it is, for an edit in flight that looks up its own revisions.
func (h *history) append(r filetime.Revision, keep bool) {
	h.past.Add(h.rev, h.text)
	h.revisions = append(h.revisions, r)
	h.weight += weigh(r)
	if keep || len(h.revisions) <= maxHistory && h.weight <= maxWeight {
		return
	}
	h.fold()
	for h.weighAll(); len(h.revisions) > maxHistory*3/4 || h.weight > maxWeight*3/4; h.weighAll() {
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

func (h *history) weighAll() {
	h.weight = 0
	for _, r := range h.revisions {
		h.weight += weigh(r)
	}
}

// fold composes runs of revisions in the older half of the history, which is exact. Revisions of the agent, and those that
// snapshots had, are kept.
func (h *history) fold() {
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

// after gives the revisions after rev, which are not to be changed; ok is false if the history does not have rev any more.
func (h *history) after(rev uint64) (revs []filetime.Revision, ok bool) {
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

// since is after, as a copy that says what each revision restores: that depends on the text which it
// leads to alone, so it outlasts a new division into revisions.
func (h *history) since(rev uint64) ([]filetime.Revision, bool) {
	revs, ok := h.after(rev)
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

// unsaved gives the revisions since the last save; ok is false if they are not known.
func (h *history) unsaved() (revs []filetime.Revision, ok bool) {
	if h.savedRev == 0 {
		return nil, false
	}
	return h.after(h.savedRev)
}

// claim makes the revisions from first to last one, by a change.
func (h *history) claim(first, last uint64, c filetime.Change) {
	if i, j := h.span(first, last); i < j {
		h.replace(first, last, revisionOf(c, last, composeRevisions(h.revisions[i:j])))
	}
}

// span is where the revisions from first to last stand: from index i and up to j. It is empty if the history does not have them.
func (h *history) span(first, last uint64) (i, j int) {
	i = slices.IndexFunc(h.revisions, func(r filetime.Revision) bool { return r.Rev == first })
	j = slices.IndexFunc(h.revisions, func(r filetime.Revision) bool { return r.Rev == last })
	if i < 0 || j < i {
		return 0, 0
	}
	return i, j + 1
}

// replace puts other revisions into the place of those from first to last, which lead to the same text.
func (h *history) replace(first, last uint64, by ...filetime.Revision) {
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

// composeRevisions composes consecutive revisions.
func composeRevisions(revs []filetime.Revision) text.Set {
	sets := make([]text.Set, len(revs))
	for i, r := range revs {
		sets[i] = r.Set
	}
	return text.ComposeAll(sets)
}

// markSaved notes that the disk has the present text.
func (h *history) markSaved() { h.saved, h.savedRev = h.text, h.rev }

// setSaved notes whether the disk has the present text.
func (h *history) setSaved(is bool) {
	switch {
	case is:
		h.markSaved()
	case h.savedRev == h.rev:
		h.saved, h.savedRev = text.Text{}, 0
	}
}

// discard is the change to now if that is the last saved text: the inverse of all changes since, which a diff would
// only guess.
func (h *history) discard(now text.Text) (text.Set, bool) {
	if h.savedRev == 0 || h.savedRev == h.rev || !h.saved.Equal(now) {
		return nil, false
	}
	revs, ok := h.since(h.savedRev)
	if !ok {
		return nil, false
	}
	all := composeRevisions(revs)
	if !all.Apply(h.saved).Equal(h.text) {
		return nil, false
	}
	return all.Inverse(h.saved), true
}

// discardedBy says that revision rev is among those that the editor discarded last.
func (h *history) discardedBy(rev uint64) bool { return h.back[0] < rev && rev < h.back[1] }
