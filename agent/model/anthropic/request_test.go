package anthropic

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// TestRequestGolden compares the whole HTTP request of a conversation with every kind of block to a
// golden file.
func TestRequestGolden(t *testing.T) {
	image := model.Attachment{MIMEType: "image/png", Name: "a.png", Data: []byte("png")}
	pdf := model.Attachment{MIMEType: "application/pdf", Name: "a <b>.pdf", Data: []byte("pdf")}
	nameless := model.Attachment{MIMEType: "application/pdf", Data: []byte("pdf")}
	said := func(text string) model.Message { return model.Message{Role: model.User, Text: text} }
	signed := model.Thought{Model: "anthropic/m", Text: "Hm.", Sealed: json.RawMessage(`{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`)}
	fields := model.Thought{Model: "anthropic/m", AfterText: 2, Sealed: json.RawMessage(`{"message":{"citations":[1]}}`)}
	requests := []struct {
		model string
		model.Request
	}{
		{"m", model.Request{Messages: []model.Message{said("Hi")}}},
		{"claude-opus-5", model.Request{Messages: []model.Message{{Role: model.System, Text: "S1"}, {Role: model.System, Text: "S2"}, said("<&>\u2028 é \"")}}},
		{"m", model.Request{
			Tools: []model.ToolSpec{
				{Name: "a", Description: "A <tool>.", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)},
				{Name: "b", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
			},
			Messages: []model.Message{
				{Role: model.System, Text: "S"},
				{Role: model.User, Text: "Look", Attachments: []model.Attachment{image, pdf, nameless}},
				{
					Role: model.Assistant, Text: "OK", Thoughts: []model.Thought{signed, fields},
					Calls: []model.Call{
						{ID: "c1", Name: "a", Arguments: `{"x":"<1>"}`},
						{ID: "c2", Name: "b"},
						{ID: "c3", Name: "b", Arguments: `{}`, Extra: &model.Extra{Model: "anthropic/m", Fields: json.RawMessage(`{"caller":{"type":"direct"}}`)}},
					},
				},
				{Role: model.Tool, CallID: "c1", Name: "a", Text: "R1"},
				{Role: model.Tool, CallID: "c2", Name: "b", Failed: true},
				{Role: model.Tool, CallID: "c3", Name: "b", Text: "seen", Attachments: []model.Attachment{image, pdf}},
				{Role: model.User, Attachments: []model.Attachment{image}},
			},
		}},
		{"m", model.Request{Messages: []model.Message{said("Hi"), {Role: model.Assistant, Text: "Yes"}, {Role: model.User, Attachments: []model.Attachment{pdf}}}}},
	}
	var got strings.Builder
	for _, r := range requests {
		m, err := New(wire.Service{
			Provider: "anthropic", Model: r.model, BaseURL: "https://x", Key: "k", Headers: map[string]string{"x-team": "t"},
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				fmt.Fprintf(&got, "%s %s\n", r.Method, r.URL)
				for _, name := range slices.Sorted(maps.Keys(r.Header)) {
					fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
				}
				body, err := io.ReadAll(r.Body)
				fmt.Fprintf(&got, "%s\n\n", body)
				if int64(len(body)) != r.ContentLength {
					t.Errorf("%d bytes, and a length of %d", len(body), r.ContentLength)
				}
				return nil, errors.Join(err, io.EOF)
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Stream(t.Context(), r.Request, func(model.Delta) {}); err == nil {
			t.Error("it worked")
		}
	}
	file := filepath.Join("testdata", "requests.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
