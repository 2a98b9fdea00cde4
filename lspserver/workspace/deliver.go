package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
)

const (
	// sendBudget is how long an edit is sent again.
	sendBudget = 10 * time.Second
	// replyTimeout is the timeout of the reply to the last try, and how much longer a call waits for a revert.
	replyTimeout = 4 * time.Second
	// echoTimeout is how long a reply is waited for after the document shows the edit, or the document after the cancel of a turn.
	echoTimeout = 2 * time.Second
	// After maxQuickRefusals refusals sending waits for a gap in the typing, of minGap at least.
	maxQuickRefusals = 5
	minGap           = 150 * time.Millisecond
	// blindGap is how long a document must have been quiet before it gets an edit without a version that would be checked.
	blindGap = 300 * time.Millisecond
	// revertTime is how long the revert of an edit that landed at the wrong place goes on after its call has been answered.
	revertTime = 10 * time.Minute
	// passTimeout is the timeout of the change where the editor has probably passed over the edit.
	passTimeout = 3 * time.Second
	// waitTime is after what time a person is told that an edit waits for the change.
	waitTime = 5 * time.Second
	// heldTime is the timeout of the change after a reply that says "applied": editors hold changes back while somebody types.
	heldTime = 2 * time.Minute
	// quietTimeout is the timeout of the change in a client that has sent nothing about a document for quietTime.
	quietTime    = 30 * time.Second
	quietTimeout = 12 * time.Second
)

// delivery is an edit in flight: what was sent, for which text, and what has come back since.
type delivery struct {
	plan
	ranges []TextEdit
	events []follow.Change
	reply  *reply
	state  follow.State
	trail  follow.Trail
	kept   *delivery        // the same edit for an editor that keeps the final line end, see look
	fed    int              // how many of the events the state has been fed with
	acked  bool             // the version that the reply names has been looked at
	found  *follow.Follower // the one that has found the edit, or nil
	late   func(over bool)  // lateEcho, once its call has returned
	unsure Unsure
}

// commitEditor lands an edit in the editor: it sends the edit for the version that it was computed for, takes the reply
// as a hint, and the echo, the document's own changes, as proof. If the document has changed meanwhile, the edit is
// rebased and sent again; if it was applied at old coordinates, it is reverted and sent again.
func (w *Workspace) commitEditor(ctx context.Context, f *file, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	a := &attempt{w: w, f: f, e: e, c: c, sent: &delivery{}}
	if err := w.takeSlot(ctx, f, c); err != nil {
		return filetime.LandedFile{}, err
	}
	a.deadline = w.o.Now().Add(sendBudget)
	l, err := a.run(ctx)
	switch {
	case errors.Is(err, errReverting):
		err = a.expired()
		go a.revertLater()
	default:
		f.release(err)
	}
	if err == nil && l.Applied && !e.Delete && a.openedForEdit() {
		l.Stale = w.save(ctx, f)
	}
	return l, err
}

// release gives the document free for the next edit. One that has ended as held goes on: it belongs to whoever hears of the document from
// then on, see lateEcho, and nobody else may touch it.
func (f *file) release(err error) {
	if e, ok := errors.AsType[*filetime.Error](err); !ok || e.Reason != filetime.Held {
		<-f.inFlight
	}
}

// takeSlot waits for the edit that is on its way to the document, or until the time of this one is up.
func (w *Workspace) takeSlot(ctx context.Context, f *file, c filetime.Change) error {
	select {
	case f.inFlight <- struct{}{}:
		return nil
	default:
	}
	defer c.Wait()()
	var waited [2]time.Duration // for an edit that is being sent, and for one that the editor has yet to tell of
	for {
		f.mu.Lock()
		changed, ahead, left := f.changed, 0, sendBudget-waited[0]
		if d := f.out; d != nil && (d.state == follow.Held || d.state == follow.Passed) {
			ahead, left = 1, w.patience(waited[1])
		}
		f.mu.Unlock()
		if left <= 0 {
			return fail(f.path, filetime.Timeout, filetime.Held, "%s was not changed: the editor has not shown the previous edit yet. "+
				"Nothing of this one is in the text; try again later.", f.path)
		}
		timer, since := time.NewTimer(left), w.o.Now()
		select {
		case f.inFlight <- struct{}{}:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		waited[ahead] += w.o.Now().Sub(since)
	}
}

// patience is how much longer a change is waited for that the editor has not told of: editors hold changes back while somebody types, and one
// that tells of nothing else either may never tell of it.
func (w *Workspace) patience(waited time.Duration) time.Duration {
	quiet := w.o.Now().Sub(time.Unix(0, w.traffic.heardAt.Load()))
	if quiet >= quietTime {
		return min(quietTimeout, w.o.Held) - waited
	}
	return min(w.o.Held-waited, max(quietTime-quiet, quietTimeout-waited))
}

// errReverting says that the time of a misplaced edit is up before it could be reverted.
var errReverting = errors.New("the revert goes on")

// openedForEdit reports that the document is open only because of the edit, or of a request before it, and so is to be saved, unless
// something was typed into it. An editor may add or remove the line end at the end of the text.
func (a *attempt) openedForEdit() bool {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !a.closed && !f.openedForEdit() {
		return false
	}
	typed := a.typed || strings.TrimRight(text.Unified(f.Text()), "\n") != strings.TrimRight(text.Unified(a.sent.after), "\n")
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

	tries   int
	refused refusals
	first   uint64 // the revision of the first try
	rtt     time.Duration
	sent    *delivery // of the last try
	mode    fs.FileMode
	closed  bool      // it was not open, so it is to be saved
	endKept bool      // the editor keeps a final line end that the edit has none of
	typed   bool      // into a document that was opened for the edit
	back    *reversal // nil if nothing was misplaced
}

// refusals are what the editor has shown of an edit that is not in the text.
type refusals struct {
	said     int    // how often it has refused the edit
	reason   string // that of the last one
	requests int    // how often a request after its yes has shown that the edit is not there
}

// reply is the editor's answer to one try.
type reply struct {
	applied bool
	reason  string
	landed  *int32 // the version that it made, where the client promises to name it
	err     error
}

// run sends the edit until it has landed or its time is up.
func (a *attempt) run(ctx context.Context) (filetime.LandedFile, error) {
	for {
		switch gap := max(3*a.rtt, minGap); {
		case a.blind():
			if !a.waitForGap(ctx, blindGap, a.deadline) && ctx.Err() == nil {
				return filetime.LandedFile{}, a.overdue()
			}
		case a.refused.said >= maxQuickRefusals:
			// With a limit: without any gap, some try must hit the moment between two keys.
			a.waitForGap(ctx, gap, a.w.o.Now().Add(2*gap))
		}
		if err := ctx.Err(); err != nil && !a.reverting() {
			return filetime.LandedFile{}, context.Cause(ctx)
		}
		if a.tries > 0 && !a.w.o.Now().Before(a.deadline) {
			return filetime.LandedFile{}, a.overdue()
		}
		d, done, err := a.prepare()
		switch {
		case errors.Is(err, errMisplaced):
			if err := a.revertOnDisk(ctx); err != nil {
				return filetime.LandedFile{}, err
			}
			continue
		case err != nil:
			return filetime.LandedFile{}, err
		case done:
			a.f.mu.Lock()
			defer a.f.mu.Unlock()
			l := d.landed(a.f, true)
			l.Attempts, l.Already, l.EndKept = a.tries, !a.endKept, a.endKept
			return l, nil
		}
		a.sent = d
		a.send(ctx, d)
		a.f.mu.Lock()
		l, done, err := a.judge(d)
		if d.late == nil {
			a.f.out = nil
		}
		a.notifyTyped(d)
		a.f.mu.Unlock()
		if done || err != nil {
			return l, err
		}
		if d.reply != nil && errors.Is(d.reply.err, ErrGone) {
			return filetime.LandedFile{}, ErrGone
		}
	}
}

// notifyTyped notifies of typing while the edit was in flight, which is known only now. f.mu is held.
func (a *attempt) notifyTyped(d *delivery) {
	if len(d.events) == 0 || a.c.ForUser {
		return
	}
	for _, r := range slices.Backward(a.f.All()) {
		if r.Rev < d.events[0].Rev {
			return
		}
		if r.Author == filetime.User {
			a.w.notify(a.f, "stale", "user")
			return
		}
	}
}

// prepare rebases the edit to the present text and sets up its delivery. What is misplaced is reverted first.
func (a *attempt) prepare() (*delivery, bool, error) {
	f := a.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open() {
		if err := a.w.refresh(f); err != nil {
			return &delivery{}, false, err
		}
	}
	if a.back != nil {
		p, err := a.planRevert()
		if err != nil {
			return &delivery{plan: p}, false, err
		}
		if a.reverting() {
			return a.delivery(p), false, nil
		}
	}
	if !f.open() && a.tries > 0 && !a.closed {
		return &delivery{}, false, errClosed
	}
	a.closed = a.closed || !f.open() || f.openedForEdit()
	if a.tries > 0 && a.e.Create && (f.open() || f.disk.exists) && f.Text().Len() == 0 {
		// The editor made the file in an earlier try and then refused the text.
		a.e.Create, a.e.Base, a.e.Since, a.e.Rev = false, f.Text(), nil, f.Rev()
	}
	p, err := a.w.prepare(f, a.e)
	if err != nil {
		return &delivery{plan: p}, false, err
	}
	if len(p.set) == 0 && !a.e.Create && !a.e.Delete {
		return &delivery{plan: p}, true, nil // another author has made the same change already
	}
	if p = a.shape(p); len(p.set) == 0 && a.endKept {
		return &delivery{plan: p}, true, nil
	}
	if a.tries == 0 {
		a.first, a.mode = f.Rev(), f.disk.mode
	} else {
		a.typed = f.dirty() && !f.touched()
	}
	return a.delivery(p), false, nil
}

// delivery sets up the delivery of a plan: from now on the changes of the document are followed. f.mu is held.
func (a *attempt) delivery(p plan) *delivery {
	d := &delivery{plan: p, ranges: a.ranges(p.before, p.set), trail: follow.NewTrail(p.before, p.set)}
	d.kept = a.keeping(d)
	a.f.out = d
	return d
}

func (a *attempt) ranges(base text.Text, set text.Set) []TextEdit {
	enc := a.w.o.Features.Encoding
	out := make([]TextEdit, len(set))
	for i, e := range set {
		out[i] = TextEdit{Range: Range{base.Position(e.Start, enc), base.Position(e.End, enc)}, New: e.New}
	}
	return out
}

// send sends the edit, and waits until the reply and the document's changes, or their absence, show the result.
func (a *attempt) send(ctx context.Context, d *delivery) {
	a.tries++
	ask := Delivery{
		URI: a.f.uri, Version: d.version, Create: a.e.Create, Delete: a.e.Delete, Edits: d.ranges, Label: a.c.Label,
		Session: a.c.Session, Call: a.c.Call, Tool: a.c.Tool, Turn: a.c.Turn, Old: d.before, New: d.after, Save: a.closed,
	}
	replies := make(chan reply, 1)
	began := a.w.o.Now()
	// Also in a cancelled turn the reply is waited for, so that it is known whether the edit landed.
	limit := max(a.deadline.Sub(began), replyTimeout)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	go a.w.safely(func() {
		r, err := a.w.o.Editor.Apply(call, ask)
		if call.Err() == nil {
			replies <- reply{r.OK, r.Reason, r.Version, err}
		}
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	waits, waiting := func() {}, sync.OnceFunc(func() { a.w.o.Waits(a.c, a.f.path) })
	defer func() { waits() }()
	for cancelled := ctx.Done(); ; {
		a.f.mu.Lock()
		changed, was := a.f.changed, d.state
		a.feed(d)
		now := d.state
		a.f.mu.Unlock()
		if now.Over() {
			return
		}
		if now != was { // a client that never replies is judged by its changes alone
			timer.Reset(echoTimeout)
		}
		select {
		case r := <-replies:
			a.rtt = max(a.rtt, a.w.o.Now().Sub(began))
			a.f.mu.Lock()
			a.feed(d)
			a.answered(d, &r)
			began = a.w.o.Now()
			if now = d.state; now == follow.Passed {
				timer.Reset(passTimeout)
			} else {
				timer.Reset(min(a.holds(ctx, d, 0), waitTime))
			}
			a.f.mu.Unlock()
			if now.Over() {
				return
			}
			waits = a.c.Wait()
		case <-cancelled:
			if cancelled = nil; d.reply != nil {
				timer.Reset(echoTimeout)
			}
		case <-changed:
		case <-timer.C:
			a.f.mu.Lock()
			more := a.holds(ctx, d, a.w.o.Now().Sub(began))
			if d.state != follow.Held || more <= 0 {
				d.state = d.state.Next(follow.TimeUp)
				a.f.mu.Unlock()
				return
			}
			a.f.mu.Unlock()
			timer.Reset(more)
			waiting()
		}
	}
}

// holds is how much longer the change is waited for that an editor has not told of after its yes. f.mu is held.
func (a *attempt) holds(ctx context.Context, d *delivery, waited time.Duration) time.Duration {
	if ctx.Err() != nil || a.endOnly(d) {
		return echoTimeout - waited
	}
	return a.w.patience(waited)
}

// feed takes in the changes that have come since the last time. f.mu is held.
func (a *attempt) feed(d *delivery) {
	if a.awaits(d.reply) || d.state.Over() { // typing comes before it
		return
	}
	if a.named(d.reply) && !d.acked {
		d.acked, d.fed = true, 0
		if a.acknowledged(d) {
			d.state = follow.Landed
			return
		}
	}
	if d.fed == len(d.events) {
		return
	}
	news := d.events[d.fed:]
	d.fed = len(d.events)
	in := a.look(d)
	switch told := follow.AnyTold(news) && a.f.open(); {
	case in == follow.Without && !told && slices.ContainsFunc(news, func(e follow.Change) bool { return e.Kind == follow.Requested }):
		in = follow.Request
	case in == follow.Without && !told: // the text with which a document is opened or closed proves nothing
		return
	}
	d.state = d.state.Next(in)
}

// answered takes in a reply. f.mu is held.
func (a *attempt) answered(d *delivery, r *reply) {
	d.reply = r
	switch {
	case r.err != nil:
		d.state = d.state.Next(follow.Broken)
	case !r.applied:
		d.state = d.state.Next(follow.No)
	case a.named(r): // the version decides, also where the document seems to have the edit
		d.state = follow.Held
	default:
		d.state = d.state.Next(follow.Yes)
		close(a.f.changed) // those behind it have another patience now, see takeSlot
		a.f.changed = make(chan struct{})
		closed := slices.ContainsFunc(d.events, func(e follow.Change) bool { return e.Kind == follow.OnDisk })
		switch told := follow.AnyTold(d.events) && !closed; { // one that is opened again has versions of its own
		case d.state == follow.Held && (a.onDisk(d.plan) || a.endOnly(d) && told):
			d.state = follow.Landed
		case d.state == follow.Held && told && a.f.open():
			d.state = follow.Passed
		}
	}
}

// judge decides about one try. f.mu is held.
func (a *attempt) judge(d *delivery) (filetime.LandedFile, bool, error) {
	p, s, r := d.plan, d.state, d.reply
	applied := r != nil && r.err == nil && r.applied
	switch {
	case s == follow.Landed && d.found != nil && (a.reverting() || !a.clean(d)):
		a.misplace(d)
		return filetime.LandedFile{}, false, nil
	case s == follow.Landed && d.found != nil:
		first, last := a.own(d)
		a.f.Claim(first.Rev, last.Rev, a.c)
		if !a.c.ForUser && a.f.undone(d.events[d.found.To:], first.Rev) {
			return filetime.LandedFile{}, false, a.f.fail(filetime.EditConflict, "undone", "The edit of %s landed, and the user took it back in the "+
				"editor at once. It is not in the text. Do not make it again unasked; ask what is wanted instead.", a.f.path)
		}
		p.before, p.after = first.Before, last.After
		if typed := follow.Composed(d.events[:d.found.From]); len(typed) > 0 {
			p.theirs, p.by = text.Canonical(a.e.Base, text.Compose(p.theirs, typed)), p.by.Plus(filetime.User)
		}
		// The history keeps it as it was sent, to match later changes of the same place.
		p.set = text.Canonical(p.before, follow.Composed(d.events[d.found.From:d.found.To]))
		return a.landed(p, last.Rev), true, nil
	case s == follow.Misplaced && d.found != nil:
		a.strayed(d)
		return filetime.LandedFile{}, false, nil
	case applied && a.onDisk(p):
		return a.landedOnDisk(p), true, nil
	case applied && a.endOnly(d):
		a.w.endsTexts.Store(true)
		a.endKept, p.set, p.after = true, nil, p.before
		return a.landed(p, a.f.Rev()), true, nil
	case s == follow.Landed, s == follow.Misplaced: // and closed without it
		return filetime.LandedFile{}, false, a.unknown("the document was closed meanwhile")
	case s == follow.Held && a.f.open(): // sent again it could be applied twice
		d.late, d.unsure = func(over bool) { a.lateEcho(d, over) }, Unsure{a.c.Session, a.f.path, a.f.uri, a.c.Call, a.c.Turn}
		return filetime.LandedFile{}, false, a.f.doubt(filetime.Held, "the editor says that it applied the edit and has not told of it yet")
	case r == nil:
		return filetime.LandedFile{}, false, a.unknown("the editor did not answer")
	case s == follow.Unknown, s == follow.Held:
		return filetime.LandedFile{}, false, a.unknown("the editor applied it, but it does not stand where it should")
	case applied: // the next change lacks it
		if !follow.AnyTold(d.events) {
			a.refused.requests++ // a request of the client has shown it
		}
		if a.refused.requests > 1 {
			return filetime.LandedFile{}, false, a.unknown("the editor says that it applied it, and does not show it")
		}
		return filetime.LandedFile{}, false, nil
	}
	var never *RefusedError
	words := r.reason
	if words == "" && r.err != nil {
		words = r.err.Error()
	}
	if told := follow.AnyTold(d.events) || a.reverting(); !told && (errors.As(r.err, &never) || unwritable().MatchString(words)) {
		if never == nil {
			never = &RefusedError{Words: words}
		}
		return filetime.LandedFile{}, false, refusedBy(a.f.path, never)
	}
	a.refused.said++
	a.refused.reason = r.reason
	return filetime.LandedFile{}, false, nil
}

// lateEcho judges an edit whose call has returned before it was known whether it landed; over says that no change will tell any more. Till
// then the document stays taken. f.mu is held.
func (a *attempt) lateEcho(d *delivery, over bool) {
	if a.feed(d); over && !d.state.Over() {
		d.state = follow.Unknown
	}
	if !d.state.Over() {
		return
	}
	w, f := a.w, a.f
	l, done, err := a.judge(d)
	f.out, d.late = nil, nil
	a.notifyTyped(d)
	reverting, mute := a.reverting(), err != nil || a.back != nil && a.back.lingers
	if !reverting {
		<-f.inFlight
	}
	go w.safely(func() {
		if reverting {
			a.revertLater()
		}
		if mute { // what its call has said still holds, or nobody waits for it
			return
		}
		var out filetime.Landed
		if done {
			if !a.e.Delete && a.openedForEdit() {
				l.Stale = w.save(context.Background(), f)
			}
			w.noteWritten(l.Path, l.After)
			out.Files = append(out.Files, l)
		}
		c := a.c
		c.Files = []filetime.FileEdit{a.e}
		w.o.Late(c, out)
	})
}

// own gives the edit that was found revisions of its own, and the first and last of its events. f.mu is held.
func (a *attempt) own(d *delivery) (first, last follow.Change) {
	if i := d.found.From; d.found.Mixed {
		a.part(d, i, d.found.To, d.found.Start)
		d.found.To, d.found.Mixed = i+1, false
	}
	return d.events[d.found.From], d.events[d.found.To-1]
}

// look takes the changes in: the edit as it was sent, else as an editor shows it that keeps the final line end. f.mu is held.
func (a *attempt) look(d *delivery) follow.Input {
	placed := func(down int) follow.Placing {
		return func(t text.Text) []text.Set { return a.reposition(t, d.ranges, down) }
	}
	place := placed(0)
	again := a.back != nil || a.c.ForUser // the user's own undo may take back the same: then the edit comes after it
	was := d.trail.Len()
	d.trail.Follow(d.events, place, again)
	in, found := d.trail.Shows()
	if (found == nil || found.Mixed) && d.kept != nil && len(d.kept.set) > 0 {
		d.kept.trail.Follow(d.events, place, again)
		if kept, as := d.kept.trail.Shows(); kept == follow.Complete {
			a.endKept = true
			a.w.endsTexts.Store(true)
			d.set, d.ranges, d.trail, d.kept = d.kept.set, d.kept.ranges, d.kept.trail, nil
			in, found = kept, as
		}
	}
	if (in == follow.Without || in == follow.Met) && !d.trail.Straying() {
		if in = a.partTyping(d, was, placed, in); in == follow.Elsewhere {
			found = d.found
		}
	}
	if found != nil || !a.f.open() {
		d.found = found
	}
	return in
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
		a.f.Claim(f.Rev(), f.Rev(), a.c)
	}
	l := a.landed(p, f.Rev())
	l.Source = "disk"
	a.closed = false
	return l
}

// reposition converts the sent positions, so many lines further down, to offsets of another text: cut down where they are inside of
// characters, and where that differs widened, too. A widened deletion could as well be a person's.
func (a *attempt) reposition(t text.Text, edits []TextEdit, down int) []text.Set {
	enc := a.w.o.Features.Encoding
	var cut, wide text.Set
	at, differ := 0, false
	for _, e := range edits {
		from, to := e.Range.Start, e.Range.End
		from.Line, to.Line = from.Line+down, to.Line+down
		start, _ := t.Offset(from, enc)
		end, bad := t.Offset(to, enc)
		if start < at || end < start {
			return nil
		}
		at = end
		cut = append(cut, text.Edit{Start: start, End: end, New: e.New})
		if bad && e.New != "" && from != to && inside(t, to, end) {
			_, size := utf8.DecodeRuneInString(t.Slice(end, min(end+utf8.UTFMax, t.Len())))
			end, differ = end+size, true
		}
		wide = append(wide, text.Edit{Start: start, End: end, New: e.New})
	}
	if differ && wide.Validate(t) == nil {
		return []text.Set{cut, wide}
	}
	return []text.Set{cut}
}

// partTyping parts an event from i on that is made up of typing and the edit at the places that were sent, and says what the events show then.
// f.mu is held.
func (a *attempt) partTyping(d *delivery, i int, placed func(down int) follow.Placing, in follow.Input) follow.Input {
	for ; i < len(d.events); i++ {
		e := d.events[i]
		if e.Kind != follow.Told {
			continue
		}
		typed := follow.TypedBefore(e, d.before, d.set, placed)
		if typed == nil {
			typed = follow.LaidOver(e, text.Rebase(d.before, d.set, follow.Composed(d.events[:i])), placed(0))
			if typed != nil && len(strings.TrimSpace(d.ranges[0].New)) < follow.Enough-1 { // at one place only
				in = follow.Met // somebody may have typed it there by chance
				continue
			}
		}
		if typed != nil {
			a.part(d, i, i+1, typed)
			d.kept, d.found = nil, d.trail.Stray(d.events, i+1)
			return follow.Elsewhere
		}
	}
	return in
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

// overdue ends an attempt whose time is up. A revert goes on in the background.
func (a *attempt) overdue() error {
	if a.reverting() && !a.back.lingers {
		return errReverting
	}
	return a.expired()
}

func (a *attempt) expired() error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	if a.reverting() {
		return a.unknown("the editor put it at the wrong place, and the user's typing has left no gap to take it back yet")
	}
	if a.first == a.f.Rev() && a.refused.reason != "" {
		return a.timeout(fmt.Sprintf("was refused by the editor (%q, %d tries)", a.refused.reason, a.tries))
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
