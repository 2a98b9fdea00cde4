// Package remove is the tool delete_file: it deletes a file, a link, or a folder with all that is
// in it.
package remove

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/entry"
)

//go:embed delete_file.md
var description string

const (
	// maxKept is how many bytes of texts are kept of one call, so that it can be undone.
	maxKept = 32 << 20
	// maxNamed is how many files an answer names.
	maxNamed = 20
)

// Args are the arguments of delete_file.
type Args struct {
	Path      string `json:"path" desc:"The file, link or directory." minlen:"1" alias:"file_path,file,filename,target_file" nocoerce:"true"`
	Recursive bool   `json:"recursive,omitempty" desc:"Delete a directory with all that is in it." default:"false"`
}

// Value is what a program gets. Entry is file, bytes, link or folder; the counts are of what is
// below a folder.
type Value struct {
	Path  string `json:"path"`
	Entry string `json:"entry"`
	Files int    `json:"files,omitzero"`
	// Unrestorable are the absolute paths of which no copy is kept.
	Unrestorable []string `json:"unrestorable,omitempty"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "delete_file", Aliases: []string{"remove"}, Kind: tools.Delete, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.Alone, Source: "builtin", Deferred: true,
		},
		Subject: func(in Args) string { return in.Path },
		Title: func(in Args) string {
			if in.Recursive {
				return "Delete " + in.Path + " with all that is in it"
			}
			return "Delete " + in.Path
		},
		Needs: needs,
		Plan:  plan,
	})
}

func needs(env *tools.Env, in Args) ([]tools.Need, error) {
	place, err := env.Paths.EntryName(in.Path)
	if err != nil {
		return nil, err
	}
	n := tools.Need{Act: tools.Replaces, Place: place, Arg: tools.PathArg}
	if !in.Recursive {
		return []tools.Need{n}, nil
	}
	n.Danger = tools.Dangerous
	return entry.NeedsOf(n, nil)
}

// removal is one call on its way.
type removal struct {
	env    *tools.Env
	name   string
	edits  []filetime.FileEdit
	files  int
	lost   []string // of which no copy is kept
	kept   int      // bytes
	danger tools.Danger
	value  Value
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	place := env.Place()
	if err := entry.IsRoot(env, place, "deleted"); err != nil {
		return nil, err
	}
	found, err := entry.At(env, place)
	if err != nil {
		return nil, err
	}
	r := &removal{env: env, name: env.Name(place.Path()), danger: tools.Moderate, value: Value{Path: place.Path(), Entry: "file"}}
	title := "Delete " + r.name
	switch kind, _ := found.Kind(); {
	case kind == filetime.Folder && !in.Recursive:
		return nil, &filetime.Error{
			Code: filetime.IsDirectory, Reason: "is_directory", Path: place.Path(), Message: fmt.Sprintf(
				"%s is a directory and was not deleted. To delete it with all that is in it, set recursive to true.", place.Path()),
		}
	case kind == filetime.Folder:
		title, err = r.folder(ctx, found)
	case kind == filetime.Link:
		title = "Delete the link " + r.name
		r.whole(found, kind)
	default:
		err = r.file(ctx, found)
	}
	if err != nil {
		return nil, err
	}
	if n := len(r.lost); n > 0 && r.value.Entry != "link" {
		title += fmt.Sprintf(" (%s cannot be restored)", tools.Count(n, "file"))
	}
	needs := slices.Clone(env.Needs)
	for i := range needs {
		needs[i].Danger = r.danger
	}
	return &tools.Plan{
		Title: title, Danger: r.danger, Semantic: "write", Needs: needs, Locations: []tools.Location{{Path: place.Path()}},
		Change: &filetime.Change{Files: r.edits}, Done: r.done,
	}, nil
}

// file deletes one file: a text as the model saw it, anything else as it is now, which cannot be
// undone.
func (r *removal) file(ctx context.Context, f entry.Found) error {
	now, err := r.env.Read(ctx, f.Place)
	switch {
	case entry.NoText(err):
		if err := entry.SeenBytes(r.env, f); err != nil {
			return err
		}
		r.whole(f, filetime.Bytes)
		r.danger = tools.Dangerous
		return nil
	case err != nil:
		return err
	}
	v, err := entry.Whole(r.env, f.Place, now, "deleted")
	if err != nil {
		return err
	}
	e, err := entry.Removal(f.Place.Path(), v)
	r.edits = append(r.edits, e)
	return err
}

// whole deletes something as it is.
func (r *removal) whole(f entry.Found, kind filetime.Entry) {
	r.edits = append(r.edits, filetime.FileEdit{Path: f.Place.Path(), Delete: true, Entry: kind, Was: filetime.Mark(f.Info)})
	if kind == filetime.Bytes || kind == filetime.Link {
		r.lost = append(r.lost, f.Place.Path())
	}
	r.value.Entry = string(kind)
}

// folder deletes all that is in a folder, from the bottom to the top: the texts so that they can be
// restored.
func (r *removal) folder(ctx context.Context, f entry.Found) (title string, err error) {
	all, err := entry.List(r.env, f, "deleted")
	if err != nil {
		return "", err
	}
	r.danger = tools.Dangerous
	for _, g := range slices.Backward(all) {
		kind, _ := g.Kind()
		if kind != filetime.Folder {
			r.files++
		}
		if kind != filetime.Bytes {
			r.whole(g, kind)
			continue
		}
		now, err := r.env.Read(ctx, g.Place)
		switch {
		case err == nil && now.Exists && r.kept+now.Text.Len() <= maxKept:
			r.kept += now.Text.Len()
			r.edits = append(r.edits, filetime.FileEdit{Path: g.Place.Path(), Delete: true, Base: now.Text, Rev: now.Rev})
		case err == nil || entry.NoText(err):
			r.whole(g, kind)
		default:
			return "", err
		}
	}
	r.whole(f, filetime.Folder)
	r.value.Files = r.files
	return fmt.Sprintf("Delete the directory %s with %s", r.name, tools.Count(r.files, "file")), nil
}

// done words what landed.
func (r *removal) done(landed filetime.Landed) tools.Result {
	var b strings.Builder
	var diffs []show.File
	applied := true
	for _, l := range landed.Files {
		diffs = append(diffs, tools.Diff(r.env, l))
		applied = applied && l.Applied
	}
	switch r.value.Entry {
	case "folder":
		fmt.Fprintf(&b, "Deleted: the directory %s (%s)\n", r.name, tools.Count(r.files, "file"))
	case "link":
		fmt.Fprintf(&b, "Deleted: the link %s; what it leads to is untouched\n", r.name)
	case "bytes":
		fmt.Fprintf(&b, "Deleted: %s, which cannot be restored: it is not text, or too large\n", r.name)
	default:
		fmt.Fprintf(&b, "Deleted: %s\n", r.name)
	}
	if r.value.Entry == "folder" && len(r.lost) > 0 {
		var names []string
		for _, path := range r.lost[:min(maxNamed, len(r.lost))] {
			names = append(names, r.env.Name(path))
		}
		if more := len(r.lost) - maxNamed; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		fmt.Fprintf(&b, "Cannot be restored: %s\n", strings.Join(names, ", "))
	}
	if !applied {
		b.WriteString("Not applied here: the host that asked applies it.\n")
	}
	if r.value.Entry != "link" {
		r.value.Unrestorable = r.lost
	}
	return tools.Result{
		Success: true, Data: strings.TrimSuffix(b.String(), "\n"), Summary: "Deleted: " + filepath.Base(r.value.Path), Value: r.value, Diffs: diffs,
	}
}
