// Package review keeps what a session's tool calls changed, shows it as hunks that follow the user's later typing, and
// takes it back. Undo is an edit like any other: the inverse of what landed, rebased over everything since.
package review

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// Log is what one session has changed. All methods may be called concurrently.
type Log struct {
	files filetime.Files

	mu   sync.Mutex
	ops  []*op
	last int
}

// op is one file's part of one tool call.
type op struct {
	filetime.LandedFile
	turn   int
	call   string
	tool   string
	hunks  []*hunk
	undone bool

	at    uint64   // the revision that the op was followed to, 0 for its own
	set   text.Set // from After to there
	taken bool     // somebody took it back in the editor
	redo  text.Set // what would put it in again then
}

// hunk is one run of changed lines: before and after are line ranges as bytes of Before and After.
type hunk struct {
	id            string
	before, after [2]int
}

// File is what a session changed in one file.
type File struct {
	Path, Status string
	// Old is the text before the session's first change that still stands, New the present one.
	Diff  show.File
	Hunks []Hunk
	Now   text.Text
}

// Hunk is one run of changed lines of one tool call. Start and End are where it stands now, as byte offsets of Now.
type Hunk struct {
	ID, Old, New, Status string
	Turn                 int
	Call                 string
	Now                  text.Text
	Start, End           int
}

// Scope says what to undo: exactly one of Turn, Call, Path and All is set.
type Scope struct {
	Turn *int
	Call string
	Path string
	All  bool
}

// Undone says how an undo went: the paths it changed, and those where others' text stood in the way.
type Undone struct {
	Changed   []string
	Conflicts map[string]string
}

// New makes the Log of a session.
func New(files filetime.Files) *Log { return &Log{files: files} }

// Landed records a change.
func (l *Log) Landed(c filetime.Change, landed filetime.Landed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range landed.Files {
		if !f.Applied || len(f.Set) == 0 && !f.Created {
			continue
		}
		o := &op{LandedFile: f, turn: c.Turn, call: c.Call, tool: c.Tool}
		for _, h := range lineRuns(f.Before, f.After, f.Set) {
			l.last++
			o.hunks = append(o.hunks, &hunk{id: fmt.Sprintf("h%d", l.last), before: h[0], after: h[1]})
		}
		l.ops = append(l.ops, o)
	}
}

// lineRuns widens the edits of a set to whole lines and joins those that meet: ranges in before and in after.
func lineRuns(before, after text.Text, set text.Set) [][2][2]int {
	var out [][2][2]int
	shift := 0
	for _, e := range set {
		from, to := e.Start, e.End
		nfrom, nto := e.Start+shift, e.Start+shift+len(e.New)
		shift += len(e.New) - (e.End - e.Start)
		lines := func(t text.Text, from, to int) [2]int {
			first, last := t.Line(from), t.Line(to)
			end := t.LineStart(last + 1)
			if last+1 >= t.LineCount() {
				end = t.Len()
			}
			if to > from && to == t.LineStart(last) || to == from && from == t.LineStart(first) && wholeLines(e.New) {
				end = max(to, t.LineStart(first))
			}
			return [2]int{t.LineStart(first), end}
		}
		b, a := lines(before, from, to), lines(after, nfrom, nto)
		if n := len(out); n > 0 && (b[0] < out[n-1][0][1] || a[0] < out[n-1][1][1]) {
			out[n-1][0][1] = max(out[n-1][0][1], b[1])
			out[n-1][1][1] = max(out[n-1][1][1], a[1])
			continue
		}
		out = append(out, [2][2]int{b, a})
	}
	return out
}

func wholeLines(s string) bool { return s == "" || s[len(s)-1] == '\n' || s[len(s)-1] == '\r' }

// stands says that something of an op is still there: neither an undo nor the editor's own, which reaches us as typing, has
// taken it back.
func (l *Log) stands(o *op) bool {
	if o.undone {
		return false
	}
	if len(o.Set) == 0 {
		return true
	}
	set, _ := l.since(o)
	if o.taken {
		return false
	}
	r := text.Rebase(o.After, without(o.After, o.Set.Inverse(o.Before), set), set)
	return len(r.Conflicts) > 0 || len(r.Set) > 0
}

// since is what happened to a file after an op, as one set over its After, and the present snapshot.
func (l *Log) since(o *op) (text.Set, filetime.Snapshot) {
	if o.at == 0 {
		o.at = o.Rev
	}
	revs, now, ok := l.files.History(o.Path, o.at)
	if !ok {
		o.at, o.set, o.taken, o.redo = now.Rev, text.Diff(o.After, now.Text), false, nil
		return o.set, now
	}
	if len(revs) > 0 {
		o.follow(revs)
	}
	return o.set, now
}

// follow carries an op over what happened since it was last looked at, and notices where somebody took just it back, or
// again put it in: the editor's own undo and redo, which reach us as typing.
func (o *op) follow(revs []filetime.Revision) {
	inverse := o.Set.Inverse(o.Before)
	at := o.set.Apply(o.After)
	for _, r := range revs {
		switch {
		case r.Author == filetime.Agent:
		case !o.taken && alike(r.Set, inverse):
			back := text.Rebase(o.After, inverse, o.set)
			if len(back.Conflicts) == 0 && slices.Equal(text.Canonical(at, back.Set), text.Canonical(at, r.Set)) {
				next := r.Set.Apply(at)
				o.taken, o.redo = true, r.Set.Inverse(at)
				o.set, o.at, at = text.Compose(o.set, r.Set), r.Rev, next
				continue
			}
		case o.taken && alike(r.Set, o.redo) && slices.Equal(text.Canonical(at, o.redo), text.Canonical(at, r.Set)):
			o.taken = false
		}
		if o.taken {
			o.redo = text.Rebase(at, o.redo, r.Set).Set
		}
		o.set, o.at, at = text.Compose(o.set, r.Set), r.Rev, r.Set.Apply(at)
	}
}

// alike says that two sets may do the same: they put in as much more than they take out.
func alike(a, b text.Set) bool {
	grown := func(s text.Set) (n int) {
		for _, e := range s {
			n += len(e.New) - (e.End - e.Start)
		}
		return n
	}
	return len(a) > 0 && len(b) > 0 && grown(a) == grown(b)
}

// List shows what stands, the files sorted by path; path "" means all. name is how diffs call a file.
func (l *Log) List(path string, name func(path string) string) []File {
	return l.list(path, name, show.Options{}, nil)
}

// Diff shows one file, or only some hunks of it where ids are given. full lifts the limit on the size of a diff. ok is
// false where nothing of it stands.
func (l *Log) Diff(path string, name func(path string) string, full bool, ids []string) (f File, ok bool) {
	o := show.Options{}
	if full {
		o.MaxBytes = math.MaxInt
	}
	var pick func(*hunk) bool
	if len(ids) > 0 {
		pick = func(h *hunk) bool { return slices.Contains(ids, h.id) }
	}
	list := l.list(path, name, o, pick)
	if len(list) == 0 || len(list[0].Hunks) == 0 {
		return File{}, false
	}
	return list[0], true
}

func (l *Log) list(path string, name func(path string) string, so show.Options, pick func(*hunk) bool) []File {
	l.mu.Lock()
	defer l.mu.Unlock()
	byPath := map[string][]*op{}
	for _, o := range l.ops {
		if (path == "" || o.Path == path) && l.stands(o) {
			byPath[o.Path] = append(byPath[o.Path], o)
		}
	}
	var out []File
	for p, ops := range byPath {
		out = append(out, l.file(p, ops, name(p), so, pick))
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// file shows the ops of one file. Its diff is between the text without the agent's standing changes and the present one,
// so that what the user typed is on both sides.
func (l *Log) file(path string, ops []*op, name string, so show.Options, pick func(*hunk) bool) File {
	_, now := l.since(ops[len(ops)-1])
	f := File{Path: path, Status: "modified", Now: now.Text}
	without, _ := l.inverse(ops, now, pick)
	if so.Created = ops[0].Created; so.Created {
		f.Status = "added"
	}
	f.Diff = show.Diff(name, without.Apply(now.Text), now.Text, so)
	for _, o := range ops {
		set, now := l.since(o)
		for _, h := range o.hunks {
			if pick != nil && !pick(h) {
				continue
			}
			start, end := set.MapPos(h.after[0], true), set.MapPos(h.after[1], false)
			f.Hunks = append(f.Hunks, Hunk{
				ID: h.id, Old: o.Before.Slice(h.before[0], h.before[1]), New: o.After.Slice(h.after[0], h.after[1]),
				Status: "pending", Turn: o.turn, Call: o.call, Now: now.Text, Start: start, End: max(start, end),
			})
		}
	}
	return f
}

// without is ours less what theirs does too, in whatever place of a run of equal lines it is told of: an editor's own undo.
func without(base text.Text, ours, theirs text.Set) text.Set {
	if len(theirs) == 0 {
		return ours
	}
	done := text.Canonical(base, theirs)
	return slices.DeleteFunc(slices.Clone(ours), func(e text.Edit) bool {
		one := text.Canonical(base, text.Set{e})
		return len(one) == 1 && slices.Contains(done, one[0])
	})
}

// inverse is what takes the picked hunks of an op back, over its After; nil picks all.
func (o *op) inverse(pick func(*hunk) bool) text.Set {
	all := o.Set.Inverse(o.Before)
	if pick == nil {
		return all
	}
	var out text.Set
	for _, e := range all {
		for _, h := range o.hunks {
			if e.Start >= h.after[0] && e.End <= h.after[1] {
				if pick(h) {
					out = append(out, e)
				}
				break
			}
		}
	}
	return out
}

// inverse is what takes the ops of one file back, over its present text, newest first. An op that others' text stands in
// the way of is left out and listed.
func (l *Log) inverse(ops []*op, now filetime.Snapshot, pick func(*hunk) bool) (text.Set, []*op) {
	var acc text.Set
	var blocked []*op
	for _, o := range slices.Backward(ops) {
		set, at := l.since(o)
		if at.Rev != now.Rev { // somebody typed while we looked: carry acc along
			acc = text.Rebase(now.Text, acc, text.Diff(now.Text, at.Text)).Set
			now = at
		}
		theirs := text.Compose(set, acc)
		r := text.Rebase(o.After, without(o.After, o.inverse(pick), theirs), theirs)
		if len(r.Conflicts) > 0 {
			blocked = append(blocked, o)
			continue
		}
		acc = text.Compose(acc, r.Set)
	}
	return acc, blocked
}

// Undo takes the changes of a scope back, in one edit a file. What the user typed since stays; where it meets a change,
// that change stays too and is reported.
func (l *Log) Undo(ctx context.Context, s Scope, session string) Undone {
	l.mu.Lock()
	byPath := map[string][]*op{}
	for _, o := range l.ops {
		in := s.All || s.Turn != nil && o.turn == *s.Turn || s.Call != "" && o.call == s.Call || s.Path != "" && o.Path == s.Path
		if in && l.stands(o) {
			byPath[o.Path] = append(byPath[o.Path], o)
		}
	}
	l.mu.Unlock()
	out := Undone{Conflicts: map[string]string{}}
	paths := make([]string, 0, len(byPath))
	for p := range byPath {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		changed, err := l.undoFile(ctx, p, byPath[p], session)
		if changed {
			out.Changed = append(out.Changed, p)
		}
		if err != nil {
			out.Conflicts[p] = err.Error()
		}
	}
	return out
}

// LastTurn is the newest turn that changed something that still stands, 0 for none.
func (l *Log) LastTurn() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range slices.Backward(l.ops) {
		if l.stands(o) {
			return o.turn
		}
	}
	return 0
}

func (l *Log) undoFile(ctx context.Context, path string, ops []*op, session string) (bool, error) {
	unlock, err := l.files.Lock(ctx, path)
	if err != nil {
		return false, err
	}
	defer unlock()
	now, err := l.files.Read(ctx, path)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	set, blocked := l.inverse(ops, now, nil)
	l.mu.Unlock()
	e := filetime.FileEdit{Path: path, Base: now.Text, Edits: set, Rev: now.Rev}
	if ops[0].Created && len(blocked) == 0 && set.Apply(now.Text).Len() == 0 {
		e.Edits, e.Delete = nil, true
	}
	if len(e.Edits) > 0 || e.Delete {
		c := filetime.Change{
			Session: session, Call: "undo", Tool: "undo", Label: "Undo agent changes", Turn: ops[0].turn, ForUser: true,
			Files: []filetime.FileEdit{e},
		}
		if _, err := l.files.Commit(ctx, c); err != nil {
			return false, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range ops {
		o.undone = !slices.Contains(blocked, o)
	}
	if len(blocked) > 0 {
		return len(blocked) < len(ops), fmt.Errorf("%d of %d changes stay: their text was changed since", len(blocked), len(ops))
	}
	return true, nil
}
