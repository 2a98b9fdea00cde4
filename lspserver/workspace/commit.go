package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/landing"
	"tandem/lspserver/stored"
)

// Commit implements filetime.Files. The caller holds the locks of the paths. If one of several files cannot be changed
// after others were, those are reverted, and the error is a *filetime.Incomplete.
func (w *Workspace) Commit(ctx context.Context, c filetime.Change) (out filetime.Landed, err error) {
	defer func() { w.loadNewer(ctx, err, c) }()
	return w.begin(c).Commit(ctx, files{w})
}

func (w *Workspace) begin(c filetime.Change) *landing.Transaction {
	return landing.Begin(w.disk, w.o.Journal != nil, c)
}

// files are those of the workspace as a transaction changes them.
type files struct{ w *Workspace }

func (in files) Land(ctx context.Context, tx *landing.Transaction, e filetime.FileEdit) (filetime.LandedFile, error) {
	w := in.w
	if !tx.Reverts {
		w.watch(e.Path)
	}
	l, err := w.commitFile(ctx, e, tx)
	if err == nil && !tx.Reverts && l.Applied && l.Entry == filetime.File {
		w.noteWritten(l.Path, l.After)
	}
	return l, err
}

func (in files) Plan(ctx context.Context, tx *landing.Transaction, i int) ([]disk.Planned, error) {
	w, e := in.w, tx.Change.Files[i]
	if e.Entry != filetime.File {
		return nil, w.unchanged(e)
	}
	if tx.Change.Makes(i) {
		after := e.Edits.Apply(text.Text{})
		return []disk.Planned{{Op: disk.Create, Path: e.Path, AfterHash: disk.Hash([]byte(after.String()))}}, nil
	}
	f := w.file(e.Path)
	w.resyncIfUnsure(ctx, f)
	if e.To != "" {
		if err := w.vacant(f, w.file(e.To), tx.Change.Files[:i]); err != nil {
			return nil, err
		}
	}
	if e = w.emptyIfUndeletable(tx, f, e); w.o.Journal == nil {
		_, err := w.commitNowhere(f, e)
		return nil, err
	}
	where, err := w.sinkOf(f, tx.Change.Apply, e)
	if err == nil {
		err = w.refuseUnsaved(tx, f, e)
	}
	if err != nil {
		return nil, err
	}
	planned, err := w.planFile(f, e)
	if err != nil || where == filetime.None {
		return nil, err
	}
	for i, p := range planned {
		planned[i].Buffer = p.Op != disk.Move && (where == filetime.Editor || w.o.Features.Versionless && !e.Delete)
	}
	return planned, nil
}

// writeBuffer writes to the journal that a change goes to the editor, before it does.
func (f *file) writeBuffer(tx *landing.Transaction, e filetime.FileEdit) error {
	if !tx.LacksBuffer(f.path) {
		return nil
	}
	f.mu.Lock()
	p := f.planned(e)
	f.mu.Unlock()
	p.Buffer = true
	return tx.Write(p)
}

// planned is the operation on a file for the journal, without the content after it. f.mu is held.
func (f *file) planned(e filetime.FileEdit) disk.Planned {
	p := disk.Planned{Op: disk.Edit, Path: f.path}
	switch {
	case e.Create:
		p.Op = disk.Create
	case e.Delete:
		p.Op = disk.Delete
	}
	if f.disk.exists || f.open() {
		p.Before = []byte(f.Text().String())
		p.BeforeHash = disk.Hash(p.Before)
	}
	return p
}

// planFile works out the operations on a file for the journal: two where it is moved and edited.
func (w *Workspace) planFile(f *file, e filetime.FileEdit) ([]disk.Planned, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() {
		if err := w.refresh(f); err != nil {
			return nil, err
		}
	}
	worked, err := w.prepare(f, e)
	if err != nil {
		return nil, err
	}
	p := f.planned(e)
	if f.open() {
		return afterMove(p, e), nil
	}
	charset := f.disk.Charset
	if f.disk.exists {
		if p.Before, err = text.Encode(worked.Before, charset); err != nil {
			return nil, stored.WriteError(f.path, err)
		}
		p.BeforeHash = disk.Hash(p.Before)
	}
	if !e.Delete {
		after, err := text.Encode(worked.After, charset)
		if err != nil {
			return nil, stored.WriteError(f.path, err)
		}
		p.AfterHash = disk.Hash(after)
	}
	return afterMove(p, e), nil
}

// afterMove puts the move before an operation where a file is moved, and leaves the move alone where that is all.
func afterMove(p disk.Planned, e filetime.FileEdit) []disk.Planned {
	if e.To == "" {
		return []disk.Planned{p}
	}
	m := p
	m.Op, m.To, m.AfterHash = disk.Move, e.To, m.BeforeHash
	if p.Path = e.To; len(e.Edits) == 0 {
		return []disk.Planned{m}
	}
	return []disk.Planned{m, p}
}

func (w *Workspace) commitFile(ctx context.Context, e filetime.FileEdit, tx *landing.Transaction) (filetime.LandedFile, error) {
	switch {
	case e.Entry != filetime.File:
		return w.commitEntry(ctx, tx, e)
	case e.To != "":
		return w.commitMove(ctx, tx, e)
	}
	f := w.file(e.Path)
	for tries := 0; ; tries++ {
		w.resyncIfUnsure(ctx, f)
		e := w.emptyIfUndeletable(tx, f, e)
		where, err := w.sinkOf(f, tx.Change.Apply, e)
		if err != nil {
			return filetime.LandedFile{}, err
		}
		f.mu.Lock()
		open := f.open()
		f.mu.Unlock()
		if err := cmp.Or(w.refuseUnsaved(tx, f, e), w.refuseLinked(f, e, where, open)); err != nil {
			return filetime.LandedFile{}, err
		}
		var l filetime.LandedFile
		switch where {
		case filetime.None:
			l, err = w.commitNowhere(f, e)
		case filetime.Editor:
			if err = f.writeBuffer(tx, e); err == nil {
				l, err = w.inEditor(ctx, f, e, tx.Change)
			}
		default:
			l, err = w.putOnDisk(ctx, f, e, tx)
		}
		var doubt *filetime.Error
		fell := errors.As(err, &doubt) && doubt.Reason == uncertainReason && w.o.Features.Resync && tries < 2
		if fell || errors.Is(err, delivery.ErrOpened) || errors.Is(err, delivery.ErrClosed) {
			continue // it fell out of step, or goes to the other sink now
		}
		return l, err
	}
}

// inEditor lands an edit in the editor. A plain client may delete a document without a look at its version, with keys in it that were
// typed meanwhile and are nowhere else. There the document is emptied first, by a text edit that is rebased and has an echo like any
// other; the deletion follows when the document shows that nothing else is in it, else the text is put back.
func (w *Workspace) inEditor(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	f.mu.Lock()
	apart := e.Delete && f.open() && w.o.Features.Plain
	if !apart {
		f.mu.Unlock()
		return w.commitEditor(ctx, f, e, c)
	}
	before := f.Text()
	p, err := w.prepare(f, e)
	f.mu.Unlock()
	if err != nil {
		return p.Landed(f.path, f.Rev(), false), err
	}
	empty := e
	empty.Delete, empty.Edits = false, text.Removal(e.Base)
	var made filetime.LandedFile
	if before.Len() > 0 {
		if made, err = w.commitEditor(ctx, f, empty, c); err != nil {
			return made, err
		}
	}
	f.mu.Lock()
	rest := filetime.FileEdit{Path: f.path, Delete: true, Base: f.Text(), Rev: f.Rev()}
	if left := f.Text().String(); left != "" && !(made.EndKept && left == made.After.String()) {
		err = w.conflict(f, e, text.Diff(e.Base, f.Text()), []text.Conflict{{End: e.Base.Len(), Base: e.Base.String()}}, nil)
	}
	f.mu.Unlock()
	var l filetime.LandedFile
	if err == nil {
		l, err = w.commitEditor(ctx, f, rest, c)
	}
	if err != nil && made.Applied {
		back := filetime.FileEdit{Path: f.path, Base: made.After, Rev: made.Rev, Edits: made.Set.Inverse(made.Before)}
		if _, failed := w.commitEditor(context.WithoutCancel(ctx), f, back, c); failed != nil {
			return l, &filetime.Incomplete{Err: err, Files: []filetime.FileReport{{Path: f.path, State: filetime.Stays, Err: failed}}}
		}
	}
	if err != nil || !made.Applied {
		return l, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.Before, l.BeforeVersion, l.Set, l.Rebased, l.Over, l.By = made.Before, made.BeforeVersion, text.Removal(made.Before), made.Rebased, made.Over, made.By
	l.Attempts += made.Attempts
	if f.Rev() != made.Rev {
		f.Claim(made.Rev, f.Rev(), c)
	}
	l.Rev = f.Rev()
	return l, nil
}

// emptyIfUndeletable turns the deletion of an open file that takes back its creation into emptying it, if the editor cannot delete files.
func (w *Workspace) emptyIfUndeletable(tx *landing.Transaction, f *file, e filetime.FileEdit) filetime.FileEdit {
	f.mu.Lock()
	defer f.mu.Unlock()
	can := w.o.Features
	if e.Delete && f.open() && can.Apply && !can.Delete && (tx.Reverts || tx.Change.ForUser) {
		e.Delete, e.Edits = false, text.Set{{Start: 0, End: e.Base.Len()}}
	}
	return e
}

// refuseUnsaved refuses to delete an open document with text that the user has typed and not saved.
func (w *Workspace) refuseUnsaved(tx *landing.Transaction, f *file, e filetime.FileEdit) error {
	if !e.Delete || tx.Reverts || tx.Change.ForUser {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() || !f.dirty() {
		return nil
	}
	revs, ok := f.Since(f.SavedRev())
	typed := func(r filetime.Revision) bool { return r.Author == filetime.User }
	if ok && f.SavedRev() > 0 && !slices.ContainsFunc(revs, typed) {
		return nil
	}
	return fail(f.path, filetime.EditConflict, "unsaved", "%s is open in the editor with unsaved text of the user, so it was not deleted. "+
		"Ask the user to save or close it, then try again.", f.path)
}

// refuseLinked refuses an edit of a file with further names (hard links) where the editor has it open under another one, and would not
// notice; and one that was judged for one name where the editor would write into all of them.
func (w *Workspace) refuseLinked(f *file, e filetime.FileEdit, where filetime.Apply, open bool) error {
	if where == filetime.None || e.Create || e.Delete && !e.OneName || open && !e.OneName {
		return nil
	}
	info, err := stored.Bounded(f.path, stored.DiskTimeout, func() (fs.FileInfo, error) { return w.stored().Stat(f.path) })
	if err != nil || stored.Of(info, time.Time{}).Links < 2 {
		return nil
	}
	if where == filetime.Editor && e.OneName {
		refused := fail(f.path, filetime.EditConflict, "linked", "%s has further names (hard links), and the editor would write into all of "+
			"them; permission was given for one. Nothing was written. Send the same call again.", f.path)
		refused.Person = "The editor would change further names (hard links) of this file too. It was not changed."
		return refused
	}
	for _, other := range w.opened() {
		if is, err := w.stored().Stat(other.path); !open && err == nil && os.SameFile(info, is) {
			refused := fail(f.path, filetime.EditConflict, "linked", "%s is one file with %s (a hard link), which is open in the editor. "+
				"Nothing was written. Edit %s.", f.path, other.path, other.path)
			refused.Person = "The file is open in the editor under another name (a hard link). It was not changed."
			return refused
		}
	}
	return nil
}

// sinkOf chooses the sink of a change of f: the editor, the disk or none.
func (w *Workspace) sinkOf(f *file, want filetime.Apply, e filetime.FileEdit) (filetime.Apply, error) {
	if err := w.openElsewhere(f.path); err != nil {
		return "", err
	}
	w.mu.Lock()
	def, closed := w.o.Apply, w.o.Closed
	w.mu.Unlock()
	if want == "" {
		want = def
	}
	if want == filetime.None {
		return filetime.None, nil
	}
	can := w.o.Features.Apply
	f.mu.Lock()
	open, dirty := f.open(), f.dirty()
	_, restored := f.lostForm(e)
	f.mu.Unlock()
	switch {
	case open && (e.To != "" && !w.o.Features.Rename || e.Delete && can && !w.o.Features.Delete):
		return "", unserved(f.path, e)
	case want == filetime.Editor && !can:
		return "", fail(f.path, filetime.WriteError, "no_editor", "The editor cannot apply edits (workspace/applyEdit is not served).")
	case open && can:
		return filetime.Editor, nil
	case open && w.o.Features.Plain:
		return "", fail(f.path, filetime.Unsupported, "no_apply_edit", "%s is open in an editor that cannot apply edits "+
			"(it does not serve workspace/applyEdit), so it was not changed: the editor would not notice a change on disk. "+
			"Ask the user to close it, or to make the change.", f.path)
	case open && dirty:
		return "", unsaved(f.path)
	case open, !can, want == filetime.OnDisk, e.Create && (!w.o.Features.Create || ownMode(e) || restored), e.Delete && !w.o.Features.Delete,
		e.To != "" && !w.o.Features.Rename:
		return filetime.OnDisk, nil
	case want == filetime.Editor, closed == filetime.Editor, (closed == filetime.Auto || closed == "") && w.o.Features.Save:
		return filetime.Editor, nil
	}
	return filetime.OnDisk, nil
}

// unserved refuses to move or delete an open document behind an editor that cannot do so itself.
func unserved(path string, e filetime.FileEdit) error {
	what, op := "move", "rename"
	if e.Delete {
		what, op = "delete", "delete"
	}
	return fail(path, filetime.Unsupported, "no_"+op, "%s is open in an editor that does not %s files when asked (no %q among its resourceOperations). "+
		"Nothing was done: the editor would go on with the old file. Ask the user to close it, or to %s it, then go on.", path, what, op, what)
}

// ownMode says that a file is made with permissions that an editor would not give it.
func ownMode(e filetime.FileEdit) bool { return e.Mode != 0 && e.Mode.Perm() != 0o644 }

// InPlace says that a change of the file at a canonical path would go to the editor now, which saves in place.
func (w *Workspace) InPlace(path string) bool {
	where, err := w.sinkOf(w.file(path), "", filetime.FileEdit{})
	return err == nil && (where == filetime.Editor || w.o.Features.Versionless)
}

// commitNowhere works the edit out for a host that applies it itself.
func (w *Workspace) commitNowhere(f *file, e filetime.FileEdit) (filetime.LandedFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() {
		if err := w.refresh(f); err != nil {
			return filetime.LandedFile{}, err
		}
	}
	p, err := w.prepare(f, e)
	l := p.Landed(f.path, f.Rev(), false)
	l.Created = e.Create
	if e.Delete && err == nil {
		l.Deleted, l.Set, l.After = true, text.Removal(p.Before), text.Text{}
	}
	if err == nil && len(p.Set) == 0 && !e.Create && !e.Delete {
		l.Applied, l.Already = true, true
	}
	return l, err
}
