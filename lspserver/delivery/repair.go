package delivery

import (
	"context"
	"errors"
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
	"tandem/lspserver/history"
)

// An editor that checks no version may put an edit at the places of an older text. That is an edit
// that has landed and that nobody wanted: its revert goes to the editor like any edit, and then the
// edit goes again. The revert never takes away what somebody typed. It may come to a wrong place
// too: then there is more to take back.

// reversal takes back all that was misplaced: set is over now, the text of revision rev.
type reversal struct {
	now     text.Text
	set     text.Set
	rev     uint64
	first   uint64     // the first misplaced revision
	before  text.Text  // the text before it
	known   []reversal // what it was in texts to which the editor's own undo may lead back
	lingers bool       // the call has returned: nothing is sent again after the revert
}

// errMisplaced says that a document was closed with something misplaced in it.
var errMisplaced = errors.New("the document was closed with a misplaced edit")

// carry rebases the revert over a change by others.
func (b *reversal) carry(set text.Set) {
	now := set.Apply(b.now)
	back, _ := text.Revert(b.now, b.set, set)
	for _, k := range slices.Backward(b.known) {
		if k.now.Equal(now) {
			back = k.set
			break
		}
	}
	b.now, b.set = now, back
}

// strayed records that the edit, or a revert, was misplaced. f is locked.
func (a *attempt) strayed(d *try) {
	a.to.Log.Warn("the editor applied an edit at the coordinates of an older text; it is taken back", "path", a.f.Path)
	a.refused = refusals{}
	if a.back == nil {
		a.back = &reversal{now: d.Before}
		if until := a.to.Now().Add(ReplyTimeout); until.After(a.deadline) {
			a.deadline = until
		}
	}
	a.misplace(d)
	if a.back.first == 0 {
		first := d.events[d.found.From]
		a.back.first, a.back.before = first.Rev, first.Before
	}
}

// misplace adds what the edit has done to what is to be taken back: less than before, if it was the
// revert at its place. In the history it is a change that a person has asked for, so that no view
// and no undo knows it. f is locked.
func (a *attempt) misplace(d *try) {
	first, last := a.own(d)
	a.f.Claim(first.Rev, last.Rev, filetime.Change{ForUser: true})
	b := a.back
	for _, e := range d.events[:d.found.From] {
		b.carry(e.Set)
	}
	did := d.found.Start
	if !did.Apply(first.Before).Equal(last.After) { // an editor's change may have unchanged words in it
		did = follow.Composed(d.events[d.found.From:d.found.To])
	}
	was := reversal{now: b.now, set: b.set}
	b.now, b.rev = last.After, last.Rev
	b.set = text.Trim(b.now, text.Compose(did.Inverse(first.Before), b.set))
	b.known = append(b.known, was, reversal{now: b.now, set: b.set})
}

// reverting reports that something misplaced is in the text.
func (a *attempt) reverting() bool { return a.back != nil && len(a.back.set) > 0 }

// clean reports that the edit was found in a text without anything misplaced: the editor's own undo
// may have brought that back.
func (a *attempt) clean(d *try) bool {
	if a.back == nil {
		return true
	}
	b := *a.back
	for _, e := range d.events[:d.found.From] {
		b.carry(e.Set)
	}
	return len(b.set) == 0
}

// planRevert is the plan to revert what is misplaced, empty if nothing is. f is locked.
func (a *attempt) planRevert() (Plan, error) {
	f, b := a.f, a.back
	if revs, ok := f.Since(b.rev); ok {
		for _, r := range revs {
			b.carry(r.Set)
		}
	} else {
		b.carry(text.Diff(b.now, f.Text()))
	}
	b.rev = f.Rev()
	after := b.set.Apply(f.Text())
	if !f.open() && f.DiscardedBy(b.first) || after.Equal(f.Text()) {
		b.set = nil
	}
	switch {
	case len(b.set) == 0:
		a.isReverted()
		return Plan{}, nil
	case !f.open():
		return Plan{}, errMisplaced
	case f.State().Unsound:
		return Plan{}, a.unknown("the editor put it at the wrong place, and that cannot be taken back")
	}
	p := Plan{Before: f.Text(), Set: b.set, After: after}
	if !f.State().Unversioned {
		v := f.State().Version
		p.Version = &v
	}
	return p, nil
}

// isReverted goes on with the edit, if its call waits for it: over what others have done alone. The
// history keeps one revision of that: text that the misplaced edit deleted and the revert inserted
// again keeps its author. f is locked.
func (a *attempt) isReverted() {
	f, b := a.f, a.back
	if revs, ok := f.Since(a.e.Rev); ok {
		theirs := text.Compose(a.e.Since, history.Compose(revs))
		a.e.Since, a.e.Rev = text.Minimize(a.e.Base, theirs), f.Rev()
	}
	if b.lingers {
		a.e.Edits = nil
	}
	revs := f.Between(b.first, f.Rev())
	known := func(r filetime.Revision) bool { return r.Author != filetime.User || r.Session != "" } // as somebody else's
	if len(revs) == 0 || slices.ContainsFunc(revs, known) || b.first <= f.SavedRev() && f.SavedRev() < f.Rev() {
		return
	}
	set := text.Minimize(b.before, history.Compose(revs))
	f.Replace(b.first, f.Rev(), filetime.Revision{Rev: f.Rev(), Set: set, Author: filetime.User, Ours: len(set) == 0})
}

// revertOnDisk reverts what was misplaced in a document that was closed with it.
func (a *attempt) revertOnDisk(ctx context.Context) error {
	a.f.Lock()
	e := filetime.FileEdit{Path: a.f.Path, Base: a.back.now, Edits: a.back.set, Rev: a.back.rev}
	a.f.Unlock()
	err := a.f.PutOnDisk(ctx, e, filetime.Change{ForUser: true, Label: a.c.Label})
	var conflict *filetime.Conflict
	a.f.Lock()
	defer a.f.Unlock()
	switch {
	case err == nil:
		a.back.known = append(a.back.known, reversal{now: e.Base, set: e.Edits}) // an editor that opens it now may have read that
		a.back.set, a.back.now, a.back.rev = nil, a.f.Text(), a.f.Rev()
		a.isReverted()
		return nil
	case errors.Is(err, ErrOpened), errors.As(err, &conflict): // it changed meanwhile
		return nil
	}
	return a.unknown("the editor put it at the wrong place, and that cannot be taken back")
}

// revertLater reverts what was misplaced after the call has returned, until that is done, the
// document is closed or the editor has disconnected. It owns the document's slot.
func (a *attempt) revertLater() {
	a.deadline = a.to.Now().Add(RevertTime)
	a.back.lingers = true
	_, err := a.run(context.Background())
	if err != nil {
		a.to.Log.Warn("an edit at the wrong place may not have been taken back", "path", a.f.Path, "error", err)
	}
	a.f.end(err)
}
