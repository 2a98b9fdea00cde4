package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
)

const (
	// budget is how long an edit may look for its moment.
	budget = 10 * time.Second
	// grace is how long the reply to the last try is waited for, and how long a repair may look for its moment while its call
	// waits.
	grace = 4 * time.Second
	// silence is how long a reply without an echo is waited for.
	silence = 2 * time.Second
	// patience is the number of quick refusals after which sending waits for a gap in the typing.
	patience = 5
	minGap   = 150 * time.Millisecond
	// blindGap is how long a document must have been quiet before it gets an edit without a version that would be checked.
	blindGap = 300 * time.Millisecond
	// mending is how long the repair of an edit that landed at the wrong place goes on after its call has been answered.
	mending = 10 * time.Minute
)

// event is one change of the document that arrived while an edit was on its way.
type event struct {
	set           text.Set
	before, after text.Text
	rev           uint64
	part          bool // the editor tells of the next one in the same notification
	gathered      bool // the editor tells of several changes by it
	disk          bool // the document was closed, and this is how the file differs from what it was
	opened        bool // the document was opened with another text
}

// delivery is an edit on its way: what was sent, for which text, and what has happened to the document since.
type delivery struct {
	base   text.Text
	set    text.Set
	ranges []TextEdit
	events []event

	searched int     // events that find has looked at
	taken    int     // events after which something that had landed at a wrong place was taken back
	starts   []start // one for each of them
	theirs   text.Set
	size     int
	found    finding

	followed int  // events that traced has looked at
	traced   bool // what it has found in one of them
}

// start is what the edit would be if it began after the first so many events: carried along, or at the sent positions.
type start struct {
	right, wrong         text.Set
	rightSize, wrongSize int // by how much they make the text grow
	size                 int // by how much the events before have made it grow

	rightBegun, wrongBegun bool // some of the edit is there before
}

// verdict is what the events say of an edit that was sent.
type verdict uint8

const (
	absent    verdict = iota
	landed            // events i to j are the edit
	misplaced         // events i to j are the edit at the coordinates of an older text
	merged            // the edit came in one notification with somebody's typing
)

// finding is a verdict with its place.
type finding struct {
	verdict verdict
	i, j    int
}

// commitEditor has the editor apply an edit: it sends the edit for the version it was computed for, takes the reply as a
// hint, and counts it as landed when the document's own changes show it. An edit that the document moved away from is
// rebased and sent again; one that landed at old coordinates is repaired.
func (w *Workspace) commitEditor(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	a := &attempt{w: w, f: f, e: e, c: c}
	f.mu.Lock()
	held := f.held
	f.mu.Unlock()
	if held {
		return filetime.LandedFile{}, &filetime.Error{
			Code: filetime.Timeout, Reason: heldReason, Path: f.path, Message: fmt.Sprintf("%s was not edited: the editor has not "+
				"told yet what became of the edit before. Nothing of this one is in the text; try again later.", f.path),
		}
	}
	turn := time.NewTimer(budget)
	defer turn.Stop()
	select {
	case f.slot <- struct{}{}:
	case <-ctx.Done():
		return filetime.LandedFile{}, context.Cause(ctx)
	case <-turn.C:
		f.mu.Lock()
		defer f.mu.Unlock()
		return filetime.LandedFile{}, a.timeout("waited in vain for an edit before it")
	}
	a.deadline = w.o.Now().Add(budget)
	l, err := a.run(ctx)
	switch {
	case errors.Is(err, errMending):
		err = a.expired()
		go a.mend()
	case reasonOf(err) != heldReason: // else the document stays taken, see file.heard
		<-f.slot
	}
	if err == nil && l.Applied && !e.Delete && a.lent() {
		l.Stale = w.save(ctx, f)
	}
	return l, err
}

const heldReason = "held"

func reasonOf(err error) string {
	var e *filetime.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// heard lets the next edit go, where the last one was answered with a yes and no word of it had come since. f.mu is held.
func (f *file) heard() {
	if f.held {
		f.held = false
		<-f.slot
	}
}

// errMending says that the time of an edit is up that landed at the wrong place and has not been repaired yet.
var errMending = errors.New("the repair goes on")

// lent says that the document is open only because of the edit, and so is to be saved. Where somebody has typed into it
// since it was opened, that is for them to do. An editor may put a line end to the text of its own accord, and take it away.
func (a *attempt) lent() bool {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !a.closed && !f.lent {
		return false
	}
	typed := a.typed || strings.TrimRight(unified(f.text), "\n") != strings.TrimRight(unified(a.sent.after), "\n")
	f.lent = f.lent && !(f.open && typed)
	return !f.open || !typed
}

// attempt is one edit's way to the editor, over as many tries as it takes.
type attempt struct {
	w        *Workspace
	f        *file
	e        filetime.FileEdit
	c        filetime.Change
	deadline time.Time

	tries    int
	refusals int
	refusal  string // what the editor said at the last one
	first    uint64 // the revision that the first try was made for
	silences int
	rtt      time.Duration
	closed   bool // was not open: it is to be saved
	sent     plan // what the last try was
	dirty    bool // the user had unsaved text before the edit came
	typed    bool // somebody has typed into what was opened for the edit
	repairs  int
	lingers  bool    // the call has been answered: what is left is to take back
	detour   *detour // what the repairs are about
}

// reply is the editor's answer to one try.
type reply struct {
	applied bool
	reason  string
	err     error
}

func (a *attempt) run(ctx context.Context) (filetime.LandedFile, error) {
	for {
		switch gap := max(3*a.rtt, minGap); {
		case a.blind():
			if !a.waitForGap(ctx, blindGap, a.deadline) && ctx.Err() == nil {
				return filetime.LandedFile{}, a.overdue()
			}
		case a.refusals >= patience:
			// Not for ever: where no gap comes, some try must hit upon the moment between two keys.
			a.waitForGap(ctx, gap, a.w.o.Now().Add(2*gap))
		}
		if err := ctx.Err(); err != nil && a.repairs == 0 {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		if a.tries > 0 && !a.w.o.Now().Before(a.deadline) {
			return filetime.LandedFile{}, a.overdue()
		}
		p, d, done, err := a.prepare()
		switch {
		case err != nil && a.repairs > 0:
			if l, done, err := a.salvage(ctx, err); done || err != nil {
				return l, err
			}
			continue
		case done && a.repairs > 0:
			return a.settled(a.finish(p, done))
		case err != nil || done:
			return a.finish(p, done), err
		}
		a.sent = p
		found, r := a.send(ctx, p, d)
		a.f.mu.Lock()
		l, done, err := a.judge(p, d, found, r)
		a.f.out = nil
		a.tellTyped(d)
		a.f.mu.Unlock()
		if done || err != nil {
			return l, err
		}
		if r != nil && errors.Is(r.err, ErrGone) {
			return filetime.LandedFile{}, ErrGone
		}
	}
}

// tellTyped tells of what the user typed while the edit was on its way: only now it is known what of the changes was
// typed. f.mu is held.
func (a *attempt) tellTyped(d *delivery) {
	if len(d.events) == 0 || a.c.ForUser {
		return
	}
	for _, r := range slices.Backward(a.f.history) {
		if r.Rev < d.events[0].rev {
			return
		}
		if r.Author == filetime.User {
			a.w.tell(a.f, "stale", "user")
			return
		}
	}
}

// prepare carries the edit to the present and notes what is about to be sent.
func (a *attempt) prepare() (plan, *delivery, bool, error) {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open {
		if err := a.w.refresh(f); err != nil {
			return plan{}, nil, false, err
		}
		if a.detour != nil && f.dropped(a.detour.first) {
			a.restart()
		}
	}
	if a.detour != nil {
		a.mended()
	}
	if !f.open && a.tries > 0 && !a.closed {
		return plan{}, nil, false, errClosed
	}
	a.closed = a.closed || !f.open || f.lent
	if a.tries > 0 && a.e.Create && (f.open || f.exists) && f.text.Len() == 0 {
		// The editor made the file in an earlier try and then refused the text.
		a.e.Create, a.e.Base, a.e.Since, a.e.Rev = false, f.text, nil, f.rev
	}
	p, err := a.w.prepare(f, a.e)
	if err != nil {
		return p, nil, false, err
	}
	if len(p.set) == 0 && !a.e.Create && !a.e.Delete {
		return p, nil, true, nil // somebody has made the same change already
	}
	if a.tries == 0 {
		a.first = f.rev
		a.dirty = f.open && f.dirty && !f.touched && !f.lent
	}
	if a.tries > 0 && a.repairs == 0 {
		a.typed = f.open && f.dirty && !f.touched
	}
	d := &delivery{base: p.before, set: p.set, ranges: a.ranges(p.before, p.set)}
	f.out = d
	return p, d, false, nil
}

func (a *attempt) ranges(base text.Text, set text.Set) []TextEdit {
	enc := a.w.o.Features.Encoding
	out := make([]TextEdit, len(set))
	for i, e := range set {
		out[i] = TextEdit{Range: Range{base.Position(e.Start, enc), base.Position(e.End, enc)}, New: e.New}
	}
	return out
}

// send asks the editor and waits until the document's changes, or their absence, say what became of the edit.
func (a *attempt) send(ctx context.Context, p plan, d *delivery) (finding, *reply) {
	f := a.f
	a.tries++
	ask := Delivery{
		URI: f.uri, Version: p.version, Create: a.e.Create, Delete: a.e.Delete, Edits: d.ranges, Label: a.c.Label,
		Session: a.c.Session, Call: a.c.Call, Tool: a.c.Tool, Turn: a.c.Turn, Old: p.before, New: p.after, Save: a.closed,
	}
	replies := make(chan reply, 1)
	sent := a.w.o.Now()
	// A turn that was cancelled must not leave it open whether its edit landed: the reply is waited for all the same.
	limit := max(a.deadline.Sub(sent), grace)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	go a.w.safely(func() {
		ok, reason, err := a.w.o.Editor.Apply(call, ask)
		if call.Err() == nil {
			replies <- reply{ok, reason, err}
		}
	})

	var got *reply
	settled, shown := false, false
	after := 0 // events that were there when the reply came
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cancelled := ctx.Done()
	for {
		f.mu.Lock()
		changed, open := f.changed, f.open
		n := d.told()
		found, partly, traced := finding{}, false, false
		if len(d.events) > 0 || !open {
			found = a.find(d)
			partly = found.verdict == absent && d.partly()
			traced = found.verdict == absent && a.traced(d)
		}
		f.mu.Unlock()
		switch {
		case got != nil && (got.err != nil || !got.applied):
			return found, got
		case got != nil && found.verdict != absent:
			return found, got
		case got != nil && n > after && open && !partly && !traced:
			return found, got // the next change does not show it
		case got != nil && !settled:
			settled = true
			f.mu.Lock()
			there := a.onDisk(p)
			f.mu.Unlock()
			if there {
				return found, got
			}
		}
		select {
		case r := <-replies:
			got = &r
			a.rtt = max(a.rtt, a.w.o.Now().Sub(sent))
			f.mu.Lock()
			after = d.told()
			f.mu.Unlock()
			if !a.w.o.Features.Plain || ctx.Err() != nil {
				timer.Reset(silence)
			}
		case <-cancelled:
			if cancelled = nil; got != nil {
				timer.Reset(silence)
			}
		case <-changed:
			if got == nil {
				f.mu.Lock()
				now := a.find(d).verdict != absent
				f.mu.Unlock()
				if now && !shown { // a client that never answers is judged by its echo alone, whatever is typed after it
					timer.Reset(silence)
				}
				shown = shown || now
			}
		case <-timer.C:
			return found, got
		}
	}
}

// judge settles one try. f.mu is held.
func (a *attempt) judge(p plan, d *delivery, found finding, got *reply) (filetime.LandedFile, bool, error) {
	refused := got != nil && (got.err != nil || !got.applied)
	if refused && got.err != nil && (found.verdict == landed || found.verdict == misplaced) {
		refused = false // the editor failed after it had applied the edit
	}
	switch found.verdict {
	case landed, misplaced:
		if refused {
			break
		}
		if !a.right(d, found) {
			a.repair(d, found)
			return filetime.LandedFile{}, false, nil
		}
		first, last := d.events[found.i], d.events[found.j-1]
		p.before, p.after = first.before, last.after
		if a.detour == nil { // the history keeps it as it was told, and so finds in it what is told of the same place later
			a.claim(first.rev, last.rev, nil)
			p.set = text.Canonical(p.before, composed(d.events[found.i:found.j]))
		} else {
			p.set = d.exact(found, text.Rebase(d.base, d.set, composed(d.events[:found.i])).Set)
			a.claim(first.rev, last.rev, p.set)
		}
		l := a.landed(p, last.rev)
		return a.settle(l, last.rev)
	case merged:
		if refused {
			break
		}
		rev := a.split(d)
		l := a.landed(p, rev)
		return a.settle(l, d.events[len(d.events)-1].rev)
	}
	if !refused && got != nil && a.onDisk(p) {
		return a.landedOnDisk(p), true, nil
	}
	var never *RefusedError
	switch {
	case refused && errors.As(got.err, &never) && d.told() == 0 && a.repairs == 0:
		return filetime.LandedFile{}, false, a.refused(never)
	case refused:
		a.refusals++
		a.refusal = got.reason
	case got == nil:
		return filetime.LandedFile{}, false, a.unknown("the editor did not answer")
	case a.traced(d), d.hidden():
		return filetime.LandedFile{}, false, a.unknown("the editor applied it, but it does not stand where it should")
	case d.told() == 0 && a.w.o.Features.Plain && a.f.open: // sent once more it could stand there twice
		a.f.held = true
		return filetime.LandedFile{}, false, a.doubt(heldReason, "the editor says that it applied the edit and has not told of it yet")
	case d.told() == 0:
		if a.silences++; a.silences > 1 {
			return filetime.LandedFile{}, false, a.unknown("the editor says that it applied the edit and does not show it")
		}
	}
	return filetime.LandedFile{}, false, nil
}

func (a *attempt) landed(p plan, rev uint64) filetime.LandedFile {
	f := a.f
	f.touched = f.open && !a.dirty
	l := p.landed(f, true)
	l.Rev, l.Attempts, l.Created = rev, a.tries, a.e.Create
	a.w.tell(f, "written", "agent")
	return l
}

// onDisk says that the edit shows on disk: an editor may work on a file without opening it. f.mu is held.
func (a *attempt) onDisk(p plan) bool {
	f := a.f
	if a.e.Delete {
		d, err := a.w.readDisk(f.path, 0)
		return err == nil && !d.exists
	}
	if f.open {
		return false
	}
	d, err := a.w.readDisk(f.path, a.w.o.MaxFileBytes)
	return err == nil && d.exists && d.text.Equal(p.after)
}

func (a *attempt) landedOnDisk(p plan) filetime.LandedFile {
	f := a.f
	if !f.open {
		if err := a.w.refresh(f); err != nil {
			a.w.o.Log.Debug("landed file cannot be read", "path", f.path, "error", err)
		}
		a.claim(f.rev, f.rev, nil)
	}
	l := a.landed(p, f.rev)
	l.Source = "disk"
	a.closed = false
	return l
}

// exact is what events i to j of a finding did: want, where that does it as it stands, or else what the editor told of it,
// which may hold as much as the words around.
func (d *delivery) exact(found finding, want text.Set) text.Set {
	if want.Apply(d.events[found.i].before).Equal(d.events[found.j-1].after) {
		return want
	}
	return composed(d.events[found.i:found.j])
}

// claim marks the revisions from first to last as one by the agent: set, or what they are together where that is nil.
func (a *attempt) claim(first, last uint64, set text.Set) {
	i, j := -1, -1
	for k, r := range a.f.history {
		if r.Rev == first {
			i = k
		}
		if r.Rev == last {
			j = k + 1
		}
	}
	if i >= 0 && j > i {
		if a.f.claim(i, j, a.c); set != nil {
			a.f.history[i].Set = set
		}
	}
}

// split makes of the events, which hold the edit and somebody's typing in one, two revisions.
func (a *attempt) split(d *delivery) uint64 {
	f := a.f
	first, last := d.events[0], d.events[len(d.events)-1]
	between := d.set.Apply(d.base)
	rest := text.Diff(between, last.after)
	for i, r := range f.history {
		if r.Rev != first.rev {
			continue
		}
		mine := revisionOf(a.c, first.rev-1, d.set)
		theirs := filetime.Revision{Rev: last.rev, Set: rest, Author: filetime.User}
		j := i + len(d.events)
		f.history = append(append(f.history[:i:i], mine, theirs), f.history[min(j, len(f.history)):]...)
		return mine.Rev
	}
	return last.rev
}

// told is how many changes the editor has told of: a text that a document is opened or closed with says nothing of the edit.
func (d *delivery) told() int {
	n := 0
	for _, e := range d.events {
		if !e.opened && !e.disk {
			n++
		}
	}
	return n
}

// partly says that some of the edit's places show it and others do not yet: an editor may tell of each on its own.
func (d *delivery) partly() bool {
	r := text.Rebase(d.base, d.set, text.Minimize(d.base, composed(d.events)))
	return r.Coalesced > 0 && len(r.Conflicts) == 0 && len(r.Set) > 0
}

// traced says that something of what the edit puts in has come into the text, though not as the edit would have put it: to
// send it again could make it stand there twice. f.mu is held.
func (a *attempt) traced(d *delivery) bool {
	const enough = 4 // bytes that nobody types by chance
	if d.traced || len(d.events) == d.followed {
		return d.traced
	}
	d.followed = len(d.events)
	before, now := d.base.String(), a.f.text.String()
	theirs := text.Minimize(d.base, composed(d.events))
	d.traced = slices.ContainsFunc(d.set, func(e text.Edit) bool {
		s := strings.TrimSpace(e.New)
		if len(s) < enough {
			return false
		}
		return strings.Count(now, s) > strings.Count(before, s) || slices.ContainsFunc(theirs, func(t text.Edit) bool {
			return t.Start <= e.End && t.End >= e.Start && scattered(s, t.New)
		})
	})
	return d.traced
}

// hidden says that the edit, if it was applied, may not show, because the editor tells in one of it and of what somebody did
// in the same place.
func (d *delivery) hidden() bool {
	if !slices.ContainsFunc(d.events, func(e event) bool { return e.gathered }) {
		return false
	}
	theirs := text.Minimize(d.base, composed(d.events))
	return slices.ContainsFunc(d.set, func(e text.Edit) bool {
		return slices.ContainsFunc(theirs, func(t text.Edit) bool { return t.Start < e.End && t.End > e.Start })
	})
}

// scattered says that the runes of s stand in t in their order, with others between them perhaps.
func scattered(s, t string) bool {
	for _, r := range s {
		i := strings.IndexRune(t, r)
		if i < 0 {
			return false
		}
		t = t[i+utf8.RuneLen(r):]
	}
	return true
}

func composed(events []event) text.Set {
	sets := make([]text.Set, len(events))
	for i, e := range events {
		sets[i] = e.set
	}
	return text.ComposeAll(sets)
}

// find looks for the edit in what happened to the document. What it has looked at before it does not look at again: a
// client that does not answer may have much typed into it. f.mu is held.
func (a *attempt) find(d *delivery) finding {
	// What takes something back may be done by the user's own undo as well: then what comes after it is the edit.
	again := a.detour != nil || a.c.ForUser
	widest := max(len(d.set)+1, 8)
	closed := 1 + lastIndex(d.events, func(e event) bool { return e.disk }) // before that it is not the editor who tells
	for d.searched < len(d.events) && (d.found.verdict == absent || again && d.found.verdict == landed) {
		from := d.searched
		for more := true; more; d.searched++ {
			e := d.events[d.searched]
			d.begin(e, a.reposition(e.before, d.ranges))
			more = e.part
		}
		found := finding{}
		if from >= max(closed, d.taken) { // most tell of an edit in a notification of its own
			if found = d.match(from, d.searched, false); found.verdict == absent && d.searched-from > 1 {
				found = d.match(from, d.searched, true)
			}
		}
		for j := from + 1; j <= d.searched; j++ {
			first := max(closed, j-widest, d.found.j, d.taken)
			// The fewest events first: with more of them, somebody's typing and an edit that took it away may look like one. But
			// what is left to do after a part of the edit is done is the whole of it only where somebody else has done that part.
			for i := j - 1; i >= first && found.verdict == absent; i-- {
				found = d.match(i, j, false)
			}
			for i := first; i < j && found.verdict == absent; i++ {
				found = d.match(i, j, true)
			}
			if a.detour != nil && a.detour.stood(d.events[j-1].after) >= 0 {
				d.taken = j
			}
		}
		if found.verdict != absent {
			d.found = found
		}
	}
	if d.found.verdict != absent {
		return d.found
	}
	if n := len(d.events); n > 0 && closed == 0 && len(d.set) > 0 && within(d, d.events[n-1].after) {
		return finding{merged, 0, n}
	}
	return finding{}
}

// match says what events i to j are: the whole edit, or what is left of it where a part of it had begun.
func (d *delivery) match(i, j int, begun bool) finding {
	s, before, after := d.starts[i], d.events[i].before, d.events[j-1].after
	grown := d.size - s.size
	if j < len(d.starts) {
		grown = d.starts[j].size - s.size
	}
	right := len(s.right) > 0 && s.rightSize == grown && s.rightBegun == begun
	wrong := len(s.wrong) > 0 && s.wrongSize == grown && s.wrongBegun == begun && i > 0
	if !right && !wrong {
		return finding{}
	}
	got := text.Canonical(before, composed(d.events[i:j]))
	switch {
	case right && same(before, after, got, s.right):
		return finding{landed, i, j}
	case wrong && same(before, after, got, s.wrong):
		return finding{misplaced, i, j}
	}
	return finding{}
}

// begin looks at the next event as the first that may show the edit.
func (d *delivery) begin(e event, wrong text.Set) {
	s := start{size: d.size}
	if r := text.Rebase(d.base, d.set, d.theirs); len(r.Conflicts) == 0 {
		s.right = text.Canonical(e.before, r.Set)
		s.rightSize = grown(e.before, s.right)
		s.rightBegun = r.Coalesced > 0 || removed(r.Set) < removed(d.set)
	}
	s.wrong = text.Canonical(e.before, wrong)
	s.wrongBegun = slices.ContainsFunc(wrong, func(w text.Edit) bool {
		return w.New != "" && w.New == e.before.Slice(w.Start, w.End)
	})
	s.wrongSize = grown(e.before, s.wrong)
	d.starts = append(d.starts, s)
	d.theirs = text.Compose(d.theirs, e.set)
	d.size += grown(e.before, e.set)
}

// within says that after holds the edit beside somebody's typing: there is less to do from the edited text to it than from
// the text before, none of that touches what the edit put in, and what it takes out is gone. Lines may be so alike that the
// wrong one gone looks like the right one gone and a word changed.
func within(d *delivery, after text.Text) bool {
	edited := d.set.Apply(d.base)
	rest := text.Diff(edited, after)
	if weight(rest) >= weight(text.Diff(d.base, after)) {
		return false
	}
	shift := 0
	gone := text.Canonical(d.base, text.Minimize(d.base, composed(d.events)))
	for _, e := range text.Canonical(d.base, d.set) {
		if e.New == "" && !slices.ContainsFunc(gone, func(t text.Edit) bool { return t.Start <= e.Start && t.End >= e.End }) {
			return false
		}
	}
	for _, e := range d.set {
		from, to := e.Start+shift, e.Start+shift+len(e.New)
		shift += len(e.New) - (e.End - e.Start)
		for _, r := range rest {
			// A word that grows at its end is not touched where the edit put it in.
			old := edited.Slice(r.Start, r.End)
			pre := prefix(old, r.New)
			if post := suffix(old[pre:], r.New[pre:]); r.Start+pre < to && r.End-post > from {
				return false
			}
		}
	}
	return true
}

func lastIndex(events []event, is func(event) bool) int {
	for i, e := range slices.Backward(events) {
		if is(e) {
			return i
		}
	}
	return -1
}

func prefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func suffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func weight(s text.Set) int {
	n := 0
	for _, e := range s {
		n += len(e.New) + e.End - e.Start
	}
	return n
}

// reposition is what the sent positions mean in another text.
func (a *attempt) reposition(t text.Text, edits []TextEdit) text.Set {
	enc := a.w.o.Features.Encoding
	var out text.Set
	at := 0
	for _, e := range edits {
		start, _ := t.Offset(e.Range.Start, enc)
		end, _ := t.Offset(e.Range.End, enc)
		if start < at || end < start {
			return nil
		}
		at = end
		out = append(out, text.Edit{Start: start, End: end, New: e.New})
	}
	return out
}

// same compares two sets over before by their shape, or else by the text that they lead to.
func same(before, after text.Text, got, want text.Set) bool {
	if equalSets(got, want) {
		return true
	}
	return sameText(after, want.Apply(before))
}

func equalSets(a, b text.Set) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// grown is by how much a set makes a text grow, without the carriage returns that an editor puts in or leaves out.
func grown(before text.Text, s text.Set) int {
	n := 0
	for _, e := range s {
		old := before.Slice(e.Start, e.End)
		n += len(e.New) - strings.Count(e.New, "\r") - len(old) + strings.Count(old, "\r")
	}
	return n
}

// removed is how many bytes a set takes out.
func removed(s text.Set) int {
	n := 0
	for _, e := range s {
		n += e.End - e.Start
	}
	return n
}

// blind says that the client will not notice that an edit is for an older text: it gets changes without a version, or has a
// document of version 0, which some never check.
func (a *attempt) blind() bool {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	have := a.w.o.Features
	return have.Plain && a.f.open && (!have.Versions || a.f.version == 0)
}

// waitForGap waits until nobody has typed for a moment, which it says, but not for longer than until.
func (a *attempt) waitForGap(ctx context.Context, gap time.Duration, until time.Time) bool {
	for a.w.o.Now().Before(until) {
		a.f.mu.Lock()
		changed := a.f.changed
		a.f.mu.Unlock()
		timer := time.NewTimer(gap)
		select {
		case <-changed:
			timer.Stop()
		case <-timer.C:
			return true
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
	return false
}

func (a *attempt) finish(p plan, done bool) filetime.LandedFile {
	if !done {
		return filetime.LandedFile{}
	}
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	l := p.landed(a.f, true)
	l.Attempts, l.Already = a.tries, true
	return l
}

// overdue ends an attempt whose time is up. A repair goes on beside the call.
func (a *attempt) overdue() error {
	if a.repairs > 0 && !a.lingers {
		return errMending
	}
	return a.expired()
}

func (a *attempt) expired() error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	if a.repairs > 0 {
		return a.unknown("the editor put it at the wrong place, and the user's typing has left no moment to repair that yet")
	}
	if a.first == a.f.rev && a.refusal != "" {
		return a.timeout(fmt.Sprintf("was refused by the editor (%q, %d tries)", a.refusal, a.tries))
	}
	return a.timeout(fmt.Sprintf("found no moment between the user's keystrokes (%d tries)", a.tries))
}

// refused is that the editor will not make the edit, however often it is asked.
func (a *attempt) refused(by *RefusedError) error {
	return &filetime.Error{
		Code: filetime.WriteError, Reason: "refused", Path: a.f.path,
		Message: fmt.Sprintf("The editor refused the edit of %s: %s\nNothing of it is in the text. Asking again does not help; "+
			"tell the user what you wanted to change.", a.f.path, strings.TrimSpace(by.Words)),
	}
}

func (a *attempt) timeout(what string) error {
	return &filetime.Error{
		Code: filetime.Timeout, Reason: "editor_busy", Path: a.f.path, Now: a.f.text, Known: true,
		Message: fmt.Sprintf("The edit of %s %s in %v. Nothing of it is in the text; try again.", a.f.path, what, budget),
	}
}

func (a *attempt) unknown(why string) error { return a.doubt("no_echo", why) }

func (a *attempt) doubt(reason, why string) error {
	return &filetime.Error{
		Code: filetime.Unknown, Reason: reason, Path: a.f.path, Now: a.f.text, Known: true,
		Message: fmt.Sprintf("It is not known whether the edit of %s landed: %s. Read the file before going on.", a.f.path, why),
	}
}

// save has a document saved that was opened only to take an edit, and says where it was not; see filetime.LandedFile.Stale.
func (w *Workspace) save(ctx context.Context, f *file) (stale string) {
	f.mu.Lock()
	uri, open := f.uri, f.open
	f.mu.Unlock()
	if !open {
		return ""
	}
	why := "the editor does not save documents when asked"
	if w.o.Features.Save {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), budget)
		defer cancel()
		failed, err := w.o.Editor.Save(ctx, []string{uri})
		reason, bad := failed[uri]
		switch {
		case err == nil && !bad:
			return ""
		case err == nil:
			why = cmp.Or(strings.TrimSpace(reason), "the editor gave no reason")
		case errors.Is(err, context.DeadlineExceeded):
			why = "the editor did not answer"
		default:
			why = err.Error()
		}
	}
	return fmt.Sprintf("was changed in the editor but could not be saved (%s): the disk is older than the editor's buffer.", why)
}
