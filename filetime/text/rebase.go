package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Conflict is a place where both sides touched the same text, as a range of the base
// and what each side makes of it.
type Conflict struct {
	Start, End         int
	Base, Ours, Theirs string
	Rule               string // one of the constants below
}

// The reasons of a [Conflict]; what they mean is in the package's comment.
const (
	RuleOverlap = "R5"  // one side changed what the other deleted or replaced
	RuleFusion  = "R6"  // words of both sides would grow together
	RuleDoubled = "R9"  // both sides make the same line at one place
	RuleWord    = "R11" // one side adds to a word that the other replaced or deleted
	RuleParted  = "R16" // the agent's insertion would part the user's from the line that it belongs to
)

// Rebased is the outcome of [Rebase] and [RebaseTheirs].
type Rebased struct {
	Set       Set        // nil when there are conflicts
	Coalesced int        // edits that the other side has made already
	SameLine  bool       // both sides changed one line, at different words, or an insertion touches what was replaced
	Ties      []Tie      // insertions of both sides whose order is a guess, in order; nil when there are conflicts
	Conflicts []Conflict // in order
}

// Tie is a point at which both sides insert, and the texts do not say in which order, as ranges of
// the merged text.
type Tie struct{ Ours, Theirs Range }

// Rebase carries ours, the agent's edits, over theirs, the user's. Both are over base;
// the result is over theirs.Apply(base). It depends on the texts alone. The rules are in
// the package's comment.
func Rebase(base Text, ours, theirs Set) Rebased {
	m := merge(base, ours, theirs)
	return m.rebasedOurs(theirs, m.keptLineEnds(theirs))
}

// RebaseTheirs carries theirs, the user's edits, over ours, the agent's: the other side of
// [Rebase], so that without a conflict both ways lead to the same text:
//
//	Rebase(base, ours, theirs).Set.Apply(theirs.Apply(base))
//	RebaseTheirs(base, theirs, ours).Set.Apply(ours.Apply(base))
func RebaseTheirs(base Text, theirs, ours Set) Rebased {
	m := merge(base, ours, theirs)
	return m.rebasedTheirs(ours, m.keptLineEnds(theirs))
}

// Revert carries back over theirs, where back is to take away what should not be there. It has no
// conflicts: what the user has typed into that stays, all else of it goes, line ends too, and what
// it had replaced comes to stand before what was typed, unless the user has put it back already.
// typed is theirs over back, as [RebaseTheirs] would have it; where it has conflicts, it says what
// they are.
func Revert(base Text, back, theirs Set) (set Set, typed Rebased) {
	m := merge(base, back, theirs)
	typed = m.rebasedTheirs(back, nil)
	if len(m.Conflicts) == 0 {
		return m.rebasedOurs(theirs, nil).Set, typed
	}
	theirs = Trim(base, theirs)
	now := theirs.Apply(base)
	var out Set
	remove := func(start, end int) {
		if start < end {
			out = append(out, Edit{start, end, ""})
		}
	}
	for _, e := range Trim(base, back) {
		first, at, last := theirs.MapPos(e.Start, false), theirs.MapPos(e.Start, true), theirs.MapPos(e.End, true)
		keep, kept := last, last // where it stands already
		if i := strings.Index(now.Slice(first, max(first, last)), e.New); i >= 0 && strings.TrimSpace(e.New) != "" {
			keep, kept = first+i, first+i+len(e.New)
		} else if e.New != "" {
			out = append(out, Edit{at, at, e.New})
		}
		grown, from := 0, e.Start
		upTo := func(to int) {
			start, end := from+grown, to+grown
			remove(start, min(end, keep))
			remove(max(start, kept), end)
		}
		for _, t := range theirs {
			if t.Start >= e.End && t.End > e.Start {
				break
			}
			if t.End > e.Start {
				upTo(t.Start)
				from = max(from, t.End)
			}
			grown += t.grow()
		}
		upTo(e.End)
	}
	return snapToRunes(now, Compose(out, nil)), typed
}

// SameSpans reports whether rebased deletes nothing from now but what ours deletes
// from base: the last check before an edit goes out.
func SameSpans(base Text, ours Set, now Text, rebased Set) bool {
	same := func(endFirst bool) bool {
		return isSubsequence(deletedSpans(base, ours, endFirst), deletedSpans(now, rebased, endFirst))
	}
	all := func(t Text, s Set) (out []string) {
		for _, e := range s {
			out = append(out, t.Slice(e.Start, e.End))
		}
		return out
	}
	// Two edits that touch become one, which may have a line end of its old text inside of its new.
	return same(false) || same(true) || isSubsequence(all(base, ours), all(now, rebased))
}

// rebasedOurs is the outcome for the agent's edits, over theirs. ends are line ends to restore in
// the merged text.
func (m *merger) rebasedOurs(theirs, ends Set) Rebased { return m.outcome(m.ours, theirs, ends) }

// rebasedTheirs is the outcome for the user's edits, over ours.
func (m *merger) rebasedTheirs(ours, ends Set) Rebased { return m.outcome(m.theirs, ours, ends) }

func (m *merger) outcome(set, over, ends Set) Rebased {
	r := m.Rebased
	if len(r.Conflicts) > 0 {
		r.Ties = nil
		return r
	}
	if r.Set = set; !m.needsSnap && ends == nil {
		return r
	}
	now := over.Apply(m.base)
	if ends != nil {
		r.Set = Trim(now, Compose(set, ends))
		r.Ties = slices.Clone(r.Ties)
		for i, t := range r.Ties {
			r.Ties[i] = Tie{ends.mapRange(t.Ours), ends.mapRange(t.Theirs)}
		}
	}
	r.Set = snapToRunes(now, r.Set)
	return r
}

// isSubsequence reports whether the bytes of b are a subsequence of those of a: some are missing
// where the user has deleted the same text.
func isSubsequence(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	from := strings.Join(a, "")
	for _, s := range b {
		for i := range len(s) {
			k := strings.IndexByte(from, s[i])
			if k < 0 {
				return false
			}
			from = from[k+1:]
		}
	}
	return true
}

// deletedSpans returns the text that each edit deletes, without a common prefix or suffix of its
// new text: an edit that was widened to a whole character has those.
func deletedSpans(t Text, s Set, endFirst bool) []string {
	var out []string
	for _, e := range s {
		old, n := t.Slice(e.Start, e.End), 0
		if endFirst {
			n = suffixLen(old, e.New)
			old, e.New = old[:len(old)-n], e.New[:len(e.New)-n]
		}
		n = prefixLen(old, e.New)
		old, e.New = old[n:], e.New[n:]
		if old = old[:len(old)-suffixLen(old, e.New)]; old != "" {
			out = append(out, old)
		}
	}
	return out
}

// side is the author of a piece of the merged text.
type side int

const (
	nobody side = iota // kept from the base, or written by both alike
	agent
	user
)

// merger merges both sets in one pass in the order of the base.
type merger struct {
	Rebased
	base         Text
	cursor       cursor
	ours, theirs Set // each side over the other's text
	duplicates   []Conflict
	restoredEOLs Set  // over the merged text: line ends that the agent deletes next to insertions of the user's
	growth       int  // growth of the merged text so far
	agentGrowth  int  // growth by the agent's edits so far
	userGrowth   int  // growth by the user's edits so far
	needsSnap    bool // edits of both sides may together split or form a character

	pos      int // base offset up to which the text is merged
	lastSide side
	lastText Edit    // the last piece of new text with nothing kept after it
	lastEdit side    // who made the last change, with less than a character kept after it
	last     [3]Edit // by side, its last edit that overlaps none of the other's

	line      int // number of the line in the merged text; gaps may count too few
	agentLine int // last line that the agent changed
	userLine  int
}

func merge(base Text, ours, theirs Set) *merger {
	m := &merger{base: base, cursor: cursor{c: base.chunks()}, agentLine: -1, userLine: -1}
	m.last[agent].End, m.last[user].End = -1, -1
	b := Trim(base, theirs)
	a := make(Set, 0, len(ours))
	for _, e := range ours {
		if len(e.New) != e.End-e.Start || e.New != base.Slice(e.Start, e.End) { // else it changes nothing
			a = append(a, e)
		}
	}
	a, b = slideLines(base, a, b), slideLines(base, b, a)
	a = m.slideOnto(a, b)
	b = m.joinEqual(a, b)
	a = m.joinEqual(b, a)
	m.findDuplicates(a, b)
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0:
			m.landAlone(agent, a[0])
			a = a[1:]
		case len(a) == 0:
			m.landAlone(user, b[0])
			b = b[1:]
		case a[0].Start == a[0].End && a[0] == b[0]:
			m.landOverlapping(a[:1], b[:1])
			a, b = a[1:], b[1:]
		case a[0].Start == a[0].End && b[0].Start == b[0].End && a[0].Start == b[0].Start:
			m.tie(a[0], b[0])
			a, b = a[1:], b[1:]
		case a[0].End <= b[0].Start:
			m.landAlone(agent, a[0])
			a = a[1:]
		case b[0].End <= a[0].Start:
			m.landAlone(user, b[0])
			b = b[1:]
		default:
			i, j := overlapping(a, b)
			m.landOverlapping(a[:i], b[:j])
			a, b = a[i:], b[j:]
		}
	}
	m.Conflicts = mergeConflicts(m.duplicates, m.Conflicts)
	return m
}

// joinEqual returns s with those edits joined that together equal one edit of whole.
func (m *merger) joinEqual(whole, s Set) Set {
	var out Set // nil as long as nothing is joined
	done := 0
	i := 0
	for _, e := range whole {
		for i < len(s) && s[i].Start < e.Start {
			i++
		}
		j := i
		for j < len(s) && s[j].End <= e.End {
			j++
		}
		if j == i || j == i+1 && s[i] == e || m.span(e.Start, e.End, s[i:j]) != e.New {
			continue
		}
		if i > 0 && s[i-1].End > e.Start || j < len(s) && s[j].Start < e.End {
			continue // one of s reaches further
		}
		out = append(append(out, s[done:i]...), e)
		i, done = j, j
	}
	if done == 0 {
		return s
	}
	return append(out, s[done:]...)
}

// overlapping returns the size of the first group of transitively overlapping edits, for each side.
func overlapping(a, b Set) (i, j int) {
	i, j = 1, 1
	for {
		switch {
		case i < len(a) && a[i].Start < b[j-1].End:
			i++
		case j < len(b) && b[j].Start < a[i-1].End:
			j++
		default:
			return i, j
		}
	}
}

// landAlone lands an edit that overlaps none of the other side.
func (m *merger) landAlone(who side, e Edit) {
	m.keepTo(e.Start)
	if m.lastEdit != nobody && m.lastEdit != who {
		m.needsSnap = true
	}
	if who == agent {
		m.ours = append(m.ours, Edit{e.Start + m.userGrowth, e.End + m.userGrowth, e.New})
		m.agentGrowth += e.grow()
	} else {
		m.theirs = append(m.theirs, Edit{e.Start + m.agentGrowth, e.End + m.agentGrowth, e.New})
		m.userGrowth += e.grow()
	}
	m.noteLines(who, e)
	kept := m.checkAdjacent(who, e)
	if e.New != "" {
		if m.lastSide != nobody && m.lastSide != who && !kept && wouldFuse(m.lastText.New, e.New) {
			m.conflict(who, m.lastText, e, RuleFusion)
		}
		m.lastSide, m.lastText = who, e
	}
	m.last[who] = e
	m.growth += e.grow()
	m.pos, m.lastEdit = e.End, who
}

// landOverlapping lands edits of the two sides that overlap or are the same insertion.
func (m *merger) landOverlapping(a, b Set) {
	start, end := min(a[0].Start, b[0].Start), max(a[len(a)-1].End, b[len(b)-1].End)
	m.keepTo(start)
	m.needsSnap = true
	deletions := deletesOnly(a) && deletesOnly(b)
	// Two deletions are the same only in the same place: of three equal lines one may
	// delete the first and the other the last.
	same := !deletions || len(a) == 1 && len(b) == 1 && a[0] == b[0]
	if text := m.span(start, end, a); same && text == m.span(start, end, b) {
		m.Coalesced += len(a)
		if text != "" {
			m.lastSide = nobody
		}
		m.line += countEOL(text)
		m.growth += len(text) - (end - start)
	} else if deletions {
		keptA, keptB := m.checkAdjacent(agent, a[0]), m.checkAdjacent(user, b[0])
		if keptA || keptB {
			m.lastSide = nobody
		}
		m.last[agent], m.last[user] = a[len(a)-1], b[len(b)-1]
		more := subtractDeletions(a, b, m.userGrowth)
		m.ours = append(m.ours, more...)
		for _, e := range slices.Concat(b, more) {
			m.growth += e.grow()
		}
		m.theirs = append(m.theirs, subtractDeletions(b, a, m.agentGrowth)...)
		m.noteLines(agent, Edit{start, end, ""})
		m.noteLines(user, Edit{start, end, ""})
	} else {
		m.Conflicts = append(m.Conflicts, m.conflictOf(start, end, a, b, RuleOverlap))
		m.lastSide = nobody
	}
	for _, e := range a {
		m.agentGrowth += e.grow()
	}
	for _, e := range b {
		m.userGrowth += e.grow()
	}
	m.pos, m.lastEdit = end, nobody
}

// subtractDeletions returns the deletions of a that b has not made, over the text with b and with
// what has grown before.
func subtractDeletions(a, b Set, grown int) Set {
	var out Set
	add := func(start, end int) {
		if start >= end {
			return
		}
		if n := len(out) - 1; n >= 0 && out[n].End == start+grown {
			out[n].End = end + grown
			return
		}
		out = append(out, Edit{start + grown, end + grown, ""})
	}
	for _, e := range a {
		start := e.Start
		for len(b) > 0 && b[0].Start < e.End {
			add(start, b[0].Start)
			start = max(start, b[0].End)
			if b[0].End > e.End {
				break // reaches into the next of a
			}
			grown += b[0].grow()
			b = b[1:]
		}
		add(start, e.End)
	}
	return out
}

func deletesOnly(s Set) bool {
	for _, e := range s {
		if e.New != "" {
			return false
		}
	}
	return true
}

// keepTo advances over unchanged base text.
func (m *merger) keepTo(off int) {
	if off <= m.pos {
		return
	}
	if m.cursor.nextEOL(m.pos) < off {
		m.line++
	}
	if off-m.pos >= utf8.UTFMax {
		m.lastEdit = nobody
	}
	m.pos, m.lastSide = off, nobody
}

// noteLines records the lines that an edit changes, for SameLine.
func (m *merger) noteLines(who side, e Edit) {
	if e.New == "" && m.startsLine(e.Start) && (m.startsLine(e.End) || e.End == m.base.Len()) {
		return // whole lines are gone
	}
	first := m.line
	m.line += countEOL(e.New)
	last := m.line
	if endsLine(e.New) {
		last--
	}
	other := &m.agentLine
	mine := &m.userLine
	if who == agent {
		other, mine = mine, other
	}
	m.SameLine = m.SameLine || *other >= first
	*mine = max(*mine, last)
}

// startsLine reports whether a line of the base begins at off.
func (m *merger) startsLine(off int) bool { return m.cursor.startsLine(off) }

func (c *cursor) startsLine(off int) bool {
	if off == 0 {
		return true
	}
	c.seek(off - 1)
	return startsEOL(c.rest(off - 1))
}

func startsEOL(s string) bool { return s != "" && (s[0] == '\n' || s[0] == '\r') }

func endsLine(s string) bool {
	return s != "" && (s[len(s)-1] == '\n' || s[len(s)-1] == '\r')
}

// conflict records a conflict between edit e of one side and an edit of the other that precedes it.
func (m *merger) conflict(who side, other, e Edit, rule string) {
	ours, theirs := Set{e}, Set{other}
	if who == user {
		ours, theirs = theirs, ours
	}
	c := m.conflictOf(min(other.Start, e.Start), max(other.End, e.End), ours, theirs, rule)
	if n := len(m.Conflicts) - 1; n >= 0 && m.Conflicts[n].Start == c.Start && m.Conflicts[n].End == c.End {
		m.Conflicts[n] = c // the same one, for another reason
		return
	}
	m.Conflicts = append(m.Conflicts, c)
}

func (m *merger) conflictOf(start, end int, ours, theirs Set, rule string) Conflict {
	return Conflict{
		Start: start, End: end,
		Base: m.base.Slice(start, end), Ours: m.span(start, end, ours), Theirs: m.span(start, end, theirs),
		Rule: rule,
	}
}

// span returns the new text of a range of the base that contains all edits of a set.
func (m *merger) span(start, end int, s Set) string {
	if len(s) == 1 && s[0].Start == start && s[0].End == end {
		return s[0].New
	}
	var b strings.Builder
	for _, e := range s {
		b.WriteString(m.base.Slice(start, e.Start))
		b.WriteString(e.New)
		start = e.End
	}
	b.WriteString(m.base.Slice(start, end))
	return b.String()
}

// wouldFuse reports whether two adjacent texts would form one word.
func wouldFuse(l, r string) bool {
	a, _ := utf8.DecodeLastRuneInString(l)
	b, _ := utf8.DecodeRuneInString(r)
	return isWord(a) && isWord(b)
}

// isWord reports whether a rune can be part of an identifier or a word.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}
