package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Wire is one message as it passed the client's end of the connection.
type Wire struct {
	At       time.Time
	ToServer bool
	Raw      json.RawMessage
}

// RPCError is the error member of an answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// message is any JSON-RPC message. A nil ID means a notification, an empty Method an answer.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

var errHungUp = errors.New("the connection has ended")

// conn is a JSON-RPC client of its own: it shares no code with the server that it tests. Messages go out in the order
// of send, which never blocks; handle gets every request and notification in the order of arrival and must not block
// for long.
type conn struct {
	rwc    io.ReadWriteCloser
	handle func(m message)

	mu      sync.Mutex
	more    *sync.Cond // guards the fields below
	out     [][]byte
	last    int64
	waiting map[string]chan message
	wire    []Wire
	junk    []string
	closed  bool

	writing, reading sync.WaitGroup
}

func newConn(rwc io.ReadWriteCloser, handle func(message)) *conn {
	c := &conn{rwc: rwc, handle: handle, waiting: map[string]chan message{}}
	c.more = sync.NewCond(&c.mu)
	return c
}

// start begins to read and write. The caller must have finished setting up what handle uses.
func (c *conn) start() {
	c.writing.Go(c.write)
	c.reading.Go(c.read)
}

func (c *conn) write() {
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.closed {
			c.more.Wait()
		}
		batch := c.out
		c.out = nil
		c.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, b := range batch {
			if _, err := c.rwc.Write(b); err != nil {
				return
			}
		}
	}
}

func (c *conn) read() {
	defer c.hangUp()
	r := bufio.NewReader(c.rwc)
	for {
		body, err := c.frame(r)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			c.note("no JSON: " + string(body[:min(len(body), 80)]))
			continue
		}
		c.mu.Lock()
		c.wire = append(c.wire, Wire{At: time.Now(), Raw: body})
		var answer chan message
		if m.Method == "" {
			answer = c.waiting[string(m.ID)]
			delete(c.waiting, string(m.ID))
		}
		c.mu.Unlock()
		switch {
		case m.Method != "":
			c.handle(m)
		case answer != nil:
			answer <- m
		default:
			c.note("an answer to nothing: " + string(body[:min(len(body), 80)]))
		}
	}
}

// frame reads one body. Anything that is no frame is noted, since nothing else may come from a server.
func (c *conn) frame(r *bufio.Reader) ([]byte, error) {
	for {
		length := -1
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				if line != "" {
					c.note("cut off: " + line)
				}
				return nil, err
			}
			if line = strings.TrimRight(line, "\r\n"); line == "" {
				break
			}
			name, value, _ := strings.Cut(line, ":")
			switch strings.ToLower(name) {
			case "content-length":
				if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
					c.note(line)
				}
			case "content-type":
			default:
				c.note(line)
			}
		}
		if length < 0 {
			c.note("a header without a length")
			continue
		}
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, err
	}
}

func (c *conn) note(junk string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.junk = append(c.junk, junk)
}

func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, answer := range c.waiting {
		answer <- message{Error: &RPCError{Message: errHungUp.Error()}}
	}
	clear(c.waiting)
	c.more.Broadcast()
}

// raw puts bytes on the wire as they are.
func (c *conn) raw(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, b)
	c.more.Signal()
}

func (c *conn) send(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(m)
}

func (c *conn) put(m message) {
	m.JSONRPC = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // every message is made of values that marshal
	}
	c.wire = append(c.wire, Wire{At: time.Now(), ToServer: true, Raw: body})
	c.out = append(c.out, fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body))
	c.more.Signal()
}

func (c *conn) notify(method string, params any) {
	c.send(message{Method: method, Params: encode(params)})
}

func (c *conn) reply(id json.RawMessage, result any) { c.send(message{ID: id, Result: encode(result)}) }

func (c *conn) fail(id json.RawMessage, code int, text string) {
	c.send(message{ID: id, Error: &RPCError{Code: code, Message: text}})
}

// begin sends a request and gives the function that waits for its answer; when ctx ends first, it cancels.
func (c *conn) begin(method string, params any) func(ctx context.Context) (json.RawMessage, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	if c.closed {
		answer <- message{Error: &RPCError{Message: errHungUp.Error()}}
	} else {
		c.waiting[strconv.FormatInt(id, 10)] = answer
		c.put(message{ID: encode(id), Method: method, Params: encode(params)})
	}
	c.mu.Unlock()
	return func(ctx context.Context) (json.RawMessage, error) {
		select {
		case m := <-answer:
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		case <-ctx.Done():
			c.notify("$/cancelRequest", map[string]any{"id": id})
			return nil, fmt.Errorf("%s: no answer: %w", method, ctx.Err())
		}
	}
}

// finish ends the connection once everything that was sent before has been written.
func (c *conn) finish() {
	c.mu.Lock()
	c.closed = true
	c.more.Broadcast()
	c.mu.Unlock()
	c.writing.Wait()
	_ = c.rwc.Close() // the other side may have closed it already
	c.reading.Wait()
}

func encode(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
