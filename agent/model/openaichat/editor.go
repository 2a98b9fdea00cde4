package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// Lend asks an editor for an answer of its own model: messages and tools are as in Chat Completions. It calls on for
// every chunk, in their order and from one goroutine, and returns when the answer has ended.
type Lend func(ctx context.Context, messages, tools json.RawMessage, on func(Chunk)) (Lent, error)

// Chunk is a piece of a lent answer; one of its fields is set.
type Chunk struct {
	Text     string     `json:"text,omitempty"`
	Thought  string     `json:"thought,omitempty"`
	ToolCall *ChunkCall `json:"toolCall,omitempty"`
}

// ChunkCall is a piece of a call. Pieces with the same Index belong to one call.
type ChunkCall struct {
	Index          int    `json:"index"`
	ID             string `json:"id"`
	Name           string `json:"name,omitempty"`
	ArgumentsDelta string `json:"argumentsDelta,omitempty"`
}

// Lent is how a lent answer ended; StopReason is that of a turn.
type Lent struct {
	StopReason string `json:"stopReason"`
	Usage      struct {
		InputTokens       int64 `json:"inputTokens"`
		OutputTokens      int64 `json:"outputTokens"`
		CachedInputTokens int64 `json:"cachedInputTokens"`
	} `json:"usage"`
}

// Editor gives the model that an editor lends. Its name is "editor".
func Editor(lend Lend) model.Model { return editor{lend} }

type editor struct{ lend Lend }

func (editor) Name() string { return "editor" }

func (m editor) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	req := (&chat{&wire.Client{}}).request(r)
	messages, err1 := json.Marshal(req.Messages)
	tools, err2 := json.Marshal(req.Tools)
	if err := errors.Join(err1, err2); err != nil {
		return model.Response{}, &model.Error{
			Kind: "bad_response", Message: fmt.Sprintf("The conversation cannot be sent: %v.", err),
		}
	}
	calls, places, said := wire.Calls{On: on}, map[int]int{}, false
	lent, err := m.lend(ctx, messages, tools, func(c Chunk) {
		switch t := c.ToolCall; {
		case t != nil:
			at, ok := places[t.Index]
			if !ok {
				calls.SettleAll(false)
				at = calls.New("", "")
				places[t.Index] = at
			}
			calls.Write(at, t.ArgumentsDelta)
			calls.Identify(at, t.ID, t.Name)
		case c.Thought != "":
			on(model.Delta{Thought: c.Thought})
		case c.Text != "":
			said = true
			on(model.Delta{Text: c.Text})
		}
	})
	var known *model.Error
	switch {
	case ctx.Err() != nil:
		return model.Response{}, ctx.Err()
	case errors.As(err, &known):
		return model.Response{}, known
	case err != nil:
		return model.Response{}, &model.Error{Kind: "http", Message: fmt.Sprintf("The editor's model failed: %v.", err)}
	}
	resp := model.Response{Stop: model.StopEnd, Usage: model.Usage{
		Input: lent.Usage.InputTokens, Output: lent.Usage.OutputTokens, CachedInput: lent.Usage.CachedInputTokens,
	}}
	switch cmp.Or(lent.StopReason, "end_turn") {
	case "max_tokens":
		calls.SettleAll(false)
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case "refusal":
		resp.Stop, resp.Detail = model.StopRefusal, "The editor's model declined to answer."
	case "end_turn", "tool_calls":
		calls.SettleAll(true)
		if calls.Len() > 0 {
			resp.Stop = model.StopCalls
		} else if !said {
			resp.Detail = "The editor's model ended its answer without a word."
		}
	default:
		return model.Response{}, &model.Error{
			Kind: "cut", Message: fmt.Sprintf("The editor's model broke off: %s.", wire.Short(lent.StopReason, 100)),
		}
	}
	return resp, nil
}
