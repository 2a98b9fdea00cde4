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
	"tandem/lspserver/stored"
)

// transaction is one change that is landing: what of it is in the journal, and warnings for a person.
type transaction struct {
	w        *Workspace
	change   filetime.Change
	reverts  bool // it takes back what has landed of another
	disk     *disk.Change
	buffers  map[string]bool // the paths that are in the journal
	warnings []filetime.Warning
}

// takesBack says that the change takes back what has landed of another.
func (tx *transaction) takesBack() bool { return tx.reverts || tx.change.ForUser || tx.change.Undo }

func (w *Workspace) transaction(c filetime.Change) *transaction {
	in := disk.Intent{Session: c.Session, Call: c.Call, Turn: c.Turn, Tool: c.Tool}
	return &transaction{w: w, change: c, disk: w.disk.Change(in), buffers: map[string]bool{}}
}

// end writes the outcome to the journal; err is the last error.
func (tx *transaction) end(err error) {
	var doubt *filetime.Error
	switch {
	case err == nil:
		tx.disk.End(disk.Landed)
	case errors.As(err, &doubt) && doubt.Code == filetime.Unknown:
		tx.disk.End(disk.Unknown)
	default:
		tx.disk.End(disk.NotLanded)
	}
}

// buffer writes to the journal that a change goes to the editor, before it does.
func (tx *transaction) buffer(f *file, e filetime.FileEdit) error {
	if tx.w.o.Journal == nil || tx.buffers[f.path] {
		return nil
	}
	f.mu.Lock()
	p := f.planned(e)
	p.Buffer = true
	f.mu.Unlock()
	return tx.begin(p)
}

func (tx *transaction) begin(files ...disk.Planned) error {
	if err := tx.disk.Begin(files...); err != nil {
		return writeError(files[0].Path, err)
	}
	for _, p := range files {
		tx.buffers[p.Path] = p.Buffer
	}
	return nil
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

// plan works out a change of several files, writes one intent for them, and refuses the change if one of them cannot be
// changed.
func (tx *transaction) plan(ctx context.Context) error {
	var files []disk.Planned
	for i, e := range tx.change.Files {
		if e.Entry != filetime.File {
			if err := tx.w.unchanged(e); err != nil {
				return err
			}
			continue
		}
		if tx.change.Makes(i) {
			after := e.Edits.Apply(text.Text{})
			files = append(files, disk.Planned{Op: disk.Create, Path: e.Path, AfterHash: disk.Hash([]byte(after.String()))})
			continue
		}
		f := tx.w.file(e.Path)
		tx.w.resyncIfUnsure(ctx, f)
		if e.To != "" {
			if err := tx.w.vacant(f, tx.w.file(e.To), tx.change.Files[:i]); err != nil {
				return err
			}
		}
		if e = tx.emptyIfUndeletable(f, e); tx.w.o.Journal == nil {
			if _, err := tx.w.commitNowhere(f, e); err != nil {
				return err
			}
			continue
		}
		where, err := tx.w.sinkOf(f, tx.change.Apply, e)
		if err == nil {
			err = tx.refuseUnsaved(f, e)
		}
		if err != nil {
			return err
		}
		planned, err := tx.w.planFile(f, e)
		if err != nil {
			return err
		}
		for i, p := range planned {
			p.Buffer = p.Op != disk.Move && (where == filetime.Editor || tx.w.o.Features.Versionless && !e.Delete)
			planned[i] = p
		}
		if where != filetime.None {
			files = append(files, planned...)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return tx.begin(files...)
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
			return nil, writeError(f.path, err)
		}
		p.BeforeHash = disk.Hash(p.Before)
	}
	if !e.Delete {
		after, err := text.Encode(worked.After, charset)
		if err != nil {
			return nil, writeError(f.path, err)
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

// Commit implements filetime.Files. The caller holds the locks of the paths. If one of several files cannot be changed
// after others were, those are reverted, and the error is a *filetime.Incomplete.
func (w *Workspace) Commit(ctx context.Context, c filetime.Change) (out filetime.Landed, err error) {
	defer func() { w.loadNewer(ctx, err, c) }()
	tx := w.transaction(c)
	if len(c.Files) > 1 {
		if err := tx.plan(ctx); err != nil {
			tx.end(err)
			return out, err
		}
	}
	for i, e := range c.Files {
		if c.Apply == filetime.None && c.Makes(i) { // what is there is still there
			out.Files = append(out.Files, e.Made())
			continue
		}
		w.watch(e.Path)
		l, err := w.commitFile(ctx, e, tx)
		if err == nil {
			if l.Stale != "" {
				tx.warnings = append(tx.warnings, filetime.Warning{Path: l.Path, Says: l.Stale})
			}
			if l.EndKept {
				tx.warnings = append(tx.warnings, filetime.Warning{Path: l.Path, Says: endSays})
			}
			out.Files = append(out.Files, l)
			if l.Applied && l.Entry == filetime.File {
				w.noteWritten(l.Path, l.After)
			}
			continue
		}
		if i == 0 {
			tx.end(err)
			return out, err
		}
		report := tx.revert(ctx, out.Files, i, err)
		out.Files = slices.DeleteFunc(out.Files, func(l filetime.LandedFile) bool {
			return slices.ContainsFunc(report.Files, func(r filetime.FileReport) bool {
				return r.Path == l.Path && r.State == filetime.Reverted
			})
		})
		out.Warnings = tx.warnings
		if len(out.Files) > 0 {
			tx.disk.End(disk.Partly)
		} else {
			tx.end(err)
		}
		return out, report
	}
	tx.end(nil)
	out.Warnings = tx.warnings
	return out, nil
}

// endSays is the warning about LandedFile.EndKept.
const endSays = "ends with a line break: the editor adds one to every text, so it stands there although the edit has none."

// errForGood says that a removal cannot be reverted.
var errForGood = errors.New("what was deleted was no text, and no copy of it is kept")

// revert reverts what has landed, because file k of the change did not. Later changes by others stay; where they
// conflict, the file stays changed.
func (tx *transaction) revert(ctx context.Context, landed []filetime.LandedFile, k int, err error) *filetime.Incomplete {
	report := &filetime.Incomplete{Err: err}
	for i, e := range tx.change.Files {
		state := filetime.Untouched
		if i == k {
			state = filetime.Refused
		}
		report.Files = append(report.Files, filetime.FileReport{Path: e.Path, State: state})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delivery.SendBudget+delivery.ReplyTimeout)
	defer cancel()
	for i, l := range slices.Backward(landed) {
		if !l.Applied {
			continue
		}
		e := filetime.FileEdit{Path: l.Path, Base: l.After, Rev: l.Rev, Entry: l.Entry}
		switch was := tx.change.Files[i]; {
		case l.Entry != filetime.File && was.Delete && l.Entry != filetime.Folder:
			report.Files[i].State, report.Files[i].Err = filetime.Stays, errForGood
			continue
		case l.Entry != filetime.File:
			e.Create, e.Delete, e.To = was.Delete, was.Create && !l.Already, l.Origin
		case was.Create:
			e.Delete = true
		case was.Delete:
			e.Create, e.Base, e.Edits, e.Mode = true, text.Text{}, text.Set{{New: l.Before.String()}}, l.Mode
		default:
			e.To, e.Edits = l.Origin, l.Set.Inverse(l.Before)
		}
		back := tx.w.transaction(tx.change)
		back.reverts = true
		_, err := tx.w.commitFile(ctx, e, back)
		back.end(err)
		report.Files[i].State, report.Files[i].Err = filetime.Reverted, err
		if err != nil {
			report.Files[i].State = filetime.Stays
		}
	}
	return report
}

func (w *Workspace) commitFile(ctx context.Context, e filetime.FileEdit, tx *transaction) (filetime.LandedFile, error) {
	switch {
	case e.Entry != filetime.File:
		return tx.commitEntry(ctx, e)
	case e.To != "":
		return tx.commitMove(ctx, e)
	}
	f := w.file(e.Path)
	for tries := 0; ; tries++ {
		w.resyncIfUnsure(ctx, f)
		e := tx.emptyIfUndeletable(f, e)
		where, err := w.sinkOf(f, tx.change.Apply, e)
		if err != nil {
			return filetime.LandedFile{}, err
		}
		f.mu.Lock()
		open := f.open()
		f.mu.Unlock()
		if err := cmp.Or(tx.refuseUnsaved(f, e), w.refuseLinked(f, e, where, open)); err != nil {
			return filetime.LandedFile{}, err
		}
		var l filetime.LandedFile
		switch where {
		case filetime.None:
			l, err = w.commitNowhere(f, e)
		case filetime.Editor:
			if err = tx.buffer(f, e); err == nil {
				l, err = w.inEditor(ctx, f, e, tx.change)
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
func (tx *transaction) emptyIfUndeletable(f *file, e filetime.FileEdit) filetime.FileEdit {
	f.mu.Lock()
	defer f.mu.Unlock()
	can := tx.w.o.Features
	if e.Delete && f.open() && can.Apply && !can.Delete && (tx.reverts || tx.change.ForUser) {
		e.Delete, e.Edits = false, text.Set{{Start: 0, End: e.Base.Len()}}
	}
	return e
}

// refuseUnsaved refuses to delete an open document with text that the user has typed and not saved.
func (tx *transaction) refuseUnsaved(f *file, e filetime.FileEdit) error {
	if !e.Delete || tx.reverts || tx.change.ForUser {
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
