package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tandem/agent/model"
)

// invoked answers requests of the server that are no matter of documents.
func (r *run) invoked(method string, params json.RawMessage) (any, error) {
	switch method {
	case "tandem/model/stream":
		return r.lent(params)
	case "tandem/editor/request":
		return r.asked(params)
	}
	return nil, &RPCError{Code: -32601, Message: "no such method here: " + method}
}

// asked answers for the language servers of the editor: with the next line for the method, or the last one again.
func (r *run) asked(params json.RawMessage) (any, error) {
	var p struct{ Method string }
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.languages == nil {
		r.languages = map[string]int{}
	}
	r.languages[p.Method]++
	results, n := json.RawMessage("[]"), 0
	for line := range strings.Lines(r.known["languages"]) {
		if method, answer, ok := strings.Cut(strings.TrimSpace(r.fill(line)), " "); ok && method == p.Method && n < r.languages[p.Method] {
			results, n = json.RawMessage(answer), n+1
		}
	}
	return map[string]any{"results": results}, nil
}

// lent answers for the model that an editor lends, with the scenario's own.
func (r *run) lent(params json.RawMessage) (any, error) {
	var asked struct {
		StreamID string
		Messages []struct {
			Role       model.Role
			Content    string
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	var q model.Request
	for _, m := range asked.Messages {
		said := model.Message{Role: m.Role, Text: m.Content, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			said.Calls = append(said.Calls, model.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		q.Messages = append(q.Messages, said)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	r.mu.Lock()
	r.recall = cancel
	r.mu.Unlock()
	resp, err := actor{r}.Stream(ctx, q, func(d model.Delta) {
		chunk := map[string]any{"streamId": asked.StreamID}
		switch c := d.Call; {
		case c != nil && c.Done:
			return
		case c != nil:
			chunk["toolCall"] = map[string]any{"index": c.Index, "id": c.ID, "name": c.Name, "argumentsDelta": c.Arguments}
		case d.Thought != "":
			chunk["thought"] = d.Thought
		default:
			chunk["text"] = d.Text
		}
		r.e.Notify("tandem/model/chunk", chunk)
	})
	var failed *model.Error
	switch {
	case errors.As(err, &failed):
		return nil, &RPCError{Code: -32013, Message: failed.Message}
	case err != nil:
		return nil, &RPCError{Code: -32800, Message: err.Error()}
	case resp.Stop == model.StopCalls:
		resp.Stop = model.StopEnd
	}
	return map[string]any{"stopReason": resp.Stop}, nil
}

// recalled ends what the lent model is about to say.
func (r *run) recalled() {
	r.mu.Lock()
	cancel := r.recall
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
