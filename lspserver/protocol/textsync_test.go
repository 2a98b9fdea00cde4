package protocol

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/wire"
)

// The strict reading of TextDocumentContentChangeEvent, after its schema: null is an absent member, an integer may be
// written with a fraction of zero, and whatever else does not fit is no change.
func strictChange(raw []byte) (ContentChange, bool) {
	var none ContentChange
	if !jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return none, false // a name stands twice
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return none, false
	}
	o, ok := v.(map[string]any)
	if !ok {
		return none, false
	}
	text, ok := o["text"].(string)
	if !ok {
		return none, false
	}
	if o["range"] == nil {
		return ContentChange{Text: text}, true
	}
	number := func(v any) (uint32, bool) {
		n, ok := v.(float64)
		return uint32(n), ok && n >= 0 && n <= math.MaxUint32 && n == math.Trunc(n)
	}
	position := func(v any) (lsp.Position, bool) {
		p, _ := v.(map[string]any)
		line, a := number(p["line"])
		character, b := number(p["character"])
		return lsp.Position{Line: line, Character: character}, a && b
	}
	r, _ := o["range"].(map[string]any)
	start, a := position(r["start"])
	end, b := position(r["end"])
	return ContentChange{Range: &lsp.Range{Start: start, End: end}, Text: text}, a && b
}

// changeSeeds are content changes of clients, right and wrong.
func changeSeeds() []string {
	return []string{
		`{"text":"x"}`, `{"range":null,"text":"x"}`, `{"text":"x","rangeLength":7}`,
		`{"range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":1.0,"character":0.0},"end":{"line":1e0,"character":20e-1}},"rangeLength":null,"text":"x"}`,
		`{"range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4294967295}},"text":"x"}`,
		`{"range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4294967296}},"text":"x"}`,
		`{"range":{"start":{"line":-1,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":1.5,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":"1","character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":null,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":1},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":null,"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":1,"character":2}},"text":"x"}`,
		`{"range":{},"text":"x"}`, `{"range":[],"text":"x"}`, `{"range":0,"text":"x"}`, `{"range":false,"text":"x"}`, `{"range":"","text":"x"}`,
		`{"range":{"Start":{"line":1,"character":2},"End":{"line":3,"character":4}},"text":"x"}`,
		`{"Range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":{"start":{"line":1,"character":1e400},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"range":null,"range":{"start":{"line":1,"character":2},"end":{"line":3,"character":4}},"text":"x"}`,
		`{"text":null}`, `{"text":7}`, `{"text":["x"]}`, `{}`, `null`, `[]`, `"x"`, `7`, "{\"text\":\"\xff\"}",
	}
}

func checkChange(t *testing.T, raw string) {
	t.Helper()
	var got DidChange
	err := wire.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[{"text":"first"},`+raw+`]}`), &got)
	want, ok := strictChange([]byte(raw))
	switch {
	case err != nil: // no parameters: the document is out of sync
		if ok {
			t.Errorf("%q is refused: %v", raw, err)
		}
	case ok != (got.Changes.Err == nil):
		t.Errorf("%q: %v, want understood: %v", raw, got.Changes.Err, ok)
	case !ok && len(got.Changes.List) > 0:
		t.Errorf("%q: changes before it are applied without it", raw)
	case ok && !reflect.DeepEqual(got.Changes.List, []ContentChange{{Text: "first"}, want}):
		t.Errorf("%q: %+v, want %+v", raw, got.Changes.List, want)
	}
}

func TestFaultD1ContentChanges(t *testing.T) {
	understood := 0
	for _, raw := range changeSeeds() {
		checkChange(t, raw)
		if _, ok := strictChange([]byte(raw)); ok {
			understood++
		}
	}
	if understood != 8 {
		t.Errorf("%d of the table are understood", understood)
	}
	for _, raw := range []string{`null`, `{}`, `"x"`, `7`, `[null]`} {
		var got DidChange
		if err := wire.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":2},"contentChanges":`+raw+`}`), &got); err == nil &&
			got.Changes.Err == nil && raw != `null` {
			t.Errorf("contentChanges %s is understood: %+v", raw, got.Changes)
		}
	}
}

func FuzzFaultD1ContentChange(f *testing.F) {
	for _, raw := range changeSeeds() {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			return // the parser of messages refuses it
		}
		checkChange(t, string(bytes.ToValidUTF8(raw, []byte("\ufffd"))))
	})
}

func TestFaultD2Versions(t *testing.T) {
	for raw, want := range map[string]OptionalNumber{
		`7`: {7, true}, `7.0`: {7, true}, `-1`: {-1, true}, `0`: {0, true}, `1e2`: {100, true}, `null`: {}, `7.5`: {}, `4294967295`: {},
		`1e400`: {}, `"7"`: {}, `{}`: {}, `[]`: {}, `true`: {},
	} {
		var open DidOpen
		if err := wire.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":`+raw+`,"text":"x"}}`), &open); err != nil ||
			open.TextDocument.Version != want || open.TextDocument.Text != "x" || open.TextDocument.URI != "file:///a" {
			t.Errorf("didOpen, version %s: %+v %v", raw, open, err)
		}
		var change DidChange
		if err := wire.Unmarshal([]byte(`{"textDocument":{"uri":"file:///a","version":`+raw+`},"contentChanges":[{"text":"x"}]}`), &change); err != nil ||
			change.TextDocument.Version != want || len(change.Changes.List) != 1 {
			t.Errorf("didChange, version %s: %+v %v", raw, change, err)
		}
	}
}
