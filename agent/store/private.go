package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Private is an error if another user owns the folder or may write to it. A missing folder is fine.
func Private(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case !mine(info):
		return fmt.Errorf("%s belongs to another user, who could read and change what is kept there: set stateDir to a folder of your own", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written by others, who could change what is kept there: chmod 700 %s", dir, dir)
	}
	return nil
}

// claim creates the database's file, or checks it, with mode 0600. Symbolic links are refused: the
// target may be no database, and its mode would be changed.
func claim(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := Private(dir); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} { // SQLite gives its other files the rights of the first
		switch info, err := os.Lstat(path + suffix); {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, which is not followed: put the file itself there, or set stateDir to another folder", path+suffix)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no regular file: remove it", path+suffix)
		case !mine(info):
			return fmt.Errorf("%s belongs to another user: remove it, or set stateDir to a folder of your own", path+suffix)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}
