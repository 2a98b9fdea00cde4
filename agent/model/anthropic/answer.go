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
	e, _ := wire.ReadText[event](data)
	if e.Kind == "" {
		if wire.IsError(data) {
			return a.m.Reported(data)
		}
		return a.m.BadEvent("Messages", data)
	}
	switch e.Kind {
	case "message": // the whole answer of a service that does not stream
		a.count(e.Usage)
		i := int64(0)
		for each := wire.ElementsOf(e.Content); each.Next(); i++ {
			a.begin(event{Index: wire.Int{N: i, Set: true}, Block: each.Value})
			a.finish(i)
		}
		a.stop = cmp.Or(e.Stop, "end_turn")
		return io.EOF
	case "message_start":
		a.count(e.Begun)
	case "content_block_start":
		a.begin(e)
	case "content_block_delta":
		return a.delta(e)
	case "content_block_stop":
		a.finish(a.index(e))
	case "message_delta":
		a.count(e.Usage)
		if d := wire.Read[delta](e.Delta); d.Stop != "" && a.stop == "" {
			a.stop, a.explanation = d.Stop, d.Explanation
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
	if e.Index.Set {
		return e.Index.N
	}
	return a.last
}

// count takes what has been used so far; a field that is missing has not changed.
func (a *answer) count(raw json.RawMessage) {
	u := wire.Read[usage](raw)
	for to, n := range map[*int64]wire.Int{
		&a.plain: u.Input, &a.usage.CacheWrite: u.Write, &a.usage.CachedInput: u.Cached, &a.usage.Output: u.Output,
	} {
		if n.Set {
			*to = n.N
		}
	}
}

func (a *answer) begin(e event) {
	s := wire.Read[start](e.Block)
	if !e.Index.Set {
		for a.blocks[a.last] != nil {
			a.last++
		}
	} else {
		a.last = e.Index.N
	}
	// All blocks of some services have the same index, and some end a thought only after what
	// follows it has begun.
	for index, old := range a.blocks {
		if index == a.last || old.kind == "thinking" {
			a.finish(index)
		}
	}
	b := &block{kind: s.Kind, begun: bytes.Clone(e.Block), signature: s.Signature}
	a.blocks[a.last] = b
	a.all = append(a.all, b)
	switch b.kind {
	case "text":
		a.say(b, s.Text.Said)
	case "thinking":
		a.think(b, s.Thinking.Said)
	case "tool_use":
		b.call = a.calls.New(s.ID, strings.TrimSpace(s.Name))
		// Some services give the whole input here, others an empty object before the pieces, or
		// both.
		if in := strings.TrimSpace(s.Input); in != "" && in != "{}" {
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
	d := wire.Read[delta](e.Delta)
	kind := d.Kind
	if kind == "" && d.Input != "" {
		kind = "input_json_delta"
	} else if kind == "" && d.Text.Said != "" {
		kind = "text_delta"
	}
	switch kind {
	case "text_delta":
		a.say(b, d.Text.Said)
	case "thinking_delta":
		a.think(b, d.Thinking.Said)
	case "signature_delta":
		b.signature += d.Signature
	case "input_json_delta":
		switch {
		case d.Input == "" || (b.kind != "tool_use" && b.kind != ""):
		case b.kind == "":
			return a.m.Bad("sent arguments of a call that had not begun")
		case a.calls.Done(b.call):
			if !a.calls.Repeats(b.call, d.Input) {
				return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(b.call))
			}
		default:
			a.calls.Write(b.call, d.Input)
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
