package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineReader splits a byte stream into lines, each the body of one message. Blank lines are
// skipped. It buffers at most twice the bytes of the current line, and discards the bytes of a line
// over the limit as it reads them. It is for one goroutine.
type lineReader struct {
	in           *bufio.Reader
	maxLineBytes int // bytes of one line
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, maxLine), maxLineBytes: limit}
}

// next implements frames. A line without an end is no message: its sender was cut off.
func (r *lineReader) next() ([]byte, error) {
	for {
		var line []byte
		size := 0
		for {
			part, err := r.in.ReadSlice('\n')
			if size += len(part); size <= r.maxLineBytes+1 {
				line = append(line, part...)
			} else {
				line = nil
			}
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if size > r.maxLineBytes+1 {
			return nil, &Error{
				Code: CodeInvalidRequest, Message: fmt.Sprintf("message of %d bytes is over the limit of %d", size-1, r.maxLineBytes),
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// appendLine appends a JSON text as one line. A line end can only stand between its tokens.
func appendLine(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[from:] {
		if c == '\n' || c == '\r' {
			dst[from+i] = ' '
		}
	}
	return append(dst, '\n')
}
