package workspace

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

// follower follows one edit. Changes are numbered from 0.
type follower struct {
	base   text.Text
	edit   text.Set // over base: what no change had made by then
	theirs text.Set // over base: what others have done since
	now    text.Rebased

	from, to int      // the changes that have made hunks of it, none while to is 0
	start    text.Set // what was pending before the first of them
	mixed    bool     // they have done something else, too
	traced   bool     // a change by others brought text of the edit
}

func follow(base text.Text, edit text.Set) follower {
	edit = minimal(base, edit)
	return follower{base: base, edit: edit, now: text.Rebased{Set: edit}}
}

// complete reports that the edit is in the text.
func (f *follower) complete() bool {
	return f.to > 0 && len(f.now.Set) == 0 && len(f.now.Conflicts) == 0
}

// begun reports that a part of the edit is in the text.
func (f *follower) begun() bool { return f.to > 0 && !f.complete() }

// alone is the rank of an edit that was told by itself.
const alone = 3

// rank is how well the edit fits what was told: wholly and alone, wholly, in part, not at all.
func (f *follower) rank() int {
	switch {
	case f.complete() && !f.mixed:
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
func (f *follower) met() bool { return f.traced || len(f.now.Conflicts) > 0 }

// step follows the edit through the changes from and up to to.
func (f *follower) step(from, to int, before, after text.Text, change text.Set) {
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
	if f.to == 0 {
		f.from, f.start = from, pending
	}
	f.to, f.mixed = to, f.mixed || len(theirs) > 0
	f.base, f.edit, f.theirs = ours.Apply(before), moved(rest, ours), theirs
	if f.now = text.Rebase(f.base, f.edit, f.theirs); f.complete() {
		f.to = to
	}
}

// again looks at all that was told since the first part of the edit as one change: an editor may tell of one hunk in several.
func (f *follower) again(events []event) {
	if !f.begun() || len(events)-f.from > 256 { // after so many it is somebody's typing
		return
	}
	g := follower{base: events[f.from].before, edit: f.start, now: text.Rebased{Set: f.start}}
	g.step(f.from, len(events), g.base, events[len(events)-1].after, composed(events[f.from:]))
	if len(g.now.Conflicts) <= len(f.now.Conflicts) && len(g.now.Set) < len(f.now.Set) {
		*f = g
	}
}

// enough is the least number of bytes that are not typed by chance.
const enough = 4

// brings reports that a change inserts what another one does, somewhere.
func brings(change, edit text.Set) bool {
	return slices.ContainsFunc(edit, func(e text.Edit) bool {
		s := strings.TrimSpace(e.New)
		return len(s) >= enough && slices.ContainsFunc(change, func(c text.Edit) bool { return strings.Contains(c.New, s) })
	})
}

// others takes in a change by somebody else.
func (f *follower) others(change text.Set) {
	f.theirs, f.mixed = text.Compose(f.theirs, change), f.mixed || f.to > 0
	f.now = text.Rebase(f.base, f.edit, f.theirs)
}

// part parts the hunks of a change into those that are pending and those of others, and gives what is pending still. All are over before,
// but those of others, which are over before with ours.
func part(before, after text.Text, pending, change text.Set) (ours, theirs, rest text.Set) {
	if len(pending) == 0 {
		return nil, change, nil
	}
	if grown(before, pending) == grown(before, change) && sameText(pending.Apply(before), after) {
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
		if others := text.Diff(wanted.Apply(before), after); weight(others)+weight(wanted) <= weight(hunks(before, change)) {
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

// typedBefore is what of a change was typed beside an edit that came to the places that were sent: an editor that holds its changes back may
// tell of the two in one. What was typed above the edit later has moved it down: placed gives it so many lines further down. It is nil where
// the change is not made up like that.
func typedBefore(e event, base text.Text, sent text.Set, placed func(down int) placing) text.Set {
	const most = 32 // hunks that are looked at
	made := hunks(e.before, e.set)
	if n := len(made); n == 0 || n > most || len(sent) == 0 {
		return nil
	}
	gone, weighs, line := removed(made), weight(made), base.Line(sent[0].Start)
	fitsAt := func(typed text.Set, mid text.Text, down int) bool {
		return !mid.Equal(e.after) && slices.ContainsFunc(placed(down)(mid), func(edit text.Set) bool {
			// Neither does more than was done: where the two touch, they may share a line end.
			if removed(edit) > 0 && gone == 0 || weight(typed)+weight(minimal(mid, edit)) > weighs+2*len("\r\n") {
				return false
			}
			return grown(mid, edit) == grown(e.before, e.set)-grown(e.before, typed) && sameText(edit.Apply(mid), e.after)
		})
	}
	fits := func(typed text.Set, at int) bool {
		mid := typed.Apply(e.before)
		if fitsAt(typed, mid, 0) {
			return true
		}
		now := mid.Line(typed.MapPos(at, true))
		above := now - e.before.Line(at) // lines that were typed there
		for _, down := range []int{now - line - 1, now - line, now - line + 1} {
			if 0 < down && down <= above && weight(sent) >= enough && fitsAt(typed, mid, down) {
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
	for _, made := range []text.Set{made, wholeLines(e.before, made)} {
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

// laidOver is what of a change was typed where the editor has put the edit over typing that it had not told of. Nobody knows what stood
// there. The change then has the new text at the place that was sent, among what it inserts, and the text at the edit's own place is as it was.
func laidOver(e event, pending text.Rebased, place placing) text.Set {
	places := place(e.after)
	if len(places) == 0 {
		return nil
	}
	sent := places[0]
	if len(sent) != 1 || strings.TrimSpace(sent[0].New) == "" || len(pending.Conflicts) > 0 || len(e.set) == 0 {
		return nil
	}
	new, line := sent[0].New, e.after.LineStart(e.after.Line(sent[0].Start))
	i := strings.LastIndex(e.after.Slice(line, min(sent[0].Start+len(new), e.after.Len())), new)
	if i < 0 {
		return nil
	}
	from, to := line+i, line+i+len(new)
	first, last := e.set[0].Start, e.after.Len()-(e.before.Len()-e.set[len(e.set)-1].End)
	short := to == e.after.Len() || strings.ContainsAny(e.after.Slice(to, to+1), "\r\n") // the line ended before the place
	if from < first || to > last || to-from == last-first || from != sent[0].Start && !short {
		return nil
	}
	typed := text.Diff(e.before, text.Set{{Start: from, End: to}}.Apply(e.after))
	own := text.Rebase(e.before, pending.Set, typed)
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

// placing gives the edit at the places that were sent, over another text. There may be two: an editor may widen a range that begins or ends
// inside a character, as VS Code does, or cut it down.
type placing func(text.Text) []text.Set

// trail follows an edit in flight from the text that it was computed for, and from the places that were sent. It is a value: what a step
// does to a copy leaves it as it was.
type trail struct {
	right, wrong follower
	at           int // how many changes it has been through
	least        int // what a change weighs at least that may have hunks of it; 0 where all changes are looked at
}

// follow goes through the changes that have come since the last time. again has the edit
// looked for at the places that were sent even if the document has it.
func (t *trail) follow(d *delivery, place placing, again bool) {
	if t.at == 0 {
		t.right = follow(d.before, d.set)
		t.least = lightest(t.right.edit)
	}
	for t.at < len(d.events) {
		from, to := t.at, t.at+1
		for to < len(d.events) && d.events[to-1].part {
			to++
		}
		all, each := *t, *t
		if all.step(d, from, to, place, again); to > from+1 && max(all.right.rank(), all.wrong.rank()) < alone { // a notification may tell of the edit and of typing
			for i := from; i < to; i++ {
				each.step(d, i, i+1, place, again)
			}
			if each.found() || !all.found() {
				all = each
			}
		}
		*t = all
	}
}

// found reports that the document has the edit, wherever.
func (t *trail) found() bool { return t.right.complete() || t.wrong.complete() }

// step goes through changes from up to to as if they were one.
func (t *trail) step(d *delivery, from, to int, place placing, again bool) {
	first, after, change := d.events[from], d.events[to-1].after, composed(d.events[from:to])
	if t.at = to; first.disk { // the text of the closed document is gone; the edit stays found if the disk has it
		was, partly := t.right, t.right.begun() || t.wrong.begun()
		t.right = follow(d.before, d.set)
		if t.right.others(composed(d.events[:to])); was.complete() && len(t.right.now.Set) == 0 && !t.right.met() {
			t.right = was
		}
		t.right.traced = t.right.traced || partly // the disk may have got the rest, at places where nobody looks for it
		t.wrong = follower{}
		return
	}
	if weight(change) < t.least && !t.right.begun() && t.right.now.Coalesced == 0 && !t.found() {
		t.right.others(change)
		t.wrong = follower{}
		return
	}
	if from > 0 && (again || !t.right.complete()) && !t.wrong.complete() {
		old, fresh := t.wrong, follower{}
		if old.begun() {
			old.step(from, to, first.before, after, change)
			old.again(d.events[:to])
		}
		for _, edit := range place(first.before) {
			f := follow(first.before, edit)
			if f.step(from, to, first.before, after, change); f.rank() > fresh.rank() {
				fresh = f
			}
		}
		switch t.wrong = (follower{}); {
		case old.begun() && fresh.begun() && len(old.now.Set) <= len(fresh.now.Set), old.begun() && fresh.to != to, old.complete() && !fresh.complete():
			t.wrong = old
		case fresh.to == to:
			t.wrong = fresh
		}
	}
	t.right.step(from, to, first.before, after, change)
	t.right.again(d.events[:to])
	if t.right.complete() && t.right.to == to && !(t.right.mixed && t.wrong.complete() && !t.wrong.mixed) {
		t.wrong = follower{}
	}
}

// shows is what the changes show, and the follower that has found the edit.
func (t *trail) shows() (input, *follower) {
	switch {
	case t.wrong.complete():
		return elsewhere, &t.wrong
	case t.right.complete():
		return complete, &t.right
	case t.right.begun():
		return begun, nil
	case t.right.met():
		return met, nil
	}
	return without, nil
}

func composed(events []event) text.Set {
	sets := make([]text.Set, len(events))
	for i, e := range events {
		sets[i] = e.set
	}
	return text.ComposeAll(sets)
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
