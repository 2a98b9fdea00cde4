package protocol

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text/show"
)

// inPieces is a value that writes itself.
type inPieces struct{}

func (inPieces) JSONPieces() ([][]byte, error) { return [][]byte{[]byte(`{"a":`), []byte(`[1]}`)}, nil }

func (p inPieces) MarshalJSON() ([]byte, error) { return []byte(`{"a":[1]}`), nil }

// TestJSONPieces wants each result to say the same whether it writes itself or is marshalled.
func TestJSONPieces(t *testing.T) {
	applied := true
	for _, r := range []ToolResult{
		{},
		{Success: true, Data: "a \"quoted\"\n\ttext \xff é", Summary: `"data":"","context":""`, CallID: "c"},
		{Data: "no", Error: "NOT_FOUND", Reason: "path", Issues: []Issue{{Path: "$", Message: "x"}}, Truncated: true, DurationMs: 1.5},
		{Success: true, Data: "d", Result: map[string]any{"data": "", "context": []int{1}}, Applied: &applied, Meta: &ResultMeta{Cache: "hit"}},
		{Success: true, Data: strings.Repeat("long\n", 10000), Result: []string{}, Diff: []FileDiff{{Path: "p"}}, Edit: &lsp.WorkspaceEdit{}},
		{Data: "d", Context: "another", Result: show.File{}},
		{Success: true, Data: "d", Result: inPieces{}},
		{Data: "d", Context: "another", Result: inPieces{}},
	} {
		if r.Context == "" {
			r.Context = r.Data
		}
		want, err := lsp.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := r.JSONPieces()
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Concat(pieces...)
		var a, b any
		if err := lsp.Unmarshal(got, &a); err != nil {
			t.Fatalf("%v in %.300s", err, got)
		}
		if err := lsp.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%.300s is not %.300s", got, want)
		}
	}
}
