package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

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
		d, made, err := a.prepare()
		switch {
		case errors.Is(err, errMisplaced):
			if err := a.revertOnDisk(ctx); err != nil {
				return none, err
			}
			continue
		case err != nil:
			return none, err
		case made != nil:
			return *made, nil
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

// prepare rebases the edit to the present text and sets up its delivery. What is misplaced is
// reverted first. made is the landing of an edit of which nothing is to be sent.
func (a *attempt) prepare() (_ *try, made *filetime.LandedFile, _ error) {
	f := a.f
	f.Lock()
	defer f.Unlock()
	if !f.open() {
		if err := f.Refresh(); err != nil {
			return nil, nil, err
		}
	}
	if a.back != nil {
		p, err := a.planRevert()
		if err != nil {
			return nil, nil, err
		}
		if a.reverting() {
			return a.try(p), nil, nil
		}
	}
	if !f.open() && a.tries > 0 && !a.closed {
		return nil, nil, ErrClosed
	}
	a.closed = a.closed || !f.open() || f.State().ForEdit
	if a.tries > 0 && a.e.Create && (f.open() || f.State().Exists) && f.Text().Len() == 0 {
		// The editor made the file in an earlier try and then refused the text.
		a.e.Create, a.e.Base, a.e.Since, a.e.Rev = false, f.Text(), nil, f.Rev()
	}
	p, err := f.Prepare(a.e)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Set) == 0 && !a.e.Create && !a.e.Delete {
		return nil, a.already(p), nil
	}
	if p = a.shape(p); len(p.Set) == 0 && a.endKept {
		return nil, a.already(p), nil
	}
	if a.tries == 0 {
		a.first, a.mode = f.Rev(), f.State().Mode
	} else {
		a.typed = f.State().TypedFirst
	}
	return a.try(p), nil, nil
}

// already is the landing of an edit that another author has made already, or of which only a final
// line end is left that the editor keeps. f is locked.
func (a *attempt) already(p Plan) *filetime.LandedFile {
	l := p.Landed(a.f.Path, a.f.Rev(), true)
	l.Attempts, l.Already, l.EndKept = a.tries, !a.endKept, a.endKept
	return &l
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
