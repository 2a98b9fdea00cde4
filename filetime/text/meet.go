package text

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// slid is R9, before the two sets are compared. It returns ours with each insertion that does the
// same as one of theirs moved to where that stands, which changes nothing of what ours does.
func (m *merger) slid(ours, theirs Set) Set {
	cur, size := m.cur, m.base.Len()
	out, first := ours, 0
	for i, o := range ours {
		if o.Start < o.End || len(theirs) == 0 {
			continue
		}
		lo, hi := reach(&cur, out, i, size)
		first = from(theirs, first, lo)
		last := from(theirs, first, hi+1)
		same := func(t Edit) bool { return t.Start == t.End && turned(o.New, t.Start-o.Start) == t.New }
		if k := slices.IndexFunc(theirs[first:last], same); k >= 0 {
			if &out[0] == &ours[0] {
				out = slices.Clone(ours)
			}
			out[i] = theirs[first+k]
		}
	}
	return out
}

// twice is R9 for what is not the same: it notes a conflict for each two edits, one of them an
// insertion, that can stand at one place and both make the same line.
func (m *merger) twice(ours, theirs Set) {
	cur, size := m.cur, m.base.Len()
	first := 0
	for i, o := range ours {
		if o.New == "" || len(theirs) == 0 {
			continue
		}
		lo, hi := reach(&cur, ours, i, size)
		first = from(theirs, first, lo)
		last := min(len(theirs), from(theirs, first, hi+1)+1)
		for j := max(0, first-1); j < last; j++ {
			t := theirs[j]
			if t.New == "" || o == t || o.Start < o.End && t.Start < t.End || o.Start < t.End && t.Start < o.End ||
				t.Start-hi > len(t.New) || lo-t.End > len(t.New) {
				continue
			}
			if l, h := reach(&cur, theirs, j, size); l > hi || h < lo || !meet(m.made(o), m.made(t)) {
				continue
			}
			start, end := min(o.Start, t.Start), max(o.End, t.End)
			if start < end && cur.startsLine(end) { // the line before which one of them stands is of the place
				end = m.base.LineEnd(m.base.Line(end))
			}
			m.doubled = append(m.doubled, m.conflictOf(start, end, Set{o}, Set{t}, RuleDoubled))
		}
	}
}

// meet reports whether two lists have a line in common.
func meet(a, b []string) bool {
	if len(b) == 0 {
		return false
	}
	in := make(map[string]bool, len(a))
	for _, l := range a {
		in[l] = true
	}
	return slices.ContainsFunc(b, func(l string) bool { return in[l] })
}

// from returns the index of the first edit, from the i-th on, that starts at off or later. What
// reaches give as off grows with the edits, so that looking for all of them goes over s once.
func from(s Set, i, off int) int {
	for i < len(s) && s[i].Start < off {
		i++
	}
	return i
}

// reach returns the first and the last place at which edit i of s stands: an insertion, turned
// round, wherever it does the same, though not past the edits beside it.
func reach(cur *cursor, s Set, i, size int) (lo, hi int) {
	e, n := s[i], len(s[i].New)
	if e.Start < e.End {
		return e.Start, e.End
	}
	low, high := 0, size
	if i > 0 {
		low = s[i-1].End
	}
	if i+1 < len(s) {
		high = s[i+1].Start
	}
	at := func(off int) byte {
		cur.seek(off)
		return cur.rest(off)[0]
	}
	lo, hi = e.Start, e.Start
	for hi < high && at(hi) == e.New[(hi-e.Start)%n] {
		hi++
	}
	for lo > low && at(lo-1) == e.New[n-1-(e.Start-lo)%n] {
		lo--
	}
	return lo, hi
}

// turned returns what an insertion inserts when it has slid down by k, or up where k is below 0.
func turned(s string, k int) string {
	k = (k%len(s) + len(s)) % len(s)
	return s[k:] + s[:k]
}

// made returns the lines with a word in them that come of an edit, all those that have something of
// its text.
func (m *merger) made(e Edit) []string {
	line := m.base.Line(e.Start)
	last := line
	if e.End > e.Start {
		last = m.base.Line(e.End)
	}
	s := e.New
	if !startsEOL(s) {
		s = m.base.Slice(m.base.LineStart(line), e.Start) + s
	}
	if !endsLine(s) {
		s += m.base.Slice(e.End, m.base.LineEnd(last))
	}
	var out []string
	for s != "" {
		n := indexEOL(s)
		if n < 0 {
			n = len(s)
		}
		if hasWord(s[:n]) {
			out = append(out, s[:n])
		}
		s = s[n:]
		s = s[eolEnd(s):]
	}
	return out
}

func hasWord(s string) bool {
	for _, r := range s {
		if isWord(r) {
			return true
		}
	}
	return false
}

// glued reports whether two texts that meet have neither a blank nor a line end between them.
func glued(l, r string) bool {
	a, n := utf8.DecodeLastRuneInString(l)
	b, k := utf8.DecodeRuneInString(r)
	return n > 0 && k > 0 && !unicode.IsSpace(a) && !unicode.IsSpace(b)
}

// beside looks at an edit that overlaps none of the other side's, where it touches one of them and
// they are not two insertions. Where one of the two takes a word away, word runes of the other at
// its edge are of that word (R11). Else an insertion and what was replaced beside it both land, and
// SameLine tells of it. kept says that a line end may have to stay between the two (R10).
func (m *merger) beside(who side, e Edit) (kept bool) {
	other := m.last[agent+user-who]
	if other.End != e.Start || other.Start == other.End && e.Start == e.End {
		return false
	}
	l := m.cur.slice(max(other.Start, other.End-utf8.UTFMax), other.End)
	r := m.cur.slice(e.Start, min(e.End, e.Start+utf8.UTFMax))
	if fuses(l, e.New) || fuses(other.New, r) {
		m.conflict(who, other, e, RuleWord)
	}
	m.SameLine = m.SameLine || e.New != "" && other.New != "" && (other.Start == other.End || e.Start == e.End)
	eol := ""
	switch {
	case who == user && e.Start == e.End:
		eol = m.lastEOL(other)
	case who == agent && other.Start == other.End:
		eol = m.firstEOL(e)
	}
	if eol != "" {
		at := e.Start + m.grown
		m.ends = append(m.ends, Edit{at, at, eol})
	}
	return eol != ""
}

// lastEOL returns the line end that an edit takes away from before what stands behind it, "" if
// there is none.
func (m *merger) lastEOL(e Edit) string {
	gone := m.cur.slice(e.Start, e.End)
	n := len(gone)
	for n > 0 && !endsLine(gone[:n]) {
		n--
	}
	if n == 0 || n < len(gone) && e.New != "" {
		return ""
	}
	return gone[unitStart(gone, n-1):n]
}

// firstEOL returns the line end that an edit takes away from behind what stands before it, "" if
// there is none.
func (m *merger) firstEOL(e Edit) string {
	gone := m.cur.slice(e.Start, e.End)
	n := indexEOL(gone)
	if n < 0 || n > 0 && e.New != "" {
		return ""
	}
	return gone[n : n+eolEnd(gone[n:])]
}

// apart is R10: over the text that both sides make it returns the line ends that have to stay, of
// those that the agent's edits take away beside insertions of the user's, since those would be
// glued to other text.
func (m *merger) apart(theirs Set) Set {
	if len(m.ends) == 0 || len(m.Conflicts) > 0 {
		return nil
	}
	var out Set
	both := m.ours.Apply(theirs.Apply(m.base))
	for _, e := range m.ends {
		l, r := both.Slice(max(0, e.Start-utf8.UTFMax), e.Start), both.Slice(e.Start, min(both.Len(), e.Start+utf8.UTFMax))
		if n := len(out); glued(l, r) && (n == 0 || out[n-1].Start < e.Start) {
			out = append(out, e)
		}
	}
	return out
}

// inOrder returns conflicts in the order of their places, one for each.
func inOrder(a, b []Conflict) []Conflict {
	if len(a) == 0 {
		return b
	}
	a = append(a, b...)
	slices.SortStableFunc(a, func(x, y Conflict) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
	return slices.CompactFunc(a, func(x, y Conflict) bool { return x.Start == y.Start && x.End == y.End })
}

// Moved reports whether the text at a place of seen was moved as a block to the place found of now,
// to which since leads: it begins and ends between tokens, the lines that it is of are the same
// there, and they stand elsewhere than before.
func Moved(seen Text, at Range, since Set, now Text, found Range) bool {
	since = Trim(seen, since)
	from, to := since.MapPos(at.Start, false), since.MapPos(at.End, true)
	elsewhere := found.End <= from || to <= found.Start
	return elsewhere && now.apart(found.Start) && now.apart(found.End) && seen.linesOf(at) == now.linesOf(found)
}

// linesOf returns the lines of a place, whatever they end in.
func (t Text) linesOf(r Range) string {
	first, last := t.Line(r.Start), t.Line(max(r.Start, r.End-1))
	return project(t.Slice(t.LineStart(first), t.LineEnd(last)), leading).s
}

// apart reports whether a token ends at an offset.
func (t Text) apart(off int) bool {
	start := max(0, off-utf8.UTFMax)
	return apart(t.Slice(start, min(t.Len(), off+utf8.UTFMax)), off-start)
}
