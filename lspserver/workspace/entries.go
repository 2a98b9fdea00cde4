package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/lspserver/landing"
	"tandem/lspserver/stored"
)

// commitEntry lands what is done to a folder, a link, or a file that is no text: on disk, except that the editor moves a folder in which it
// has documents open.
func (w *Workspace) commitEntry(ctx context.Context, tx *landing.Transaction, e filetime.FileEdit) (filetime.LandedFile, error) {
	l := filetime.LandedFile{Path: e.Path, Entry: e.Entry, Created: e.Create, Deleted: e.Delete, Source: "disk", Attempts: 1}
	if e.To != "" {
		l.Path, l.Origin = e.To, e.Path
	}
	if err := w.openElsewhere(e.Path); err != nil {
		return l, err
	}
	if err := w.unchanged(e); err != nil {
		return l, err
	}
	if e.To != "" {
		if err := w.vacant(w.file(e.Path), w.file(e.To), tx.Earlier()); err != nil {
			return l, err
		}
	}
	w.mu.Lock()
	where := tx.Change.Apply
	if where == "" {
		where = w.o.Apply
	}
	w.mu.Unlock()
	if where == filetime.None {
		return l, nil
	}
	if err := ctx.Err(); err != nil {
		return l, context.Cause(ctx)
	}
	var err error
	switch {
	case e.Create && w.isFolder(e.Path):
		l.Already = true
	case e.To != "":
		l.Source, l.Stale, err = w.moveEntry(ctx, tx, e)
	case e.Create:
		_, err = tx.Disk.Folders(e.Path)
	case e.Entry == filetime.Folder:
		err = tx.Disk.RemoveFolder(e.Path)
	default:
		err = tx.Disk.Remove(e.Path)
	}
	var worded *filetime.Error
	switch {
	case err == nil || errors.As(err, &worded):
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist) && e.Delete:
		err = fail(e.Path, filetime.EditConflict, "not_empty", "%s is not empty: something was put there meanwhile. It was not deleted. List it, then decide.", e.Path)
	case errors.Is(err, disk.ErrAcross):
		err = crossDevice(e.Path, e.To)
	case errors.Is(err, disk.ErrChanged) && errors.Is(err, fs.ErrExist):
		err = targetExists(e.To)
	case errors.Is(err, disk.ErrChanged) && errors.Is(err, fs.ErrNotExist):
		err = deletedSince(e.Path)
	default:
		err = stored.WriteError(e.Path, err)
	}
	l.Applied = err == nil
	l.Rev = w.next()
	return l, err
}

func (w *Workspace) isFolder(path string) bool {
	info, err := w.stored().Stat(path)
	return err == nil && info.IsDir()
}

// unchanged refuses what is done to an entry that is not what the caller saw, or not of that kind.
func (w *Workspace) unchanged(e filetime.FileEdit) error {
	info, err := stored.Bounded(e.Path, stored.DiskTimeout, func() (fs.FileInfo, error) { return w.stored().Stat(e.Path) })
	switch {
	case e.Create && err == nil && info.IsDir():
		return nil
	case e.Create && err == nil:
		return fail(e.Path, filetime.FileExists, "exists", "%s exists now and is not a directory.", e.Path)
	case e.Create && errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return deletedSince(e.Path)
	case err != nil:
		return stored.WriteError(e.Path, err)
	}
	kind := filetime.Bytes
	switch {
	case info.IsDir():
		kind = filetime.Folder
	case info.Mode()&fs.ModeSymlink != 0:
		kind = filetime.Link
	case !info.Mode().IsRegular():
		return fail(e.Path, filetime.WriteError, "not_regular", "%s is not a file, a directory or a link. Nothing was done.", e.Path)
	}
	if kind != e.Entry || e.Was != "" && e.Was != filetime.Mark(info) {
		return fail(e.Path, filetime.EditConflict, "changed", "%s has changed since it was read. Nothing was done. Look at it again, then decide.", e.Path)
	}
	return nil
}

// moveEntry moves an entry with all that is in it, and gives where that landed and why the editor still has an old name.
func (w *Workspace) moveEntry(ctx context.Context, tx *landing.Transaction, e filetime.FileEdit) (source, stale string, err error) {
	if len(w.openBelow(e.Path)) > 0 {
		if !w.o.Features.Rename {
			return "", "", fail(e.Path, filetime.Unsupported, "no_rename", "Documents in %s are open in an editor that does not rename files when asked. "+
				"Nothing was moved: the editor would go on with the old files. Ask the user to close them, or to rename it, then go on.", e.Path)
		}
		if err := tx.Write(disk.Planned{Op: disk.Move, Path: e.Path, To: e.To}); err != nil {
			return "", "", err
		}
		stale, err = w.renameInEditor(ctx, e.Path, e.To, tx)
		return "buffer", stale, err
	}
	if err := tx.Disk.MoveEntry(e.Path, e.To); err != nil {
		return "", "", err
	}
	w.moveStates(e.Path, e.To, nil)
	return "disk", "", nil
}
