package text

import (
	"sort"
	"strings"
	"unicode/utf8"
)

const bom = "\uFEFF"

// Fit returns s as it is to be inserted into t at off: with the line ends of that
// place, and without a BOM, since t has its own or none. For a text with no line end
// s stays as it is, and for an empty one its BOM does too.
func Fit(t Text, off int, s string) string {
	if t.Len() == 0 {
		return s
	}
	return withEOL(toLF(t, s), eolAt(t, off))
}

// Removal is the removal of all of a text.
func Removal(t Text) Set {
	if t.Len() == 0 {
		return nil
	}
	return Set{{Start: 0, End: t.Len()}}
}

// Overwrite returns the smallest edits that make t say what content says. Its BOM
// stays; lines that do not change keep their line ends and new ones take them from
// their neighbours.
func Overwrite(t Text, content string) Set {
	if t.Len() == 0 {
		if content == "" {
			return nil
		}
		return Set{{0, 0, content}}
	}
	v := project(t.String(), leading)
	var out Set
	for _, e := range diffStrings(v.s, toLF(t, content)) {
		e.Start, e.End = v.src(e.Start), v.src(e.End)
		e.New = withEOL(e.New, eolAt(t, e.Start))
		if t.Slice(e.Start, e.End) != e.New {
			out = append(out, e)
		}
	}
	return out
}

// toLF takes the BOM off text that goes into t, and its CRLFs where t has line ends
// of its own.
func toLF(t Text, s string) string {
	s = strings.TrimPrefix(s, bom)
	if t.chunks().total.rows > 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

func withEOL(s, eol string) string {
	if eol == "" || eol == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", eol)
}

// eolFinder is eolAt for ascending offsets: it scans each part of the text once.
type eolFinder struct {
	t           Text
	from, until int // the places that have eol; none where until is before from
	eol         string
}

func (t Text) ends() eolFinder { return eolFinder{t: t, until: -1} }

func (e *eolFinder) at(off int) string {
	if e.from <= off && off <= e.until {
		return e.eol
	}
	whole := e.t.String()
	e.from = off
	if n := strings.IndexByte(whole[off:], '\n'); n < 0 {
		e.until, e.eol = len(whole), eolAt(e.t, off)
	} else {
		e.until, e.eol = off+n, "\n"
		if n > 0 && whole[off+n-1] == '\r' {
			e.eol = "\r\n"
		}
	}
	return e.eol
}

// eolAt returns the end of the line at off, or of the line before when it is the
// last; "" when t has no line end. A lone \r ends lines only in a text without \n.
func eolAt(t Text, off int) string {
	total := t.chunks().total
	line := min(t.Line(off), total.lines-1)
	switch {
	case line >= 0:
		return t.Slice(t.LineEnd(line), t.LineStart(line+1))
	case total.rows > 0:
		return "\r"
	}
	return ""
}

// fold selects what a view normalizes beside line ends.
type fold uint8

const (
	leading  fold = 1 << iota // the BOM that s begins with: s is the beginning of a text
	trailing                  // blanks at line ends
	glyphs                    // the difference between typographic and plain signs
)

// view is a normalized text with every line end as \n, and the mapping back to the source offsets.
type view struct {
	s    string
	gaps []gap
}

// gap is a place where a view is shorter than its source. It applies to offsets after at, so that
// an offset before a line end maps to before the gap.
type gap struct {
	at, total int // total: bytes left out up to here
	isBlanks  bool
}

// project normalizes s to a view.
func project(s string, how fold) view {
	marked := how&leading != 0 && strings.HasPrefix(s, bom)
	if !marked && how&^leading == 0 && strings.IndexByte(s, '\r') < 0 {
		return view{s: s}
	}
	var v view
	skipped := 0
	var out strings.Builder
	out.Grow(len(s))
	skip := func(at, n int, blanks bool) {
		if n > 0 {
			skipped += n
			v.gaps = append(v.gaps, gap{at, skipped, blanks})
		}
	}
	i := 0
	if marked {
		i = len(bom)
		skip(-1, i, false)
	}
	special := "\r"
	if how&trailing != 0 {
		special += " \t"
	}
	for i < len(s) {
		n := strings.IndexAny(s[i:], special)
		if how&glyphs != 0 {
			n = strings.IndexFunc(s[i:], func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune(special, r) })
		}
		if n < 0 {
			out.WriteString(s[i:])
			break
		}
		out.WriteString(s[i : i+n])
		i += n
		switch c := s[i]; {
		case c == '\r':
			n = eolEnd(s[i:])
			skip(out.Len(), n-1, false)
			out.WriteByte('\n')
		case c < utf8.RuneSelf:
			n = len(s[i:]) - len(strings.TrimLeft(s[i:], " \t"))
			if end := i + n; end == len(s) || s[end] == '\n' || s[end] == '\r' {
				skip(out.Len(), n, true)
			} else {
				out.WriteString(s[i:end])
			}
		default:
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			if p := plainGlyph(r); p != 0 {
				skip(out.Len(), n-1, false)
				out.WriteByte(p)
			} else {
				out.WriteString(s[i : i+n])
			}
		}
		i += n
	}
	v.s = out.String()
	return v
}

// plainGlyph returns the ASCII sign that a typographic one is taken for, or 0.
func plainGlyph(r rune) byte {
	switch r {
	case '‘', '’', '‚', '‛', '′', '‵':
		return '\''
	case '“', '”', '„', '‟', '″', '‶':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '\u00A0', '\u2002', '\u2003', '\u2007', '\u2009', '\u200A', '\u202F', '\u3000':
		return ' '
	}
	return 0
}

// src returns the source offset of a place in the view.
func (v *view) src(p int) int {
	i := sort.Search(len(v.gaps), func(i int) bool { return v.gaps[i].at >= p })
	if i == 0 {
		return p
	}
	return p + v.gaps[i-1].total
}

// srcAfter is src, but after the blanks that were left out there.
func (v *view) srcAfter(p int) int {
	i := sort.Search(len(v.gaps), func(i int) bool { return v.gaps[i].at >= p })
	if i < len(v.gaps) && v.gaps[i].at == p && v.gaps[i].isBlanks {
		return p + v.gaps[i].total
	}
	return v.src(p)
}

// find returns the place in the view of a source offset: the last that is not after it.
func (v *view) find(off int) int {
	return sort.Search(len(v.s), func(p int) bool { return v.src(p+1) > off })
}
