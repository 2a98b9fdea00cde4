package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Done is what some services send as their last event.
const Done = "[DONE]"

const (
	maxEvent = 16 << 20
	maxHead  = 4096
)

var errTooLong = errors.New("an event of too many bytes")

// events reads a stream of server-sent events. Services take liberties with the format: events follow each other
// without an empty line, lines end in various ways, the last event is not ended at all. So an event is a line whose
// data is a whole JSON text; only where it is none do the lines up to an empty one make the event.
type events struct {
	lines *bufio.Reader
	alive func()
	// part is the data of an incomplete event, head the beginning of a body that is no event stream.
	part, head []byte
	any        bool
	// more is what follows in a line where carriage returns alone end lines too.
	more []byte
}

// newEvents reads from r through lines, which is its own from now on.
func newEvents(r io.Reader, lines *bufio.Reader, alive func()) *events {
	lines.Reset(r)
	return &events{lines: lines, alive: alive}
}

// next gives the data of the next event; it is good until the call after. The error is io.EOF at the end, and
// io.ErrUnexpectedEOF in the middle of an event.
func (e *events) next() ([]byte, error) {
	e.part = e.part[:0]
	for {
		line, err := e.line()
		if err == io.EOF && len(line) == 0 && len(e.part) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && len(line) == 0 {
			return nil, err
		}
		e.alive()
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case ok && len(e.part)+len(data) > maxEvent:
			return nil, errTooLong
		case ok && len(data) > 0 && len(e.part) == 0:
			e.part = append(e.part, data...)
			if string(data) == Done || json.Valid(data) {
				e.any = e.any || string(data) != Done
				return e.part, nil
			}
		case ok && len(data) > 0:
			e.part = append(append(e.part, '\n'), data...)
		case len(bytes.TrimSpace(line)) == 0 && len(e.part) > 0:
			e.any = true
			return e.part, nil
		case !ok && len(e.head) < maxHead && !bytes.HasPrefix(line, []byte(":")) && !bytes.HasPrefix(line, []byte("event:")):
			e.head = append(append(e.head, line[:min(len(line), maxHead)]...), '\n')
		}
	}
}

// line gives the next line without its end; the last one may come with an error.
func (e *events) line() ([]byte, error) {
	if len(e.more) > 0 {
		line, more, _ := bytes.Cut(e.more, []byte("\r"))
		e.more = more
		return line, nil
	}
	line, err := e.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		var long []byte
		for err == bufio.ErrBufferFull {
			if long = append(long, line...); len(long) > maxEvent {
				return nil, errTooLong
			}
			line, err = e.lines.ReadSlice('\n')
		}
		line = append(long, line...)
	}
	line = bytes.TrimRight(line, "\r\n")
	if i := bytes.IndexByte(line, '\r'); i >= 0 {
		e.more = append([]byte(nil), line[i+1:]...)
		return line[:i], nil // an error comes again
	}
	return line, err
}
