package review

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"tandem/filetime/text"
	"tandem/filetime/text/show"
)

// A program that writes a file over the agent's lines, as git checkout, git stash and a code
// generator do, settles the hunks that it wrote over: whatever is there now is nobody's change to
// judge. Only what is the agent's own text stays in the review, so a hunk is never shown over lines
// of a program. A person's typing settles nothing: it amends.

// overwritten takes in that another program made this of the text. A text that the file had before
// is what it was then, so that `git stash pop` brings back what `git stash` took.
func (t *track) overwritten(w *weave, after text.Text, restores uint64) {
	stood := w.statuses(len(t.edits))
	w.keep()
	if !w.restore(restores, after) {
		lines := show.Lines(w.text, after)
		in := t.below(w, lines)
		w.change(lines)
		w.settle(in)
	}
	w.markLost(stood, true)
}

// below gives the edits of the hunks whose lines are changed. A change of blanks alone is a
// formatter's: it takes nothing of a hunk away.
func (t *track) below(w *weave, lines text.Set) map[int]bool {
	v := view{t: t, w: w, statuses: w.statuses(len(t.edits))}
	v.amended = make([]bool, len(t.edits)+1)
	in := map[int]bool{}
	var settle func(h *hunk)
	settle = func(h *hunk) {
		for _, e := range h.edits {
			if in[e] {
				return
			}
			in[e] = true
		}
		for _, p := range w.pieces { // what lies below another hunk goes with it
			if p.deletedBy > 0 && p.insertedBy > 0 && in[p.deletedBy] && !in[p.insertedBy] {
				settle(t.edits[p.insertedBy-1])
			}
		}
	}
	for _, h := range t.hunks() {
		if len(h.edits) == 0 || !v.stands(h) {
			continue
		}
		at := v.hunk(h)
		for _, e := range lines {
			if overlapsLines(e, at) && (withoutBlanks(e.New) != withoutBlanks(w.text.Slice(e.Start, e.End)) || withoutBlanks(h.old) == withoutBlanks(h.new)) {
				settle(h)
			}
		}
	}
	return in
}

// overlapsLines says that an edit of whole lines changes those of a hunk, or is at the place where
// a hunk took lines away.
func overlapsLines(e text.Edit, at Hunk) bool {
	if at.Start == at.End {
		return e.Start < at.Start && at.Start < e.End || e.Start == at.Start && e.New != ""
	}
	return e.Start < at.End && at.Start < e.End
}

// withoutBlanks removes the white space of a text.
func withoutBlanks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// settle makes what edits put in the text that was always there, and drops what they took away.
func (w *weave) settle(in map[int]bool) {
	if len(in) == 0 {
		return
	}
	taken, ends := map[int]bool{}, map[int]int{}
	maps.Copy(taken, w.taken)
	w.taken = taken
	out, at := make([]piece, 0, len(w.pieces)), 0
	for _, p := range w.pieces {
		if e := p.insertedBy; p.deletedBy == 0 {
			if end, more := ends[e]; in[e] && !more {
				taken[e] = withoutBlanks(w.text.Slice(at, at+p.size)) != ""
			} else if in[e] && end < at { // another line than it was, where the program has written into it
				taken[e] = taken[e] && lineStart(w.text, end) && lineStart(w.text, at)
			}
			at += p.size
			ends[e] = at
		}
		if p.deletedBy != 0 && (in[p.deletedBy] || p.deletedBy < 0 && in[p.insertedBy]) && (p.insertedBy <= 0 || in[p.insertedBy]) {
			continue
		}
		if in[p.deletedBy] {
			p.deletedBy = byOthers
		}
		if in[p.insertedBy] {
			p.insertedBy = 0
		}
		if slices.ContainsFunc(p.formerDeleters, func(e int) bool { return in[e] }) {
			p.formerDeleters = slices.DeleteFunc(slices.Clone(p.formerDeleters), func(e int) bool { return in[e] })
		}
		out = append(out, p)
	}
	w.pieces = compact(out)
}

// markLost notes the edits that stood and do not any more; news says that the model does not know.
func (w *weave) markLost(stood []editStatus, news bool) {
	now := w.statuses(len(stood) - 1)
	w.lost = maps.Clone(w.lost)
	if w.lost == nil {
		w.lost = map[int]bool{}
	}
	w.taken = maps.Clone(w.taken)
	for e := range stood {
		switch {
		case now[e].stands():
			delete(w.lost, e)
			delete(w.taken, e)
		case stood[e].stands():
			w.lost[e] = news
		}
	}
}
