package openaichat

import (
	"encoding/json"
	"io"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// answer puts the pieces of one answer together.
type answer struct {
	m       *chat
	on      func(model.Delta)
	calls   wire.Calls
	indexes []int // the service's own, of each call
	thought strings.Builder
	usage   model.Usage
	said    bool
	refused bool
	finish  string
}

func (a *answer) event(data []byte) error {
	if string(data) == wire.Done {
		switch {
		case a.finish != "":
		case !a.said && a.calls.Len() == 0 && a.thought.Len() == 0:
			return a.m.Bad("sent an empty answer")
		default:
			a.stopped("stop") // some services only say that they are done
		}
		return io.EOF
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return a.m.BadEvent("Chat Completions", data)
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		return a.m.Reported(data)
	}
	if u := e.Usage; u != nil {
		a.usage = model.Usage{
			Input: u.PromptTokens, Output: u.CompletionTokens, CachedInput: max(u.Details.CachedTokens, u.CacheHit),
			CostUSD: u.Cost,
		}
	}
	for _, choice := range e.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		if m := choice.Message; m != nil && !a.said && a.calls.Len() == 0 && a.thought.Len() == 0 {
			d = *m // the whole answer in one event
		}
		if t := d.Reasoning + d.ReasoningContent; t != "" {
			a.thought.WriteString(t)
			a.on(model.Delta{Thought: t})
		}
		if t := d.Content + d.Refusal; t != "" {
			a.said = true
			a.refused = a.refused || d.Refusal != ""
			a.on(model.Delta{Text: t})
		}
		for _, tc := range d.ToolCalls {
			if err := a.call(tc); err != nil {
				return err
			}
		}
		if choice.FinishReason == "error" {
			return a.m.Reported(data)
		}
		if choice.FinishReason != "" && a.finish == "" {
			a.stopped(choice.FinishReason)
		}
	}
	return nil
}

// stopped is the end of what the model writes; usage may still come.
func (a *answer) stopped(reason string) {
	a.finish = reason
	a.calls.SettleAll(reason != "length" && reason != "content_filter")
	if a.calls.Len() > 0 && a.thought.Len() > 0 {
		a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Text: a.thought.String()}})
	}
}

// call takes one piece of a call. Services differ: the index may be missing or the same for several calls, the id may
// come with every piece.
func (a *answer) call(tc openai.ToolCall) error {
	last := len(a.indexes) - 1
	at, index := last, 0
	if tc.Index != nil {
		index = *tc.Index
		for at >= 0 && a.indexes[at] != index {
			at--
		}
	} else if last >= 0 {
		index = a.indexes[last]
	}
	another := at >= 0 && tc.ID != "" && a.calls.ID(at) != "" && tc.ID != a.calls.ID(at) && tc.Function.Name != ""
	if at < 0 || another {
		a.calls.SettleAll(false)
		a.indexes = append(a.indexes, index)
		at = a.calls.New("", "")
	}
	if a.calls.Done(at) {
		if strings.TrimSpace(tc.Function.Arguments) != "" {
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(at))
		}
		return nil
	}
	a.calls.Write(at, tc.Function.Arguments)
	a.calls.Identify(at, tc.ID, tc.Function.Name)
	return nil
}

func (a *answer) end() model.Response {
	resp := model.Response{Stop: model.StopEnd, Usage: a.m.Priced(a.usage)}
	switch {
	case a.finish == "length":
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case a.finish == "content_filter":
		resp.Stop, resp.Detail = model.StopRefusal, "The service's content filter stopped the answer."
	case a.calls.Len() > 0:
		resp.Stop = model.StopCalls
	case a.refused:
		resp.Stop = model.StopRefusal
	case !a.said:
		resp.Detail = a.m.Name() + " ended its answer without a word."
	}
	return resp
}
