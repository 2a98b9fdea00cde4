package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// message is a JSON-RPC message after its only parse. Everything downstream uses this, so that no
// two parsers can disagree.
type message struct {
	id     jsonrpc2.ID // unset for a notification
	method string
	params []byte // as sent; nil if absent

	response bool
	result   []byte
	err      *jsonrpc2.Error
}

// members are the raw top-level members of a message, nil where absent.
type members struct {
	version, id, method, params, result, err []byte
}

// parser reads message bodies. It is for one goroutine.
type parser struct {
	dec jsontext.Decoder
}

// parse reads one body. It refuses what is no JSON text (RFC 8259 with whole surrogate pairs, valid
// UTF-8 and at most 10 000 levels) and what is no JSON-RPC 2.0 message; the returned id is the one
// the refusal is to be sent under.
func (p *parser) parse(body []byte) (message, *Error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var m members
	var duplicate bool
	kind, err := p.splitMembers(body, &m, &duplicate)
	if err != nil {
		return message{}, &Error{Code: CodeParseError, Message: fmt.Sprintf("not a JSON text: %.160s", err)}
	}
	id, idOK := parseID(m.id)
	refuse := func(why string) (message, *Error) {
		return message{id: id}, &Error{Code: CodeInvalidRequest, Message: why}
	}
	switch {
	case kind == '[':
		return refuse("batches are not served")
	case kind != '{':
		return refuse("a message is an object")
	case m.method == nil && (m.result != nil || m.err != nil):
		return response(id, m), nil
	case duplicate:
		return refuse("a member of the message stands there twice")
	case m.id != nil && !idOK:
		return refuse("an id is a string or an integer of 64 bits")
	case string(m.version) != `"2.0"`:
		return refuse(`"jsonrpc" is not "2.0"`)
	case m.method == nil || m.method[0] != '"':
		return refuse(`"method" is not a string`)
	case m.result != nil || m.err != nil:
		return refuse("request and response at once")
	}
	return message{id: id, method: unquote(m.method), params: m.params}, nil
}

// splitMembers checks the whole body and finds the members of a top-level object. Names are
// compared as JSON strings, so an escaped spelling is the same name and another letter case is not.
func (p *parser) splitMembers(body []byte, m *members, duplicate *bool) (jsontext.Kind, error) {
	p.dec.Reset(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	value := func() ([]byte, error) {
		v, err := p.dec.ReadValue()
		end := p.dec.InputOffset()
		return body[end-int64(len(v)) : end : end], err
	}
	kind := p.dec.PeekKind()
	if kind != '{' {
		if _, err := value(); err != nil {
			return 0, err
		}
		return kind, p.expectEnd()
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return 0, err
	}
	for p.dec.PeekKind() == '"' {
		name, err := value()
		if err != nil {
			return 0, err
		}
		field := m.field(name)
		v, err := value()
		if err != nil {
			return 0, err
		}
		if field != nil {
			*duplicate = *duplicate || *field != nil
			*field = v
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return 0, err
	}
	return kind, p.expectEnd()
}

// expectEnd reports whether nothing but white space is left.
func (p *parser) expectEnd() error {
	_, err := p.dec.ReadToken()
	if err == io.EOF {
		return nil
	}
	if err == nil {
		err = errors.New("more than one value")
	}
	return err
}

// field returns where the member of the quoted name belongs, nil for one that JSON-RPC does not
// know.
func (m *members) field(quoted []byte) *[]byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		quoted = strconv.AppendQuote(nil, unquote(quoted))
	}
	switch string(quoted) {
	case `"jsonrpc"`:
		return &m.version
	case `"id"`:
		return &m.id
	case `"method"`:
		return &m.method
	case `"params"`:
		return &m.params
	case `"result"`:
		return &m.result
	case `"error"`:
		return &m.err
	}
	return nil
}

// response decodes an answer to one of our requests leniently: an invalid answer must still end its
// call.
func response(id jsonrpc2.ID, m members) message {
	out := message{id: id, response: true, result: m.result}
	if m.err == nil || string(m.err) == "null" && m.result != nil {
		return out
	}
	var e struct {
		Code    int32          `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(m.err, &e, jsontext.AllowDuplicateNames(true)); err != nil {
		e.Code, e.Message = CodeInternal, "error response of another shape: "+err.Error()
	}
	out.err = &jsonrpc2.Error{Code: jsonrpc2.Code(e.Code), Message: e.Message, Data: jsonrpc2.RawMessage(e.Data)}
	return out
}

// frame appends the envelope of m for jsonrpc2: everything but the parameters, so that a large
// document is neither scanned again nor copied.
func (m *message) frame(dst []byte) []byte {
	switch {
	case m.response:
		if m.err != nil {
			return jsonrpc2.AppendResponse(dst, m.id, nil, m.err)
		}
		return jsonrpc2.AppendResponse(dst, m.id, m.result, nil)
	case m.id.IsValid():
		return jsonrpc2.AppendCall(dst, m.id, m.method, nil)
	default:
		return jsonrpc2.AppendNotification(dst, m.method, nil)
	}
}

// parseID reads an id: a string or an integer that 64 bits hold, which may be written 1.0.
func parseID(raw []byte) (id jsonrpc2.ID, ok bool) {
	if len(raw) == 0 {
		return id, false
	}
	if raw[0] == '"' {
		return jsonrpc2.NewStringID(unquote(raw)), true
	}
	n, err := strconv.ParseInt(string(withoutFraction(raw)), 10, 64)
	if err != nil {
		return id, false
	}
	return jsonrpc2.NewNumberID(n), true
}

// unquote returns the text of a valid JSON string.
func unquote(quoted []byte) string {
	b, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(b)
}

// replaceLoneSurrogates replaces every escaped surrogate of body that has no partner by U+FFFD, and
// reports whether there was one. Editors send them when an edit splits a character.
func replaceLoneSurrogates(body []byte) bool {
	replaced := false
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		unit := escapedUnit(body[i:])
		switch {
		case unit < 0:
			i++
		case unit >= 0xd800 && unit < 0xdc00 && escapedUnit(body[i+6:]) >= 0xdc00 && escapedUnit(body[i+6:]) < 0xe000:
			i += 11
		case unit >= 0xd800 && unit < 0xe000:
			copy(body[i:], `\ufffd`)
			replaced = true
			i += 5
		default:
			i += 5
		}
	}
	return replaced
}

// escapedUnit reads the \u escape at the start of b as a UTF-16 code unit; -1 if there is none.
func escapedUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
