package workspace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/filetime/text"
)

// errOpened says that a file was opened while its change was to go to the disk.
var errOpened = errors.New("the document was opened")

// errClosed says that a document was closed while its edit was to go to the editor.
var errClosed = errors.New("the document was closed")

// plan is an edit rebased to the present text: set is over before.
type plan struct {
	before, after text.Text
	version       *int32
	set           text.Set
	theirs        text.Set
	rebased       text.Rebased
}

func (p plan) landed(f *file, applied bool) filetime.LandedFile {
	l := filetime.LandedFile{
		Path: f.path, Before: p.before, After: p.after, Set: p.set, BeforeVersion: p.version,
		Rev: f.rev, Applied: applied, Source: "buffer", Rebased: p.theirs, Over: len(p.theirs), SameLine: p.rebased.SameLine,
	}
	return l
}

// already is the landing, on disk, of an edit that another author has made already.
func (p plan) already(f *file) filetime.LandedFile {
	l := p.landed(f, true)
	l.Source, l.Already = "disk", true
	return l
}

// prepare rebases e over all later changes of the file. f.mu is held.
func (w *Workspace) prepare(f *file, e filetime.FileEdit) (plan, error) {
	if e.Create && (f.exists || f.open) {
		return plan{}, f.fail(filetime.FileExists, "exists", "%s exists by now: another program or the user created it. Read it, then edit it.", f.path)
	}
	if f.open && (f.suspect || f.rivals > 0) {
		return plan{}, outOfStep(f)
	}
	if !e.Create && !f.exists && !f.open {
		return plan{}, fail(f.path, filetime.EditConflict, "deleted",
			"%s was deleted since it was read; nothing was written. Use write_file to create it again.", f.path)
	}
	theirs := e.Since
	revs, ok := f.since(e.Rev)
	switch {
	case e.Create:
		theirs = nil
	case !ok:
		theirs = text.Diff(e.Base, f.text)
	default:
		sets := make([]text.Set, 0, len(revs)+1)
		sets = append(sets, theirs)
		for _, r := range revs {
			sets = append(sets, r.Set)
		}
		theirs = text.ComposeAll(sets)
	}
	p := plan{before: f.text, theirs: text.Canonical(e.Base, theirs)}
	if n := len(p.theirs); e.Delete && n > 0 {
		start, end := p.theirs[0].Start, p.theirs[n-1].End
		return p, w.conflict(f, e, theirs, []text.Conflict{{Start: start, End: end, Base: e.Base.Slice(start, end)}}, revs)
	}
	if f.open {
		v := f.version
		p.version = &v
	}
	p.rebased = text.Rebase(e.Base, e.Edits, theirs)
	if len(p.rebased.Conflicts) == 0 && !text.SameSpans(e.Base, e.Edits, f.text, p.rebased.Set) {
		w.o.Log.Error("a rebased edit would delete other text than the original", "path", f.path)
		p.rebased.Conflicts = []text.Conflict{{Rule: "span"}}
	}
	if len(p.rebased.Conflicts) > 0 {
		return p, w.conflict(f, e, theirs, p.rebased.Conflicts, revs)
	}
	p.set = p.rebased.Set
	p.after = p.set.Apply(p.before)
	return p, nil
}

const outOfStepReason = "out_of_step"

// outOfStep refuses to edit a document whose text may differ from the editor's.
func outOfStep(f *file) error {
	if f.rivals > 0 {
		return fail(f.path, filetime.EditConflict, "opened_twice",
			"%s is open in the editor under two names. Ask the user to close one of them, then try again.", f.path)
	}
	return fail(f.path, filetime.EditConflict, outOfStepReason,
		"The text of %s in the editor is not known for certain. Ask the user to close and open it, then read it again.", f.path)
}

func (w *Workspace) conflict(f *file, e filetime.FileEdit, theirs text.Set, found []text.Conflict, revs []filetime.Revision) error {
	by := filetime.User
	if n := len(revs); n > 0 {
		by = revs[n-1].Author
	} else if !f.open {
		by = filetime.Disk
	}
	w.tell(f, "conflict", "user")
	e.Path = f.path
	return filetime.Collision(e, theirs, f.text, found, by)
}

// claim makes history entries i to j one revision by the agent. f.mu is held.
func (f *file) claim(i, j int, c filetime.Change) {
	one := revisionOf(c, f.history[j-1].Rev, together(f.history[i:j]))
	f.history = append(append(f.history[:i:i], one), f.history[j:]...)
}

// revisionOf is a change as an entry of a history.
func revisionOf(c filetime.Change, rev uint64, set text.Set) filetime.Revision {
	if c.ForUser {
		return filetime.Revision{Rev: rev, Set: set, Author: filetime.User}
	}
	return filetime.Revision{Rev: rev, Set: set, Author: filetime.Agent, Session: c.Session, Call: c.Call}
}

// job is one change that is landing: what of it is in the journal, and warnings for a person.
type job struct {
	w        *Workspace
	change   filetime.Change
	disk     *disk.Change
	buffers  map[string]bool // the paths that are in the journal
	warnings []string
}

func (w *Workspace) job(c filetime.Change) *job {
	in := disk.Intent{Session: c.Session, Call: c.Call, Turn: c.Turn, Tool: c.Tool}
	return &job{w: w, change: c, disk: w.disk.Change(in), buffers: map[string]bool{}}
}

// end writes the outcome to the journal; err is the last error.
func (j *job) end(err error) {
	var doubt *filetime.Error
	switch {
	case err == nil:
		j.disk.End(disk.Landed)
	case errors.As(err, &doubt) && doubt.Code == filetime.Unknown:
		j.disk.End(disk.Unknown)
	default:
		j.disk.End(disk.NotLanded)
	}
}

// buffer writes to the journal that a change goes to the editor, before it does.
func (j *job) buffer(f *file, e filetime.FileEdit) error {
	if j.w.o.Journal == nil || j.buffers[f.path] {
		return nil
	}
	f.mu.Lock()
	p := f.planned(e)
	p.Buffer = true
	f.mu.Unlock()
	return j.begin(p)
}

func (j *job) begin(files ...disk.Planned) error {
	if err := j.disk.Begin(files...); err != nil {
		return writeError(files[0].Path, err)
	}
	for _, p := range files {
		j.buffers[p.Path] = p.Buffer
	}
	return nil
}

// planned is the operation on a file for the journal, without the content after it. f.mu is held.
func (f *file) planned(e filetime.FileEdit) disk.Planned {
	p := disk.Planned{Op: disk.Edit, Path: f.path}
	switch {
	case e.Create:
		p.Op = disk.Create
	case e.Delete:
		p.Op = disk.Delete
	}
	if f.exists || f.open {
		p.Before = []byte(f.text.String())
		p.BeforeHash = disk.Hash(p.Before)
	}
	return p
}

// plan works out a change of several files, writes one intent for them, and refuses the change if one of them cannot be
// changed.
func (j *job) plan(ctx context.Context) error {
	var files []disk.Planned
	for _, e := range j.change.Files {
		f := j.w.file(e.Path)
		j.w.trusted(ctx, f)
		if e = j.w.instead(f, e); j.w.o.Journal == nil {
			if _, err := j.w.commitNowhere(f, e); err != nil {
				return err
			}
			continue
		}
		where, err := j.w.place(f, j.change.Apply, e)
		if err != nil {
			return err
		}
		p, err := j.w.foresee(f, e)
		if err != nil {
			return err
		}
		if p.Buffer = where == filetime.Editor || j.w.o.Features.Versionless && !e.Delete; where != filetime.None {
			files = append(files, p)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return j.begin(files...)
}

// foresee works out the operation on a file for the journal.
func (w *Workspace) foresee(f *file, e filetime.FileEdit) (disk.Planned, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		if err := w.refresh(f); err != nil {
			return disk.Planned{}, err
		}
	}
	worked, err := w.prepare(f, e)
	if err != nil {
		return disk.Planned{}, err
	}
	p := f.planned(e)
	if f.open {
		return p, nil
	}
	charset := f.disk.charset
	if f.exists {
		if p.Before, err = text.Encode(worked.before, charset); err != nil {
			return p, writeError(f.path, err)
		}
		p.BeforeHash = disk.Hash(p.Before)
	}
	if !e.Delete {
		after, err := text.Encode(worked.after, charset)
		if err != nil {
			return p, writeError(f.path, err)
		}
		p.AfterHash = disk.Hash(after)
	}
	return p, nil
}

// Commit implements filetime.Files. The caller holds the locks of the paths. If one of several files cannot be changed
// after others were, those are reverted, and the error is a *filetime.Incomplete.
func (w *Workspace) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	var out filetime.Landed
	j := w.job(c)
	if len(c.Files) > 1 {
		if err := j.plan(ctx); err != nil {
			j.end(err)
			return out, err
		}
	}
	for i, e := range c.Files {
		l, err := w.commitFile(ctx, e, j)
		if err == nil {
			if l.Stale != "" {
				j.warnings = append(j.warnings, l.Path+" "+l.Stale)
			}
			out.Files = append(out.Files, l)
			if l.Applied {
				w.noteWritten(l.Path, l.After)
			}
			continue
		}
		if i == 0 {
			j.end(err)
			return out, err
		}
		report := j.revert(ctx, out.Files, i, err)
		out.Files = slices.DeleteFunc(out.Files, func(l filetime.LandedFile) bool {
			return slices.ContainsFunc(report.Files, func(r filetime.FileReport) bool {
				return r.Path == l.Path && r.State == filetime.Reverted
			})
		})
		out.Warnings = j.warnings
		if len(out.Files) > 0 {
			j.disk.End(disk.Partly)
		} else {
			j.end(err)
		}
		return out, report
	}
	j.end(nil)
	out.Warnings = j.warnings
	return out, nil
}

// revert reverts what has landed, because file k of the change did not. Later changes by others stay; where they
// conflict, the file stays changed.
func (j *job) revert(ctx context.Context, landed []filetime.LandedFile, k int, err error) *filetime.Incomplete {
	report := &filetime.Incomplete{Err: err}
	for i, e := range j.change.Files {
		state := filetime.Untouched
		if i == k {
			state = filetime.Refused
		}
		report.Files = append(report.Files, filetime.FileReport{Path: e.Path, State: state})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget+grace)
	defer cancel()
	for i, l := range slices.Backward(landed) {
		if !l.Applied {
			continue
		}
		e := filetime.FileEdit{Path: l.Path, Base: l.After, Rev: l.Rev}
		switch was := j.change.Files[i]; {
		case was.Create:
			e.Delete = true
		case was.Delete:
			e.Create, e.Base, e.Edits = true, text.Text{}, text.Set{{New: l.Before.String()}}
		default:
			e.Edits = l.Set.Inverse(l.Before)
		}
		back := j.w.job(j.change)
		_, err := j.w.commitFile(ctx, e, back)
		back.end(err)
		report.Files[i].State, report.Files[i].Err = filetime.Reverted, err
		if err != nil {
			report.Files[i].State = filetime.Stays
		}
	}
	return report
}

func (w *Workspace) commitFile(ctx context.Context, e filetime.FileEdit, j *job) (filetime.LandedFile, error) {
	f := w.file(e.Path)
	for tries := 0; ; tries++ {
		w.trusted(ctx, f)
		e := w.instead(f, e)
		where, err := w.place(f, j.change.Apply, e)
		if err != nil {
			return filetime.LandedFile{}, err
		}
		var l filetime.LandedFile
		switch where {
		case filetime.None:
			l, err = w.commitNowhere(f, e)
		case filetime.Editor:
			if err = w.oneName(f, e); err == nil {
				err = j.buffer(f, e)
			}
			if err == nil {
				l, err = w.commitEditor(ctx, f, e, j.change)
			}
		default:
			l, err = w.putOnDisk(ctx, f, e, j)
		}
		var doubt *filetime.Error
		fell := errors.As(err, &doubt) && doubt.Reason == outOfStepReason && w.o.Features.Resync && tries < 2
		if fell || errors.Is(err, errOpened) || errors.Is(err, errClosed) {
			continue // it fell out of step, or goes to the other sink now
		}
		return l, err
	}
}

// instead turns the deletion of an open file into emptying it, if the editor cannot delete files.
func (w *Workspace) instead(f *file, e filetime.FileEdit) filetime.FileEdit {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Delete && f.open && w.o.Features.Apply && !w.o.Features.Delete {
		e.Delete, e.Edits = false, text.Set{{Start: 0, End: e.Base.Len()}}
	}
	return e
}

// place chooses the sink of a change of f: the editor, the disk or none.
func (w *Workspace) place(f *file, want filetime.Apply, e filetime.FileEdit) (filetime.Apply, error) {
	if err := w.openElsewhere(f.path); err != nil {
		return "", err
	}
	w.mu.Lock()
	def, closed := w.o.Apply, w.o.Closed
	w.mu.Unlock()
	if want == "" {
		want = def
	}
	if want == filetime.None {
		return filetime.None, nil
	}
	can := w.o.Features.Apply
	f.mu.Lock()
	open, dirty := f.open, f.dirty
	f.mu.Unlock()
	switch {
	case want == filetime.Editor && !can:
		return "", fail(f.path, filetime.WriteError, "no_editor", "The editor cannot apply edits (workspace/applyEdit is not served).")
	case open && can:
		return filetime.Editor, nil
	case open && w.o.Features.Plain:
		return "", fail(f.path, filetime.Unsupported, "no_apply_edit", "%s is open in an editor that cannot apply edits "+
			"(it does not serve workspace/applyEdit), so it was not changed: the editor would not notice a change on disk. "+
			"Ask the user to close it, or to make the change.", f.path)
	case open && dirty:
		return "", unsaved(f.path)
	case open, !can, want == filetime.OnDisk, e.Create && (!w.o.Features.Create || ownMode(e)), e.Delete && !w.o.Features.Delete:
		return filetime.OnDisk, nil
	case want == filetime.Editor, closed == filetime.Editor, (closed == filetime.Auto || closed == "") && w.o.Features.Save:
		return filetime.Editor, nil
	}
	return filetime.OnDisk, nil
}

// ownMode says that a file is made with permissions that an editor would not give it.
func ownMode(e filetime.FileEdit) bool { return e.Mode != 0 && e.Mode.Perm() != 0o644 }

// InPlace says that a change of the file at a canonical path would go to the editor now, which saves in place.
func (w *Workspace) InPlace(path string) bool {
	where, err := w.place(w.file(path), "", filetime.FileEdit{})
	return err == nil && (where == filetime.Editor || w.o.Features.Versionless)
}

// oneName refuses an edit that was judged for one name of a file, if the editor would write into further ones.
func (w *Workspace) oneName(f *file, e filetime.FileEdit) error {
	if !e.OneName {
		return nil
	}
	info, err := bounded(f.path, hung, func() (fs.FileInfo, error) { return w.statDisk(f.path) })
	if err != nil || statOf(info, time.Time{}).links < 2 {
		return nil
	}
	refused := fail(f.path, filetime.EditConflict, "linked", "%s has further names (hard links), and the editor would write into all of "+
		"them; permission was given for one. Nothing was written. Send the same call again.", f.path)
	refused.Person = "The editor would change further names (hard links) of this file too. It was not changed."
	return refused
}

// commitNowhere works the edit out for a host that applies it itself.
func (w *Workspace) commitNowhere(f *file, e filetime.FileEdit) (filetime.LandedFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		if err := w.refresh(f); err != nil {
			return filetime.LandedFile{}, err
		}
	}
	p, err := w.prepare(f, e)
	l := p.landed(f, false)
	l.Created = e.Create
	if err == nil && len(p.set) == 0 && !e.Create && !e.Delete {
		l.Applied, l.Already = true, true
	}
	return l, err
}
