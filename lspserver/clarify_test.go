package lspserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// A question of the model's goes to the client as its own request; what comes back, or does not, is what the tool
// answers.
func TestF176Clarify(t *testing.T) {
	release := make(chan struct{})
	never := make(chan struct{})
	asked := make(chan map[string]any, 1)
	serves := map[string]any{"experimental": map[string]any{"tandem": map[string]any{"clarify": true}}}
	r := start(t, conformance.Options{
		Capabilities: serves,
		Invoke: func(method string, params json.RawMessage) (any, error) {
			var p map[string]any
			if method != "tandem/session/clarify" || json.Unmarshal(params, &p) != nil {
				return nil, &conformance.RPCError{Code: -32601, Message: "no " + method}
			}
			switch p["question"] {
			case "Which?":
				asked <- p
				return map[string]any{"answer": "b"}, nil
			case "Gone?":
				return map[string]any{"answer": ""}, nil
			case "Never?":
				close(never)
			}
			<-release
			return map[string]any{"answer": "too late"}, nil
		},
	}, options(nil))
	defer r.end()
	defer close(release)
	session := r.session(nil)
	call := func(arguments string) (out struct {
		Success             bool
		Data, Error, Reason string
		Result              struct{ Answer, Source string }
	},
	) {
		r.ask("tandem/tools/call", map[string]any{
			"sessionId": session, "name": "ask_user", "arguments": json.RawMessage(arguments),
		}, &out)
		return out
	}

	got := call(`{"question": "Which?", "options": [{"id": "a", "label": "One"}, {"id": "b", "label": "Two"}]}`)
	if !got.Success || got.Result.Answer != "b" || got.Result.Source != "user" || !strings.Contains(got.Data, "Two (b)") {
		t.Errorf("answered: %+v", got)
	}
	if p := <-asked; p["sessionId"] != session || p["toolCallId"] == "" || len(p["options"].([]any)) != 2 {
		t.Errorf("asked %v", p)
	}
	// What is an option's id is no other one's label.
	got = call(`{"question": "Which?", "options": [{"id": "b", "label": "c"}, {"id": "c", "label": "b"}]}`)
	if <-asked; got.Result.Answer != "b" || !strings.Contains(got.Data, "c (b)") {
		t.Errorf("crossing labels: %+v", got)
	}
	got = call(`{"question": "Late?", "default_answer": "four", "timeout_ms": 20}`)
	if !got.Success || got.Result.Answer != "four" || got.Result.Source != "default" || !strings.Contains(got.Data, "default") {
		t.Errorf("late, with a default: %+v", got)
	}
	if got = call(`{"question": "Late?", "timeout_ms": 20}`); got.Success || got.Error != "CLARIFY_TIMEOUT" {
		t.Errorf("late: %+v", got)
	}
	if got = call(`{"question": "Gone?"}`); got.Success || got.Error != "CLARIFY_TIMEOUT" || !strings.Contains(got.Data, "closed") {
		t.Errorf("closed: %+v", got)
	}
	if got = call(`{"question": "Which?", "options": [{"id": "a", "label": "One"}, {"id": "a", "label": "Two"}]}`); got.Error != "INVALID_ARGS" {
		t.Errorf("one id twice: %+v", got)
	}

	model := r.script("call clarify {\"question\": \"Never?\"}\n\nsay Done.\n")
	r.ask("tandem/session/setModel", map[string]any{"sessionId": session, "model": model}, nil)
	end := r.Begin("tandem/session/prompt", prompt(session, "Go."))
	<-never
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": session})
	raw, err := end(r.ctx)
	if err != nil || !strings.Contains(string(raw), `"cancelled"`) {
		t.Errorf("cancelled while asked: %s %v", raw, err)
	}
}
