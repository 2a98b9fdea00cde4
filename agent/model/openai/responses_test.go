package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/modeltest"
	"tandem/agent/model/wire"
)

func TestWhoReasons(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-6.1-sol": true, "gpt-5": true, "gpt-5-chat-latest": false, "o3-mini": true, "gpt-4.1": false, "openai/gpt-oss-20b": true,
		"gpt-4o": false, "llama": false,
	} {
		if reasons(name) != want {
			t.Error(name)
		}
	}
}

// TestThoughtsThatMayNotBeAskedFor plays a service that refuses requests for thoughts: they are not asked for again.
func TestThoughtsThatMayNotBeAskedFor(t *testing.T) {
	var asked []bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Include   []string          `json:"include"`
			Reasoning map[string]string `json:"reasoning"`
			Input     []json.RawMessage `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		thinks := slices.Equal(req.Include, []string{"reasoning.encrypted_content"}) && req.Reasoning["summary"] == "auto"
		sealed := slices.ContainsFunc(req.Input, func(m json.RawMessage) bool { return bytes.Contains(m, []byte("sealed")) })
		if sealed != thinks {
			t.Errorf("thoughts are given back: %v", sealed)
		}
		asked = append(asked, thinks)
		if thinks {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.",`+
				`"type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
			return
		}
		fmt.Fprint(w, `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message",`+
			`"content":[{"type":"output_text","text":"Hi"}]}]}}`+"\n\n")
	}))
	defer s.Close()
	m, err := New(wire.Service{Provider: "mock", Model: "gpt-5", BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	r := modeltest.Conversation()
	r.Messages[2].Thoughts = []model.Thought{{Model: "mock/gpt-5", Sealed: json.RawMessage(`{"type":"sealed"}`)}}
	for range 2 {
		if got := modeltest.Write(t.Context(), t, m, r); got != "text Hi\n= end_turn; in 0 (cached 0, written 0), out 0, $0.0000\n" {
			t.Error(got)
		}
	}
	if !slices.Equal(asked, []bool{true, false, false}) {
		t.Error(asked)
	}
}
