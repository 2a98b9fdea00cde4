package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tandem/sandbox/lazy"
)

// maxRules is how much is read of a file that says what is ignored.
const maxRules = 1 << 20

// Rules are those that hold in all of the work tree: of info/exclude, and whether the case of
// letters counts. What a person ignores in all repositories is not read: a folder counts as ignored
// only by what the repository says.
func (r *Repository) Rules() Rules {
	var rules Rules
	if config, err := whole(filepath.Join(r.common, "config"), maxRules); err == nil && ignoreCase.Get().Match(config) {
		rules = rules.Fold()
	}
	return rules.addFile(filepath.Join(r.common, "info", "exclude"), nil)
}

// ignoreCase finds core.ignoreCase where a configuration sets it.
var ignoreCase = lazy.Regexp{Text: `(?im)\bignorecase[ \t]*(?:=[ \t]*"?(?:true|yes|on|[0-9]*[1-9][0-9]*)\b|$|[\r#;])`}

// AddFolder adds the rules of the .gitignore in a folder, if there is one; git follows no link
// there.
func (r Rules) AddFolder(folder string, names []string) Rules {
	name := filepath.Join(folder, ".gitignore")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return r
	}
	return r.addFile(name, names)
}

func (r Rules) addFile(name string, folder []string) Rules {
	text, err := whole(name, maxRules)
	switch {
	case err == nil:
		return r.Add(string(text), folder)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return r // as git does
	}
	return r.Doubt()
}

// Ignores says that git ignores a path of the work tree, which has forward slashes: it or a folder
// above it, and git tracks nothing there. Where that cannot be told, it is not ignored.
func (r *Repository) Ignores(rel string, isFolder bool) bool {
	tracked, err := r.Tracked()
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && tracked.Has(rel) {
		return false
	}
	rules, names := r.Rules(), strings.Split(rel, "/")
	for i := range names {
		rules = rules.AddFolder(filepath.Join(r.top, filepath.Join(names[:i]...)), names[:i])
		if rules.Ignore(names[:i+1], isFolder || i+1 < len(names)) {
			return true
		}
	}
	return false
}
