// Package review keeps what a session's tool calls changed, shows it as hunks that follow the
// user's later typing, and takes hunks back or accepts them. What stands is read off the text
// alone: an undo is an edit like any other, whoever makes it, and is known by the revision that it
// restores.
package review

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// Log is what one session has changed. All methods may be called concurrently.
type Log struct {
	files   filetime.Files
	session string
	keep    func(Decision)

	mu          sync.Mutex
	tracks      map[string]*track // by present path
	hidden      []*track          // of deleted files at whose paths there are moved ones now, the newest last
	ids         map[string]*hunk
	keys        map[string]*hunk
	order       int // counts the operations
	reverts     int // counts what was taken back
	lostChanges []lostChange
}

// track is one file's changes.
type track struct {
	path  string
	entry filetime.Entry // other than a file, it has nothing but moves
	ops   []*op
	edits []*hunk // the hunk that each edit belongs to, by number from 1
	// settled has everything up to the last change of ours, latest more. What is newer than settled
	// may yet turn out to be an edit that is on its way.
	settled, latest *weave
	revertRecords   map[uint64]revertRecord  // the revisions of our own that take edits back, or bring them again
	plannedReverts  map[string]plannedRevert // by call of the session
	left            string                   // see Decision.Left
}

// revertRecord are edits that were taken back, or brought again.
type revertRecord struct {
	edits map[int]bool
	again bool
}

// op is one file's part of one tool call.
type op struct {
	rev     uint64
	n       int // operations count over all files
	turn    int
	call    string
	created bool
	deleted bool
	origin  string // where the file was before the operation moved it to dest; "" where it did not
	dest    string
	mode    fs.FileMode // of a file that was created or deleted
	command bool        // a command's
	before  text.Text   // with after: empty once the revision is settled, since no weave follows it again
	after   text.Text
	set     text.Set // leads from before to after, see add
	first   int      // the number of the set's first edit
	hunks   []*hunk
}

// hunk is one run of changed lines.
type hunk struct {
	id             string
	key            string // names it in every process alike
	op             *op
	track          *track
	old, new       string // whole lines
	edits          []int
	endsMidLine    bool // the last line goes on behind the last edit
	move           bool // it has no edits, and is that the file was moved
	gone           bool // of a hunk without edits: the empty file was deleted, or the file moved back
	accepted       bool
	acceptedByUser bool   // a person has accepted it after it was made
	conflict       bool   // somebody wanted to reject it and could not
	newsDigest     string // what the model was told of it, see digest
	revertedAt     int    // the count at which we last took it back, 0 for never
}

// File is what a session changed in one file.
type File struct {
	Path, Status string
	Entry        filetime.Entry
	// Origin is where a renamed file was, "" for any other.
	Origin string
	// Diff is between the text without the session's changes that still stand, and the present one.
	Diff  show.File
	Hunks []Hunk
	Now   text.Text
}

// Hunk is one run of changed lines of one tool call. Start and End are where it stands now, as byte
// offsets of Now.
type Hunk struct {
	ID, Old, New, Status string
	Turn                 int
	Call                 string
	Now                  text.Text
	Start, End           int
	// Amended says that somebody has changed what the agent wrote there.
	Amended bool
}

// Scope says what to undo: exactly one of Turn, Call, Path and All is set.
type Scope struct {
	Turn  *int
	Since *int // a turn: it and all later ones
	Call  string
	Path  string
	All   bool
}

// has reports that a change of a path by a call is within the scope.
func (s Scope) has(path, call string, turn int) bool {
	return s.All || s.Path != "" && s.Path == path || s.Turn != nil && turn == *s.Turn || s.Since != nil && turn >= *s.Since || s.Call != "" && s.Call == call
}

// UndoResult is the result of an undo: the changed paths, and the reason for each path with a
// conflict. Lost counts the changes of a path whose original text is no longer stored, which are a
// conflict, too.
type UndoResult struct {
	Changed   []string
	Conflicts map[string]string
	Lost      map[string]int
}

// JudgeResult says how accepting or rejecting went: the hunks that it changed, those that stay
// because their text was changed since, and the paths that there is news of.
type JudgeResult struct {
	Changed, Conflicts, Paths []string
}

// New makes the Log of a session. keep is called with every decision, which Restore may get later;
// it may be nil.
func New(files filetime.Files, session string, keep func(Decision)) *Log {
	if keep == nil {
		keep = func(Decision) {}
	}
	return &Log{
		files: files, session: session, keep: keep, tracks: map[string]*track{},
		ids: map[string]*hunk{}, keys: map[string]*hunk{},
	}
}

// Landed records a change.
func (l *Log) Landed(c filetime.Change, landed filetime.Landed) {
	if c.Undo {
		l.reverted(c, landed)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range landed.Files {
		deleted := slices.ContainsFunc(c.Files, func(e filetime.FileEdit) bool { return e.Path == f.Path && e.Delete })
		switch {
		case f.Entry != filetime.File:
			if f.Applied && f.Origin != "" {
				l.landedEntry(c, f)
			}
		case f.Applied && (len(f.Set) > 0 || f.Created || deleted || f.Origin != ""):
			l.landed(c, f, deleted)
		}
	}
}

// Moved records a move of a file by another author.
func (l *Log) Moved(from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rename(from, to)
}

// landedEntry records a move of an entry that is no text, with all below it.
func (l *Log) landedEntry(c filetime.Change, f filetime.LandedFile) {
	l.rename(f.Origin, f.Path)
	t := l.tracks[f.Path]
	if t == nil || t.entry == filetime.File { // what is known of a file that was there before waits, see rename
		t = newTrack(f.Path, newWeave(text.Text{}, f.Rev))
		t.entry = f.Entry
		l.tracks[f.Path] = t
	}
	l.add(t, op{rev: f.Rev, turn: c.Turn, call: c.Call, origin: f.Origin, dest: f.Path}).allow(c.Allowed)
}

// rename moves the track at a path, and those below it, to another path. The track of a deleted
// file there is hidden until the path is free again.
func (l *Log) rename(from, to string) {
	if from == to {
		return
	}
	for path, t := range maps.Clone(l.tracks) {
		if rest, ok := strings.CutPrefix(path, from+string(filepath.Separator)); ok {
			delete(l.tracks, path)
			t.path, t.latest = filepath.Join(to, rest), nil
			l.tracks[t.path] = t
		}
	}
	if old := l.tracks[to]; old != nil {
		l.hidden = append(l.hidden, old)
		delete(l.tracks, to)
	}
	if t := l.tracks[from]; t != nil {
		delete(l.tracks, from)
		t.path, t.latest = to, nil
		l.tracks[to] = t
	}
	for i, old := range slices.Backward(l.hidden) {
		if old.path == from {
			l.hidden, l.tracks[from] = slices.Delete(l.hidden, i, i+1), old
			old.latest = nil
			break
		}
	}
}

func (l *Log) landed(c filetime.Change, f filetime.LandedFile, deleted bool) {
	if f.Origin != "" {
		l.rename(f.Origin, f.Path)
	}
	t := l.tracks[f.Path]
	if t == nil {
		t = newTrack(f.Path, newWeave(f.Before, 0)) // the text before stood at an earlier revision
		l.tracks[f.Path] = t
	}
	if o := t.at(f.Rev); o != nil && o.call == c.Call && f.Origin == "" { // found in the history before we were told
		o.turn, o.created, o.deleted, o.mode = c.Turn, f.Created, deleted, f.Mode
		o.allow(c.Allowed)
		return
	}
	after := f.Set.Apply(f.Before)
	if deleted {
		after = text.New("")
	}
	o := l.add(t, op{
		rev: f.Rev, turn: c.Turn, call: c.Call, created: f.Created, deleted: deleted, mode: f.Mode,
		before: f.Before, after: after, origin: f.Origin, dest: f.Path, command: l.byCommand(t, f.Rev),
	})
	o.allow(c.Allowed)
	t.latest = nil
	w := t.settled
	if f.Rev < w.rev { // told late, and its revision is not known any more: its text is somebody else's
		return
	}
	restores := uint64(0)
	if revs, _, ok := l.files.History(t.path, w.rev); ok {
		i := slices.IndexFunc(revs, func(r filetime.Revision) bool { return r.Rev >= f.Rev })
		if i >= 0 {
			restores, revs = revs[i].Restores, revs[:i]
		}
		l.follow(t, w, revs)
	}
	t.land(w, o, restores)
	w.rev = f.Rev
}

// byCommand reports whether a command made a revision of a file.
func (l *Log) byCommand(t *track, rev uint64) bool {
	revs, _, _ := l.files.History(t.path, t.settled.rev)
	return slices.ContainsFunc(revs, func(r filetime.Revision) bool { return r.Rev == rev && r.Author == filetime.Command })
}

func newTrack(path string, w *weave) *track {
	return &track{path: path, revertRecords: map[uint64]revertRecord{}, plannedReverts: map[string]plannedRevert{}, settled: w}
}

func (t *track) at(rev uint64) *op {
	i := slices.IndexFunc(t.ops, func(o *op) bool { return o.rev == rev })
	if i < 0 {
		return nil
	}
	return t.ops[i]
}

// hunks are those of all operations, the oldest first.
func (t *track) hunks() (out []*hunk) {
	for _, o := range t.ops {
		out = append(out, o.hunks...)
	}
	return out
}

// add adds an operation with its hunks, the runs of whole changed lines that every diff of it
// shows. The edits are minimised within each hunk, so they never begin or end in an unchanged line,
// whatever set the operation has.
func (l *Log) add(t *track, o op) *op {
	l.order++
	o.n, o.first = l.order, len(t.edits)+1
	for _, old := range t.ops { // operations live as long as the session
		if old.rev <= t.settled.rev {
			old.before, old.after = text.Text{}, text.Text{}
		}
	}
	made := &o
	for i, lines := range show.Lines(o.before, o.after) {
		lines.New = strings.Clone(lines.New)
		edits := text.Trim(o.before, text.Minimize(o.before, text.Set{lines}))
		h := &hunk{
			op: made, track: t, old: strings.Clone(o.before.Slice(lines.Start, lines.End)), new: lines.New,
			endsMidLine: edits[len(edits)-1].End < lines.End,
		}
		for range edits {
			t.edits = append(t.edits, h)
			h.edits = append(h.edits, len(t.edits))
		}
		o.set = append(o.set, edits...)
		l.name(h, i)
	}
	o.after = o.set.Apply(o.before)
	if len(o.set) == 0 && o.origin == "" {
		l.name(&hunk{op: made, track: t}, 0)
	}
	if o.origin != "" {
		l.name(&hunk{op: made, track: t, move: true}, len(o.hunks))
	}
	t.ops = append(t.ops, made)
	slices.SortStableFunc(t.ops, func(a, b *op) int { return cmp.Compare(a.rev, b.rev) })
	return made
}

// allow accepts the operation's hunks if a person has allowed the operation, so that nobody decides
// twice.
func (o *op) allow(allowed bool) {
	for _, h := range o.hunks {
		h.accepted = h.accepted || allowed
	}
}

// name registers a hunk as the n-th of its operation.
func (l *Log) name(h *hunk, n int) {
	sum := sha256.Sum256([]byte(h.op.call + "\x00" + h.track.path))
	h.id, h.key = fmt.Sprintf("h%d", len(l.ids)+1), fmt.Sprintf("%x.%d", sum[:8], n)
	l.ids[h.id], l.keys[h.key] = h, h
	h.op.hunks = append(h.op.hunks, h)
}

// land applies an operation to a weave, after bringing the text to the operation's base. The
// operation restores the revision restores, 0 for none.
func (t *track) land(w *weave, o *op, restores uint64) {
	w.keep()
	if !w.text.Equal(o.before) {
		w.change(text.Diff(w.text, o.before))
		w.keep()
	}
	stood := w.statuses(len(t.edits))
	// What the agent's own git checkout takes back, and the checkout itself, nobody has to judge.
	if o.command && o.origin == "" && w.restore(restores, o.after) {
		w.markLost(stood, false)
		for i := range o.set {
			w.lost[o.first+i] = false
		}
		return
	}
	w.land(o.set, func(i int) int { return o.first + i })
}

// follow applies revisions to a weave.
func (l *Log) follow(t *track, w *weave, revs []filetime.Revision) {
	for len(revs) > 0 {
		r, n := revs[0], 1
		if r.Set.Validate(w.text) != nil { // the history is not that of this text: comparing will tell
			return
		}
		o := t.at(r.Rev)
		ours := r.Session == l.session
		w.keep()
		switch {
		case o != nil && o.call == r.Call && o.before.Equal(w.text) && o.after.Equal(r.Set.Apply(w.text)):
			t.land(w, o, r.Restores)
		case ours && t.plannedReverts[r.Call].edits != nil:
			t.plannedReverts[r.Call].apply(w, r)
		case o == nil && ours:
			o = l.add(t, op{
				rev: r.Rev, call: r.Call, before: w.text, after: r.Set.Apply(w.text), command: r.Author == filetime.Command,
			})
			t.land(w, o, r.Restores)
		case o != nil && ours:
			after := r.Set.Apply(w.text)
			t.land(w, o, r.Restores)
			w.change(text.Diff(w.text, after))
		default:
			n = t.followOthers(w, revs)
		}
		w.rev = revs[n-1].Rev
		revs = revs[n:]
	}
}

// followOthers applies the first of some revisions, with those that belong to it, and returns their
// number.
func (t *track) followOthers(w *weave, revs []filetime.Revision) int {
	n, after := oneChange(w.text, revs)
	last := revs[n-1]
	record, ours := t.revertRecords[last.Rev]
	switch {
	case last.Author == filetime.Disk:
		t.overwritten(w, after, last.Restores)
	case ours && w.flipTo(after, func(e int) bool { return record.edits[e] }, record.again):
	case w.restore(last.Restores, after):
	case t.revertHunk(w, after):
	default:
		w.change(revs[0].Set)
		return 1
	}
	return n
}

// revertHunk takes in that somebody has made after of the text and thereby taken back one hunk, all
// of it, as the gutter of an editor does.
func (t *track) revertHunk(w *weave, after text.Text) bool {
	grows := map[*hunk]int{} // by how much the text does without the hunk
	for _, p := range w.pieces {
		switch {
		case p.deletedBy > 0:
			grows[t.edits[p.deletedBy-1]] += p.size
		case p.deletedBy == 0 && p.insertedBy > 0:
			grows[t.edits[p.insertedBy-1]] -= p.size
		}
	}
	for _, h := range slices.Backward(t.hunks()) {
		if n, ok := grows[h]; ok && n == after.Len()-w.text.Len() &&
			w.flipTo(after, func(e int) bool { return t.edits[e-1] == h }, false) {
			return true
		}
	}
	return false
}

// oneChange counts the first of some revisions which were reported in one notification, or are one
// write of a program, and gives the text after them.
func oneChange(now text.Text, revs []filetime.Revision) (int, text.Text) {
	after := revs[0].Set.Apply(now)
	for i, r := range revs {
		if i > 0 {
			if r.Author != revs[0].Author || r.Session != "" || r.Set.Validate(after) != nil {
				break
			}
			after = r.Set.Apply(after)
		}
		if !r.Part {
			return i + 1, after
		}
	}
	return 1, revs[0].Set.Apply(now)
}

// now returns the weave of a file's present text.
func (l *Log) now(t *track) (*weave, filetime.Snapshot) {
	if t.entry != filetime.File {
		return t.settled, filetime.Snapshot{Path: t.path, Exists: true}
	}
	from := t.latest
	if from == nil {
		from = t.settled
	}
	revs, now, ok := l.files.History(t.path, from.rev)
	if !ok && from != t.settled { // it followed an edit in flight, which has landed differently
		from = t.settled
		revs, now, ok = l.files.History(t.path, from.rev)
	}
	w := from
	if len(revs) > 0 || !ok || !from.text.Equal(now.Text) {
		w = from.clone()
		if ok {
			l.follow(t, w, revs)
		}
		switch {
		case w.text.Equal(now.Text):
		case now.Open:
			w.change(text.Diff(w.text, now.Text))
		default:
			t.overwritten(w, now.Text, anyRevision)
		}
		w.rev = now.Rev
	}
	t.latest = w
	return w, now
}

// lineStart says that a line begins at off; the end of a text that ends a line counts.
func lineStart(t text.Text, off int) bool { return t.LineStart(t.Line(off)) == off }

// lineEnd gives the end of the line that off is in, with its line end.
func lineEnd(t text.Text, off int) int {
	if line := t.Line(off); line+1 < t.LineCount() {
		return t.LineStart(line + 1)
	}
	return t.Len()
}

// view is the present state of a file: the status of each edit, and where others changed the
// agent's text.
type view struct {
	t        *track
	w        *weave
	now      filetime.Snapshot
	statuses []editStatus
	amended  []bool
}

func (l *Log) view(t *track) view {
	w, now := l.now(t)
	v := view{t: t, w: w, now: now, statuses: w.statuses(len(t.edits))}
	v.amended = w.revertConflicts(len(t.edits), func(int) bool { return true })
	return v
}

func (v view) stands(h *hunk) bool {
	if len(h.edits) == 0 {
		return (h.op.created || h.move) && !h.gone && (v.now.Exists || v.now.Open)
	}
	return slices.ContainsFunc(h.edits, func(e int) bool { return v.statuses[e].stands() })
}

// hunk returns a hunk at its present lines, including lines changed by others.
func (v view) hunk(h *hunk) Hunk {
	out := Hunk{
		ID: h.id, Old: h.old, New: h.new, Status: "pending", Turn: h.op.turn, Call: h.op.call, Now: v.w.text,
		Amended: slices.ContainsFunc(h.edits, func(e int) bool { return v.amended[e] }),
	}
	switch {
	case h.conflict && out.Amended:
		out.Status = "conflict"
	case h.accepted:
		out.Status = "accepted"
	}
	start, end, known := 0, 0, false
	live, under := false, false
	for _, e := range h.edits {
		live, under = live || v.statuses[e].live, under || v.statuses[e].overwritten
		if f := v.statuses[e]; f.placed && !known {
			start, end, known = f.start, f.end, true
		} else if f.placed {
			start, end = min(start, f.start), max(end, f.end)
		}
	}
	t := v.w.text
	out.Start = t.LineStart(t.Line(start))
	if out.End = end; h.endsMidLine && (live || !under) || !lineStart(t, end) { // below another hunk it has no line of its own
		out.End = lineEnd(t, end)
	}
	return out
}

func (v view) status() string {
	status := "modified"
	for _, o := range v.t.ops {
		if slices.ContainsFunc(o.hunks, v.stands) {
			switch {
			case o.created:
				status = "added"
			case o.deleted && !v.now.Exists && !v.now.Open:
				return "deleted"
			case status == "modified" && v.origin() != "":
				status = "renamed"
			}
		}
	}
	return status
}

// origin is the path before the moves that are in force, "" without one.
func (v view) origin() string {
	for _, h := range v.t.hunks() {
		if h.move && v.stands(h) {
			return h.op.origin
		}
	}
	return ""
}

// moveBack says where the file goes if those hunks are taken back, or brought again, that are
// moves, and gives those with which that can be done: each leads from where the one before has led
// to. "" is nowhere else.
func (v view) moveBack(wanted []*hunk, again bool) (to string, done []*hunk) {
	var moves []*hunk
	for _, h := range v.t.hunks() {
		if h.move && h.gone == again {
			moves = append(moves, h)
		}
	}
	if !again {
		slices.Reverse(moves)
	}
	at := v.t.path
	for _, h := range moves {
		from, next := h.op.dest, h.op.origin
		if again {
			from, next = next, from
		}
		if from != at || !slices.Contains(wanted, h) {
			break
		}
		at, done = next, append(done, h)
	}
	if at == v.t.path {
		return "", done
	}
	return at, done
}

// List shows what stands, the files sorted by path; path "" means all. name is how diffs call a
// file.
func (l *Log) List(ctx context.Context, path string, name func(path string) string) []File {
	return l.list(ctx, path, name, show.Options{}, nil)
}

// Diff shows one file, or only some hunks of it where ids are given. full lifts the limit on the
// size of a diff. ok is false where nothing of it stands.
func (l *Log) Diff(ctx context.Context, path string, name func(path string) string, full bool, ids []string) (f File, ok bool) {
	o := show.Options{}
	if full {
		o.MaxBytes = math.MaxInt
	}
	var pick func(*hunk) bool
	if len(ids) > 0 {
		pick = func(h *hunk) bool { return slices.Contains(ids, h.id) }
	}
	list := l.list(ctx, path, name, o, pick)
	if len(list) == 0 || len(list[0].Hunks) == 0 {
		return File{}, false
	}
	return list[0], true
}

func (l *Log) list(
	ctx context.Context, path string, name func(path string) string, so show.Options, pick func(*hunk) bool,
) []File {
	var out []File
	for _, p := range l.refresh(ctx, path) {
		if f, ok := l.file(p, name, so, pick); ok {
			out = append(out, f)
		}
	}
	return out
}

// refresh reads the files that are not open, and returns all tracked paths or the given one.
func (l *Log) refresh(ctx context.Context, path string) []string {
	l.mu.Lock()
	paths := slices.Sorted(maps.Keys(l.tracks))
	l.mu.Unlock()
	if path != "" {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p != path })
	}
	for _, p := range paths {
		// An unreadable file is shown at its last known state.
		_, _ = l.files.Read(ctx, p)
	}
	return paths
}

// file shows one file. Its diff is between the text without the agent's standing changes and the
// present one, so that what the user typed is on both sides.
func (l *Log) file(path string, name func(path string) string, so show.Options, pick func(*hunk) bool) (File, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tracks[path] == nil { // it has just been moved
		return File{}, false
	}
	v := l.view(l.tracks[path])
	f := File{Path: path, Status: v.status(), Now: v.w.text, Entry: v.t.entry}
	shown := map[int]bool{}
	for _, h := range v.t.hunks() {
		if !v.stands(h) || pick != nil && !pick(h) {
			continue
		}
		f.Hunks = append(f.Hunks, v.hunk(h))
		for _, e := range h.edits {
			shown[e] = true
		}
	}
	if len(f.Hunks) == 0 {
		return f, false
	}
	without, _ := v.w.flip(func(e int) bool { return shown[e] }, false)
	so.Created, so.Deleted = f.Status == "added", f.Status == "deleted"
	if f.Status == "renamed" {
		f.Origin = v.origin()
		so.OldPath = name(f.Origin)
	}
	f.Diff = show.Back(name(path), v.w.text, without, so)
	return f, true
}

// Marks gives the hunks that stand in one file, without a diff, as far as is known without looking
// at the disk.
func (l *Log) Marks(path string) []Hunk {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tracks[path]
	if t == nil {
		return nil
	}
	v := l.view(t)
	var out []Hunk
	for _, h := range t.hunks() {
		if v.stands(h) {
			out = append(out, v.hunk(h))
		}
	}
	return out
}

// Tracks says that the session has ever changed a path, or for "" any.
func (l *Log) Tracks(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tracks[path] != nil || path == "" && len(l.tracks) > 0
}

// Has says whether a hunk of that id was ever there.
func (l *Log) Has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[id] != nil
}

// LastTurn is the newest turn that changed something that still stands, 0 for none.
func (l *Log) LastTurn() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn, n := 0, 0
	for _, t := range l.tracks {
		v := l.view(t)
		for _, o := range t.ops {
			if o.n > n && slices.ContainsFunc(o.hunks, v.stands) {
				turn, n = o.turn, o.n
			}
		}
	}
	return turn
}

// LastTaken is the turn of what was taken back last and is not there again, 0 for none.
func (l *Log) LastTaken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn, n := 0, 0
	for _, t := range l.tracks {
		v := l.view(t)
		for _, h := range v.due(revertRequest{redo: true, pick: func(h *hunk) bool { return h.revertedAt > n }}) {
			if h.revertedAt > n {
				turn, n = h.op.turn, h.revertedAt
			}
		}
	}
	return turn
}

// Accept marks hunks as kept: those of ids, or all of a path, or all. They stay in the list.
func (l *Log) Accept(path string, ids []string) JudgeResult {
	out, keys := l.accept(path, ids)
	if len(keys) > 0 {
		l.keep(Decision{Accepted: keys})
	}
	return out
}

func (l *Log) accept(path string, ids []string) (out JudgeResult, keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range slices.Sorted(maps.Keys(l.tracks)) {
		if path != "" && p != path {
			continue
		}
		v := l.view(l.tracks[p])
		before := len(out.Changed)
		for _, h := range v.t.hunks() {
			if (ids == nil || slices.Contains(ids, h.id)) && !h.accepted && v.stands(h) {
				h.accepted, h.acceptedByUser, h.conflict = true, true, false
				out.Changed, keys = append(out.Changed, h.id), append(keys, h.key)
			}
		}
		if len(out.Changed) > before {
			out.Paths = append(out.Paths, p)
		}
	}
	return out, keys
}

// Reject takes hunks back: those of ids, or all of a path, or all, and then none that were
// accepted.
func (l *Log) Reject(ctx context.Context, path string, ids []string) JudgeResult {
	var out JudgeResult
	for _, p := range l.refresh(ctx, path) {
		gone, stay, now, err := l.revertHunks(ctx, p, revertRequest{label: "Reject agent changes", pick: func(h *hunk) bool {
			return ids == nil && !h.accepted || slices.Contains(ids, h.id)
		}})
		for _, h := range gone {
			out.Changed = append(out.Changed, h.id)
		}
		var d Decision
		l.mu.Lock()
		for _, h := range stay {
			h.conflict, h.accepted, h.acceptedByUser = true, false, false
			out.Conflicts, d.Conflict = append(out.Conflicts, h.id), append(d.Conflict, h.key)
		}
		l.mu.Unlock()
		if len(stay) > 0 {
			l.keep(d)
		}
		if len(gone)+len(stay) > 0 || err != nil {
			out.Paths = append(out.Paths, p)
		}
		if now != p {
			out.Paths = append(out.Paths, now)
		}
	}
	return out
}

// Undo takes the changes of a scope back, in one edit a file. What the user typed since stays;
// where it meets a change, that change stays too and is reported.
func (l *Log) Undo(ctx context.Context, s Scope) UndoResult {
	return l.undo(ctx, s, revertRequest{label: "Undo agent changes"})
}

// WouldUndo is what Undo would give now. It changes nothing.
func (l *Log) WouldUndo(ctx context.Context, s Scope) UndoResult {
	return l.undo(ctx, s, revertRequest{dryRun: true})
}

func (l *Log) undo(ctx context.Context, s Scope, k revertRequest) UndoResult {
	out := l.revertAll(ctx, s, k)
	out.Lost = l.countLost(s)
	for path, n := range out.Lost {
		lost := fmt.Sprintf("; changes whose original text is no longer stored: %d", n)
		out.Conflicts[path] = strings.TrimPrefix(out.Conflicts[path]+lost, "; ")
	}
	return out
}

// Redo brings again what Undo or Reject took back of a scope, in one edit a file. Where somebody
// has changed the text meanwhile that it would change, it stays away and is reported.
func (l *Log) Redo(ctx context.Context, s Scope) UndoResult {
	return l.revertAll(ctx, s, revertRequest{label: "Redo agent changes", redo: true})
}

// LeftAsIs reports n of all changes that were not reverted, restored or judged because somebody
// edited their text. It has no full stop, since callers embed it.
func LeftAsIs(n, all int) string {
	switch {
	case all == 1:
		return "1 change was edited since and is left as it is"
	case n == 1:
		return fmt.Sprintf("1 of %d changes was edited since and is left as it is", all)
	}
	return fmt.Sprintf("%d of %d changes were edited since and are left as they are", n, all)
}

func (l *Log) revertAll(ctx context.Context, s Scope, k revertRequest) UndoResult {
	out := UndoResult{Conflicts: map[string]string{}}
	path := s.Path // of the files that are looked at, wherever a hunk was when it was made
	k.pick = func(h *hunk) bool { return s.has(path, h.op.call, h.op.turn) }
	// One file may be in the way of another that goes back to its path, and there is more at a path
	// that has become free.
	over := map[*track]bool{}
	for range maxAttempts {
		moved := false
		for _, p := range l.refresh(ctx, s.Path) {
			l.mu.Lock()
			t := l.tracks[p]
			l.mu.Unlock()
			if t == nil || over[t] {
				continue
			}
			done, not, now, err := l.revertHunks(ctx, p, k)
			over[t] = err == nil
			if delete(out.Conflicts, p); len(done) > 0 {
				out.Changed = append(out.Changed, p)
				moved = true
			}
			if now != p {
				out.Changed = append(out.Changed, now)
			}
			switch {
			case err != nil:
				out.Conflicts[p] = err.Error()
			default:
				n := len(not)
				if !k.redo {
					n += l.countTaken(t, k.pick)
				}
				if n > 0 {
					out.Conflicts[p] = LeftAsIs(n, len(done)+n)
				}
			}
		}
		if !moved {
			break
		}
	}
	slices.Sort(out.Changed)
	out.Changed = slices.Compact(out.Changed)
	return out
}

// countTaken counts the hunks whose text a program's write has made its own: it is in the file,
// and nothing takes it back.
func (l *Log) countTaken(t *track, pick func(*hunk) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view(t)
	for _, h := range t.hunks() {
		if pick(h) && !v.stands(h) && slices.ContainsFunc(h.edits, func(e int) bool { return v.w.taken[e] }) {
			n++
		}
	}
	return n
}

// maxAttempts limits retries after a conflict with concurrent typing.
const maxAttempts = 5

// revertRequest selects the hunks to revert or, with redo, to restore.
type revertRequest struct {
	label  string
	redo   bool
	dryRun bool // plans only, records nothing
	pick   func(*hunk) bool
}

// due reports whether a hunk is selected.
func (k revertRequest) due(v view, h *hunk) bool {
	if !k.pick(h) || v.stands(h) != !k.redo {
		return false
	}
	back := func(e int) bool { return v.statuses[e].reverted }
	return !k.redo || h.revertedAt > 0 && (len(h.edits) == 0 || slices.ContainsFunc(h.edits, back))
}

func (v view) due(k revertRequest) (out []*hunk) {
	for _, h := range v.t.hunks() {
		if k.due(v, h) {
			out = append(out, h)
		}
	}
	return out
}

// revertHunks takes hunks of a file back, or brings them again, as one edit, and says with which
// that was done and with which not, and where the file is now.
func (l *Log) revertHunks(ctx context.Context, path string, k revertRequest) (done, not []*hunk, now string, err error) {
	l.mu.Lock()
	t := l.tracks[path]
	if t == nil || len(l.view(t).due(k)) == 0 {
		l.mu.Unlock()
		return nil, nil, path, nil
	}
	paths := []string{path}
	for _, o := range t.ops {
		if o.origin != "" {
			paths = append(paths, o.origin, o.dest)
		}
	}
	l.mu.Unlock()
	unlock, err := l.files.Lock(ctx, paths...)
	if err != nil {
		return nil, nil, path, err
	}
	defer unlock()
	var p revertPlan
	for n := 0; ; n++ {
		if _, err := l.files.Read(ctx, path); err != nil && t.entry == filetime.File {
			return nil, nil, path, err
		}
		l.plan(t, k, &p)
		if k.dryRun {
			for _, h := range slices.Concat(p.wanted, p.hidden) {
				if p.change != nil && p.has(h) {
					done = append(done, h)
				} else {
					not = append(not, h)
				}
			}
			return done, not, path, nil
		}
		if p.change == nil {
			break
		}
		landed, err := l.files.Commit(ctx, *p.change)
		var met *filetime.Conflict
		var refused *filetime.Error
		switch {
		case errors.As(err, &met) && n < maxAttempts:
			continue // the next plan knows what was typed
		case errors.As(err, &met):
			p.in = nil
		case errors.As(err, &refused) && refused.Code == filetime.FileExists && p.change.Files[0].To != "":
			p.stays = err // its path is taken: the rest of it can be done where it is
			continue
		case err != nil:
			return nil, p.wanted, path, err
		default:
			l.applyReverted(t, landed, p, k.redo)
		}
		break
	}
	done, not, about := l.outcome(t, p, k.redo)
	if len(about) > 0 {
		d := Decision{Path: t.path, Taken: about}
		if k.redo {
			d.Taken, d.Again = nil, about
		}
		l.keep(d)
	}
	return done, not, t.path, p.stays
}

// outcome says what a plan came to, and which hunks it was about, whether they were to be seen or
// not.
func (l *Log) outcome(t *track, p revertPlan, again bool) (done, not []*hunk, about []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view(t)
	in := func(h *hunk) bool { return slices.ContainsFunc(h.edits, func(e int) bool { return p.in[e] }) }
	for _, h := range p.wanted {
		// What is brought again may be under a later call's text, as it was before.
		if v.stands(h) == again || again && in(h) {
			done = append(done, h)
		} else {
			not = append(not, h)
		}
	}
	for _, h := range p.hidden { // it could not go either
		if v.stands(h) {
			not = append(not, h)
		}
	}
	for _, h := range slices.Concat(p.wanted, p.hidden) {
		if slices.Contains(done, h) || in(h) {
			about = append(about, h.key)
			l.noteReverted(h, again)
		}
	}
	return done, not, about
}

// noteReverted notes that a hunk was taken back, or brought again.
func (l *Log) noteReverted(h *hunk, again bool) {
	if h.revertedAt = 0; !again {
		l.reverts++
		h.revertedAt = l.reverts
	}
}

// revertPlan is how hunks of a file are to be taken back, or brought again.
type revertPlan struct {
	wanted []*hunk
	hidden []*hunk // to be taken back with them, though nothing is to be seen of them
	in     map[int]bool
	moves  []*hunk          // those that are done by moving the file
	stays  error            // why it cannot be moved
	change *filetime.Change // nil where there is nothing to change
}

// has reports that the plan takes a whole hunk back, or brings it again.
func (p revertPlan) has(h *hunk) bool {
	if h.move && p.change != nil && !p.change.Files[0].Delete {
		return slices.Contains(p.moves, h)
	}
	return !slices.ContainsFunc(h.edits, func(e int) bool { return !p.in[e] })
}

// plan makes the change for the hunks without conflicts. The first plan sets p.wanted.
func (l *Log) plan(t *track, k revertRequest, p *revertPlan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view(t)
	// The file is locked, so no edit of ours is in flight and the present state is settled.
	v.t.settled = v.w.clone()
	if p.wanted == nil {
		p.wanted = v.due(k)
	}
	p.hidden, p.change = nil, nil
	if k.redo {
		p.in = v.withoutConflicts(p.wanted, v.w.redoConflicts)
	} else {
		for _, h := range v.t.hunks() { // text hidden by a later call must not reappear
			if k.pick(h) && !v.stands(h) && slices.ContainsFunc(h.edits, func(e int) bool { return v.statuses[e].overwritten }) {
				p.hidden = append(p.hidden, h)
			}
		}
		p.in = v.withoutConflicts(slices.Concat(p.wanted, p.hidden), v.w.revertConflicts)
	}
	set, after := v.w.flip(func(e int) bool { return p.in[e] }, k.redo)
	e := filetime.FileEdit{Path: t.path, Entry: t.entry, Base: v.w.text, Edits: set, Rev: v.now.Rev}
	there := v.now.Exists || v.now.Open
	c := &filetime.Change{Session: l.session, Call: "undo", Tool: "undo", Label: k.label, ForUser: true}
	if k.redo {
		c.Call, c.Tool = "redo", "redo"
	}
	for _, h := range p.wanted {
		c.Turn = h.op.turn
		if slices.ContainsFunc(h.edits, func(e int) bool { return !p.in[e] }) || v.stands(h) == k.redo {
			continue
		}
		made, deleted := h.op.created, h.op.deleted
		if k.redo {
			made, deleted = deleted, made
		}
		e.Delete = e.Delete || made && there && set.Apply(v.w.text).Len() == 0
		if deleted && !there {
			e.Create, e.Mode = true, h.op.mode
		}
	}
	if e.Delete {
		e.Edits = nil
	}
	if p.moves = nil; !e.Delete && !e.Create && p.stays == nil {
		e.To, p.moves = v.moveBack(p.wanted, k.redo)
	}
	if len(e.Edits) == 0 && !e.Delete && !e.Create && e.To == "" { // one call had reverted another: only the records change
		if k.dryRun {
			return
		}
		v.t.settled.pieces, v.t.latest = after, nil
		for _, h := range p.moves { // there and back again
			h.gone = !k.redo
		}
		return
	}
	c.Files = []filetime.FileEdit{e}
	p.change = c
}

// withoutConflicts gives the edits of those hunks with which nothing is in the way. A hunk goes
// whole or not at all.
func (v view) withoutConflicts(hunks []*hunk, clashes func(n int, in func(edit int) bool) []bool) map[int]bool {
	in := map[int]bool{}
	for _, h := range hunks {
		for _, e := range h.edits {
			in[e] = true
		}
	}
	for again := true; again; {
		again = false
		for e, bad := range clashes(len(v.t.edits), func(e int) bool { return in[e] }) {
			if bad && in[e] {
				again = true
				for _, e := range v.t.edits[e-1].edits {
					delete(in, e)
				}
			}
		}
	}
	return in
}

// applyReverted takes in that a change of ours has landed which takes edits back, or brings them
// again.
func (l *Log) applyReverted(t *track, landed filetime.Landed, p revertPlan, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range landed.Files {
		if f.Origin != "" {
			l.rename(f.Origin, f.Path)
		}
		if f.Path == t.path && f.Applied {
			t.revertRecords[f.Rev] = revertRecord{p.in, again}
		}
	}
	t.latest = nil
	e := p.change.Files[0]
	for _, h := range p.wanted {
		if len(h.edits) == 0 && (!h.move || e.Create || e.Delete || slices.Contains(p.moves, h)) {
			h.gone = !again
		}
	}
	w, _ := l.now(t)
	t.settled = w.clone()
}
