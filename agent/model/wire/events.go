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

// events reads a stream of server-sent events. Services take liberties with the format: events
// follow each other without an empty line, lines end in various ways, the last event is not ended
// at all. So an event is a line whose data is a whole JSON text; otherwise all lines up to an empty
// one are the event. A JSON object without "data:" is an event too: an error, or the whole answer
// of a service that does not stream.
type events struct {
	lines *bufio.Reader
	alive func()
	// part is the data of an incomplete event, head the beginning of a body that is no event
	// stream.
	part, head []byte
	any, bared bool
	// more is what follows in a line where carriage returns alone end lines too.
	more []byte
}

// newEvents reads from r through lines, which is its own from now on.
func newEvents(r io.Reader, lines *bufio.Reader, alive func()) *events {
	lines.Reset(r)
	return &events{lines: lines, alive: alive}
}

// next gives the data of the next event; it is good until the call after. The error is io.EOF at
// the end, and io.ErrUnexpectedEOF in the middle of an event.
func (e *events) next() ([]byte, error) {
	e.part = e.part[:0]
	for {
		line, err := e.line()
		if err == io.EOF && len(line) == 0 {
			if len(e.part) > 0 {
				err = io.ErrUnexpectedEOF
			} else if !e.bared && isObject(e.head) {
				return e.bare(e.head), nil
			}
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
		case ok && bytes.HasPrefix(data, []byte(":")) && len(e.part) == 0: // a comment that a proxy took for data
		case ok && len(data) > 0 && len(e.part) == 0:
			data = glued(data)
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
		case ok || bytes.HasPrefix(line, []byte(":")) || bytes.HasPrefix(line, []byte("event:")):
		case len(e.part) == 0 && isObject(bytes.TrimPrefix(line, []byte("error:"))): // llama.cpp named errors so until late 2025
			e.head = append(e.head, line...)
			return e.bare(line), nil
		case len(e.head) < maxHead || e.head[0] == '{' && len(e.head)+len(line) < maxEvent:
			e.head = append(append(e.head, line[:min(len(line), maxEvent)]...), '\n')
		}
	}
}

// bare makes an event of a JSON object that came without "data:". It does not make the body a
// stream.
func (e *events) bare(text []byte) []byte {
	e.bared = true
	if rest, failed := bytes.CutPrefix(text, []byte("error:")); failed {
		return append(append(append(e.part[:0], `{"error":`...), rest...), '}')
	}
	return append(e.part[:0], text...)
}

// isObject reports whether a text is a JSON object.
func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// glued is the data of a line, without the beginning of another event that was never finished: the
// buffers of some services put two into one line.
func glued(data []byte) []byte {
	if i := bytes.LastIndex(data, []byte("data:")); i > 0 && !json.Valid(data) {
		if last := bytes.TrimSpace(data[i+len("data:"):]); isObject(last) {
			return last
		}
	}
	return data
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
