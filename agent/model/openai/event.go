package openai

import (
	"cmp"
	"encoding/json"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	Kind         string          `wire:"type"`
	Object       string          `wire:"object,name"`
	Status       string          `wire:"status,name"`
	ItemID       string          `wire:"item_id,name"`
	OutputIndex  wire.Int        `wire:"output_index"`
	ContentIndex wire.Int        `wire:"content_index"`
	SummaryIndex wire.Int        `wire:"summary_index"`
	Delta        json.RawMessage `wire:"delta"`
	Text         json.RawMessage `wire:"text"`
	Refusal      json.RawMessage `wire:"refusal"`
	Arguments    json.RawMessage `wire:"arguments"`
	Item         json.RawMessage `wire:"item"`
	Response     json.RawMessage `wire:"response"`
}

// response is the whole answer, at its end.
type response struct {
	Failure    json.RawMessage `wire:"error"`
	Output     json.RawMessage `wire:"output"`
	Incomplete string          `wire:"incomplete_details.reason"`
	Input      wire.Int        `wire:"usage.input_tokens"`
	Answer     wire.Int        `wire:"usage.output_tokens"`
	Cached     wire.Int        `wire:"usage.input_tokens_details.cached_tokens"`
	Write      wire.Int        `wire:"usage.input_tokens_details.cache_write_tokens"`
	Cost       float64         `wire:"usage.cost"`
}

func (r response) usage() model.Usage {
	return model.Usage{Input: r.Input.N, Output: r.Answer.N, CachedInput: r.Cached.N, CacheWrite: r.Write.N, CostUSD: r.Cost}
}

// output is one item of the answer: a message, a call or a thought.
type output struct {
	Kind      string          `wire:"type"`
	Status    string          `wire:"status,name"`
	ID        string          `wire:"id,name"`
	Called    string          `wire:"call_id,name"`
	Name      string          `wire:"name,name"`
	Arguments string          `wire:"arguments,args"`
	Content   json.RawMessage `wire:"content"`
	Summary   json.RawMessage `wire:"summary"`
	Encrypted string          `wire:"encrypted_content"`
}

// outputOf reports false if raw is no object.
func outputOf(raw json.RawMessage) (o output, ok bool) {
	return wire.Read[output](raw), len(raw) > 0 && raw[0] == '{'
}

func (o output) callID() string { return cmp.Or(o.Called, o.ID) }
