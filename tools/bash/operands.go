package bash

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/sandbox/git"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/shell"
)

// maxEntries is how many entries are looked up of the folders that a command reads with all that is
// below them, before it runs unasked.
const maxEntries = 20_000

// maxMatches is how many files a pattern of the shell may fit in a command that runs unasked.
const maxMatches = 1000

// operands are the needs of a command that only reads, for what it reads; why says in half a
// sentence that this cannot be told, or that some of it may not be read.
func operands(env *tools.Env, dir sandbox.Place, reads []shell.Read) (needs []tools.Need, why string) {
	entries := maxEntries
	for _, r := range reads {
		path := r.Path
		if !filepath.IsAbs(path) {
			path = dir.Path() + "/" + path
		}
		paths := []string{path}
		if r.Glob {
			if paths, why = matches(env, path, r.Path, r.Split); why != "" {
				return nil, why
			}
		}
		for _, path := range paths {
			more, why := operand(env, path, r, &entries)
			if why != "" {
				return nil, why
			}
			needs = append(needs, more...)
		}
	}
	return needs, ""
}

// operand are the needs for one path that a command reads. entries is how many more are looked up
// below it.
func operand(env *tools.Env, path string, r shell.Read, entries *int) (needs []tools.Need, why string) {
	place, err := env.Paths.Readable(path)
	if err != nil {
		return nil, "reads what is not in the workspace"
	}
	needs = append(needs, tools.Need{Act: tools.Reads, Place: place, Tree: r.Extent != shell.Itself})
	switch r.Extent {
	case shell.Below, shell.Visible:
		if r.Names {
			if why := oddNames(env, place, r.Split, entries); why != "" {
				return nil, why
			}
		}
		keys, all := keysBelow(place, r.Extent == shell.Visible, entries)
		if keys != (sandbox.Place{}) {
			needs = append(needs, tools.Need{Act: tools.Reads, Place: keys})
		}
		if !all {
			return nil, "reads a folder with more files than are looked up"
		}
	case shell.Tracked, shell.TrackedBelow:
		keys, why := keysTracked(env.Paths, place, r.Extent == shell.TrackedBelow)
		if why != "" {
			return nil, why
		}
		needs = append(needs, keys...)
	}
	return needs, ""
}

// matches are the files that a pattern of the shell fits. Where the shell splits their names at
// blanks, or a program could take one for an option, nobody can tell what is read.
func matches(env *tools.Env, pattern, written string, split bool) (paths []string, why string) {
	top := pattern[:strings.IndexAny(pattern+"*", "*?")]
	if _, err := env.Paths.Readable(filepath.Dir(top + "x")); err != nil {
		return nil, "reads what is not in the workspace"
	}
	found, err := filepath.Glob(strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(pattern))
	if err != nil || len(found) > maxMatches {
		return nil, "names more files than are looked up"
	}
	for _, path := range found {
		name := path
		if !filepath.IsAbs(written) {
			name = strings.TrimPrefix(path, filepath.Clean(strings.TrimSuffix(pattern, written))+"/")
		}
		switch {
		case hiddenMatch(pattern, path):
			continue // the shell leaves these out
		case odd(name, split), strings.HasPrefix(name, "-") && strings.ContainsAny(written[:1], "*?-"):
			return nil, "names files by names that the shell or a program may take for something else"
		}
		paths = append(paths, path)
	}
	return paths, ""
}

// hiddenMatch reports whether a name that begins with a dot fits where the pattern does not.
func hiddenMatch(pattern, path string) bool {
	patterns, names := strings.Split(filepath.Clean(pattern), "/"), strings.Split(path, "/")
	for i, name := range names {
		if i < len(patterns) && strings.HasPrefix(name, ".") && !strings.HasPrefix(patterns[i], ".") {
			return true
		}
	}
	return false
}

// odd reports whether a name has a line end, or something that makes several names or another one
// of it where names are split.
func odd(name string, split bool) bool {
	return strings.ContainsAny(name, "\n\x00") || split && strings.ContainsAny(name, " \t\r*?[]\\'\"") || split && strings.Contains("/"+name, "/-")
}

// oddNames says why nobody can tell what a command reads that opens what is below a folder by its
// names: some are odd, or lead elsewhere.
func oddNames(env *tools.Env, folder sandbox.Place, split bool, entries *int) (why string) {
	t, err := tree.Open(folder)
	if err != nil {
		return "" // no folder
	}
	t.Everything()
	look := func(p sandbox.Place, link bool) {
		if odd(strings.TrimPrefix(p.Path(), folder.Path()), split) {
			why = "names files by names that the shell or a program may take for something else"
		}
		if link {
			if to, err := env.Paths.Readable(p.Path()); err != nil || to.Class().Is(sandbox.Secret) {
				why = "follows a link that leads out of the workspace or to keys"
			}
		}
	}
	t.OnWithheld = func(p sandbox.Place) { look(p, false) }
	_, err = t.Walk(context.Background(), 0, func(e tree.Entry) error {
		if *entries--; *entries < 0 {
			why = "reads a folder with more files than are looked up"
		}
		if look(folder.Join(e.Path), e.Type&fs.ModeSymlink != 0); why != "" {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && why == "" {
		why = "reads a folder that cannot be looked through"
	}
	return why
}

// keysNamed is a file or folder that holds keys or passwords and that a command names, whatever it
// does with it; "" where there is none.
func keysNamed(env *tools.Env, named []string) string {
	if i := slices.IndexFunc(named, func(word string) bool { return env.Paths.HoldsKeys(env.Paths.Expand(word)) }); i >= 0 {
		return named[i]
	}
	return ""
}

// maxTracked is how many files of keys that git tracks are named in a question.
const maxTracked = 8

// keysTracked are the needs of a command that shows what git tracks in the repository of a place,
// of that only what is at the place or below it, or why that cannot be told.
func keysTracked(paths *sandbox.Paths, place sandbox.Place, below bool) (needs []tools.Need, why string) {
	repository, err := git.Find(place.Path())
	if repository == nil && err == nil {
		return nil, ""
	}
	var names []string
	if err == nil {
		names, err = repository.Names()
	}
	if err != nil {
		return nil, "shows what git tracks, which cannot be told here"
	}
	for _, name := range names {
		path := filepath.Join(repository.Top(), name)
		if !paths.ClassOf(path).Is(sandbox.Secret) || below && path != place.Path() && !strings.HasPrefix(path, place.Path()+"/") {
			continue
		}
		rel, err := filepath.Rel(place.Root(), path)
		at := place.Top().Join(filepath.ToSlash(rel)) // what a link leads to is not what git shows
		if err != nil || at == (sandbox.Place{}) {
			return nil, "shows what git tracks, with keys or passwords outside of the workspace"
		}
		if needs = append(needs, tools.Need{Act: tools.Reads, Place: at}); len(needs) == maxTracked {
			break
		}
	}
	return needs, ""
}

// maxWrites is how many files that a command writes are looked up.
const maxWrites = 256

// targets are the needs of a command for files that it writes and that are executed later or hold
// keys: it asks as an edit of them does. What no edit may do is refused, but where the sandbox
// keeps commands from it.
func targets(env *tools.Env, writes []shell.Write) (needs []tools.Need, err error) {
	for _, w := range writes[:min(len(writes), maxWrites)] {
		if folder, err := env.Paths.Readable(filepath.Dir(env.Paths.Expand(w.Path))); w.In {
			if info, err2 := folder.Stat(); err != nil || err2 != nil || !info.IsDir() {
				continue
			}
		}
		place, err := env.Paths.Writable(env.Paths.Expand(w.Path))
		var refused *sandbox.PathError
		switch {
		case errors.As(err, &refused) && refused.Code == "PROTECTED_PATH" && executed(w.Path) && env.Commands.Runner.Level().Name != sandbox.LevelFull:
			return nil, err
		case err != nil, place.Class() == sandbox.Plain, place.Class() == sandbox.Linked:
		default:
			if info, err := place.Stat(); err != nil || !info.IsDir() || place.Class().Is(sandbox.LaterCode) {
				needs = append(needs, tools.Need{Act: tools.Edits, Place: place})
			}
		}
	}
	return needs, nil
}

// executed says that a path is of what git executes in a repository or reads settings from, or of
// Tandem's own: git itself changes the rest of a repository, and who removes all of it puts nothing
// there.
func executed(path string) bool {
	names := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, ".git") })
	return i < 0 || i+1 < len(names) && slices.Contains(git.Executed(), strings.ToLower(names[i+1]))
}

// keysBelow finds a file below a folder that holds keys, the zero Place where there is none. all is
// false where there are too many entries to tell.
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
	_, err = t.Walk(context.Background(), 0, func(e tree.Entry) error {
		if *entries--; *entries < 0 {
			return fs.SkipAll
		}
		if visible && e.Type.IsDir() && filepath.Base(e.Path)[0] == '.' {
			return fs.SkipDir
		}
		return nil
	})
	return keys, *entries >= 0 && err == nil
}
