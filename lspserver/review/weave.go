package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/filetime/text"
)

// others stands for everybody but this session's agent, as the one who put a piece in or took it away: a person at the
// editor, a program that wrote the file, another session. An edit of the agent's has a number from 1 on; 0 is the text
// that was there before the first of them.
const others = -1

// undone stands for the one who took a piece away because its edit was taken back.
const undone = -2

// weave is a file's text with what was taken out of it still in its place, and for each piece who put it in and who took
// it away. So an edit can be taken back whatever happened since, without ever touching what somebody else wrote.
type weave struct {
	rev    uint64
	text   text.Text
	pieces []piece
	past   []moment
	at     []int // which of past it is now: several where the text does not tell, the likeliest first
	joined bool  // the next change was told in one with the latest
	// lost are the edits that a program's write took out; true where the model does not know. Never changed.
	lost map[int]bool
}

// moment is what a weave was after a change, or before the first one; never changed.
type moment struct {
	text   text.Text
	pieces []piece
	from   []int // the snapshot before, and those before that where an editor's undo leads there at once
	run    int   // one number for those between which nothing of the agent's happened
}

// keep takes a snapshot of the present state.
func (w *weave) keep() {
	if len(w.past) == 0 {
		w.past, w.at = []moment{{text: w.text, pieces: w.pieces}}, []int{0}
		return
	}
	m := w.past[w.at[0]]
	switch {
	case !m.text.Equal(w.text):
		w.step(false)
	case len(m.pieces) != len(w.pieces) || len(m.pieces) > 0 && &m.pieces[0] != &w.pieces[0]:
		m.pieces = w.pieces
		w.past = slices.Clone(w.past)
		w.past[w.at[0]] = m
	}
}

// step notes that the weave has just changed; alone says that this was a change of the agent's or takes one back, which
// editors undo by itself.
func (w *weave) step(alone bool) {
	const most = 256
	if len(w.past) == most {
		w.forget(most / 4)
	}
	m := moment{w.text, w.pieces, w.at, 0}
	if len(w.at) > 0 {
		m.run = w.past[w.at[0]].run
		if w.joined {
			m.from = slices.Concat(w.at, w.past[w.at[0]].from)
		}
	}
	w.joined = false
	if alone {
		for _, p := range w.past {
			m.run = max(m.run, p.run+1)
		}
	}
	w.past = append(slices.Clip(w.past), m)
	w.at = []int{len(w.past) - 1}
}

// forget drops the n oldest snapshots.
func (w *weave) forget(n int) {
	later := func(at []int) (out []int) {
		for _, i := range at {
			if i >= n {
				out = append(out, i-n)
			}
		}
		return out
	}
	w.past, w.at = slices.Clone(w.past[n:]), later(w.at)
	if w.at == nil { // it is one of them
		w.past = nil
	}
	for i := range w.past {
		w.past[i].from = later(w.past[i].from)
	}
}

// recall makes the weave what it was when its text was this one, where an editor's undo or redo can lead there: over one
// change of the agent's, or over any number of others, or, with far, over any at all, as a program restores a file; an editor may undo that
// at once. It is false where nothing of that kind is remembered.
func (w *weave) recall(t text.Text, far bool) bool {
	var found []int
	for i, m := range slices.Backward(w.past) {
		leads := !slices.Contains(w.at, i) && slices.ContainsFunc(w.at, func(at int) bool {
			return far || m.run == w.past[at].run || slices.Contains(m.from, at) || slices.Contains(w.past[at].from, i)
		})
		if leads && m.text.Equal(t) {
			found = append(found, i)
		}
	}
	if found == nil {
		return false
	}
	if far {
		w.past = slices.Clone(w.past)
		for _, i := range found {
			w.past[i].from = slices.Concat(w.past[i].from, w.at)
		}
	}
	w.text, w.pieces, w.at = w.past[found[0]].text, w.past[found[0]].pieces, found
	return true
}

// piece is a run of text with one past.
type piece struct {
	n    int    // bytes
	by   int    // who put it in
	dead int    // who took it away, 0 while it is there
	was  []int  // the edits that had taken it away before somebody brought it back, the last one last; never changed
	text string // of a dead piece
}

// back notes that what an edit had taken away is there again.
func (p *piece) back(edit int) {
	const most = 8
	p.was = append(slices.Clone(p.was[max(0, len(p.was)-most):]), edit)
}

// again makes the last of in the one who has taken the piece away once more; false where none of them ever had.
func (p *piece) again(in func(edit int) bool) bool {
	for i, e := range slices.Backward(p.was) {
		if in(e) {
			p.dead, p.was = e, p.was[:i:i]
			return true
		}
	}
	return false
}

func newWeave(t text.Text, rev uint64) *weave {
	w := &weave{rev: rev, text: t}
	if t.Len() > 0 {
		w.pieces = []piece{{n: t.Len()}}
	}
	return w
}

func (w *weave) clone() *weave {
	return &weave{rev: w.rev, text: w.text, pieces: slices.Clone(w.pieces), past: w.past, at: w.at, lost: w.lost}
}

// land takes in an edit of the agent's; number gives each part of the set its number.
func (w *weave) land(set text.Set, number func(i int) int) {
	w.splice(set, func(i int, gap []piece) (who int, back []int) { return number(i), nil })
}

// change takes in what somebody else did. Text that comes back where it was taken away is the old text again: an editor's
// undo and redo look like typing, and an editor may tell them in one edit with what was typed beside them.
func (w *weave) change(set text.Set) {
	set = w.slid(text.Trim(w.text, text.Minimize(w.text, w.widened(set))))
	w.splice(set, func(i int, gap []piece) (int, []int) { return others, comeback(gap, set[i].New) })
}

// widened makes what replaces a part of lines replace the whole of them: then what came back in them is found as lines and
// words, wherever the editor has cut it.
func (w *weave) widened(set text.Set) text.Set {
	out := slices.Clone(set)
	for i, e := range set {
		if e.Start == e.End || e.New == "" {
			continue
		}
		low, high := 0, w.text.Len()
		if i > 0 {
			low = out[i-1].End
		}
		if i+1 < len(set) {
			high = set[i+1].Start
		}
		start, end := max(low, w.text.LineStart(w.text.Line(e.Start))), e.End
		if !lineStart(w.text, end) {
			end = min(high, lineEnd(w.text, end))
		}
		out[i] = text.Edit{Start: start, End: end, New: w.text.Slice(start, e.Start) + e.New + w.text.Slice(e.End, end)}
	}
	return out
}

// splice makes one pass over the pieces. judge says who makes the i-th edit, and which of the dead pieces in its gap its
// new text is; where it is none of them it is a piece of its own.
func (w *weave) splice(set text.Set, judge func(i int, gap []piece) (who int, back []int)) {
	if len(set) == 0 {
		return
	}
	in := w.cut(set)
	out := make([]piece, 0, len(in)+len(set))
	redone := map[int]bool{} // edits whose text came back
	var doubtful []int       // what was brought back before and is taken away again
	k, off := 0, 0
	for i, e := range set {
		for off < e.Start {
			if in[k].dead == 0 {
				off += in[k].n
			}
			out = append(out, in[k])
			k++
		}
		from := len(out)
		alive := []bool{}
		for k < len(in) && (in[k].dead != 0 || off < e.End) {
			p := in[k]
			alive = append(alive, p.dead == 0)
			if p.dead == 0 {
				p.text = w.text.Slice(off, off+p.n)
				off += p.n
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
		if who == others && back == nil {
			if j, parts := part(gap, e.New); parts != nil {
				out = slices.Replace(out, from+j, from+j+1, parts...)
				gap = slices.Replace(gap, j, j+1, parts...)
				alive = slices.Insert(alive, j, make([]bool, len(parts)-1)...)
				back = comeback(gap, e.New)
			}
		}
		after := 0 // where new text goes: behind what it replaces
		for j := range gap {
			p := &out[from+j]
			switch {
			case slices.Contains(back, j):
				redone[p.by] = true
				if p.dead > 0 {
					p.back(p.dead)
				}
				p.dead, p.text = 0, ""
			case alive[j]:
				after = j + 1
				if p.dead = who; who == others && len(p.was) > 0 {
					doubtful = append(doubtful, from+j)
				}
			}
		}
		if e.New != "" && len(back) == 0 {
			out = slices.Insert(out, from+after, piece{n: len(e.New), by: who})
			for d, at := range doubtful {
				if at >= from+after {
					doubtful[d]++
				}
			}
		}
	}
	out = append(out, in[k:]...)
	for _, at := range doubtful {
		p := &out[at]
		p.again(func(e int) bool { return redone[e] })
	}
	w.pieces, w.text = tidy(out), set.Apply(w.text)
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
		if p.dead == 0 {
			for len(at) > 0 && at[0] < off+p.n {
				if at[0] > off {
					head := p
					head.n = at[0] - off
					out = append(out, head)
					p.n -= head.n
					off = at[0]
				}
				at = at[1:]
			}
			off += p.n
		}
		out = append(out, p)
	}
	return out
}

// tidy joins pieces with one past and drops what nobody will ask for again: what others took away in a place where nothing
// of the agent's is gone.
func tidy(in []piece) []piece {
	out := in[:0]
	for i := 0; i < len(in); {
		j, keep := i, false
		for ; j < len(in) && in[j].dead != 0; j++ {
			keep = keep || in[j].by > 0 || in[j].dead > 0 || len(in[j].was) > 0
		}
		if keep {
			out = append(out, in[i:j]...)
		}
		if i = j; j == len(in) {
			break
		}
		p, n := in[j], len(out)-1
		switch {
		case p.n == 0:
		case n >= 0 && out[n].dead == 0 && out[n].by == p.by && slices.Equal(out[n].was, p.was):
			out[n].n += p.n
		default:
			out = append(out, p)
		}
		i++
	}
	return out
}

// comeback finds dead pieces, in their order, that together say s; nil where there are none.
func comeback(gap []piece, s string) []int {
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

// part finds s in a dead piece of the agent's that others took away, and cuts that out of it. A single character proves
// nothing.
func part(gap []piece, s string) (int, []piece) {
	if utf8.RuneCountInString(s) < 2 {
		return 0, nil
	}
	for j, p := range gap {
		at := strings.Index(p.text, s)
		if at < 0 || p.by <= 0 || p.dead != others {
			continue
		}
		var out []piece
		for _, t := range []string{p.text[:at], s, p.text[at+len(s):]} {
			if t != "" {
				p.n, p.text = len(t), t
				out = append(out, p)
			}
		}
		return j, out
	}
	return 0, nil
}

// slid moves insertions that may as well stand elsewhere in a run of equal text to where they bring dead text back.
func (w *weave) slid(set text.Set) text.Set {
	const most = 4096
	if !slices.ContainsFunc(w.pieces, func(p piece) bool { return p.dead != 0 }) {
		return set
	}
	gaps := w.gaps()
	out := slices.Clone(set)
	for i, e := range set {
		if e.Start != e.End || comeback(w.gap(e.Start), e.New) != nil {
			continue
		}
		low, high := 0, w.text.Len()
		if i > 0 {
			low = out[i-1].End
		}
		if i+1 < len(set) {
			high = set[i+1].Start
		}
		low, high = max(low, e.Start-most), min(high, e.End+most)
		if moved, ok := w.slide(e, low, -1, gaps); ok {
			out[i] = moved
		} else if moved, ok := w.slide(e, high, 1, gaps); ok {
			out[i] = moved
		}
	}
	return out
}

// slide looks for the place towards limit where an insertion does the same and brings something dead back.
func (w *weave) slide(e text.Edit, limit, step int, gaps map[int]bool) (text.Edit, bool) {
	n := len(e.New)
	for k := 1; e.Start+step*(k-1) != limit; k++ {
		at, next, turn := e.Start+step*k, (k-1)%n, k%n
		from := at
		if step > 0 {
			from--
		} else {
			next, turn = n-1-next, n-turn
		}
		if w.text.Slice(from, from+1) != e.New[next:next+1] {
			return e, false
		}
		if !gaps[at] {
			continue
		}
		if moved := (text.Edit{Start: at, End: at, New: e.New[turn:] + e.New[:turn]}); comeback(w.gap(at), moved.New) != nil {
			return moved, true
		}
	}
	return e, false
}

// gaps are the places of the text where something dead stands.
func (w *weave) gaps() map[int]bool {
	out := map[int]bool{}
	off := 0
	for _, p := range w.pieces {
		if p.dead == 0 {
			off += p.n
		} else {
			out[off] = true
		}
	}
	return out
}

// gap gives the dead pieces that stand at a place of the text.
func (w *weave) gap(at int) []piece {
	var out []piece
	off := 0
	for _, p := range w.pieces {
		switch {
		case p.dead == 0:
			off += p.n
		case off == at:
			out = append(out, p)
		}
		if off > at {
			break
		}
	}
	return out
}

// turn gives what takes the edits of in back, over the present text, and the pieces after that; again puts in once more
// those that somebody had taken back. What others wrote stays.
func (w *weave) turn(in func(edit int) bool, again bool) (text.Set, []piece) {
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
		case again && p.dead == 0:
			want = !slices.ContainsFunc(p.was, in)
		case again:
			if want = p.dead == undone && p.by > 0 && in(p.by); want && p.again(in) {
				want = false
			}
		case p.dead == 0:
			want = p.by <= 0 || !in(p.by)
		default:
			if p.dead > 0 && in(p.dead) {
				want = p.by <= 0 || !in(p.by)
				if !want {
					p.back(p.dead)
					p.dead = undone
				}
			}
		}
		switch {
		case want && p.dead == 0:
			off += p.n
			joined = false
		case want:
			do(0, p.text)
			if p.dead > 0 {
				p.back(p.dead)
			}
			p.dead, p.text = 0, ""
		case p.dead == 0:
			p.text = w.text.Slice(off, off+p.n)
			do(p.n, "")
			off += p.n
			if p.dead = undone; again {
				p.again(in)
			}
		}
		out = append(out, p)
	}
	return set, tidy(out)
}

// near lists the edits of the agent's whose text, there or not, a set comes in touch with.
func (w *weave) near(set text.Set) map[int]bool {
	out := map[int]bool{}
	off, i := 0, 0
	for _, p := range w.pieces {
		end := off
		if p.dead == 0 {
			end += p.n
		}
		for i < len(set) && set[i].End < off {
			i++
		}
		if i < len(set) && set[i].Start <= end {
			for _, edit := range append([]int{p.by, p.dead}, p.was...) {
				if edit > 0 {
					out[edit] = true
				}
			}
		}
		off = end
	}
	return out
}

// fact is how an edit of the agent's stands in the present text.
type fact struct {
	live  bool // some of what it put in is there
	gone  bool // some of what it put in was taken away by others, or some of what it took away was brought back
	tomb  bool // some of what it took away is not there
	under bool // some of what it put in was taken away by an edit that stands
	back  bool // some of what it put in was taken back, or some of what it took away is there again
	start int  // where it stands: the range of what it put in, or the place where it took something away
	end   int
	known bool // start and end are set
	trace bool // there is a piece that it put in or took away; there is none once an editor has undone it
}

// facts gives those of edits 1 to n at their numbers.
func (w *weave) facts(n int) []fact {
	out := make([]fact, n+1)
	off := 0
	place := func(edit, start, end int) *fact {
		f := &out[edit]
		if !f.known {
			f.start, f.known = start, true
		}
		f.end = end
		return f
	}
	for _, p := range w.pieces {
		switch {
		case p.dead == 0:
			if p.by > 0 {
				place(p.by, off, off+p.n).live = true
			}
			off += p.n
		case p.dead > 0:
			place(p.dead, off, off).tomb = true
			if p.by > 0 {
				out[p.by].under = true
			}
		}
		for _, e := range append([]int{p.by, p.dead}, p.was...) {
			if e > 0 {
				out[e].trace = true
			}
		}
		if p.by > 0 && p.dead < 0 {
			out[p.by].gone = true
			out[p.by].back = out[p.by].back || p.dead == undone
		}
		if p.dead == 0 && len(p.was) > 0 {
			out[p.was[len(p.was)-1]].gone = true
		}
		if p.dead == 0 || p.dead == undone {
			for _, e := range p.was {
				out[e].back = true
			}
		}
	}
	return out
}

// stands says that something of the edit is still there.
func (f fact) stands() bool { return f.live || f.tomb }

// clashes says for edits 1 to n, those of in, which cannot be taken back because somebody else, or a later edit that
// stays, has written into what they put in or around what they took out.
func (w *weave) clashes(n int, in func(edit int) bool) []bool {
	bad := make([]bool, n+1)
	first, last := make([]int, n+1), make([]int, n+1)
	put, tomb, killed := make([]bool, n+1), make([]bool, n+1), make([]bool, n+1)
	starts := make([]int, len(w.pieces)+1)
	off := 0
	for i, p := range w.pieces {
		starts[i] = off
		if e := p.by; e > 0 && in(e) {
			put[e] = true
			switch {
			case p.dead == 0:
				if first[e] == 0 {
					first[e] = i + 1
				}
				last[e] = i + 1
			case p.dead < 0:
				killed[e] = true
			case !in(p.dead):
				bad[e] = true
			}
		}
		if p.dead > 0 {
			tomb[p.dead] = true
		}
		if p.dead == 0 {
			off += p.n
		}
	}
	starts[len(w.pieces)] = off
	foreign := func(i int) bool { return w.pieces[i].dead == 0 && (w.pieces[i].by <= 0 || !in(w.pieces[i].by)) }
	for e := 1; e <= n; e++ {
		if !in(e) {
			continue
		}
		bad[e] = bad[e] || killed[e] && tomb[e]
		if first[e] > 0 {
			for i := first[e]; i < last[e]-1; i++ {
				bad[e] = bad[e] || foreign(i)
			}
			bad[e] = bad[e] || w.grown(first[e]-1, -1, starts) || w.grown(last[e]-1, 1, starts)
		}
	}
	for i, p := range w.pieces {
		switch {
		case p.dead < 0 && p.by > 0 && in(p.by) && !bad[p.by]:
			l, r := w.living(i, -1), w.living(i, 1)
			bad[p.by] = l >= 0 && w.pieces[l].by == others || r >= 0 && w.pieces[r].by == others
		case p.dead > 0 && in(p.dead) && !put[p.dead] && !bad[p.dead]:
			bad[p.dead] = w.uprooted(i) || w.rewritten(i, -1, starts) || w.rewritten(i, 1, starts)
		}
	}
	return bad
}

// meets says for edits 1 to n, those of in, which cannot be brought again because somebody has written into what they took
// away, or taken it away himself, or has changed what they stood between.
func (w *weave) meets(n int, in func(edit int) bool) []bool {
	bad := make([]bool, n+1)
	first, last := make([]int, n+1), make([]int, n+1) // pieces, from 1 on
	starts := make([]int, len(w.pieces)+1)
	off := 0
	about := func(p piece) []int {
		if p.dead == undone && p.by > 0 {
			return append([]int{p.by}, p.was...)
		}
		return p.was
	}
	for i, p := range w.pieces {
		starts[i] = off
		if p.dead == 0 {
			off += p.n
		}
		for _, e := range about(p) {
			if !in(e) {
				continue
			}
			if first[e] == 0 {
				first[e] = i + 1
			}
			last[e] = i + 1
			bad[e] = bad[e] || p.dead == others || p.dead > 0 && !in(p.dead)
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
			case p.dead == 0:
				bad[e] = bad[e] || !slices.ContainsFunc(p.was, in)
			case p.dead == undone && p.by == e:
				bad[e] = bad[e] || w.uprooted(i) || w.rewritten(i, -1, starts) || w.rewritten(i, 1, starts)
			}
		}
	}
	return bad
}

// living gives the nearest living piece in a direction, -1 where there is none.
func (w *weave) living(i, step int) int {
	for i += step; i >= 0 && i < len(w.pieces); i += step {
		if w.pieces[i].dead == 0 {
			return i
		}
	}
	return -1
}

// grown says that others have made a word longer that ends, or begins, with piece i.
func (w *weave) grown(i, step int, starts []int) bool {
	j := w.living(i, step)
	if j < 0 || w.pieces[j].by != others {
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

// uprooted says that others took away what stood on both sides of the dead piece i.
func (w *weave) uprooted(i int) bool {
	beside := func(step int) bool {
		for j := i + step; j >= 0 && j < len(w.pieces); j += step {
			if w.pieces[j].dead != w.pieces[i].dead {
				return w.pieces[j].dead < 0
			}
		}
		return false
	}
	return beside(-1) && beside(1)
}

// rewritten says that others have written words of the dead piece i anew, right beside it. Where the piece begins or ends
// with a word, that may be a part of theirs: the rest of it may have been gone before the piece was taken away.
func (w *weave) rewritten(i, step int, starts []int) bool {
	j := w.living(i, step)
	if j < 0 || w.pieces[j].by != others {
		return false
	}
	words := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return !wordRune(r) }) }
	gone, there := w.pieces[i].text, words(w.text.Slice(starts[j], starts[j]+w.pieces[j].n))
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
