package grep

import (
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"tandem/filetime/text"
	"tandem/sandbox/search/index"
)

// sniffed is how much of a file is looked at for a NUL before it is searched, and how much ripgrep
// reads at once.
const sniffed = index.Sniffed

// mostHeld is how much is read of a file at most where a match, or a line, has more than one piece
// of it.
const mostHeld = 64 << 20

// fills are the pieces in which ripgrep reads a file. A NUL in one ends the search before it: of
// that piece, and of the line that goes on in it, nothing is searched.
type fills struct {
	// line is where the first line begins that is not complete, end up to where the file was read,
	// size how much there is room for.
	line, end, size int
}

func newFills() fills { return fills{size: sniffed} }

// until is how much of a text may be searched, of which no more than the beginning is there unless
// all is; nul says that there is a NUL.
func (f *fills) until(b []byte, all bool) (n int, nul bool) {
	for {
		end := f.line + f.size
		if end > len(b) {
			if !all {
				return f.line, false
			}
			end = len(b)
		}
		piece := b[f.end:end]
		if text.Binary(piece) {
			return f.line, true
		}
		if all && end == len(b) {
			return end, false
		}
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			f.line = f.end + i + 1
		} else {
			f.size *= 3
		}
		f.end = end
	}
}

// drop says that so many bytes at the beginning of the text have gone.
func (f *fills) drop(n int) { f.line, f.end = f.line-n, f.end-n }

// marked16 says that a file begins with the byte order mark of UTF-16.
func marked16(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff"))
}

// decoder reads UTF-16 that begins with its byte order mark as UTF-8. What is no character is
// U+FFFD.
type decoder struct {
	from io.Reader
	in   []byte // was read and is not decoded
	out  []byte // was decoded and is not read
	unit func([]byte) uint16
	err  error
}

func newDecoder(from io.Reader) *decoder { return &decoder{from: from} }

func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// fill decodes some more.
func (d *decoder) fill() {
	buf := make([]byte, 64<<10)
	n := copy(buf, d.in)
	var got int
	got, d.err = io.ReadFull(d.from, buf[n:])
	if d.err == io.ErrUnexpectedEOF {
		d.err = io.EOF
	}
	b := buf[:n+got]
	if d.unit == nil {
		d.unit = func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }
		if bytes.HasPrefix(b, []byte("\xfe\xff")) {
			d.unit = func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 }
		}
		b = b[2:]
	}
	out := make([]byte, 0, 2*len(b))
	for len(b) > 1 {
		r := rune(d.unit(b))
		width := 2
		if utf16.IsSurrogate(r) {
			if len(b) < 4 && d.err == nil {
				break
			}
			second := rune(0)
			if len(b) >= 4 {
				second = rune(d.unit(b[2:]))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				width = 4
			}
		}
		out, b = utf8.AppendRune(out, r), b[width:]
	}
	if d.err != nil && len(b) > 0 {
		out, b = utf8.AppendRune(out, utf8.RuneError), nil
	}
	d.in, d.out = bytes.Clone(b), out
}

// whole reads on, up to mostHeld; ok is false where there is more.
func whole(head []byte, rest io.Reader) (_ []byte, ok bool) {
	b, err := io.ReadAll(io.MultiReader(bytes.NewReader(head), io.LimitReader(rest, mostHeld-int64(len(head))+1)))
	return b, err == nil && len(b) <= mostHeld
}
