package wire

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

const (
	maxQueue = 128 << 20 // bytes waiting for a peer that does not read, beside one large answer
	slow     = 8 << 20   // bytes waiting for a peer that is said to be slow
	chunk    = 64 << 10  // bytes that are written at once, unless one frame is larger
	keepBuf  = 1 << 20   // a larger buffer is not kept for reuse
	maxSpare = 2         // buffers that are kept
)

// frames cuts a byte stream into the bodies of messages. next returns the next body, which belongs
// to the caller. One that was thrown away is an [*Error] to be sent to the peer, after which next
// may be called again; any other error ends the stream.
type frames interface{ next() ([]byte, error) }

// stream is the jsonrpc2.Stream of a connection: frames that survive bad input, and a writer that
// never blocks.
//
// ReadFrame shows the jsonrpc2 connection only envelopes; the message itself waits in current for
// the handler, which jsonrpc2 runs before it reads again.
type stream struct {
	rwc   io.ReadWriteCloser
	log   *slog.Logger
	ctx   context.Context // of the connection
	end   func(cause error)
	busy  func(jsonrpc2.ID) bool // whether a request of that id is in flight
	trace func(in bool, body []byte)
	quiet chan struct{} // closed by the connection when ReadFrame may report the end

	// of the reading goroutine
	in      frames
	lines   bool // what goes out is one JSON text a line
	parser  parser
	scratch []byte
	current message

	mu      sync.Mutex
	wake    sync.Cond // on mu: queue or closing has changed
	idle    sync.Cond // on mu: open has fallen to 0
	queue   []queued  // frames to be written, several to a chunk, from head on; empty once all is taken
	head    int
	spare   [][]byte // chunks to be used again
	waiting int      // bytes of the queue and of the chunk that is being written
	limit   int      // of what waits beside the oldest large answer
	larges  []int    // bytes that still wait of each large answer, the oldest first
	told    bool     // that the peer is slow
	encode  []byte
	answers map[string]answer // what belongs to answers beside what jsonrpc2 sends, by how an answer begins
	open    int               // requests shown to jsonrpc2 and not answered yet
	closing bool              // nothing more is queued
	flushed chan struct{}
}

var _ jsonrpc2.Stream = (*stream)(nil)

// ReadFrame returns the envelope of the next message, valid until the next call. What is no message
// is answered here and passed over. It reports the end only when quiet is closed, because jsonrpc2
// drops every answer after that.
func (s *stream) ReadFrame(context.Context) ([]byte, int64, error) {
	stretch()
	for {
		m, err := s.read()
		if err != nil {
			s.end(err)
			<-s.quiet
			return nil, 0, io.EOF
		}
		if m == nil {
			continue
		}
		if cap(s.scratch) > keepBuf {
			s.scratch = nil
		}
		s.current = *m
		s.scratch = m.frame(s.scratch[:0])
		return s.scratch, int64(len(s.scratch)), nil
	}
}

// stretch gives its goroutine room for a handler at once. jsonrpc2 reads on with a new goroutine
// after every request, which carries the next one out; to grow its stack in the middle of that
// takes a quarter of the time of a small request.
//
//go:noinline
func stretch() {
	var room [16 << 10]byte
	mark(room[:])
}

//go:noinline
func mark(room []byte) { room[0] = 1 }

// read returns the next message, nil for one that is not to be shown, or the error that ends the
// connection.
func (s *stream) read() (*message, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	body, err := s.in.next()
	if bad, ok := err.(*Error); ok {
		s.refuse(jsonrpc2.ID{}, bad)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.trace != nil {
		s.trace(true, body)
	}
	m, bad := s.parse(body)
	if bad != nil && mend(body) { // half a character
		mended, still := s.parse(body)
		if mended.response || bytes.Contains(body, []byte(`"textDocument/did`)) {
			m, bad = mended, still // neither a document nor the answer to a request of ours may be lost
		} else if still == nil {
			m.id = mended.id // so that the refusal reaches whoever waits for the answer
		}
	}
	switch {
	case bad != nil:
		s.refuse(m.id, bad)
		return nil, nil
	case m.response:
		if !m.id.IsValid() {
			s.log.Warn("response without an id dropped", "error", m.err)
			return nil, nil
		}
	case m.id.IsValid():
		if s.busy(m.id) { // under its own id the refusal would pass for the answer to the first
			s.refuse(jsonrpc2.ID{}, &Error{Code: CodeInvalidRequest, Message: "the id is that of a request in flight"})
			return nil, nil
		}
		s.mu.Lock()
		s.open++
		s.mu.Unlock()
	}
	return &m, nil
}

// parse is that of the parser. A fault of it is one message's.
func (s *stream) parse(body []byte) (m message, bad *Error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the parser panicked", "panic", p, "stack", string(debug.Stack()))
			m, bad = message{}, &Error{Code: CodeInternal, Message: "internal error; the log has the details"}
		}
	}()
	return s.parser.parse(body)
}

// take returns the message whose envelope ReadFrame has just returned.
func (s *stream) take() message {
	m := s.current
	s.current = message{} // a large document is not to be held until the next message
	return m
}

func (s *stream) refuse(id jsonrpc2.ID, e *Error) {
	s.log.Warn("message refused", "code", e.Code, "why", e.Message)
	_, _ = s.put(jsonrpc2.NewResponse(id, nil, e.send()), false)
}

// Read is the form of ReadFrame that jsonrpc2 demands and does not use.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	frame, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	msg, err := jsonrpc2.DecodeMessage(frame)
	return msg, n, err
}

// Write queues a message. It never blocks.
func (s *stream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	return s.put(msg, true)
}

// WriteFrame is how jsonrpc2 answers a batch, which never reaches it.
func (s *stream) WriteFrame(context.Context, []byte) (int64, error) {
	return 0, io.ErrClosedPipe
}

// queued is a chunk, or what is not to be changed: a piece of an answer.
type queued struct {
	b     []byte
	chunk bool
	large bool // a piece of a large answer
}

// answer is what belongs to the answer of a request beside what jsonrpc2 sends.
type answer struct {
	run   []func() // runs once the answer is queued
	large [][]byte // the result in the place of the one that jsonrpc2 has, so that its bytes are never copied
}

// accompany keeps what belongs to the answer of a request, and gives the result that jsonrpc2
// sends.
func (s *stream) accompany(id jsonrpc2.ID, run []func(), pieces [][]byte) (result jsonrpc2.RawMessage) {
	large := length(pieces) > keepBuf && s.trace == nil && !s.lines
	if !large {
		result = join(pieces)
	}
	if len(run) == 0 && !large {
		return result
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string]answer{}
	}
	begins, _, _ := bytes.Cut(jsonrpc2.AppendMessage(nil, jsonrpc2.NewResponse(id, jsonrpc2.RawMessage("0"), nil)), []byte(`"result":0`))
	a, twice := s.answers[string(begins)] // a peer may use an id again as soon as its request is through
	a.run = append(a.run, run...)
	switch {
	case large && twice:
		result = join(pieces)
	case large:
		a.large, result = pieces, jsonrpc2.RawMessage("0")
	}
	s.answers[string(begins)] = a
	return result
}

func join(pieces [][]byte) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return slices.Concat(pieces...)
}

func length(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// put queues msg; ours says that jsonrpc2 sends it, so that a response in it closes an open
// request.
func (s *stream) put(msg jsonrpc2.Message, ours bool) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.encode = jsonrpc2.AppendMessage(s.encode[:0], msg)
	if ours && bytes.HasPrefix(s.encode, []byte(`{"jsonrpc":"2.0","id":`)) { // a call has its id last
		if s.open--; s.open == 0 {
			s.idle.Broadcast()
		}
	}
	var large [][]byte // comes before the last byte of encode
	for begins, a := range s.answers {
		if ours && bytes.HasPrefix(s.encode, []byte(begins)) {
			delete(s.answers, begins)
			if a.large != nil && string(s.encode[len(begins):]) == `"result":0}` {
				large = a.large
				s.encode = append(append(s.encode[:0], begins...), `"result":}`...)
			}
			defer func() {
				for _, fn := range a.run {
					go fn()
				}
			}()
		}
	}
	if s.closing {
		return 0, io.ErrClosedPipe
	}
	unread := s.waiting
	if len(s.larges) > 0 { // it may be longer than the limit, and its peer may be reading it
		unread -= s.larges[0]
	}
	switch {
	case unread > s.limit:
		if s.ctx.Err() == nil {
			s.log.Error("the peer does not read: the connection is given up", "waiting", s.waiting)
			s.end(errNotReading)
		}
		return 0, errNotReading
	case unread > slow && !s.told:
		s.told = true
		s.log.Warn("the peer reads slowly or not at all", "waiting", s.waiting)
	}
	if s.trace != nil {
		s.trace(false, s.encode)
	}
	out := s.room(len(s.encode) + len(lengthName) + 24)
	n := -len(*out)
	if s.lines {
		*out = appendLine(*out, s.encode)
	} else {
		*out = append(*out, lengthName...)
		*out = append(*out, ": "...)
		*out = strconv.AppendInt(*out, int64(len(s.encode)+length(large)), 10)
		*out = append(*out, "\r\n\r\n"...)
		*out = append(*out, s.encode[:len(s.encode)-1]...)
		if large != nil {
			n += len(*out) + length(large)
			s.larges = append(s.larges, length(large))
			for _, p := range large {
				if len(p) > 0 {
					s.queue = append(s.queue, queued{b: p, large: true})
				}
			}
			out = s.room(1)
			n -= len(*out)
		}
		*out = append(*out, '}')
	}
	n += len(*out)
	s.waiting += n
	if cap(s.encode) > keepBuf {
		s.encode = nil
	}
	s.wake.Signal()
	return int64(n), nil
}

// room gives the chunk that n more bytes belong to. What waits is never copied to make room. s.mu
// is held.
func (s *stream) room(n int) *[]byte {
	if last := len(s.queue) - 1; last >= 0 && s.queue[last].chunk && len(s.queue[last].b)+n <= chunk {
		return &s.queue[last].b
	}
	var next []byte
	if last := len(s.spare) - 1; last >= 0 {
		next, s.spare = s.spare[last], s.spare[:last]
	}
	if cap(next) < n {
		next = make([]byte, 0, max(n, chunk/8))
	}
	s.queue = append(s.queue, queued{b: next, chunk: true})
	return &s.queue[len(s.queue)-1].b
}

// backlog is how many bytes the peer has not taken.
func (s *stream) backlog() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// write is the writer's goroutine: it sends what is queued, chunk by chunk, until the stream is
// closed.
func (s *stream) write() {
	defer close(s.flushed)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && !s.closing {
			s.wake.Wait()
		}
		if len(s.queue) == 0 {
			return
		}
		out := s.queue[s.head]
		s.queue[s.head] = queued{}
		if s.head++; s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		}
		s.mu.Unlock()
		_, err := s.rwc.Write(out.b)
		s.mu.Lock()
		if err != nil {
			s.end(err)
			return
		}
		if s.waiting -= len(out.b); s.waiting == 0 {
			s.told = false
		}
		if out.large {
			if s.larges[0] -= len(out.b); s.larges[0] == 0 {
				s.larges = s.larges[1:]
			}
		}
		if out.chunk && cap(out.b) <= keepBuf && len(s.spare) < maxSpare {
			s.spare = append(s.spare, out.b[:0])
		}
	}
}

// Close is called by jsonrpc2, under a lock and at a time of its own; the connection closes the
// transport itself.
func (s *stream) Close() error {
	s.end(ErrClosed)
	return nil
}
