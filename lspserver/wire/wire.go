// Package wire is the JSON-RPC connection of a face: go.lsp.dev/jsonrpc2 with a stream, a codec and
// a handler chain of our own. It speaks LSP, or with Options.ACP the Agent Client Protocol, which
// differs in how messages are told apart, in the lifecycle and in how a request is cancelled.
//
//	bytes → frames → parser → stream → jsonrpc2.Conn → Conn.serve → Router → handler
//	                          ↘ refused: answered here                      ↓ error mapping
//	bytes ← writer goroutine ← queue ←──────────────── jsonrpc2.Conn ←
//
// Error recovery: a damaged message is answered or logged and skipped; of what a peer sends, only
// the end of its bytes and exit end the connection. Notifications are handled in the order of
// arrival on the reading goroutine, each request on a goroutine of its own, and writing never
// blocks a handler.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

const (
	defaultMax = 64 << 20

	// Admission control: requests over these limits are refused, so that a peer cannot fill the
	// memory.
	maxInflight      = 1024
	maxInflightBytes = 256 << 20

	// Shutdown timeouts: handlers have drainTimeout to return and answer, then the peer has
	// flushTimeout to read the queue.
	drainTimeout = 800 * time.Millisecond
	flushTimeout = 300 * time.Millisecond
)

var (
	errExit           = errors.New("exit")
	errPeerNotReading = errors.New("the peer does not read what it is sent")
)

// Options of a connection. The zero value is useful.
type Options struct {
	Log        *slog.Logger // nil for none; parameters and results are never logged
	MaxMessage int          // bytes of one message; 0 means 64 MiB

	// Dropped is called on the reading goroutine for a notification whose parameters cannot be
	// decoded. May be nil.
	Dropped func(method string, params []byte)

	// Trace is called for every message, for an incoming one with its bytes as sent. It must
	// neither use the connection nor keep body. May be nil.
	Trace func(in bool, body []byte)

	// Handled is called after the handler of every request and notification, with its error (for a
	// request an [*Error]). May be nil.
	Handled func(method string, took time.Duration, err error)

	// Code maps an error of a handler to one that wraps an [*Error], and returns others unchanged.
	// May be nil.
	Code func(err error) error

	// Client is set on the editor's end of a connection, which serves requests without the
	// lifecycle of a server.
	Client bool

	// ACP is set for the Agent Client Protocol: one JSON text a line in the place of LSP's frames,
	// initialize as the first request, no shutdown and no exit (the end of the bytes is the end),
	// and $/cancel_request {requestId}.
	ACP bool
}

// Conn is one connection. Its methods may be called concurrently.
type Conn struct {
	rpc       jsonrpc2.Conn
	stream    *stream
	router    *Router
	log       *slog.Logger
	client    bool
	acp       bool
	dropped   func(method string, params []byte)
	handled   func(method string, took time.Duration, err error)
	mapError  func(err error) error
	ctx       context.Context
	cancel    context.CancelCauseFunc
	inlineCtx context.Context // of handlers that run on the reading goroutine
	done      chan struct{}

	mu            sync.Mutex
	phase         phase
	inflight      map[jsonrpc2.ID]context.CancelCauseFunc
	paramBytes    int // bytes of parameters of those in flight
	maxParamBytes int
}

type phase int

const (
	created  phase = iota // waiting for initialize
	running               // initialized
	shutting              // shutdown has come
)

type (
	connKey   struct{}
	inlineKey struct{}
	afterKey  struct{}
)

// Serve starts a connection on rwc, takes ownership of it and returns at once. The connection ends
// at the end of the bytes, a failed write, exit, the end of ctx or Close, whichever is first; the
// contexts of its handlers end with it.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, r *Router, o Options) *Conn {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = defaultMax
	}
	c := &Conn{
		router:        r,
		log:           o.Log,
		client:        o.Client,
		acp:           o.ACP,
		dropped:       o.Dropped,
		maxParamBytes: maxInflightBytes,
		handled:       o.Handled,
		mapError:      o.Code,
		done:          make(chan struct{}),
		inflight:      map[jsonrpc2.ID]context.CancelCauseFunc{},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, connKey{}, c))
	c.inlineCtx = context.WithValue(c.ctx, inlineKey{}, c)
	var in frames = newFrameReader(rwc, o.MaxMessage, o.Log)
	if o.ACP {
		in = newLineReader(rwc, o.MaxMessage)
	}
	s := &stream{
		rwc:        rwc,
		log:        o.Log,
		ctx:        c.ctx,
		closeWith:  c.cancel,
		isInFlight: c.isInFlight,
		trace:      o.Trace,
		drained:    make(chan struct{}),
		source:     in,
		lineFrames: o.ACP,
		maxPending: maxPendingBytes,
		flushed:    make(chan struct{}),
	}
	s.queueChanged.L, s.allAnswered.L = &s.mu, &s.mu
	c.stream = s
	c.rpc = jsonrpc2.NewConn(s, jsonrpc2.WithCodec(codec{}))
	go s.write()
	go c.finish()
	c.rpc.Go(c.ctx, c.serve)
	return c
}

// From returns the connection that a handler's context came from, nil for any other context.
func From(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// After runs fn in a goroutine of its own once the answer to ctx's request is queued, so that the
// notifications of fn follow that answer. It is not run if the request fails.
func After(ctx context.Context, fn func()) {
	if after, ok := ctx.Value(afterKey{}).(*[]func()); ok {
		*after = append(*after, fn)
	}
}

// Context ends with the connection. Its cause says why.
func (c *Conn) Context() context.Context { return c.ctx }

// Done is closed when the connection has ended, its handlers have returned (or had their time) and
// rwc is closed.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Wait waits for Done and returns the exit code: 0 if shutdown had come, as LSP asks for, or with
// ACP if the bytes have ended, else 1.
func (c *Conn) Wait() int {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == shutting || c.acp && context.Cause(c.ctx) == io.EOF {
		return 0
	}
	return 1
}

// Close ends the connection and waits for Done. A handler must not call it.
func (c *Conn) Close() {
	c.cancel(ErrClosed)
	<-c.done
}

// Call sends a request and decodes the answer into result (nil discards it). If ctx ends first, it
// cancels the request at the peer and returns ctx.Err(). An error of the peer is an [*Error], the
// end of the connection ErrClosed. On the reading goroutine a call would wait for an answer that
// nobody reads, so it fails at once there: in the handlers of notifications and of initialize, and
// in the first part of HandleInOrder.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if ctx.Value(inlineKey{}) == c {
		return fmt.Errorf("wire: call of %s would wait for itself", method)
	}
	raw, err := encode(params)
	if err != nil {
		return err
	}
	both, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()
	id, err := c.rpc.Call(both, method, raw, result)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		n, _ := id.Number()
		cancel, member := c.cancelling()
		_ = c.rpc.Notify(ctx, cancel, map[string]int64{member: n}) // fails only with the connection
		return ctx.Err()
	}
	return fromRPC(err)
}

// cancelling is the notification that cancels a request, and the member of its parameters that has
// the id.
func (c *Conn) cancelling() (method, member string) {
	if c.acp {
		return "$/cancel_request", "requestId"
	}
	return "$/cancelRequest", "id"
}

// Notify sends a notification without waiting. Messages arrive in the order of the calls.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	if err := c.rpc.Notify(ctx, method, raw); err != nil {
		return ErrClosed
	}
	return nil
}

// Backlog is the number of bytes that the peer has not read yet. While it is large, callers should
// merge their updates.
func (c *Conn) Backlog() int { return c.stream.backlog() }

// finish drains and flushes a connection that has ended, then closes the transport.
func (c *Conn) finish() {
	defer close(c.done)
	<-c.ctx.Done()
	c.log.Info("connection ends", "cause", context.Cause(c.ctx))
	s := c.stream

	late := time.AfterFunc(drainTimeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.unanswered > 0 {
			c.log.Warn("handlers have not returned", "requests", s.unanswered)
		}
		s.unanswered = -1 << 30 // later answers are not counted: waiting is over
		s.allAnswered.Broadcast()
	})
	s.mu.Lock()
	for s.unanswered > 0 {
		s.allAnswered.Wait()
	}
	s.closing = true
	s.queueChanged.Signal()
	s.mu.Unlock()
	late.Stop()
	close(s.drained)

	select {
	case <-s.flushed:
	case <-time.After(flushTimeout):
		c.log.Warn("peer has not read the last answers")
	}
	if err := s.rwc.Close(); err != nil {
		c.log.Debug("close", "error", err)
	}
}

// serve is the jsonrpc2 handler. It runs on the reading goroutine until it calls Async.
func (c *Conn) serve(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	m := c.stream.takeCurrent()
	if !req.IsCall() {
		c.handleNotification(m)
		return nil, nil // an error here would end the connection
	}
	handler, err := c.findHandler(m)
	if err != nil {
		return nil, err.toRPC()
	}
	began := time.Now()
	parent := c.ctx // never the pooled ctx, which is handed to another request afterwards
	initialize := m.method == "initialize" && !c.client
	if initialize {
		parent = c.inlineCtx
	}
	if m.method == "shutdown" && !c.acp {
		parent = context.WithoutCancel(c.ctx) // exit follows closely and must not cut it short
	}
	var after []func()
	rctx, cancel := context.WithCancelCause(context.WithValue(parent, afterKey{}, &after))
	c.mu.Lock()
	c.inflight[m.id] = cancel
	c.paramBytes += len(m.params)
	c.mu.Unlock()
	var failure error
	defer func() {
		c.mu.Lock()
		delete(c.inflight, m.id)
		c.paramBytes -= len(m.params)
		c.mu.Unlock()
		cancel(nil)
		c.notifyHandled(m.method, began, failure)
	}()
	var rest func(context.Context) (any, error)
	_, failure = c.run(rctx, m, func(ctx context.Context) (_ any, err error) {
		if c.router.before != nil {
			c.router.before()
		}
		rest, err = handler(context.WithValue(ctx, inlineKey{}, c), m.params)
		return nil, err
	})
	if failure != nil {
		return nil, failure
	}
	if !initialize {
		jsonrpc2.Async(ctx)
	}
	var result [][]byte
	result, failure = c.run(rctx, m, rest)
	if failure != nil {
		return nil, failure
	}
	if initialize {
		c.mu.Lock()
		c.phase = running
		c.mu.Unlock()
	}
	return c.stream.attachToAnswer(m.id, after, result), nil
}

// notifyHandled says that a message was dealt with.
func (c *Conn) notifyHandled(method string, began time.Time, err error) {
	if c.handled == nil {
		return
	}
	if err != nil {
		err = fromRPC(err)
	}
	c.handled(method, time.Since(began), err)
}

// findHandler returns the handler of a request, or refuses it: by the lifecycle of LSP, or by the
// limits on concurrent requests.
func (c *Conn) findHandler(m message) (handler, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	method := m.method
	handler, known := c.router.requests[method]
	if !c.client {
		switch {
		case c.phase == shutting:
			return nil, &Error{Code: CodeInvalidRequest, Message: "the server is shutting down"}
		case c.phase == created && method != "initialize" && c.acp: // there the code is that of what is not found
			return nil, &Error{Code: CodeInvalidRequest, Message: "the agent waits for initialize"}
		case c.phase == created && method != "initialize":
			return nil, &Error{Code: CodeNotInitialized, Message: "the server waits for initialize"}
		case c.phase == running && method == "initialize":
			return nil, &Error{Code: CodeInvalidRequest, Message: "the server is initialized already"}
		case method == "shutdown" && !c.acp:
			c.phase = shutting
			if !known {
				nothing := func(context.Context) (any, error) { return nil, nil }
				return func(context.Context, []byte) (func(context.Context) (any, error), error) { return nothing, nil }, nil
			}
		}
	}
	if !known {
		return nil, &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.100q", method)}
	}
	full := len(c.inflight) >= maxInflight || c.paramBytes > 0 && c.paramBytes+len(m.params) > c.maxParamBytes
	if full && method != c.router.priorityMethod && method != "shutdown" {
		return nil, &Error{
			Code: CodeRequestFailed, Name: "overloaded",
			Message: fmt.Sprintf("%d requests are under way; wait for answers, or cancel some.", len(c.inflight)),
		}
	}
	return handler, nil
}

// run calls a handler and encodes its result. A panic is an error of this one request.
func (c *Conn) run(
	ctx context.Context, m message, handler func(context.Context) (any, error),
) (pieces [][]byte, failure error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "method", m.method, "panic", p, "stack", string(debug.Stack()))
			failure = (&Error{Code: CodeInternal, Message: "internal error; the log has the details"}).toRPC()
		}
	}()
	result, err := handler(ctx)
	if p, ok := result.(pieceMarshaler); ok && err == nil {
		pieces, err = p.JSONPieces()
	} else if err == nil {
		var raw jsonrpc2.RawMessage
		raw, err = encode(result)
		pieces = [][]byte{raw}
	}
	if err != nil {
		return nil, c.toRPCError(err, context.Cause(ctx))
	}
	return pieces, nil
}

// handleNotification handles a notification on the reading goroutine.
func (c *Conn) handleNotification(m message) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("handler panicked", "method", m.method, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.mu.Lock()
	ready := c.phase == running || c.client
	c.mu.Unlock()
	handler := c.router.notifications[m.method]
	cancel, member := c.cancelling()
	switch {
	case m.method == cancel:
		c.cancelRequest(m.params, member)
	case m.method == "exit" && !c.client && !c.acp:
		c.cancel(errExit)
	case !ready:
		c.log.Debug("notification outside the session dropped", "method", m.method)
	case handler == nil:
		c.log.Debug("unknown notification ignored", "method", m.method)
	default:
		began := time.Now()
		err := handler(c.inlineCtx, m.params)
		c.notifyHandled(m.method, began, err)
		if err != nil {
			c.log.Warn("notification with wrong parameters dropped", "method", m.method, "error", err)
			if c.dropped != nil {
				c.dropped(m.method, m.params)
			}
		}
	}
}

// cancelRequest ends the context of a request in flight. The id is read by hand: the LSP type of it
// holds 32 bits.
func (c *Conn) cancelRequest(params []byte, member string) {
	var p map[string]jsontext.Value
	id, ok := jsonrpc2.ID{}, false
	if err := (codec{}).Unmarshal(params, &p); err == nil {
		id, ok = parseID(p[member])
	}
	if !ok {
		c.log.Debug("a cancellation without a usable id ignored")
		return
	}
	c.mu.Lock()
	cancel := c.inflight[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errCancelledByPeer)
	}
}

func (c *Conn) isInFlight(id jsonrpc2.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.inflight[id]
	return ok
}

// encode marshals parameters or a result. It runs before jsonrpc2 has them, so that a panic of a
// type's method is caught.
func encode(v any) (jsonrpc2.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := codec{}.Marshal(v)
	return raw, err
}

// Join combines a reader and a writer into one transport, such as stdin and stdout.
func Join(r io.ReadCloser, w io.WriteCloser) io.ReadWriteCloser { return duplex{r, w} }

type duplex struct {
	io.ReadCloser
	w io.WriteCloser
}

func (j duplex) Write(b []byte) (int, error) { return j.w.Write(b) }
func (j duplex) Close() error                { return errors.Join(j.w.Close(), j.ReadCloser.Close()) }
