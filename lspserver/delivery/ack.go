package delivery

import (
	"slices"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
)

// A client may promise that its reply to an edit names the version that the edit made
// (Features.Landed). Then the didChange of that version is the edit, and nothing has to be searched
// for: the text must be the one before it with the edit, carried over what was typed, but for line
// ends. What else is in that version is a revision of the person's. An edit that does not stand in
// the version that is named goes to the search; three of those end the promise.

// MaxBroken is the number of wrong versions after which a client's promise counts no more.
const MaxBroken = 3

// Promised reports that the client names the versions of edits, and has not been wrong too often.
func (to *Client) Promised() bool {
	return to.Landed && to.broken.Load() < MaxBroken
}

// awaits reports that the version of an acknowledged edit has not arrived yet. f is locked.
func (a *attempt) awaits(r *reply) bool {
	return a.named(r) && a.f.State().Version < *r.Version
}

// named reports that a reply names the version of the edit. f is locked.
func (a *attempt) named(r *reply) bool {
	return r.yes() && r.Version != nil && a.f.open() && a.to.Promised()
}

// acknowledged finds the edit in the version that the reply names, which has arrived. f is locked.
func (a *attempt) acknowledged(d *try) bool {
	is := func(e follow.Change) bool { return e.Version == *d.reply.Version && e.Kind == follow.Told }
	i := slices.IndexFunc(d.events, is)
	if i < 0 {
		return false // the edit changed nothing, or one notification has it and a later change
	}
	j := i + 1
	for j < len(d.events) && is(d.events[j]) {
		j++
	}
	want := text.Rebase(d.Before, d.Set, follow.Composed(d.events[:i]))
	if len(want.Conflicts) == 0 && want.Coalesced == 0 { // else it cannot be made there, or a part of it was there before
		if f := follow.In(d.events, i, j, want.Set); f != nil {
			a.to.kept.Add(1)
			d.found = f
			return true
		}
	}
	broken := a.to.broken.Add(1)
	a.to.Log.Warn("the editor named a version that does not have the edit", "path", a.f.Path, "version", *d.reply.Version,
		"wrong", broken, "right", a.to.kept.Load())
	return false
}

// part makes two revisions of one version: the edit, and what the person did in the same version. f
// is locked.
func (a *attempt) part(d *try, i, j int, set text.Set) {
	first, last := d.events[i], d.events[j-1]
	mid := set.Apply(first.Before)
	ours := follow.Change{Set: set, Before: first.Before, After: mid, Rev: last.Rev - 1, Version: last.Version}
	rest := follow.Change{Set: text.Diff(mid, last.After), Before: mid, After: last.After, Rev: last.Rev, Version: last.Version}
	d.events = slices.Replace(d.events, i, j, ours, rest)
	a.f.Replace(first.Rev, last.Rev,
		filetime.Revision{Rev: ours.Rev, Set: ours.Set, Author: filetime.User, Part: true},
		filetime.Revision{Rev: rest.Rev, Set: rest.Set, Author: filetime.User})
}
