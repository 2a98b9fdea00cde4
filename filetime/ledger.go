package filetime

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"tandem/filetime/text"
)

// maxViews is how many texts of one file a session remembers; of more, those go that the model was
// shown the least of.
const maxViews = 24

// View is one text of a file that the model has been shown, with the session's own landed edits
// carried into it.
type View struct {
	// Text stands for the whole file as the model knows it.
	Text text.Text
	// Since leads from Text to the file at revision Rev: what others did.
	Since text.Set
	Rev   uint64
	// Whole says that all of Text was in front of the model.
	Whole bool
	// Author is who made the last change in Since, By are the authors of all of it.
	Author Author
	By     Authors
}

// span is a half-open byte range.
type span struct{ start, end int }

type view struct {
	View
	shown      map[source][]span // over Text, each list sorted, apart
	diverged   bool
	lastOwnRev uint64 // the last own revision that Text holds
	textRev    uint64 // the latest revision with Text, 0 for none
	bytes      int    // how much of it was put in front of the model as such, not carried from elsewhere
}

// FileTime keeps the texts of files that the model of one session has seen, and compares them with
// the present ones. All methods may be called concurrently.
type FileTime struct {
	*memory
	call string // whose result shows what is recorded
}

// memory is what all the FileTimes of one session have in common.
type memory struct {
	files   Files
	session string
	observe func(path string)

	mu        sync.Mutex
	views     map[string][]*view   // the oldest first
	ownEdits  map[string][]ownEdit // the oldest first
	bytes     map[string]shownBytes
	sent      map[string]*sentLines
	firstRead map[string]uint64 // the revision at which a file was first read
}

// sentLines are the lines of a file that were sent at one revision, sorted and apart, 1-based and
// half-open.
type sentLines struct {
	rev   uint64
	lines map[source][]span
}

// shownBytes are those of a file that is no text.
type shownBytes struct {
	sum [sha256.Size]byte
	by  source
}

// New makes the FileTime of a session. observe, which may be nil, is called with each path that the
// model sees; it must not block.
func New(files Files, session string, observe func(path string)) *FileTime {
	return &FileTime{memory: &memory{
		files: files, session: session, observe: observe, views: map[string][]*view{}, ownEdits: map[string][]ownEdit{},
		bytes: map[string]shownBytes{}, sent: map[string]*sentLines{}, firstRead: map[string]uint64{},
	}}
}

// WithLock runs change while it has the locks of paths, which are taken in a fixed order. ctx
// limits the wait for the locks alone; the holder that others are told of is the session and the
// call of ctx. The error of the wait is returned without a call of change.
func (f *FileTime) WithLock(ctx context.Context, paths []string, change func() error) error {
	unlock, err := f.files.Lock(WithHolder(ctx, Holder{Session: f.session}), paths...)
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// UserRanges gives the ranges of s that the user has typed since the model first read the file, as
// far as the history reaches back.
func (f *FileTime) UserRanges(s Snapshot) []text.Range {
	f.mu.Lock()
	first, ok := f.firstRead[s.Path]
	f.mu.Unlock()
	if !ok {
		return nil
	}
	revs, _, ok := f.files.History(s.Path, first)
	if !ok {
		return nil
	}
	typed := carryOver(first, s.Rev, nil, revs, func(typed []span, r Revision) []span {
		return carrySpans(typed, r.Set, r.Author == User)
	})
	var out []text.Range
	for _, t := range mergeSpans(typed) {
		out = append(out, text.Range{Start: t.start, End: t.end})
	}
	return out
}

// ReadBytes records that a file that is no text was put in front of the model; sum is the SHA-256
// of its bytes.
func (f *FileTime) ReadBytes(path string, sum [sha256.Size]byte) {
	f.mu.Lock()
	f.bytes[path] = shownBytes{sum, source{call: f.call}}
	f.mu.Unlock()
	if f.observe != nil {
		f.observe(path)
	}
}

// AssertBytes is Assert for a file that is no text: sum is that of its present bytes. The errors
// are NOT_READ where the model has not been shown the file, and EDIT_CONFLICT where it was shown
// other bytes.
func (f *FileTime) AssertBytes(path string, sum [sha256.Size]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, ok := f.bytes[path]
	switch {
	case !ok:
		return &Error{
			Code: NotRead, Reason: "not_read", Path: path,
			Message: fmt.Sprintf("%s is no text, and nobody has looked at it in this session. Call read_file: it names what the file is, "+
				"though it cannot show it as text. Then try again.", path),
		}
	case was.sum != sum:
		return &Error{
			Code: EditConflict, Reason: "changed", Path: path,
			Message: fmt.Sprintf("%s was changed since you read it. Nothing was done. Read it again with read_file, then try again.", path),
		}
	}
	return nil
}

// Read records that lines first to last (1-based, inclusive) of s were sent to the model. Lines of
// the same text add up.
func (f *FileTime) Read(s Snapshot, first, last int) { f.read(s, span{first, last + 1}) }

// ReadLines is Read for some lines, in ascending order.
func (f *FileTime) ReadLines(s Snapshot, lines []int) {
	var all []span
	for _, n := range lines {
		if i := len(all) - 1; i >= 0 && all[i].end == n {
			all[i].end++
		} else {
			all = append(all, span{n, n + 1})
		}
	}
	if len(all) > 0 {
		f.read(s, all...)
	}
}

// ReadPart is Read for a part of a line.
func (f *FileTime) ReadPart(s Snapshot, part text.Range) {
	if s.Exists {
		f.recordShown(s, []span{{part.Start, part.End}})
	}
}

// read records that ranges of lines were sent.
func (f *FileTime) read(s Snapshot, lines ...span) {
	if !s.Exists {
		return
	}
	seen, bounds := make([]span, len(lines)), make([]int, 0, 2*len(lines))
	for _, l := range lines {
		bounds = append(bounds, l.start-1, l.end-1)
	}
	bounds = s.Text.LineStarts(bounds)
	for i, l := range lines {
		seen[i] = span{bounds[2*i], s.Text.Len()}
		if l.end <= s.Text.LineCount() {
			seen[i].end = bounds[2*i+1]
		}
		if l.end <= l.start {
			seen[i].end = seen[i].start
		}
	}
	f.recordShown(s, seen, lines...)
}

// recordShown records that ranges of bytes, and whole lines in them, were sent.
func (f *FileTime) recordShown(s Snapshot, seen []span, lines ...span) {
	f.mu.Lock()
	f.see(s, source{call: f.call}, seen)
	if _, ok := f.firstRead[s.Path]; !ok {
		f.firstRead[s.Path] = s.Rev
	}
	at := f.sent[s.Path]
	if at == nil || at.rev != s.Rev {
		at = &sentLines{rev: s.Rev, lines: map[source][]span{}}
		f.sent[s.Path] = at
	}
	lines = slices.DeleteFunc(lines, func(l span) bool { return l.end <= l.start })
	by := source{call: f.call}
	at.lines[by] = mergeSpans(append(at.lines[by], lines...))
	f.mu.Unlock()
	if f.observe != nil {
		f.observe(s.Path)
	}
}

// Sent says that lines first to last of s were sent to the model, and that the file has not changed
// since.
func (f *FileTime) Sent(s Snapshot, first, last int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.sent[s.Path]
	return at != nil && at.rev == s.Rev &&
		slices.ContainsFunc(union(at.lines), func(r span) bool { return r.start <= first && last < r.end })
}

// Since gives what others have changed since the model was last sent the file, which leads to the
// text of s, and who made the last of the changes. It is empty where they have changed nothing, or
// the model has seen nothing of the file.
func (f *FileTime) Since(s Snapshot) (text.Set, Author) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(s.Path, f.views[s.Path])
	list := f.views[s.Path]
	if len(list) == 0 || list[len(list)-1].Rev != s.Rev {
		return nil, User
	}
	v := list[len(list)-1]
	return v.Since, v.Author
}

func (f *FileTime) see(s Snapshot, by source, seen []span) {
	bytes := 0
	for _, r := range seen {
		bytes += r.end - r.start
	}
	f.advance(s.Path, f.views[s.Path])
	list := f.views[s.Path]
	for i, v := range list {
		if v.Rev == s.Rev && len(v.Since) == 0 {
			v.bytes += bytes
			v.show(by, seen...)
			f.views[s.Path] = append(slices.Delete(list, i, i+1), v) // an old text that holds again is the newest
			return
		}
	}
	v := &view{View: View{Text: s.Text, Rev: s.Rev}, bytes: bytes, textRev: s.Rev}
	if n := len(list); n > 0 && list[n-1].Rev == s.Rev {
		v.shown = carryShown(list[n-1].shown, list[n-1].Since)
	}
	v.show(by, seen...)
	f.keep(s.Path, append(list, v))
}

// keep remembers the views of a file, the newest last, and forgets one if there are too many.
func (f *FileTime) keep(path string, list []*view) {
	if len(list) > maxViews {
		least := 0
		for i, v := range list[:len(list)-1] {
			if v.bytes < list[least].bytes {
				least = i
			}
		}
		list = slices.Delete(list, least, least+1)
	}
	f.views[path] = list
}

// Assert is the check before a change of a file: it gives the texts of it that the model has seen,
// the newest first, each with what others did since. With whole, only texts that the model saw all
// of count. Errors are *Error: READ_ERROR where there is no such file, NOT_READ where nothing that
// counts was seen.
func (f *FileTime) Assert(now Snapshot, whole bool) ([]View, error) {
	path := now.Path
	if !now.Exists {
		what := "Look for its name with glob, or make it with write_file."
		if f.Knows(path) {
			what = "It has been deleted since you last saw it. If it is still wanted, make it anew with write_file."
		}
		return nil, &Error{
			Code: ReadError, Reason: "enoent", Path: path, Message: fmt.Sprintf("File not found: %s (ENOENT). %s", path, what),
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(path, f.views[path])
	var views []View
	for _, v := range slices.Backward(f.views[path]) {
		if !whole || v.Whole {
			views = append(views, v.View)
		}
	}
	if len(views) > 0 {
		return views, nil
	}
	what := "has not been read in this session"
	switch _, known := f.views[path]; {
	case whole && len(f.views[path]) > 0:
		what = "has not been read whole in this session"
	case known:
		what = "was read, but what you read is no longer in the conversation"
	}
	return nil, &Error{
		Code: NotRead, Reason: "not_read", Path: path,
		Message: fmt.Sprintf("%s %s. Read it with read_file, then try again.", path, what),
	}
}

// Wrote records that the session's own change landed: what the agent wrote counts as seen.
func (f *FileTime) Wrote(l LandedFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.Origin != "" && l.Applied {
		rename(f.views, l.Origin, l.Path)
		rename(f.ownEdits, l.Origin, l.Path)
		rename(f.bytes, l.Origin, l.Path)
	}
	if l.Entry != File {
		return
	}
	f.advance(l.Path, f.views[l.Path])
	list := f.views[l.Path]
	if l.Origin != "" && l.Applied && len(l.Set) == 0 {
		return // it says what it said
	}
	if !l.Applied {
		f.expectHostEdit(l, list)
		return
	}
	after := Snapshot{Path: l.Path, Text: l.After, Rev: l.Rev, Exists: true}
	if l.Created {
		f.see(after, source{f.call, true}, []span{{0, l.After.Len()}})
		return
	}
	for _, v := range list {
		if v.lastOwnRev >= l.Rev {
			return
		}
	}
	// No view could take the edit in: the text after it is a view of its own.
	v := &view{View: View{Text: l.After, Rev: l.Rev}, textRev: l.Rev}
	if n := len(list); n > 0 {
		v.shown = carryShown(list[n-1].shown, text.Diff(list[n-1].Text, l.After))
	}
	v.show(source{f.call, true}, insertedSpans(l.Set)...)
	f.keep(l.Path, append(list, v))
	f.advance(l.Path, f.views[l.Path])
}

// rename gives what is known by a path, and by all below it, the path that it was moved to.
func rename[V any](known map[string]V, from, to string) {
	moved := map[string]V{}
	for path, v := range known {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == filepath.Separator) {
			moved[to+rest] = v
			delete(known, path)
		}
	}
	delete(known, to) // what it took the place of
	maps.Copy(known, moved)
}

// expectHostEdit records a change that the host applies itself: the model believes the text after
// it, while the file has the one before.
func (f *FileTime) expectHostEdit(l LandedFile, list []*view) {
	v := &view{View: View{Text: l.After, Since: l.Set.Inverse(l.Before), Rev: l.Rev}}
	if n := len(list); n > 0 {
		v.shown = carryShown(list[n-1].shown, text.Diff(list[n-1].Text, l.After))
	}
	v.show(source{f.call, true}, insertedSpans(l.Set)...)
	f.keep(l.Path, append(list, v))
}

// Knows says that the session has seen a file of this path, also where its model no longer has it.
func (f *FileTime) Knows(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.views[path]
	return ok
}

// Paths lists the files that the session has seen.
func (f *FileTime) Paths() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.views))
}

// advance carries the views to the present: others' changes go into Since, own ones into Text.
func (f *FileTime) advance(path string, list []*view) {
	lost := false
	for _, v := range list {
		revs, now, ok := f.files.History(path, v.Rev)
		switch {
		case !ok:
			v.Since, v.Rev, v.By = text.Diff(v.Text, now.Text), now.Rev, v.By.Unknown()
		case len(revs) > 0:
			v.advance(f.session, revs)
			lost = lost || v.diverged
		}
	}
	if lost {
		f.views[path] = slices.DeleteFunc(list, func(v *view) bool { return v.diverged })
	}
}

func (v *view) advance(session string, revs []Revision) {
	var others []text.Set
	flush := func() {
		if len(others) > 0 {
			v.Since = text.Compose(v.Since, text.ComposeAll(others))
			others = others[:0]
		}
	}
	for _, r := range revs {
		v.Rev = r.Rev
		if r.Author == Agent && r.Session == session {
			flush()
			if v.applyOwn(r.Set, r.Call) {
				v.lastOwnRev = r.Rev
				continue
			}
			v.diverged = true // what it holds is no more what the model believes
		}
		if v.textRev > 0 && r.Restores == v.textRev { // an undo of all that others did
			v.Since, others, v.textRev, v.By = nil, others[:0], r.Rev, 0
			continue
		}
		if len(v.Since) == 0 && len(others) == 0 {
			v.By = 0
		}
		others = append(others, r.Set)
		v.Author, v.By = r.Author, v.By.Plus(r.Author)
	}
	flush()
}

// applyOwn takes an edit of the session's own into Text, so that Text is what the model believes;
// false where others' text stands in its way.
func (v *view) applyOwn(set text.Set, call string) bool {
	now := v.Since.Apply(v.Text)
	// The edit may have landed within what was typed, where that was compared as the lines that it
	// makes further down.
	back := text.Rebase(now, set, text.SlideLines(v.Text, v.Since).Inverse(v.Text))
	if len(back.Conflicts) > 0 {
		back = text.Rebase(now, set, v.Since.Inverse(v.Text))
	}
	if len(back.Conflicts) > 0 {
		return false
	}
	next := back.Set.Apply(v.Text)
	then := set.Apply(now)
	since := text.RebaseTheirs(v.Text, v.Since, back.Set).Set
	if !since.Apply(next).Equal(then) {
		since = text.Diff(next, then)
	}
	v.shown = carryShown(v.shown, back.Set)
	v.Text, v.Since = next, since
	if own := insertedSpans(back.Set); len(own) > 0 {
		v.show(source{call, true}, own...)
	} else {
		v.settle()
	}
	if v.textRev = 0; len(since) == 0 {
		v.textRev = v.Rev
	}
	return true
}

// show adds spans of a source.
func (v *view) show(by source, spans ...span) {
	if v.shown == nil {
		v.shown = map[source][]span{}
	}
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.end <= s.start })
	v.shown[by] = mergeSpans(append(v.shown[by], spans...))
	v.settle()
}

// settle brings Whole up to date.
func (v *view) settle() {
	size, all := v.Text.Len(), union(v.shown)
	v.Whole = size == 0 || len(all) == 1 && all[0].start == 0 && all[0].end == size
}

// mergeSpans sorts spans and joins those that touch.
func mergeSpans(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return a.start - b.start })
	merged := list[:0]
	for _, s := range list {
		if n := len(merged); n > 0 && s.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// carryOver carries what is known at revision from over the revisions up to another. One that
// restores a revision among them has what was known then; a change by a tool call is never an undo.
func carryOver[S any](from, to uint64, known S, revs []Revision, step func(S, Revision) S) S {
	restored := map[uint64]bool{}
	for _, r := range revs {
		restored[r.Restores] = true
	}
	then := map[uint64]S{from: known}
	for _, r := range revs {
		if r.Rev > to {
			break
		}
		if was, ok := then[r.Restores]; ok && r.Restores > 0 && r.Session == "" {
			known = was
		} else {
			known = step(known, r)
		}
		if restored[r.Rev] {
			then[r.Rev] = known
		}
	}
	return known
}

// carrySpans maps spans through a set. What the set inserted is part of them only where own says
// that it counts.
func carrySpans(spans []span, set text.Set, own bool) []span {
	var out []span
	after := set.Mapping()
	for _, s := range spans {
		at := s.start
		first := sort.Search(len(set), func(i int) bool { return set[i].End >= s.start })
		for i := first; i < len(set) && set[i].Start <= s.end; i++ {
			e := set[i]
			if e.Start > at {
				out = append(out, span{after.Pos(at, true), after.Pos(e.Start, false)})
			}
			at = max(at, e.End)
		}
		if at < s.end {
			out = append(out, span{after.Pos(at, true), after.Pos(s.end, false)})
		}
	}
	if own {
		out = append(out, insertedSpans(set)...)
	}
	return out
}

// insertedSpans gives where the texts of a set stand after it.
func insertedSpans(set text.Set) []span {
	var out []span
	shift := 0
	for _, e := range set {
		if e.New != "" {
			out = append(out, span{e.Start + shift, e.Start + shift + len(e.New)})
		}
		shift += len(e.New) - (e.End - e.Start)
	}
	return out
}
