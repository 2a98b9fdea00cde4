package workspace

import (
	"context"
	"errors"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
)

// detour is the repair of a misplaced edit. It always knows the text as it would be without it: back leads there from
// the present text, and the intended edit is rebased over it.
type detour struct {
	meant  filetime.FileEdit // the intended edit
	base   text.Text         // the text that it was sent for
	sent   text.Set          // the edit that was sent
	theirs text.Set          // changes by others until it landed, over meant.Base
	before text.Text         // the text before it landed
	first  uint64            // the first revision after that
	right  text.Rebased      // the intended edit over before; its conflicts are over base

	stage
	rev   uint64
	trail []stage // before and after each misplaced edit and repair

	rebased text.Rebased // the intended edit, over the text without what was misplaced
	done    bool         // the last repair includes it
}

// stage is a state of the repairs.
type stage struct {
	now   text.Text
	back  text.Set // over now: reverts all that was misplaced
	since text.Set // over detour.before: the changes by others, to the text that back leads to
	met   bool     // something was typed into what was misplaced
}

// carry rebases the state over a change by others. Each change is compared with the trail: the editor's own undo leads
// back to an earlier text, and then the state is that one's.
func (t *detour) carry(set text.Set) {
	now := set.Apply(t.now)
	if i := t.stood(now); i >= 0 {
		t.stage = t.trail[i]
		return
	}
	back, typed := text.Revert(t.now, t.back, set)
	if len(typed.Conflicts) > 0 {
		typed.Set = text.Diff(t.back.Apply(t.now), back.Apply(now))
		t.met = t.met || slices.ContainsFunc(typed.Conflicts, func(c text.Conflict) bool { return c.Rule == text.RuleOverlap })
	}
	t.now, t.back, t.since = now, back, text.Compose(t.since, typed.Set)
}

// stood is the index of a text in the trail, or -1.
func (t *detour) stood(now text.Text) int {
	for i, s := range slices.Backward(t.trail) {
		if s.now.Equal(now) {
			return i
		}
	}
	return -1
}

// right says that an edit is at the right place; for a repair, that the text is the intended one with the changes by
// others.
func (a *attempt) right(d *delivery, found finding) bool {
	if a.detour == nil {
		return found.verdict == landed
	}
	for _, e := range d.events[:found.i] {
		a.detour.carry(e.set)
	}
	return sameText(a.wanted().Apply(a.detour.now), d.events[found.j-1].after)
}

// repair records that the edit, or a repair of it, was misplaced.
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
		if until := a.w.o.Now().Add(replyTimeout); until.After(a.deadline) {
			a.deadline = until
		}
	}
}

// mended makes the edit one that reverts what was misplaced and, if there is no conflict, makes the intended edit. f.mu
// is held.
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

// wanted is the next edit by the detour.
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

// restart drops the detour, because the document was closed without the misplaced edit.
func (a *attempt) restart() {
	a.e = a.detour.meant
	if a.lingers {
		a.e.Edits = nil
	}
	a.repairs, a.detour = 0, nil
}

// salvage continues a repair that cannot go to the editor, for the reason in cause. A closed document is repaired on disk.
func (a *attempt) salvage(ctx context.Context, cause error) (filetime.LandedFile, bool, error) {
	if errors.Is(cause, errClosed) {
		tx := a.w.transaction(a.c)
		l, err := a.w.putOnDisk(ctx, a.f, a.e, tx)
		tx.end(err)
		var conflict *filetime.Conflict
		switch {
		case err == nil:
			l, err = a.settled(l)
			return l, true, err
		case errors.Is(err, errOpened), errors.As(err, &conflict): // it changed meanwhile
			return l, false, nil
		}
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	return filetime.LandedFile{}, false, a.unknown("the editor put it at the wrong place, and that cannot be repaired")
}

// settled ends a repair that is complete.
func (a *attempt) settled(l filetime.LandedFile) (filetime.LandedFile, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	l, _, err := a.settle(l, a.f.rev)
	return l, err
}

// markSaved ends an edit that has landed with revision last, or a repair that was only a revert.
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

// straighten leaves one edit in the history and in the result: the intended one, over the text as it would be without
// the detour. The misplaced edit and its revert become changes by the user, so that views and undo are not affected by
// them.
func (a *attempt) straighten(l filetime.LandedFile, last uint64) filetime.LandedFile {
	f, t := a.f, a.detour
	clean := t.back.Apply(t.now)
	made := t.done && len(l.Set) > 0 // revision l.Rev is the edit
	var straight []filetime.Revision
	for _, r := range f.revisions {
		switch {
		case r.Rev < t.first || r.Rev > last:
		case r.Rev != l.Rev || !made:
			if r.Session != "" {
				r.Author, r.Session, r.Call = filetime.User, "", ""
			}
		case r.Rev == last && l.Before.Equal(t.now) && t.rebased.Set.Apply(clean).Equal(l.After):
			straight = append(straight, filetime.Revision{Rev: r.Rev - 1, Set: t.back, Part: true})
			r.Set = t.rebased.Set
			l.From, l.Before, l.Set, l.Rebased = t.now, clean, r.Set, text.Canonical(t.meant.Base, text.Compose(t.theirs, t.since))
			l.Over, l.SameLine, l.Ties = len(l.Rebased), t.right.SameLine || t.rebased.SameLine, t.rebased.Ties
		}
		straight = append(straight, r)
	}
	f.revisions = straight
	return l
}

// mend reverts what was misplaced, after the call has returned. It continues until that is done, the document is closed
// or the editor has disconnected. It owns the document's slot.
func (a *attempt) mend() {
	a.deadline = a.w.o.Now().Add(mending)
	a.lingers = true
	_, err := a.run(context.Background())
	if reasonOf(err) != heldReason { // else the document stays taken, see file.heard
		<-a.f.inFlight
	}
	if err != nil && a.repairs > 0 {
		a.w.o.Log.Warn("an edit at the wrong place was not repaired", "path", a.f.path, "error", err)
	}
}
