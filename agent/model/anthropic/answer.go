package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// answer puts the pieces of one answer together.
type answer struct {
	m      *messages
	on     func(model.Delta)
	calls  wire.Calls
	blocks map[int64]*block
	all    []*block // in their order
	// last is the index of the newest block, for events that name none.
	last int64
	// plain is the input that was neither read from a cache nor put into one.
	plain       int64
	usage       model.Usage
	said        bool
	stop        string
	explanation string
}

// block is one part of the answer: a call, or a thought until it is finished.
type block struct {
	kind string
	call int
	// begun is the block as it began, which has fields that the service may want back.
	begun     json.RawMessage
	text      strings.Builder
	signature string
	finished  bool
}

func (a *answer) event(data []byte) error {
	e := eventOf(data)
	if e.kind == "" {
		if wire.IsError(data) {
			return a.m.Reported(data)
		}
		return a.m.BadEvent("Messages", data)
	}
	switch e.kind {
	case "message": // the whole answer of a service that does not stream
		a.count(e.usage)
		i := int64(0)
		for each := wire.ElementsOf(e.content); each.Next(); i++ {
			a.begin(event{index: wire.Int{N: i, Set: true}, block: each.Value})
			a.finish(i)
		}
		a.stop = cmp.Or(e.stop, "end_turn")
		return io.EOF
	case "message_start":
		a.count(e.begun)
	case "content_block_start":
		a.begin(e)
	case "content_block_delta":
		return a.delta(e)
	case "content_block_stop":
		a.finish(a.index(e))
	case "message_delta":
		a.count(e.usage)
		if d := deltaOf(e.delta); d.stop != "" && a.stop == "" {
			a.stop, a.explanation = d.stop, d.explanation
		}
	case "message_stop":
		if a.stop == "" {
			a.stop = "end_turn" // not all services give a reason
		}
		return io.EOF
	case "error":
		return a.m.Reported(data)
	}
	return nil
}

// index is the one of the block that an event belongs to.
func (a *answer) index(e event) int64 {
	if e.index.Set {
		return e.index.N
	}
	return a.last
}

// count takes what has been used so far; a field that is missing has not changed.
func (a *answer) count(usage json.RawMessage) {
	for f := wire.FieldsOf(usage); f.Next(); {
		to := (*int64)(nil)
		switch string(f.Key) {
		case "input_tokens":
			to = &a.plain
		case "cache_creation_input_tokens":
			to = &a.usage.CacheWrite
		case "cache_read_input_tokens":
			to = &a.usage.CachedInput
		case "output_tokens":
			to = &a.usage.Output
		}
		if n := wire.IntOf(f.Value); to != nil && n.Set {
			*to = n.N
		}
	}
}

func (a *answer) begin(e event) {
	s := startOf(e.block)
	if !e.index.Set {
		for a.blocks[a.last] != nil {
			a.last++
		}
	} else {
		a.last = e.index.N
	}
	// All blocks of some services have the same index, and some end a thought only after what
	// follows it has begun.
	for index, old := range a.blocks {
		if index == a.last || old.kind == "thinking" {
			a.finish(index)
		}
	}
	b := &block{kind: s.kind, begun: bytes.Clone(e.block), signature: s.signature}
	a.blocks[a.last] = b
	a.all = append(a.all, b)
	switch b.kind {
	case "text":
		a.say(b, s.text.Said)
	case "thinking":
		a.think(b, s.thinking.Said)
	case "tool_use":
		b.call = a.calls.New(s.id, strings.TrimSpace(s.name))
		// Some services give the whole input here, others an empty object before the pieces, or
		// both.
		if in := strings.TrimSpace(s.input); in != "" && in != "{}" {
			a.calls.Guess(b.call, in)
		}
	}
}

func (a *answer) delta(e event) error {
	b := a.blocks[a.index(e)]
	if b == nil {
		b = &block{}
		a.blocks[a.index(e)] = b
	}
	d := deltaOf(e.delta)
	kind := d.kind
	if kind == "" && d.input != "" {
		kind = "input_json_delta"
	} else if kind == "" && d.text.Said != "" {
		kind = "text_delta"
	}
	switch kind {
	case "text_delta":
		a.say(b, d.text.Said)
	case "thinking_delta":
		a.think(b, d.thinking.Said)
	case "signature_delta":
		b.signature += d.signature
	case "input_json_delta":
		switch {
		case d.input == "" || (b.kind != "tool_use" && b.kind != ""):
		case b.kind == "":
			return a.m.Bad("sent arguments of a call that had not begun")
		case a.calls.Done(b.call):
			if !a.calls.Repeats(b.call, d.input) {
				return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(b.call))
			}
		default:
			a.calls.Write(b.call, d.input)
		}
	}
	return nil
}

func (a *answer) say(b *block, text string) {
	if text != "" {
		a.said = true
		b.text.WriteString(text)
		a.on(model.Delta{Text: text})
	}
}

func (a *answer) think(b *block, text string) {
	if text != "" {
		b.text.WriteString(text)
		a.on(model.Delta{Thought: text})
	}
}

// finish is the end of a block. It is no proof that the arguments of a call are whole: where the
// limit of tokens cuts them off, the block ends just so.
func (a *answer) finish(index int64) {
	b := a.blocks[index]
	if b == nil || b.finished {
		return
	}
	b.finished = true
	var extra wire.Extra
	switch b.kind {
	case "tool_use":
		a.calls.Keep(b.call, b.begun, "type", "id", "name", "input")
		if a.calls.Whole(b.call) {
			a.calls.Settle(b.call)
		}
	case "text":
		if extra.Add(b.begun, "type", "text"); extra != nil && b.text.Len() > 0 {
			a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Sealed: wire.Sealed(extra.Object())}})
		}
	case "thinking", "redacted_thinking":
		own := map[string]string{"thinking": b.text.String(), "signature": b.signature}
		if b.kind == "redacted_thinking" {
			own = nil
		}
		a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Text: b.text.String(), Sealed: thinking(b.begun, own)}})
	}
}

// thinking is a block of a thought as it goes back: as it began, with what came since.
func thinking(begun json.RawMessage, own map[string]string) json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(begun, &fields)
	for name, text := range own {
		if _, there := fields[name]; there || text != "" {
			fields[name], _ = wire.Encode(text)
		}
	}
	raw, _ := wire.Encode(fields)
	return raw
}

// kept tells what the model must get back with its calls.
func (a *answer) kept() { a.calls.KeepAll() }

func (a *answer) end() model.Response {
	whole := a.stop == "tool_use" || a.stop == "end_turn" || a.stop == "stop_sequence"
	for _, b := range a.all {
		if b.kind == "tool_use" && (a.calls.Whole(b.call) || whole && b.finished) {
			a.calls.Settle(b.call)
		}
	}
	a.usage.Input = a.plain + a.usage.CacheWrite + a.usage.CachedInput
	resp := model.Response{Stop: model.StopEnd, Usage: a.m.Priced(a.usage)}
	switch a.stop {
	case "max_tokens":
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case "model_context_window_exceeded":
		resp.Stop = model.StopMaxTokens
		resp.Detail = "The answer reached the end of what the model can read. Start a new session, or use a model that can " +
			"read more."
	case "refusal":
		resp.Stop, resp.Detail = model.StopRefusal, "The model declined to answer."
		if a.explanation != "" {
			resp.Detail = "The model declined to answer: " + wire.Short(a.explanation, 300)
		}
	default:
		switch {
		case a.calls.Len() > 0:
			resp.Stop = model.StopCalls
		case !a.said:
			resp.Detail = a.m.Name() + " ended its answer without a word."
		}
	}
	return resp
}
