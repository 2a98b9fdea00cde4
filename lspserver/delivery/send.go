package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"tandem/filetime/text"
	"tandem/lspserver/follow"
)

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

// reply is the editor's answer to one try.
type reply struct {
	Applied
	err error
}

// yes says that the editor has applied it, as it says.
func (r *reply) yes() bool { return r != nil && r.err == nil && r.OK }

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
