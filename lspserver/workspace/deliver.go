package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
)

const (
	// budget is how long an edit is sent again.
	sendBudget = 10 * time.Second
	// grace is the timeout of the reply to the last try, and how much longer a call waits for a repair.
	replyTimeout = 4 * time.Second
	// silence is the timeout of the echo after a reply.
	echoTimeout = 2 * time.Second
	// patience is the number of quick refusals after which sending waits for a gap in the typing.
	maxQuickRefusals = 5
	minGap           = 150 * time.Millisecond
	// blindGap is how long a document must have been quiet before it gets an edit without a version that would be checked.
	blindGap = 300 * time.Millisecond
	// mending is how long the repair of an edit that landed at the wrong place goes on after its call has been answered.
	mending = 10 * time.Minute
)

// event is one change of the document while an edit is in flight.
type event struct {
	set           text.Set
	before, after text.Text
	rev           uint64
	part          bool // the next one came in the same notification
	gathered      bool // it may be several changes, coalesced by the editor
	version       int32
	disk          bool // the document was closed, and this is the difference to the disk
	opened        bool // the document was opened with another text
}

// delivery is an edit in flight: what was sent, for which text, and the changes of the document since.
type delivery struct {
	base   text.Text
	set    text.Set
	ranges []TextEdit
	events []event

	searched int     // events that find has looked at
	taken    int     // events after which something misplaced was reverted
	starts   []start // one for each of them
	theirs   text.Set
	size     int
	found    finding

	kept *delivery // the same edit for an editor that keeps the final line end, see look

	followed int  // events that traced has looked at
	traced   bool // what it has found in one of them
}

// start is the edit as it would be after the first n events: rebased, or at the sent positions.
type start struct {
	right, wrong         text.Set
	rightSize, wrongSize int // by how many bytes they make the text grow
	size                 int // by how many the events before have made it grow

	rightBegun, wrongBegun bool // a part of the edit is in the text before
}

// verdict is the result of looking for an edit in the events.
type verdict uint8

const (
	absent    verdict = iota
	landed            // events i to j are the edit
	misplaced         // events i to j are the edit at the coordinates of an older text
	merged            // the edit came in one notification with typing
)

// finding is a verdict with its events.
type finding struct {
	verdict verdict
	i, j    int
}

// commitEditor lands an edit in the editor: it sends the edit for the version that it was computed for, takes the reply
// as a hint, and the echo, the document's own changes, as proof. If the document has changed meanwhile, the edit is
// rebased and sent again; if it was applied at old coordinates, it is repaired.
func (w *Workspace) commitEditor(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	a := &attempt{w: w, f: f, e: e, c: c}
	if isHeld(f) {
		return filetime.LandedFile{}, fail(f.path, filetime.Timeout, heldReason, "%s was not edited: the editor has not "+
			"shown the previous edit yet. Nothing of this one is in the text; try again later.", f.path)
	}
	turn := time.NewTimer(sendBudget)
	defer turn.Stop()
	select {
	case f.inFlight <- struct{}{}:
	case <-ctx.Done():
		return filetime.LandedFile{}, context.Cause(ctx)
	case <-turn.C:
		f.mu.Lock()
		defer f.mu.Unlock()
		return filetime.LandedFile{}, a.timeout("waited for an earlier edit")
	}
	a.deadline = w.o.Now().Add(sendBudget)
	l, err := a.run(ctx)
	switch {
	case errors.Is(err, errMending):
		err = a.expired()
		go a.mend()
	case reasonOf(err) != heldReason: // else the document stays taken, see file.heard
		<-f.inFlight
	}
	if err == nil && l.Applied && !e.Delete && a.openedForEdit() {
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

// errMending says that the time of a misplaced edit is up before it could be repaired.
var errMending = errors.New("the repair goes on")

// openedForUs says that the document is open only because of the edit, or of a request before it, and so is to be saved, unless
// something was typed into it. An editor may add or remove the line end at the end of the text.
func (a *attempt) openedForEdit() bool {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !a.closed && !f.openedForEdit() {
		return false
	}
	typed := a.typed || strings.TrimRight(unified(f.text), "\n") != strings.TrimRight(unified(a.sent.after), "\n")
	if f.doc != nil && typed {
		f.doc.opener = byPerson
	}
	return !f.open() || !typed
}

// attempt is the delivery of one edit, in one or more tries.
type attempt struct {
	w        *Workspace
	f        *file
	e        filetime.FileEdit
	c        filetime.Change
	deadline time.Time

	tries    int
	refusals int
	refusal  string // the reason of the last one
	first    uint64 // the revision of the first try
	silences int
	rtt      time.Duration
	closed   bool // it was not open, so it is to be saved
	sent     plan // of the last try
	mode     fs.FileMode
	endKept  bool // the editor keeps a final line end that the edit has none of
	typed    bool // into a document that was opened for the edit
	repairs  int
	lingers  bool    // the call has returned: the misplaced edit is only reverted
	detour   *detour // nil without repairs
}

// reply is the editor's answer to one try.
type reply struct {
	applied bool
	reason  string
	landed  *int32 // the version that it made, where the client promises to name it
	err     error
}

// words are those of a refusal.
func (r *reply) words() string {
	if r.reason == "" && r.err != nil {
		return r.err.Error()
	}
	return r.reason
}

func (a *attempt) run(ctx context.Context) (filetime.LandedFile, error) {
	for {
		switch gap := max(3*a.rtt, minGap); {
		case a.blind():
			if !a.waitForGap(ctx, blindGap, a.deadline) && ctx.Err() == nil {
				return filetime.LandedFile{}, a.overdue()
			}
		case a.refusals >= maxQuickRefusals:
			// With a limit: without any gap, some try must hit the moment between two keys.
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
		a.notifyTyped(d)
		a.f.mu.Unlock()
		if done || err != nil {
			return l, err
		}
		if r != nil && errors.Is(r.err, ErrGone) {
			return filetime.LandedFile{}, ErrGone
		}
	}
}

// notifyTyped notifies of typing while the edit was in flight, which is known only now. f.mu is held.
func (a *attempt) notifyTyped(d *delivery) {
	if len(d.events) == 0 || a.c.ForUser {
		return
	}
	for _, r := range slices.Backward(a.f.revisions) {
		if r.Rev < d.events[0].rev {
			return
		}
		if r.Author == filetime.User {
			a.w.notify(a.f, "stale", "user")
			return
		}
	}
}

// prepare rebases the edit to the present text and sets up its delivery.
func (a *attempt) prepare() (plan, *delivery, bool, error) {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() {
		if err := a.w.refresh(f); err != nil {
			return plan{}, nil, false, err
		}
		if a.detour != nil && f.discardedBy(a.detour.first) {
			a.restart()
		}
	}
	if a.detour != nil {
		a.mended()
	}
	if !f.open() && a.tries > 0 && !a.closed {
		return plan{}, nil, false, errClosed
	}
	a.closed = a.closed || !f.open() || f.openedForEdit()
	if a.tries > 0 && a.e.Create && (f.open() || f.disk.exists) && f.text.Len() == 0 {
		// The editor made the file in an earlier try and then refused the text.
		a.e.Create, a.e.Base, a.e.Since, a.e.Rev = false, f.text, nil, f.rev
	}
	p, err := a.w.prepare(f, a.e)
	if err != nil {
		return p, nil, false, err
	}
	if len(p.set) == 0 && !a.e.Create && !a.e.Delete {
		return p, nil, true, nil // another author has made the same change already
	}
	if p = a.shape(p); len(p.set) == 0 && a.endKept {
		return p, nil, true, nil
	}
	if a.tries == 0 {
		a.first, a.mode = f.rev, f.disk.mode
	}
	if a.tries > 0 && a.repairs == 0 {
		a.typed = f.dirty() && !f.touched()
	}
	d := &delivery{base: p.before, set: p.set, ranges: a.ranges(p.before, p.set)}
	d.kept = a.keeping(d)
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

// send sends the edit and waits until the document's changes, or their absence, show the result.
func (a *attempt) send(ctx context.Context, p plan, d *delivery) (finding, *reply) {
	f := a.f
	a.tries++
	ask := Delivery{
		URI: f.uri, Version: p.version, Create: a.e.Create, Delete: a.e.Delete, Edits: d.ranges, Label: a.c.Label,
		Session: a.c.Session, Call: a.c.Call, Tool: a.c.Tool, Turn: a.c.Turn, Old: p.before, New: p.after, Save: a.closed,
	}
	replies := make(chan reply, 1)
	sent := a.w.o.Now()
	// Also in a cancelled turn the reply is waited for, so that it is known whether the edit landed.
	limit := max(a.deadline.Sub(sent), replyTimeout)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	go a.w.safely(func() {
		r, err := a.w.o.Editor.Apply(call, ask)
		if call.Err() == nil {
			replies <- reply{r.OK, r.Reason, r.Version, err}
		}
	})

	var got *reply
	settled, shown, acked := false, false, false
	after := 0 // the number of events when the reply came
	timer := time.NewTimer(limit)
	defer timer.Stop()
	cancelled := ctx.Done()
	for {
		f.mu.Lock()
		changed, open := f.changed, f.open()
		n := d.told()
		found, partly, traced := finding{}, false, false
		awaits := a.awaits(got)
		if !awaits && !acked {
			found = a.acknowledged(d, got)
			acked = a.named(got)
		}
		if found.verdict == absent && (len(d.events) > 0 || !open) {
			found = a.look(d)
			partly = found.verdict == absent && d.partly()
			traced = found.verdict == absent && a.traced(d)
		}
		f.mu.Unlock()
		switch {
		case got != nil && (got.err != nil || !got.applied):
			return found, got
		case awaits: // typing comes before it
		case got != nil && found.verdict != absent:
			return found, got
		case got != nil && n > after && open && !partly && !traced:
			return found, got // the next change does not show it
		case got != nil && !settled:
			settled = true
			f.mu.Lock()
			there := a.onDisk(p) || a.endOnly(d) && n > 0
			alike := a.endOnly(d)
			f.mu.Unlock()
			if there {
				return found, got
			}
			if alike {
				timer.Reset(echoTimeout)
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
				timer.Reset(echoTimeout)
			}
		case <-cancelled:
			if cancelled = nil; got != nil {
				timer.Reset(echoTimeout)
			}
		case <-changed:
			if got == nil {
				f.mu.Lock()
				now := a.look(d).verdict != absent
				f.mu.Unlock()
				if now && !shown { // a client that never replies is judged by its echo alone
					timer.Reset(echoTimeout)
				}
				shown = shown || now
			}
		case <-timer.C:
			return found, got
		}
	}
}

// judge decides about one try. f.mu is held.
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
		if a.detour == nil { // the history keeps it as it was sent, to match later changes of the same place
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
	if !refused && got != nil && a.endOnly(d) {
		a.w.endsTexts.Store(true)
		a.endKept, p.set, p.after = true, nil, p.before
		return a.landed(p, a.f.rev), true, nil
	}
	var never *RefusedError
	switch {
	case refused && errors.As(got.err, &never) && d.told() == 0 && a.repairs == 0:
		return filetime.LandedFile{}, false, refusedBy(a.f.path, never)
	case refused && unwritable().MatchString(got.words()) && d.told() == 0 && a.repairs == 0:
		return filetime.LandedFile{}, false, refusedBy(a.f.path, &RefusedError{Words: got.words()})
	case refused:
		a.refusals++
		a.refusal = got.reason
	case got == nil:
		return filetime.LandedFile{}, false, a.unknown("the editor did not answer")
	case a.traced(d), d.hidden():
		return filetime.LandedFile{}, false, a.unknown("the editor applied it, but it does not stand where it should")
	case d.told() == 0 && (a.w.o.Features.Plain || a.named(got)) && a.f.open(): // sent again it could be applied twice
		a.f.doc.held = true
		return filetime.LandedFile{}, false, a.f.doubt(heldReason, "the editor says that it applied the edit and has not told of it yet")
	case d.told() == 0:
		if a.silences++; a.silences > 1 {
			return filetime.LandedFile{}, false, a.unknown("the editor says that it applied the edit and does not show it")
		}
	}
	return filetime.LandedFile{}, false, nil
}

func (a *attempt) landed(p plan, rev uint64) filetime.LandedFile {
	f := a.f
	l := p.landed(f, true)
	l.Rev, l.Attempts, l.Created, l.Deleted, l.EndKept = rev, a.tries, a.e.Create, a.e.Delete, a.endKept
	if a.e.Delete {
		l.Set, l.After, l.Mode = allOf(l.Before), text.Text{}, a.mode
	}
	a.w.notify(f, "written", "agent")
	return l
}

// onDisk says that the disk has the edit: an editor may change a file without opening it. f.mu is held.
func (a *attempt) onDisk(p plan) bool {
	f := a.f
	if a.e.Delete {
		d, err := a.w.readDisk(f.path, 0)
		return err == nil && !d.exists
	}
	if f.open() {
		return false
	}
	d, err := a.w.readDisk(f.path, a.w.o.MaxFileBytes)
	return err == nil && d.exists && d.text.Equal(p.after)
}

func (a *attempt) landedOnDisk(p plan) filetime.LandedFile {
	f := a.f
	if a.e.Delete && f.open() { // some clients send no didClose for a document that went with its file
		a.w.withoutName(f.uri)
		a.w.documentClosed(f)
	}
	if !f.open() {
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

// exact is the change of events i to j of a finding: want if it leads to the same text, else the editor's, which may
// include unchanged words around.
func (d *delivery) exact(found finding, want text.Set) text.Set {
	if want.Apply(d.events[found.i].before).Equal(d.events[found.j-1].after) {
		return want
	}
	return composed(d.events[found.i:found.j])
}

// claim makes the revisions from first to last one by the agent: set, or their composition if that is nil.
func (a *attempt) claim(first, last uint64, set text.Set) {
	i, j := -1, -1
	for k, r := range a.f.revisions {
		if r.Rev == first {
			i = k
		}
		if r.Rev == last {
			j = k + 1
		}
	}
	if i >= 0 && j > i {
		if a.f.claim(i, j, a.c); set != nil {
			a.f.revisions[i].Set = set
		}
	}
}

// split makes two revisions of events that have the edit and typing in one change.
func (a *attempt) split(d *delivery) uint64 {
	f := a.f
	first, last := d.events[0], d.events[len(d.events)-1]
	between := d.set.Apply(d.base)
	rest := text.Diff(between, last.after)
	for i, r := range f.revisions {
		if r.Rev != first.rev {
			continue
		}
		mine := revisionOf(a.c, first.rev-1, d.set)
		theirs := filetime.Revision{Rev: last.rev, Set: rest, Author: filetime.User}
		j := i + len(d.events)
		f.revisions = append(append(f.revisions[:i:i], mine, theirs), f.revisions[min(j, len(f.revisions)):]...)
		return mine.Rev
	}
	return last.rev
}

// told counts the changes by the editor: the text with which a document is opened or closed proves nothing.
func (d *delivery) told() int {
	n := 0
	for _, e := range d.events {
		if !e.opened && !e.disk {
			n++
		}
	}
	return n
}

// partly says that the text has a part of the edit: an editor may send each place in its own notification.
func (d *delivery) partly() bool {
	r := text.Rebase(d.base, d.set, text.Minimize(d.base, composed(d.events)))
	return r.Coalesced > 0 && len(r.Conflicts) == 0 && len(r.Set) > 0
}

// traced says that text of the edit has been inserted, but not as the edit would: sent again it could be there twice.
// f.mu is held.
func (a *attempt) traced(d *delivery) bool {
	const enough = 4 // bytes that are not typed by chance
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

// hidden says that the edit, if it was applied, may be undetectable, because the editor sends one change for it and for
// typing in the same place.
func (d *delivery) hidden() bool {
	if !slices.ContainsFunc(d.events, func(e event) bool { return e.gathered }) {
		return false
	}
	theirs := text.Minimize(d.base, composed(d.events))
	return slices.ContainsFunc(d.set, func(e text.Edit) bool {
		return slices.ContainsFunc(theirs, func(t text.Edit) bool { return t.Start < e.End && t.End > e.Start })
	})
}

// scattered says that the runes of s are a subsequence of t.
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

// find looks for the edit in the events. It is incremental, since there may be much typing before a reply. f.mu is held.
func (a *attempt) find(d *delivery) finding {
	// The user's own undo may revert a misplaced edit too: then the edit comes after it.
	again := a.detour != nil || a.c.ForUser
	widest := max(len(d.set)+1, 8)
	closed := 1 + lastIndex(d.events, func(e event) bool { return e.disk }) // the editor has sent only those after that
	for d.searched < len(d.events) && (d.found.verdict == absent || again && d.found.verdict == landed) {
		from := d.searched
		for more := true; more; d.searched++ {
			e := d.events[d.searched]
			d.begin(e, a.reposition(e.before, d.ranges))
			more = e.part
		}
		found := finding{}
		if from >= max(closed, d.taken) { // most editors send an edit in a notification of its own
			if found = d.match(from, d.searched, false); found.verdict == absent && d.searched-from > 1 {
				found = d.match(from, d.searched, true)
			}
		}
		for j := from + 1; j <= d.searched; j++ {
			first := max(closed, j-widest, d.found.j, d.taken)
			// The fewest events first: with more of them, typing and an edit that deletes it may look like one. But the
			// rest of an edit of which a part is in the text is a match only if another author has made that part.
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

// match compares events i to j with the edit, or with the rest of it if a part is in the text before.
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

// begin adds a start at the next event.
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

// within says that after has the edit and typing: its distance to the edited text is less than to the text before, no
// change touches what the edit inserts, and what it deletes is absent. Lines may be so alike that the deletion of the
// wrong one looks like that of the right one and a changed word.
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
			// Typing at the end of an inserted word does not touch it.
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

// reposition converts the sent positions to offsets of another text.
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

// grown is by how many bytes a set makes a text grow, without carriage returns, which an editor may add or remove.
func grown(before text.Text, s text.Set) int {
	n := 0
	for _, e := range s {
		old := before.Slice(e.Start, e.End)
		n += len(e.New) - strings.Count(e.New, "\r") - len(old) + strings.Count(old, "\r")
	}
	return n
}

// removed is how many bytes a set deletes.
func removed(s text.Set) int {
	n := 0
	for _, e := range s {
		n += e.End - e.Start
	}
	return n
}

// blind says that the client does not compare versions: it gets edits without one, the document has version 0, which
// some clients never check, or it is deleted, which has no version.
func (a *attempt) blind() bool {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	have := a.w.o.Features
	return a.f.open() && (a.f.doc.unversioned || have.Plain && (!have.Versions || a.f.doc.version == 0 || a.e.Delete))
}

// waitForGap waits for a gap in the typing, at most until a time, and says whether there was one.
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
	l.Attempts, l.Already, l.EndKept = a.tries, !a.endKept, a.endKept
	return l
}

// overdue ends an attempt whose time is up. A repair continues in the background.
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
		return a.unknown("the editor put it at the wrong place, and the user's typing has left no gap to repair that yet")
	}
	if a.first == a.f.rev && a.refusal != "" {
		return a.timeout(fmt.Sprintf("was refused by the editor (%q, %d tries)", a.refusal, a.tries))
	}
	return a.timeout(fmt.Sprintf("found no gap between the user's keystrokes (%d tries)", a.tries))
}

// refusedBy is the error of an edit that the editor cannot make.
func refusedBy(path string, by *RefusedError) error {
	return fail(path, filetime.WriteError, "refused", "The editor refused the edit of %s: %s\nNothing of it is in the text. Asking again "+
		"does not help; tell the user what you wanted to change.", path, strings.TrimSpace(by.Words))
}

func (a *attempt) timeout(what string) error {
	return a.f.fail(filetime.Timeout, "editor_busy", "The edit of %s %s in %v. Nothing of it is in the text; try again.", a.f.path, what, sendBudget)
}

func (a *attempt) unknown(why string) error { return a.f.doubt("no_echo", why) }

// doubt is the error of an edit of which it is not known whether it landed. f.mu is held.
func (f *file) doubt(reason, why string) error {
	return f.fail(filetime.Unknown, reason, "It is not known whether the edit of %s landed: %s. Read the file before going on.", f.path, why)
}

// save saves a document that was opened only to apply an edit, and says why it was not; see filetime.LandedFile.Stale.
func (w *Workspace) save(ctx context.Context, f *file) (stale string) {
	f.mu.Lock()
	uri, open := f.uri, f.open()
	f.mu.Unlock()
	if !open {
		return ""
	}
	why := "the editor does not save documents when asked"
	if w.o.Features.Save {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendBudget)
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
