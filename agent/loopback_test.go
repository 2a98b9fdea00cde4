package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model/registry"
)

// TestTurnOverChatCompletions is a whole turn through the configuration, the wire of a service on loopback and the
// tools.
func TestTurnOverChatCompletions(t *testing.T) {
	var last []byte
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role       string `json:"role"`
				ToolCallID string `json:"tool_call_id,omitempty"`
				Content    string `json:"content"`
			} `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		event := func(delta, finish string) {
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		}
		if len(req.Messages) > 2 {
			last, _ = json.Marshal(req.Messages[2:])
			event(`{"content":"Done."}`, "null")
			event(`{}`, `"stop"`)
			return
		}
		event(`{"content":"Looking."}`, "null")
		event(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"text\":"}}]}`, "null")
		event(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`, "null")
		event(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"look","arguments":"{\"text\":"}}]}`, "null")
		event(`{}`, `"tool_calls"`)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n")
	}))
	defer service.Close()

	key := "k"
	conf, problems := config.Load(config.Inputs{OwnClient: true, Client: fmt.Appendf(nil,
		`{"model": "mock/m", "providers": {"mock": {"api": "openai-chat", "baseUrl": "%s/v1", "apiKeyEnv": "K"}}}`, service.URL)})
	if problems != nil {
		t.Fatal(problems)
	}
	c := &client{}
	s := session(t, c, nil, func(o *setup) {
		o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return key }}
	})
	if r := ask(t, s, "go"); r.Stop != EndTurn || r.Usage.Input != 10 || r.Usage.Output != 5 {
		t.Errorf("%+v", r)
	}
	want := `[{"role":"assistant","content":"Looking."},` +
		`{"role":"tool","tool_call_id":"a","content":"saw x"},{"role":"tool","tool_call_id":"b","content":"[INVALID_ARGS] `
	if got := string(last); len(got) < len(want) || got[:len(want)] != want {
		t.Error(got)
	}

	key = "wrong"
	s = session(t, c, nil, func(o *setup) {
		o.Config, o.Models = conf, &registry.Registry{Config: conf, Getenv: func(string) string { return key }}
	})
	if r := ask(t, s, "go"); r.Stop != Failed {
		t.Errorf("%+v", r)
	}
	c.told(t, "notice mock refused the key (401). Set K to a key that is valid.\n")
}
