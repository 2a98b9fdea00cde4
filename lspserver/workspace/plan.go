package workspace

import (
	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/stored"
)

// already is the landing, on disk, of an edit that another author has made already.
func already(f *file, p delivery.Plan) filetime.LandedFile {
	l := p.Landed(f.path, f.Rev(), true)
	l.Source, l.Already = "disk", true
	return l
}

// prepare rebases e over all later changes of the file. f.mu is held.
func (w *Workspace) prepare(f *file, e filetime.FileEdit) (delivery.Plan, error) {
	if e.Create && (f.disk.exists || f.open()) {
		return delivery.Plan{}, f.fail(filetime.FileExists, "exists", "%s exists by now: another program or the user created it. Read it, then edit it.", f.path)
	}
	if f.open() && (f.doc.sync != inSync || f.doc.rivals > 0) {
		return delivery.Plan{}, uncertainText(f)
	}
	if !e.Create && !f.disk.exists && !f.open() {
		return delivery.Plan{}, fail(f.path, filetime.EditConflict, "deleted",
			"%s was deleted since it was read; nothing was written. Use write_file to create it again.", f.path)
	}
	theirs, by := e.Since, e.By
	revs, ok := f.Since(e.Rev)
	switch {
	case e.Create:
		theirs = nil
	case !ok:
		theirs, by = text.Diff(e.Base, f.Text()), by.Unknown()
	default:
		sets := make([]text.Set, 0, len(revs)+1)
		sets = append(sets, theirs)
		for _, r := range revs {
			sets, by = append(sets, r.Set), by.Plus(r.Author)
		}
		theirs = text.ComposeAll(sets)
	}
	if e.Delete && f.open() {
		if err := w.mayDelete(f); err != nil {
			return delivery.Plan{}, err
		}
	}
	p := delivery.Plan{Before: f.Text(), Theirs: text.Canonical(e.Base, theirs), By: by}
	if n := len(p.Theirs); e.Delete && n > 0 {
		start, end := p.Theirs[0].Start, p.Theirs[n-1].End
		return p, w.conflict(f, e, theirs, []text.Conflict{{Start: start, End: end, Base: e.Base.Slice(start, end)}}, revs)
	}
	if f.open() && !f.doc.unversioned {
		v := f.doc.version
		p.Version = &v
	}
	p.Rebased = text.Rebase(e.Base, e.Edits, theirs)
	if len(p.Rebased.Conflicts) == 0 && !text.SameSpans(e.Base, e.Edits, f.Text(), p.Rebased.Set) {
		w.o.Log.Error("a rebased edit would delete other text than the original", "path", f.path)
		p.Rebased.Conflicts = []text.Conflict{{Rule: "span"}}
	}
	if len(p.Rebased.Conflicts) > 0 {
		return p, w.conflict(f, e, theirs, p.Rebased.Conflicts, revs)
	}
	p.Set = p.Rebased.Set
	p.After = p.Set.Apply(p.Before)
	return p, w.checkLineEnds(f, p.Set)
}

const uncertainReason = "out_of_step"

// uncertainText refuses to edit a document whose text may differ from the editor's.
func uncertainText(f *file) error {
	if f.doc.rivals > 0 {
		return fail(f.path, filetime.EditConflict, "opened_twice",
			"%s is open in the editor under two names. Ask the user to close one of them, then try again.", f.path)
	}
	return fail(f.path, filetime.EditConflict, uncertainReason,
		"The text of %s in the editor is not known for certain. Ask the user to close and open it, then read it again.", f.path)
}

func (w *Workspace) conflict(f *file, e filetime.FileEdit, theirs text.Set, found []text.Conflict, revs []filetime.Revision) error {
	by := filetime.User
	if n := len(revs); n > 0 {
		by = revs[n-1].Author
	} else if !f.open() {
		by = filetime.Disk
	}
	w.notify(f, "conflict", "user")
	e.Path = f.path
	return filetime.Collision(e, theirs, f.Text(), found, by)
}

// mayDelete refuses to delete an open document whose file is newer on disk: its buffer is not dirty, and deleting both would lose the
// text that was saved. f.mu is held.
func (w *Workspace) mayDelete(f *file) error {
	d, newer, err := w.newerOnDisk(f)
	switch {
	case err != nil:
		return err
	case newer:
		e := fail(f.path, filetime.EditConflict, newerReason, "%s is newer on disk than in the editor: another program has saved it. "+
			"It was not deleted. Look at the newer text, then decide.", f.path)
		e.Now, e.Known = d.Text, true
		return e
	case d.Exists:
		f.disk.Mode = d.Stat.Mode
		if stored.SameButEnd(d.Text, f.Text()) {
			f.disk.removed = deletion{f.Text(), d.Text, d.Stat.Charset}
		}
	}
	return nil
}

// openElsewhere refuses a change of a file that Elsewhere has set.
func (w *Workspace) openElsewhere(path string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.elsewhere[path] {
		return nil
	}
	return fail(path, filetime.EditConflict, "open_elsewhere", "%s is open with unsaved changes in a notebook or another editor that "+
		"is not a text document. Nothing was changed. Ask the user to save it, then try again.", path)
}

const newerReason = "disk_newer"
