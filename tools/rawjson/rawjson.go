// Package rawjson writes JSON that is mostly text, of which an answer may have many megabytes,
// faster than an encoder that looks at types.
//
// It stays because an answer of 10 MB takes more than 5 % longer without it: its text is encoded
// twice in 51 to 67 ms, and by pieces once in 10 to 27 ms, beside a search of 250 to 510 ms (two
// processors, busy).
package rawjson

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Pieced is a value that writes itself.
type Pieced interface {
	// JSONPieces are the value as JSON. They are not to be changed; one may be there twice.
	JSONPieces() ([][]byte, error)
}

// Text is a text that may become very long and is not copied for it. The zero value is an empty
// one.
type Text struct {
	pieces [][]byte
	before int // bytes in pieces
	// Last is the end of the text, for its user to append to.
	Last []byte
}

// piece is about how long a piece becomes.
const piece = 256 << 10

// Size is how many bytes the text has.
func (t *Text) Size() int { return t.before + len(t.Last) }

// Grown begins another piece where the last one is long. It is called between two things that are
// appended.
func (t *Text) Grown() {
	if len(t.Last) >= piece {
		t.pieces, t.before = append(t.pieces, t.Last), t.Size()
		t.Last = make([]byte, 0, piece+piece/8)
	}
}

// Pieces are the text.
func (t *Text) Pieces() [][]byte { return append(slices.Clip(t.pieces), t.Last) }

// String is s as a JSON string, see AppendString. The pieces of a long one are made at the same
// time.
func String(s string) [][]byte {
	const most = piece / 2 // which becomes about a piece where every second byte is escaped
	var parts []string
	for rest := s; ; {
		n := min(len(rest), most)
		for back := 0; n < len(rest) && back < utf8.UTFMax; back++ { // where none begins near it, none goes over it
			if utf8.RuneStart(rest[n-back]) {
				n -= back
				break
			}
		}
		if parts, rest = append(parts, rest[:n]), rest[n:]; rest == "" {
			break
		}
	}
	pieces := make([][]byte, len(parts)+2)
	pieces[0], pieces[len(parts)+1] = []byte{'"'}, []byte{'"'}
	var next atomic.Int32
	escape := func() {
		for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
			pieces[i+1] = appendEscaped(make([]byte, 0, len(parts[i])+len(parts[i])/4+8), parts[i])
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) - 1 {
		others.Go(escape)
	}
	escape()
	others.Wait()
	return pieces
}

// AppendString appends s to b as a JSON string (RFC 8259 §7), as encoding/json/v2 writes it: each
// byte that is no UTF-8 is U+FFFD.
func AppendString(b []byte, s string) []byte { return append(appendEscaped(append(b, '"'), s), '"') }

// appendEscaped appends what stands between the quotes.
func appendEscaped(b []byte, s string) []byte {
	from := 0 // what is before is appended
	for i := 0; ; i++ {
		if i += plain(s[i:]); i == len(s) {
			return append(b, s[from:]...)
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			if _, n := utf8.DecodeRuneInString(s[i:]); n > 1 {
				i += n - 1
				continue
			}
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\uFFFD"...)
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
}

// plain is how many bytes s begins with that are ASCII and stand in a JSON string as they are,
// eight looked at at a time.
func plain(s string) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^ones*'"', w^ones*'\\'
		// A byte's highest bit is set where it was before, where the byte is below 0x20, or 0 after
		// the exclusive or; the lowest such byte is certain.
		found := (w - ones*0x20) | w
		found |= (quote - ones) &^ quote
		found |= (slash - ones) &^ slash
		if found &= highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}
