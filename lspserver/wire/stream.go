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
	maxPendingBytes = 128 << 20 // limit of unread bytes, one large answer not counted; beyond it the connection ends
	slowPeerBytes   = 8 << 20   // unread bytes from which on a slow peer is logged
	chunkBytes      = 64 << 10  // size of a write, unless one frame is larger
	maxPooledBytes  = 1 << 20   // larger buffers are not pooled
	maxFreeChunks   = 2         // pooled buffers
)

// frames splits a byte stream into the bodies of messages. next returns the next body, which the
// caller owns. A discarded body is an [*Error] to send to the peer, after which next may be called
// again; any other error ends the stream.
type frames interface{ next() ([]byte, error) }

// stream is the jsonrpc2.Stream of a connection: frames that survive bad input, and a writer that
// never blocks.
//
// ReadFrame shows the jsonrpc2 connection only envelopes; the message itself waits in current for
// the handler, which jsonrpc2 runs before it reads again.
type stream struct {
	rwc        io.ReadWriteCloser
	log        *slog.Logger
	ctx        context.Context // of the connection
	closeWith  func(cause error)
	isInFlight func(jsonrpc2.ID) bool // whether a request of that id is in flight
	trace      func(in bool, body []byte)
	drained    chan struct{} // closed by the connection once ReadFrame may report the end

	// of the reading goroutine
	source     frames
	lineFrames bool // what goes out is one JSON text a line
	parser     parser
	envelope   []byte
	current    message

	mu             sync.Mutex
	queueChanged   sync.Cond  // on mu: queue or closing has changed
	allAnswered    sync.Cond  // on mu: unanswered has fallen to 0
	queue          []outgoing // frames to be written, several to a chunk, from head on; empty once all is taken
	head           int
	freeChunks     [][]byte // pool of chunks
	pendingBytes   int      // bytes of the queue and of the chunk that is being written
	maxPending     int      // limit of pendingBytes, the oldest large answer not counted
	largeRemaining []int    // unwritten bytes of each large answer, the oldest first
	warnedSlow     bool     // that the peer is slow
	encode         []byte
	extras         map[string]answerExtras // by the first bytes of an answer
	unanswered     int                     // requests shown to jsonrpc2 and not answered yet
	closing        bool                    // nothing more is queued
	flushed        chan struct{}
}

var _ jsonrpc2.Stream = (*stream)(nil)

// ReadFrame returns the envelope of the next message, valid until the next call. Bytes that are no
// message are answered here and skipped. It reports the end only after drained is closed, because
// jsonrpc2 drops every answer after that.
func (s *stream) ReadFrame(context.Context) ([]byte, int64, error) {
	growStack()
	for {
		m, err := s.read()
		if err != nil {
			s.closeWith(err)
			<-s.drained
			return nil, 0, io.EOF
		}
		if m == nil {
			continue
		}
		if cap(s.envelope) > maxPooledBytes {
			s.envelope = nil
		}
		s.current = *m
		s.envelope = m.frame(s.envelope[:0])
		return s.envelope, int64(len(s.envelope)), nil
	}
}

// growStack grows the stack of its goroutine once, to the size that a handler needs. jsonrpc2
// starts a new reading goroutine after every request, and growing its stack in steps takes a
// quarter of the time of a small request.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	touch(room[:])
}

//go:noinline
func touch(room []byte) { room[0] = 1 }

// read returns the next message, nil for one that was answered or dropped here, or the error that
// ends the connection.
func (s *stream) read() (*message, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	body, err := s.source.next()
	if refusal, ok := err.(*Error); ok {
		s.refuse(jsonrpc2.ID{}, refusal)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.trace != nil {
		s.trace(true, body)
	}
	m, refusal := s.parse(body)
	if refusal != nil && replaceLoneSurrogates(body) { // half a character
		mended, still := s.parse(body)
		if mended.response || bytes.Contains(body, []byte(`"textDocument/did`)) {
			m, refusal = mended, still // neither a document nor the answer to a request of ours may be lost
		} else if still == nil {
			m.id = mended.id // so that the refusal reaches whoever waits for the answer
		}
	}
	switch {
	case refusal != nil:
		s.refuse(m.id, refusal)
		return nil, nil
	case m.response:
		if !m.id.IsValid() {
			s.log.Warn("response without an id dropped", "error", m.err)
			return nil, nil
		}
	case m.id.IsValid():
		if s.isInFlight(m.id) { // under its own id the refusal would pass for the answer to the first
			s.refuse(jsonrpc2.ID{}, &Error{Code: CodeInvalidRequest, Message: "the id is that of a request in flight"})
			return nil, nil
		}
		s.mu.Lock()
		s.unanswered++
		s.mu.Unlock()
	}
	return &m, nil
}

// parse recovers from a panic of the parser, which then costs only this message.
func (s *stream) parse(body []byte) (m message, refusal *Error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the parser panicked", "panic", p, "stack", string(debug.Stack()))
			m, refusal = message{}, &Error{Code: CodeInternal, Message: "internal error; the log has the details"}
		}
	}()
	return s.parser.parse(body)
}

// takeCurrent returns the message whose envelope ReadFrame has just returned.
func (s *stream) takeCurrent() message {
	m := s.current
	s.current = message{} // releases a large document before the next message arrives
	return m
}

func (s *stream) refuse(id jsonrpc2.ID, e *Error) {
	s.log.Warn("message refused", "code", e.Code, "why", e.Message)
	_, _ = s.enqueue(jsonrpc2.NewResponse(id, nil, e.toRPC()), false)
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
	return s.enqueue(msg, true)
}

// WriteFrame is how jsonrpc2 answers a batch, which never reaches it.
func (s *stream) WriteFrame(context.Context, []byte) (int64, error) {
	return 0, io.ErrClosedPipe
}

// outgoing is a chunk, or an immutable piece of an answer.
type outgoing struct {
	b     []byte
	chunk bool
	large bool // a piece of a large answer
}

// answerExtras belong to the answer of a request, beside the bytes that jsonrpc2 sends.
type answerExtras struct {
	afterQueued []func() // runs once the answer is queued
	largeResult [][]byte // replaces the result that jsonrpc2 has, so that its bytes are never copied
}

// attachToAnswer stores the extras of a request's answer and returns the result that jsonrpc2 is to
// send.
func (s *stream) attachToAnswer(id jsonrpc2.ID, run []func(), pieces [][]byte) (result jsonrpc2.RawMessage) {
	large := totalBytes(pieces) > maxPooledBytes && s.trace == nil && !s.lineFrames
	if !large {
		result = join(pieces)
	}
	if len(run) == 0 && !large {
		return result
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.extras == nil {
		s.extras = map[string]answerExtras{}
	}
	begins, _, _ := bytes.Cut(jsonrpc2.AppendMessage(nil, jsonrpc2.NewResponse(id, jsonrpc2.RawMessage("0"), nil)), []byte(`"result":0`))
	a, twice := s.extras[string(begins)] // a peer may reuse an id once its request is answered
	a.afterQueued = append(a.afterQueued, run...)
	switch {
	case large && twice:
		result = join(pieces)
	case large:
		a.largeResult, result = pieces, jsonrpc2.RawMessage("0")
	}
	s.extras[string(begins)] = a
	return result
}

func join(pieces [][]byte) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return slices.Concat(pieces...)
}

func totalBytes(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// enqueue queues msg. ours is true if jsonrpc2 sends it: a response then answers an open request.
func (s *stream) enqueue(msg jsonrpc2.Message, ours bool) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.encode = jsonrpc2.AppendMessage(s.encode[:0], msg)
	if ours && bytes.HasPrefix(s.encode, []byte(`{"jsonrpc":"2.0","id":`)) { // a call has its id last
		if s.unanswered--; s.unanswered == 0 {
			s.allAnswered.Broadcast()
		}
	}
	var large [][]byte // comes before the last byte of encode
	for begins, a := range s.extras {
		if ours && bytes.HasPrefix(s.encode, []byte(begins)) {
			delete(s.extras, begins)
			if a.largeResult != nil && string(s.encode[len(begins):]) == `"result":0}` {
				large = a.largeResult
				s.encode = append(append(s.encode[:0], begins...), `"result":}`...)
			}
			defer func() {
				for _, fn := range a.afterQueued {
					go fn()
				}
			}()
		}
	}
	if s.closing {
		return 0, io.ErrClosedPipe
	}
	unread := s.pendingBytes
	if len(s.largeRemaining) > 0 { // it may exceed the limit while the peer reads it
		unread -= s.largeRemaining[0]
	}
	switch {
	case unread > s.maxPending:
		if s.ctx.Err() == nil {
			s.log.Error("the peer does not read: the connection is given up", "waiting", s.pendingBytes)
			s.closeWith(errPeerNotReading)
		}
		return 0, errPeerNotReading
	case unread > slowPeerBytes && !s.warnedSlow:
		s.warnedSlow = true
		s.log.Warn("the peer reads slowly or not at all", "waiting", s.pendingBytes)
	}
	if s.trace != nil {
		s.trace(false, s.encode)
	}
	out := s.reserve(len(s.encode) + len(lengthName) + 24)
	n := -len(*out)
	if s.lineFrames {
		*out = appendLine(*out, s.encode)
	} else {
		*out = append(*out, lengthName...)
		*out = append(*out, ": "...)
		*out = strconv.AppendInt(*out, int64(len(s.encode)+totalBytes(large)), 10)
		*out = append(*out, "\r\n\r\n"...)
		*out = append(*out, s.encode[:len(s.encode)-1]...)
		if large != nil {
			n += len(*out) + totalBytes(large)
			s.largeRemaining = append(s.largeRemaining, totalBytes(large))
			for _, p := range large {
				if len(p) > 0 {
					s.queue = append(s.queue, outgoing{b: p, large: true})
				}
			}
			out = s.reserve(1)
			n -= len(*out)
		}
		*out = append(*out, '}')
	}
	n += len(*out)
	s.pendingBytes += n
	if cap(s.encode) > maxPooledBytes {
		s.encode = nil
	}
	s.queueChanged.Signal()
	return int64(n), nil
}

// reserve returns the chunk for n more bytes: the last one if it has room, else a new one, so that
// queued bytes are never copied. s.mu is held.
func (s *stream) reserve(n int) *[]byte {
	if last := len(s.queue) - 1; last >= 0 && s.queue[last].chunk && len(s.queue[last].b)+n <= chunkBytes {
		return &s.queue[last].b
	}
	var next []byte
	if last := len(s.freeChunks) - 1; last >= 0 {
		next, s.freeChunks = s.freeChunks[last], s.freeChunks[:last]
	}
	if cap(next) < n {
		next = make([]byte, 0, max(n, chunkBytes/8))
	}
	s.queue = append(s.queue, outgoing{b: next, chunk: true})
	return &s.queue[len(s.queue)-1].b
}

// backlog is the number of bytes that the peer has not read.
func (s *stream) backlog() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pendingBytes
}

// write is the writer goroutine: it sends the queue chunk by chunk until the stream is closed.
func (s *stream) write() {
	defer close(s.flushed)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && !s.closing {
			s.queueChanged.Wait()
		}
		if len(s.queue) == 0 {
			return
		}
		out := s.queue[s.head]
		s.queue[s.head] = outgoing{}
		if s.head++; s.head == len(s.queue) {
			s.queue, s.head = s.queue[:0], 0
		}
		s.mu.Unlock()
		_, err := s.rwc.Write(out.b)
		s.mu.Lock()
		if err != nil {
			s.closeWith(err)
			return
		}
		if s.pendingBytes -= len(out.b); s.pendingBytes == 0 {
			s.warnedSlow = false
		}
		if out.large {
			if s.largeRemaining[0] -= len(out.b); s.largeRemaining[0] == 0 {
				s.largeRemaining = s.largeRemaining[1:]
			}
		}
		if out.chunk && cap(out.b) <= maxPooledBytes && len(s.freeChunks) < maxFreeChunks {
			s.freeChunks = append(s.freeChunks, out.b[:0])
		}
	}
}

// Close is called by jsonrpc2, under a lock and at a time of its own; the connection closes the
// transport itself.
func (s *stream) Close() error {
	s.closeWith(ErrClosed)
	return nil
}
