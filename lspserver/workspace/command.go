package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/stored"
)

// A command changes files beneath the workspace, which finds out afterwards. Mark says how far the history of each file was before the
// command; Land takes what has come after it for the command's, as if it were an edit that has landed on disk.

// Effect is what a command has done to a file, whose path is canonical.
type Effect struct {
	Path             string
	Before, After    []byte
	Created, Deleted bool
	// Mode is the permissions of a file that was created or deleted.
	Mode fs.FileMode
}

// Mark is the state of the files before a command.
type Mark struct {
	w     *Workspace
	files map[string]mark
}

// Why an effect is not among what has landed.
var (
	errUnsaved  = errors.New("is open in the editor with unsaved text")
	errKept     = errors.New("is open in the editor, which still has its text")
	errTwice    = errors.New("was changed by others while the command ran")
	errNotText  = errors.New("is no text")
	errBySaving = errors.New("was saved in the editor")
)

// saving is how long an editor may take to save documents before a command.
const saving = 10 * time.Second

// SaveForCommand saves the open documents that the agent changed and the user had not made dirty before, so that a
// command sees them; it gives a warning for each whose disk stays older than its buffer.
func (w *Workspace) SaveForCommand(ctx context.Context) []filetime.Warning {
	ask := map[string]*file{} // by URI
	stale := map[*file]string{}
	w.commands.Add(1)
	for uri, f := range w.opened() {
		f.mu.Lock()
		saves := f.dirty() && f.touched() && w.o.Features.Save
		switch {
		case saves && w.overwrites(f):
			stale[f] = ". Another program has saved the file meanwhile, so the editor was not asked to save over that"
		case saves:
			ask[uri] = f
		case f.dirty() && f.edited():
			stale[f] = ""
		}
		f.mu.Unlock()
	}
	if len(ask) > 0 {
		ctx, cancel := context.WithTimeout(ctx, saving)
		defer cancel()
		failed, err := w.o.Editor.Save(ctx, slices.Sorted(maps.Keys(ask)))
		for uri, f := range ask {
			switch why, bad := failed[uri]; {
			case err != nil:
				stale[f] = ". The editor did not save it: " + err.Error()
			case bad:
				stale[f] = ". The editor did not save it: " + why
			default:
				w.savedForCommand(f)
			}
		}
	}
	var out []filetime.Warning
	for f, why := range stale {
		out = append(out, filetime.Warning{
			Path: f.path,
			Says: "on disk is older than the editor's buffer: the command sees the text that was last saved" +
				strings.TrimSuffix(show.Visible(why, false), ".") + ".",
		})
	}
	slices.SortFunc(out, func(a, b filetime.Warning) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// savedForCommand takes in that a document was saved, for didSave may come after the reply.
func (w *Workspace) savedForCommand(f *file) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() || !f.dirty() {
		return
	}
	if d, err := w.stored().Compare(f.path); err == nil && d.Exists && text.EqualLines(d.Text, f.Text()) {
		f.disk.exists = true
		f.disk.Stat, f.disk.last = d.Stat, d.Text.Hash()
		f.MarkSaved()
	}
}

// Mark notes the state of the files that are known.
func (w *Workspace) Mark() *Mark {
	w.mu.Lock()
	files := make([]*file, 0, len(w.files))
	for _, f := range w.files {
		files = append(files, f)
	}
	w.mu.Unlock()
	m := &Mark{w: w, files: make(map[string]mark, len(files))}
	for _, f := range files {
		f.mu.Lock()
		if f.Loaded() {
			m.files[f.path] = mark{f.pinnedSnapshot().Rev, f.Text(), f.open(), f.dirty(), f.Saves()}
		}
		f.mu.Unlock()
	}
	return m
}

// Landing is what became of the effects of a command.
type Landing struct {
	// Change is the command's, with the files that have landed.
	Change filetime.Change
	Landed filetime.Landed
	// Awaited are open documents: their change lands once the editor has read the file.
	Awaited []string
	// Left are those that did not land, and why.
	Left map[string]error
}

// Land takes effects of a command in, as the changes of c, which has no files yet. late is told of each Awaited change that lands, on a
// goroutine of its own. What a person has saved meanwhile is no effect.
func (m *Mark) Land(c filetime.Change, effects []Effect, late func(filetime.Change, filetime.Landed)) Landing {
	out := Landing{Change: c, Left: map[string]error{}}
	for _, e := range effects {
		l, err := m.w.landEffect(c, e, m.files[e.Path], late)
		switch {
		case errors.Is(err, errBySaving):
		case err != nil:
			out.Left[e.Path] = err
		case l == nil:
			out.Awaited = append(out.Awaited, e.Path)
		default:
			out.Change.Files = append(out.Change.Files, filetime.FileEdit{Path: e.Path, Create: e.Created, Delete: e.Deleted})
			out.Landed.Files = append(out.Landed.Files, *l)
		}
	}
	return out
}

// landEffect takes one effect in; nil without an error is one that is expected.
func (w *Workspace) landEffect(c filetime.Change, e Effect, was mark, late func(filetime.Change, filetime.Landed)) (*filetime.LandedFile, error) {
	before, err := textOf(e.Path, e.Before, !e.Created)
	if err != nil {
		return nil, err
	}
	after, err := textOf(e.Path, e.After, !e.Deleted)
	if err != nil {
		return nil, err
	}
	f := w.file(e.Path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open() {
		return w.landOpen(f, expected{was, after, c, late}, e)
	}
	if was.open && was.dirty || f.Saves() != was.saves {
		return nil, errTwice
	}
	if was.rev == 0 {
		if slices.ContainsFunc(f.All(), func(r filetime.Revision) bool { return r.Author != filetime.Disk }) {
			return nil, errTwice
		}
		f.Begin(before, w.next())
		f.disk.exists = !e.Created
		was = mark{rev: f.Rev(), text: f.Text()}
	}
	if err := w.refresh(f); err != nil {
		return nil, err
	}
	if !f.Text().Equal(after) || f.disk.exists == e.Deleted {
		return nil, errTwice
	}
	revs, ok := f.Since(was.rev)
	if !ok || slices.ContainsFunc(revs, func(r filetime.Revision) bool { return r.Author != filetime.Disk }) {
		return nil, errTwice
	}
	if len(revs) == 0 && (!before.Equal(after) || !was.text.Equal(after)) {
		w.record(f, nil, filetime.Disk)
		revs = f.All()[len(f.All())-1:]
	}
	l := filetime.LandedFile{
		Path: f.path, Before: before, After: after, Set: text.Diff(before, after), Rev: f.Rev(), Created: e.Created, Deleted: e.Deleted, Mode: e.Mode,
		Applied: true, Source: "disk",
	}
	if n := len(revs); n > 0 {
		last := revs[n-1].Rev
		var made []filetime.Revision
		if !was.text.Equal(before) { // it was changed before the command, and nobody had looked
			made = append(made, filetime.Revision{Rev: last - 1, Set: text.Diff(was.text, before), Author: filetime.Disk})
		}
		f.Replace(revs[0].Rev, last, append(made, byCommand(c, last, l.Set))...)
	}
	return &l, nil
}

// textOf decodes what a file says; one that is not there says nothing.
func textOf(path string, raw []byte, there bool) (text.Text, error) {
	if !there {
		return text.Text{}, nil
	}
	d, err := stored.Decode(path, raw)
	if err != nil {
		return text.Text{}, errNotText
	}
	return d.Text, nil
}

// landOpen takes in the change of a file that is open. f.mu is held.
func (w *Workspace) landOpen(f *file, x expected, e Effect) (*filetime.LandedFile, error) {
	switch {
	case e.Deleted:
		return nil, errKept
	case f.Saves() != x.mark.saves && text.EqualLines(f.Text(), x.after):
		return nil, errBySaving
	case x.mark.dirty:
		return nil, errUnsaved
	case !x.mark.open || f.Saves() != x.mark.saves:
		return nil, errTwice
	}
	if l := f.reloaded(x); l != nil {
		return l, nil
	}
	if f.dirty() {
		return nil, errUnsaved
	}
	f.expected = &x
	return nil, nil
}
