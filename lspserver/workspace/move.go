package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/landing"
	"tandem/lspserver/stored"
)

// A move gives a file's state another path: its text, its history and its revisions go on there, so that everything that was worked
// out for it still holds, and at the old path there is nothing. In the editor a move is LSP's RenameFile: the document is closed under one name and opened under
// the other, in any order, with the text that it had.

// commitMove moves a file, and then edits it at its new path.
func (w *Workspace) commitMove(ctx context.Context, tx *landing.Transaction, e filetime.FileEdit) (filetime.LandedFile, error) {
	f, t := w.file(e.Path), w.file(e.To)
	w.resyncIfUnsure(ctx, f)
	if err := w.movable(f, e); err != nil { // before anything has happened
		return filetime.LandedFile{}, err
	}
	if err := w.vacant(f, t, tx.Earlier()); err != nil {
		return filetime.LandedFile{}, err
	}
	only, edit := e, e
	only.Edits, only.Since = nil, nil
	edit.Path, edit.To = e.To, ""
	for range maxAgain {
		if err := ctx.Err(); err != nil {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		where, err := w.sinkOf(f, tx.Change.Apply, only)
		if err != nil {
			return filetime.LandedFile{}, err
		}
		var l filetime.LandedFile
		switch where {
		case filetime.None:
			l, err := w.commitNowhere(f, e)
			l.Path, l.Origin, l.Already, l.Applied = e.To, e.Path, false, false
			return l, err
		case filetime.Editor:
			l, err = w.moveInEditor(ctx, f, t, tx)
		default:
			l, err = w.moveOnDisk(f, t, tx)
		}
		switch {
		case errors.Is(err, delivery.ErrOpened), errors.Is(err, delivery.ErrClosed), errors.Is(err, disk.ErrChanged):
			continue
		case err != nil || len(e.Edits) == 0:
			return l, err
		}
		edited, err := w.commitFile(ctx, edit, tx)
		if err == nil {
			edited.Origin = e.Path
			edited.Attempts += l.Attempts
			return edited, nil
		}
		failed := tx.TakeBack(context.WithoutCancel(ctx), files{w}, filetime.FileEdit{Path: e.To, To: e.Path, Base: l.After, Rev: l.Rev})
		if failed != nil {
			return l, &filetime.Incomplete{Err: err, Files: []filetime.FileReport{{Path: e.To, State: filetime.Stays, Err: failed}}}
		}
		return filetime.LandedFile{}, err
	}
	return filetime.LandedFile{}, stored.WriteError(f.path, errors.New("another program keeps changing it"))
}

// movable refuses the move of a file that is not there, or whose edits conflict.
func (w *Workspace) movable(f *file, e filetime.FileEdit) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() {
		if err := w.refresh(f); err != nil {
			return err
		}
	}
	_, err := w.prepare(f, e)
	return err
}

// vacant refuses a move to a path at which there is something, unless an earlier part of the change takes that away.
func (w *Workspace) vacant(f, t *file, earlier []filetime.FileEdit) error {
	if slices.ContainsFunc(earlier, func(e filetime.FileEdit) bool { return e.Path == t.path && (e.Delete || e.To != "") }) {
		return nil
	}
	t.mu.Lock()
	open := t.open()
	t.mu.Unlock()
	info, err := stored.Bounded(t.path, stored.DiskTimeout, func() (fs.FileInfo, error) { return w.stored().Stat(t.path) })
	var slow *filetime.Error
	switch {
	case errors.As(err, &slow):
		return err
	case err == nil && !open && strings.EqualFold(f.path, t.path) && filepath.Dir(f.path) == filepath.Dir(t.path):
		if was, err := w.stored().Stat(f.path); err == nil && stored.Of(was, time.Time{}).Inode == stored.Of(info, time.Time{}).Inode {
			return nil // one name to a file system that does not tell letters by their case
		}
	case err != nil && !open:
		return nil // what else is wrong there shows when it is moved
	}
	return targetExists(t.path)
}

// moved words a move that has landed. f.mu is held.
func (w *Workspace) moved(f, t *file, c filetime.Change, source string) filetime.LandedFile {
	clean := !t.dirty()
	w.record(t, nil, filetime.User)
	t.Claim(t.Rev(), t.Rev(), c)
	if clean {
		t.MarkSaved()
	}
	l := filetime.LandedFile{
		Path: t.path, Origin: f.path, Before: t.Text(), After: t.Text(), Rev: t.Rev(), Applied: true, Source: source, Attempts: 1,
		Mode: t.disk.Mode,
	}
	if t.open() {
		v := t.doc.version
		l.BeforeVersion = &v
	}
	w.notify(t, "written", "agent")
	return l
}

// moveOnDisk moves a file that no editor has open.
func (w *Workspace) moveOnDisk(f, t *file, tx *landing.Transaction) (l filetime.LandedFile, err error) {
	if err := w.openElsewhere(f.path); err != nil {
		return l, err
	}
	if err := w.moveFile(f, t, tx); err != nil {
		return l, err
	}
	w.moveState(t, f)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := w.refresh(t); err != nil {
		w.o.Log.Debug("moved file cannot be read", "path", t.path, "error", err)
	}
	return w.moved(f, t, tx.Change, "disk"), nil
}

func (w *Workspace) moveFile(f, t *file, tx *landing.Transaction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open() {
		return delivery.ErrOpened
	}
	if err := w.refresh(f); err != nil {
		return err
	}
	if w.o.Features.Versionless {
		d, err := w.stored().Read(f.path, w.o.MaxFileBytes)
		if err == nil && d.Exists && !text.EqualLines(d.Text, f.Text()) {
			err = fail(f.path, filetime.EditConflict, "unsaved", "%s has unsaved text in the editor. Ask the user to save it, then try again.", f.path)
		}
		if err != nil {
			return err
		}
		f.disk.Charset = d.Stat.Charset
		f.Spell(d.Text)
	}
	before, err := text.Encode(f.Text(), f.disk.Charset)
	if err != nil {
		return err
	}
	f.distrust()
	_, err = tx.Disk.Move(f.path, t.path, before)
	switch {
	case errors.Is(err, disk.ErrChanged) && errors.Is(err, fs.ErrExist):
		return targetExists(t.path)
	case errors.Is(err, disk.ErrAcross):
		return crossDevice(f.path, t.path)
	case errors.Is(err, disk.ErrChanged):
		if err := w.refresh(f); err != nil || !f.disk.exists {
			return cmp.Or(err, deletedSince(f.path))
		}
		return err
	case err != nil:
		return w.diskError(f, err)
	}
	return nil
}

// moveInEditor has the editor rename a file, and waits until the document is open under its new name.
func (w *Workspace) moveInEditor(ctx context.Context, f, t *file, tx *landing.Transaction) (l filetime.LandedFile, err error) {
	if err := w.client().Take(ctx, w.delivered(f), tx.Change); err != nil {
		return l, err
	}
	defer f.Release()
	f.mu.Lock()
	p := f.planned(filetime.FileEdit{})
	f.mu.Unlock()
	p.Op, p.To, p.AfterHash = disk.Move, t.path, p.BeforeHash
	if !tx.Written(f.path) {
		if err := tx.Write(p); err != nil {
			return l, err
		}
	}
	warning, err := w.renameInEditor(ctx, f.path, t.path, tx)
	if err != nil {
		return l, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	source := "buffer"
	if !t.open() {
		source = "disk"
		if err := w.refresh(t); err != nil {
			w.o.Log.Debug("moved file cannot be read", "path", t.path, "error", err)
		}
	}
	l = w.moved(f, t, tx.Change, source)
	l.Stale = warning
	return l, nil
}

// renameInEditor sends one RenameFile and judges by the disk and the documents what became of it. stale is why the editor still has the
// old name, "" where it does not.
func (w *Workspace) renameInEditor(ctx context.Context, from, to string, tx *landing.Transaction) (stale string, err error) {
	made, err := tx.Disk.Folders(filepath.Dir(to))
	if err != nil {
		tx.Disk.Unmake(made)
		return "", stored.WriteError(to, err)
	}
	m := &moving{from: from, to: to, over: map[string]bool{}}
	docs := w.openBelow(from)
	w.mu.Lock()
	w.moves = append(w.moves, m)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.moves = slices.DeleteFunc(w.moves, func(o *moving) bool { return o == m })
		over := m.over
		w.mu.Unlock()
		if err != nil {
			tx.Disk.Unmake(made)
		} else {
			w.moveStates(from, to, over)
		}
	}()
	c := tx.Change
	ask := Delivery{
		URI: URI(from), To: URI(to), Label: c.Label, Session: c.Session, Call: c.Call, Tool: c.Tool, Turn: c.Turn,
	}
	if f := w.file(from); len(docs) == 1 && docs[0] == f {
		f.mu.Lock()
		ask.URI = f.uri
		f.mu.Unlock()
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), delivery.SendBudget+delivery.ReplyTimeout)
	defer cancel()
	type reply struct {
		Applied
		err error
	}
	replies := make(chan reply, 1)
	go w.safely(func() {
		r, err := w.o.Editor.Apply(call, ask)
		replies <- reply{r, err}
	})
	got := <-replies
	moved := func() bool { return w.renamedOnDisk(from, to) }
	until := w.o.Now().Add(delivery.EchoTimeout)
	if !got.OK || got.err != nil {
		until = w.o.Now()
	}
	for !moved() || !w.reopened(docs, from, to) {
		left := until.Sub(w.o.Now())
		if left <= 0 {
			break
		}
		pause := time.NewTimer(min(left, renamePoll))
		<-pause.C
	}
	var never *RefusedError
	switch {
	case moved() && w.reopened(docs, from, to):
		return "", nil
	case moved():
		return "has been moved, and the editor still has a document open under its old name.", nil
	case errors.As(got.err, &never):
		return "", fail(from, filetime.WriteError, "refused", "The editor refused to move %s: %s\nNothing was moved. Asking again does not help; "+
			"tell the user what you wanted to move.", from, strings.TrimSpace(never.Words))
	case errors.Is(got.err, ErrGone):
		return "", ErrGone
	case got.err != nil && call.Err() != nil:
		return "", fail(from, filetime.Unknown, "no_reply", "It is not known whether %s was moved: the editor did not answer. List the folder before going on.", from)
	case !got.OK:
		return "", fail(from, filetime.WriteError, "refused", "The editor did not move %s (%q). Nothing was moved. Tell the user what you wanted to move.",
			from, cmp.Or(got.Reason, "no reason given"))
	}
	return "", fail(from, filetime.Unknown, "no_echo", "It is not known whether %s was moved: the editor says so, and the disk does not show it. "+
		"List the folder before going on.", from)
}

// renamePoll is how often the disk is looked at for a rename by the editor.
const renamePoll = 10 * time.Millisecond

// renamedOnDisk says that the disk has a file under its new name and not under the old one.
func (w *Workspace) renamedOnDisk(from, to string) bool {
	after, err := w.stored().Stat(to)
	if err != nil {
		return false
	}
	before, err := w.stored().Stat(from)
	return errors.Is(err, fs.ErrNotExist) || err == nil && strings.EqualFold(from, to) && os.SameFile(before, after)
}

// reopened says that all of some documents are closed under their old names and open under the new ones.
func (w *Workspace) reopened(docs []*file, from, to string) bool {
	for _, f := range docs {
		rest, _ := below(from, f.path)
		t := w.file(to + rest)
		f.mu.Lock()
		old := f.open()
		f.mu.Unlock()
		t.mu.Lock()
		now := t.open()
		t.mu.Unlock()
		if old || !now {
			return false
		}
	}
	return true
}

func deletedSince(path string) error {
	return fail(path, filetime.EditConflict, "deleted", "%s was deleted since it was read. Nothing was moved.", path)
}

func crossDevice(from, to string) error {
	return fail(from, filetime.Unsupported, "other_file_system", "%s is on another file system than %s, so it cannot be moved in one step. Nothing was moved. "+
		"Write the file there with write_file, then delete this one with delete_file.", to, from)
}

func targetExists(path string) error {
	return fail(path, filetime.FileExists, "exists", "%s exists now: another program or the user created it. Nothing was moved.", path)
}
