package workspace

import (
	"bytes"
	"context"
	"errors"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/landing"
	"tandem/lspserver/stored"
)

// lostForm is the document that was deleted last, if an edit creates the file again with its text and the file had another form than its
// buffer. An editor would write the buffer's. f.mu is held.
func (f *file) lostForm(e filetime.FileEdit) (deletion, bool) {
	was := f.disk.removed
	if !e.Create || was.buffer.Len() == 0 || was.file.Equal(was.buffer) && was.charset == text.CharsetUTF8 {
		return deletion{}, false
	}
	return was, e.Edits.Apply(text.Text{}).Equal(was.buffer)
}

// loadNewer puts the newer text of a file into its clean buffer, after a deletion was refused because of it and if the editor does not
// load it by itself. Otherwise each later read would give the old text, and each deletion would be refused again.
func (w *Workspace) loadNewer(ctx context.Context, refused error, c filetime.Change) {
	var e *filetime.Error
	if !errors.As(refused, &e) || e.Reason != newerReason || c.Apply == filetime.None || !w.o.Features.Apply {
		return
	}
	f := w.file(e.Path)
	f.mu.Lock()
	changed := f.Changed()
	f.mu.Unlock()
	wait := time.NewTimer(reloadWait)
	defer wait.Stop()
	select {
	case <-changed:
	case <-wait.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	d, newer, err := w.newerOnDisk(f)
	load := f.open() && !f.dirty() && newer && err == nil
	edit := filetime.FileEdit{Path: f.path, Base: f.Text(), Rev: f.Rev(), Edits: text.Overwrite(f.Text(), d.Text.String())}
	f.mu.Unlock()
	if !load {
		return
	}
	by := filetime.Change{Session: c.Session, Call: c.Call, Turn: c.Turn, Tool: c.Tool, ForUser: true, Label: "Load from disk"}
	if _, err := w.commitEditor(ctx, f, edit, by); err != nil {
		w.o.Log.Debug("the editor did not take the newer text of a file", "path", f.path, "error", err)
	}
}

// putOnDisk lands an edit on disk by compare-and-swap, merged with what others have saved meanwhile.
func (w *Workspace) putOnDisk(ctx context.Context, f *file, e filetime.FileEdit, tx *landing.Transaction) (filetime.LandedFile, error) {
	for range maxAgain {
		if err := ctx.Err(); err != nil {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		l, again, err := w.tryDisk(f, e, tx)
		if !again {
			return l, err
		}
	}
	return filetime.LandedFile{}, stored.WriteError(f.path, errors.New("another program keeps changing it"))
}

// tryDisk is one try; again says that the comparison failed and nothing was changed.
func (w *Workspace) tryDisk(f *file, e filetime.FileEdit, tx *landing.Transaction) (l filetime.LandedFile, again bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.open() && (w.o.Features.Apply || w.o.Features.Plain):
		return l, false, delivery.ErrOpened
	case f.open():
		return w.tryDiskWhileOpen(f, e, tx)
	}
	if err := w.openElsewhere(f.path); err != nil {
		return l, false, err
	}
	if err := w.refresh(f); err != nil {
		return l, false, err
	}
	p, err := w.prepare(f, e)
	if err != nil {
		return l, false, err
	}
	if len(p.Set) == 0 && !e.Create && !e.Delete {
		return already(f, p), false, nil
	}
	charset, mode := f.disk.Charset, f.disk.Mode
	if e.Delete {
		p.Set, p.After = text.Removal(p.Before), text.Text{}
	}
	written := p
	if was, ok := f.lostForm(e); ok && tx.TakesBack() {
		written.After, written.Set, charset = was.file, text.Set{{New: was.file.String()}}, was.charset
	}
	live, _ := w.covers(f.path)
	f.disk.valid = unsure
	final, err := w.swap(f, written, charset, e, tx)
	if again = errors.Is(err, disk.ErrChanged); err != nil {
		f.distrust() // it is to be read again
	}
	if again {
		return l, true, nil
	}
	if err != nil {
		return l, false, w.diskError(f, err)
	}
	f.disk.exists = !e.Delete
	if info, err := w.stored().Stat(f.path); err == nil {
		if f.disk.Stat = stored.Of(info, w.o.Now()); live && f.disk.exists {
			f.disk.valid = wasWritten
		}
	}
	f.disk.Charset = final.Stat.Charset
	w.record(f, p.Set, filetime.User)
	f.Claim(f.Rev(), f.Rev(), tx.Change)
	l = p.Landed(f.path, f.Rev(), true)
	l.Source, l.Created, l.Deleted = "disk", e.Create, e.Delete
	if l.Mode = e.Mode; e.Delete {
		l.Mode = mode
	}
	if w.o.Features.Versionless && !e.Delete {
		l.Source, l.Stale = "buffer", w.unsavedReason(f)
	}
	if !final.Text.Equal(p.After) {
		w.record(f, text.Diff(p.After, final.Text), filetime.Disk)
	}
	w.notify(f, "written", "agent")
	return l, false, nil
}

// swap changes one file on disk as planned and gives its text then, merged with what others have saved meanwhile.
func (w *Workspace) swap(f *file, p delivery.Plan, charset text.Charset, e filetime.FileEdit, tx *landing.Transaction) (stored.File, error) {
	if w.o.Features.Versionless {
		if !e.Delete {
			return stored.File{Exists: true, Text: p.After, Stat: stored.Stat{Charset: charset}}, w.applyWhole(f, p, e, tx)
		}
		there, err := w.readForDelete(f, p)
		if err != nil {
			return stored.File{}, err
		}
		p.Before, charset = there.Text, there.Stat.Charset
	}
	var before, after []byte
	var err error
	if !e.Create {
		before, err = text.Encode(p.Before, charset)
	}
	if err == nil {
		after, err = text.Encode(p.After, charset)
	}
	if err != nil {
		return stored.File{}, err
	}
	var r disk.Result
	switch {
	case e.Delete:
		r, err = tx.Disk.Delete(f.path, before)
	case !f.disk.exists:
		r, err = tx.Disk.Create(f.path, after, e.Mode)
	default:
		tx.Disk.SetRecentVersions(w.lately(f))
		if r, err = tx.Disk.Replace(f.path, before, after); err == nil {
			w.leaveWake(f, r.Versions)
		}
	}
	for _, warning := range r.Warnings {
		tx.Warn(f.path, warning+".")
	}
	if err != nil || bytes.Equal(r.After, after) {
		return stored.File{Exists: !e.Delete, Text: p.After, Stat: stored.Stat{Charset: charset}}, err
	}
	return stored.Decode(f.path, r.After)
}

// tryDiskWhileOpen lands an edit on disk although the document is open: the editor cannot apply edits, and the buffer is
// saved. The buffer changes when the editor reads the file again. f.mu is held.
func (w *Workspace) tryDiskWhileOpen(f *file, e filetime.FileEdit, tx *landing.Transaction) (l filetime.LandedFile, again bool, err error) {
	d, err := w.stored().Read(f.path, w.o.MaxFileBytes)
	if err != nil {
		return l, false, err
	}
	if f.dirty() || !d.Exists || !text.EqualLines(d.Text, f.Text()) {
		return l, false, unsaved(f.path)
	}
	p, err := w.prepare(f, e)
	if err != nil {
		return l, false, err
	}
	if len(p.Set) == 0 {
		return already(f, p), false, nil
	}
	file := p
	if !d.Text.Equal(p.Before) { // a buffer may have other line ends, and no byte order mark
		file.Before, file.After = d.Text, text.Overwrite(d.Text, p.After.String()).Apply(d.Text)
	}
	f.disk.Stat = d.Stat
	if _, err = w.swap(f, file, d.Stat.Charset, e, tx); errors.Is(err, disk.ErrChanged) {
		return l, true, nil
	}
	if err != nil {
		return l, false, w.diskError(f, err)
	}
	if f.doc.editorText == nil {
		f.doc.editorText = &p.Before
	}
	w.record(f, p.Set, filetime.User)
	f.Claim(f.Rev(), f.Rev(), tx.Change)
	f.MarkSaved()
	l = p.Landed(f.path, f.Rev(), true)
	l.Source = "disk"
	l.Stale = "was changed on disk, because the editor cannot apply edits; its buffer shows the change once the file is read again."
	w.notify(f, "written", "agent")
	return l, false, nil
}

func unsaved(path string) error {
	return fail(path, filetime.EditConflict, "unsaved",
		"%s is open with unsaved text and the editor cannot apply edits. Ask the user to save it, then try again.", path)
}

// diskError makes an error of the disk one for the model: a conflict with what another program saved, or a write error.
// f.mu is held.
func (w *Workspace) diskError(f *file, err error) error {
	var met *stored.Conflict
	var worded *filetime.Error
	switch {
	case errors.As(err, &worded):
		return err
	case !errors.As(err, &met):
		return stored.WriteError(f.path, err)
	}
	if !f.open() {
		if err := w.refresh(f); err != nil {
			return err
		}
	}
	theirs := text.Diff(met.Base, met.Theirs)
	if !met.Theirs.Equal(f.Text()) { // it was saved once more, or the buffer has other line ends
		theirs = text.Compose(theirs, text.Diff(met.Theirs, f.Text()))
	}
	w.notify(f, "conflict", "disk")
	e := filetime.FileEdit{Path: f.path, Base: met.Base, Edits: met.Ours}
	return filetime.Collision(e, theirs, f.Text(), met.Conflicts, filetime.Disk)
}

// reloadWait is how long an editor has to load a changed file by itself.
const reloadWait = time.Second

// maxAgain is how often the compare-and-swap of a file is tried.
const maxAgain = 100
