package text

import (
	"strings"
	"unicode/utf8"
)

// Encoding says in what unit a [Position] counts characters.
type Encoding uint8

// The encodings of LSP's positionEncoding.
const (
	UTF16 Encoding = iota // code units, LSP's default
	UTF8                  // bytes
	UTF32                 // code points
)

// Position is a place as LSP writes it: a line and a character in it, both from 0.
type Position struct{ Line, Character int }

// LineCount returns the number of lines as an editor counts them: the line ends
// (\n, \r\n or \r) and one.
func (t Text) LineCount() int { return t.chunks().total.lines + 1 }

// Line returns the line, from 0, that holds the offset. Offsets out of range are clamped.
func (t Text) Line(off int) int {
	c := t.chunks()
	if off >= c.total.bytes {
		return c.total.lines
	}
	line := 0
	for i, p := range c.parts {
		if off < len(p) {
			off = max(0, off)
			n := countEOL(p[:off])
			if off > 0 && p[off] == '\n' && p[off-1] == '\r' {
				n-- // inside a CRLF: the line has not ended yet
			}
			return line + n
		}
		off -= len(p)
		line += int(c.sums[i].lines)
	}
	return line
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

// lineFinder finds where lines start, from the one on that was found last.
type lineFinder struct {
	c *chunks
	// line starts at at in a chunk, part, in which ended lines end before; the chunk starts at before.
	line, part, before, at, ended int
}

func (l *lineFinder) start(line int) int {
	if line <= 0 {
		return 0
	}
	if line > l.c.total.lines {
		return l.c.total.bytes
	}
	if line < l.line {
		*l = lineFinder{c: l.c}
	}
	for ; l.part < len(l.c.parts); l.part++ {
		p, left := l.c.parts[l.part], int(l.c.sums[l.part].lines)-l.ended
		if line-l.line <= left {
			for ; l.line < line; l.line++ {
				l.at += eolEnd(p[l.at:])
				l.ended++
			}
			return l.before + l.at
		}
		l.line, l.before, l.at, l.ended = l.line+left, l.before+len(p), 0, 0
	}
	return l.before
}

// LineEnd returns the offset before the line end of a line, clamped to the text.
func (t Text) LineEnd(line int) int { return t.nextEOL(t.LineStart(line)) }

// nextEOL returns the offset of the first line end at or after off, or the length.
func (t Text) nextEOL(off int) int {
	cur := cursor{c: t.chunks()}
	return cur.nextEOL(off)
}

func (c *cursor) nextEOL(off int) int {
	if len(c.c.parts) == 0 {
		return 0
	}
	c.seek(off)
	for {
		if c.c.sums[c.i].lines > 0 {
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

// indexEOL returns the index of the first line end in s, or -1.
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

// eolEnd returns the index after the first line end in s, or len(s).
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

// Offset returns the byte offset of a position. A position past the end of its line
// or of the text is clamped down to that end, one inside a rune, a surrogate pair or
// a CRLF to its start; clamped says that this was needed.
func (t Text) Offset(p Position, e Encoding) (off int, clamped bool) {
	c := t.chunks()
	if p.Line > c.total.lines {
		return c.total.bytes, true
	}
	if p.Line < 0 {
		return 0, true
	}
	off = t.LineStart(p.Line)
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
		whole := off == cur.base && s.lines == 0
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
			if len(rest) < len(cur.rest(off)) { // the line ends in this chunk
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

func (s sum) units(e Encoding, bytes int) int {
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
	p := Position{Line: t.Line(off)}
	start := t.LineStart(p.Line)
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
			p.Character += measure(rest).units(e, len(rest))
		}
		start += len(rest)
	}
	return p
}
