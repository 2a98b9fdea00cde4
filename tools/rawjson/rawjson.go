// Package rawjson writes JSON that is mostly text, of which an answer may have many megabytes, faster than an encoder that looks at types.
package rawjson

import (
	"math/bits"
	"unicode/utf8"
)

// Appender is a value that writes itself. Both methods give the same for the same value.
type Appender interface {
	// AppendJSON appends the value to b.
	AppendJSON(b []byte) ([]byte, error)
	// JSONSize is about how many bytes AppendJSON appends.
	JSONSize() int
}

// SizeOf is about how many bytes AppendString appends.
func SizeOf(s string) int { return len(s) + len(s)/16 + 2 }

// AppendString appends s to b as a JSON string (RFC 8259 §7), as encoding/json/v2 writes it: each byte that is no UTF-8 is U+FFFD.
func AppendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	b = append(b, '"')
	for {
		n := plain(s)
		b = append(b, s[:n]...)
		if n == len(s) {
			return append(b, '"')
		}
		switch c := s[n]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		s = s[n+1:]
	}
}

// plain is how many bytes s begins with that stand in a JSON string as they are, eight looked at at a time.
func plain(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^ones*'"', w^ones*'\\'
		// A byte's highest bit is set where the byte is below 0x20, or 0 after the exclusive or; the lowest such byte is certain.
		found := (w - ones*0x20) &^ w
		found |= (quote - ones) &^ quote
		found |= (slash - ones) &^ slash
		if found &= highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}
