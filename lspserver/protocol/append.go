package protocol

import (
	"bytes"
	"errors"
	"slices"

	lsp "go.lsp.dev/protocol"

	"tandem/tools/rawjson"
)

// JSONPieces are the result as JSON. Data, which may have many megabytes, is encoded once for Context as well, which is the same; Result
// writes itself, if it can.
func (r ToolResult) JSONPieces() ([][]byte, error) {
	data, same, value := r.Data, r.Data == r.Context, r.Result
	if !same {
		return marshalled(r)
	}
	r.Data, r.Context, r.Result = "", "", nil
	rest, err := lsp.Marshal(r)
	if err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(rest, []byte(`"data":"","context":""`))
	if !ok {
		return nil, errors.New("a result has no data")
	}
	var shown [][]byte
	if value != nil {
		if v, ok := value.(rawjson.Pieced); ok {
			shown, err = v.JSONPieces()
		} else {
			shown, err = marshalled(value)
		}
		shown = slices.Insert(shown, 0, []byte(`,"result":`))
	}
	text := rawjson.String(data)
	return slices.Concat(
		[][]byte{slices.Concat(before, []byte(`"data":`))}, text, [][]byte{[]byte(`,"context":`)}, text, shown, [][]byte{after},
	), err
}

func marshalled(v any) ([][]byte, error) {
	raw, err := lsp.Marshal(v)
	return [][]byte{raw}, err
}
