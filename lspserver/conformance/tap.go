package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tap sits at the server's end of a connection: it keeps the messages as they pass and can ask the client something of
// its own, whose answer the server does not see. It knows nothing of what is at the other end.
type tap struct {
	rwc  io.ReadWriteCloser
	in   []byte // what came and is not yet a whole message
	rest []byte // what the server has still to read of whole ones

	mu      sync.Mutex // guards the fields below, and the order of what is written
	out     []byte     // what the server has written and is not yet a whole message
	log     []Wire
	asked   int
	waiting map[string]chan message
}

func newTap(rwc io.ReadWriteCloser) *tap { return &tap{rwc: rwc, waiting: map[string]chan message{}} }

func (t *tap) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		if size, body := whole(t.in); size > 0 {
			if !t.taken(body) {
				t.rest = t.in[:size]
			}
			t.in = t.in[size:]
			continue
		}
		chunk := make([]byte, 4096)
		n, err := t.rwc.Read(chunk)
		if t.in = append(t.in, chunk[:n]...); err != nil {
			t.hungUp()
			return 0, err
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// taken notes a message of the client and says that it is an answer to the tap.
func (t *tap) taken(body []byte) bool {
	var m message
	_ = json.Unmarshal(body, &m) // what is no message is the server's to judge
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, Wire{At: time.Now(), ToServer: true, Raw: slices.Clone(body)})
	answer, ok := t.waiting[string(m.ID)]
	if ok = ok && m.Method == ""; ok {
		delete(t.waiting, string(m.ID))
		answer <- m
	}
	return ok
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = append(t.out, p...)
	for {
		size, body := whole(t.out)
		if size == 0 {
			return len(p), nil
		}
		t.log = append(t.log, Wire{At: time.Now(), Raw: slices.Clone(body)})
		if _, err := t.rwc.Write(t.out[:size]); err != nil {
			return 0, err
		}
		t.out = t.out[size:]
	}
}

func (t *tap) Close() error { return t.rwc.Close() }

func (t *tap) hungUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, answer := range t.waiting {
		answer <- message{Error: &RPCError{Message: errHungUp.Error()}}
	}
	clear(t.waiting)
}

// ask sends a request between two messages of the server and gives the function that waits for its answer.
func (t *tap) ask(method string, params any) func(ctx context.Context) (json.RawMessage, error) {
	answer := make(chan message, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	id := encode(fmt.Sprintf("probe-%d", t.asked))
	body := encode(message{JSONRPC: "2.0", ID: id, Method: method, Params: encode(params)})
	t.waiting[string(id)] = answer
	t.log = append(t.log, Wire{At: time.Now(), Raw: body})
	_, failed := fmt.Fprintf(t.rwc, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return func(ctx context.Context) (json.RawMessage, error) {
		if failed != nil {
			return nil, failed
		}
		select {
		case m := <-answer:
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: no answer: %w", method, ctx.Err())
		}
	}
}

// messages are all so far, in the order in which they passed; none of a nil tap.
func (t *tap) messages() []Wire {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.log)
}

// whole gives the size of the first message of b with its header, 0 where it has not ended, and its body. Bytes that
// are no message are handed on as one, for the other side to judge.
func whole(b []byte) (size int, body []byte) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, nil
	}
	for line := range strings.SplitSeq(string(b[:end]), "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 {
				return len(b), b
			}
			if size = end + 4 + n; size > len(b) {
				return 0, nil
			}
			return size, b[end+4 : size]
		}
	}
	return len(b), b
}
