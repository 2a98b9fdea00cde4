package conformance

import (
	"context"
	"encoding/json"
	"errors"

	"tandem/agent/model"
)

// lent answers for the model that an editor lends, with the scenario's own.
func (r *run) lent(method string, params json.RawMessage) (any, error) {
	if method != "tandem/model/stream" {
		return nil, &RPCError{Code: -32601, Message: "no such method here: " + method}
	}
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
