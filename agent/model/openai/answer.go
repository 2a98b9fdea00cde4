package openai

import (
	"encoding/json"
	"io"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	ContentIndex int             `json:"content_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Text         string          `json:"text"`
	Refusal      string          `json:"refusal"`
	Arguments    string          `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     struct {
		Status     string            `json:"status"`
		Error      json.RawMessage   `json:"error"`
		Output     []json.RawMessage `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			Input   int64 `json:"input_tokens"`
			Output  int64 `json:"output_tokens"`
			Details struct {
				Cached int64 `json:"cached_tokens"`
				Write  int64 `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
			Cost float64 `json:"cost"`
		} `json:"usage"`
	} `json:"response"`
}

// output is one item of the answer: a message, a call or a thought.
type output struct {
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

// item is what has come of one output item.
type item struct {
	call int // -1 for other items
	// parts is how much of each part of a message has been said.
	parts    map[int]int
	thought  bool
	finished bool
}

// answer puts the pieces of one answer together.
type answer struct {
	m       *responses
	on      func(model.Delta)
	calls   wire.Calls
	items   map[int]*item
	said    bool
	refused bool
	end     *model.Response
}

func (a *answer) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Type == "" {
		switch {
		case string(data) == wire.Done:
			return nil // some gateways add it; it says nothing about the answer
		case wire.IsError(data):
			return a.m.Reported(data)
		}
		return a.m.BadEvent("Responses", data)
	}
	switch it := a.item(e.OutputIndex); e.Type {
	case "response.output_item.added":
		var o output
		if json.Unmarshal(e.Item, &o) == nil && o.Type == "function_call" && it.call < 0 {
			it.call = a.calls.New(o.CallID, o.Name)
			a.calls.Write(it.call, o.Arguments)
		}
	case "response.output_item.done":
		return a.finish(it, e.Item)
	case "response.output_text.delta":
		a.say(it, e.ContentIndex, e.Delta)
	case "response.output_text.done":
		a.rest(it, e.ContentIndex, e.Text)
	case "response.refusal.delta":
		a.refused = true
		a.say(it, e.ContentIndex, e.Delta)
	case "response.refusal.done":
		a.refused = true
		a.rest(it, e.ContentIndex, e.Refusal)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(it, e.Delta)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			a.think(it, "\n\n")
		}
	case "response.function_call_arguments.delta":
		switch {
		case it.call < 0:
			return a.m.Bad("sent arguments of a call that had not begun")
		case it.finished:
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(it.call))
		}
		a.calls.Write(it.call, e.Delta)
	case "response.function_call_arguments.done":
		if it.call >= 0 && !a.calls.Rest(it.call, e.Arguments) {
			return a.m.Bad("sent arguments of %s that differ from their pieces", a.calls.Name(it.call))
		}
	case "response.completed", "response.incomplete":
		return a.complete(e)
	case "response.failed", "response.cancelled":
		if len(e.Response.Error) > 0 && string(e.Response.Error) != "null" {
			return a.m.Reported(e.Response.Error)
		}
		return a.m.Reported([]byte(`{"message":"the response failed without a reason"}`))
	case "error":
		return a.m.Reported(data)
	}
	return nil
}

func (a *answer) item(index int) *item {
	it := a.items[index]
	if it == nil {
		it = &item{call: -1, parts: map[int]int{}}
		a.items[index] = it
	}
	return it
}

func (a *answer) say(it *item, part int, text string) {
	if text != "" {
		a.said = true
		it.parts[part] += len(text)
		a.on(model.Delta{Text: text})
	}
}

// rest is the part of a text that was not streamed, now that the whole text is known.
func (a *answer) rest(it *item, part int, whole string) {
	if n := it.parts[part]; n < len(whole) {
		a.say(it, part, whole[n:])
	}
}

func (a *answer) think(it *item, text string) {
	if text != "" {
		it.thought = true
		a.on(model.Delta{Thought: text})
	}
}

// finish takes an item that is over. It also holds what has not come in pieces.
func (a *answer) finish(it *item, raw json.RawMessage) error {
	var o output
	if it.finished || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	it.finished = true
	switch o.Type {
	case "message":
		for i, c := range o.Content {
			a.refused = a.refused || c.Type == "refusal"
			a.rest(it, i, c.Text+c.Refusal)
		}
	case "function_call":
		if it.call < 0 {
			it.call = a.calls.New(o.CallID, o.Name)
		}
		if !a.calls.Rest(it.call, o.Arguments) && o.Arguments != "" {
			return a.m.Bad("sent arguments of %s that differ from their pieces", o.Name)
		}
		if o.Status != "incomplete" || a.calls.Whole(it.call) {
			a.calls.Settle(it.call)
		}
	case "reasoning":
		var texts []string
		for _, s := range o.Summary {
			texts = append(texts, s.Text)
		}
		text := strings.Join(texts, "\n\n")
		if !it.thought {
			a.think(it, text)
		}
		if o.Encrypted != "" {
			sealed := json.RawMessage(append([]byte(nil), raw...))
			a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Text: text, Sealed: sealed}})
		}
	}
	return nil
}

// complete is the end of the answer. It repeats all of it, for services that have not sent the pieces.
func (a *answer) complete(e event) error {
	r := e.Response
	for i, raw := range r.Output {
		if err := a.finish(a.item(i), raw); err != nil {
			return err
		}
	}
	u := r.Usage
	resp := &model.Response{Stop: model.StopEnd, Usage: a.m.Priced(model.Usage{
		Input: u.Input, Output: u.Output, CachedInput: u.Details.Cached, CacheWrite: u.Details.Write, CostUSD: u.Cost,
	})}
	switch {
	case e.Type == "response.incomplete" && r.Incomplete.Reason == "content_filter":
		resp.Stop, resp.Detail = model.StopRefusal, "The service's content filter stopped the answer."
	case e.Type == "response.incomplete":
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case a.calls.Len() > 0:
		resp.Stop = model.StopCalls
		a.calls.SettleAll(true)
	case a.refused:
		resp.Stop = model.StopRefusal
	case !a.said:
		resp.Detail = a.m.Name() + " ended its answer without a word."
	}
	a.end = resp
	return io.EOF
}
