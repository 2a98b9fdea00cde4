package conformance

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is a position encoding of the Language Server Protocol.
type Encoding string

// The encodings.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a place in a text: Line counts from 0, Character counts the encoding's units.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is the text between two positions.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

func (e Encoding) units(r rune, size int) int {
	switch e {
	case UTF8:
		return size
	case UTF32:
		return 1
	}
	if n := utf16.RuneLen(r); n > 0 {
		return n
	}
	return 1
}

// lineEnd gives the index where the line that holds i stops, and how long its terminator is: LF, CRLF or a lone CR,
// which are the three that the protocol knows.
func lineEnd(text string, i int) (end, terminator int) {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i, 1
		case '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				return i, 2
			}
			return i, 1
		}
	}
	return i, 0
}

// Position gives the place of byte index i of text.
func (e Encoding) Position(text string, i int) Position {
	var p Position
	start := 0
	for {
		end, terminator := lineEnd(text, start)
		if terminator == 0 || i < end+terminator {
			break
		}
		start = end + terminator
		p.Line++
	}
	for start < i {
		r, size := utf8.DecodeRuneInString(text[start:])
		p.Character += e.units(r, size)
		start += size
	}
	return p
}

// Offset gives the byte index of p in text. exact is false where p points past a line's end, past the last line or
// into the middle of a character; the nearest place before is given then.
func (e Encoding) Offset(text string, p Position) (i int, exact bool) {
	for range p.Line {
		end, terminator := lineEnd(text, i)
		if terminator == 0 {
			return end, false
		}
		i = end + terminator
	}
	end, _ := lineEnd(text, i)
	left := p.Character
	for left > 0 && i < end {
		r, size := utf8.DecodeRuneInString(text[i:])
		if n := e.units(r, size); n > left {
			return i, false
		} else {
			left -= n
		}
		i += size
	}
	return i, left == 0
}
