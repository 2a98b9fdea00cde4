package bash

import (
	"context"
	"io/fs"
	"strings"

	"tandem/sandbox"
	"tandem/sandbox/git"
	"tandem/sandbox/tree"
	"tandem/tools"
)

// madeAgain says that nothing is lost for good where some paths are removed with all below: each is
// a plain file, or a folder of the workspace that its repository ignores, with nothing in it that
// git tracks, no file of keys and no other repository. That is what builds and package managers
// make.
func madeAgain(env *tools.Env, paths []string) bool {
	for _, path := range paths {
		place, err := env.Paths.Writable(env.Paths.Expand(path))
		if err != nil || place.Class() != sandbox.Plain || place.Rel() == "." {
			return false
		}
		if info, err := place.Stat(); err != nil || info.IsDir() && !ignored(place) {
			return false
		}
	}
	return true
}

// maxRemoved is how many entries are looked at of a folder that is removed.
const maxRemoved = 200_000

// ignored says that a folder is ignored, and that nothing in it is tracked, holds keys or is a
// repository of its own.
func ignored(folder sandbox.Place) bool {
	repository, err := git.Find(folder.Path())
	if err != nil || repository == nil || folder.Path() == repository.Top() || strings.HasPrefix(repository.Top(), folder.Path()+"/") {
		return false
	}
	if !repository.Ignores(strings.TrimPrefix(folder.Path()[len(repository.Top()):], "/"), true) {
		return false
	}
	t, err := tree.Open(folder)
	if err != nil {
		return false
	}
	t.Everything()
	entries, keeps := maxRemoved, false
	t.OnWithheld = func(sandbox.Place) { keeps = true }
	_, walked := t.Walk(context.Background(), 0, func(e tree.Entry) error {
		if e.Type.IsDir() {
			_, err := folder.Join(e.Path + "/.git").Stat()
			keeps = keeps || err == nil
		}
		if entries--; keeps || entries < 0 {
			return fs.SkipAll
		}
		return nil
	})
	_, err = folder.Join(".git").Stat()
	return walked == nil && !keeps && entries >= 0 && err != nil
}
