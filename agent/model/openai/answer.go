package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	Type         string          `json:"type"`
	Object       wire.Name       `json:"object"`
	Status       wire.Name       `json:"status"`
	ItemID       wire.Name       `json:"item_id"`
	OutputIndex  wire.Int        `json:"output_index"`
	ContentIndex wire.Int        `json:"content_index"`
	SummaryIndex wire.Int        `json:"summary_index"`
	Delta        json.RawMessage `json:"delta"`
	Text         wire.Text       `json:"text"`
	Refusal      wire.Text       `json:"refusal"`
	Arguments    wire.Args       `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
}

// response is the whole answer, at its end.
type response struct {
	Error      json.RawMessage            `json:"error"`
	Output     wire.List[json.RawMessage] `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		Input   wire.Int `json:"input_tokens"`
		Output  wire.Int `json:"output_tokens"`
		Details struct {
			Cached wire.Int `json:"cached_tokens"`
			Write  wire.Int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Cost wire.Float `json:"cost"`
	} `json:"usage"`
}

// output is one item of the answer: a message, a call or a thought.
type output struct {
	Type      string                     `json:"type"`
	Status    wire.Name                  `json:"status"`
	ID        wire.Name                  `json:"id"`
	CallID    wire.Name                  `json:"call_id"`
	Name      wire.Name                  `json:"name"`
	Arguments wire.Args                  `json:"arguments"`
	Content   wire.List[json.RawMessage] `json:"content"`
	Summary   wire.List[wire.Text]       `json:"summary"`
	Encrypted string                     `json:"encrypted_content"`
}

func (o output) callID() string { return string(cmp.Or(o.CallID, o.ID)) }

// item is what has come of one output item.
type item struct {
	id, kind string
	call     int // -1 for other items
	// parts is how much of each part of a message has been said.
	parts    map[int64]int
	thought  bool
	finished bool
}

// answer puts the pieces of one answer together.
type answer struct {
	m     *responses
	on    func(model.Delta)
	calls wire.Calls
	// items are in the order of their first event. Services differ in what tells them apart: the id of an item may change
	// with each event, and the index may be the same for all.
	items   []*item
	byIndex map[int64]*item
	said    bool
	refused bool
	end     *model.Response
}

func (a *answer) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Type == "" {
		switch {
		case e.Object == "response": // the whole answer of a service that does not stream
			return a.event(fmt.Appendf(nil, `{"type":"response.%s","response":%s}`, cmp.Or(e.Status, "completed"), data))
		case string(data) == wire.Done:
			return nil // some gateways add it; it says nothing about the answer
		case wire.IsError(data):
			return a.m.Reported(data)
		}
		return a.m.BadEvent("Responses", data)
	}
	var delta wire.Text
	_ = json.Unmarshal(e.Delta, &delta)
	switch e.Type {
	case "response.output_item.added":
		a.begin(e)
	case "response.output_item.done":
		return a.finish(a.named(e), e.Item)
	case "response.output_text.delta":
		a.say(a.item(e, "message"), e.ContentIndex.N, delta.Said)
	case "response.output_text.done":
		a.rest(a.item(e, "message"), e.ContentIndex.N, e.Text.Said)
	case "response.refusal.delta":
		a.refused = true
		a.say(a.item(e, "message"), e.ContentIndex.N, delta.Said+delta.Refusal)
	case "response.refusal.done":
		a.refused = true
		a.rest(a.item(e, "message"), e.ContentIndex.N, e.Refusal.Said+e.Refusal.Refusal)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(a.item(e, "reasoning"), delta.Said+delta.Thought)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex.N > 0 {
			a.think(a.item(e, "reasoning"), "\n\n")
		}
	case "response.function_call_arguments.delta":
		var args wire.Args
		_ = json.Unmarshal(e.Delta, &args)
		switch it := a.item(e, "function_call"); {
		case it.call < 0:
			return a.m.Bad("sent arguments of a call that had not begun")
		case it.finished:
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(it.call))
		default:
			a.calls.Write(it.call, string(args))
		}
	case "response.function_call_arguments.done":
		if it := a.item(e, "function_call"); it.call >= 0 && !a.arguments(it, e.Arguments) {
			return a.m.Bad("sent arguments of %s that differ from their pieces", a.calls.Name(it.call))
		}
	case "response.completed", "response.incomplete":
		return a.complete(e)
	case "response.failed", "response.cancelled":
		var r response
		_ = json.Unmarshal(e.Response, &r)
		if len(r.Error) > 0 && string(r.Error) != "null" {
			return a.m.Reported(r.Error)
		}
		return a.m.Reported([]byte(`{"message":"the response failed without a reason"}`))
	case "error":
		return a.m.Reported(data)
	}
	return nil
}

func (a *answer) add(id, kind string) *item {
	it := &item{id: id, kind: kind, call: -1, parts: map[int64]int{}}
	a.items = append(a.items, it)
	return it
}

// item gives the item of an event, which is of that kind.
func (a *answer) item(e event, kind string) *item {
	for _, it := range slices.Backward(a.items) {
		if e.ItemID != "" && it.id == string(e.ItemID) && it.kind == kind {
			return it
		}
	}
	it := a.byIndex[e.OutputIndex.N]
	if !e.OutputIndex.Set && len(a.items) > 0 {
		it = a.items[len(a.items)-1]
	}
	if it == nil || it.kind != kind {
		it = a.add(string(e.ItemID), kind)
		a.byIndex[e.OutputIndex.N] = it
	}
	return it
}

// begin takes an item that is announced.
func (a *answer) begin(e event) {
	var o output
	if json.Unmarshal(e.Item, &o) != nil {
		return
	}
	it := a.byIndex[e.OutputIndex.N]
	if it == nil || it.finished || it.kind != o.Type || it.call >= 0 {
		if o.Type == "function_call" && o.callID() != "" && a.calls.Find(o.callID()) >= 0 {
			return // told twice
		}
		it = a.add(string(o.ID), o.Type)
		a.byIndex[e.OutputIndex.N] = it
	}
	if o.Type == "function_call" && it.call < 0 {
		it.call = a.calls.New(o.callID(), strings.TrimSpace(string(o.Name)))
		a.calls.Write(it.call, string(o.Arguments))
	}
}

// named gives the item that an event repeats as a whole.
func (a *answer) named(e event) *item {
	var o output
	_ = json.Unmarshal(e.Item, &o)
	if it := a.ofCall(o); it != nil {
		return it
	}
	if e.ItemID == "" {
		e.ItemID = o.ID
	}
	if o.Type == "function_call" { // one that was announced without its id
		if it := a.byIndex[e.OutputIndex.N]; it == nil || it.kind != o.Type || it.finished || a.calls.ID(it.call) != "" && o.callID() != "" {
			it = a.add(string(o.ID), o.Type)
			a.byIndex[e.OutputIndex.N] = it
		}
		return a.byIndex[e.OutputIndex.N]
	}
	it := a.item(e, o.Type)
	if it.finished && it.id != string(o.ID) {
		it = a.add(string(o.ID), o.Type)
		a.byIndex[e.OutputIndex.N] = it
	}
	return it
}

// ofCall gives the item of a call that has the same id, nil for none.
func (a *answer) ofCall(o output) *item {
	for _, it := range a.items {
		if o.Type == "function_call" && it.call >= 0 && o.callID() != "" && a.calls.ID(it.call) == o.callID() {
			return it
		}
	}
	return nil
}

// arguments takes all arguments of a call; false where its pieces were others.
func (a *answer) arguments(it *item, all wire.Args) bool {
	return strings.TrimSpace(string(all)) == "" || a.calls.Rest(it.call, string(all))
}

func (a *answer) say(it *item, part int64, text string) {
	if text != "" {
		a.said = true
		it.parts[part] += len(text)
		a.on(model.Delta{Text: text})
	}
}

// rest is the part of a text that was not streamed, now that the whole text is known.
func (a *answer) rest(it *item, part int64, whole string) {
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
			var t wire.Text
			_ = json.Unmarshal(c, &t)
			a.refused = a.refused || t.Refusal != ""
			a.rest(it, int64(i), t.Said+t.Refusal)
		}
		var extra wire.Extra
		extra.Add(raw, "id", "type", "role", "status", "content")
		if sealed := wire.Sealed(extra.Object()); sealed != nil && len(it.parts) > 0 {
			a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Sealed: sealed}})
		}
	case "function_call":
		if it.call < 0 {
			it.call = a.calls.New(o.callID(), strings.TrimSpace(string(o.Name)))
		}
		a.calls.Keep(it.call, raw, "id", "type", "status", "call_id", "name", "arguments", "parsed_arguments")
		if !a.arguments(it, o.Arguments) {
			return a.m.Bad("sent arguments of %s that differ from their pieces", o.Name)
		}
		if o.Status != "incomplete" || a.calls.Whole(it.call) {
			a.calls.Settle(it.call)
		}
	case "reasoning":
		var texts []string
		for _, s := range o.Summary {
			texts = append(texts, s.Said+s.Thought)
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
	var r response
	_ = json.Unmarshal(e.Response, &r)
	nth := map[string]int{}
	for _, raw := range r.Output {
		var o output
		_ = json.Unmarshal(raw, &o)
		it := a.ofCall(o)
		if it == nil {
			it = a.nth(o.Type, nth[o.Type])
		}
		nth[o.Type]++
		if err := a.finish(it, raw); err != nil {
			return err
		}
	}
	u := r.Usage
	resp := &model.Response{Stop: model.StopEnd, Usage: a.m.Priced(model.Usage{
		Input: u.Input.N, Output: u.Output.N, CachedInput: u.Details.Cached.N, CacheWrite: u.Details.Write.N, CostUSD: float64(u.Cost),
	})}
	switch {
	case e.Type == "response.incomplete" && r.Incomplete.Reason == "content_filter":
		resp.Stop, resp.Detail = model.StopRefusal, "The service's content filter stopped the answer."
	case e.Type == "response.incomplete":
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case a.calls.Len() > 0:
		resp.Stop = model.StopCalls
		a.settle()
	case a.refused:
		resp.Stop = model.StopRefusal
	case !a.said:
		resp.Detail = a.m.Name() + " ended its answer without a word."
	}
	a.end = resp
	return io.EOF
}

// nth gives the item of a kind that came as the n-th, a new one where there are not so many.
func (a *answer) nth(kind string, n int) *item {
	for _, it := range a.items {
		if it.kind == kind {
			if n--; n < 0 {
				return it
			}
		}
	}
	return a.add("", kind)
}

// settle declares the calls complete at the end of the answer, but none whose arguments have not come.
func (a *answer) settle() {
	for _, it := range a.items {
		if it.call >= 0 && (it.finished || a.calls.Whole(it.call)) {
			a.calls.Settle(it.call)
		}
	}
}

// kept tells what the model must get back with its calls.
func (a *answer) kept() { a.calls.KeepAll() }
