package workspace

import (
	"context"
	"errors"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// detour is the way of an edit that landed at the wrong place first. The text that would stand there without it is never
// lost sight of: back leads to it from what stands there, and what was meant is carried along in it.
type detour struct {
	meant  filetime.FileEdit // the edit before any repair
	base   text.Text         // what it was sent for
	sent   text.Set          // the edit as it was sent
	theirs text.Set          // what others did until it landed, over meant.Base
	before text.Text         // what stood there before it landed
	first  uint64            // the first revision after that
	right  text.Rebased      // the edit as it was meant, over before; its conflicts are over base

	stage
	rev   uint64
	trail []stage // before and after each edit and repair that landed at a wrong place

	rebased text.Rebased // the edit as it was meant, over the text without what landed at a wrong place
	done    bool         // the last repair does it, too
}

// stage is where the repairs stand.
type stage struct {
	now   text.Text
	back  text.Set // over now: takes away all that landed at a wrong place, and puts back what that took away
	since text.Set // over detour.before: what others did meanwhile, to the text that back leads to
	met   bool     // somebody has typed into what landed at a wrong place
}

// carry takes in what somebody did to the text. Each change is looked at by itself: who takes something back with the
// editor's own undo comes by a text that stood there before, and then nothing is left to do of what was done since.
func (t *detour) carry(set text.Set) {
	now := set.Apply(t.now)
	if i := t.stood(now); i >= 0 {
		t.stage = t.trail[i]
		return
	}
	back, typed := text.TakeBack(t.now, t.back, set)
	if len(typed.Conflicts) > 0 {
		typed.Set = text.Diff(t.back.Apply(t.now), back.Apply(now))
		t.met = t.met || slices.ContainsFunc(typed.Conflicts, func(c text.Conflict) bool { return c.Rule == text.RuleOverlap })
	}
	t.now, t.back, t.since = now, back, text.Compose(t.since, typed.Set)
}

// stood says where on the trail a text stood, -1 for nowhere.
func (t *detour) stood(now text.Text) int {
	for i, s := range slices.Backward(t.trail) {
		if s.now.Equal(now) {
			return i
		}
	}
	return -1
}

// right says that an edit came to the right place. A repair did where the text is what it should be, by all that others did
// until then.
func (a *attempt) right(d *delivery, found finding) bool {
	if a.detour == nil {
		return found.verdict == landed
	}
	for _, e := range d.events[:found.i] {
		a.detour.carry(e.set)
	}
	return sameText(a.wanted().Apply(a.detour.now), d.events[found.j-1].after)
}

// repair takes in that the edit, or a repair of it, landed at a wrong place.
func (a *attempt) repair(d *delivery, found finding) {
	first, last := d.events[found.i], d.events[found.j-1]
	wrong := d.exact(found, a.reposition(first.before, d.ranges))
	a.claim(first.rev, last.rev, wrong)
	a.w.o.Log.Warn("the editor applied an edit at the coordinates of an older text; repairing", "path", a.f.path)
	if a.detour == nil {
		theirs := composed(d.events[:found.i])
		a.detour = &detour{
			meant: a.e, base: d.base, sent: d.set, before: first.before, first: first.rev, stage: stage{now: first.before},
			theirs: text.Canonical(a.e.Base, text.Compose(a.sent.theirs, theirs)), right: text.Rebase(d.base, d.set, theirs),
		}
	}
	t := a.detour
	t.trail = append(t.trail, t.stage)
	t.now, t.rev = last.after, last.rev
	t.back = text.Trim(t.now, text.Compose(wrong.Inverse(first.before), t.back))
	t.trail = append(t.trail, t.stage)
	a.refusals = 0
	if a.repairs++; a.repairs == 1 {
		if until := a.w.o.Now().Add(grace); until.After(a.deadline) {
			a.deadline = until
		}
	}
}

// mended makes the edit one that takes away from the present text what landed at a wrong place and does what was meant, if
// that can be done still. f.mu is held.
func (a *attempt) mended() {
	f, t := a.f, a.detour
	if revs, ok := f.since(t.rev); ok {
		for _, r := range revs {
			t.carry(r.Set)
		}
	} else {
		t.carry(text.Diff(t.now, f.text))
	}
	t.rev = f.rev
	a.e = filetime.FileEdit{Path: a.e.Path, Base: f.text, Edits: a.wanted(), Rev: f.rev}
}

// wanted is what is to be done to the text as far as it is known by the detour.
func (a *attempt) wanted() text.Set {
	t := a.detour
	if t.rebased = t.right; len(t.rebased.Conflicts) == 0 {
		t.rebased = text.Rebase(t.before, t.right.Set, t.since)
	}
	if t.done = len(t.rebased.Conflicts) == 0 && !t.met && !a.lingers; !t.done {
		return t.back
	}
	return text.Trim(t.now, text.Compose(t.back, t.rebased.Set))
}

// restart forgets what landed at the wrong place, because the document was closed without it.
func (a *attempt) restart() {
	a.e = a.detour.meant
	if a.lingers {
		a.e.Edits = nil
	}
	a.repairs, a.detour = 0, nil
}

// salvage goes on with a repair that cannot go to the editor, for the reason in cause. A document that was closed is repaired
// on disk.
func (a *attempt) salvage(ctx context.Context, cause error) (filetime.LandedFile, bool, error) {
	if errors.Is(cause, errClosed) {
		l, err := a.w.commitDisk(ctx, a.f, a.e, a.c)
		var conflict *filetime.Conflict
		switch {
		case err == nil:
			l, err = a.settled(l)
			return l, true, err
		case errors.Is(err, errOpened), errors.As(err, &conflict): // somebody was there first
			return l, false, nil
		}
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	return filetime.LandedFile{}, false, a.unknown("the editor put it at the wrong place, and that cannot be repaired")
}

// settled ends a repair after which nothing is left to do.
func (a *attempt) settled(l filetime.LandedFile) (filetime.LandedFile, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	l, _, err := a.settle(l, a.f.rev)
	return l, err
}

// settle ends an edit that has landed with revision last, or a repair that only took back what should not have landed.
func (a *attempt) settle(l filetime.LandedFile, last uint64) (filetime.LandedFile, bool, error) {
	t := a.detour
	if t == nil {
		return l, true, nil
	}
	l = a.straighten(l, last)
	if t.met {
		return l, true, a.unknown("the editor put it at the wrong place, and the user has typed there since")
	}
	if k := t.rebased.Conflicts; len(k) > 0 {
		e := filetime.FileEdit{Base: t.before, Edits: t.right.Set}
		if len(t.right.Conflicts) > 0 {
			e.Base, e.Edits = t.base, t.sent
		}
		return filetime.LandedFile{}, true, a.w.conflict(a.f, e, text.Diff(e.Base, a.f.text), k, nil)
	}
	return l, true, nil
}

// straighten leaves in the history, and in what is told, one edit that was meant, over the text as it would have been without
// the detour. What landed at a wrong place, and that it was taken away, is put down to the user, so that a view and an undo
// know nothing of it; the texts between stay known.
func (a *attempt) straighten(l filetime.LandedFile, last uint64) filetime.LandedFile {
	f, t := a.f, a.detour
	clean := t.back.Apply(t.now)
	made := t.done && len(l.Set) > 0 // revision l.Rev is the edit
	var straight []filetime.Revision
	for _, r := range f.history {
		switch {
		case r.Rev < t.first || r.Rev > last:
		case r.Rev != l.Rev || !made:
			if r.Author == filetime.Agent {
				r.Author, r.Session, r.Call = filetime.User, "", ""
			}
		case r.Rev == last && l.Before.Equal(t.now) && t.rebased.Set.Apply(clean).Equal(l.After):
			straight = append(straight, filetime.Revision{Rev: r.Rev - 1, Set: t.back, Part: true})
			r.Set = t.rebased.Set
			l.From, l.Before, l.Set, l.Rebased = t.now, clean, r.Set, text.Canonical(t.meant.Base, text.Compose(t.theirs, t.since))
			l.Over, l.SameLine = len(l.Rebased), t.right.SameLine || t.rebased.SameLine
		}
		straight = append(straight, r)
	}
	f.history = straight
	return l
}

// mend takes back what landed at the wrong place, and puts it nowhere: its call has been answered. It goes on until that is
// done, the document is closed or the editor has left. It owns the document's slot.
func (a *attempt) mend() {
	a.deadline = a.w.o.Now().Add(mending)
	a.lingers = true
	_, err := a.run(context.Background())
	if reasonOf(err) != heldReason { // else the document stays taken, see file.heard
		<-a.f.slot
	}
	if err != nil && a.repairs > 0 {
		a.w.o.Log.Warn("an edit at the wrong place was not repaired", "path", a.f.path, "error", err)
	}
}
