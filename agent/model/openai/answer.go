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
	// items are in the order of their first event. Services differ in what tells them apart: the id
	// of an item may change with each event, and the index may be the same for all.
	items   []*item
	byIndex map[int64]*item
	said    bool
	refused bool
	end     *model.Response
}

func (a *answer) event(data []byte) error {
	e, _ := wire.ReadText[event](data)
	if e.Kind == "" {
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
	delta := wire.TextOf(e.Delta)
	switch e.Kind {
	case "response.output_item.added":
		a.begin(e)
	case "response.output_item.done":
		return a.finish(a.named(e), e.Item)
	case "response.output_text.delta":
		a.say(a.item(e, "message"), e.ContentIndex.N, delta.Said)
	case "response.output_text.done":
		a.rest(a.item(e, "message"), e.ContentIndex.N, wire.TextOf(e.Text).Said)
	case "response.refusal.delta":
		a.refused = true
		a.say(a.item(e, "message"), e.ContentIndex.N, delta.Said+delta.Refusal)
	case "response.refusal.done":
		a.refused = true
		refusal := wire.TextOf(e.Refusal)
		a.rest(a.item(e, "message"), e.ContentIndex.N, refusal.Said+refusal.Refusal)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(a.item(e, "reasoning"), delta.Said+delta.Thought)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex.N > 0 {
			a.think(a.item(e, "reasoning"), "\n\n")
		}
	case "response.function_call_arguments.delta":
		switch it := a.item(e, "function_call"); {
		case it.call < 0:
			return a.m.Bad("sent arguments of a call that had not begun")
		case it.finished:
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(it.call))
		default:
			a.calls.Write(it.call, wire.ArgsOf(e.Delta))
		}
	case "response.function_call_arguments.done":
		if it := a.item(e, "function_call"); it.call >= 0 && !a.arguments(it, wire.ArgsOf(e.Arguments)) {
			return a.m.Bad("sent arguments of %s that differ from their pieces", a.calls.Name(it.call))
		}
	case "response.completed", "response.incomplete", "response.done":
		return a.complete(e)
	case "response.failed", "response.cancelled":
		if r := wire.Read[response](e.Response); len(r.Failure) > 0 && string(r.Failure) != "null" {
			return a.m.Reported(r.Failure)
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
		if e.ItemID != "" && it.id == e.ItemID && it.kind == kind {
			return it
		}
	}
	it := a.byIndex[e.OutputIndex.N]
	if !e.OutputIndex.Set && len(a.items) > 0 {
		it = a.items[len(a.items)-1]
	}
	if it == nil || it.kind != kind {
		it = a.add(e.ItemID, kind)
		a.byIndex[e.OutputIndex.N] = it
	}
	return it
}

// begin takes an item that is announced.
func (a *answer) begin(e event) {
	o, ok := outputOf(e.Item)
	if !ok {
		return
	}
	it := a.byIndex[e.OutputIndex.N]
	if it == nil || it.finished || it.kind != o.Kind || it.call >= 0 {
		if o.Kind == "function_call" && o.callID() != "" && a.calls.Find(o.callID()) >= 0 {
			return // told twice
		}
		it = a.add(o.ID, o.Kind)
		a.byIndex[e.OutputIndex.N] = it
	}
	if o.Kind == "function_call" && it.call < 0 {
		it.call = a.calls.New(o.callID(), strings.TrimSpace(o.Name))
		a.calls.Write(it.call, o.Arguments)
	}
}

// named gives the item that an event repeats as a whole.
func (a *answer) named(e event) *item {
	o, _ := outputOf(e.Item)
	if it := a.ofCall(o); it != nil {
		return it
	}
	if e.ItemID == "" {
		e.ItemID = o.ID
	}
	if o.Kind == "function_call" { // one that was announced without its id
		if it := a.byIndex[e.OutputIndex.N]; it == nil || it.kind != o.Kind || it.finished || a.calls.ID(it.call) != "" && o.callID() != "" {
			it = a.add(o.ID, o.Kind)
			a.byIndex[e.OutputIndex.N] = it
		}
		return a.byIndex[e.OutputIndex.N]
	}
	it := a.item(e, o.Kind)
	if it.finished && it.id != o.ID {
		it = a.add(o.ID, o.Kind)
		a.byIndex[e.OutputIndex.N] = it
	}
	return it
}

// ofCall gives the item of a call that has the same id, nil for none.
func (a *answer) ofCall(o output) *item {
	for _, it := range a.items {
		if o.Kind == "function_call" && it.call >= 0 && o.callID() != "" && a.calls.ID(it.call) == o.callID() {
			return it
		}
	}
	return nil
}

// arguments takes all arguments of a call; false where its pieces were others.
func (a *answer) arguments(it *item, all string) bool {
	return strings.TrimSpace(all) == "" || a.calls.Rest(it.call, all)
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
	o, ok := outputOf(raw)
	if it.finished || !ok {
		return nil
	}
	it.finished = true
	switch o.Kind {
	case "message":
		part := int64(0)
		for c := wire.ElementsOf(o.Content); c.Next(); part++ {
			t := wire.TextOf(c.Value)
			a.refused = a.refused || t.Refusal != ""
			a.rest(it, part, t.Said+t.Refusal)
		}
		var extra wire.Extra
		extra.Add(raw, "id", "type", "role", "status", "content")
		if sealed := wire.Sealed(extra.Object()); sealed != nil && len(it.parts) > 0 {
			a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Sealed: sealed}})
		}
	case "function_call":
		if it.call < 0 {
			it.call = a.calls.New(o.callID(), strings.TrimSpace(o.Name))
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
		for s := wire.ElementsOf(o.Summary); s.Next(); {
			t := wire.TextOf(s.Value)
			texts = append(texts, t.Said+t.Thought)
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

// complete is the end of the answer. It repeats all of it, for services that have not sent the
// pieces.
func (a *answer) complete(e event) error {
	r := wire.Read[response](e.Response)
	nth := map[string]int{}
	for each := wire.ElementsOf(r.Output); each.Next(); {
		o, _ := outputOf(each.Value)
		it := a.ofCall(o)
		if it == nil {
			it = a.nth(o.Kind, nth[o.Kind])
		}
		nth[o.Kind]++
		if err := a.finish(it, each.Value); err != nil {
			return err
		}
	}
	resp := &model.Response{Stop: model.StopEnd, Usage: a.m.Priced(r.usage())}
	switch {
	case e.Kind == "response.incomplete" && r.Incomplete == "content_filter":
		resp.Stop, resp.Detail = model.StopRefusal, "The service's content filter stopped the answer."
	case e.Kind == "response.incomplete":
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

// settle declares the calls complete at the end of the answer, but none whose arguments have not
// come.
func (a *answer) settle() {
	for _, it := range a.items {
		if it.call >= 0 && (it.finished || a.calls.Whole(it.call)) {
			a.calls.Settle(it.call)
		}
	}
}

// kept tells what the model must get back with its calls.
func (a *answer) kept() { a.calls.KeepAll() }
