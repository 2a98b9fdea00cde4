// Package move is the tool move_file: it gives a file, a link, or a folder with all that is in it
// another path.
package move

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/entry"
)

//go:embed move_file.md
var description string

// Args are the arguments of move_file.
type Args struct {
	Path        string `json:"path" desc:"The file, link or directory." minlen:"1" alias:"file_path,source,source_path,src,from,old_path,oldPath" nocoerce:"true"`
	Destination string `json:"destination" desc:"Its whole new path." minlen:"1" alias:"to,dest,target,destination_path,new_path,newPath" nocoerce:"true"`
	Overwrite   bool   `json:"overwrite,omitempty" desc:"Replace a file that is at destination." default:"false"`
}

// Value is what a program gets. Path is where it is now.
type Value struct {
	Path        string `json:"path"`
	From        string `json:"from"`
	Entry       string `json:"entry"`
	Overwritten bool   `json:"overwritten,omitzero"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "move_file", Aliases: []string{"rename_file", "mv"}, Kind: tools.Move, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.Alone, Source: "builtin", Deferred: true,
		},
		Title:   func(in Args) string { return "Move " + in.Path + " to " + in.Destination },
		Subject: func(in Args) string { return in.Path + " to " + in.Destination },
		Needs:   needs,
		Plan:    plan,
	})
}

// needs are both ends of what is moved, and of all below a folder.
func needs(env *tools.Env, in Args) ([]tools.Need, error) {
	from, err := env.Paths.EntryName(in.Path)
	if err != nil {
		return nil, err
	}
	to, err := env.Paths.EntryName(in.Destination)
	if err != nil {
		return nil, err
	}
	act := tools.Creates
	if in.Overwrite {
		act = tools.Replaces
	}
	first := tools.Need{Act: tools.Replaces, Place: from, Arg: tools.PathArg}
	return entry.NeedsOf(first, func(rel string) tools.Need {
		if rel == "" {
			return tools.Need{Act: act, Place: to, Arg: "destination"}
		}
		return tools.Need{Act: tools.Creates, Place: to.Join(rel)}
	})
}

// moving is one call on its way.
type moving struct {
	env      *tools.Env
	from, to sandbox.Place
	kind     filetime.Entry
	edits    []filetime.FileEdit
	over     bool
	danger   tools.Danger
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	m := &moving{env: env, from: env.Needs[0].Place, to: env.Needs[1].Place, danger: tools.Moderate}
	a, b := env.Name(m.from.Path()), env.Name(m.to.Path())
	switch {
	case m.from.Path() == m.to.Path():
		return nil, tools.Refuse(tools.NoChange, "same", "The source and the destination are the same: %s. Nothing was moved.", a)
	case strings.HasPrefix(m.to.Path(), m.from.Path()+string(filepath.Separator)):
		return nil, tools.Refuse(tools.InvalidArgs, "below_itself", "%s cannot be moved into itself: %s is below it. Nothing was moved.", a, b)
	}
	if err := entry.IsRoot(env, m.from, "moved"); err != nil {
		return nil, err
	}
	found, err := entry.At(env, m.from)
	if err != nil {
		return nil, err
	}
	if err := m.vacate(ctx, in, found); err != nil {
		return nil, err
	}
	title := fmt.Sprintf("Move %s to %s", a, b)
	e := filetime.FileEdit{Path: m.from.Path(), To: m.to.Path()}
	switch m.kind, _ = found.Kind(); m.kind {
	case filetime.Folder:
		all, err := entry.List(env, found, "moved")
		if err != nil {
			return nil, err
		}
		title = fmt.Sprintf("Move the directory %s to %s (%s in it)", a, b, entries(len(all)))
		e.Entry, e.Was = m.kind, filetime.Mark(found.Info)
	case filetime.Link:
		e.Entry, e.Was = m.kind, filetime.Mark(found.Info)
	default:
		now, err := env.Read(ctx, m.from)
		switch {
		case entry.NoText(err):
			e.Entry, e.Was = m.kind, filetime.Mark(found.Info)
		case err != nil:
			return nil, err
		default:
			v, err := entry.Whole(env, m.from, now, "moved")
			if err != nil {
				return nil, err
			}
			m.kind = filetime.File
			e.Base, e.Since, e.Rev = v.Text, v.Since, v.Rev
		}
	}
	if m.over {
		title += ", over the file that is there"
	}
	m.edits = append(m.edits, e)
	needs := slices.Clone(env.Needs)
	if needs[1].Danger = m.danger; !m.over {
		needs[1].Act = tools.Creates
	}
	return &tools.Plan{
		Title: title, Danger: m.danger, Semantic: "write", Needs: needs,
		Locations: []tools.Location{{Path: m.from.Path()}, {Path: m.to.Path()}},
		Change:    &filetime.Change{Files: m.edits}, Done: m.done,
	}, nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// vacate deletes what stands at the destination, where that is asked for.
func (m *moving) vacate(ctx context.Context, in Args, from entry.Found) error {
	name := m.env.Name(m.to.Path())
	info, err := m.to.Stat()
	now, unread := m.env.Read(ctx, m.to)
	open := unread == nil && now.Open
	switch {
	case errors.Is(err, fs.ErrNotExist) && !open:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return tools.Refuse(filetime.WriteError, "unreadable", "Nothing can be moved to %s: %v.", name, errors.Unwrap(err))
	case err == nil && strings.EqualFold(m.from.Path(), m.to.Path()) && sandbox.Same(info, from.Info):
		return nil // one name to a file system that does not tell letters by their case
	case err == nil && info.IsDir():
		return tools.Refuse(filetime.FileExists, "is_directory", "%s is a directory. Nothing was moved. To move into it, give the whole new path: %s.",
			name, m.env.Name(filepath.Join(m.to.Path(), filepath.Base(m.from.Path()))))
	case !in.Overwrite:
		return tools.Refuse(filetime.FileExists, "exists", "%s exists. Nothing was moved. Choose another destination, or set overwrite to true to replace that file.", name)
	case from.Info.IsDir():
		return tools.Refuse(filetime.FileExists, "exists", "%s exists and is a file: a directory does not replace it. Nothing was moved.", name)
	}
	m.over = true
	there := entry.Found{Place: m.to, Info: info}
	switch kind, _ := there.Kind(); {
	case err == nil && (kind == filetime.Link || entry.NoText(unread)):
		if err := entry.SeenBytes(m.env, there); err != nil {
			return err
		}
		m.danger = tools.Dangerous
		m.edits = append(m.edits, filetime.FileEdit{Path: m.to.Path(), Delete: true, Entry: kind, Was: filetime.Mark(info)})
		return nil
	case unread != nil:
		return unread
	}
	v, err := entry.Whole(m.env, m.to, now, "replaced")
	if err != nil {
		return err
	}
	e, err := entry.Removal(m.to.Path(), v)
	m.edits = append(m.edits, e)
	return err
}

// done words what landed.
func (m *moving) done(landed filetime.Landed) tools.Result {
	l := landed.Files[len(landed.Files)-1]
	var diffs []show.File
	for _, f := range landed.Files {
		diffs = append(diffs, tools.Diff(m.env, f))
	}
	a, b := m.env.Name(m.from.Path()), m.env.Name(m.to.Path())
	data := fmt.Sprintf("Moved: %s -> %s", a, b)
	if m.over {
		data += "\nThe file that was there is deleted."
	}
	if l.Over > 0 {
		data += fmt.Sprintf("\n%s moved along, by others since you saw it.", tools.Count(l.Over, "change"))
	}
	if !l.Applied {
		data += "\nNot applied here: the host that asked applies it."
	}
	kind := string(m.kind)
	if m.kind == filetime.File {
		kind = "file"
	}
	return tools.Result{
		Success: true, Data: data, Summary: fmt.Sprintf("Moved: %s → %s", filepath.Base(m.from.Path()), b),
		Value: Value{Path: l.Path, From: m.from.Path(), Entry: kind, Overwritten: m.over}, Diffs: diffs,
	}
}
