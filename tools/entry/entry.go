// Package entry is what tools share that work with what stands at a path as a whole: a file, a link
// itself, a folder with all that is in it.
package entry

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/sandbox"
	"tandem/tools"
)

const (
	// Most is how many entries a folder may have below it, in all, for a call that is about all of
	// them: each is judged, and in review.
	Most = 1000
	// maxSum is the size of the largest file that is compared with what the session was shown of
	// it.
	maxSum = 64 << 20
)

// Found is one entry. Rel is its path below the folder that was listed, with forward slashes.
type Found struct {
	Rel   string
	Place sandbox.Place
	Info  fs.FileInfo
}

// Kind is what it is, for an edit: a regular file is filetime.Bytes, for only its text tells that
// it is a filetime.File. ok is false for what is neither a file nor a folder nor a link.
func (f Found) Kind() (k filetime.Entry, ok bool) {
	switch mode := f.Info.Mode(); {
	case mode.IsDir():
		return filetime.Folder, true
	case mode&fs.ModeSymlink != 0:
		return filetime.Link, true
	case mode.IsRegular():
		return filetime.Bytes, true
	}
	return "", false
}

// At looks at what stands at a Place. The errors are for the model.
func At(env *tools.Env, place sandbox.Place) (Found, error) {
	f := Found{Place: place}
	info, err := place.Stat()
	switch name := env.Name(place.Path()); {
	case errors.Is(err, fs.ErrNotExist):
		return f, &filetime.Error{
			Code: filetime.ReadError, Reason: "enoent", Path: place.Path(),
			Message: fmt.Sprintf("File not found: %s (ENOENT). Look for its name with glob or list_files.", place.Path()),
		}
	case err != nil:
		return f, tools.Refuse(filetime.ReadError, "unreadable", "%s cannot be read: %v. Nothing was done.", name, cause(err))
	}
	f.Info = info
	if _, ok := f.Kind(); !ok {
		return f, tools.Refuse(filetime.ReadError, "not_regular", "%s is not a file, a directory or a link. Nothing was done.", env.Name(place.Path()))
	}
	return f, nil
}

func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// ErrMany says that there is more below a folder than Most.
var ErrMany = fmt.Errorf("there are more than %d entries in it", Most)

// Below lists all that is in a folder and below, what is ignored and hidden included, each folder
// before what is in it and sorted by names. Links are not followed.
func Below(folder sandbox.Place) ([]Found, error) {
	var out []Found
	var walk func(at sandbox.Place, rel string) error
	walk = func(at sandbox.Place, rel string) error {
		entries, err := read(at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if len(out) == Most {
				return ErrMany
			}
			below := at.Join(e.Name())
			info, err := below.Stat()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			out = append(out, Found{Rel: rel + e.Name(), Place: below, Info: info})
			if info.IsDir() {
				if err := walk(below, rel+e.Name()+"/"); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := walk(folder, "")
	return out, err
}

func read(at sandbox.Place) ([]fs.DirEntry, error) {
	f, err := at.Dir()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// NeedsOf are the needs of a call that does something to an entry and all that is below it: each
// path is judged by itself. at names an entry where the call puts it, for what it does there; nil
// is nowhere.
func NeedsOf(first tools.Need, at func(rel string) tools.Need) ([]tools.Need, error) {
	needs := []tools.Need{first}
	if at != nil {
		needs = append(needs, at(""))
	}
	info, err := first.Place.Stat()
	if err != nil || !info.IsDir() {
		return needs, nil // what is wrong with it is for the plan to say
	}
	found, err := Below(first.Place)
	if err != nil && !errors.Is(err, ErrMany) {
		return needs, nil
	}
	for _, f := range found {
		n := first
		n.Place, n.Arg = f.Place, ""
		if needs = append(needs, n); at != nil {
			needs = append(needs, at(f.Rel))
		}
	}
	return needs, nil
}

// Judged says that needs name a path, and so that it was judged.
func Judged(needs []tools.Need, path string) bool {
	return slices.ContainsFunc(needs, func(n tools.Need) bool { return n.Act.Writes() && n.Place.Path() == path })
}

// Guarded names an entry that goes with a folder only if a call names it itself, and why; "" is
// none.
func Guarded(found []Found) (rel, why string) {
	for _, f := range found {
		switch class := f.Place.Class(); {
		case class.Is(sandbox.Internal), class.Is(sandbox.Own):
			return f.Rel, "is git's or Tandem's own"
		case class.Is(sandbox.Secret):
			return f.Rel, "holds keys or passwords"
		case class.Is(sandbox.LaterCode):
			return f.Rel, "runs later or tells programs what to do"
		}
	}
	return "", ""
}

// List lists what is in a folder of a call whose needs were judged, and refuses what cannot be done
// to all of it; verb is what is to be done, in the past tense.
func List(env *tools.Env, folder Found, verb string) ([]Found, error) {
	name := env.Name(folder.Place.Path())
	found, err := Below(folder.Place)
	switch {
	case errors.Is(err, ErrMany):
		return nil, tools.Refuse(tools.Unsupported, "many", "%s was not %s: %v. Do it directory by directory, or leave it to the user.", name, verb, err)
	case err != nil:
		return nil, tools.Refuse(filetime.ReadError, "unreadable", "%s was not %s: what is in it cannot be listed (%v).", name, verb, cause(err))
	}
	for _, f := range found {
		if _, ok := f.Kind(); !ok {
			return nil, tools.Refuse(tools.Unsupported, "not_regular", "%s was not %s: %s is not a file, a directory or a link.",
				name, verb, env.Name(f.Place.Path()))
		}
	}
	if rel, why := Guarded(found); rel != "" {
		return nil, tools.Refuse(tools.Unsupported, "guarded", "%s was not %s: %s in it %s. Ask the user to do it, or name the other entries one by one.",
			name, verb, env.Name(folder.Place.Path()+"/"+rel), why)
	}
	for _, f := range found {
		if !Judged(env.Needs, f.Place.Path()) {
			return nil, tools.Refuse(filetime.EditConflict, "changed", "%s was not %s: %s was put into it just now. Send the same call again.",
				name, verb, env.Name(f.Place.Path()))
		}
	}
	return found, nil
}

// NoText says that err refuses a file because it is no text, or too large to be read as one.
func NoText(err error) bool {
	var refused *filetime.Error
	return errors.As(err, &refused) && (refused.Code == filetime.BinaryFile || refused.Code == filetime.FileTooLarge)
}

// SeenBytes refuses a file that is no text and not what the session was shown of it. What it was
// never shown is not refused.
func SeenBytes(env *tools.Env, f Found) error {
	sum, ok := Sum(f.Place)
	if !ok {
		return nil
	}
	var refused *filetime.Error
	if err := env.FileTime.AssertBytes(f.Place.Path(), sum); errors.As(err, &refused) && refused.Code == filetime.EditConflict {
		return err
	}
	return nil
}

// Sum is the SHA-256 of a file's bytes; ok is false where it cannot be read or is too large to be
// compared.
func Sum(place sandbox.Place) (sum [sha256.Size]byte, ok bool) {
	f, info, err := place.Open()
	if err != nil {
		return sum, false
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxSum+1))
	return [sha256.Size]byte(h.Sum(nil)), err == nil && n <= maxSum && info.Mode().IsRegular()
}

// Unread refuses what the model has not seen all of; see tools.UnreadWhole.
func Unread(env *tools.Env, now filetime.Snapshot, done string) error {
	return tools.UnreadWhole(env, now, done, "leave it to the user")
}

// Whole is the newest text of a file that the model has seen all of; a file that it has not is
// refused, see Unread.
func Whole(env *tools.Env, place sandbox.Place, now filetime.Snapshot, done string) (filetime.View, error) {
	views, err := tools.Seen(env, now, true)
	switch {
	case tools.Unread(env, place, err):
		return filetime.View{}, Unread(env, now, done)
	case err != nil:
		return filetime.View{}, err
	}
	return views[0], nil
}

// Removal is the removal of a text file as the model saw it; the error is a conflict where others
// have changed it since.
func Removal(path string, v filetime.View) (filetime.FileEdit, error) {
	e := filetime.FileEdit{Path: path, Delete: true, Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev}
	theirs := text.Canonical(v.Text, v.Since)
	if n := len(theirs); n > 0 {
		at := []text.Conflict{{Start: theirs[0].Start, End: theirs[n-1].End}}
		return e, filetime.Collision(e, v.Since, v.Since.Apply(v.Text), at, v.Author)
	}
	return e, nil
}

// IsRoot refuses what would take a root of the session away.
func IsRoot(env *tools.Env, place sandbox.Place, verb string) error {
	if place.Rel() != "." && place.Path() != env.Paths.Cwd {
		return nil
	}
	return tools.Refuse(tools.Unsupported, "root", "%s is a workspace folder itself and cannot be %s by a tool. Name the files or directories in it.",
		env.Name(place.Path()), verb)
}
