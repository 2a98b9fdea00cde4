package text

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Encoding is the unit in which a [Position] counts characters.
type Encoding uint8

// The encodings of LSP's positionEncoding.
const (
	UTF16 Encoding = iota // code units, LSP's default
	UTF8                  // bytes
	UTF32                 // code points
)

// Position is a place as LSP writes it: a row and a character in it, both from 0. A row is what LSP
// calls a line: it ends with \n, \r\n or a lone \r. The lines of a [Text] end with \n or \r\n
// alone, as those of grep, git, compilers and most editors do.
type Position struct{ Line, Character int }

// LineCount returns the number of lines: the line ends and one.
func (t Text) LineCount() int { return t.chunks().total.lines + 1 }

// Line returns the line, from 0, that holds the offset. Offsets out of range are clamped.
func (t Text) Line(off int) int {
	return t.countBefore(off, func(s unitCounts) int { return int(s.lines) }, func(p string, off int) int { return strings.Count(p[:off], "\n") })
}

// Liner is [Text.Line] for many offsets. In ascending order they take as long as the last one.
type Liner struct {
	c *chunks
	// base is where a chunk, part, starts and lines how many lines ended before; n more have ended
	// in it before at.
	part, base, lines, at, n int
}

// Liner returns one for the text.
func (t Text) Liner() *Liner { return &Liner{c: t.chunks()} }

// Line returns the line, from 0, that holds the offset.
func (l *Liner) Line(off int) int {
	off = max(0, min(off, l.c.total.bytes))
	if off < l.base+l.at {
		*l = Liner{c: l.c}
	}
	for ; l.part < len(l.c.parts); l.part++ {
		p := l.c.parts[l.part]
		if off < l.base+len(p) {
			l.n += strings.Count(p[l.at:off-l.base], "\n")
			l.at = off - l.base
			return l.lines + l.n
		}
		l.base, l.lines, l.at, l.n = l.base+len(p), l.lines+int(l.c.sums[l.part].lines), 0, 0
	}
	return l.lines
}

// row is Line for rows.
func (t Text) row(off int) int {
	return t.countBefore(off, func(s unitCounts) int { return int(s.rows) }, func(p string, off int) int {
		n := countEOL(p[:off])
		if off > 0 && p[off] == '\n' && p[off-1] == '\r' {
			n-- // inside a CRLF: the row has not ended yet
		}
		return n
	})
}

// countBefore counts line or row ends before an offset: whole counts those of a chunk, part those
// before an offset in a chunk.
func (t Text) countBefore(off int, whole func(unitCounts) int, part func(p string, off int) int) int {
	c, n := t.chunks(), 0
	for i, p := range c.parts {
		if off < len(p) {
			return n + part(p, max(0, off))
		}
		off -= len(p)
		n += whole(c.sums[i])
	}
	return n
}

// LineStart returns the offset of the first byte of a line, clamped to the text.
func (t Text) LineStart(line int) int {
	l := lineFinder{c: t.chunks()}
	return l.start(line)
}

// LineStarts is LineStart for several lines. In ascending order they take as long as the last one.
func (t Text) LineStarts(lines []int) []int {
	starts, l := make([]int, len(lines)), lineFinder{c: t.chunks()}
	for i, n := range lines {
		starts[i] = l.start(n)
	}
	return starts
}

// rowStart is LineStart for rows.
func (t Text) rowStart(row int) int {
	l := lineFinder{c: t.chunks(), rows: true}
	return l.start(row)
}

// lineOfRow returns the line that a row is of, or begins; both are from 0.
func (t Text) lineOfRow(row int) int { return t.Line(t.rowStart(row)) }

// lineFinder finds where lines, or rows, start, from the one on that was found last.
type lineFinder struct {
	c    *chunks
	rows bool
	// line starts at at in a chunk, part, in which ended lines end before; the chunk starts at
	// before.
	line, part, before, at, ended int
}

func (l *lineFinder) start(line int) int {
	if line <= 0 {
		return 0
	}
	if line > l.all() {
		return l.c.total.bytes
	}
	if line < l.line {
		*l = lineFinder{c: l.c, rows: l.rows}
	}
	for ; l.part < len(l.c.parts); l.part++ {
		p, left := l.c.parts[l.part], l.ends(l.c.sums[l.part])-l.ended
		if line-l.line <= left {
			for ; l.line < line; l.line++ {
				l.at += l.end(p[l.at:])
				l.ended++
			}
			return l.before + l.at
		}
		l.line, l.before, l.at, l.ended = l.line+left, l.before+len(p), 0, 0
	}
	return l.before
}

func (l *lineFinder) all() int {
	if l.rows {
		return l.c.total.rows
	}
	return l.c.total.lines
}

func (l *lineFinder) ends(s unitCounts) int {
	if l.rows {
		return int(s.rows)
	}
	return int(s.lines)
}

func (l *lineFinder) end(s string) int {
	if l.rows {
		return eolEnd(s)
	}
	return strings.IndexByte(s, '\n') + 1
}

// LineEnd returns the offset before the line end of a line, clamped to the text.
func (t Text) LineEnd(line int) int {
	start, end := t.LineStart(line), t.LineStart(line+1)
	for _, eol := range []string{"\n", "\r"} {
		if end > start && line < t.chunks().total.lines && t.Slice(end-1, end) == eol {
			end--
		}
	}
	return end
}

// nextEOL returns the offset of the first end of a row at or after off, or the length.
func (c *cursor) nextEOL(off int) int {
	if len(c.c.parts) == 0 {
		return 0
	}
	c.seek(off)
	for {
		if c.c.sums[c.i].rows > 0 {
			if k := indexEOL(c.rest(off)); k >= 0 {
				return off + k
			}
		}
		off = c.base + len(c.c.parts[c.i])
		if c.i == len(c.c.parts)-1 {
			return off
		}
		c.seek(off)
	}
}

// indexEOL returns the index of the first end of a row in s, or -1.
func indexEOL(s string) int {
	i := strings.IndexByte(s, '\n')
	if i < 0 {
		return strings.IndexByte(s, '\r')
	}
	if j := strings.IndexByte(s[:i], '\r'); j >= 0 {
		return j
	}
	return i
}

// eolEnd returns the index after the first end of a row in s, or len(s).
func eolEnd(s string) int {
	i := indexEOL(s)
	switch {
	case i < 0:
		return len(s)
	case strings.HasPrefix(s[i:], "\r\n"):
		return i + 2
	}
	return i + 1
}

// Offset returns the byte offset of a position. A position past the end of its row
// or of the text is clamped down to that end, one inside a rune, a surrogate pair or
// a CRLF to its start; clamped says that this was needed.
func (t Text) Offset(p Position, e Encoding) (off int, clamped bool) {
	c := t.chunks()
	if p.Line > c.total.rows {
		return c.total.bytes, true
	}
	if p.Line < 0 {
		return 0, true
	}
	off = t.rowStart(p.Line)
	if p.Character <= 0 {
		return off, p.Character < 0
	}
	if len(c.parts) == 0 {
		return 0, true
	}
	left := p.Character
	cur := cursor{c: c}
	for cur.seek(off); ; {
		rest, s := cur.rest(off), c.sums[cur.i]
		whole := off == cur.base && s.rows == 0
		if n := s.units(e, len(rest)); whole && n <= left {
			left -= n
		} else {
			if k := indexEOL(rest); k >= 0 {
				rest = rest[:k]
			}
			k, more := advance(rest, left, e)
			if k < len(rest) || more == 0 {
				return off + k, more > 0
			}
			left = more
			if len(rest) < len(cur.rest(off)) { // the row ends in this chunk
				return off + k, true
			}
		}
		off = cur.base + len(c.parts[cur.i])
		if left == 0 || cur.i == len(c.parts)-1 {
			return off, left > 0
		}
		cur.seek(off)
	}
}

func (s unitCounts) units(e Encoding, bytes int) int {
	switch e {
	case UTF8:
		return bytes
	case UTF32:
		return int(s.runes)
	}
	return int(s.utf16)
}

// advance goes n units into s. It returns the offset reached, always between two
// runes, and the units that were left over.
func advance(s string, n int, e Encoding) (off, left int) {
	if e == UTF8 {
		if n >= len(s) {
			return len(s), n - len(s)
		}
		off = unitStart(s, n)
		return off, n - off
	}
	for off < len(s) && n > 0 {
		if s[off] < utf8.RuneSelf {
			off++
			n--
			continue
		}
		r, size := utf8.DecodeRuneInString(s[off:])
		w := 1
		if e == UTF16 && r > 0xFFFF {
			w = 2
		}
		if w > n {
			break
		}
		off += size
		n -= w
	}
	return off, n
}

// Position returns the position of a byte offset. Offsets out of range are clamped,
// those inside a rune or a CRLF mean its start.
func (t Text) Position(off int, e Encoding) Position {
	c := t.chunks()
	if off <= 0 || len(c.parts) == 0 {
		return Position{}
	}
	off = min(off, c.total.bytes)
	cur := cursor{c: c}
	cur.seek(off)
	off = cur.base + unitStart(c.parts[cur.i], off-cur.base)
	p := Position{Line: t.row(off)}
	start := t.rowStart(p.Line)
	if e == UTF8 {
		p.Character = off - start
		return p
	}
	for cur.seek(start); start < off; cur.seek(start) {
		rest := cur.rest(start)
		if start == cur.base && off >= start+len(rest) {
			p.Character += c.sums[cur.i].units(e, len(rest))
		} else {
			rest = rest[:min(len(rest), off-start)]
			p.Character += countUnits(rest).units(e, len(rest))
		}
		start += len(rest)
	}
	return p
}

// Inside reports whether a position that was clamped to an offset lies before the end of that
// line: in a character.
func (t Text) Inside(p Position, off int) bool {
	end, _ := t.Offset(Position{Line: p.Line, Character: math.MaxInt}, UTF8)
	return p.Line == t.Position(off, UTF8).Line && off < end
}
