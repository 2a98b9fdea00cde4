package text

import (
	"crypto/sha256"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"weak"
)

const (
	minChunk    = 1 << 10 // a shorter chunk is joined with a neighbour
	targetChunk = 4 << 10
	maxChunk    = 8 << 10 // counts of a chunk fit in 16 bits
)

// Text is an immutable text. The zero value is the empty text. It is cheap to copy
// and safe for concurrent use; versions of a document share what they have in common.
type Text struct{ c *chunks }

// chunks is a text cut at places where neither a rune nor a CRLF is split, so that
// the sums of a chunk do not depend on its neighbours.
type chunks struct {
	parts []string
	sums  []unitCounts
	total total

	source string // that the chunks were cut from; "" if they come from several strings
	joined atomic.Pointer[weak.Pointer[string]]
	hashed sync.Once
	hash   [sha256.Size]byte
}

// unitCounts are the lines of a chunk, which end with \n, its rows, which end as LSP's lines do
// (with a lone \r too), and its characters.
type unitCounts struct{ lines, rows, utf16, runes uint16 }

type total struct{ bytes, lines, rows, utf16, runes int }

func (t *total) add(n int, s unitCounts) {
	t.bytes += n
	t.lines += int(s.lines)
	t.rows += int(s.rows)
	t.utf16 += int(s.utf16)
	t.runes += int(s.runes)
}

func (t *total) sub(n int, s unitCounts) {
	t.bytes -= n
	t.lines -= int(s.lines)
	t.rows -= int(s.rows)
	t.utf16 -= int(s.utf16)
	t.runes -= int(s.runes)
}

var empty = &chunks{}

func (t Text) chunks() *chunks {
	if t.c == nil {
		return empty
	}
	return t.c
}

// New returns the text s. It keeps s in memory.
func New(s string) Text {
	if s == "" {
		return Text{}
	}
	var b builder
	b.splitIntoChunks(s)
	t := b.text()
	t.c.source = s
	return t
}

// Len returns the length in bytes.
func (t Text) Len() int { return t.chunks().total.bytes }

// String returns the whole text. It is joined on the first call and cached until the next garbage
// collection: many versions of a document stay in memory, and each would keep a whole text.
func (t Text) String() string {
	c := t.chunks()
	if c.source != "" || len(c.parts) == 0 {
		return c.source
	}
	if w := c.joined.Load(); w != nil {
		if s := w.Value(); s != nil {
			return *s
		}
	}
	s := strings.Join(c.parts, "")
	w := weak.Make(&s)
	c.joined.Store(&w)
	return s
}

// Slice returns the bytes from start to end. It panics when they are out of range.
func (t Text) Slice(start, end int) string {
	if start < 0 || end < start || end > t.Len() {
		panic("text: slice out of range")
	}
	cur := cursor{c: t.chunks()}
	return cur.slice(start, end)
}

// Replace returns the text with the bytes from start to end replaced by s. It
// panics when they are out of range.
func (t Text) Replace(start, end int, s string) Text {
	return Set{{start, end, s}}.Apply(t)
}

// Equal reports whether both texts have the same bytes.
func (t Text) Equal(u Text) bool {
	if t.chunks() == u.chunks() {
		return true
	}
	return t.Len() == u.Len() && commonPrefix(t, u) == t.Len()
}

// Hash returns the SHA-256 of the bytes. It is computed on the first call and cached.
func (t Text) Hash() [32]byte {
	c := t.chunks()
	c.hashed.Do(func() {
		h := sha256.New()
		for _, p := range c.parts {
			io.WriteString(h, p) // a hash never fails
		}
		h.Sum(c.hash[:0])
	})
	return c.hash
}

// cursor finds chunks by offset, cheaply when the offsets are near each other.
type cursor struct {
	c    *chunks
	i    int // index of the chunk
	base int // offset of its first byte
}

// seek moves to the chunk with the byte at off, or to the last one when off is the end.
func (c *cursor) seek(off int) {
	for c.i > 0 && off < c.base {
		c.i--
		c.base -= len(c.c.parts[c.i])
	}
	for c.i < len(c.c.parts)-1 && off >= c.base+len(c.c.parts[c.i]) {
		c.base += len(c.c.parts[c.i])
		c.i++
	}
}

// rest returns what the chunk holds from off on; seek(off) has been called.
func (c *cursor) rest(off int) string {
	if len(c.c.parts) == 0 {
		return ""
	}
	return c.c.parts[c.i][off-c.base:]
}

// slice returns the bytes from start to end.
func (c *cursor) slice(start, end int) string {
	if start == end {
		return ""
	}
	c.seek(start)
	if rest := c.rest(start); end-start <= len(rest) {
		return rest[:end-start]
	}
	var b strings.Builder
	b.Grow(end - start)
	for start < end {
		part := c.rest(start)
		part = part[:min(len(part), end-start)]
		b.WriteString(part)
		start += len(part)
		c.seek(start)
	}
	return b.String()
}

// splits reports whether off lies inside a rune or a CRLF.
func (c *cursor) splits(off int) bool {
	if len(c.c.parts) == 0 {
		return false
	}
	c.seek(off)
	return splits(c.c.parts[c.i], off-c.base)
}

// splits reports whether a cut of s at i would go through a rune or a CRLF.
func splits(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if s[i] == '\n' {
		return s[i-1] == '\r'
	}
	return unitStart(s, i) != i
}

// unitStart returns the start of the rune or CRLF that a cut at i goes through, or i.
func unitStart(s string, i int) int {
	if i <= 0 || i >= len(s) {
		return i
	}
	if s[i] == '\n' && s[i-1] == '\r' {
		return i - 1
	}
	if utf8.RuneStart(s[i]) {
		return i
	}
	for j := i - 1; j >= max(0, i-utf8.UTFMax+1); j-- {
		if utf8.RuneStart(s[j]) {
			if _, n := utf8.DecodeRuneInString(s[j:]); j+n > i {
				return j
			}
			return i
		}
	}
	return i
}

// splitsAcross reports whether the boundary between l and r splits a rune or a CRLF.
func splitsAcross(l, r string) bool {
	if l == "" || r == "" {
		return false
	}
	if l[len(l)-1] == '\r' {
		return r[0] == '\n'
	}
	if utf8.RuneStart(r[0]) {
		return false
	}
	l, r = l[max(0, len(l)-utf8.UTFMax+1):], r[:min(len(r), utf8.UTFMax-1)]
	return splits(l+r, len(l))
}

// replaceInChunk is the fast path for an edit within one chunk, such as a keystroke: it shares all
// other chunks. It returns nil if the edit does not fit.
func (c *cursor) replaceInChunk(e Edit) *chunks {
	if e.Start < 0 || e.End < e.Start || len(c.c.parts) == 0 {
		return nil
	}
	c.seek(e.Start)
	old, start, end := c.c.parts[c.i], e.Start-c.base, e.End-c.base
	if start > len(old) || end > len(old) {
		return nil
	}
	n := len(old) + e.grow()
	if n < minChunk || n > maxChunk {
		return nil
	}
	part := old[:start] + e.New + old[end:]
	if c.i > 0 && splitsAcross(c.c.parts[c.i-1], part) || c.i+1 < len(c.c.parts) && splitsAcross(part, c.c.parts[c.i+1]) {
		return nil
	}
	after := &chunks{parts: slices.Clone(c.c.parts), sums: slices.Clone(c.c.sums), total: c.c.total}
	m := countUnits(part)
	after.parts[c.i], after.sums[c.i] = part, m
	after.total.sub(len(old), c.c.sums[c.i])
	after.total.add(len(part), m)
	return after
}

// builder builds a text from pieces, and shares chunks of another text if possible.
type builder struct {
	c    chunks
	tail []byte // not yet cut into chunks
}

func (b *builder) text() Text {
	b.flush()
	if len(b.c.parts) == 0 {
		return Text{}
	}
	return Text{&chunks{parts: b.c.parts, sums: b.c.sums, total: b.c.total}}
}

func (b *builder) push(s string) {
	m := countUnits(s)
	b.c.parts = append(b.c.parts, s)
	b.c.sums = append(b.c.sums, m)
	b.c.total.add(len(s), m)
}

// unpush puts the last chunk back before the tail.
func (b *builder) unpush() {
	n := len(b.c.parts) - 1
	last := b.c.parts[n]
	b.c.total.sub(len(last), b.c.sums[n])
	b.c.parts, b.c.sums = b.c.parts[:n], b.c.sums[:n]
	joined := make([]byte, 0, len(last)+len(b.tail))
	b.tail = append(append(joined, last...), b.tail...)
}

// splitIntoChunks appends s in chunks. s begins and ends between characters.
func (b *builder) splitIntoChunks(s string) {
	for n := 1 + (len(s)-1)/targetChunk; len(s) > maxChunk; n-- {
		i := unitStart(s, len(s)/n)
		b.push(s[:i])
		s = s[i:]
	}
	b.push(s)
}

// last returns the last chunk, or "".
func (b *builder) last() string {
	if len(b.c.parts) == 0 {
		return ""
	}
	return b.c.parts[len(b.c.parts)-1]
}

func (b *builder) flush() {
	if len(b.tail) == 0 {
		return
	}
	// Only a text that is one chunk may be shorter than minChunk, so one step back is enough.
	head := string(b.tail[:min(len(b.tail), utf8.UTFMax)])
	if last := b.last(); last != "" && (min(len(last), len(b.tail)) < minChunk || splitsAcross(last, head)) {
		b.unpush()
	}
	b.splitIntoChunks(string(b.tail))
	b.tail = b.tail[:0]
}

// copyRange appends the bytes from start to end of the cursor's text, sharing whole chunks.
func (b *builder) copyRange(cur *cursor, start, end int) {
	if start == end {
		return
	}
	cur.seek(start)
	for start < end {
		parts := cur.c.parts[cur.i:]
		part := parts[0]
		if start != cur.base || end < cur.base+len(part) { // not the whole chunk
			part = part[start-cur.base : min(len(part), end-cur.base)]
			b.tail = append(b.tail, part...)
			start += len(part)
			cur.seek(start)
			continue
		}
		if len(b.tail) > 0 {
			if min(len(b.tail), len(part)) < minChunk || splitsAcross(string(b.tail[max(0, len(b.tail)-utf8.UTFMax):]), part) {
				b.tail = append(b.tail, part...)
				start += len(part)
				cur.seek(start)
				continue
			}
			b.flush()
		}
		if last := b.last(); last != "" && (len(last) < minChunk || splitsAcross(last, part)) {
			b.unpush()
			continue
		}
		n := 0
		for ; n < len(parts) && start+len(parts[n]) <= end; n++ {
			s := cur.c.sums[cur.i+n]
			b.c.total.add(len(parts[n]), s)
			start += len(parts[n])
		}
		b.c.parts = append(b.c.parts, parts[:n]...)
		b.c.sums = append(b.c.sums, cur.c.sums[cur.i:cur.i+n]...)
		cur.seek(start)
	}
}

// countUnits counts the lines, rows and characters of a chunk. An invalid byte counts as one
// character.
func countUnits(s string) unitCounts {
	m := unitCounts{lines: uint16(strings.Count(s, "\n")), rows: uint16(countEOL(s))}
	if isASCII(s) {
		m.utf16, m.runes = uint16(len(s)), uint16(len(s))
		return m
	}
	for _, r := range s {
		m.runes++
		m.utf16++
		if r > 0xFFFF {
			m.utf16++
		}
	}
	return m
}

func isASCII(s string) bool {
	const step = 8
	for len(s) >= step {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 != 0 {
			return false
		}
		s = s[step:]
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// countEOL counts the ends of rows in s: \n, \r\n and \r.
func countEOL(s string) int {
	n := strings.Count(s, "\n")
	if strings.IndexByte(s, '\r') >= 0 {
		n += strings.Count(s, "\r") - strings.Count(s, "\r\n")
	}
	return n
}

// commonPrefix returns how many bytes two texts share at the start.
func commonPrefix(t, u Text) int {
	n, off := min(t.Len(), u.Len()), 0
	a, b := cursor{c: t.chunks()}, cursor{c: u.chunks()}
	for off < n {
		a.seek(off)
		b.seek(off)
		x, y := a.rest(off), b.rest(off)
		k := min(len(x), len(y))
		if x[:k] != y[:k] {
			return off + prefixLen(x, y)
		}
		off += k
	}
	return n
}

// commonSuffix returns how many bytes two texts share at the end, at most limit.
func commonSuffix(t, u Text, limit int) int {
	a, b := cursor{c: t.chunks()}, cursor{c: u.chunks()}
	off := 0
	for off < limit {
		i, j := t.Len()-off, u.Len()-off // exclusive ends
		a.seek(i - 1)
		b.seek(j - 1)
		x, y := a.c.parts[a.i][:i-a.base], b.c.parts[b.i][:j-b.base]
		k := min(len(x), len(y))
		if x[len(x)-k:] != y[len(y)-k:] {
			return min(limit, off+suffixLen(x, y))
		}
		off += k
	}
	return limit
}

func prefixLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func suffixLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return n
}
