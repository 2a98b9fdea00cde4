package overlay

import (
	"context"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// project gives the file of a path, projected from now on.
func (o *Files) project(ctx context.Context, path string) (*file, error) {
	s, err := o.base.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.unlock()
	f := o.files[path]
	if f == nil {
		f = &file{path: path, base: s, now: s.Text, start: s.Rev, rev: s.Rev, landed: map[uint64]landing{}}
		f.past.Add(f.rev, f.now)
		o.files[path] = f
	}
	o.sync(f)
	return f, nil
}

// sync takes what has happened in the base into the projection.
func (o *Files) sync(f *file) {
	revs, now, ok := o.base.History(f.path, f.base.Rev)
	existed := f.base.Exists
	f.base.Exists = now.Exists
	for ok && len(revs) > 0 {
		r, n := revs[0], 1
		if len(f.entries) > 0 { // each step is rebased over by every edit that waits
			sets := []text.Set{r.Set}
			for n < len(revs) && sameAuthor(r, revs[n]) {
				sets = append(sets, revs[n].Set)
				n++
			}
			r.Set = text.ComposeAll(sets)
		}
		at := o.advance(f, r, r.Set.Apply(f.base.Text))
		if r.Author == filetime.Agent {
			if len(f.landed) > maxLanded {
				clear(f.landed)
			}
			for _, made := range revs[:n] {
				f.landed[made.Rev] = at
			}
		}
		revs = revs[n:]
	}
	if !ok || existed != now.Exists || !now.Text.Equal(f.base.Text) {
		o.advance(f, filetime.Revision{Set: text.Diff(f.base.Text, now.Text), Author: filetime.User}, now.Text)
		if !ok { // nobody knows who has done this
			f.history, f.oldest = nil, f.rev
		}
	}
	f.base = now
	o.drop()
}

// maxLanded is how many landings Project knows, of which it is asked for the last ones.
const maxLanded = 64

func sameAuthor(a, b filetime.Revision) bool {
	return a.Author == b.Author && a.Session == b.Session && a.Call == b.Call && a.Ours == b.Ours
}

// advance takes one change of the base, which leads to below, into the projection.
func (o *Files) advance(f *file, r filetime.Revision, below text.Text) landing {
	var lands *plan
	if r.Author == filetime.Agent {
		i := slices.IndexFunc(f.entries, func(e *entry) bool {
			return e.plan.tried && e.plan.change.Session == r.Session && e.plan.change.Call == r.Call
		})
		if i >= 0 {
			lands = f.entries[i].plan
		}
	}
	f.base.Text = below
	set := o.carry(f, 0, below, f.base.Exists, r.Set, filetime.Authors(0).Plus(r.Author), ByText, lands)
	at := f.record(set, r)
	if lands != nil && lands.state == Queued && len(o.parts(lands)) == 0 { // after an error that left this open
		d := o.describe(lands)
		d.State = Done
		o.close(lands, d)
	}
	return at
}

// carry takes a change of the text below the entries from i on into these, and gives it as a change
// of the projection. below is the text after the change, exists says that there is a file then. The
// entry of lands is what the change has made.
func (o *Files) carry(
	f *file, i int, below text.Text, exists bool, theirs text.Set, by filetime.Authors, why Reason, lands *plan,
) text.Set {
	for i < len(f.entries) {
		e := f.entries[i]
		if e.plan == lands && lands != nil {
			f.entries = slices.Delete(f.entries, i, i+1)
			theirs = text.Diff(e.after, below)
			continue
		}
		since := text.Compose(e.since, theirs)
		r := text.Rebase(e.base, e.edits, since)
		if len(r.Conflicts) > 0 || e.create == exists {
			f.entries = slices.Delete(f.entries, i, i+1)
			theirs = difference(e.after, below, text.Compose(e.set.Inverse(e.before), theirs))
			o.stale(e.plan, why, f.path, below)
			why = ByDepends
			continue
		}
		after := r.Set.Apply(below)
		next := text.RebaseTheirs(e.before, theirs, e.set)
		theirs = difference(e.after, after, next.Set)
		e.before, e.since, e.set, e.after, e.by = below, since, r.Set, after, e.by|by
		below, exists = after, true
		i++
	}
	return theirs
}

// difference is set, where it leads from a to b, else the one that does. It is empty where they are
// equal.
func difference(a, b text.Text, set text.Set) text.Set {
	switch {
	case a.Equal(b):
		return nil
	case set.Apply(a).Equal(b):
		return set
	}
	return text.Diff(a, b)
}

// record makes a revision of the projection.
func (f *file) record(set text.Set, r filetime.Revision) landing {
	at := landing{rev: f.rev, before: f.now, after: f.now}
	if len(set) == 0 {
		return at
	}
	f.rev++
	f.now = set.Apply(f.now)
	f.past.Add(f.rev, f.now)
	r.Rev, r.Set, r.Restores = f.rev, set, f.past.Restores(f.rev)
	if f.history = append(f.history, r); len(f.history) > maxHistory {
		f.history = slices.Clone(f.history[maxHistory/2:])
		f.oldest = f.history[0].Rev - 1
	}
	at.rev, at.after, at.set = f.rev, f.now, set
	return at
}

// stale takes a plan out of those that can be approved. What is left of it in other files goes with
// the next drop.
func (o *Files) stale(p *plan, why Reason, path string, now text.Text) {
	if p.state == Stale {
		return
	}
	p.state, p.reason, p.path, p.now = Stale, why, path, now
	o.drops = append(o.drops, p)
	o.news = append(o.news, o.describe(p))
}

// drop removes the entries of stale plans.
func (o *Files) drop() {
	for len(o.drops) > 0 {
		p := o.drops[0]
		o.drops = o.drops[1:]
		o.remove(p, filetime.User)
	}
}

// remove takes a plan's edits out of the projections; those of later plans are rebased over that.
func (o *Files) remove(p *plan, author filetime.Author) {
	for _, f := range o.files {
		i := slices.IndexFunc(f.entries, func(e *entry) bool { return e.plan == p })
		if i < 0 {
			continue
		}
		e := f.entries[i]
		f.entries = slices.Delete(f.entries, i, i+1)
		theirs := difference(e.after, e.before, e.set.Inverse(e.before))
		exists := f.base.Exists || i > 0
		set := o.carry(f, i, e.before, exists, theirs, filetime.Authors(0).Plus(author), ByDepends, nil)
		f.record(set, filetime.Revision{Author: author, Ours: true})
	}
}
