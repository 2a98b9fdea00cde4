package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Router maps methods to handlers. It is filled before the first connection and read-only
// afterwards, so connections may share it.
type Router struct {
	requests       map[string]handler
	notifications  map[string]func(context.Context, []byte) error
	priorityMethod string
	before         func()
}

// handler is the part of a request's handler that runs in the order of arrival. It returns the part
// that runs concurrently with other requests.
type handler func(ctx context.Context, raw []byte) (rest func(context.Context) (any, error), err error)

// NewRouter returns a router that serves nothing.
func NewRouter() *Router {
	return &Router{
		requests:      map[string]handler{},
		notifications: map[string]func(context.Context, []byte) error{},
	}
}

// Prioritize exempts the requests of one method from the limit on concurrent requests, so that a
// peer can ask for the state of an overloaded server.
func (r *Router) Prioritize(method string) { r.priorityMethod = method }

// BeforeRequests has fn run before each request, in the order of arrival.
func (r *Router) BeforeRequests(fn func()) { r.before = fn }

// Handle registers fn for the requests of a method. Each runs in a goroutine of its own, after the
// handlers of all earlier notifications have returned. Parameters that do not fit P get an error
// response without fn; absent ones are the zero P. "initialize" runs alone and must neither block
// nor call the client. The context ends with the request's cancellation and with the connection. It
// panics if the method is taken.
func Handle[P, R any](r *Router, method string, fn func(context.Context, P) (R, error)) {
	r.reserve(method)
	decode := decoder[P]()
	r.requests[method] = func(_ context.Context, raw []byte) (func(context.Context) (any, error), error) {
		return func(ctx context.Context) (any, error) {
			p, err := decode(raw)
			if err != nil {
				return nil, badParams(method, err)
			}
			return fn(ctx, p)
		}, nil
	}
}

// HandleExact is Handle with strict decoding: an unknown member is an error, since it asks for
// something that would not be done. P must not contain types of LSP.
func HandleExact[P, R any](r *Router, method string, fn func(context.Context, P) (R, error)) {
	Handle(r, method, func(ctx context.Context, raw jsontext.Value) (out R, err error) {
		var p P
		if len(raw) > 0 && string(raw) != "null" {
			err = json.Unmarshal(raw, &p, lspOptions, json.RejectUnknownMembers(true))
		}
		if err != nil {
			return out, badParams(method, err)
		}
		return fn(ctx, p)
	})
}

// HandleInOrder is Handle for a request that later messages depend on: begin runs before any later
// message is handled, and must neither block nor call the client. The function that it returns runs
// concurrently with other requests and must be called.
func HandleInOrder[P, R any](
	r *Router, method string, begin func(context.Context, P) (rest func(context.Context) (R, error), err error),
) {
	r.reserve(method)
	decode := decoder[P]()
	r.requests[method] = func(ctx context.Context, raw []byte) (func(context.Context) (any, error), error) {
		p, err := decode(raw)
		if err != nil {
			return nil, badParams(method, err)
		}
		rest, err := begin(ctx, p)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (any, error) { return rest(ctx) }, nil
	}
}

func badParams(method string, err error) error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("%s: %.400s", method, err)}
}

// Notify registers fn for the notifications of a method. They are handled one at a time in the
// order of arrival, before any later message, so fn must neither block nor call the client. Its
// context ends with the connection; use [Conn.Context] for work that outlives fn. It panics if the
// method is taken.
func Notify[P any](r *Router, method string, fn func(context.Context, P)) {
	r.reserve(method)
	decode := decoder[P]()
	r.notifications[method] = func(ctx context.Context, raw []byte) error {
		p, err := decode(raw)
		if err == nil {
			fn(ctx, p)
		}
		return err
	}
}

func (r *Router) reserve(method string) {
	_, request := r.requests[method]
	_, note := r.notifications[method]
	if request || note || method == "exit" || method == "$/cancelRequest" {
		panic("wire: method registered twice: " + method)
	}
}

// decoder returns the function that reads parameters of type P by the rules of codec. For types of
// LSP the last of two equal names wins, as for any server; in ours a name that stands twice is an
// error, because what was checked must be what is executed.
func decoder[P any]() func([]byte) (P, error) {
	lsp := isLSPType(reflect.TypeFor[P]())
	return func(raw []byte) (p P, err error) {
		switch {
		case len(raw) == 0 || string(raw) == "null":
			return p, nil
		case !lsp && !jsontext.Value(raw).IsValid():
			return p, errors.New("a name stands twice in one object") // the parser has seen to the rest
		}
		return p, Unmarshal(raw, &p)
	}
}

// isLSPType reports whether a type is one of go.lsp.dev/protocol.
func isLSPType(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[protocol.Position]().PkgPath()
}

// codec reads and writes everything by the rules of go.lsp.dev/protocol, which knows the unions of
// LSP, also inside types of ours. For those it follows encoding/json/v2: unknown members are
// ignored, names match by case, a nil slice is [] and a nil map {}, omitempty leaves out what would
// be null, "", {} or [] but neither 0 nor false (omitzero does), and bytes that are no UTF-8 become
// U+FFFD. loosen retries what this refuses.
type codec struct{}

var _ jsonrpc2.Codec = codec{}

func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct && !isLSPType(t) {
		return json.Marshal(v, lspOptions) // as protocol.Marshal does, which copies the text once more
	}
	return protocol.Marshal(v)
}

// pieceMarshaler is a result that encodes itself by the same rules, in immutable pieces that are
// never copied.
type pieceMarshaler interface{ JSONPieces() ([][]byte, error) }

// lspOptions are the options of protocol.Marshal.
var lspOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (codec) Unmarshal(data []byte, v any) error { return Unmarshal(data, v) }
