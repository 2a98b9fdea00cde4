package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/sandbox/lazy"
)

const (
	// maxMessage is the size of the largest message that is taken in. Of a larger answer the rest
	// is skipped; where that is the rest of a text, the call gets what is there of it, else it
	// fails.
	maxMessage = 10 << 20
	// maxLine is the size from which on a line is no message of any size: the server is stopped.
	maxLine = 64 << 20
	// maxTail is how much is kept of the end of a message that is too large.
	maxTail = 256
	// maxBefore is how many bytes of a result may stand before its content where it is to be cut.
	maxBefore = 64 << 10
	// maxNoise is how many lines in a row may be no messages.
	maxNoise = 10_000
	// maxAsked is how many requests of the server may be open at once.
	maxAsked = 64
)

// violation is what a server has done that no server of the protocol does. It is stopped for it and
// not started again.
type violation struct{ what string }

func (v *violation) Error() string { return v.what }

// pipe is the connection to a server that is a process: one JSON text a line on its standard input
// and output. Unlike that of the library it bounds what it holds, skips lines that are no messages,
// and ends at an answer to a request that was never made.
type pipe struct {
	in  io.WriteCloser
	out *bufio.Reader
	// broke is told why the connection ends, once; it does not block.
	broke func(error)
	// noise is told the first line that is no message; it does not block.
	noise func(line []byte)

	writing       sync.Mutex
	methods       asked
	batch         []jsonrpc.Message // the rest of a batch
	skipped       int               // lines in a row
	noiseReported bool              // noise was told

	mu     sync.Mutex
	sent   map[jsonrpc.ID]bool // our requests that were not answered
	done   map[jsonrpc.ID]bool // those that were
	asked  int                 // its requests that were not answered
	closed bool
}

var (
	_ sdk.Transport  = (*pipe)(nil)
	_ sdk.Connection = (*pipe)(nil)
)

func newPipe(in io.WriteCloser, out io.Reader, broke func(error), noise func(line []byte)) *pipe {
	return &pipe{
		in: in, out: bufio.NewReaderSize(out, 64<<10), broke: broke, noise: noise, sent: map[jsonrpc.ID]bool{}, done: map[jsonrpc.ID]bool{},
	}
}

// Connect implements the Transport of the library.
func (p *pipe) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID implements the Connection of the library.
func (p *pipe) SessionID() string { return "" }

// Read gives the next message. It ends when the process closes its output, as it does when it is
// stopped.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := p.next()
	if err != nil {
		p.mu.Lock()
		closed := p.closed
		p.mu.Unlock()
		if !closed && ctx.Err() == nil {
			p.broke(err)
		}
	}
	return m, err
}

func (p *pipe) next() (jsonrpc.Message, error) {
	for {
		for len(p.batch) > 0 {
			m := p.batch[0]
			p.batch = p.batch[1:]
			if again, err := p.count(m); err != nil || !again {
				return m, err
			}
		}
		line, size, tail, err := p.line()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if size > len(line) {
			return p.tooLarge(line, tail, size)
		}
		if err := p.take(line); err != nil {
			return nil, err
		}
	}
}

// take puts the messages of a line into the batch. A line without any is skipped.
func (p *pipe) take(line []byte) error {
	for _, text := range messages(line) {
		if m, err := jsonrpc.DecodeMessage(text); err == nil {
			p.batch = append(p.batch, m)
		}
	}
	if len(p.batch) > 0 {
		p.skipped = 0
		return nil
	}
	if !p.noiseReported {
		p.noiseReported = true
		p.noise(line)
	}
	if text := answerBehind(line); text != nil {
		if m, err := jsonrpc.DecodeMessage(text); err == nil {
			p.batch, p.skipped = append(p.batch, m), 0
			return nil
		}
	}
	if p.skipped++; p.skipped > maxNoise {
		return &violation{fmt.Sprintf("it printed more than %d lines in a row that are no messages", maxNoise)}
	}
	return nil
}

// count keeps the books of what was asked and answered, and mends an answer. again says that the
// answer was given before.
func (p *pipe) count(m jsonrpc.Message) (again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		m.ID = p.own(m.ID)
		switch {
		case p.done[m.ID]:
			return true, nil
		case !p.sent[m.ID]:
			return false, &violation{fmt.Sprintf("it answered a request that was never made (id %.40q)", fmt.Sprint(m.ID.Raw()))}
		}
		delete(p.sent, m.ID)
		p.done[m.ID] = true
		m.Result = mended(p.methods.answered(fmt.Sprint(m.ID.Raw())), m.Result)
	case *jsonrpc.Request:
		if m.IsCall() {
			p.asked++
		}
		if p.asked > maxAsked {
			return false, &violation{fmt.Sprintf("it has more than %d requests open", maxAsked)}
		}
	}
	return false, nil
}

// own is an id as we have sent it: some servers answer a number with a text. p.mu is held.
func (p *pipe) own(id jsonrpc.ID) jsonrpc.ID {
	text, is := id.Raw().(string)
	if !is {
		return id
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if number, err := jsonrpc.MakeID(n); err == nil && (p.sent[number] || p.done[number]) {
			return number
		}
	}
	return id
}

// line reads one line and gives the first maxMessage bytes of it, how many it has, and where it has
// more, the last maxTail ones. The error is of the process's output.
func (p *pipe) line() (line []byte, size int, tail []byte, err error) {
	for {
		piece, err := p.out.ReadSlice('\n')
		size += len(piece)
		line = append(line, piece[:min(len(piece), maxMessage-len(line))]...)
		if size > len(line) {
			tail = append(tail, piece[max(0, len(piece)-maxTail):]...)
			tail = tail[max(0, len(tail)-maxTail):]
		}
		switch {
		case err == nil:
			return line, size, tail, nil
		case size > maxLine:
			return nil, size, nil, &violation{fmt.Sprintf("it printed more than %d MiB without the end of a line", maxLine>>20)}
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, size, nil, err
		}
	}
}

// tooLarge makes the answer of what was kept of one that is too large: a result whose last text is
// cut, else an error. The server goes on.
func (p *pipe) tooLarge(head, tail []byte, size int) (jsonrpc.Message, error) {
	id, ok := idIn(head, tail)
	if !ok {
		return nil, &violation{fmt.Sprintf("it printed a message of %d bytes; the limit is %d", size, maxMessage)}
	}
	m := &jsonrpc.Response{ID: id, Result: shortened(head, tail, size)}
	if m.Result == nil {
		m.Error = &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the answer has %d bytes, and no more than %d are taken in", size, maxMessage),
		}
	}
	_, err := p.count(m)
	return m, err
}

// failed finds the mark of a failed call in the end of a message.
var failed = lazy.Regexp{Text: `"isError"\s*:\s*true`}

// shortened is the result of a call of which the beginning is there, up to somewhere in its last
// text, with a note at the end of that. It is nil where the message is no such result: one that
// ends in a picture or in structured content is of no use.
func shortened(head, tail []byte, size int) json.RawMessage {
	if !bytes.Contains(head[:min(len(head), maxBefore)], []byte(`"content"`)) {
		return nil
	}
	closed, ok := closing(head)
	var m struct {
		Result *struct {
			Content    []map[string]any `json:"content"`
			Structured json.RawMessage  `json:"structuredContent"`
		} `json:"result"`
	}
	if !ok || json.Unmarshal(closed, &m) != nil || m.Result == nil || len(m.Result.Content) == 0 || m.Result.Structured != nil {
		return nil
	}
	last := m.Result.Content[len(m.Result.Content)-1]
	text, is := last["text"].(string)
	if kind, there := last["type"]; !is || there && kind != "text" {
		return nil
	}
	last["type"] = "text"
	last["text"] = fmt.Sprintf("%s\n(Cut: the answer of the server has %d bytes, of which the first %d were taken in.)", text, size, len(head))
	out, err := json.Marshal(map[string]any{"content": m.Result.Content, "isError": failed.Get().Match(tail)})
	if err != nil {
		return nil
	}
	return out
}

// closing ends a JSON text that was cut inside of a string: the string, and each object and list
// that is open. ok is false for one that was cut elsewhere.
func closing(head []byte) (whole []byte, ok bool) {
	var open []byte
	inString, escape := false, 0 // escape is where an escape in the string begins that is not complete
	for i := 0; i < len(head); i++ {
		switch c := head[i]; {
		case inString && c == '\\':
			escape = i
			i++
			if i < len(head) && head[i] == 'u' {
				i += 4
			}
			if i < len(head) {
				escape = 0
			}
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if !inString {
		return nil, false
	}
	if escape > 0 {
		head = head[:escape]
	}
	slices.Reverse(open)
	return slices.Concat(head, []byte{'"'}, open), true
}

// idFirst and idLast find the member id of an answer, of which only the beginning and the end are
// there: nothing before it is an object, and nothing after it closes one but the message itself.
var (
	idFirst = lazy.Regexp{Text: `^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*([0-9]+)\s*,`}
	idLast  = lazy.Regexp{Text: `,\s*"id"\s*:\s*([0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`}
)

func idIn(head, tail []byte) (id jsonrpc.ID, ok bool) {
	m := idFirst.Get().FindSubmatch(head[:min(len(head), maxTail)])
	if m == nil {
		m = idLast.Get().FindSubmatch(tail)
	}
	if m == nil {
		return id, false
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return id, false
	}
	id, err = jsonrpc.MakeID(n)
	return id, err == nil
}

// Write sends a message.
func (p *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			p.sent[m.ID] = true
			p.methods.sent(fmt.Sprint(m.ID.Raw()), m.Method)
		}
	case *jsonrpc.Response:
		p.asked--
	}
	p.mu.Unlock()
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err = p.in.Write(append(raw, '\n'))
	return err
}

// Close closes the standard input of the process, which tells it to end.
func (p *pipe) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	return p.in.Close()
}
