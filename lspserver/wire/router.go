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

// Router says which methods are served. It is filled once, before the first connection, and may
// then be shared.
type Router struct {
	requests       map[string]handler
	notifications  map[string]func(context.Context, []byte) error
	priorityMethod string
}

// handler is the part of a request's handler that runs in the order of arrival; it gives the part
// that runs beside others.
type handler func(ctx context.Context, raw []byte) (rest func(context.Context) (any, error), err error)

// NewRouter returns a router that serves nothing.
func NewRouter() *Router {
	return &Router{
		requests:      map[string]handler{},
		notifications: map[string]func(context.Context, []byte) error{},
	}
}

// Prioritize makes the requests of one method be served also where the connection has too many
// under way for others.
func (r *Router) Prioritize(method string) { r.priorityMethod = method }

// Handle makes fn answer the requests of a method, each in a goroutine of its own that starts after
// the handlers of all earlier notifications have returned. Parameters that do not fit P are
// answered for fn; absent ones are the zero P. "initialize" runs alone and must neither block nor
// call the client. The context ends with the request's cancellation and with the connection. It
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

// HandleExact is Handle for a request in which an unknown member is an error: it asks for something
// that would not be done. P has no type of LSP in it.
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

// HandleInOrder is Handle for a request that later messages are about: begin runs before anything
// later is looked at, and must not block nor call the client; what it gives runs beside others and
// must be called.
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

// Notify makes fn take the notifications of a method, one at a time in the order of their arrival,
// before anything later is looked at: fn must not block and must not call the client. Its context
// ends with the connection; use [Conn.Context] for work that fn leaves behind. It panics if the
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

// isLSPType says that a type is one of go.lsp.dev/protocol.
func isLSPType(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[protocol.Position]().PkgPath()
}

// codec reads and writes everything by the rules of go.lsp.dev/protocol, which knows the unions of
// LSP, also inside types of ours. For those it follows encoding/json/v2: unknown members are
// ignored, names match by case, a nil slice is [] and a nil map {}, omitempty leaves out what would
// be null, "", {} or [] but neither 0 nor false (omitzero does), and bytes that are no UTF-8 become
// U+FFFD. What this refuses is read again by loosen.
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

// pieceMarshaler is a result that writes itself by the same rules, in pieces that do not change any
// more.
type pieceMarshaler interface{ JSONPieces() ([][]byte, error) }

// lspOptions are the options of protocol.Marshal.
var lspOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (codec) Unmarshal(data []byte, v any) error { return Unmarshal(data, v) }
