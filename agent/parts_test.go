package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"tandem/agent/model"
	"tandem/tools"
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
				s.config.Limits.MaxToolOutputChars = 4 << 20
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
