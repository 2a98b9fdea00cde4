package disk

import (
	"errors"
	"io/fs"
)

// What is done to folders, links and files that are no text is not compared by content: a rename
// takes along whatever is there, and a removal is the caller's to check.

// MoveEntry gives a folder with all that is in it, a link, or any file another name, which nothing
// may have. The errors are those of Move.
func (c *Change) MoveEntry(from, to string) error {
	w, err := c.fileChange(from)
	if err != nil {
		return changedIfMissing(err)
	}
	defer w.close()
	if _, err := w.dir.Stat(w.at.name); err != nil {
		return changedIfMissing(err)
	}
	if err := w.begin(Planned{Op: Move, Path: from, To: to}); err != nil {
		return err
	}
	return w.rename(to)
}

// Remove removes a link itself, or a file whatever it says. It is not in the journal and cannot be
// undone.
func (c *Change) Remove(path string) error {
	return c.unlogged(path, Dir.Remove)
}

// RemoveFolder removes a folder that is empty.
func (c *Change) RemoveFolder(path string) error {
	return c.unlogged(path, Dir.Rmdir)
}

func (c *Change) unlogged(path string, do func(d Dir, name string) error) error {
	w, err := c.fileChange(path)
	if err != nil {
		return changedIfMissing(err)
	}
	defer w.close()
	if err := do(w.dir, w.at.name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return changedIfMissing(err)
		}
		return err
	}
	w.addDir(w.at.dir)
	return nil
}
