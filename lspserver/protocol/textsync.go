package protocol

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	lsp "go.lsp.dev/protocol"
)

// The notifications of document synchronization, as the server reads them. The types of go.lsp.dev/protocol do not serve:
// they keep a URI in one canonical spelling, where the client must get back its own, and read a content change whose range
// they do not understand as the whole text.
type (
	// DidOpen is textDocument/didOpen.
	DidOpen struct {
		TextDocument struct {
			DocumentVersion
			Text string `json:"text"`
		} `json:"textDocument"`
	}
	// DidChange is textDocument/didChange.
	DidChange struct {
		TextDocument DocumentVersion `json:"textDocument"`
		Changes      ContentChanges  `json:"contentChanges"`
	}
	// DidSave is textDocument/didSave; Text is nil where the client does not send it.
	DidSave struct {
		TextDocument DocumentVersion `json:"textDocument"`
		Text         *string         `json:"text"`
	}
	// DidClose is textDocument/didClose.
	DidClose struct {
		TextDocument DocumentVersion `json:"textDocument"`
	}
)

// DocumentVersion is a document in the client's spelling, and its version where that is said.
type DocumentVersion struct {
	URI     string         `json:"uri"`
	Version OptionalNumber `json:"version"`
}

// OptionalNumber is an integer of 32 bits, or unknown: absent, null, or no such number.
type OptionalNumber struct {
	Value int32
	Known bool
}

// UnmarshalJSON never fails: a document without a usable version is still a document.
func (n *OptionalNumber) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && v == math.Trunc(v) && v >= math.MinInt32 && v <= math.MaxInt32 {
		*n = OptionalNumber{Value: int32(v), Known: true}
	}
	return nil
}

// ContentChanges are those of a didChange. Err says why one of them was not understood; List is empty then, because the
// later ones build on it.
type ContentChanges struct {
	List []ContentChange
	Err  error
}

// ContentChange replaces a range, or the whole text where Range is nil.
type ContentChange struct {
	Range *lsp.Range
	Text  string
}

// UnmarshalJSONFrom never fails for a JSON value: what was not understood is in Err.
func (c *ContentChanges) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*c = ContentChanges{}
	if raw.Kind() != '[' {
		c.Err = errors.New("contentChanges is no list")
		return nil
	}
	var list []jsontext.Value
	if c.Err = json.Unmarshal(raw, &list, textOptions); c.Err != nil {
		return nil
	}
	for i, item := range list {
		change, err := contentChange(item)
		if err != nil {
			*c = ContentChanges{Err: fmt.Errorf("contentChanges[%d]: %w", i, err)}
			return nil
		}
		c.List = append(c.List, change)
	}
	return nil
}

// textOptions are lenient about bytes only: a text with a broken character is still a text, a name that stands twice in a
// change leaves open which of the two is meant.
var textOptions = jsontext.AllowInvalidUTF8(true)

// contentChange is the one decoder of content changes. It is strict about meaning: a range that is not understood is an
// error, never the whole text. It is tolerant about types: null is absent, and 1.0 is 1. rangeLength says nothing that range
// and text do not say.
func contentChange(raw jsontext.Value) (ContentChange, error) {
	if raw.Kind() != '{' {
		return ContentChange{}, errors.New("no object")
	}
	var c struct {
		Range jsontext.Value `json:"range"`
		Text  *string        `json:"text"`
	}
	if err := json.Unmarshal(raw, &c, textOptions); err != nil {
		return ContentChange{}, err
	}
	if c.Text == nil {
		return ContentChange{}, errors.New("no text")
	}
	out := ContentChange{Text: *c.Text}
	if len(c.Range) == 0 || c.Range.Kind() == 'n' {
		return out, nil
	}
	var r struct {
		Start *strictPosition `json:"start"`
		End   *strictPosition `json:"end"`
	}
	if err := json.Unmarshal(c.Range, &r, textOptions); err != nil {
		return ContentChange{}, fmt.Errorf("range: %w", err)
	}
	if r.Start == nil || r.End == nil {
		return ContentChange{}, errors.New("range: start or end is missing")
	}
	out.Range = &lsp.Range{Start: lsp.Position(*r.Start), End: lsp.Position(*r.End)}
	return out, nil
}

// strictPosition is a Position of which both numbers have to be there.
type strictPosition lsp.Position

func (p *strictPosition) UnmarshalJSON(raw []byte) error {
	var v struct {
		Line      *float64 `json:"line"`
		Character *float64 `json:"character"`
	}
	if err := json.Unmarshal(raw, &v, textOptions); err != nil {
		return err
	}
	for _, n := range []*float64{v.Line, v.Character} {
		if n == nil || *n != math.Trunc(*n) || *n < 0 || *n > math.MaxUint32 {
			return errors.New("line and character are whole numbers from 0 to 4294967295")
		}
	}
	*p = strictPosition{Line: uint32(*v.Line), Character: uint32(*v.Character)}
	return nil
}
