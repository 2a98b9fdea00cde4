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
	maxGiven   = 256      // revisions that are kept apart because somebody has asked for them
)

// begin makes a text the first that is known of the file, as revision rev. f.mu is held.
func (f *file) begin(t text.Text, rev uint64) {
	f.text, f.known = t, true
	f.rev, f.base = rev, rev
	f.history, f.weight, f.given = nil, 0, nil
}

// remember makes r the newest of the history. f.mu is held.
func (f *file) remember(r filetime.Revision) {
	f.history = append(f.history, r)
	f.weight += weigh(r)
	// An edit on its way looks its own revisions up, so that nothing is folded then.
	if f.out != nil || len(f.history) <= maxHistory && f.weight <= maxWeight {
		return
	}
	f.fold()
	for f.weighAll(); len(f.history) > maxHistory*3/4 || f.weight > maxWeight*3/4; f.weighAll() {
		half := len(f.history) / 2
		if half == 0 {
			return
		}
		// Who still has a text from before that goes on by comparing.
		f.base = f.history[half-1].Rev
		f.history = slices.Clone(f.history[half:])
	}
}

// weigh is about how many bytes a revision takes.
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

// fold composes the older half of the history in runs, which is exact; only revisions between are lost, and none of an
// agent's or that somebody has asked for.
func (f *file) fold() {
	half := len(f.history) / 2
	var kept []filetime.Revision
	var run []text.Set
	for i, r := range f.history[:half] {
		run = append(run, r.Set)
		next := f.history[i+1]
		_, given := slices.BinarySearch(f.given, r.Rev)
		if given || len(run) == maxRun || i+1 == half || r.Author == filetime.Agent || next.Author != r.Author {
			r.Set = text.ComposeAll(run)
			kept = append(kept, r)
			run = nil
		}
	}
	f.history = append(kept, f.history[half:]...)
}

// since gives the revisions after rev; ok is false when rev is none that the history still knows. f.mu is held.
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

// together is what revisions that follow one another do in all.
func together(revs []filetime.Revision) text.Set {
	sets := make([]text.Set, len(revs))
	for i, r := range revs {
		sets[i] = r.Set
	}
	return text.ComposeAll(sets)
}

// settle notes that the disk has the text, too. f.mu is held.
func (f *file) settle() { f.saved, f.savedRev = f.text, f.rev }

// discard is how the text becomes now where that is what was last saved: what was done since is taken back, which a
// comparison of the two texts would only guess at. f.mu is held.
func (f *file) discard(now text.Text) (text.Set, bool) {
	if f.savedRev == 0 || f.savedRev == f.rev || !f.saved.Equal(now) {
		return nil, false
	}
	revs, ok := f.since(f.savedRev)
	if !ok {
		return nil, false
	}
	all := together(revs)
	if !all.Apply(f.saved).Equal(f.text) {
		return nil, false
	}
	return all.Inverse(f.saved), true
}

// dropped says that revision rev is among what the editor threw away last. f.mu is held.
func (f *file) dropped(rev uint64) bool { return f.back[0] < rev && rev < f.back[1] }

// give is the snapshot for somebody who will ask what has happened since. f.mu is held.
func (f *file) give() filetime.Snapshot {
	if n := len(f.given); n == 0 || f.given[n-1] != f.rev {
		f.given = append(f.given, f.rev)
		f.given = f.given[max(0, len(f.given)-maxGiven):]
	}
	return f.snapshot()
}
