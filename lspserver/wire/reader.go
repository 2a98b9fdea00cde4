package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strconv"
)

const (
	maxLine   = 8 << 10  // bytes of one header line
	maxHeader = 64 << 10 // bytes of one header
	// overlapBytes is the number of skipped bytes that are kept, so that a header field that spans
	// two reads is found.
	overlapBytes = 64

	lengthName = "Content-Length"
)

// frameReader splits a byte stream into the bodies of LSP frames. It resynchronizes at the next
// header after any damage, and buffers at most twice the bytes that were sent, whatever length a
// header declares. It is for one goroutine.
type frameReader struct {
	src         *prefixReader
	in          *bufio.Reader
	maxBody     int // bytes of one body
	log         *slog.Logger
	headerBytes int // of the header being read
}

func newFrameReader(r io.Reader, limit int, log *slog.Logger) *frameReader {
	src := &prefixReader{r: r}
	return &frameReader{src: src, in: bufio.NewReaderSize(src, maxLine), maxBody: limit, log: log}
}

// next implements frames.
func (r *frameReader) next() ([]byte, error) {
	n, err := r.header()
	if err != nil {
		return nil, err
	}
	return r.body(n)
}

// header reads lines up to the blank one that ends a header with a valid length, and returns that
// length. Headers without one, and bytes outside any frame, are logged and skipped.
func (r *frameReader) header() (int, error) {
	var length int
	var known, bad, lines bool
	reset := func() { length, known, bad, lines, r.headerBytes = 0, false, false, false, 0 }
	for reset(); ; {
		line, long, err := r.line()
		if err != nil {
			return 0, err
		}
		if long || r.headerBytes > maxHeader {
			r.log.Warn("header over the limit skipped", "bytes", r.headerBytes)
			reset()
		}
		if len(line) == 0 {
			if known && !bad {
				return length, nil
			}
			if lines {
				r.log.Warn("header without a usable length skipped", "bytes", r.headerBytes)
			}
			reset()
			continue
		}
		value, glued, ok := lengthField(line, long)
		if !ok {
			lines = true
			continue
		}
		if glued { // what stood before it was no part of this header
			r.log.Warn("bytes outside any frame skipped", "bytes", r.headerBytes-len(value))
			reset()
		}
		n, err := strconv.ParseUint(value, 10, strconv.IntSize-1)
		bad = bad || err != nil || known && int(n) != length
		length, known, lines = int(n), true, true
	}
}

// line returns the next line without its end, valid until the next read. Of a line over maxLine
// (long) only the last bytes are returned.
func (r *frameReader) line() (line []byte, long bool, err error) {
	var kept []byte
	for {
		part, err := r.in.ReadSlice('\n')
		r.headerBytes += len(part)
		if long {
			part = append(kept, part...)
			part = part[max(0, len(part)-overlapBytes):]
		}
		if err == bufio.ErrBufferFull {
			long = true
			kept = append([]byte(nil), part[max(0, len(part)-overlapBytes):]...)
			continue
		}
		if err != nil {
			return nil, false, err
		}
		return bytes.TrimRight(part, "\r\n"), long, nil
	}
}

// lengthField finds a Content-Length field in a header line: the whole of it, or (glued) the end of
// it behind bytes of no frame, such as a byte order mark or the rest of a body whose length was
// told too short.
func lengthField(line []byte, long bool) (value string, glued, ok bool) {
	for i := len(line) - len(lengthName); i >= 0; i-- {
		if !bytes.EqualFold(line[i:i+len(lengthName)], []byte(lengthName)) {
			continue
		}
		rest, colon := bytes.CutPrefix(bytes.TrimLeft(line[i+len(lengthName):], " \t"), []byte(":"))
		glued = len(bytes.TrimLeft(line[:i], " \t")) > 0
		if !colon || glued && !long && isTokenByte(line[i-1]) { // the field X-Content-Length is another one
			return "", false, false
		}
		return string(bytes.TrimSpace(rest)), glued, true
	}
	return "", false, false
}

func isTokenByte(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// body reads n bytes. The buffer grows with what has arrived; a body over the limit is read without
// being held. A header line inside the body, or the beginning of one at its end, means that n was
// wrong, since no JSON text can hold one: reading goes on there.
func (r *frameReader) body(n int) ([]byte, error) {
	hold := n <= r.maxBody
	buf := make([]byte, 0, min(n, maxLine))
	for read, scanned := 0, 0; read < n; {
		switch {
		case len(buf) < cap(buf):
		case hold:
			buf = append(make([]byte, 0, min(n, 2*cap(buf))), buf...)
		default:
			buf = buf[:copy(buf, buf[len(buf)-overlapBytes:])]
			scanned = 0
		}
		m, err := r.in.Read(buf[len(buf):min(cap(buf), len(buf)+n-read)])
		buf, read = buf[:len(buf)+m], read+m
		if i := headerLine(buf[scanned:], read == n); i >= 0 {
			r.unread(buf[scanned+i:])
			return nil, &Error{
				Code:    CodeParseError,
				Message: fmt.Sprintf("body ends after %d of %d bytes", read-len(buf)+scanned+i, n),
			}
		}
		scanned = max(0, len(buf)-overlapBytes)
		if err == io.EOF && read < n {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil && read < n {
			return nil, err
		}
	}
	if !hold {
		return nil, &Error{
			Code:    CodeInvalidRequest,
			Message: fmt.Sprintf("message of %d bytes is over the limit of %d", n, r.maxBody),
		}
	}
	return buf, nil
}

// headerLine finds a Content-Length line in b, or (end) what may become one at the end of b; -1 if
// there is none. Inside a JSON string the digits could not be followed by a bare line end, outside
// one the name could not stand without quotes, and a message ends in a brace.
func headerLine(b []byte, end bool) int {
	name := []byte(lengthName + ":")
	for at := 0; ; at += len(name) {
		i := bytes.Index(b[at:], name)
		if i < 0 {
			break
		}
		at += i
		digits := bytes.TrimLeft(b[at+len(name):], " ")
		rest := bytes.TrimLeft(digits, "0123456789")
		if len(rest) == 0 && end || len(rest) < len(digits) && len(rest) > 0 && (rest[0] == '\r' || rest[0] == '\n') {
			return at
		}
	}
	for i := max(0, len(b)-len(name)+1); end && i < len(b); i++ {
		if bytes.HasPrefix(name, b[i:]) {
			return i
		}
	}
	return -1
}

// unread puts b back in front of what is still to be read.
func (r *frameReader) unread(b []byte) {
	ahead, _ := r.in.Peek(r.in.Buffered())
	r.src.prefix = append(append(append([]byte(nil), b...), ahead...), r.src.prefix...)
	r.in.Reset(r.src)
}

// prefixReader reads prefix, then r.
type prefixReader struct {
	prefix []byte
	r      io.Reader
}

func (p *prefixReader) Read(b []byte) (int, error) {
	if len(p.prefix) == 0 {
		return p.r.Read(b)
	}
	n := copy(b, p.prefix)
	if p.prefix = p.prefix[n:]; len(p.prefix) == 0 {
		p.prefix = nil
	}
	return n, nil
}
