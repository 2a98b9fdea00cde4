package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// Codes that JSON-RPC and LSP define.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeNotInitialized = -32002
	CodeCancelled      = -32800
	CodeRequestFailed  = -32803
)

// ErrClosed is what [Conn.Call] and [Conn.Notify] return once the connection has ended.
var ErrClosed = errors.New("wire: the connection has ended")

// errCancelledByPeer is the cause of a request's context that the peer cancelled.
var errCancelledByPeer = errors.New("cancelled by the client")

// Error is an error response, sent or received. A handler that returns one, also wrapped, decides
// the code; any other error goes out as CodeInternal.
type Error struct {
	Code    int
	Name    string // machine-readable word, in error.data.code; "" for none
	Message string // for a person
	PID     int    // the process that has what was asked for, in error.data.pid; 0 for none
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether err is an Error with that code.
func Is(err error, code int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// toRPC turns e into what jsonrpc2 writes, which demands valid UTF-8.
func (e *Error) toRPC() *jsonrpc2.Error {
	out := &jsonrpc2.Error{Code: jsonrpc2.Code(e.Code), Message: strings.ToValidUTF8(e.Message, "\ufffd")}
	if e.Name != "" {
		name, _ := jsontext.AppendQuote(nil, e.Name) // its only error is invalid UTF-8, which it has replaced
		if e.PID != 0 {
			name = fmt.Appendf(name, `,"pid":%d`, e.PID)
		}
		out.Data = jsonrpc2.RawMessage(`{"code":` + string(name) + `}`)
	}
	return out
}

// fromRPC turns an error of a call into one of ours.
func fromRPC(err error) error {
	var w *jsonrpc2.Error
	if !errors.As(err, &w) {
		return err
	}
	var data struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(w.Data, &data) // another shape has no name
	return &Error{Code: int(w.Code), Name: data.Code, Message: w.Message}
}

// toRPCError maps an error of a handler; cause is why its context ended, nil if it did not.
func (c *Conn) toRPCError(err, cause error) *jsonrpc2.Error {
	if c.mapError != nil {
		err = c.mapError(err)
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return (&Error{Code: e.Code, Name: e.Name, Message: err.Error(), PID: e.PID}).toRPC()
	case cause != nil:
		return (&Error{Code: CodeCancelled, Message: cause.Error()}).toRPC()
	default:
		return (&Error{Code: CodeInternal, Message: err.Error()}).toRPC()
	}
}
