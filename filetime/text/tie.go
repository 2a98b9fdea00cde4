package text

import (
	"slices"
	"strings"
)

// SlideLines brings the insertions of a set to the places where the diff of git has them: one that
// can stand somewhere as whole lines stands at the last such place. What is typed with Enter at the
// end of a line is that, too: lines below it; with a blank line first, also where the end of that
// line was changed. The set does the same to base as before.
func SlideLines(base Text, s Set) Set { return slideLines(base, Trim(base, s), nil) }

// slideLines is SlideLines for a set that is compared with another one. No insertion comes to stand
// beside what the other one replaces or deletes, nor leaves such a place: whether it stands there
// decides about a conflict.
func slideLines(base Text, s, other Set) Set {
	cur := cursor{c: base.chunks()}
	out := make(Set, 0, len(s)+4)                          // the last edit first
	next, taken, k := base.Len(), base.Len()+1, len(other) // taken is where the next replacement of the other set begins
	for i, e := range slices.Backward(s) {
		for ; k > 0 && other[k-1].End > e.End; k-- {
			if other[k-1].Start < other[k-1].End {
				taken = other[k-1].Start
			}
		}
		if high := min(next, taken-1); taken > e.End {
			low := 0
			if i > 0 {
				low = s[i-1].End
			}
			for j := k - 1; j >= 0 && other[j].End > low; j-- {
				if other[j].Start < other[j].End {
					low = other[j].End + 1
				}
			}
			lines, ok := e, low > e.Start // beside a replacement it stays
			if e.Start == e.End && !ok {
				lines, ok = slideToWholeLines(&cur, e, low, high)
			}
			if n := indexEOL(e.New); !ok && n >= 0 && startsEOL(e.New[n+eolEnd(e.New[n:]):]) { // the end of a line, and a block apart
				below, ok := slideToWholeLines(&cur, Edit{e.End, e.End, e.New[n:]}, e.End, high)
				first := Edit{e.Start, e.End, e.New[:n]}
				// An edit that deletes a line end and puts it in again is not parted: its first
				// part would delete more than the whole.
				if ok && below.Start > e.End && SameSpans(base, Set{e}, base, Set{first, below}) {
					out = append(out, below)
					lines = first
				}
			}
			e = lines
		}
		out = append(out, e)
		next = e.Start
	}
	slices.Reverse(out)
	return joinInsertions(out)
}

// slideToWholeLines slides an insertion to the last offset from low to high at which it is whole
// lines; ok is false if there is none.
func slideToWholeLines(cur *cursor, e Edit, low, high int) (lines Edit, ok bool) {
	if !strings.ContainsAny(e.New, "\r\n") {
		return e, false
	}
	n, size := len(e.New), cur.c.total.bytes
	at := func(off int) byte {
		cur.seek(off)
		return cur.rest(off)[0]
	}
	turn := func(off int) int { return ((off-e.Start)%n + n) % n }
	whole := func(off int) bool {
		first, last := e.New[turn(off)], e.New[turn(off-1)]
		return (last == '\n' || last == '\r') && cur.startsLine(off) && !cur.splits(off) &&
			!(last == '\r' && off < size && at(off) == '\n') && !(first == '\n' && off > 0 && at(off-1) == '\r')
	}
	best := -1
	switch {
	case whole(e.Start):
		best = e.Start
	case startsEOL(e.New) && (e.Start == size || startsEOL(string(at(e.Start)))): // lines below a line already
		low = e.Start
	}
	for off := e.Start; off < high && at(off) == e.New[turn(off)]; {
		if off++; whole(off) {
			best = off
		}
	}
	for off := e.Start; best < 0 && off > low && at(off-1) == e.New[turn(off-1)]; {
		if off--; whole(off) {
			best = off
		}
	}
	if best < 0 {
		return e, false
	}
	return Edit{best, best, rotate(e.New, best-e.Start)}, true
}

// joinInsertions joins insertions at one point.
func joinInsertions(s Set) Set {
	out := s[:0]
	for _, e := range s {
		if n := len(out) - 1; n >= 0 && e.Start == e.End && out[n].Start == e.End {
			out[n].New += e.New
			continue
		}
		out = append(out, e)
	}
	return out
}

// tie lands two insertions at one point and chooses their order (R3, R16).
func (m *merger) tie(ours, theirs Edit) {
	o := m.order(ours, theirs)
	at := ours.Start + m.growth
	t := Tie{Ours: Range{at, at + len(ours.New)}, Theirs: Range{at, at + len(theirs.New)}}
	if o.agentFirst {
		t.Theirs = Range{t.Ours.End, t.Ours.End + len(theirs.New)}
		m.landAlone(agent, ours)
		m.landAlone(user, theirs)
	} else {
		t.Ours = Range{t.Theirs.End, t.Theirs.End + len(ours.New)}
		m.landAlone(user, theirs)
		m.landAlone(agent, ours)
	}
	if o.separates {
		m.conflict(agent, theirs, ours, RuleParted)
	}
	if o.isGuess {
		m.Ties = append(m.Ties, t)
	}
}

// order is the order of two insertions at one point. isGuess is set if the texts do not determine
// it, separates if the agent's would come between the user's and the line that it belongs to.
type order struct{ agentFirst, isGuess, separates bool }

func (m *merger) order(ours, theirs Edit) order {
	at := ours.Start
	line := m.base.Line(at)
	start, end := m.base.LineStart(line), m.base.LineEnd(line)
	starts, ends := at == start, at == end
	lines := func(e Edit) bool { return starts && endsLine(e.New) || ends && startsEOL(e.New) }
	switch o, t := lines(ours), lines(theirs); {
	case o && !t: // the user's is part of a line
		return order{agentFirst: starts && endsLine(ours.New), isGuess: starts && ends}
	case t && !o: // the agent's is
		return order{agentFirst: !starts || !endsLine(theirs.New), isGuess: starts && ends}
	case !o:
		return order{isGuess: true}
	}
	above, below := m.base.Slice(start, at), ""
	if starts {
		above, below = "", m.base.Slice(at, end)
		if line > 0 {
			above = m.base.Slice(m.base.LineStart(line-1), m.base.LineEnd(line-1))
		}
	} else if next := line + 1; next < m.base.LineCount() {
		below = m.base.Slice(m.base.LineStart(next), m.base.LineEnd(next))
	}
	return orderLines(linesIn(ours.New, starts), linesIn(theirs.New, starts), above, below)
}

// linesIn returns the lines that an insertion puts in, at the start of a line or behind the end of
// one.
func linesIn(s string, starts bool) []string {
	if starts && endsLine(s) {
		s = s[:unitStart(s, len(s)-1)]
	} else {
		s = s[eolEnd(s):]
	}
	var out []string
	for {
		n := indexEOL(s)
		if n < 0 {
			return append(out, s)
		}
		out = append(out, s[:n])
		s = s[n+eolEnd(s[n:]):]
	}
}

// orderLines is order for whole lines between two lines of the base. The user's come first, unless
// blank lines say that the agent's belong to the line above, or the user's to the line below and
// not to the one above.
func orderLines(ours, theirs []string, above, below string) order {
	blank := func(line string) bool { return strings.TrimSpace(line) == "" }
	first, last := func(l []string) string { return l[0] }, func(l []string) string { return l[len(l)-1] }
	r := order{isGuess: true}
	switch o, t := continuesBlock(first(ours)), continuesBlock(first(theirs)); {
	case o != t:
		r.agentFirst = o
	case !blank(above):
		r.agentFirst = blank(first(theirs)) && !blank(first(ours))
	case !blank(below):
		r.agentFirst = blank(last(ours)) && !blank(last(theirs))
	}
	if r.agentFirst {
		return r
	}
	r.separates = !blank(below) && belongsToNext(last(theirs)) && !belongsToNext(last(ours))
	end, begin := len(theirs)-1, 0
	for end > 0 && blank(theirs[end]) {
		end--
	}
	for begin < len(ours)-1 && blank(ours[begin]) {
		begin++
	}
	r.separates = r.separates || endsControlFlow(theirs[end]) && !blank(ours[begin]) && columns(ours[begin]) >= columns(theirs[end])
	return r
}

// continuesBlock reports whether a line continues the block above it, such as an else.
func continuesBlock(line string) bool {
	line = strings.TrimSpace(line)
	if line != "" && strings.IndexByte("})]", line[0]) >= 0 {
		return true
	}
	return slices.Contains([]string{"else", "elif", "elsif", "elseif", "except", "catch", "finally", "ensure", "rescue"}, firstWord(line))
}

// endsControlFlow reports whether the lines after it in its block are unreachable, as after a
// return.
func endsControlFlow(line string) bool {
	return slices.Contains([]string{"return", "break", "continue", "throw", "raise", "goto"}, firstWord(strings.TrimSpace(line)))
}

// belongsToNext reports whether a line belongs to the one below it: a decorator, an attribute, a
// comment or the head of a block.
func belongsToNext(line string) bool {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"@", "#", "//", "/*", "--", "<!--", ";"} {
		if strings.HasPrefix(line, sign) {
			return true
		}
	}
	for _, sign := range []string{"*/", "-->", "{", "(", "[", ":", "\\"} {
		if strings.HasSuffix(line, sign) {
			return true
		}
	}
	return strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]")
}

func firstWord(line string) string {
	for i, r := range line {
		if !isWord(r) {
			return line[:i]
		}
	}
	return line
}
