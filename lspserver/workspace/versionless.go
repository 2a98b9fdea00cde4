package workspace

import (
	"context"
	"errors"
	"fmt"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/delivery"
	"tandem/lspserver/landing"
	"tandem/lspserver/stored"
)

// An editor without versions sends no document notifications, so there is no echo. Its text is requested each time that
// it is used (Editor.Resync), which is the only way to get unsaved text, and it accepts whole texts (Editor.Apply),
// which it saves. So an edit is a read, a three-way merge over all changes since the model saw the file, and a write.
// There is no compare-and-swap: what is typed between that read and that write is lost. Files are deleted on disk.
//
// Resync and Apply answer a *RefusedError for a file that the editor does not give, or does not accept.

// applyWhole sends the planned text to the editor. f.mu is held.
func (w *Workspace) applyWhole(f *file, p delivery.Plan, e filetime.FileEdit, tx *landing.Transaction) error {
	if err := w.refuseLinked(f, e, filetime.Editor, true); err != nil {
		return err
	}
	if tx.LacksBuffer(f.path) {
		planned := f.planned(e)
		planned.Buffer = true
		if err := tx.Write(planned); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), delivery.SendBudget)
	defer cancel()
	c := tx.Change
	_, err := w.o.Editor.Apply(ctx, Delivery{
		URI: f.uri, Create: e.Create, Label: c.Label, Session: c.Session, Call: c.Call, Tool: c.Tool, Turn: c.Turn,
		Old: p.Before, New: p.After, Save: true,
	})
	var by *RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &by):
		return delivery.Refused(f.path, by)
	}
	return w.delivered(f).Doubt("no_reply", fmt.Sprintf("the editor did not answer (%v)", err))
}

// readForDelete reads a file that is to be deleted, and refuses if the editor has unsaved text of it.
func (w *Workspace) readForDelete(f *file, p delivery.Plan) (stored.File, error) {
	d, err := w.stored().Read(f.path, w.o.MaxFileBytes)
	if err == nil && (!d.Exists || !text.EqualLines(d.Text, p.Before)) {
		err = fail(f.path, filetime.EditConflict, "unsaved", "%s has unsaved text in the editor. Ask the user to save it, then try again.", f.path)
	}
	return d, err
}

// unsavedReason is LandedFile.Stale after give: whether the editor has saved the text. f.mu is held.
func (w *Workspace) unsavedReason(f *file) string {
	d, err := w.stored().Read(f.path, 0)
	if err == nil && d.Exists && text.EqualLines(d.Text, f.Text()) {
		return ""
	}
	return "was changed in the editor, which has not saved it: the disk is older than the editor's text."
}
