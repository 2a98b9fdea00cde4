// Package overlay keeps the plan queue of a session: edits that wait for a person's approval, over
// the files that they are for. Files shows the base with the waiting edits rebased on it, so a
// session that plans reads what it has planned, and nothing of it is in the base before Approve.
//
// A file without a plan is the base's. One that has had a plan is projected, for as long as the
// overlay lives: its text is the base's with the waiting edits on top, and it has revisions of its
// own, which begin at the base's revision of that moment. A waiting edit is kept as it was made:
// over the text that was seen (base, edits), with all that happened below it since (since). So it
// is rebased in one step each time, as Commit of the base does when the edit lands.
package overlay

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text"
)

// State is where a plan is on its way.
type State string

// The states. A plan that is Done or Discarded is in the queue no more.
const (
	Queued    State = "queued"
	Approved  State = "approved" // its change is on its way
	Stale     State = "stale"    // it does not fit the present text and can only be discarded
	Done      State = "done"
	Discarded State = "discarded"
)

// Reason is why a plan is stale, or cannot be approved by itself.
type Reason string

// The reasons: somebody changed the text that the plan changes, or it changes what a plan before it
// has made.
const (
	ByText    Reason = "text"
	ByDepends Reason = "depends"
)

// Plan is a change that waits for a person.
type Plan struct {
	ID    string
	State State
	// Reason, Path and Now are of a Stale one: why, the file that it does not fit any more and what
	// that file says.
	Reason Reason
	Path   string
	Now    text.Text
	// Change is what Restore takes: in each file, Edits over Base.
	Change filetime.Change
	// Files are what the plan does as things stand, after all plans before it.
	Files []File
	// Needs are the plans without which it cannot be approved.
	Needs []string
}

// File is one file of a plan: Set is over Before and leads to After.
type File struct {
	Path          string
	Before, After text.Text
	Set           text.Set
	Created       bool
	// Hunks are the parts that can be approved alone, in the order of Set.
	Hunks []Hunk
}

// Hunk is a part of a plan in whole lines: from Line of Before on, 1-based, Old becomes New.
type Hunk struct {
	Line     int
	Old, New string
}

// UnknownError is the error for a plan or a hunk that there is not.
type UnknownError struct{ What string }

func (e *UnknownError) Error() string { return "there is no " + e.What }

// Files is the base with the waiting edits. All methods may be called concurrently.
type Files struct {
	base    filetime.Files
	changed func([]Plan)
	turn    chan struct{} // approvals go one by one

	mu     sync.Mutex
	files  map[string]*file // the projected ones
	plans  []*plan          // in the order in which they were queued
	number int
	news   []Plan
	drops  []*plan // stale ones with entries left in other files
}

var _ filetime.Files = (*Files)(nil)

type plan struct {
	id     string
	state  State
	reason Reason
	path   string
	now    text.Text
	change filetime.Change // without Files
	count  int             // of its entries
	tried  bool            // it was approved: its change may land late, also after an error
}

// entry is the edit of one file by a plan.
type entry struct {
	plan    *plan
	create  bool
	mode    fs.FileMode
	oneName bool
	base    text.Text
	edits   text.Set // over base
	since   text.Set // from base to before
	by      filetime.Authors
	before  text.Text // what is below it now
	set     text.Set  // edits over before
	after   text.Text
}

// file is a projected file.
type file struct {
	path    string
	base    filetime.Snapshot // as of the last sync
	entries []*entry          // in the order of the queue
	now     text.Text         // the base with the entries
	start   uint64            // up to here revisions are the base's
	rev     uint64
	oldest  uint64 // history reaches back to here; 0 is as far as the base's
	history []filetime.Revision
	past    filetime.Past
	landed  map[uint64]landing // by the base's revision
}

// landing is a change by a session's call, as it looks in the projection.
type landing struct {
	rev           uint64
	before, after text.Text
	set           text.Set
}

// maxHistory is how many revisions of a projected file are kept.
const maxHistory = 4096

// New makes an overlay without plans. changed, which may be nil, is called with plans that have
// changed their state, without a lock of the overlay; it may be called concurrently.
func New(base filetime.Files, changed func([]Plan)) *Files {
	return &Files{base: base, changed: changed, turn: make(chan struct{}, 1), files: map[string]*file{}}
}

// unlock releases o.mu and tells of the plans that have changed.
func (o *Files) unlock() {
	news := o.news
	o.news = nil
	o.mu.Unlock()
	if len(news) > 0 && o.changed != nil {
		o.changed(news)
	}
}

// Read implements filetime.Files: the base's text with the waiting edits.
func (o *Files) Read(ctx context.Context, path string) (filetime.Snapshot, error) {
	s, err := o.base.Read(ctx, path)
	if err != nil {
		return s, err
	}
	o.mu.Lock()
	defer o.unlock()
	f := o.files[s.Path]
	if f == nil {
		return s, nil
	}
	o.sync(f)
	return f.snapshot(s.Cached), nil
}

func (f *file) snapshot(cached bool) filetime.Snapshot {
	s := f.base
	s.Text, s.Rev, s.Exists, s.Cached = f.now, f.rev, f.exists(), cached
	s.Planned = len(f.entries) > 0
	s.Dirty = s.Dirty || s.Planned
	return s
}

func (f *file) exists() bool { return f.base.Exists || len(f.entries) > 0 }

// History implements filetime.Files: the base's changes as they look in the projection, by their
// authors, and what was queued and discarded. It tells nobody of plans that became stale, since it
// may be called with locks held; the next call of another method does.
func (o *Files) History(path string, rev uint64) ([]filetime.Revision, filetime.Snapshot, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.files[path]
	if f == nil {
		return o.base.History(path, rev)
	}
	o.sync(f)
	revs, ok := o.since(f, rev)
	return revs, f.snapshot(false), ok
}

// since gives the revisions of a projected file after rev.
func (o *Files) since(f *file, rev uint64) ([]filetime.Revision, bool) {
	if rev < f.oldest {
		return nil, false
	}
	var revs []filetime.Revision
	if rev < f.start {
		all, _, ok := o.base.History(f.path, rev)
		if !ok {
			return nil, false
		}
		for _, r := range all {
			if r.Rev <= f.start {
				revs = append(revs, r)
			}
		}
	}
	i, _ := slices.BinarySearchFunc(f.history, rev+1, func(r filetime.Revision, rev uint64) int { return cmp.Compare(r.Rev, rev) })
	return append(revs, f.history[i:]...), true
}

// Lock implements filetime.Files.
func (o *Files) Lock(ctx context.Context, paths ...string) (func(), error) {
	return o.base.Lock(ctx, paths...)
}

// Commit implements filetime.Files. A change that is to be planned is queued; any other one goes to
// the base, rebased over the inverse of the waiting edits, since they are not there.
func (o *Files) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	if c.Apply == filetime.Planned {
		return o.queue(ctx, c)
	}
	o.mu.Lock()
	below, err := o.lower(c)
	o.unlock()
	if err != nil {
		return filetime.Landed{}, err
	}
	landed, err := o.base.Commit(ctx, below)
	if c.Apply == filetime.None {
		return landed, err
	}
	o.mu.Lock()
	defer o.unlock()
	if err == nil {
		for _, e := range c.Files {
			o.moved(e)
		}
	}
	for _, e := range c.Files {
		for _, path := range []string{e.Path, e.To} {
			if f := o.files[path]; f != nil {
				o.sync(f)
			}
		}
	}
	return landed, err
}

// Project gives what landed in a file as the session sees it, where that differs: with the waiting
// edits around it, and with the revision of the projection.
func (o *Files) Project(l filetime.LandedFile) filetime.LandedFile {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.files[l.Path]
	if f == nil || !l.Applied || l.Entry != filetime.File || l.Source == sourcePlan {
		return l
	}
	if at, ok := f.landed[l.Rev]; ok {
		l.Rev, l.Before, l.After, l.Set = at.rev, at.before, at.after, at.set
	} else {
		l.Rev, l.Before, l.After, l.Set = f.rev, f.now, f.now, nil
	}
	return l
}

// sourcePlan is the LandedFile.Source of what waits.
const sourcePlan = "plan"

// lower makes a change of the projection one of the base.
func (o *Files) lower(c filetime.Change) (filetime.Change, error) {
	c.Files = slices.Clone(c.Files)
	for i, e := range c.Files {
		if e.Entry != filetime.File || e.To != "" || e.Delete {
			if p := o.waitsIn(e.Path, e.To); p != nil {
				return c, depends(e.Path, p.id)
			}
		}
		f := o.files[e.Path]
		if f == nil || e.Entry != filetime.File {
			continue
		}
		o.sync(f)
		if len(f.entries) > 0 && e.Create && !f.base.Exists {
			return c, depends(e.Path, f.entries[0].plan.id)
		}
		if e.Create {
			continue
		}
		since, by, last := o.until(f, e)
		e.By, e.Rev = by, f.base.Rev
		e.Since = since
		if r := text.Rebase(e.Base, e.Edits, since); len(f.entries) > 0 && len(r.Conflicts) == 0 {
			e.Since = text.Compose(since, f.back(len(f.entries)))
			if !f.base.Exists || !f.commutes(len(f.entries), e, r.Set.Apply(f.now)) {
				return c, depends(e.Path, f.entries[0].plan.id)
			}
		} else if len(f.entries) > 0 {
			return c, filetime.Collision(e, since, f.now, r.Conflicts, last)
		}
		c.Files[i] = e
	}
	return c, nil
}

// depends is the refusal of a change that needs plans which wait.
func depends(path string, plans ...string) error {
	return &filetime.Error{
		Code: filetime.EditConflict, Reason: string(ByDepends), Path: path,
		Message: fmt.Sprintf("%s: what is to be changed belongs to a change that waits for the user's approval (%s). Nothing was done. "+
			"Wait until the user has approved or discarded it.", path, strings.Join(plans, ", ")),
		Person: "This change needs another one that has not been approved yet.",
	}
}

// waitsIn gives a plan with an edit at one of the paths, or below them.
func (o *Files) waitsIn(paths ...string) *plan {
	for _, f := range o.files {
		for _, path := range paths {
			rest, ok := strings.CutPrefix(f.path, path)
			if path != "" && ok && (rest == "" || rest[0] == filepath.Separator) && len(f.entries) > 0 {
				return f.entries[0].plan
			}
		}
	}
	return nil
}

// moved gives what is projected the path that it was moved to.
func (o *Files) moved(e filetime.FileEdit) {
	if e.To == "" {
		return
	}
	for path, f := range o.files {
		if rest, ok := strings.CutPrefix(path, e.Path); ok && (rest == "" || rest[0] == filepath.Separator) {
			delete(o.files, path)
			f.path = e.To + rest
			o.files[f.path] = f
		}
	}
}

// until is what others did from the base of an edit to the projection as it is, and who did it.
func (o *Files) until(f *file, e filetime.FileEdit) (since text.Set, by filetime.Authors, last filetime.Author) {
	revs, ok := o.since(f, e.Rev)
	if !ok {
		return text.Diff(e.Base, f.now), e.By.Unknown(), filetime.User
	}
	sets, by := []text.Set{e.Since}, e.By
	for _, r := range revs {
		sets, by, last = append(sets, r.Set), by.Plus(r.Author), r.Author
	}
	return text.ComposeAll(sets), by, last
}

// back leads from the text below entry n to the base's.
func (f *file) back(n int) text.Set {
	var sets []text.Set
	for _, e := range slices.Backward(f.entries[:n]) {
		sets = append(sets, e.set.Inverse(e.before))
	}
	return text.ComposeAll(sets)
}
