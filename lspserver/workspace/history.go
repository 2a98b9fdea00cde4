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

// begin sets the first known text of the file, as revision rev. f.mu is held.
func (f *file) begin(t text.Text, rev uint64) {
	f.text, f.loaded = t, true
	f.rev, f.base = rev, rev
	f.history, f.weight, f.pinnedRevs = nil, 0, nil
}

// append appends r to the history. f.mu is held.
func (f *file) append(r filetime.Revision) {
	f.history = append(f.history, r)
	f.weight += weigh(r)
	// An edit in flight looks up its own revisions, so nothing is folded then.
	if f.out != nil || len(f.history) <= maxHistory && f.weight <= maxWeight {
		return
	}
	f.fold()
	for f.weighAll(); len(f.history) > maxHistory*3/4 || f.weight > maxWeight*3/4; f.weighAll() {
		half := len(f.history) / 2
		if half == 0 {
			return
		}
		// Older snapshots are carried on by a diff.
		f.base = f.history[half-1].Rev
		f.history = slices.Clone(f.history[half:])
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

func (f *file) weighAll() {
	f.weight = 0
	for _, r := range f.history {
		f.weight += weigh(r)
	}
}

// fold composes runs of revisions in the older half of the history, which is exact. Revisions of the agent, and those that
// snapshots had, are kept.
func (f *file) fold() {
	half := len(f.history) / 2
	var kept []filetime.Revision
	var run []text.Set
	for i, r := range f.history[:half] {
		run = append(run, r.Set)
		next := f.history[i+1]
		_, given := slices.BinarySearch(f.pinnedRevs, r.Rev)
		if given || len(run) == maxRun || i+1 == half || r.Session != "" || next.Author != r.Author {
			r.Set = text.ComposeAll(run)
			kept = append(kept, r)
			run = nil
		}
	}
	f.history = append(kept, f.history[half:]...)
}

// since gives the revisions after rev; ok is false if the history does not have rev any more. f.mu is held.
func (f *file) since(rev uint64) ([]filetime.Revision, bool) {
	if rev == f.rev {
		return nil, true
	}
	if rev == f.base {
		return slices.Clone(f.history), true
	}
	i, ok := slices.BinarySearchFunc(f.history, rev, func(r filetime.Revision, rev uint64) int {
		return cmp.Compare(r.Rev, rev)
	})
	if !ok {
		return nil, false
	}
	return slices.Clone(f.history[i+1:]), true
}

// composeRevisions composes consecutive revisions.
func composeRevisions(revs []filetime.Revision) text.Set {
	sets := make([]text.Set, len(revs))
	for i, r := range revs {
		sets[i] = r.Set
	}
	return text.ComposeAll(sets)
}

// markSaved notes that the disk has the present text. f.mu is held.
func (f *file) markSaved() { f.saved, f.savedRev = f.text, f.rev }

// discard is the change to now if that is the last saved text: the inverse of all changes since, which a diff would
// only guess. f.mu is held.
func (f *file) discard(now text.Text) (text.Set, bool) {
	if f.savedRev == 0 || f.savedRev == f.rev || !f.saved.Equal(now) {
		return nil, false
	}
	revs, ok := f.since(f.savedRev)
	if !ok {
		return nil, false
	}
	all := composeRevisions(revs)
	if !all.Apply(f.saved).Equal(f.text) {
		return nil, false
	}
	return all.Inverse(f.saved), true
}

// discardedBy says that revision rev is among those that the editor discarded last. f.mu is held.
func (f *file) discardedBy(rev uint64) bool { return f.back[0] < rev && rev < f.back[1] }

// pinnedSnapshot is a snapshot whose revision the history will keep. f.mu is held.
func (f *file) pinnedSnapshot() filetime.Snapshot {
	if n := len(f.pinnedRevs); n == 0 || f.pinnedRevs[n-1] != f.rev {
		f.pinnedRevs = append(f.pinnedRevs, f.rev)
		f.pinnedRevs = f.pinnedRevs[max(0, len(f.pinnedRevs)-maxGiven):]
	}
	return f.snapshot()
}
