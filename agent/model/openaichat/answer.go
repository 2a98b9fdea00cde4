package openaichat

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// answer puts the pieces of one answer together.
type answer struct {
	m       *chat
	on      func(model.Delta)
	calls   wire.Calls
	indexes []int64 // the service's own, of each call
	thought strings.Builder
	// field is the one that thoughts come in. Several services send them in two fields at once.
	field   string
	extra   wire.Extra
	usage   model.Usage
	said    bool
	refused bool
	finish  string
	// wentOn says that more of the answer came after the event with the reason to end.
	wentOn bool
}

// early says that the reason to end may not be meant: the answer has gone on after one, or has not
// a word yet.
func (a *answer) early() bool {
	return a.wentOn || a.finish == "stop" && !a.said && a.calls.Len() == 0
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
	e, ok := eventOf(data)
	if !ok {
		return a.m.BadEvent("Chat Completions", data)
	}
	if len(e.Failure) > 0 && string(e.Failure) != "null" || !e.chosen() && wire.IsError(data) {
		return a.m.Reported(data)
	}
	a.count(e.Groq)
	a.count(e.Usage)
	for each := wire.ElementsOf(e.Choices); each.Next(); {
		c := wire.Read[choice](each.Value)
		if c.Index.N != 0 {
			continue
		}
		a.count(c.Usage)
		d, reason := c.Delta, strings.ToLower(c.Finish)
		if len(c.Message) > 0 && c.Message[0] == '{' && !a.said && a.calls.Len() == 0 && a.thought.Len() == 0 {
			d, reason = c.Message, cmp.Or(reason, "stop") // the whole answer in one event
		}
		if err := a.piece(d); err != nil {
			return err
		}
		switch {
		case reason == "error":
			return a.m.Reported(data)
		case slices.Contains(failures, strings.TrimPrefix(reason, "function_call_filter: ")):
			return a.m.Reported([]byte(`{"message":"the answer ended early: ` + reason + `"}`))
		case reason != "" && a.finish == "":
			a.stopped(reason)
		}
	}
	return nil
}

// What services call the end of an answer that its model did not mean: the limit of tokens, the
// filter of the service, and a failure, after which the request may be tried again.
var (
	limits   = []string{"length", "max_tokens", "max_output_tokens", "model_length"}
	filters  = []string{"content_filter", "content_filtered", "safety", "prohibited_content", "blocklist", "recitation", "sensitive"}
	failures = []string{"insufficient_system_resource", "network_error", "abort", "malformed_function_call", "unexpected_tool_call"}
)

func (a *answer) limited() bool  { return slices.Contains(limits, a.finish) }
func (a *answer) filtered() bool { return slices.Contains(filters, a.finish) }

func (a *answer) count(usage json.RawMessage) {
	if len(usage) == 0 || usage[0] != '{' {
		return
	}
	a.usage = usageOf(usage)
}

// piece takes a part of the message.
func (a *answer) piece(raw json.RawMessage) error {
	d := wire.Read[piece](raw)
	a.think("reasoning_content", d.ReasoningContent)
	a.think("reasoning", d.Reasoning)
	a.think("reasoning_text", d.ReasoningText)
	a.think("reasoning_details", d.ReasoningDetails)
	a.think("content", wire.Text{Thought: d.Content.Thought})
	a.wentOn = a.wentOn || a.finish != "" && (d.Content.Said != "" || len(d.ToolCalls) > 0)
	if t := d.Content.Said + d.Content.Refusal + d.Refusal.Said; t != "" {
		a.said = true
		a.refused = a.refused || d.Content.Refusal != "" || d.Refusal.Said != ""
		a.on(model.Delta{Text: t})
	}
	a.extra.Add(raw, "role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_text")
	for each := wire.ElementsOf(d.ToolCalls); each.Next(); {
		if err := a.call(each.Value); err != nil {
			return err
		}
	}
	for each := wire.ElementsOf(d.FunctionCall); each.Next(); {
		if err := a.call(slices.Concat([]byte(`{"function":`), each.Value, []byte{'}'})); err != nil {
			return err
		}
	}
	return nil
}

// think takes a piece of a thought, unless thoughts come in another field.
func (a *answer) think(field string, t wire.Text) {
	text := t.Thought + t.Said
	if text == "" || a.field != "" && a.field != field {
		return
	}
	a.field = field
	a.thought.WriteString(text)
	a.on(model.Delta{Thought: text})
}

// stopped is the end of what the model writes; usage may still come, and with some services the
// arguments of a call.
func (a *answer) stopped(reason string) {
	a.finish = reason
	a.calls.SettleAll(false)
}

// kept tells what the model must get back. An answer that was cut off after its first word is kept
// too.
func (a *answer) kept() {
	if !a.said && a.calls.Len() == 0 {
		return
	}
	a.calls.KeepAll()
	t := model.Thought{Model: a.m.Name(), Sealed: wire.Sealed(a.extra.Object())}
	if a.calls.Len() > 0 && a.thought.Len() > 0 {
		t.Text = a.thought.String()
		if a.field != "reasoning_content" {
			t.Field = a.field
		}
	}
	if t.Text != "" || t.Sealed != nil {
		a.on(model.Delta{Kept: &t})
	}
}

// call takes one piece of a call.
func (a *answer) call(raw json.RawMessage) error {
	if raw[0] != '{' {
		return nil
	}
	tc := toolCallOf(raw)
	at := a.place(tc)
	if at < 0 {
		a.calls.SettleAll(false)
		a.indexes = append(a.indexes, tc.Index.N)
		if last := len(a.indexes) - 2; !tc.Index.Set && last >= 0 {
			a.indexes[last+1] = a.indexes[last]
		}
		at = a.calls.New("", "")
	}
	a.calls.Keep(at, raw, "index", "id", "type", "function", "name", "arguments")
	a.calls.KeepIn(at, "function", tc.Function, "name", "arguments")
	args := tc.Arguments
	if strings.TrimSpace(args) != "" && !a.calls.Repeats(at, args) {
		if a.calls.Done(at) {
			return a.m.Bad("went on with the arguments of %s after they were complete", a.calls.Name(at))
		}
	} else if a.calls.Whole(at) {
		args = ""
	}
	a.calls.Write(at, args)
	a.calls.Identify(at, tc.ID, tc.Name)
	return nil
}

// place gives the call that a piece belongs to, -1 for a new one. Services differ: the index may be
// missing or the same for several calls, the id may be missing or come with every piece.
func (a *answer) place(tc toolCall) int {
	at := a.calls.Len() - 1
	same := a.calls.Find(tc.ID)
	switch {
	case tc.Index.Set:
		for at >= 0 && a.indexes[at] != tc.Index.N {
			at--
		}
		if at < 0 && tc.Name == "" {
			at = same
		}
	case same >= 0:
		at = same
	}
	if at >= 0 && a.another(at, tc) {
		return -1
	}
	return at
}

// another says that a piece begins another call than the one of its index.
func (a *answer) another(at int, tc toolCall) bool {
	name, id, known, args := tc.Name, tc.ID, a.calls.ID(at), tc.Arguments
	switch {
	case !tc.Index.Set && id != "" && known != "" && id != known:
		return true
	case name == "" || a.calls.Name(at) == "":
		return false
	case id != "" && known != "" && id != known:
		return true
	case strings.TrimSpace(args) == "" || !a.calls.Whole(at):
		return false
	case name == a.calls.Name(at):
		return !a.calls.Replaceable(at) && !a.calls.Repeats(at, args)
	}
	return true
}

func (a *answer) end() model.Response {
	a.calls.End(!a.limited() && !a.filtered())
	resp := model.Response{Stop: model.StopEnd, Usage: a.m.Priced(a.usage)}
	switch {
	case a.limited():
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case a.filtered():
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
