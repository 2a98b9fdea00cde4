package review

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/filetime/text"
)

// byOthers is the author of pieces by a person, a program or another session. Edits of this
// session's agent have numbers from 1 on; 0 is the text before the first edit.
const byOthers = -1

// byRevert marks a piece that was deleted by reverting its edit.
const byRevert = -2

// weave is a text with tombstones: deleted text keeps its place, and each piece records which edit
// inserted it and which deleted it. So an edit can be reverted at any time, and text of other
// authors is never touched.
type weave struct {
	rev    uint64
	text   text.Text
	pieces []piece // never changed, a change makes others
	past   states
	// lost maps the edits that a program's write removed; true if the model was not notified. Never
	// changed.
	lost map[int]bool
	// taken has the edits whose text stands in what a program has written, as the program's. Never
	// changed.
	taken map[int]bool
}

// anyRevision is the limit of restore where the history does not name the revision.
const anyRevision = math.MaxUint64

// keep records the present state, for a change that restores it.
func (w *weave) keep() { w.past.keep(state{w.rev, w.text, w.pieces}) }

// restore puts back what was known of a text at revision rev or, where that one is not among the
// kept states, at the latest before it that had the text. It returns false if there is none.
func (w *weave) restore(rev uint64, t text.Text) bool {
	m, ok := w.past.find(rev, t)
	if ok {
		w.text, w.pieces = m.text, m.pieces
	}
	return ok
}

// piece is a run of text with one history.
type piece struct {
	size           int    // bytes
	insertedBy     int    // who put it in
	deletedBy      int    // the edit that deleted it, 0 while it is in the text
	formerDeleters []int  // the edits that had taken it away before somebody brought it back, the last one last; never changed
	text           string // of a dead piece
}

// undelete records that text which an edit had deleted is in the text again.
func (p *piece) undelete(edit int) {
	const most = 8
	p.formerDeleters = append(slices.Clone(p.formerDeleters[max(0, len(p.formerDeleters)-most):]), edit)
}

// redelete deletes the piece again by the last edit of in that had deleted it; false if none had.
func (p *piece) redelete(in func(edit int) bool) bool {
	for i, e := range slices.Backward(p.formerDeleters) {
		if in(e) {
			p.deletedBy, p.formerDeleters = e, p.formerDeleters[:i:i]
			return true
		}
	}
	return false
}

func newWeave(t text.Text, rev uint64) *weave {
	w := &weave{rev: rev, text: t}
	if t.Len() > 0 {
		w.pieces = []piece{{size: t.Len()}}
	}
	return w
}

func (w *weave) clone() *weave {
	c := *w
	return &c
}

// land applies an edit of the agent's; number returns the number of each part of the set.
func (w *weave) land(set text.Set, number func(i int) int) {
	w.splice(set, func(i int, gap []piece) (who int, back []int) { return number(i), nil })
}

// change applies an edit of another author. Deleted text that is inserted again at its place is
// restored, not new: what is put back by hand may share one edit with typed text.
func (w *weave) change(set text.Set) {
	set = text.Trim(w.text, text.Minimize(w.text, w.widenToLines(set)))
	w.splice(set, func(i int, gap []piece) (int, []int) { return byOthers, findRestored(gap, set[i].New) })
}

// widenToLines makes what replaces a part of lines replace the whole of them: then what came back
// in them is found as lines and words, wherever an editor that merges changes has cut it.
func (w *weave) widenToLines(set text.Set) text.Set {
	out := slices.Clone(set)
	for i, e := range set {
		if e.Start == e.End || e.New == "" {
			continue
		}
		start, end := w.text.LineStart(w.text.Line(e.Start)), e.End
		if !lineStart(w.text, end) {
			end = lineEnd(w.text, end)
		}
		if i > 0 {
			start = max(start, out[i-1].End)
		}
		if i+1 < len(set) {
			end = min(end, set[i+1].Start)
		}
		out[i] = text.Edit{Start: start, End: end, New: w.text.Slice(start, e.Start) + e.New + w.text.Slice(e.End, end)}
	}
	return out
}

// splice applies a set in one pass over the pieces. judge returns the author of the i-th edit, and
// which deleted pieces in its gap the new text restores; with none the new text becomes a piece of
// its own.
func (w *weave) splice(set text.Set, judge func(i int, gap []piece) (who int, back []int)) {
	if len(set) == 0 {
		return
	}
	in := w.cut(set)
	out := make([]piece, 0, len(in)+len(set))
	k, off := 0, 0
	for i, e := range set {
		for off < e.Start {
			if in[k].deletedBy == 0 {
				off += in[k].size
			}
			out = append(out, in[k])
			k++
		}
		from := len(out)
		alive := []bool{}
		for k < len(in) && (in[k].deletedBy != 0 || off < e.End) {
			p := in[k]
			alive = append(alive, p.deletedBy == 0)
			if p.deletedBy == 0 {
				p.text = strings.Clone(w.text.Slice(off, off+p.size)) // a slice would keep a chunk in memory
				off += p.size
			}
			out = append(out, p)
			k++
		}
		gap := slices.Clone(out[from:])
		for j := range gap {
			if alive[j] {
				gap[j].text = "" // it is being taken away, and cannot come back by the same edit
			}
		}
		who, back := judge(i, gap)
		if who == byOthers && back == nil {
			if j, parts := part(gap, e.New); parts != nil {
				out = slices.Replace(out, from+j, from+j+1, parts...)
				gap = slices.Replace(gap, j, j+1, parts...)
				alive = slices.Insert(alive, j, make([]bool, len(parts)-1)...)
				back = findRestored(gap, e.New)
			}
		}
		after := 0 // where new text goes: behind what it replaces
		for j := range gap {
			p := &out[from+j]
			switch {
			case slices.Contains(back, j):
				if p.deletedBy > 0 {
					p.undelete(p.deletedBy)
				}
				p.deletedBy, p.text = 0, ""
			case alive[j]:
				after = j + 1
				p.deletedBy = who
			}
		}
		if e.New != "" && len(back) == 0 {
			out = slices.Insert(out, from+after, piece{size: len(e.New), insertedBy: who})
		}
	}
	out = append(out, in[k:]...)
	w.pieces, w.text = compact(out), set.Apply(w.text)
}

// cut splits living pieces where edits begin and end.
func (w *weave) cut(set text.Set) []piece {
	at := make([]int, 0, 2*len(set))
	for _, e := range set {
		at = append(at, e.Start, e.End)
	}
	out := make([]piece, 0, len(w.pieces)+len(at))
	off := 0
	for _, p := range w.pieces {
		if p.deletedBy == 0 {
			for len(at) > 0 && at[0] < off+p.size {
				if at[0] > off {
					head := p
					head.size = at[0] - off
					out = append(out, head)
					p.size -= head.size
					off = at[0]
				}
				at = at[1:]
			}
			off += p.size
		}
		out = append(out, p)
	}
	return out
}

// compact merges pieces with equal history, and drops tombstones that can no longer be restored:
// text deleted by others at a place where nothing of the agent's was deleted.
func compact(in []piece) []piece {
	out := in[:0]
	for i := 0; i < len(in); {
		j, keep := i, false
		for ; j < len(in) && in[j].deletedBy != 0; j++ {
			keep = keep || in[j].insertedBy > 0 || in[j].deletedBy > 0 || len(in[j].formerDeleters) > 0
		}
		if keep {
			out = append(out, in[i:j]...)
		}
		if i = j; j == len(in) {
			break
		}
		p, n := in[j], len(out)-1
		switch {
		case p.size == 0:
		case n >= 0 && out[n].deletedBy == 0 && out[n].insertedBy == p.insertedBy && slices.Equal(out[n].formerDeleters, p.formerDeleters):
			out[n].size += p.size
		default:
			out = append(out, p)
		}
		i++
	}
	return out
}

// findRestored finds dead pieces, in their order, that together say s; nil where there are none.
func findRestored(gap []piece, s string) []int {
	if s == "" {
		return nil
	}
	type place struct{ piece, left int }
	hopeless := map[place]bool{}
	var find func(i int, rest string) ([]int, bool)
	find = func(i int, rest string) ([]int, bool) {
		if rest == "" {
			return nil, true
		}
		at := place{i, len(rest)}
		if i == len(gap) || hopeless[at] {
			return nil, false
		}
		if t := gap[i].text; t != "" && strings.HasPrefix(rest, t) {
			if found, ok := find(i+1, rest[len(t):]); ok {
				return append([]int{i}, found...), true
			}
		}
		found, ok := find(i+1, rest)
		hopeless[at] = !ok
		return found, ok
	}
	found, _ := find(0, s)
	return found
}

// part finds s in a dead piece of the agent's that others took away, and cuts that out of it. A
// single character proves nothing.
func part(gap []piece, s string) (int, []piece) {
	if utf8.RuneCountInString(s) < 2 {
		return 0, nil
	}
	for j, p := range gap {
		at := strings.Index(p.text, s)
		if at < 0 || p.insertedBy <= 0 || p.deletedBy != byOthers {
			continue
		}
		var out []piece
		for _, t := range []string{p.text[:at], s, p.text[at+len(s):]} {
			if t != "" {
				p.size, p.text = len(t), t
				out = append(out, p)
			}
		}
		return j, out
	}
	return 0, nil
}

// flip gives what takes the edits of in back, over the present text, and the pieces after that;
// again puts in once more those that somebody had taken back. What others wrote stays.
func (w *weave) flip(in func(edit int) bool, again bool) (text.Set, []piece) {
	out := make([]piece, 0, len(w.pieces))
	var set text.Set
	off, joined := 0, false
	do := func(n int, s string) {
		if !joined {
			set = append(set, text.Edit{Start: off, End: off})
		}
		e := &set[len(set)-1]
		e.End += n
		e.New += s
		joined = true
	}
	for _, p := range w.pieces {
		var want bool
		switch {
		case again && p.deletedBy == 0:
			want = !slices.ContainsFunc(p.formerDeleters, in)
		case again:
			if want = p.deletedBy == byRevert && p.insertedBy > 0 && in(p.insertedBy); want && p.redelete(in) {
				want = false
			}
		case p.deletedBy == 0:
			want = p.insertedBy <= 0 || !in(p.insertedBy)
		default:
			if p.deletedBy > 0 && in(p.deletedBy) {
				want = p.insertedBy <= 0 || !in(p.insertedBy)
				if !want {
					p.undelete(p.deletedBy)
					p.deletedBy = byRevert
				}
			}
		}
		switch {
		case want && p.deletedBy == 0:
			off += p.size
			joined = false
		case want:
			do(0, p.text)
			if p.deletedBy > 0 {
				p.undelete(p.deletedBy)
			}
			p.deletedBy, p.text = 0, ""
		case p.deletedBy == 0:
			p.text = strings.Clone(w.text.Slice(off, off+p.size))
			do(p.size, "")
			off += p.size
			if p.deletedBy = byRevert; again {
				p.redelete(in)
			}
		}
		out = append(out, p)
	}
	return set, compact(out)
}

// flipTo flips edits if that leads to a text; false if it does not.
func (w *weave) flipTo(after text.Text, in func(edit int) bool, again bool) bool {
	set, pieces := w.flip(in, again)
	if len(set) == 0 || !set.Apply(w.text).Equal(after) {
		return false
	}
	w.text, w.pieces = after, pieces
	return true
}

// editStatus is the state of an edit of the agent's in the present text.
type editStatus struct {
	live        bool // part of its insertion is in the text
	gone        bool // others deleted part of its insertion, or restored part of its deletion
	tomb        bool // part of its deletion is still deleted
	overwritten bool // a later accepted edit deleted part of its insertion
	reverted    bool // part of it was reverted
	start       int  // its range: the insertion, or the place of the deletion
	end         int
	placed      bool // start and end are set
	trace       bool // it has a piece; after an undo in the editor it has none
}

// statuses returns the statuses of edits 1 to n, by number.
func (w *weave) statuses(n int) []editStatus {
	out := make([]editStatus, n+1)
	off := 0
	place := func(edit, start, end int) *editStatus {
		f := &out[edit]
		if !f.placed {
			f.start, f.placed = start, true
		}
		f.end = end
		return f
	}
	for _, p := range w.pieces {
		switch {
		case p.deletedBy == 0:
			if p.insertedBy > 0 {
				place(p.insertedBy, off, off+p.size).live = true
			}
			off += p.size
		case p.deletedBy > 0:
			place(p.deletedBy, off, off).tomb = true
			if p.insertedBy > 0 {
				out[p.insertedBy].overwritten = true
			}
		}
		for _, e := range append([]int{p.insertedBy, p.deletedBy}, p.formerDeleters...) {
			if e > 0 {
				out[e].trace = true
			}
		}
		if p.insertedBy > 0 && p.deletedBy < 0 {
			out[p.insertedBy].gone = true
			out[p.insertedBy].reverted = out[p.insertedBy].reverted || p.deletedBy == byRevert
		}
		if p.deletedBy == 0 && len(p.formerDeleters) > 0 {
			out[p.formerDeleters[len(p.formerDeleters)-1]].gone = true
		}
		if p.deletedBy == 0 || p.deletedBy == byRevert {
			for _, e := range p.formerDeleters {
				out[e].reverted = true
			}
		}
	}
	return out
}

// stands reports whether part of the edit is still in the text.
func (f editStatus) stands() bool { return f.live || f.tomb }

// revertConflicts says for edits 1 to n, those of in, which cannot be taken back because somebody
// else, or a later edit that stays, has written into what they put in or around what they took out.
func (w *weave) revertConflicts(n int, in func(edit int) bool) []bool {
	bad := make([]bool, n+1)
	first, last := make([]int, n+1), make([]int, n+1)
	put, tomb, killed := make([]bool, n+1), make([]bool, n+1), make([]bool, n+1)
	starts := make([]int, len(w.pieces)+1)
	off := 0
	for i, p := range w.pieces {
		starts[i] = off
		if e := p.insertedBy; e > 0 && in(e) {
			put[e] = true
			switch {
			case p.deletedBy == 0:
				if first[e] == 0 {
					first[e] = i + 1
				}
				last[e] = i + 1
			case p.deletedBy < 0:
				killed[e] = true
			case !in(p.deletedBy):
				bad[e] = true
			}
		}
		if p.deletedBy > 0 {
			tomb[p.deletedBy] = true
		}
		if p.deletedBy == 0 {
			off += p.size
		}
	}
	starts[len(w.pieces)] = off
	foreign := func(i int) bool {
		return w.pieces[i].deletedBy == 0 && (w.pieces[i].insertedBy <= 0 || !in(w.pieces[i].insertedBy))
	}
	for e := 1; e <= n; e++ {
		if !in(e) {
			continue
		}
		bad[e] = bad[e] || killed[e] && tomb[e]
		if first[e] > 0 {
			for i := first[e]; i < last[e]-1; i++ {
				bad[e] = bad[e] || foreign(i)
			}
			bad[e] = bad[e] || w.extendsWord(first[e]-1, -1, starts) || w.extendsWord(last[e]-1, 1, starts)
		}
	}
	for i, p := range w.pieces {
		switch {
		case p.deletedBy < 0 && p.insertedBy > 0 && in(p.insertedBy) && !bad[p.insertedBy]:
			l, r := w.nearestLive(i, -1), w.nearestLive(i, 1)
			bad[p.insertedBy] = l >= 0 && w.pieces[l].insertedBy == byOthers || r >= 0 && w.pieces[r].insertedBy == byOthers
		case p.deletedBy > 0 && in(p.deletedBy) && !put[p.deletedBy] && !bad[p.deletedBy]:
			bad[p.deletedBy] = w.contextDeleted(i) || w.retyped(i, -1, starts) || w.retyped(i, 1, starts)
		}
	}
	return bad
}

// redoConflicts says for edits 1 to n, those of in, which cannot be brought again because somebody
// has written into what they took away, or taken it away himself, or has changed what they stood
// between.
func (w *weave) redoConflicts(n int, in func(edit int) bool) []bool {
	bad := make([]bool, n+1)
	first, last := make([]int, n+1), make([]int, n+1) // pieces, from 1 on
	starts := make([]int, len(w.pieces)+1)
	off := 0
	about := func(p piece) []int {
		if p.deletedBy == byRevert && p.insertedBy > 0 {
			return append([]int{p.insertedBy}, p.formerDeleters...)
		}
		return p.formerDeleters
	}
	for i, p := range w.pieces {
		starts[i] = off
		if p.deletedBy == 0 {
			off += p.size
		}
		for _, e := range about(p) {
			if !in(e) {
				continue
			}
			if first[e] == 0 {
				first[e] = i + 1
			}
			last[e] = i + 1
			bad[e] = bad[e] || p.deletedBy == byOthers || p.deletedBy > 0 && !in(p.deletedBy)
		}
	}
	starts[len(w.pieces)] = off
	for e := 1; e <= n; e++ {
		if first[e] == 0 || !in(e) {
			continue
		}
		for i := first[e] - 1; i < last[e]; i++ {
			p := w.pieces[i]
			switch {
			case p.deletedBy == 0:
				bad[e] = bad[e] || !slices.ContainsFunc(p.formerDeleters, in)
			case p.deletedBy == byRevert && p.insertedBy == e:
				bad[e] = bad[e] || w.contextDeleted(i) || w.retyped(i, -1, starts) || w.retyped(i, 1, starts)
			}
		}
	}
	return bad
}

// nearestLive gives the nearest living piece in a direction, -1 where there is none.
func (w *weave) nearestLive(i, step int) int {
	for i += step; i >= 0 && i < len(w.pieces); i += step {
		if w.pieces[i].deletedBy == 0 {
			return i
		}
	}
	return -1
}

// extendsWord says that others have made a word longer that ends, or begins, with piece i.
func (w *weave) extendsWord(i, step int, starts []int) bool {
	j := w.nearestLive(i, step)
	if j < 0 || w.pieces[j].insertedBy != byOthers {
		return false
	}
	at := starts[i]
	if step > 0 {
		at = starts[j]
	}
	l, _ := utf8.DecodeLastRuneInString(w.text.Slice(max(0, at-utf8.UTFMax), at))
	r, _ := utf8.DecodeRuneInString(w.text.Slice(at, min(w.text.Len(), at+utf8.UTFMax)))
	return wordRune(l) && wordRune(r)
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// contextDeleted says that others took away what stood on both sides of the dead piece i.
func (w *weave) contextDeleted(i int) bool {
	beside := func(step int) bool {
		for j := i + step; j >= 0 && j < len(w.pieces); j += step {
			if w.pieces[j].deletedBy != w.pieces[i].deletedBy {
				return w.pieces[j].deletedBy < 0
			}
		}
		return false
	}
	return beside(-1) && beside(1)
}

// retyped says that others have written words of the dead piece i anew, right beside it. Where the
// piece begins or ends with a word, that may be a part of theirs: the rest of it may have been gone
// before the piece was taken away.
func (w *weave) retyped(i, step int, starts []int) bool {
	j := w.nearestLive(i, step)
	if j < 0 || w.pieces[j].insertedBy != byOthers {
		return false
	}
	words := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return !wordRune(r) }) }
	gone, there := w.pieces[i].text, words(w.text.Slice(starts[j], starts[j]+w.pieces[j].size))
	old := words(gone)
	for k, o := range old {
		tail, head := k == 0 && strings.HasPrefix(gone, o), k == len(old)-1 && strings.HasSuffix(gone, o)
		if slices.ContainsFunc(there, func(s string) bool {
			return s == o || tail && strings.HasSuffix(s, o) || head && strings.HasPrefix(s, o) || tail && head && strings.Contains(s, o)
		}) {
			return true
		}
	}
	return false
}
