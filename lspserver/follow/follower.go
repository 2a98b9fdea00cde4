// Package follow says whether an edit that was sent to an editor is in a document, by the changes that the editor tells of: it finds the
// edit in them, among what a person types, and it has the table of what is known of an edit on its way. It knows texts and changes alone.
package follow

import (
	"math"
	"slices"
	"strings"

	"tandem/filetime/text"
)

// The follower finds an edit in the changes of a document, whoever has made them. It brings the edit and each change to the same hunks over
// the same text: the tokens that differ, as far down as they can stand. A hunk that both have is the edit's; every other is somebody else's,
// and what is pending of the edit is rebased over it. A change that does all that is pending is the edit's, whatever its shape. The edit is
// in the text when nothing is pending. A second follower begins with each change, at the positions that were sent: where that one comes to
// its end, the editor has put the edit at the coordinates of an older text.

// Change is one change of a document while an edit is on its way.
type Change struct {
	Set           text.Set // over Before
	Before, After text.Text
	Rev           uint64 // the revision that it made
	Version       int32  // the document's after it
	Part          bool   // the next one came in the same notification
	Kind          Kind
}

// Kind is how a change came to be known.
type Kind uint8

const (
	Told      Kind = iota // by a notification of a change
	Opened                // the document was opened with another text
	OnDisk                // the document was closed, and this is the difference to the disk
	Requested             // the client has sent a request about the document, which changes nothing
)

// AnyTold reports that the editor has told of one of the changes: the text with which a document is opened or closed is none.
func AnyTold(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Told })
}

// Composed makes one set of changes that follow one another.
func Composed(changes []Change) text.Set {
	sets := make([]text.Set, len(changes))
	for i, c := range changes {
		sets[i] = c.Set
	}
	return text.ComposeAll(sets)
}

// Follower follows one edit. Changes are numbered from 0. It is not for concurrent use.
type Follower struct {
	base   text.Text
	edit   text.Set // over base: what no change had made by then
	theirs text.Set // over base: what others have done since
	now    text.Rebased

	From, To int      // the changes that have made hunks of it, none while To is 0
	Start    text.Set // what was pending before the first of them
	Mixed    bool     // they have done something else, too
	traced   bool     // a change by others brought text of the edit
}

// In follows an edit over the text before changes from up to to, and is nil where it is not in the text after them.
func In(changes []Change, from, to int, edit text.Set) *Follower {
	first := changes[from]
	f := follow(first.Before, edit)
	if f.step(from, to, first.Before, changes[to-1].After, Composed(changes[from:to])); !f.complete() {
		return nil
	}
	return &f
}

func follow(base text.Text, edit text.Set) Follower {
	edit = minimal(base, edit)
	return Follower{base: base, edit: edit, now: text.Rebased{Set: edit}}
}

// complete reports that the edit is in the text.
func (f *Follower) complete() bool {
	return f.To > 0 && len(f.now.Set) == 0 && len(f.now.Conflicts) == 0
}

// begun reports that a part of the edit is in the text.
func (f *Follower) begun() bool { return f.To > 0 && !f.complete() }

// alone is the rank of an edit that was told by itself.
const alone = 3

// rank is how well the edit fits what was told: wholly and alone, wholly, in part, not at all.
func (f *Follower) rank() int {
	switch {
	case f.complete() && !f.Mixed:
		return alone
	case f.complete():
		return 2
	case f.begun():
		return 1
	}
	return 0
}

// met reports that somebody else has changed what the edit changes, or has brought text of it: it could be in the text and not be told from
// that.
func (f *Follower) met() bool { return f.traced || len(f.now.Conflicts) > 0 }

// step follows the edit through the changes from and up to to.
func (f *Follower) step(from, to int, before, after text.Text, change text.Set) {
	if f.complete() {
		return
	}
	pending := f.now.Set
	ours, theirs, rest := part(before, after, pending, change)
	if len(ours) == 0 {
		f.traced = f.traced || brings(theirs, pending)
		f.others(minimal(before, change))
		return
	}
	if f.To == 0 {
		f.From, f.Start = from, pending
	}
	f.To, f.Mixed = to, f.Mixed || len(theirs) > 0
	f.base, f.edit, f.theirs = ours.Apply(before), moved(rest, ours), theirs
	if f.now = text.Rebase(f.base, f.edit, f.theirs); f.complete() {
		f.To = to
	}
}

// asOne looks at all that was told since the first part of the edit as one change: an editor may tell of one hunk in several.
func (f *Follower) asOne(changes []Change) {
	if !f.begun() || len(changes)-f.From > 256 { // after so many it is somebody's typing
		return
	}
	g := Follower{base: changes[f.From].Before, edit: f.Start, now: text.Rebased{Set: f.Start}}
	g.step(f.From, len(changes), g.base, changes[len(changes)-1].After, Composed(changes[f.From:]))
	if len(g.now.Conflicts) <= len(f.now.Conflicts) && len(g.now.Set) < len(f.now.Set) {
		*f = g
	}
}

// Enough is the least number of bytes that are not typed by chance.
const Enough = 4

// brings reports that a change inserts what another one does, somewhere, or half of it at its place: the rest may have been deleted again.
func brings(change, edit text.Set) bool {
	const near = len("\r\n") // a line end may be between the two
	return slices.ContainsFunc(edit, func(e text.Edit) bool {
		s := strings.TrimSpace(e.New)
		half := max(Enough, len(s)/2)
		return len(s) >= Enough && slices.ContainsFunc(change, func(c text.Edit) bool {
			for i := 0; c.Start <= e.End+near && e.Start <= c.End+near && i+half <= len(s); i++ {
				if strings.Contains(c.New, s[i:i+half]) {
					return true
				}
			}
			return strings.Contains(c.New, s)
		})
	})
}

// others takes in a change by somebody else.
func (f *Follower) others(change text.Set) {
	f.theirs, f.Mixed = text.Compose(f.theirs, change), f.Mixed || f.To > 0
	f.now = text.Rebase(f.base, f.edit, f.theirs)
}

// part parts the hunks of a change into those that are pending and those of others, and gives what is pending still. All are over before,
// but those of others, which are over before with ours.
func part(before, after text.Text, pending, change text.Set) (ours, theirs, rest text.Set) {
	if len(pending) == 0 {
		return nil, change, nil
	}
	if grown(before, pending) == grown(before, change) && text.EqualLines(pending.Apply(before), after) {
		return change, nil, nil
	}
	wanted, made := hunks(before, pending), hunks(before, change)
	for _, e := range wanted {
		if i := slices.IndexFunc(made, func(m text.Edit) bool { return alike(m) == alike(e) }); i >= 0 {
			ours = append(ours, made[i])
			made = slices.Delete(made, i, i+1)
		} else {
			rest = append(rest, e)
		}
	}
	if len(rest) > 0 && weight(change) >= weight(wanted) {
		// The hunks may be cut otherwise where the two touch: then less is to be done after the edit by as much as it does.
		if others := text.Diff(wanted.Apply(before), after); weight(others)+weight(wanted) <= min(weight(hunks(before, change)), weight(text.Diff(before, after))) {
			return wanted, others, nil
		}
	}
	if len(ours) > 0 && len(made) > 0 {
		made = text.Diff(ours.Apply(before), after)
	}
	return ours, made, rest
}

// lightest is the weight of the lightest edit of a set that has very many, and else 0: to look at each of them for each key that is typed
// would take longer than the next key.
func lightest(s text.Set) int {
	const many = 200
	least := 0
	if len(s) > many {
		least = math.MaxInt
		for _, e := range s {
			least = min(least, len(e.New)) // at a wrong place it may delete less
		}
	}
	return least
}

// removed is how many bytes a set deletes.
func removed(s text.Set) int {
	n := 0
	for _, e := range s {
		n += e.End - e.Start
	}
	return n
}

// weight is how many bytes a set inserts and deletes.
func weight(s text.Set) int {
	n := 0
	for _, e := range s {
		n += len(e.New) + e.End - e.Start
	}
	return n
}

// TypedBefore is what of a change was typed beside an edit that came to the places that were sent: an editor that holds its changes back may
// tell of the two in one. What was typed above the edit later has moved it down: placed gives it so many lines further down. It is nil where
// the change is not made up like that.
func TypedBefore(e Change, base text.Text, sent text.Set, placed func(down int) Placing) text.Set {
	const most = 32 // hunks that are looked at
	made := hunks(e.Before, e.Set)
	if n := len(made); n == 0 || n > most || len(sent) == 0 {
		return nil
	}
	gone, weighs, line := removed(made), weight(made), base.Line(sent[0].Start)
	fitsAt := func(typed text.Set, mid text.Text, down int) bool {
		return !mid.Equal(e.After) && slices.ContainsFunc(placed(down)(mid), func(edit text.Set) bool {
			// Neither does more than was done: where the two touch, they may share a line end.
			if removed(edit) > 0 && gone == 0 || weight(typed)+weight(minimal(mid, edit)) > weighs+2*len("\r\n") {
				return false
			}
			return grown(mid, edit) == grown(e.Before, e.Set)-grown(e.Before, typed) && text.EqualLines(edit.Apply(mid), e.After)
		})
	}
	fits := func(typed text.Set, at int) bool {
		mid := typed.Apply(e.Before)
		if fitsAt(typed, mid, 0) {
			return true
		}
		now := mid.Line(typed.MapPos(at, true))
		above := now - e.Before.Line(at) // lines that were typed there
		for _, down := range []int{now - line - 1, now - line, now - line + 1} {
			if 0 < down && down <= above && weight(sent) >= Enough && fitsAt(typed, mid, down) {
				return true
			}
		}
		return false
	}
	for i := range len(made) - len(sent) + 1 {
		if typed := slices.Delete(slices.Clone(made), i, i+len(sent)); len(typed) > 0 && fits(typed, made[i].Start) {
			return typed
		}
	}
	if len(sent) > 1 {
		return nil
	}
	// The two may stand side by side, so that they are one hunk.
	news := []string{sent[0].New, wholeLines(base, sent)[0].New}
	for _, made := range []text.Set{made, wholeLines(e.Before, made)} {
		for i, h := range made {
			for _, new := range news {
				for _, t := range []text.Edit{
					{Start: h.Start, End: h.Start, New: strings.TrimSuffix(h.New, new)},
					{Start: h.End, End: h.End, New: strings.TrimPrefix(h.New, new)},
				} {
					if typed := slices.Replace(slices.Clone(made), i, i+1, t); t.New != "" && fits(typed, t.Start) {
						return typed
					}
				}
			}
		}
	}
	return nil
}

// LaidOver is what of a change was typed where the editor has put the edit over typing that it had not told of. Nobody knows what stood
// there. The change then has the new text at the place that was sent, among what it inserts, and the text at the edit's own place is as it was.
func LaidOver(e Change, pending text.Rebased, place Placing) text.Set {
	places := place(e.After)
	if len(places) == 0 {
		return nil
	}
	sent := places[0]
	if len(sent) != 1 || strings.TrimSpace(sent[0].New) == "" || len(pending.Conflicts) > 0 || len(e.Set) == 0 {
		return nil
	}
	new, line := sent[0].New, e.After.LineStart(e.After.Line(sent[0].Start))
	i := strings.LastIndex(e.After.Slice(line, min(sent[0].Start+len(new), e.After.Len())), new)
	if i < 0 {
		return nil
	}
	from, to := line+i, line+i+len(new)
	first, last := e.Set[0].Start, e.After.Len()-(e.Before.Len()-e.Set[len(e.Set)-1].End)
	short := to == e.After.Len() || strings.ContainsAny(e.After.Slice(to, to+1), "\r\n") // the line ended before the place
	if from < first || to > last || to-from == last-first || from != sent[0].Start && !short {
		return nil
	}
	typed := text.Diff(e.Before, text.Set{{Start: from, End: to}}.Apply(e.After))
	own := text.Rebase(e.Before, pending.Set, typed)
	if len(own.Conflicts) > 0 || own.Coalesced > 0 || len(own.Set) == 0 || own.Set[0].Start <= from && from <= own.Set[len(own.Set)-1].End {
		return nil
	}
	return typed
}

// hunks is the form in which two sets over one text can be compared.
func hunks(before text.Text, s text.Set) text.Set {
	return text.Canonical(before, minimal(before, s))
}

// minimal is a set cut down to what it changes: as it is, or line by line if that is less.
func minimal(before text.Text, s text.Set) text.Set {
	narrow, wide := text.Minimize(before, s), text.Minimize(before, wholeLines(before, s))
	if weight(wide) < weight(narrow) {
		return wide
	}
	return narrow
}

// wholeLines widens edits to the lines that they are in: one that begins or ends within a word hides which lines are the same.
func wholeLines(before text.Text, s text.Set) text.Set {
	var out text.Set
	for i, e := range s {
		from, to := before.LineStart(before.Line(e.Start)), before.LineStart(before.Line(e.End)+1)
		if n := len(out); n > 0 && from <= out[n-1].End { // it goes on in a line of the one before, or in the next
			last := &out[n-1]
			last.New = last.New[:len(last.New)-(last.End-s[i-1].End)] + before.Slice(s[i-1].End, e.Start) + e.New + before.Slice(e.End, max(to, e.End))
			last.End = max(to, e.End)
			continue
		}
		out = append(out, text.Edit{Start: from, End: max(to, e.End), New: before.Slice(from, e.Start) + e.New + before.Slice(e.End, max(to, e.End))})
	}
	return out
}

// alike is the same for hunks that differ in line ends alone: an editor may write its own.
func alike(e text.Edit) text.Edit {
	e.New = strings.ReplaceAll(e.New, "\r", "")
	return e
}

// moved is s over the text that over leads to; the two touch nowhere.
func moved(s, over text.Set) text.Set {
	out := make(text.Set, len(s))
	for i, e := range s {
		out[i] = text.Edit{Start: over.MapPos(e.Start, true), End: over.MapPos(e.End, true), New: e.New}
	}
	return out
}

// Placing gives the edit at the places that were sent, over another text. There may be two: an editor may widen a range that begins or ends
// inside a character, as VS Code does, or cut it down.
type Placing func(text.Text) []text.Set

// Trail follows an edit on its way from the text that it was computed for, and from the places that were sent. It is a value: what a step
// does to a copy leaves it as it was.
type Trail struct {
	base         text.Text
	edit         text.Set
	right, wrong Follower
	at           int // how many changes it has been through
	least        int // what a change weighs at least that may have hunks of it; 0 where all changes are looked at
}

// NewTrail begins at base, the text that the edit was computed for.
func NewTrail(base text.Text, edit text.Set) Trail {
	right := follow(base, edit)
	return Trail{base: base, edit: edit, right: right, least: lightest(right.edit)}
}

// Len is how many changes it has been through.
func (t *Trail) Len() int { return t.at }

// Follow goes through the changes that have come since the last time; changes are all since the edit was sent. again has the edit looked for
// at the places that were sent even if the document has it.
func (t *Trail) Follow(changes []Change, place Placing, again bool) {
	for t.at < len(changes) {
		from, to := t.at, t.at+1
		for to < len(changes) && changes[to-1].Part {
			to++
		}
		all, each := *t, *t
		if all.step(changes, from, to, place, again); to > from+1 && max(all.right.rank(), all.wrong.rank()) < alone { // a notification may tell of the edit and of typing
			for i := from; i < to; i++ {
				each.step(changes, i, i+1, place, again)
			}
			if each.found() || !all.found() {
				all = each
			}
		}
		*t = all
	}
}

// Stray records that change i is the edit at the places that were sent, and no more.
func (t *Trail) Stray(changes []Change, i int) *Follower {
	t.at, t.wrong = len(changes), Follower{From: i, To: i + 1, Start: changes[i].Set}
	return &t.wrong
}

// Straying reports that a part of the edit is in the text at the places that were sent.
func (t *Trail) Straying() bool { return t.wrong.begun() }

// found reports that the document has the edit, wherever.
func (t *Trail) found() bool { return t.right.complete() || t.wrong.complete() }

// step goes through changes from up to to as if they were one.
func (t *Trail) step(changes []Change, from, to int, place Placing, again bool) {
	first, after, change := changes[from], changes[to-1].After, Composed(changes[from:to])
	if t.at = to; first.Kind == OnDisk { // the text of the closed document is gone; the edit stays found if the disk has it
		was, partly := t.right, t.right.begun() || t.wrong.begun()
		t.right = follow(t.base, t.edit)
		if t.right.others(Composed(changes[:to])); was.complete() && len(t.right.now.Set) == 0 && !t.right.met() {
			t.right = was
		}
		t.right.traced = t.right.traced || partly // the disk may have got the rest, at places where nobody looks for it
		t.wrong = Follower{}
		return
	}
	if weight(change) < t.least && !t.right.begun() && t.right.now.Coalesced == 0 && !t.found() {
		t.right.others(change)
		t.wrong = Follower{}
		return
	}
	if from > 0 && (again || !t.right.complete()) && !t.wrong.complete() {
		old, fresh := t.wrong, Follower{}
		if old.begun() {
			old.step(from, to, first.Before, after, change)
			old.asOne(changes[:to])
		}
		for _, edit := range place(first.Before) {
			f := follow(first.Before, edit)
			if f.step(from, to, first.Before, after, change); f.rank() > fresh.rank() {
				fresh = f
			}
		}
		switch t.wrong = (Follower{}); {
		case old.begun() && fresh.begun() && len(old.now.Set) <= len(fresh.now.Set), old.begun() && fresh.To != to, old.complete() && !fresh.complete():
			t.wrong = old
		case fresh.To == to:
			t.wrong = fresh
		}
	}
	t.right.step(from, to, first.Before, after, change)
	t.right.asOne(changes[:to])
	if t.right.complete() && t.right.To == to && !(t.right.Mixed && t.wrong.complete() && !t.wrong.Mixed) {
		t.wrong = Follower{}
	}
}

// Shows is what the changes show, and the follower that has found the edit.
func (t *Trail) Shows() (Input, *Follower) {
	switch {
	case t.wrong.complete():
		return Elsewhere, &t.wrong
	case t.right.complete():
		return Complete, &t.right
	case t.right.begun():
		return Begun, nil
	case t.right.met():
		return Met, nil
	}
	return Without, nil
}

// grown is by how many bytes a set makes a text grow, without carriage returns.
func grown(before text.Text, s text.Set) int {
	n := 0
	for _, e := range s {
		old := before.Slice(e.Start, e.End)
		n += len(e.New) - strings.Count(e.New, "\r") - len(old) + strings.Count(old, "\r")
	}
	return n
}
