package lspserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver"
	"tandem/lspserver/conformance"
)

// asked is a tandem/model/stream as a client reads it.
type asked struct {
	StreamID string
	Messages []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct {
		Function struct {
			Name, Description string
			Parameters        struct{ Type string }
		}
	}
	Options struct{ Model string }
}

// lender is an editor that lends a model. answer plays it: it says what it says and gives how it ended.
func lender(t *testing.T, settings map[string]any, answer func(r *rig, a asked) (any, error)) *rig {
	t.Helper()
	return lenderOf(t, options(nil), conformance.Options{Settings: settings}, answer)
}

func lenderOf(t *testing.T, so lspserver.Options, o conformance.Options, answer func(r *rig, a asked) (any, error)) *rig {
	t.Helper()
	var r *rig
	var mu sync.Mutex // over r
	mu.Lock()
	o.Capabilities = map[string]any{"experimental": map[string]any{"tandem": map[string]any{"model": true}}}
	o.Invoke = func(method string, params json.RawMessage) (any, error) {
		var a asked
		if err := json.Unmarshal(params, &a); err != nil || method != "tandem/model/stream" {
			t.Errorf("%s %s: %v", method, params, err)
		}
		mu.Lock()
		defer mu.Unlock()
		return answer(r, a)
	}
	r = start(t, o, so)
	mu.Unlock()
	return r
}

func (r *rig) chunk(a asked, chunk string) {
	r.Notify("tandem/model/chunk", json.RawMessage(fmt.Sprintf(`{"streamId":%q,%s}`, a.StreamID, chunk)))
}

func TestF268EditorLendsItsModel(t *testing.T) {
	var heard []asked
	r := lender(t, map[string]any{"model": "editor/copilot/large", "mode": "auto"}, func(r *rig, a asked) (any, error) {
		heard = append(heard, a)
		if len(heard) == 1 {
			r.chunk(a, `"thought":"I have to look."`)
			r.chunk(a, `"text":"Looking"`)
			r.chunk(a, `"text":" now."`)
			r.chunk(a, `"toolCall":{"index":0,"id":"one","name":"read_file","argumentsDelta":"{\"path\":"}`)
			r.chunk(a, `"toolCall":{"index":0,"id":"one","argumentsDelta":"\"a.txt\"}"}`)
			r.chunk(a, `"toolCall":{"index":1,"id":"two","name":"edit_file","argumentsDelta":`+
				`"{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"1\"}"}`)
			return json.RawMessage(`{"stopReason":"end_turn","usage":{"inputTokens":40,"outputTokens":5,"cachedInputTokens":8,"totalTokens":45}}`), nil
		}
		r.chunk(a, `"text":"Done."`)
		return json.RawMessage(`{"stopReason":"end_turn"}`), nil
	})
	r.write("a.txt", "one\n")
	id := r.session(nil)
	var end struct {
		turnEnd
		Usage struct{ InputTokens, OutputTokens, CachedInputTokens int }
	}
	r.ask("tandem/session/prompt", prompt(id, "Look."), &end)
	equal(t, "stop", end.StopReason, "end_turn")
	equal(t, "usage", end.Usage, struct{ InputTokens, OutputTokens, CachedInputTokens int }{40, 5, 8})
	equal(t, "text", r.said(id, "agent_message_chunk"), "Looking now.Done.")
	equal(t, "thought", r.said(id, "agent_thought_chunk"), "I have to look.")
	if len(heard) != 2 {
		t.Fatalf("%d requests", len(heard))
	}
	first, second := heard[0], heard[1]
	equal(t, "model", first.Options.Model, "copilot/large")
	equal(t, "roles", first.Messages[0].Role+" "+first.Messages[1].Role, "system user")
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Function.Name)
		equal(t, tool.Function.Name, tool.Function.Parameters.Type, "object")
	}
	if !slices.Contains(names, "edit_file") || first.StreamID == second.StreamID {
		t.Errorf("%v %s", names, second.StreamID)
	}
	call := second.Messages[2]
	equal(t, "call", fmt.Sprint(call.Content, call.ToolCalls), `Looking now.[{one {read_file {"path":"a.txt"}}}`+
		` {two {edit_file {"path":"a.txt","old_text":"one","new_text":"1"}}}]`)
	equal(t, "results", second.Messages[3].ToolCallID+" "+second.Messages[4].ToolCallID, "one two")
	if !strings.Contains(second.Messages[4].Content, "File edited: a.txt") {
		t.Error(second.Messages[4].Content)
	}
	r.end()
}

// TestLentModelFails is what becomes of a turn whose lent model does not answer as it should.
func TestLentModelFails(t *testing.T) {
	half := func(r *rig, a asked) { r.chunk(a, `"text":"Half"`) }
	for _, c := range []struct {
		name   string
		answer func(r *rig, a asked) (any, error)
		want   string // stopReason, code and message, and what had been said
	}{
		{
			"refused", func(*rig, asked) (any, error) {
				return nil, &conformance.RPCError{Code: -32013, Message: "Tandem may not use the models of Copilot."}
			},
			`error unavailable "The editor's model does not answer: Tandem may not use the models of Copilot." ""`,
		},
		{
			"not served", func(*rig, asked) (any, error) { return nil, &conformance.RPCError{Code: -32601, Message: "No."} },
			`error unavailable "The editor says that it lends a model, but does not answer tandem/model/stream. Set \"model\" to another one." ""`,
		},
		{
			"midway", func(r *rig, a asked) (any, error) {
				half(r, a)
				return nil, &conformance.RPCError{Code: -32603, Message: "it broke"}
			},
			`error http "The editor's model failed: it broke." "Half"`,
		},
		{
			"broken off", func(r *rig, a asked) (any, error) {
				half(r, a)
				return json.RawMessage(`{"stopReason":"error"}`), nil
			},
			`error cut "The editor's model broke off: error." "Half"`,
		},
		{
			"too long", func(r *rig, a asked) (any, error) {
				half(r, a)
				return json.RawMessage(`{"stopReason":"max_tokens"}`), nil
			}, `max_tokens  "" "Half"`,
		},
		{
			"declined", func(r *rig, a asked) (any, error) { return json.RawMessage(`{"stopReason":"refusal"}`), nil },
			`refusal  "" ""`,
		},
		{
			"nonsense", func(r *rig, a asked) (any, error) { return "What?", nil }, "error http ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := lender(t, map[string]any{"model": "editor"}, c.answer)
			id := r.session(nil)
			end := r.prompt(id, "Go.")
			got := fmt.Sprintf("%s %s %q %q", end.StopReason, end.Error.Code, end.Error.Message, r.said(id, "agent_message_chunk"))
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if end.StopReason == "error" && !strings.Contains(r.said(id, "notice"), end.Error.Message) {
				t.Errorf("the person is told %q", r.said(id, "notice"))
			}
			r.end()
		})
	}
}

// TestLentModelCancelled cancels a turn while the editor's model streams: the editor is told at once, and later chunks are
// dropped.
func TestLentModelCancelled(t *testing.T) {
	begun, cancelled := make(chan asked, 1), make(chan struct{})
	var r *rig
	r = start(t, conformance.Options{
		Settings:     map[string]any{"model": "editor"},
		Capabilities: map[string]any{"experimental": map[string]any{"tandem": map[string]any{"model": true}}},
		Invoke: func(_ string, params json.RawMessage) (any, error) {
			var a asked
			if err := json.Unmarshal(params, &a); err != nil {
				return nil, err
			}
			begun <- a
			<-cancelled
			r.chunk(a, `"text":"Too late."`)
			return map[string]any{"stopReason": "end_turn"}, nil
		},
		Heard: func(method string, _ json.RawMessage) {
			if method == "$/cancelRequest" {
				close(cancelled)
			}
		},
	}, options(nil))
	id := r.session(nil)
	answer := r.Begin("tandem/session/prompt", prompt(id, "Go."))
	a := <-begun
	r.chunk(a, `"text":"In time."`)
	until(t, "the first words", patience, func() bool { return r.said(id, "agent_message_chunk") != "" })
	r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
	raw, err := answer(r.ctx)
	var end turnEnd
	if err != nil || json.Unmarshal(raw, &end) != nil || end.StopReason != "cancelled" {
		t.Errorf("%s %v", raw, err)
	}
	<-cancelled
	r.chunk(a, `"text":"Far too late."`)
	r.ask("tandem/session/setMode", map[string]any{"sessionId": id, "mode": "auto"}, nil)
	equal(t, "text", r.said(id, "agent_message_chunk"), "In time.")
	r.end()
}

// TestNobodyLends wants to be told what to set where the editor has no model.
func TestNobodyLends(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	for method, params := range map[string]map[string]any{
		"tandem/session/new":      {"model": "editor"},
		"tandem/session/setModel": {"sessionId": r.session(nil), "model": "editor/x"},
	} {
		e := r.refused(method, params)
		if e.Code != -32013 || !strings.Contains(e.Message, `This editor lends no model of its own: set "model" to another one`) {
			t.Errorf("%s: %+v", method, e)
		}
	}
	r.end()
}
