package bash

import (
	"context"
	"io/fs"
	"path/filepath"

	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/shell"
)

// maxEntries is how many entries are looked up of the folders that a command reads with all that is below them, before it runs
// unasked.
const maxEntries = 20_000

// operands are the needs of a command that only reads, for what it reads; why says in half a sentence that this cannot be told, or
// that some of it may not be read.
func operands(env *tools.Env, dir sandbox.Place, reads []shell.Read) (needs []tools.Need, why string) {
	entries := maxEntries
	for _, r := range reads {
		path := r.Path
		if !filepath.IsAbs(path) {
			path = dir.Path() + "/" + path
		}
		place, err := env.Paths.Readable(path)
		if err != nil {
			return nil, "reads what is not in the workspace"
		}
		needs = append(needs, tools.Need{Act: tools.Reads, Place: place})
		if !r.Below {
			continue
		}
		keys, all := keysBelow(place, r.Visible, &entries)
		if keys != (sandbox.Place{}) {
			needs = append(needs, tools.Need{Act: tools.Reads, Place: keys})
		}
		if !all {
			return nil, "reads a folder with more files than are looked up"
		}
	}
	return needs, ""
}

// keysBelow finds a file below a folder that holds keys, the zero Place where there is none. all is false where there are too many
// entries to tell.
func keysBelow(folder sandbox.Place, visible bool, entries *int) (keys sandbox.Place, all bool) {
	t, err := tree.Open(folder)
	if err != nil {
		return sandbox.Place{}, true // no folder
	}
	if _, err := folder.Top().Join(".git").Stat(); !visible || err != nil { // programs heed .gitignore in repositories only
		t.Everything()
	}
	t.OnWithheld = func(p sandbox.Place) {
		if _, name := p.Parent(); !visible || name[0] != '.' {
			keys = p
		}
	}
	_, _ = t.Walk(context.Background(), 0, func(e tree.Entry) error {
		if *entries--; *entries < 0 {
			return fs.SkipAll
		}
		if visible && e.Type.IsDir() && filepath.Base(e.Path)[0] == '.' {
			return fs.SkipDir
		}
		return nil
	})
	return keys, *entries >= 0
}
