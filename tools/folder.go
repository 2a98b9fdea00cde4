package tools

import (
	"errors"
	"io/fs"
	"syscall"

	"tandem/filetime"
	"tandem/sandbox/tree"
)

// Folder opens the directory that arg names for walking, and gives its canonical path. The caller closes it. An error
// is worded for the model.
func Folder(env *Env, arg string) (*tree.Tree, string, error) {
	path, err := env.Paths.Readable(arg)
	if err != nil {
		return nil, "", err
	}
	t, err := tree.Open(env.Paths, path)
	name := env.Name(path)
	switch {
	case err == nil:
		return t, path, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, path, Refuse(filetime.ReadError, "enoent",
			"Directory not found: %s (ENOENT). See what is there with list_files on the directory above.", name)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, path, Refuse(filetime.ReadError, "not_directory",
			"%s is a file, not a directory. Read it with read_file.", name)
	}
	return nil, path, Refuse(filetime.ReadError, "unreadable", "%s cannot be read: %v.", name, err)
}
