package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Charset is the encoding of a file. A [Text] is always UTF-8.
type Charset uint8

// The charsets that [Decode] tells by the first bytes of a file.
const (
	CharsetUTF8 Charset = iota
	CharsetUTF16LE
	CharsetUTF16BE
)

func (c Charset) String() string {
	switch c {
	case CharsetUTF16LE:
		return "utf-16le"
	case CharsetUTF16BE:
		return "utf-16be"
	}
	return "utf-8"
}

// CharsetError is the error for bytes that are no text of a known charset, or for a text that a
// charset cannot store.
type CharsetError struct {
	Charset Charset
	Offset  int // where, in bytes of what was given
	Reason  string
	Marked  bool // a byte order mark says what the bytes are meant to be
}

func (e *CharsetError) Error() string {
	return fmt.Sprintf("unknown encoding: not %s: %s at byte %d", e.Charset, e.Reason, e.Offset)
}

const (
	markLE   = "\xFF\xFE"
	markBE   = "\xFE\xFF"
	mark32LE = "\xFF\xFE\x00\x00"
	mark32BE = "\x00\x00\xFE\xFF"
)

// Sniffed is the number of bytes of a file's beginning that Binary needs.
const Sniffed = 8 << 10

// Binary reports whether a file is no text: its first Sniffed bytes contain a NUL. Decode handles
// UTF-16, whose texts contain NULs too.
func Binary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// Decode reads the bytes of a file: UTF-16 where they begin with its byte order mark,
// UTF-8 otherwise. The mark stays in the text, as its first character. [Encode] gives
// exactly the same bytes again; where it would not, the error is a [*CharsetError].
func Decode(b []byte) (Text, Charset, error) {
	start := string(b[:min(len(b), len(mark32LE))])
	switch {
	case start == mark32LE || start == mark32BE:
		return Text{}, CharsetUTF8, &CharsetError{CharsetUTF8, 0, "a UTF-32 byte order mark", true}
	case strings.HasPrefix(start, markLE):
		return decodeUTF16(b, CharsetUTF16LE)
	case strings.HasPrefix(start, markBE):
		return decodeUTF16(b, CharsetUTF16BE)
	}
	s := string(b)
	if i := firstInvalid(s); i >= 0 {
		return Text{}, CharsetUTF8, &CharsetError{CharsetUTF8, i, "an invalid byte", strings.HasPrefix(s, bom)}
	}
	return New(s), CharsetUTF8, nil
}

// Encode returns the bytes of a file that [Decode] reads as t in this charset. Where
// there are none, such as for a UTF-16 text without its mark, the error is a
// [*CharsetError].
func Encode(t Text, c Charset) ([]byte, error) {
	s := t.String()
	if i := firstInvalid(s); i >= 0 {
		return nil, &CharsetError{c, i, "an invalid byte", false}
	}
	switch {
	case c == CharsetUTF8:
		return []byte(s), nil // its BOM is no mark of the others, and those are not valid in it
	case !strings.HasPrefix(s, bom):
		return nil, &CharsetError{c, 0, "no byte order mark", false}
	case c == CharsetUTF16LE && strings.HasPrefix(s, bom+"\x00"):
		return nil, &CharsetError{c, len(bom), "a NUL, which would make its mark one of UTF-32", false}
	}
	order := c.order()
	out := make([]byte, 0, 2*t.chunks().total.utf16)
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
		} else {
			out = order.AppendUint16(out, uint16(r))
		}
	}
	return out, nil
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (c Charset) order() byteOrder {
	if c == CharsetUTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func decodeUTF16(b []byte, c Charset) (Text, Charset, error) {
	if len(b)%2 != 0 {
		return Text{}, c, &CharsetError{c, len(b) - 1, "half of a code unit", true}
	}
	order := c.order()
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+2 < len(b) {
				low = rune(order.Uint16(b[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return Text{}, c, &CharsetError{c, i, "half of a surrogate pair", true}
			}
			i += 2
		}
		out = utf8.AppendRune(out, r)
	}
	return New(string(out)), c, nil
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}
