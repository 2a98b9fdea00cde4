package delivery

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/lspserver/follow"
)

// refusals are what the editor has shown of an edit that is not in the text.
type refusals struct {
	said     int    // how often it has refused the edit
	reason   string // that of the last one
	requests int    // how often a request after its yes has shown that the edit is not there
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
		if mute { // the call has reported this already, or nobody waits for the report
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
