package protocol

import (
	"bytes"
	"errors"
	"slices"

	lsp "go.lsp.dev/protocol"

	"tandem/tools/rawjson"
)

// JSONSize is about how many bytes AppendJSON appends.
func (r ToolResult) JSONSize() int {
	n := 2*rawjson.SizeOf(r.Data) + 1024
	if v, ok := r.Result.(rawjson.Appender); ok {
		n += v.JSONSize()
	}
	return n
}

// AppendJSON appends the result as JSON. Data, which may have many megabytes, is encoded once, and Context, which is the same, is a
// copy of that; Result writes itself, if it can.
func (r ToolResult) AppendJSON(b []byte) ([]byte, error) {
	data, same, value := r.Data, r.Data == r.Context, r.Result
	if !same {
		return appendMarshalled(b, r)
	}
	r.Data, r.Context, r.Result = "", "", nil
	rest, err := lsp.Marshal(r)
	if err != nil {
		return b, err
	}
	before, after, ok := bytes.Cut(rest, []byte(`"data":"","context":""`))
	if !ok {
		return b, errors.New("a result has no data")
	}
	b = append(append(b, before...), `"data":`...)
	from := len(b)
	b = rawjson.AppendString(b, data)
	to := len(b)
	b = append(b, `,"context":`...)
	b = append(b, b[from:to]...)
	if value != nil {
		b = append(b, `,"result":`...)
		if v, ok := value.(rawjson.Appender); ok {
			b, err = v.AppendJSON(b)
		} else {
			b, err = appendMarshalled(b, value)
		}
	}
	return append(b, after...), err
}

func appendMarshalled(b []byte, v any) ([]byte, error) {
	raw, err := lsp.Marshal(v)
	return append(slices.Grow(b, len(raw)), raw...), err
}
