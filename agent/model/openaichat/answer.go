package openaichat

import (
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"tandem/agent/model"
)

// chunk is one event of the stream, as much of it as is used here. Error and the two kinds of reasoning are what
// services add to OpenAI's own form.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content          string            `json:"content"`
			Refusal          string            `json:"refusal"`
			Reasoning        string            `json:"reasoning"`
			ReasoningContent string            `json:"reasoning_content"`
			ToolCalls        []openai.ToolCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openai.Usage   `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (m *chat) chunk(raw []byte, a *answer) error {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return m.bad("sent an event that is not of the Chat Completions format: " + short(m.clean(string(raw)), 200))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return m.streamError(raw)
	}
	if c.Usage != nil {
		a.usage = model.Usage{Input: int64(c.Usage.PromptTokens), Output: int64(c.Usage.CompletionTokens)}
		if d := c.Usage.PromptTokensDetails; d != nil {
			a.usage.CachedInput = int64(d.CachedTokens)
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		d := choice.Delta
		if t := d.Reasoning + d.ReasoningContent; t != "" {
			a.on(model.Delta{Thought: t})
		}
		if d.Content != "" {
			a.on(model.Delta{Text: d.Content})
		}
		if d.Refusal != "" {
			a.refused = true
			a.on(model.Delta{Text: d.Refusal})
		}
		for _, tc := range d.ToolCalls {
			if err := a.call(tc); err != nil {
				return m.bad(err.Error())
			}
		}
		if choice.FinishReason == "error" {
			return m.streamError(raw)
		}
		if choice.FinishReason != "" && a.finish == "" {
			a.finish = choice.FinishReason
			a.settle(a.finish != "length")
		}
	}
	return nil
}

// answer puts the pieces of one answer together.
type answer struct {
	on      func(model.Delta)
	calls   []*call
	usage   model.Usage
	refused bool
	finish  string
}

type call struct {
	index       int // the service's own
	id, name    string
	args        strings.Builder
	begun, done bool
}

// call takes one piece of a call. Services differ: the index may be missing or the same for several calls, the id may
// come with every piece.
func (a *answer) call(tc openai.ToolCall) error {
	last := len(a.calls) - 1
	at, index := last, 0
	if tc.Index != nil {
		index = *tc.Index
		for at >= 0 && a.calls[at].index != index {
			at--
		}
	} else if last >= 0 {
		index = a.calls[last].index
	}
	another := at >= 0 && tc.ID != "" && a.calls[at].id != "" && tc.ID != a.calls[at].id && tc.Function.Name != ""
	if at < 0 || another {
		a.settle(false)
		a.calls = append(a.calls, &call{index: index})
		at = last + 1
	}
	c := a.calls[at]
	if c.done {
		if strings.TrimSpace(tc.Function.Arguments) != "" {
			return fmt.Errorf("went on with the arguments of %s after they were complete", c.name)
		}
		return nil
	}
	if !c.begun {
		if c.id == "" {
			c.id = tc.ID
		}
		c.name += tc.Function.Name
	}
	c.args.WriteString(tc.Function.Arguments)
	switch {
	case c.begun && tc.Function.Arguments != "":
		a.on(model.Delta{Call: &model.CallDelta{Index: at, Arguments: tc.Function.Arguments}})
	case !c.begun && c.name != "":
		a.begin(at)
	}
	return nil
}

func (a *answer) begin(at int) {
	c := a.calls[at]
	c.begun = true
	a.on(model.Delta{Call: &model.CallDelta{Index: at, ID: c.id, Name: c.name, Arguments: c.args.String()}})
}

// settle declares calls complete: all of them, or only those whose arguments are whole as they stand.
func (a *answer) settle(all bool) {
	for at, c := range a.calls {
		if c.done || (!all && !json.Valid([]byte(c.args.String()))) {
			continue
		}
		if !c.begun {
			a.begin(at)
		}
		c.done = true
		a.on(model.Delta{Call: &model.CallDelta{Index: at, Done: true}})
	}
}

func (a *answer) end() (model.Response, error) {
	resp := model.Response{Stop: model.StopEnd, Usage: a.usage}
	switch {
	case a.finish == "length":
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case a.finish == "content_filter":
		resp.Stop, resp.Detail = model.StopRefusal, "The service's content filter stopped the answer."
	case len(a.calls) > 0:
		resp.Stop = model.StopCalls
	case a.refused:
		resp.Stop = model.StopRefusal
	}
	return resp, nil
}
