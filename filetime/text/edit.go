package text

import (
	"fmt"
	"slices"
	"sort"
)

// Edit replaces the bytes from Start to End by New.
type Edit struct {
	Start, End int
	New        string
}

func (e Edit) String() string { return fmt.Sprintf("%d-%d %q", e.Start, e.End, e.New) }

// Set is a list of edits over one base text, sorted and disjoint; they may touch.
// Offsets are those of the base. A Set is never changed by this package.
type Set []Edit

// Validate says what is wrong with a set over t: edits out of order, overlapping or
// out of range, or a place inside a rune or a CRLF.
func (s Set) Validate(t Text) error {
	cur := cursor{c: t.chunks()}
	last := 0
	for i, e := range s {
		switch {
		case e.Start < last || e.End < e.Start:
			return fmt.Errorf("edit %d (%d-%d) overlaps or comes before the one that ends at %d", i, e.Start, e.End, last)
		case e.End > t.Len():
			return fmt.Errorf("edit %d (%d-%d) goes past the end of the text (%d)", i, e.Start, e.End, t.Len())
		case cur.splits(e.Start) || cur.splits(e.End):
			return fmt.Errorf("edit %d (%d-%d) cuts through a character", i, e.Start, e.End)
		}
		last = e.End
	}
	return nil
}

// Apply returns the text that the edits make of t. It panics when the set is not
// sorted, disjoint and in range.
func (s Set) Apply(t Text) Text {
	if len(s) == 0 {
		return t
	}
	c := t.chunks()
	cur := cursor{c: c}
	if len(s) == 1 {
		if after := cur.replaceInChunk(s[0]); after != nil {
			return Text{after}
		}
	}
	b := builder{c: chunks{
		parts: make([]string, 0, len(c.parts)+2),
		sums:  make([]unitCounts, 0, len(c.parts)+2),
	}, tail: make([]byte, 0, targetChunk+len(s[0].New))}
	last := 0
	for _, e := range s {
		if e.Start < last || e.End < e.Start || e.End > c.total.bytes {
			panic("text: edits out of order or out of range")
		}
		b.copyRange(&cur, last, e.Start)
		b.tail = append(b.tail, e.New...)
		last = e.End
	}
	b.copyRange(&cur, last, c.total.bytes)
	return b.text()
}

// Inverse returns the edits over Apply(base) that give base again.
func (s Set) Inverse(base Text) Set {
	out := make(Set, len(s))
	delta := 0
	for i, e := range s {
		out[i] = Edit{e.Start + delta, e.Start + delta + len(e.New), base.Slice(e.Start, e.End)}
		delta += e.grow()
	}
	return snapToRunes(s.Apply(base), out)
}

func (e Edit) grow() int { return len(e.New) - (e.End - e.Start) }

// MapPos returns where a base offset stands afterwards. Text inserted exactly there
// comes after it, or before it when after is set. An offset inside a replaced span
// goes to the start of the new text, or to its end when after is set.
func (s Set) MapPos(off int, after bool) int {
	delta := 0
	for _, e := range s {
		switch {
		case e.End < off, e.End == off && (e.Start < e.End || after):
			delta += e.grow()
		case e.Start >= off:
			return off + delta
		case after:
			return e.Start + delta + len(e.New)
		default:
			return e.Start + delta
		}
	}
	return off + delta
}

// Mapping is a set that many offsets are mapped through: each costs a binary search.
type Mapping struct {
	set   Set
	grown []int // by how much the edits before each make the text longer, and all of them
}

// Mapping returns the mapping of a set.
func (s Set) Mapping() Mapping {
	m := Mapping{set: s, grown: make([]int, len(s)+1)}
	for i, e := range s {
		m.grown[i+1] = m.grown[i] + e.grow()
	}
	return m
}

// Pos is [Set.MapPos].
func (m Mapping) Pos(off int, after bool) int {
	i := sort.Search(len(m.set), func(i int) bool {
		e := m.set[i]
		return e.End > off || e.End == off && e.Start == e.End && !after
	})
	switch delta := m.grown[i]; {
	case i == len(m.set) || m.set[i].Start >= off:
		return off + delta
	case after:
		return m.set[i].Start + delta + len(m.set[i].New)
	default:
		return m.set[i].Start + delta
	}
}

// Meets reports whether an edit begins before end and ends behind start.
func (s Set) Meets(start, end int) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].End > start })
	return i < len(s) && s[i].Start < end
}

// mapRange returns where a range of the base stands afterwards, without what is inserted at its
// ends.
func (s Set) mapRange(r Range) Range {
	start := s.MapPos(r.Start, true)
	return Range{start, max(start, s.MapPos(r.End, false))}
}

// Compose returns the edits over base that do what a over base and then b over
// Apply(base, a) do. It is exact and associative; touching edits come out as one.
func Compose(a, b Set) Set { return appendComposed(make(Set, 0, len(a)+len(b)), a, b) }

// appendComposed appends the composition of a and b to out.
func appendComposed(out, a, b Set) Set {
	w := composer{a: a, out: out}
	mid := 0
	for _, e := range b {
		w.advance(e.Start-mid, true)
		w.insert(e.New)
		w.advance(e.End-e.Start, false)
		mid = e.End
	}
	w.finish()
	return w.out
}

// composer composes two sets in one pass over the text between them.
type composer struct {
	a    Set
	i    int // the edit of a that comes next or has been begun
	used int // bytes of its new text that have been taken
	open bool
	base int

	start   int // base offset of the pending edit
	pending bool
	one     string // its new text, while that is a single piece
	text    []byte // or what has been put together
	out     Set
}

// advance consumes n bytes of the middle text, keeping or deleting them.
func (w *composer) advance(n int, keep bool) {
	for n > 0 {
		if w.i < len(w.a) && (w.open || w.a[w.i].Start == w.base) {
			e := w.a[w.i]
			w.beginReplacement(e)
			k := min(n, len(e.New)-w.used)
			if keep {
				w.insert(e.New[w.used : w.used+k])
			}
			w.used += k
			n -= k
			if w.used == len(e.New) {
				w.i, w.used, w.open = w.i+1, 0, false
			}
			continue
		}
		k := n
		if w.i < len(w.a) {
			k = min(k, w.a[w.i].Start-w.base)
		}
		if keep {
			w.flush()
		} else {
			w.openEdit()
		}
		w.base += k
		n -= k
	}
}

// beginReplacement deletes the span of an edit of a when its new text is reached.
func (w *composer) beginReplacement(e Edit) {
	if w.open {
		return
	}
	if e.Start < e.End {
		w.openEdit()
	}
	w.base = e.End
	w.open = true
}

func (w *composer) openEdit() {
	if !w.pending {
		w.pending, w.start = true, w.base
	}
}

func (w *composer) insert(s string) {
	if s == "" {
		return
	}
	w.openEdit()
	switch {
	case w.one == "" && len(w.text) == 0:
		w.one = s
	case len(w.text) == 0:
		w.text = append(append(w.text, w.one...), s...)
		w.one = ""
	default:
		w.text = append(w.text, s...)
	}
}

func (w *composer) flush() {
	if !w.pending {
		return
	}
	e := Edit{w.start, w.base, w.one}
	if len(w.text) > 0 {
		e.New = string(w.text)
	}
	if e.Start < e.End || e.New != "" {
		w.out = append(w.out, e)
	}
	w.pending, w.one, w.text = false, "", w.text[:0]
}

// finish appends the rest of a.
func (w *composer) finish() {
	for ; w.i < len(w.a); w.i++ {
		e := w.a[w.i]
		if !w.open && e.Start > w.base {
			w.flush()
			w.base = e.Start
		}
		w.beginReplacement(e)
		w.insert(e.New[w.used:])
		w.used, w.open = 0, false
	}
	w.flush()
}

// ComposeAll composes sets that follow each other, by halves: much cheaper than one
// after the other.
func ComposeAll(sets []Set) Set {
	n := 0
	for _, s := range sets {
		n += len(s)
	}
	switch len(sets) {
	case 0:
		return nil
	case 1:
		return Compose(sets[0], nil)
	}
	// Each round lays the sets of half as many steps into the buffer of the round before the last.
	from, to := make(Set, 0, n), make(Set, 0, n)
	for sets = slices.Clone(sets); len(sets) > 1; from, to = to, from[:0] {
		for i := range (len(sets) + 1) / 2 {
			var next Set
			if 2*i+1 < len(sets) {
				next = sets[2*i+1]
			}
			at := len(to)
			to = appendComposed(to, sets[2*i], next)
			sets[i] = to[at:]
		}
		sets = sets[:(len(sets)+1)/2]
	}
	return slices.Clone(sets[0])
}

// Canonical brings a set into a normal form, so that two sets which do the same to
// base can be compared: touching edits are one, what an edit does not change is
// trimmed, edits that change nothing are gone, and a pure insertion or deletion that
// could as well stand further down does. It is for comparing only: [Rebase] should be
// told which of two equal lines somebody has typed.
func Canonical(base Text, s Set) Set {
	s = Compose(s, nil)
	cur := cursor{c: base.chunks()}
	out := make(Set, 0, len(s)) // last edit first
	for i := len(s) - 1; i >= 0; i-- {
		e := s[i]
		for {
			limit := base.Len()
			if len(out) > 0 {
				limit = out[len(out)-1].Start
			}
			e = slide(&cur, trim(base, e), limit)
			if e.Start == e.End && e.New == "" || e.End < limit || len(out) == 0 {
				break
			}
			next := out[len(out)-1]
			out = out[:len(out)-1]
			e = Edit{e.Start, next.End, e.New + next.New}
		}
		if e.Start < e.End || e.New != "" {
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

// Trim takes off both ends of each edit what it does not change.
func Trim(base Text, s Set) Set {
	s = Compose(s, nil)
	out := s[:0]
	for _, e := range s {
		if e = trim(base, e); e.Start < e.End || e.New != "" {
			out = append(out, e)
		}
	}
	return out
}

// trim takes off both ends of an edit what it does not change.
func trim(base Text, e Edit) Edit {
	if e.Start == e.End || e.New == "" {
		return e
	}
	old := base.Slice(e.Start, e.End)
	p := wholePrefix(old, e.New, prefixLen(old, e.New))
	old, e.New = old[p:], e.New[p:]
	n := suffixLen(old, e.New)
	for n > 0 && (splits(old, len(old)-n) || splits(e.New, len(e.New)-n)) {
		n--
	}
	return Edit{e.Start + p, e.End - n, e.New[:len(e.New)-n]}
}

// wholePrefix shortens a common prefix of n bytes until it cuts neither text badly.
func wholePrefix(a, b string, n int) int {
	for n > 0 && (splits(a, n) || splits(b, n)) {
		n--
	}
	return n
}

// slide moves a pure insertion or deletion down as far as the text stays the same and
// it does not pass limit.
func slide(cur *cursor, e Edit, limit int) Edit {
	n := e.End - e.Start
	if (n > 0) == (e.New != "") {
		return e
	}
	good, k := 0, 0
	read := *cur
	for e.End+k < limit {
		want := byte(0)
		if n > 0 {
			read.seek(e.Start + k)
			want = read.rest(e.Start + k)[0]
		} else {
			want = e.New[k%len(e.New)]
		}
		cur.seek(e.End + k)
		if cur.rest(e.End + k)[0] != want {
			break
		}
		if k++; !cur.splits(e.End+k) && !cur.splits(e.Start+k) {
			good = k
		}
	}
	if n == 0 {
		r := good % len(e.New)
		e.New = e.New[r:] + e.New[:r]
	}
	return Edit{e.Start + good, e.End + good, e.New}
}

// snapToRunes widens edits that begin or end inside a rune or a CRLF of t.
func snapToRunes(t Text, s Set) Set {
	cur := cursor{c: t.chunks()}
	down := func(off int) int {
		for cur.splits(off) {
			off--
		}
		return off
	}
	up := func(off int) int {
		for cur.splits(off) {
			off++
		}
		return off
	}
	clean := true
	for _, e := range s {
		clean = clean && !cur.splits(e.Start) && !cur.splits(e.End)
	}
	if clean {
		return s
	}
	var out Set
	for i := 0; i < len(s); {
		e := s[i]
		for i++; i < len(s) && up(e.End) > down(s[i].Start); i++ {
			e = Edit{e.Start, s[i].End, e.New + t.Slice(e.End, s[i].Start) + s[i].New}
		}
		start, end := down(e.Start), up(e.End)
		out = append(out, Edit{start, end, t.Slice(start, e.Start) + e.New + t.Slice(e.End, end)})
	}
	return out
}
