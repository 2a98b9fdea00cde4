package workspace

import (
	"context"
	"errors"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
	"tandem/lspserver/stored"
)

// refresh reads the disk; a new text becomes one revision. f.mu is held and f is not open.
func (w *Workspace) refresh(f *file) error {
	_, err := w.renew(f)
	return err
}

// renew is refresh; cached says that the file was not read, since it has not changed.
func (w *Workspace) renew(f *file) (cached bool, err error) {
	if w.o.Features.Versionless {
		return false, w.readFromEditor(f)
	}
	live, changes := w.covers(f.path)
	sure := live && (f.disk.valid == wasWritten || f.disk.valid == wasRead && f.disk.changes == changes)
	path, was, size, compare := f.path, f.disk.Stat, f.size(), f.Loaded() && f.disk.exists
	d, err := stored.Bounded(path, stored.DiskTimeout, func() (*stored.File, error) {
		if compare {
			if info, err := w.stored().Stat(path); err == nil {
				if now := stored.Of(info, w.o.Now()); sure && was.Same(now) || was.Unchanged(now) {
					return nil, nil
				}
			}
		}
		d, err := w.stored().ReadWritten(path, size)
		return &d, err
	})
	if err != nil {
		f.disk.valid, f.disk.readFailed = unsure, true
		return false, err
	}
	if d != nil {
		w.adopt(f, w.restore(f, *d), filetime.Disk)
		f.disk.valid = unsure
	}
	if live && f.disk.valid != wasWritten {
		f.disk.valid, f.disk.changes = wasRead, changes
	}
	return d == nil, nil
}

// adopt makes a text that was read the present one. f.mu is held.
func (w *Workspace) adopt(f *file, d stored.File, author filetime.Author) {
	d.Stat.Checked = w.o.Now()
	f.disk.Stat, f.disk.readFailed = d.Stat, false
	was := f.disk.exists
	f.disk.exists = d.Exists
	switch {
	case !f.Loaded():
		f.Begin(d.Text, w.next())
	case !f.Text().Equal(d.Text):
		set, back := f.Discard(d.Text)
		if !back {
			set = text.Infer(f.Text(), d.Text)
		}
		w.record(f, set, author)
		if e := f.Last(); e != nil {
			e.Kind = follow.OnDisk
		}
		if back {
			f.Discarded()
		}
		w.notify(f, "stale", "disk")
	case was && !d.Exists:
		w.notify(f, "stale", "disk")
	}
	f.MarkSaved()
}

// newerOnDisk reads the file of an open document. newer is true if another program has saved it and the editor has not loaded that: the
// disk has neither the buffer's text nor the one last saved there. A command of the agent is no other program. f.mu is held.
func (w *Workspace) newerOnDisk(f *file) (d stored.File, newer bool, err error) {
	if d, err = w.stored().Compare(f.path); err != nil || !d.Exists || d.Text.Len() == 0 {
		return d, false, err
	}
	known := func(t text.Text) bool { return stored.SameButEnd(d.Text, t) }
	return d, !known(f.Text()) && !(f.SavedRev() > 0 && known(f.Saved())) && !(f.expected != nil && known(f.expected.after)), nil
}

// overwrites says that saving the buffer would overwrite what another program has saved. f.mu is held.
func (w *Workspace) overwrites(f *file) bool {
	_, newer, err := w.newerOnDisk(f)
	return err == nil && newer
}

// readFromEditor reads the editor's text, or the disk's if the editor refuses. The disk is read first: files that may not be read
// there, or are not text, are not requested. f.mu is held.
func (w *Workspace) readFromEditor(f *file) error {
	path, uri, author, was := f.path, f.uri, filetime.Disk, f.size()
	d, err := stored.Bounded(path, stored.DiskTimeout, func() (stored.File, error) {
		d, err := w.stored().ReadWritten(path, was)
		if err != nil {
			return d, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), stored.DiskTimeout)
		defer cancel()
		content, _, err := w.o.Editor.Resync(ctx, uri)
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			return d, nil
		case err != nil:
			return d, fail(path, filetime.ReadError, "editor", "Read file failed: the editor did not give the text of %s: %v.", path, err)
		case !d.Exists && content == "": // some editors answer so for a file that does not exist
			return d, nil
		case w.o.MaxFileBytes > 0 && int64(len(content)) > w.o.MaxFileBytes:
			return d, filetime.TooLarge(path, int64(len(content)), w.o.MaxFileBytes)
		}
		if now := text.New(content); !now.Equal(d.Text) {
			d.Exists, d.Text, author = true, now, filetime.User
		}
		return d, nil
	})
	if err != nil {
		f.disk.readFailed = true
		return err
	}
	w.adopt(f, d, author)
	return nil
}
