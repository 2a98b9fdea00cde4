package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
)

// An editor without versions tells of no document and shows no echo. It is asked for the text of a file each time that the text
// is used (Editor.Resync), which is the only way to know unsaved text, and takes whole texts (Editor.Apply), which it saves.
// An edit is therefore a read, a three-way merge over all that has changed since the model saw the file, and a write. Nothing
// compares between that read and that write: a key that is typed then is lost. Deleting goes to the disk.
//
// Resync and Apply answer a *RefusedError for a file that the editor does not give, or does not take.

// ask makes f say what the editor says, or the disk where the editor does not give the file. The disk is looked at first: what
// may not be read there, or is no text, is not asked for. f.mu is held.
func (w *Workspace) ask(f *file) error {
	path, uri, author := f.path, f.uri, filetime.Disk
	d, err := bounded(path, hung, func() (onDisk, error) {
		d, err := w.readDisk(path, w.o.MaxFileBytes)
		if err != nil {
			return d, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), hung)
		defer cancel()
		content, _, err := w.o.Editor.Resync(ctx, uri)
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			return d, nil
		case err != nil:
			return d, &filetime.Error{
				Code: filetime.ReadError, Reason: "editor", Path: path,
				Message: fmt.Sprintf("Read file failed: the editor did not give the text of %s: %v.", path, err),
			}
		case !d.exists && content == "": // some editors answer so for a file that is not there
			return d, nil
		case w.o.MaxFileBytes > 0 && int64(len(content)) > w.o.MaxFileBytes:
			return d, filetime.TooLarge(path, int64(len(content)), w.o.MaxFileBytes)
		}
		if now := text.New(content); !now.Equal(d.text) {
			d.exists, d.text, author = true, now, filetime.User
		}
		return d, nil
	})
	if err != nil {
		return err
	}
	w.adopt(f, d, author)
	return nil
}

// give has the editor write what was planned. f.mu is held.
func (w *Workspace) give(f *file, p plan, e filetime.FileEdit, j *job) error {
	if w.o.Journal != nil && !j.buffers[f.path] {
		planned := f.planned(e)
		planned.Buffer = true
		if err := j.begin(planned); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	c := j.change
	_, _, err := w.o.Editor.Apply(ctx, Delivery{
		URI: f.uri, Create: e.Create, Label: c.Label, Session: c.Session, Call: c.Call, Tool: c.Tool, Turn: c.Turn,
		Old: p.before, New: p.after, Save: true,
	})
	var refused *RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &filetime.Error{
			Code: filetime.WriteError, Reason: "refused", Path: f.path,
			Message: fmt.Sprintf("The editor refused to write %s: %s\nNothing was written. Asking again does not help; tell the user "+
				"what you wanted to change.", f.path, strings.TrimSpace(refused.Words)),
		}
	}
	return &filetime.Error{
		Code: filetime.Unknown, Reason: "no_reply", Path: f.path, Now: f.text, Known: true, Message: fmt.Sprintf(
			"It is not known whether the edit of %s landed: the editor did not answer (%v). Read the file before going on.", f.path, err),
	}
}

// stored is what the disk says of a file that is to be deleted there. What the editor has not saved must not be lost by it.
func (w *Workspace) stored(f *file, p plan) (onDisk, error) {
	d, err := w.readDisk(f.path, w.o.MaxFileBytes)
	if err == nil && (!d.exists || !sameText(d.text, p.before)) {
		err = &filetime.Error{
			Code: filetime.EditConflict, Reason: "unsaved", Path: f.path,
			Message: fmt.Sprintf("%s has unsaved text in the editor. Ask the user to save it, then try again.", f.path),
		}
	}
	return d, err
}

// saved says where the disk has not got what the editor was given, in words for filetime.LandedFile.Stale. f.mu is held.
func (w *Workspace) saved(f *file) string {
	d, err := w.readDisk(f.path, 0)
	if err == nil && d.exists && sameText(d.text, f.text) {
		return ""
	}
	return "was changed in the editor, which has not saved it: the disk is older than the editor's text."
}
