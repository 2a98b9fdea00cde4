package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxSteps bounds the edit distance that one round of the line or token diff looks
	// for. Past it the best path so far is taken, so cost grows linearly.
	maxSteps = 256
	// maxTokens bounds the size of a changed region that is refined to tokens.
	maxTokens = 1 << 20
	// contextLines is how far beyond a change its repeated lines are looked at.
	contextLines = 50
)

// Diff returns edits that turn a into b: the changed lines, and within them the
// changed identifiers, blanks and signs. It is deterministic and has no time limit;
// very different texts give coarser edits, never wrong ones.
func Diff(a, b Text) Set {
	if a.chunks() == b.chunks() {
		return nil
	}
	n := commonPrefix(a, b)
	if n == a.Len() && n == b.Len() {
		return nil
	}
	start := a.LineStart(a.Line(n) - contextLines)
	suffix := commonSuffix(a, b, min(a.Len(), b.Len())-n)
	// Whole lines of the common end, the first few of them within what is looked at.
	end := a.LineStart(a.Line(a.Len()-suffix) + 1 + contextLines)
	suffix = min(suffix, a.Len()-end)
	x, y := a.Slice(start, a.Len()-suffix), b.Slice(start, b.Len()-suffix)
	return newDiffer(len(x)+len(y)).strings(x, y, start)
}

// Infer returns the edits behind a change that came as a whole new text.
func Infer(before, after Text) Set { return Diff(before, after) }

// Infers reports whether one edit of the set replaces more than half of base: a
// client that sends whole texts. Such a change is better taken by [Infer].
func Infers(base Text, s Set) bool {
	return slices.ContainsFunc(s, func(e Edit) bool { return 2*(e.End-e.Start) > base.Len() })
}

// Minimize returns edits that do what s does to base, each cut down to the lines and
// in them to the tokens that change.
func Minimize(base Text, s Set) Set {
	n := 0
	for _, e := range s {
		n += e.End - e.Start + len(e.New)
	}
	d := newDiffer(n)
	var out Set
	for _, e := range s {
		out = append(out, d.strings(base.Slice(e.Start, e.End), e.New, e.Start)...)
	}
	return out
}

// diffStrings returns the edits that turn a into b.
func diffStrings(a, b string) Set { return newDiffer(len(a)+len(b)).strings(a, b, 0) }

// Run is a run of changed lines: lines A0 to A1 of one text became B0 to B1 of another.
type Run struct{ A0, A1, B0, B1 int }

// Lines returns the runs of lines in which a and b differ, in order and apart; a line ends after
// each \n. No run has a line on both sides. Like that of Diff its work is bounded by a number of
// steps and not by time, so that the answer depends on the texts alone.
func Lines(a, b string) []Run {
	d := newDiffer(len(a) + len(b))
	la, lb := d.sequence(a, lineEnd), d.sequence(b, lineEnd)
	d.splitCommon(la.ids, lb.ids, d.lines(la, lb))
	out := make([]Run, len(d.hunks))
	for i, h := range d.hunks {
		out[i] = Run{h.a0, h.a1, h.b0, h.b1}
	}
	return out
}

func lineEnd(s string) int {
	if n := strings.IndexByte(s, '\n') + 1; n > 0 {
		return n
	}
	return len(s)
}

// splitCommon splits hunks that have a symbol on both sides, which a search cut off at its limit
// may leave: each symbol of b is paired with the next equal one of a.
func (d *differ) splitCommon(a, b []int32, hunks []hunk) {
	d.hunks = nil
	for _, h := range hunks {
		if !d.shareSymbol(a[h.a0:h.a1], b[h.b0:h.b1]) {
			d.add(h)
			continue
		}
		places := map[int32][]int{} // in a, by symbol, ascending
		for i := h.a0; i < h.a1; i++ {
			places[a[i]] = append(places[a[i]], i)
		}
		i, j := h.a0, h.b0
		for k := h.b0; k < h.b1; k++ {
			at := places[b[k]]
			for len(at) > 0 && at[0] < i {
				at = at[1:]
			}
			if places[b[k]] = at; len(at) > 0 {
				d.add(hunk{i, at[0], j, k})
				i, j = at[0]+1, k+1
			}
		}
		d.add(hunk{i, h.a1, j, h.b1})
	}
}

// shareSymbol reports whether a symbol is in both a and b.
func (d *differ) shareSymbol(a, b []int32) bool {
	for _, id := range a {
		d.counts[id].na = 1
	}
	defer d.resetCounts(a, nil)
	return slices.ContainsFunc(b, func(id int32) bool { return d.counts[id].na > 0 })
}

// hunk is a range of a and the range of b that replaces it, in symbols.
type hunk struct{ a0, a1, b0, b1 int }

// differ compares sequences of interned lines or tokens.
type differ struct {
	ids     map[string]int32
	charIDs [utf8.RuneSelf]int32 // the ids of single characters, from 1
	counts  []occurrence         // by symbol, zero between uses
	hunks   []hunk
}

type occurrence struct{ na, nb, a, b int32 }

// newDiffer returns a differ for texts of so many bytes together.
func newDiffer(n int) *differ { return &differ{ids: make(map[string]int32, n/40)} }

// sequence is a text cut into symbols.
type sequence struct {
	text string
	ids  []int32
	ends []int // ends[i] is where symbol i ends
}

func (s *sequence) at(i int) int {
	if i == 0 {
		return 0
	}
	return s.ends[i-1]
}

func (s *sequence) slice(from, to int) string { return s.text[s.at(from):s.at(to)] }

func (d *differ) sequence(s string, next func(string) int) sequence {
	q := sequence{s, make([]int32, 0, len(s)/8+8), make([]int, 0, len(s)/8+8)}
	for off := 0; off < len(s); {
		n := next(s[off:])
		q.ids = append(q.ids, d.id(s[off:off+n]))
		off += n
		q.ends = append(q.ends, off)
	}
	return q
}

func (d *differ) id(s string) int32 {
	if len(s) == 1 && s[0] < utf8.RuneSelf {
		id := &d.charIDs[s[0]]
		if *id == 0 {
			d.counts = append(d.counts, occurrence{})
			*id = int32(len(d.counts))
		}
		return *id - 1
	}
	id, ok := d.ids[s]
	if !ok {
		id = int32(len(d.counts))
		d.ids[s] = id
		d.counts = append(d.counts, occurrence{})
	}
	return id
}

// strings returns the edits that turn a into b, with offset added.
func (d *differ) strings(a, b string, offset int) Set {
	if a == b {
		return nil
	}
	if a == "" || b == "" {
		return Set{{offset, offset + len(a), b}}
	}
	la, lb := d.sequence(a, eolEnd), d.sequence(b, eolEnd)
	var out Set
	for _, h := range d.lines(la, lb) {
		out = d.refine(out, la, lb, h, offset)
	}
	for i, e := range out { // a short part of b would keep all of b in memory
		if 2*len(e.New) < len(b) {
			out[i].New = strings.Clone(e.New)
		}
	}
	return out
}

// refine appends the edits within a hunk of lines. Lines that differ only in the blanks
// at their ends are paired first, so that a change of indentation does not blur the rest.
func (d *differ) refine(out Set, la, lb sequence, h hunk, offset int) Set {
	at := offset + la.at(h.a0)
	if h.a0 == h.a1 || h.b0 == h.b1 {
		return appendEdit(out, Edit{at, at + len(la.slice(h.a0, h.a1)), lb.slice(h.b0, h.b1)})
	}
	var pairs []hunk
	if h.a1-h.a0 > 1 && h.b1-h.b0 > 1 {
		pairs = d.diff(d.trimmedLines(la, h.a0, h.a1), d.trimmedLines(lb, h.b0, h.b1))
	} else {
		pairs = []hunk{{0, h.a1 - h.a0, 0, h.b1 - h.b0}}
	}
	i, j := 0, 0
	for _, p := range append(pairs, hunk{h.a1 - h.a0, h.a1 - h.a0, h.b1 - h.b0, h.b1 - h.b0}) {
		for ; i < p.a0; i, j = i+1, j+1 {
			out = d.tokens(out, la.slice(h.a0+i, h.a0+i+1), lb.slice(h.b0+j, h.b0+j+1), offset+la.at(h.a0+i))
		}
		out = d.tokens(out, la.slice(h.a0+p.a0, h.a0+p.a1), lb.slice(h.b0+p.b0, h.b0+p.b1), offset+la.at(h.a0+p.a0))
		i, j = p.a1, p.b1
	}
	return out
}

// trimmedLines returns lines of q with symbols that ignore blanks at both ends.
func (d *differ) trimmedLines(q sequence, from, to int) sequence {
	ids := make([]int32, 0, to-from)
	for i := from; i < to; i++ {
		ids = append(ids, d.id(strings.TrimSpace(q.slice(i, i+1))))
	}
	return sequence{ids: ids}
}

// tokens appends the edits that turn a into b, token by token.
func (d *differ) tokens(out Set, a, b string, at int) Set {
	if a == b {
		return out
	}
	if a == "" || b == "" || len(a)+len(b) > maxTokens {
		p := wholePrefix(a, b, prefixLen(a, b))
		return appendEdit(out, Edit{at + p, at + len(a), b[p:]})
	}
	if e, ok := oneToken(a, b); ok {
		return appendEdit(out, Edit{at + e.Start, at + e.End, e.New})
	}
	ta, tb := d.sequence(a, tokenEnd), d.sequence(b, tokenEnd)
	hunks := d.diff(ta, tb)
	for i := 0; i < len(hunks); i++ {
		h := hunks[i]
		for i+1 < len(hunks) && isTooClose(ta, tb, h, hunks[i+1]) {
			i++
			h.a1, h.b1 = hunks[i].a1, hunks[i].b1
		}
		out = appendEdit(out, Edit{at + ta.at(h.a0), at + ta.at(h.a1), tb.slice(h.b0, h.b1)})
	}
	return out
}

// oneToken returns the edit between two lines of which one has a single token in the
// place of another, or tokens more in one place: most lines, and no diff is needed.
func oneToken(a, b string) (Edit, bool) {
	if eolEnd(a) < len(a) || eolEnd(b) < len(b) {
		return Edit{}, false
	}
	p := prefixLen(a, b)
	for !isTokenBoundary(a, p) || !isTokenBoundary(b, p) {
		p--
	}
	x, y := a[p:], b[p:]
	n := suffixLen(x, y)
	for !isTokenBoundary(x, len(x)-n) || !isTokenBoundary(y, len(y)-n) {
		n--
	}
	x, y = x[:len(x)-n], y[:len(y)-n]
	one := x == "" || y == "" || tokenEnd(x) == len(x) && tokenEnd(y) == len(y)
	return Edit{p, p + len(x), y}, one
}

// isTokenBoundary reports whether an offset of a text lies between two tokens.
func isTokenBoundary(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	if splits(s, i) {
		return false
	}
	l, _ := utf8.DecodeLastRuneInString(s[:i])
	r, _ := utf8.DecodeRuneInString(s[i:])
	return !(isWord(l) && isWord(r) || isBlank(l) && isBlank(r))
}

// isTooClose reports whether the text between two hunks is too short to separate them: shorter than
// both, and without a word.
func isTooClose(a, b sequence, h, k hunk) bool {
	between := a.slice(h.a1, k.a0)
	size := func(h hunk) int { return max(len(a.slice(h.a0, h.a1)), len(b.slice(h.b0, h.b1))) }
	if len(between) >= size(h) || len(between) >= size(k) {
		return false
	}
	return strings.IndexFunc(between, isWord) < 0 && indexEOL(between) < 0
}

// appendEdit appends an edit, joined with the one before if they touch.
func appendEdit(out Set, e Edit) Set {
	if n := len(out) - 1; n >= 0 && out[n].End == e.Start {
		out[n].End = e.End
		out[n].New += e.New
		return out
	}
	if e.Start == e.End && e.New == "" {
		return out
	}
	return append(out, e)
}

// tokenEnd returns the end of the first token of s: an identifier or word, a run of
// blanks, a line end, or a single other character.
func tokenEnd(s string) int {
	if s[0] == '\n' || s[0] == '\r' {
		return eolEnd(s)
	}
	r, n := utf8.DecodeRuneInString(s)
	var in func(rune) bool
	switch {
	case isWord(r):
		in = isWord
	case isBlank(r):
		in = isBlank
	default:
		return n
	}
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !in(r) {
			break
		}
		n += size
	}
	return n
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// diff returns the hunks in which two sequences differ, in order and apart. Those
// that could stand in several places stand in the last, or where they end with a
// blank line.
func (d *differ) diff(a, b sequence) []hunk {
	d.hunks = nil
	d.compare(a.ids, b.ids, 0, 0)
	return canonicalHunks(a, b, d.hunks)
}

// lines is diff for lines. Where some were moved, the anchors may hold on to those that
// were passed: if a shortest script is shorter, it is the one.
func (d *differ) lines(a, b sequence) []hunk {
	d.hunks = nil
	d.compare(a.ids, b.ids, 0, 0)
	if n := cost(d.hunks); n > abs(len(a.ids)-len(b.ids)) && n <= maxSteps {
		first, last := d.hunks[0], d.hunks[len(d.hunks)-1]
		anchored := d.hunks
		d.hunks = nil
		d.shortest(a.ids[first.a0:last.a1], b.ids[first.b0:last.b1], first.a0, first.b0)
		if cost(d.hunks) >= n {
			d.hunks = anchored
		}
	}
	return canonicalHunks(a, b, d.hunks)
}

// cost is how many symbols hunks delete and insert.
func cost(hunks []hunk) int {
	n := 0
	for _, h := range hunks {
		n += h.a1 - h.a0 + h.b1 - h.b0
	}
	return n
}

// compare adds the hunks between a and b, which begin at i and j.
func (d *differ) compare(a, b []int32, i, j int) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b, i, j = a[n:], b[n:], i+n, j+n
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		d.add(hunk{i, i + len(a), j, j + len(b)})
		return
	}
	pa, pb := 0, 0
	anchors := d.anchors(a, b)
	for _, p := range anchors {
		d.compare(a[pa:p[0]], b[pb:p[1]], i+pa, j+pb)
		pa, pb = int(p[0])+1, int(p[1])+1
	}
	if len(anchors) == 0 {
		d.shortest(a, b, i, j)
		return
	}
	d.compare(a[pa:], b[pb:], i+pa, j+pb)
}

func (d *differ) add(h hunk) {
	if h.a0 == h.a1 && h.b0 == h.b1 {
		return
	}
	if n := len(d.hunks) - 1; n >= 0 && d.hunks[n].a1 == h.a0 && d.hunks[n].b1 == h.b0 {
		d.hunks[n].a1, d.hunks[n].b1 = h.a1, h.b1
		return
	}
	d.hunks = append(d.hunks, h)
}

// anchors returns the longest ascending series of symbols that a and b have once each.
func (d *differ) anchors(a, b []int32) [][2]int32 {
	for i, id := range a {
		d.counts[id].na++
		d.counts[id].a = int32(i)
	}
	for i, id := range b {
		d.counts[id].nb++
		d.counts[id].b = int32(i)
	}
	var both [][2]int32
	for i, id := range a {
		if o := d.counts[id]; o.na == 1 && o.nb == 1 {
			both = append(both, [2]int32{int32(i), o.b})
		}
	}
	d.resetCounts(a, b)
	return ascending(both)
}

func (d *differ) resetCounts(a, b []int32) {
	for _, id := range a {
		d.counts[id] = occurrence{}
	}
	for _, id := range b {
		d.counts[id] = occurrence{}
	}
}

// ascending returns the longest part of pairs, which ascend in a, that ascends in b too.
func ascending(pairs [][2]int32) [][2]int32 {
	if len(pairs) == 0 {
		return nil
	}
	var tops []int // by length of a series, the pair that ends it lowest in b
	prev := make([]int, len(pairs))
	for i, p := range pairs {
		lo, hi := 0, len(tops)
		for lo < hi {
			if mid := (lo + hi) / 2; pairs[tops[mid]][1] < p[1] {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		prev[i] = -1
		if lo > 0 {
			prev[i] = tops[lo-1]
		}
		if lo == len(tops) {
			tops = append(tops, i)
		} else {
			tops[lo] = i
		}
	}
	out := make([][2]int32, len(tops))
	for i, k := len(tops)-1, tops[len(tops)-1]; i >= 0; i, k = i-1, prev[k] {
		out[i] = pairs[k]
	}
	return out
}

// shortest adds the hunks of a shortest edit script (Myers), found in rounds of
// bounded length. Symbols that only one side has are left out of the search.
func (d *differ) shortest(a, b []int32, i, j int) {
	for _, id := range a {
		d.counts[id].na++
	}
	for _, id := range b {
		d.counts[id].nb++
	}
	pick := func(s []int32) (ids []int32, at []int) {
		for k, id := range s {
			if d.counts[id].na > 0 && d.counts[id].nb > 0 {
				ids, at = append(ids, id), append(at, k)
			}
		}
		return ids, at
	}
	ca, ia := pick(a)
	cb, ib := pick(b)
	d.resetCounts(a, b)
	pa, pb := 0, 0
	for x, y := 0, 0; x < len(ca) && y < len(cb); {
		matches, nx, ny := myers(ca[x:], cb[y:])
		for _, m := range matches {
			ma, mb := ia[x+m[0]], ib[y+m[1]]
			d.add(hunk{i + pa, i + ma, j + pb, j + mb})
			pa, pb = ma+1, mb+1
		}
		x, y = x+nx, y+ny
	}
	d.add(hunk{i + pa, i + len(a), j + pb, j + len(b)})
}

// myers returns pairs of equal elements on a shortest path through a and b, and how
// far it got: to both ends, or as far as maxSteps differences lead.
func myers(a, b []int32) (matches [][2]int, x, y int) {
	limit := min(len(a)+len(b), maxSteps)
	v := make([]int32, 2*limit+3) // furthest x by diagonal x-y
	zero := limit + 1
	var trace [][]int32 // v before each step, diagonals -d to d
	end, endK := -1, 0
search:
	for s := 0; s <= limit; s++ {
		trace = append(trace, append([]int32(nil), v[zero-s:zero+s+1]...))
		for k := -s; k <= s; k += 2 {
			var x int
			if k == -s || k != s && v[zero+k-1] < v[zero+k+1] {
				x = int(v[zero+k+1])
			} else {
				x = int(v[zero+k-1]) + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			v[zero+k] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				end, endK = s, k
				break search
			}
		}
	}
	if end < 0 { // take the path that got furthest
		end = limit
		best := -1
		for k := -limit; k <= limit; k += 2 {
			x := int(v[zero+k])
			if y := x - k; x <= len(a) && y <= len(b) && x+y > best {
				best, endK = x+y, k
			}
		}
	}
	x = int(v[zero+endK])
	y = x - endK
	nx, ny := x, y
	for s, k := end, endK; ; s-- {
		before := trace[s]
		var px, pk int
		switch {
		case s == 0:
			px, pk = 0, 0
		case k == -s || k != s && before[s+k-1] < before[s+k+1]:
			px, pk = int(before[s+k+1]), k+1
		default:
			px, pk = int(before[s+k-1])+1, k-1
		}
		for ; x > px; x-- {
			matches = append(matches, [2]int{x - 1, x - 1 - k})
		}
		if s == 0 {
			break
		}
		if pk < k {
			x--
		}
		k = pk
	}
	for l, r := 0, len(matches)-1; l < r; l, r = l+1, r-1 {
		matches[l], matches[r] = matches[r], matches[l]
	}
	return matches, nx, ny
}

// canonicalHunks slides pure insertions and deletions to their canonical place.
func canonicalHunks(a, b sequence, hunks []hunk) []hunk {
	out := hunks[:0]
	for i := range hunks {
		h := hunks[i]
		nextA := len(a.ids)
		if i+1 < len(hunks) {
			nextA = hunks[i+1].a0
		}
		q, lo, hi := b, h.b0, h.b1
		if h.a0 < h.a1 {
			q, lo, hi = a, h.a0, h.a1
			if h.b0 < h.b1 {
				out = append(out, h)
				continue
			}
		}
		down := 0
		for h.a1+down < nextA && q.ids[lo+down] == q.ids[hi+down] {
			down++
		}
		up := 0
		for room := h.a0 - endOf(out) - 1; up < room && q.ids[lo-up-1] == q.ids[hi-up-1]; {
			up++
		}
		k := down
		for m := down; m >= -up; m-- {
			if q.isBlankLine(hi + m - 1) {
				k = m
				break
			}
		}
		out = append(out, hunk{h.a0 + k, h.a1 + k, h.b0 + k, h.b1 + k})
	}
	return out
}

// endOf returns where the last hunk ends in a, or -1.
func endOf(hunks []hunk) int {
	if len(hunks) == 0 {
		return -1
	}
	return hunks[len(hunks)-1].a1
}

// isBlankLine reports whether symbol i is an empty line.
func (s *sequence) isBlankLine(i int) bool {
	return s.text != "" && len(s.ends) > 0 && indexEOL(s.slice(i, i+1)) == 0
}
