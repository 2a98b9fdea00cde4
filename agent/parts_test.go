package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// TestPartsAreKept lets a tool answer with parts of every kind: the model gets them, the store keeps them once, and another
// process goes on with them and exports them.
func TestPartsAreKept(t *testing.T) {
	answer := tools.Result{
		Success: true, Data: "Here.",
		Parts: []tools.Part{
			{Kind: tools.TextPart, Text: "A caption."},
			{Kind: tools.ImagePart, MIMEType: "image/png", Data: []byte("the picture")},
			{Kind: tools.DocumentPart, MIMEType: "application/pdf", Name: "a.pdf", Data: []byte("the document")},
		},
	}
	want := model.Message{
		Role: model.Tool, CallID: "call_1_1", Name: "show", Text: "Here.\nA caption.",
		Attachments: []model.Attachment{
			{MIMEType: "image/png", Data: []byte("the picture")},
			{MIMEType: "application/pdf", Name: "a.pdf", Data: []byte("the document")},
		},
	}
	for name, st := range stores(t) {
		t.Run(name, func(t *testing.T) {
			show := tool("show", tools.Read, tools.Alone, tools.Reads, func(context.Context, *tools.Env, note) (tools.Result, error) {
				return answer, nil
			})
			var seen []model.Message
			plays := play(t, "call show {}\n\nsee /Here\\.\\nA caption\\.\\n\\[Not shown, since this model cannot take it: \\(image\\/png, 11 bytes\\)\\]/\nsay Seen.\n\nsay Again.\n")
			m := fake(func(ctx context.Context, r model.Request, on on) (model.Response, error) {
				seen = r.Messages
				return plays.Stream(ctx, r, on)
			})
			s, _ := newKeptSession(t, st, nil, m, show)
			if r := ask(t, s, "go"); r.Stop != EndTurn {
				t.Fatal(r)
			}
			find := func(where string, messages []model.Message) {
				t.Helper()
				for _, got := range messages {
					if got.Role == model.Tool {
						if !got.Same(want) {
							t.Errorf("%s: %+v", where, got)
						}
						return
					}
				}
				t.Errorf("%s: there is no result", where)
			}
			find("the model", seen)
			s.Close()
			past, err := ReadPast(st, "kept")
			if err != nil {
				t.Fatal(err)
			}
			jsonl, err := past.JSONL()
			if err != nil {
				t.Fatal(err)
			}
			for what, data := range map[string]string{"picture": "the picture", "document": "the document"} {
				if n := strings.Count(jsonl, base64.StdEncoding.EncodeToString([]byte(data))); n != 1 {
					t.Errorf("the %s is kept %d times", what, n)
				}
			}
			page := past.Markdown()
			for _, line := range []string{"A caption.", "_image: (image/png, 11 bytes)_", "_document: a.pdf (application/pdf, 12 bytes)_"} {
				if !strings.Contains(page, line) {
					t.Errorf("exported without %q:\n%s", line, page)
				}
			}
			s, _ = newKeptSession(t, st, past, m, show)
			find("loaded", s.History())
			ask(t, s, "again")
			find("the model, in another process", seen)
			s.Close()
		})
	}
}

// A message and a result as earlier versions wrote them are read as they were.
func TestStoredImagesLoad(t *testing.T) {
	var b body
	if err := json.Unmarshal([]byte(`{"message":{"role":"user","text":"Look","images":[{"mimeType":"image/png","data":"cG5n"}]}}`), &b); err != nil {
		t.Fatal(err)
	}
	want := model.Message{Role: model.User, Text: "Look", Attachments: []model.Attachment{{MIMEType: "image/png", Data: []byte("png")}}}
	if !b.Message.Same(want) || !b.Message.Attachments[0].Image() {
		t.Errorf("%+v", b.Message)
	}
	if err := json.Unmarshal([]byte(`{"result":{"Success":true,"Data":"x","Gaps":null}}`), &b); err != nil || b.Result.Data != "x" || b.Result.Parts != nil {
		t.Errorf("%+v, %v", b.Result, err)
	}
}

// TestLargeResultsAreKeptOnce lets a tool answer at length: the store keeps what the model gets, and leaves out what a program gets besides.
func TestLargeResultsAreKeptOnce(t *testing.T) {
	for words, kept := range map[string]bool{"a few": true, strings.Repeat("very many ", 200_000): false} {
		for name, st := range stores(t) {
			t.Run(name, func(t *testing.T) {
				show := tool("show", tools.Read, tools.Alone, tools.Reads, func(context.Context, *tools.Env, note) (tools.Result, error) {
					return tools.Result{Success: true, Data: words, Value: map[string]string{"value": "for a program"}}, nil
				})
				s, _ := newKeptSession(t, st, nil, play(t, "call show {}\n\nsay Seen.\n"), show)
				reconfigure(s, func(c *config.Config) { c.Limits.MaxToolOutputChars = 4 << 20 })
				if r := ask(t, s, "go"); r.Stop != EndTurn {
					t.Fatal(r)
				}
				s.Close()
				past, err := ReadPast(st, "kept")
				if err != nil {
					t.Fatal(err)
				}
				jsonl, err := past.JSONL()
				if err != nil {
					t.Fatal(err)
				}
				if has := strings.Contains(jsonl, "for a program"); has != kept {
					t.Errorf("%.10s: the value is kept: %t", words, has)
				}
			})
		}
	}
}

// TestLargeResultOfAProgram has a program call a tool that answers at length: the program gets all of it, the store its beginning.
func TestLargeResultOfAProgram(t *testing.T) {
	const end = "the end"
	for size, whole := range map[int]bool{10: true, mostData - 1: false, 3 * mostData: false} { // with an é at the border
		st := memory(t)
		data := strings.Repeat("x", size%2) + strings.Repeat("é", size/2) + end
		show := tool("show", tools.Read, tools.Alone, tools.Reads, func(context.Context, *tools.Env, note) (tools.Result, error) {
			return tools.Result{Success: true, Data: data}, nil
		})
		s, _ := newKeptSession(t, st, nil, play(t, "say Hm."), show)
		reconfigure(s, func(c *config.Config) { c.Limits.MaxToolOutputChars = 0 })
		results, _, err := s.CallTools(t.Context(), []run.Call{{Name: "show", Arguments: json.RawMessage("{}")}}, CallOptions{})
		if err != nil || len(results) != 1 || results[0].Data != data || results[0].Truncated {
			t.Fatalf("%.200v, %v", results, err)
		}
		s.Close()
		_, entries, err := st.Entries("kept")
		if err != nil {
			t.Fatal(err)
		}
		var kept *tools.Result
		for _, e := range entries {
			var b body
			if err := json.Unmarshal([]byte(e.Body), &b); err != nil {
				t.Fatal(err)
			}
			if b.Result != nil {
				kept = b.Result
			}
		}
		switch {
		case kept == nil:
			t.Errorf("%d bytes: no result is kept", len(data))
		case whole != (kept.Data == data) || whole == kept.Truncated:
			t.Errorf("%d bytes: %d are kept, truncated: %t", len(data), len(kept.Data), kept.Truncated)
		case !whole:
			text, note, _ := strings.Cut(kept.Data, "\n")
			if want := fmt.Sprintf("… [%d bytes more are not kept] …", len(data)-len(text)); !strings.HasPrefix(data, text) || note != want {
				t.Errorf("%d bytes: %q", len(data), note)
			}
		}
	}
}
