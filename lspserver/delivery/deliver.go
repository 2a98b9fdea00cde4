package delivery

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
	// SendBudget is how long an edit is sent again.
	SendBudget = 10 * time.Second
	// ReplyTimeout is the timeout of the reply to the last try, and how much longer a call waits
	// for a revert.
	ReplyTimeout = 4 * time.Second
	// EchoTimeout is how long a reply is waited for after the document shows the edit, or the
	// document after the cancel of a turn.
	EchoTimeout = 2 * time.Second
	// After maxQuickRefusals refusals sending waits for a gap in the typing, of minGap at least.
	maxQuickRefusals = 5
	minGap           = 150 * time.Millisecond
	// BlindGap is how long a document must have been quiet before it gets an edit without a version
	// that would be checked.
	BlindGap = 300 * time.Millisecond
	// RevertTime is how long the revert of an edit that landed at the wrong place goes on after its
	// call has been answered.
	RevertTime = 10 * time.Minute
	// passTimeout is the timeout of the change where the editor has probably passed over the edit.
	passTimeout = 3 * time.Second
	// WaitTime is after what time a person is told that an edit waits for the change.
	WaitTime = 5 * time.Second
	// HeldTime is the timeout of the change after a reply that says "applied": editors hold changes
	// back while somebody types.
	HeldTime = 2 * time.Minute
	// QuietTime is after what time a client counts as quiet that has sent nothing about a document.
	QuietTime = 30 * time.Second
	// QuietTimeout is the timeout of the change in a quiet client.
	QuietTimeout = 12 * time.Second
)

// try is an edit in flight: what was sent, for which text, and what has come back since.
type try struct {
	Plan
	ranges []TextEdit
	events []follow.Change
	reply  *reply
	state  follow.State
	trail  follow.Trail
	kept   *try             // the same edit for an editor that keeps the final line end, see look
	fed    int              // how many of the events the state has been fed with
	acked  bool             // the version that the reply names has been looked at
	found  *follow.Follower // the one that has found the edit, or nil
	late   func(over bool)  // lateEcho, once its call has returned
	unsure Unsure           // what it is told as after that
}

// Deliver lands an edit in the editor: it sends the edit for the version that it was computed for,
// takes the reply as a hint, and the echo, the document's own changes, as proof. If the document
// has changed meanwhile, the edit is rebased and sent again; if it was applied at old coordinates,
// it is reverted and sent again.
func (to *Client) Deliver(ctx context.Context, f Document, e filetime.FileEdit, c filetime.Change) (filetime.LandedFile, error) {
	a := &attempt{to: to, f: f, e: e, c: c, sent: &try{}}
	if err := to.Take(ctx, f, c); err != nil {
		return filetime.LandedFile{}, err
	}
	a.deadline = to.Now().Add(SendBudget)
	l, err := a.run(ctx)
	if errors.Is(err, errReverting) {
		err = a.expired()
		go a.revertLater()
	} else {
		f.end(err)
	}
	if err == nil && l.Applied && !e.Delete && a.openedForEdit() {
		l.Stale = to.save(ctx, f)
	}
	return l, err
}

// end gives the document free for the next edit. One that has ended as held goes on: it belongs to
// whoever hears of the document from then on, see lateEcho, and nobody else may touch it.
func (f Document) end(err error) {
	if e, ok := errors.AsType[*filetime.Error](err); !ok || e.Reason != filetime.Held {
		<-f.inFlight
	}
}

// Take waits for the edit that is on its way to the document, or until the time of this one is up.
func (to *Client) Take(ctx context.Context, f Document, c filetime.Change) error {
	select {
	case f.inFlight <- struct{}{}:
		return nil
	default:
	}
	defer c.Wait()()
	var waited [2]time.Duration // for an edit that is being sent, and for one that the editor has yet to tell of
	for {
		f.Lock()
		changed, ahead, left := f.changed, 0, SendBudget-waited[0]
		if f.out != nil && f.out.state.Applied() {
			ahead, left = 1, to.patience(waited[1])
		}
		f.Unlock()
		if left <= 0 {
			return fail(f.Path, filetime.Timeout, filetime.Held, "%s was not changed: the editor has not shown the previous edit yet. "+
				"Nothing of this one is in the text; try again later.", f.Path)
		}
		since := to.Now()
		select {
		case f.inFlight <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-time.After(left):
		}
		waited[ahead] += to.Now().Sub(since)
	}
}

// patience is how much longer a change is waited for that the editor has not told of: editors hold
// changes back while somebody types, and one that tells of nothing else either may never tell of
// it.
func (to *Client) patience(waited time.Duration) time.Duration {
	quiet := to.Now().Sub(time.Unix(0, to.heardAt.Load()))
	if quiet >= QuietTime {
		return min(QuietTimeout, to.Held) - waited
	}
	return min(to.Held-waited, max(QuietTime-quiet, QuietTimeout-waited))
}

// errReverting says that the time of a misplaced edit is up before it could be reverted.
var errReverting = errors.New("the revert goes on")

// openedForEdit reports that the document is open only because of the edit, or of a request before
// it, and so is to be saved, unless something was typed into it. An editor may add or remove the
// line end at the end of the text.
func (a *attempt) openedForEdit() bool {
	f := a.f
	f.Lock()
	defer f.Unlock()
	if !a.closed && !f.State().ForEdit {
		return false
	}
	typed := a.typed || strings.TrimRight(text.Unified(f.Text()), "\n") != strings.TrimRight(text.Unified(a.sent.After), "\n")
	if f.open() && typed {
		f.Typed()
	}
	return !f.open() || !typed
}

// attempt is the delivery of one edit, in one or more tries.
type attempt struct {
	to       *Client
	f        Document
	e        filetime.FileEdit
	c        filetime.Change
	deadline time.Time

	tries   int
	refused refusals
	first   uint64 // the revision of the first try
	rtt     time.Duration
	sent    *try // of the last try
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
	Applied
	err error
}

// yes says that the editor has applied it, as it says.
func (r *reply) yes() bool { return r != nil && r.err == nil && r.OK }

// run sends the edit until it has landed or its time is up.
func (a *attempt) run(ctx context.Context) (none filetime.LandedFile, _ error) {
	for {
		switch gap := max(3*a.rtt, minGap); {
		case a.blind():
			if !a.waitForGap(ctx, BlindGap, a.deadline) && ctx.Err() == nil {
				return none, a.overdue()
			}
		case a.refused.said >= maxQuickRefusals:
			// With a limit: without any gap, some try must hit the moment between two keys.
			a.waitForGap(ctx, gap, a.to.Now().Add(2*gap))
		}
		if err := ctx.Err(); err != nil && !a.reverting() {
			return none, context.Cause(ctx)
		}
		if a.tries > 0 && !a.to.Now().Before(a.deadline) {
			return none, a.overdue()
		}
		d, done, err := a.prepare()
		switch {
		case errors.Is(err, errMisplaced):
			if err := a.revertOnDisk(ctx); err != nil {
				return none, err
			}
			continue
		case err != nil:
			return none, err
		case done:
			a.f.Lock()
			defer a.f.Unlock()
			l := d.Landed(a.f.Path, a.f.Rev(), true)
			l.Attempts, l.Already, l.EndKept = a.tries, !a.endKept, a.endKept
			return l, nil
		}
		a.sent = d
		a.send(ctx, d)
		a.f.Lock()
		l, err := a.judge(d)
		if d.late == nil {
			a.f.out = nil
		}
		a.notifyTyped(d)
		a.f.Unlock()
		switch {
		case err != nil:
			return none, err
		case l != nil:
			return *l, nil
		case d.reply != nil && errors.Is(d.reply.err, ErrGone):
			return none, ErrGone
		}
	}
}

// notifyTyped notifies of typing while the edit was in flight, which is known only now. f is
// locked.
func (a *attempt) notifyTyped(d *try) {
	if len(d.events) == 0 || a.c.ForUser {
		return
	}
	for _, r := range slices.Backward(a.f.All()) {
		if r.Rev < d.events[0].Rev {
			return
		}
		if r.Author == filetime.User {
			a.f.Notify("stale", "user")
			return
		}
	}
}

// prepare rebases the edit to the present text and sets up its delivery. What is misplaced is
// reverted first.
func (a *attempt) prepare() (*try, bool, error) {
	f := a.f
	f.Lock()
	defer f.Unlock()
	if !f.open() {
		if err := f.Refresh(); err != nil {
			return nil, false, err
		}
	}
	if a.back != nil {
		p, err := a.planRevert()
		if err != nil {
			return nil, false, err
		}
		if a.reverting() {
			return a.try(p), false, nil
		}
	}
	if !f.open() && a.tries > 0 && !a.closed {
		return nil, false, ErrClosed
	}
	a.closed = a.closed || !f.open() || f.State().ForEdit
	if a.tries > 0 && a.e.Create && (f.open() || f.State().Exists) && f.Text().Len() == 0 {
		// The editor made the file in an earlier try and then refused the text.
		a.e.Create, a.e.Base, a.e.Since, a.e.Rev = false, f.Text(), nil, f.Rev()
	}
	p, err := f.Prepare(a.e)
	if err != nil {
		return nil, false, err
	}
	if len(p.Set) == 0 && !a.e.Create && !a.e.Delete {
		return &try{Plan: p}, true, nil // another author has made the same change already
	}
	if p = a.shape(p); len(p.Set) == 0 && a.endKept {
		return &try{Plan: p}, true, nil
	}
	if a.tries == 0 {
		a.first, a.mode = f.Rev(), f.State().Mode
	} else {
		a.typed = f.State().TypedFirst
	}
	return a.try(p), false, nil
}

// try sets up the try of a plan: from now on the changes of the document are followed. f is locked.
func (a *attempt) try(p Plan) *try {
	d := &try{
		Plan: p, ranges: a.ranges(p.Before, p.Set), trail: follow.NewTrail(p.Before, p.Set),
		unsure: Unsure{a.c.Session, a.f.Path, a.f.State().URI, a.c.Call, a.c.Turn},
	}
	d.kept = a.keeping(d)
	a.f.out = d
	return d
}

func (a *attempt) ranges(base text.Text, set text.Set) []TextEdit {
	enc := a.to.Encoding
	out := make([]TextEdit, len(set))
	for i, e := range set {
		out[i] = TextEdit{Range: Range{base.Position(e.Start, enc), base.Position(e.End, enc)}, New: e.New}
	}
	return out
}

// send sends the edit, and waits until the reply and the document's changes, or their absence, show
// the result.
func (a *attempt) send(ctx context.Context, d *try) {
	a.tries++
	ask := Request{
		URI: d.unsure.URI, Version: d.Version, Create: a.e.Create, Delete: a.e.Delete, Edits: d.ranges, Label: a.c.Label,
		Session: a.c.Session, Call: a.c.Call, Tool: a.c.Tool, Turn: a.c.Turn, Old: d.Before, New: d.After, Save: a.closed,
	}
	replies := make(chan reply, 1)
	began := a.to.Now()
	// Also in a cancelled turn the reply is waited for, so that it is known whether the edit
	// landed.
	limit := max(a.deadline.Sub(began), ReplyTimeout)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	a.to.Go(func() {
		r, err := a.to.Editor.Apply(call, ask)
		if call.Err() == nil {
			replies <- reply{r, err}
		}
	})
	timer := time.NewTimer(limit)
	defer timer.Stop()
	waits, waiting := func() {}, sync.OnceFunc(func() { a.to.Waits(a.c, a.f.Path) })
	defer func() { waits() }()
	for cancelled := ctx.Done(); ; {
		a.f.Lock()
		changed, was := a.f.changed, d.state
		a.feed(d)
		now := d.state
		a.f.Unlock()
		if now.Over() {
			return
		}
		if now != was { // a client that never replies is judged by its changes alone
			timer.Reset(EchoTimeout)
		}
		select {
		case r := <-replies:
			a.rtt = max(a.rtt, a.to.Now().Sub(began))
			a.f.Lock()
			a.feed(d)
			a.answered(d, &r)
			began = a.to.Now()
			if now = d.state; now == follow.Passed {
				timer.Reset(passTimeout)
			} else {
				timer.Reset(min(a.holds(ctx, d, 0), WaitTime))
			}
			a.f.Unlock()
			if now.Over() {
				return
			}
			waits = a.c.Wait()
		case <-cancelled:
			if cancelled = nil; d.reply != nil {
				timer.Reset(EchoTimeout)
			}
		case <-changed:
		case <-timer.C:
			a.f.Lock()
			more := a.holds(ctx, d, a.to.Now().Sub(began))
			if d.state != follow.Held || more <= 0 {
				d.state = d.state.Next(follow.TimeUp)
				a.f.Unlock()
				return
			}
			a.f.Unlock()
			timer.Reset(more)
			waiting()
		}
	}
}

// holds is how much longer the change is waited for that an editor has not told of after its yes. f
// is locked.
func (a *attempt) holds(ctx context.Context, d *try, waited time.Duration) time.Duration {
	if ctx.Err() != nil || a.endOnly(d) {
		return EchoTimeout - waited
	}
	return a.to.patience(waited)
}

// feed takes in the changes that have come since the last time. f is locked.
func (a *attempt) feed(d *try) {
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

// answered takes in a reply. f is locked.
func (a *attempt) answered(d *try, r *reply) {
	d.reply = r
	switch {
	case r.err != nil:
		d.state = d.state.Next(follow.Broken)
	case !r.OK:
		d.state = d.state.Next(follow.No)
	case a.named(r): // the version decides, also where the document seems to have the edit
		d.state = follow.Held
	default:
		d.state = d.state.Next(follow.Yes)
		a.f.Wake() // those behind it have another patience now, see Take
		closed := slices.ContainsFunc(d.events, func(e follow.Change) bool { return e.Kind == follow.OnDisk })
		switch told := follow.AnyTold(d.events) && !closed; { // one that is opened again has versions of its own
		case d.state == follow.Held && (a.onDisk(d.Plan) || a.endOnly(d) && told):
			d.state = follow.Landed
		case d.state == follow.Held && told && a.f.open():
			d.state = follow.Passed
		}
	}
}

// judge decides about one try; nil without an error says that it goes again. f is locked.
func (a *attempt) judge(d *try) (*filetime.LandedFile, error) {
	p, s, r := d.Plan, d.state, d.reply
	applied := r.yes()
	switch {
	case s == follow.Landed && d.found != nil && (a.reverting() || !a.clean(d)):
		a.misplace(d)
		return nil, nil
	case s == follow.Landed && d.found != nil:
		first, last := a.own(d)
		a.f.Claim(first.Rev, last.Rev, a.c)
		if !a.c.ForUser && a.f.undone(d.events[d.found.To:], first.Rev) {
			return nil, a.f.fail(filetime.EditConflict, "undone", "The edit of %s landed, and the user took it back in the "+
				"editor at once. It is not in the text. Do not make it again unasked; ask what is wanted instead.", a.f.Path)
		}
		p.Before, p.After = first.Before, last.After
		if typed := follow.Composed(d.events[:d.found.From]); len(typed) > 0 {
			p.Theirs, p.By = text.Canonical(a.e.Base, text.Compose(p.Theirs, typed)), p.By.Plus(filetime.User)
		}
		// The history keeps it as it was sent, to match later changes of the same place.
		p.Set = text.Canonical(p.Before, follow.Composed(d.events[d.found.From:d.found.To]))
		return a.landed(p, last.Rev), nil
	case s == follow.Misplaced && d.found != nil:
		a.strayed(d)
		return nil, nil
	case applied && a.onDisk(p):
		return a.landedOnDisk(p), nil
	case applied && a.endOnly(d):
		a.to.ends.Store(true)
		a.endKept, p.Set, p.After = true, nil, p.Before
		return a.landed(p, a.f.Rev()), nil
	case s == follow.Landed, s == follow.Misplaced: // and closed without it
		return nil, a.unknown("the document was closed meanwhile")
	case s == follow.Held && a.f.open(): // sent again it could be applied twice
		d.late = func(over bool) { a.lateEcho(d, over) }
		return nil, a.f.Doubt(filetime.Held, "the editor says that it applied the edit and has not told of it yet")
	case r == nil:
		return nil, a.unknown("the editor did not answer")
	case s == follow.Unknown, s == follow.Held:
		return nil, a.unknown("the editor applied it, but it does not stand where it should")
	case applied: // the next change lacks it
		if !follow.AnyTold(d.events) {
			a.refused.requests++ // a request of the client has shown it
		}
		if a.refused.requests > 1 {
			return nil, a.unknown("the editor says that it applied it, and does not show it")
		}
		return nil, nil
	}
	var never *RefusedError
	words := r.Reason
	if words == "" && r.err != nil {
		words = r.err.Error()
	}
	if told := follow.AnyTold(d.events) || a.reverting(); !told && (errors.As(r.err, &never) || unwritable().MatchString(words)) {
		if never == nil {
			never = &RefusedError{Words: words}
		}
		return nil, Refused(a.f.Path, never)
	}
	a.refused.said++
	a.refused.reason = r.Reason
	return nil, nil
}

// lateEcho judges an edit whose call has returned before it was known whether it landed; over says
// that no change will tell any more. Till then the document stays taken. f is locked.
func (a *attempt) lateEcho(d *try, over bool) {
	if a.feed(d); over && !d.state.Over() {
		d.state = follow.Unknown
	}
	if !d.state.Over() {
		return
	}
	f := a.f
	l, err := a.judge(d)
	f.out, d.late = nil, nil
	a.notifyTyped(d)
	reverting, mute := a.reverting(), err != nil || a.back != nil && a.back.lingers
	if !reverting {
		<-f.inFlight
	}
	a.to.Go(func() {
		if reverting {
			a.revertLater()
		}
		if mute { // what its call has said still holds, or nobody waits for it
			return
		}
		var out filetime.Landed
		if l != nil {
			if !a.e.Delete && a.openedForEdit() {
				l.Stale = a.to.save(context.Background(), f)
			}
			out.Files = append(out.Files, *l)
		}
		c := a.c
		c.Files = []filetime.FileEdit{a.e}
		a.to.Late(c, out)
	})
}

// own gives the edit that was found revisions of its own, and the first and last of its events. f
// is locked.
func (a *attempt) own(d *try) (first, last follow.Change) {
	if i := d.found.From; d.found.Mixed {
		a.part(d, i, d.found.To, d.found.Start)
		d.found.To, d.found.Mixed = i+1, false
	}
	return d.events[d.found.From], d.events[d.found.To-1]
}

// look takes the changes in: the edit as it was sent, else as an editor shows it that keeps the
// final line end. f is locked.
func (a *attempt) look(d *try) follow.Input {
	placed := func(down int) follow.Placing {
		return func(t text.Text) []text.Set { return a.reposition(t, d.ranges, down) }
	}
	place := placed(0)
	again := a.back != nil || a.c.ForUser // the user's own undo may take back the same: then the edit comes after it
	was := d.trail.Len()
	d.trail.Follow(d.events, place, again)
	in, found := d.trail.Shows()
	if (found == nil || found.Mixed) && d.kept != nil && len(d.kept.Set) > 0 {
		d.kept.trail.Follow(d.events, place, again)
		if kept, as := d.kept.trail.Shows(); kept == follow.Complete {
			a.endKept = true
			a.to.ends.Store(true)
			d.Set, d.ranges, d.trail, d.kept = d.kept.Set, d.kept.ranges, d.kept.trail, nil
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

func (a *attempt) landed(p Plan, rev uint64) *filetime.LandedFile {
	l := p.Landed(a.f.Path, rev, true)
	l.Attempts, l.Created, l.Deleted, l.EndKept = a.tries, a.e.Create, a.e.Delete, a.endKept
	if a.e.Delete {
		l.Set, l.After, l.Mode = text.Removal(l.Before), text.Text{}, a.mode
	}
	a.f.Notify("written", "agent")
	return &l
}

// onDisk says that the disk has the edit: an editor may change a file without opening it. f is
// locked.
func (a *attempt) onDisk(p Plan) bool {
	f := a.f
	if !a.e.Delete && f.open() {
		return false
	}
	t, exists, err := f.Stored()
	return err == nil && exists != a.e.Delete && (a.e.Delete || t.Equal(p.After))
}

func (a *attempt) landedOnDisk(p Plan) *filetime.LandedFile {
	f := a.f
	if a.e.Delete && f.open() { // some clients send no didClose for a document that went with its file
		f.Gone()
	}
	if !f.open() {
		if err := f.Refresh(); err != nil {
			a.to.Log.Debug("landed file cannot be read", "path", f.Path, "error", err)
		}
		f.Claim(f.Rev(), f.Rev(), a.c)
	}
	l := a.landed(p, f.Rev())
	l.Source = "disk"
	a.closed = false
	return l
}

// reposition converts the sent positions, so many lines further down, to offsets of another text:
// cut down where they are inside of characters, and where that differs widened, too. A widened
// deletion could as well be a person's.
func (a *attempt) reposition(t text.Text, edits []TextEdit, down int) []text.Set {
	enc := a.to.Encoding
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
		if bad && e.New != "" && from != to && t.Inside(to, end) {
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

// partTyping parts an event from i on that is made up of typing and the edit at the places that
// were sent, and says what the events show then. f is locked.
func (a *attempt) partTyping(d *try, i int, placed func(down int) follow.Placing, in follow.Input) follow.Input {
	for ; i < len(d.events); i++ {
		e := d.events[i]
		if e.Kind != follow.Told {
			continue
		}
		typed := follow.TypedBefore(e, d.Before, d.Set, placed)
		if typed == nil {
			typed = follow.LaidOver(e, text.Rebase(d.Before, d.Set, follow.Composed(d.events[:i])), placed(0))
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

// blind says that the client does not compare versions: it gets edits without one, the document has
// version 0, which some clients never check, or it is deleted, which has no version.
func (a *attempt) blind() bool {
	a.f.Lock()
	defer a.f.Unlock()
	now := a.f.State()
	return now.Open && (now.Unversioned || a.to.Plain && (!a.to.Versions || now.Version == 0 || a.e.Delete))
}

// waitForGap waits for a gap in the typing, at most until a time, and says whether there was one.
func (a *attempt) waitForGap(ctx context.Context, gap time.Duration, until time.Time) bool {
	for a.to.Now().Before(until) {
		a.f.Lock()
		changed := a.f.changed
		a.f.Unlock()
		select {
		case <-changed:
		case <-time.After(gap):
			return true
		case <-ctx.Done():
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
	a.f.Lock()
	defer a.f.Unlock()
	if a.reverting() {
		return a.unknown("the editor put it at the wrong place, and the user's typing has left no gap to take it back yet")
	}
	what := fmt.Sprintf("found no gap between the user's keystrokes (%d tries)", a.tries)
	if a.first == a.f.Rev() && a.refused.reason != "" {
		what = fmt.Sprintf("was refused by the editor (%q, %d tries)", a.refused.reason, a.tries)
	}
	return a.f.fail(filetime.Timeout, "editor_busy", "The edit of %s %s in %v. Nothing of it is in the text; try again.", a.f.Path, what, SendBudget)
}

// Refused is the error of an edit that the editor cannot make.
func Refused(path string, by *RefusedError) error {
	return fail(path, filetime.WriteError, "refused", "The editor refused the edit of %s: %s\nNothing of it is in the text. Asking again "+
		"does not help; tell the user what you wanted to change.", path, strings.TrimSpace(by.Words))
}

func (a *attempt) unknown(why string) error { return a.f.Doubt("no_echo", why) }

// Doubt is the error of an edit of which it is not known whether it landed. f is locked.
func (f Document) Doubt(reason, why string) error {
	return f.fail(filetime.Unknown, reason, "It is not known whether the edit of %s landed: %s. Read the file before going on.", f.Path, why)
}

// save saves a document that was opened only to apply an edit, and says why it was not; see
// filetime.LandedFile.Stale.
func (to *Client) save(ctx context.Context, f Document) (stale string) {
	f.Lock()
	now := f.State()
	f.Unlock()
	if !now.Open {
		return ""
	}
	why := "the editor does not save documents when asked"
	if to.Saves {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendBudget)
		defer cancel()
		failed, err := to.Editor.Save(ctx, []string{now.URI})
		reason, bad := failed[now.URI]
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
