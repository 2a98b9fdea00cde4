package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/tree"
	"tandem/tools/words"
)

// Folder opens the directory at a Place for walking. An error is worded for the model.
func Folder(env *Env, place sandbox.Place) (*tree.Tree, error) {
	t, err := tree.Open(place)
	name := env.Name(place.Path())
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, fs.ErrNotExist):
		err := Refuse(filetime.ReadError, "enoent",
			"Directory not found: %s (ENOENT). See what is there with list_files on the directory above.", name)
		if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
			refusal.Result.Data += meant(name, Elsewhere(context.Background(), env, place.Path(), true))
		}
		return nil, err
	case errors.Is(err, syscall.ENOTDIR):
		return nil, Refuse(filetime.ReadError, "not_directory",
			"%s is a file, not a directory. Read it with read_file.", name)
	}
	return nil, Refuse(filetime.ReadError, "unreadable", "%s cannot be read: %v.", name, err)
}

// unasked is Folder for a failure, which comes before any permission: a directory whose content may be told without a question.
func unasked(env *Env, path string) (*tree.Tree, error) {
	place, err := env.Paths.Readable(path)
	if err == nil && place.Class().Unlisted() {
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, err
	}
	return tree.Open(place)
}

// Withheld says how many entries a walk has left out because they hold keys, "" for none.
func Withheld(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%s left out: keys or passwords are kept there)", Count(n, "path"))
}

// TooDeep says how many folders a search has not entered since what is in them has paths longer than the system takes, "" for none.
func TooDeep(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%s not entered: paths in it are longer than the 4096 bytes that the system takes)", Count(n, "folder"))
}

// LeftOut says how many entries a search has left out because a rule refuses them, "" for none.
func LeftOut(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n(%s left out: a deny rule of the user covers them)", Count(n, "path"))
}

// Entry is what stands in a directory; Type is file, directory, link or special.
type Entry struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Size int64  `json:"size,omitempty"`
}

// Describe gives an entry of the directory dir as a line for the model and for a program.
func Describe(env *Env, dir string, e tree.Entry) (string, Entry) {
	name := show.Visible(e.Path, false)
	const separator = string(filepath.Separator)
	found := Entry{Path: strings.TrimSuffix(dir, separator) + separator + filepath.FromSlash(e.Path), Type: "file"}
	switch {
	case e.Type.IsDir():
		found.Type = "directory"
		return name + "/", found
	case e.Type&fs.ModeSymlink != 0:
		found.Type = "link"
		target, err := env.Paths.Readable(found.Path)
		if err != nil {
			return name + " -> (outside, or nowhere)", found
		}
		return name + " -> " + env.Name(target.Path()), found
	case !e.Type.IsRegular():
		found.Type = "special"
		return name + " (no regular file)", found
	}
	size, ok := e.Size()
	if !ok {
		return name, found
	}
	found.Size = size
	return name + " (" + filetime.Size(found.Size) + ")", found
}

// Refused words what files refused as the Result that the model reads, with what it would have to look for otherwise: what
// is in a directory, and what the file that is not there may be called.
func Refused(ctx context.Context, env *Env, fe *filetime.Error) Result {
	r := Result{Error: fe.Code, Reason: fe.Reason, Data: fe.Message, Summary: fe.Person}
	if fe.Path == "" || env == nil {
		return r
	}
	r.Data = strings.ReplaceAll(r.Data, fe.Path, env.Name(fe.Path))
	switch {
	case fe.Code == filetime.IsDirectory:
		r.Data += listing(ctx, env, fe.Path)
	case fe.Code == filetime.ReadError && fe.Reason == "enoent":
		near := similar(ctx, env, fe.Path)
		if len(near) == 0 {
			near = Elsewhere(ctx, env, fe.Path, false)
		}
		r.Data += meant(env.Name(fe.Path), near)
	}
	return r
}

// meant asks whether one of some names was meant instead of the one that is not there, "" for none. Where one looks the same it names the
// sign that differs.
func meant(asked string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	asks := " Did you mean " + strings.Join(names, " or ") + "?"
	for _, name := range names {
		if text.Skeleton(asked) != text.Skeleton(name) {
			continue
		}
		if odd := text.Odd(asked, name); odd != "" {
			return asks + " They look the same: yours has " + odd + "."
		}
		if odd := text.Odd(name, asked); odd != "" {
			return asks + " They look the same: that one has " + odd + "."
		}
	}
	return asks
}

// maxLooked is how many entries are looked at for one that has the name of another which is not there.
const maxLooked = 50_000

// Elsewhere gives the files, or the folders, of the session's folder that have the name of one which is not there: of a few in order, none of
// many.
func Elsewhere(ctx context.Context, env *Env, path string, folders bool) []string {
	dir, err := unasked(env, env.Paths.Cwd)
	if err != nil || env.Paths.Rel(path) == path {
		return nil
	}
	const most = 3
	base, looked := text.Skeleton(filepath.Base(path)), 0
	var found []string
	_, err = dir.Walk(ctx, 0, func(e tree.Entry) error {
		if looked++; looked > maxLooked || len(found) > most {
			return fs.SkipAll
		}
		if e.Type.IsDir() == folders && text.Skeleton(filepath.Base(e.Path)) == base && !denied(env, e.Path) {
			found = append(found, env.Name(filepath.Join(env.Paths.Cwd, e.Path)))
		}
		return nil
	})
	if err != nil || len(found) > most {
		return nil
	}
	return found
}

// denied says that a rule refuses what lies at a path below the session's folder.
func denied(env *Env, rel string) bool {
	place, err := env.Paths.Readable(filepath.Join(env.Paths.Cwd, rel))
	return err != nil || env.Judged.Denied(place)
}

// How much of a directory is listed to somebody who took it for a file.
const (
	maxListed      = 100
	maxListedBytes = 4 << 10
)

// listing is what is in a directory, "" where that may not be looked at.
func listing(ctx context.Context, env *Env, path string) string {
	dir, err := unasked(env, path)
	if err != nil {
		return ""
	}
	var names []string
	room, more := maxListedBytes, false
	_, err = dir.Walk(ctx, 1, func(e tree.Entry) error {
		line, _ := Describe(env, path, e)
		if room -= len(line) + 1; room < 0 || len(names) == maxListed {
			more = true
			return fs.SkipAll
		}
		names = append(names, line)
		return nil
	})
	switch {
	case err != nil:
		return ""
	case len(names) == 0:
		return " There is nothing in it."
	case more:
		names = append(names, "… and more")
	}
	return " In it (list_files shows more):\n" + strings.Join(names, "\n")
}

// similar gives the files whose names are near that of a file which is not there.
func similar(ctx context.Context, env *Env, path string) []string {
	at := filepath.Dir(path)
	dir, err := unasked(env, at)
	if err != nil {
		return nil
	}
	type candidate struct {
		name     string
		distance float64
	}
	var found []candidate
	var names []string
	if full := env.Paths.Abbreviated(env.Paths.Rel(path)); full != "" {
		names = append(names, env.Name(full))
	}
	seen := func(name string) string { return strings.ToLower(text.Skeleton(name)) }
	want := seen(filepath.Base(path))
	_, _ = dir.Walk(ctx, 1, func(e tree.Entry) error {
		if d := distance(want, seen(e.Path)); !e.Type.IsDir() && d <= 0.34 {
			found = append(found, candidate{env.Name(filepath.Join(at, e.Path)), d})
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	for _, c := range found[:min(3, len(found))] {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// distance is how far two names are apart, from 0 to 1; two that differ in their ending alone are next to each other.
func distance(a, b string) float64 {
	if strings.TrimSuffix(a, filepath.Ext(a)) == strings.TrimSuffix(b, filepath.Ext(b)) {
		return 0
	}
	return float64(words.Distance(a, b)) / float64(max(len(a), len(b), 1))
}
