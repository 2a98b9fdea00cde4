// Package write is the tool write_file: it makes a file, replaces all of one, or adds to its end.
package write

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
)

//go:embed write.md
var description string

// Args are the arguments of write_file.
type Args struct {
	Path    string `json:"path" desc:"The file to write." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Content string `json:"content" desc:"The whole content, or with append what is added." alias:"text,contents,file_text" nocoerce:"true"`
	Mode    string `json:"mode,omitempty" desc:"overwrite replaces all of it; append adds at its end, with no line end of its own." enum:"overwrite,append" default:"overwrite"`
}

// Value is what a program gets of a write that landed; Bytes is the size of the file.
type Value struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Created bool   `json:"created"`
	// Already says that somebody else had made the same change, Deleted that the file had been deleted since it was seen.
	Already bool `json:"already,omitzero"`
	Deleted bool `json:"deleted,omitzero"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "write_file", Aliases: []string{"write", "create_file"},
			Kind: tools.Edit, Category: "files", Description: description,
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin",
		},
		Title: func(in Args) string { return "Write " + in.Path },
		Needs: needs,
		Plan:  plan,
	})
}

func needs(env *tools.Env, in Args) ([]tools.Need, error) {
	if in.Mode == "append" {
		return tools.ToWrite(env, tools.Edits, in.Path)
	}
	return tools.ToWrite(env, tools.Replaces, in.Path) // less where there is no such file, which the plan finds
}

func plan(ctx context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
	place := env.Place()
	now, err := env.Read(ctx, place)
	if err != nil {
		return nil, err
	}
	w := writing{env: env, in: in, path: place.Path(), name: env.Name(place.Path()), now: now}
	switch {
	case !now.Exists:
		w.create()
	case in.Mode == "append":
		err = w.add()
	default:
		err = w.overwrite()
	}
	if err != nil {
		return nil, err
	}
	return &tools.Plan{
		Title: w.verb + " " + w.name, Danger: tools.Moderate, Semantic: "write",
		Needs:  []tools.Need{{Act: w.act, Place: place, Arg: tools.PathArg}},
		Change: &filetime.Change{Files: []filetime.FileEdit{w.edit}},
		Done:   w.done,
	}, nil
}

// writing is one call on its way.
type writing struct {
	env        *tools.Env
	in         Args
	path, name string
	verb, told string
	act        tools.Act
	now        filetime.Snapshot
	deleted    bool // the file was there when the model saw it last
	edit       filetime.FileEdit
}

func (w *writing) create() {
	w.verb, w.told, w.act = "Create", "File created", tools.Creates
	if w.deleted = w.env.FileTime.Knows(w.path); w.deleted {
		w.verb = "Create the deleted"
	}
	w.edit = filetime.FileEdit{Path: w.path, Create: true}
	if w.in.Content != "" {
		w.edit.Edits = text.Set{{New: w.in.Content}}
	}
}

// add puts the content after what the file says now; any part of it must have been seen.
func (w *writing) add() error {
	w.verb, w.told, w.act = "Append to", "Appended to file", tools.Edits
	now := w.now
	_, err := tools.Seen(w.env, now, false)
	switch {
	case tools.Unread(w.env, err):
		return w.unreadEnd(now)
	case err != nil:
		return err
	}
	if w.in.Content == "" {
		return tools.Refuse(tools.NoChange, "same", "There is nothing to append: content is empty.")
	}
	end := now.Text.Len()
	w.edit = filetime.FileEdit{
		Path: w.path, Base: now.Text, Rev: now.Rev,
		Edits: text.Set{{Start: end, End: end, New: text.Fit(now.Text, end, w.in.Content)}},
	}
	return nil
}

// overwrite makes the file say the content where the model saw something else; what others wrote since then stays.
func (w *writing) overwrite() error {
	w.verb, w.told, w.act = "Overwrite", "File overwritten", tools.Replaces
	views, err := tools.Seen(w.env, w.now, true)
	switch {
	case tools.Unread(w.env, err):
		return w.unread(w.now)
	case err != nil:
		return err
	}
	v := views[0]
	w.edit = filetime.FileEdit{
		Path: w.path, Base: v.Text, Since: v.Since, Rev: v.Rev,
		Edits: text.Overwrite(v.Text, w.in.Content),
	}
	r := text.Rebase(v.Text, w.edit.Edits, v.Since)
	switch {
	case len(r.Conflicts) > 0:
		return filetime.Collision(w.edit, v.Since, v.Since.Apply(v.Text), r.Conflicts, v.Author)
	case len(w.edit.Edits) == 0:
		return tools.Refuse(tools.NoChange, "same", "%s says that already: nothing was written.", w.name)
	case len(r.Set) == 0:
		return &tools.Refusal{Result: w.already(tools.Unchanged(w.now), v.Author)}
	}
	return nil
}

// unread refuses to replace what the model has not seen all of, and shows it, as far as there is room: that counts as read
// then.
func (w *writing) unread(now filetime.Snapshot) error {
	e := tools.WholeFile(w.env)
	total := tools.Lines(now.Text)
	e.Lines(now.Text, 1, total)
	e.Seen(w.env.FileTime, now)
	next := "This is all of it, and counts as read now. If it may be replaced, send the same call again."
	switch {
	case e.Cut():
		next = fmt.Sprintf("Lines of more than %d characters cannot be shown whole, so that this file cannot be overwritten: "+
			"change parts of it with edit_file.", tools.MaxLine)
	case e.Count() < total:
		next = fmt.Sprintf("These lines count as read now. Read the others with read_file, from start_line %d on, "+
			"then send the same call again.", e.Count()+1)
	}
	return tools.Refuse(filetime.NotRead, "not_read",
		"%s has not been read whole in this session, so nothing was written. It says (%s):\n%s%s",
		w.name, tools.Count(total, "line"), e, next)
}

// unreadEnd refuses to append to a file of which the model has seen nothing, and shows its end.
func (w *writing) unreadEnd(now filetime.Snapshot) error {
	const shown = 10
	e := tools.Places(w.env)
	total := tools.Lines(now.Text)
	e.Lines(now.Text, total-shown+1, total)
	e.Seen(w.env.FileTime, now)
	return tools.Refuse(filetime.NotRead, "not_read",
		"%s has not been read in this session, so nothing was written. It ends like this, which counts as read now "+
			"(%s in all):\n%sIf the content belongs there, send the same call again.", w.name, tools.Count(total, "line"), e)
}

// already answers a write that by has made.
func (w *writing) already(l filetime.LandedFile, by filetime.Author) tools.Result {
	r := tools.Already(w.env, l, by)
	r.Value = Value{Path: l.Path, Bytes: l.After.Len(), Already: true}
	return r
}

// done words what landed.
func (w *writing) done(landed filetime.Landed) tools.Result {
	l := landed.Files[0]
	if l.Already {
		return w.already(l, tools.MadeBy(l))
	}
	d := tools.Diff(w.env, l)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s, %s)\n", w.told, w.name,
		tools.Count(tools.Lines(l.After), "line"), tools.Count(l.After.Len(), "byte"))
	if w.deleted {
		b.WriteString("The file had been deleted since you last saw it.\n")
	}
	if !l.Applied {
		b.WriteString("Not applied here: the host that asked applies it.\n")
	}
	if !l.Created {
		fmt.Fprintf(&b, "Changes: %d +/ %d -\n", d.Additions, d.Deletions)
		if l.Over > 0 {
			b.WriteString(tools.Told(w.env, l))
		}
	}
	verb := "Modified"
	switch {
	case w.deleted:
		verb = "Created, after it had been deleted"
	case l.Created:
		verb = "Created"
	}
	return tools.Result{
		Success: true,
		Data:    strings.TrimSuffix(b.String(), "\n"),
		Summary: fmt.Sprintf("%s: %s (+%d -%d)", verb, filepath.Base(w.path), d.Additions, d.Deletions),
		Value:   Value{Path: l.Path, Bytes: l.After.Len(), Created: l.Created, Deleted: w.deleted},
		Diffs:   []show.File{d},
	}
}
