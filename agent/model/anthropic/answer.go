package anthropic

import (
	"encoding/json"
	"io"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// event is one event of the stream, as much of it as is used here.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
		StopDetails struct {
			Explanation string `json:"explanation"`
		} `json:"stop_details"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

// usage counts up during a stream; a field that is missing has not changed.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	Output     *int64 `json:"output_tokens"`
}

// answer puts the pieces of one answer together.
type answer struct {
	m      *messages
	on     func(model.Delta)
	calls  wire.Calls
	blocks map[int]*block
	// plain is the input that was neither read from a cache nor put into one.
	plain       int64
	usage       model.Usage
	said        bool
	stop        string
	explanation string
}

// block is one part of the answer: a call, or a thought until it is finished.
type block struct {
	kind     string
	call     int
	text     strings.Builder
	sealed   string // the signature, or all of a thought that is not shown
	finished bool
}

func (a *answer) event(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil || e.Type == "" {
		if wire.IsError(data) {
			return a.m.Reported(data)
		}
		return a.m.BadEvent("Messages", data)
	}
	switch e.Type {
	case "message_start":
		a.count(e.Message.Usage)
	case "content_block_start":
		a.begin(e)
	case "content_block_delta":
		return a.delta(e)
	case "content_block_stop":
		a.finish(e.Index)
	case "message_delta":
		a.count(e.Usage)
		if e.Delta.StopReason != "" && a.stop == "" {
			a.stopped(e.Delta.StopReason)
			a.explanation = e.Delta.StopDetails.Explanation
		}
	case "message_stop":
		if a.stop == "" {
			a.stopped("end_turn") // not all services give a reason
		}
		return io.EOF
	case "error":
		return a.m.Reported(data)
	}
	return nil
}

func (a *answer) count(u *usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		from *int64
		to   *int64
	}{
		{u.Input, &a.plain},
		{u.CacheWrite, &a.usage.CacheWrite},
		{u.CacheRead, &a.usage.CachedInput},
		{u.Output, &a.usage.Output},
	} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
}

func (a *answer) begin(e event) {
	b := &block{kind: e.Block.Type}
	a.blocks[e.Index] = b
	switch b.kind {
	case "text":
		a.say(e.Block.Text)
	case "thinking":
		b.sealed = e.Block.Signature
		a.think(b, e.Block.Thinking)
	case "redacted_thinking":
		b.sealed = e.Block.Data
	case "tool_use":
		b.call = a.calls.New(e.Block.ID, e.Block.Name)
		// Some services give the whole input here, others an empty object before the pieces.
		if in := strings.TrimSpace(string(e.Block.Input)); in != "" && in != "{}" && in != "null" {
			a.calls.Write(b.call, in)
		}
	}
}

func (a *answer) delta(e event) error {
	b := a.blocks[e.Index]
	if b == nil {
		b = &block{}
		a.blocks[e.Index] = b
	}
	switch e.Delta.Type {
	case "text_delta":
		a.say(e.Delta.Text)
	case "thinking_delta":
		a.think(b, e.Delta.Thinking)
	case "signature_delta":
		b.sealed += e.Delta.Signature
	case "input_json_delta":
		switch {
		case e.Delta.PartialJSON == "" || (b.kind != "tool_use" && b.kind != ""):
		case b.kind == "":
			return a.m.Bad("sent arguments of a call that had not begun")
		case b.finished:
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(b.call))
		default:
			a.calls.Write(b.call, e.Delta.PartialJSON)
		}
	}
	return nil
}

func (a *answer) say(text string) {
	if text != "" {
		a.said = true
		a.on(model.Delta{Text: text})
	}
}

func (a *answer) think(b *block, text string) {
	if text != "" {
		b.text.WriteString(text)
		a.on(model.Delta{Thought: text})
	}
}

// finish is the end of a block. It is no proof that the arguments of a call are whole: where the limit of tokens cuts
// them off, the block ends just so.
func (a *answer) finish(index int) {
	b := a.blocks[index]
	if b == nil || b.finished {
		return
	}
	b.finished = true
	var sealed map[string]string
	switch {
	case b.kind == "tool_use" && a.calls.Whole(b.call):
		a.calls.Settle(b.call)
	case b.kind == "thinking" && b.sealed != "":
		sealed = map[string]string{"type": b.kind, "thinking": b.text.String(), "signature": b.sealed}
	case b.kind == "redacted_thinking":
		sealed = map[string]string{"type": b.kind, "data": b.sealed}
	}
	if sealed != nil {
		raw, _ := json.Marshal(sealed)
		a.on(model.Delta{Kept: &model.Thought{Model: a.m.Name(), Text: b.text.String(), Sealed: raw}})
	}
}

// stopped is the end of what the model writes; usage may still come.
func (a *answer) stopped(reason string) {
	a.stop = reason
	a.calls.SettleAll(reason == "tool_use" || reason == "end_turn" || reason == "stop_sequence")
}

func (a *answer) end() model.Response {
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
