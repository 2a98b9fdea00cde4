package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// slideOnto is R9, before the two sets are compared. It moves each insertion of ours that equals
// one of theirs at another offset to that offset; the result of ours stays the same.
func (m *merger) slideOnto(ours, theirs Set) Set {
	cur, size := m.cursor, m.base.Len()
	out, first := ours, 0
	for i, o := range ours {
		if o.Start < o.End || len(theirs) == 0 {
			continue
		}
		lo, hi := slideRange(&cur, out, i, size)
		first = indexFrom(theirs, first, lo)
		last := indexFrom(theirs, first, hi+1)
		same := func(t Edit) bool { return t.Start == t.End && rotate(o.New, t.Start-o.Start) == t.New }
		if k := slices.IndexFunc(theirs[first:last], same); k >= 0 {
			if &out[0] == &ours[0] {
				out = slices.Clone(ours)
			}
			out[i] = theirs[first+k]
		}
	}
	return out
}

// findDuplicates is R9 for different edits: it records a conflict for each two edits, one of them
// an insertion, that can stand at one place and both produce the same line.
func (m *merger) findDuplicates(ours, theirs Set) {
	cur, size := m.cursor, m.base.Len()
	first := 0
	for i, o := range ours {
		if o.New == "" || len(theirs) == 0 {
			continue
		}
		lo, hi := slideRange(&cur, ours, i, size)
		first = indexFrom(theirs, first, lo)
		last := min(len(theirs), indexFrom(theirs, first, hi+1)+1)
		for j := max(0, first-1); j < last; j++ {
			t := theirs[j]
			if t.New == "" || o == t || o.Start < o.End && t.Start < t.End || o.Start < t.End && t.Start < o.End ||
				t.Start-hi > len(t.New) || lo-t.End > len(t.New) {
				continue
			}
			if l, h := slideRange(&cur, theirs, j, size); l > hi || h < lo || !shareLine(m.resultLines(o), m.resultLines(t)) {
				continue
			}
			start, end := min(o.Start, t.Start), max(o.End, t.End)
			if start < end && cur.startsLine(end) { // the line before which one of them stands is of the place
				end = m.base.LineEnd(m.base.Line(end))
			}
			m.duplicates = append(m.duplicates, m.conflictOf(start, end, Set{o}, Set{t}, RuleDoubled))
		}
	}
}

// shareLine reports whether two lists have a line in common.
func shareLine(a, b []string) bool {
	if len(b) == 0 {
		return false
	}
	in := make(map[string]bool, len(a))
	for _, l := range a {
		in[l] = true
	}
	return slices.ContainsFunc(b, func(l string) bool { return in[l] })
}

// indexFrom returns the index of the first edit, from the i-th on, that starts at off or later.
// Callers pass ascending offsets, so that all their searches together scan s once.
func indexFrom(s Set, i, off int) int {
	for i < len(s) && s[i].Start < off {
		i++
	}
	return i
}

// slideRange returns the first and the last offset for edit i of s: an insertion can slide,
// rotated, wherever the result is the same, though not past its neighbours.
func slideRange(cur *cursor, s Set, i, size int) (lo, hi int) {
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

// rotate returns the text of an insertion after it slid down by k, or up for a negative k.
func rotate(s string, k int) string {
	k = (k%len(s) + len(s)) % len(s)
	return s[k:] + s[:k]
}

// resultLines returns the lines with a word that contain text of an edit, as they are after it.
func (m *merger) resultLines(e Edit) []string {
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
		if containsWord(s[:n]) {
			out = append(out, s[:n])
		}
		s = s[n:]
		s = s[eolEnd(s):]
	}
	return out
}

func containsWord(s string) bool {
	return strings.ContainsFunc(s, isWord)
}

// isGlued reports whether two adjacent texts have neither a blank nor a line end between them.
func isGlued(l, r string) bool {
	a, n := utf8.DecodeLastRuneInString(l)
	b, k := utf8.DecodeRuneInString(r)
	return n > 0 && k > 0 && !unicode.IsSpace(a) && !unicode.IsSpace(b)
}

// checkAdjacent handles an edit that touches one of the other side's without overlapping, unless
// both are insertions. If one deletes a word, word runes of the other at its edge belong to that
// word: a conflict (R11). Else both land and SameLine is set. kept is true if a line end may have
// to stay between the two (R10).
func (m *merger) checkAdjacent(who side, e Edit) (kept bool) {
	other := m.last[agent+user-who]
	if other.End != e.Start || other.Start == other.End && e.Start == e.End {
		return false
	}
	l := m.cursor.slice(max(other.Start, other.End-utf8.UTFMax), other.End)
	r := m.cursor.slice(e.Start, min(e.End, e.Start+utf8.UTFMax))
	if wouldFuse(l, e.New) || wouldFuse(other.New, r) {
		m.conflict(who, other, e, RuleWord)
	}
	m.SameLine = m.SameLine || e.New != "" && other.New != "" && (other.Start == other.End || e.Start == e.End)
	eol := ""
	switch {
	case who == user && e.Start == e.End:
		eol = m.removedLastEOL(other)
	case who == agent && other.Start == other.End:
		eol = m.removedFirstEOL(e)
	}
	if eol != "" {
		at := e.Start + m.growth
		m.restoredEOLs = append(m.restoredEOLs, Edit{at, at, eol})
	}
	return eol != ""
}

// removedLastEOL returns the line end that an edit deletes right before the text that follows it,
// or "".
func (m *merger) removedLastEOL(e Edit) string {
	gone := m.cursor.slice(e.Start, e.End)
	n := len(gone)
	for n > 0 && !endsLine(gone[:n]) {
		n--
	}
	if n == 0 || n < len(gone) && e.New != "" {
		return ""
	}
	return gone[unitStart(gone, n-1):n]
}

// removedFirstEOL returns the line end that an edit deletes right after the text that precedes it,
// or "".
func (m *merger) removedFirstEOL(e Edit) string {
	gone := m.cursor.slice(e.Start, e.End)
	n := indexEOL(gone)
	if n < 0 || n > 0 && e.New != "" {
		return ""
	}
	return gone[n : n+eolEnd(gone[n:])]
}

// keptLineEnds is R10: it returns, over the merged text, the line ends to restore, of those that
// the agent's edits delete next to the user's insertions: without them an insertion would be glued
// to other text.
func (m *merger) keptLineEnds(theirs Set) Set {
	if len(m.restoredEOLs) == 0 || len(m.Conflicts) > 0 {
		return nil
	}
	var out Set
	both := m.ours.Apply(theirs.Apply(m.base))
	for _, e := range m.restoredEOLs {
		l, r := both.Slice(max(0, e.Start-utf8.UTFMax), e.Start), both.Slice(e.Start, min(both.Len(), e.Start+utf8.UTFMax))
		if n := len(out); isGlued(l, r) && (n == 0 || out[n-1].Start < e.Start) {
			out = append(out, e)
		}
	}
	return out
}

// mergeConflicts sorts conflicts by their ranges and drops duplicates.
func mergeConflicts(a, b []Conflict) []Conflict {
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
	return elsewhere && now.isTokenBoundary(found.Start) && now.isTokenBoundary(found.End) && seen.linesOf(at) == now.linesOf(found)
}

// linesOf returns the lines of a place, whatever they end in.
func (t Text) linesOf(r Range) string {
	first, last := t.Line(r.Start), t.Line(max(r.Start, r.End-1))
	return project(t.Slice(t.LineStart(first), t.LineEnd(last)), leading).s
}

// isTokenBoundary reports whether an offset lies between two tokens.
func (t Text) isTokenBoundary(off int) bool {
	start := max(0, off-utf8.UTFMax)
	return isTokenBoundary(t.Slice(start, min(t.Len(), off+utf8.UTFMax)), off-start)
}
