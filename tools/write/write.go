// Package write is the tool write_file: it makes a file, replaces all of one, or adds to its end.
package write

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/entry"
)

//go:embed write.md
var description string

// Args are the arguments of write_file.
type Args struct {
	Path    string `json:"path" desc:"The file." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
	Content string `json:"content" desc:"All of it, or what to append." alias:"text,contents,file_text"`
	Mode    string `json:"mode,omitempty" desc:"append adds no line end." enum:"overwrite,append" default:"overwrite"`
}

// Value is what a program gets of a write that landed; Bytes is the size of the file.
type Value struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Created bool   `json:"created"`
	// Already says that somebody else had made the same change, Deleted that the file had been
	// deleted since it was seen.
	Already bool `json:"already,omitzero"`
	Deleted bool `json:"deleted,omitzero"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "write_file", Aliases: []string{"write", "create_file", "write_to_file"},
			Kind: tools.Edit, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Moderate, Class: tools.ClassWrite, Together: tools.OtherFiles, Source: "builtin", InputStreaming: true,
		},
		Title:   func(in Args) string { return "Write " + in.Path },
		Subject: func(in Args) string { return in.Path },
		Needs:   needs,
		Plan:    plan,
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
	w := writing{env: env, in: in, path: place.Path(), name: env.Name(place.Path()), now: now, danger: tools.Moderate}
	var no *filetime.Error
	switch {
	case errors.As(err, &no) && no.Code == filetime.BinaryFile && no.Reason != "encoding" && in.Mode != "append":
		err = w.bytes(place, err)
	case err != nil:
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
		Title: w.verb + " " + w.name + w.note, Danger: w.danger, Semantic: "write",
		Needs:  []tools.Need{{Act: w.act, Place: place, Arg: tools.PathArg, Danger: w.needs}},
		Change: &filetime.Change{Files: append(w.first, w.edit)},
		Done:   w.done,
	}, nil
}

// writing is one call on its way.
type writing struct {
	env        *tools.Env
	in         Args
	path, name string
	verb, told string
	note       string // after the title
	act        tools.Act
	now        filetime.Snapshot
	deleted    bool // the file was there when the model saw it last
	edit       filetime.FileEdit
	first      []filetime.FileEdit // comes before edit: the removal of what is no text
	danger     tools.Danger
	needs      tools.Danger // where the need says it by itself
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
	case tools.Unread(w.env, w.env.Place(), err):
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

// overwrite makes the file say the content where the model saw something else; what others wrote
// since then stays.
func (w *writing) overwrite() error {
	w.verb, w.told, w.act = "Overwrite", "File overwritten", tools.Replaces
	views, err := tools.Seen(w.env, w.now, true)
	switch {
	case tools.Unread(w.env, w.env.Place(), err):
		return tools.UnreadWhole(w.env, w.now, "replaced", "change parts of it with edit_file")
	case err != nil:
		return err
	}
	v := views[0]
	w.edit = filetime.FileEdit{
		Path: w.path, Base: v.Text, Since: v.Since, By: v.By, Rev: v.Rev,
		Edits: text.Overwrite(v.Text, w.in.Content),
	}
	r := text.Rebase(v.Text, w.edit.Edits, v.Since)
	switch {
	case len(r.Conflicts) > 0:
		return filetime.Collision(w.edit, v.Since, v.Since.Apply(v.Text), r.Conflicts, v.Author)
	case len(w.edit.Edits) == 0:
		return tools.Refuse(tools.NoChange, "same", "%s already has this content: nothing was written.", w.name)
	case len(r.Set) == 0:
		return &tools.Refusal{Result: w.already(tools.Unchanged(w.now), v.Author)}
	}
	return nil
}

// bytes replaces a file that is no text, which the model was shown or told of: it is deleted, and
// another one made.
func (w *writing) bytes(place sandbox.Place, refused error) error {
	there, err := entry.At(w.env, place)
	if err != nil {
		return err
	}
	sum, ok := entry.Sum(place)
	if !ok {
		return refused
	}
	if err := w.env.FileTime.AssertBytes(w.path, sum); err != nil {
		return err
	}
	w.create()
	w.verb, w.told, w.act, w.note = "Overwrite", "File overwritten", tools.Replaces, " (what is there cannot be restored)"
	w.deleted, w.danger, w.needs = false, tools.Dangerous, tools.Dangerous
	w.first = []filetime.FileEdit{{Path: w.path, Delete: true, Entry: filetime.Bytes, Was: filetime.Mark(there.Info)}}
	return nil
}

// unreadEnd refuses to append to a file of which the model has seen nothing, and shows its end.
func (w *writing) unreadEnd(now filetime.Snapshot) error {
	const shown = 10
	e := tools.Places(w.env)
	total := tools.Lines(now.Text)
	e.Lines(now.Text, total-shown+1, total)
	e.Seen(w.env.FileTime, now)
	return tools.Refuse(filetime.NotRead, "not_read",
		"%s has not been read in this session, so nothing was written. It ends like this "+
			"(%s in all); these lines now count as read:\n%sIf the content belongs at the end, send the same call again.", w.name, tools.Count(total, "line"), e)
}

// already answers a write that by has made.
func (w *writing) already(l filetime.LandedFile, by filetime.Author) tools.Result {
	r := tools.Already(w.env, l, by)
	r.Value = Value{Path: l.Path, Bytes: l.After.Len(), Already: true}
	return r
}

// done words what landed.
func (w *writing) done(landed filetime.Landed) tools.Result {
	l := landed.Files[len(landed.Files)-1]
	if l.Already {
		return w.already(l, tools.MadeBy(l))
	}
	d := tools.Diff(w.env, l)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s, %s)\n", w.told, w.name,
		tools.Count(tools.Lines(l.After), "line"), tools.Count(l.After.Len(), "byte"))
	if len(w.first) > 0 {
		b.WriteString("What was there was no text and cannot be restored.\n")
	}
	if w.deleted {
		b.WriteString("The file had been deleted since you last saw it.\n")
	}
	if !l.Applied {
		b.WriteString("Not applied here: the host that asked applies it.\n")
	}
	if !l.Created {
		fmt.Fprintf(&b, "Changes: %d +/ %d -\n", d.Additions, d.Deletions)
		if l.Over > 0 {
			b.WriteString(tools.Told(w.env, l, true))
		}
		b.WriteString(w.taken(l))
	}
	verb, created := "Modified", l.Created && len(w.first) == 0
	switch {
	case w.deleted:
		verb = "Created, after it had been deleted"
	case created:
		verb = "Created"
	}
	return tools.Result{
		Success: true,
		Data:    strings.TrimSuffix(b.String(), "\n"),
		Summary: fmt.Sprintf("%s: %s (+%d -%d)", verb, filepath.Base(w.path), d.Additions, d.Deletions),
		Value:   Value{Path: l.Path, Bytes: l.After.Len(), Created: created, Deleted: w.deleted},
		Diffs:   []show.File{d},
	}
}

// taken names the lines that the user has typed and that the write takes away, as they were before
// it.
func (w *writing) taken(l filetime.LandedFile) string {
	if w.in.Mode == "append" {
		return ""
	}
	e := tools.Places(w.env)
	for _, r := range w.env.FileTime.UserRanges(filetime.Snapshot{Path: l.Path, Text: l.Before, Rev: w.revBefore(l)}) {
		for _, d := range l.Set {
			if start, end := max(r.Start, d.Start), min(r.End, d.End); start < end && strings.TrimSpace(l.Before.Slice(start, end)) != "" {
				e.Lines(l.Before, l.Before.Line(start)+1, l.Before.Line(end-1)+1, start)
			}
		}
	}
	if e.Count() == 0 {
		return ""
	}
	return fmt.Sprintf("This took away what the user had typed, with the line numbers of before:\n%s"+
		"If that was not meant, put it back, or call undo_file.\n", e)
}

// revBefore is the revision of l.Before.
func (w *writing) revBefore(l filetime.LandedFile) uint64 {
	if l.Applied {
		return l.Rev - 1
	}
	return l.Rev
}
