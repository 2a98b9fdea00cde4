package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"tandem/agent/model"
	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// answer is an answer that streams in.
type answer struct {
	loop  *Loop
	ctx   context.Context
	tools *tools.Set // that the request offered
	calls *run.Stream
	text  strings.Builder
	kept  []model.Thought
	asked []*asked // in the order of their first piece
	n     int      // the number of those submitted to calls
}

// asked is a call in an answer, complete once done.
type asked struct {
	index int
	call  run.Call
	kind  tools.Kind
	tool  string
	args  strings.Builder
	extra *model.Extra
	done  bool
	// streams says that the client is told of the arguments piece by piece, told that it knows of
	// the call.
	streams, told bool
	// place is the call's index among the submitted ones, -1 before that.
	place int
}

func (a *answer) delta(d model.Delta) {
	c := a.loop.Conversation
	switch {
	case d.Call != nil:
		a.callDelta(*d.Call)
	case d.Text != "":
		a.text.WriteString(d.Text)
		c.Tell(Event{Text: d.Text})
	case d.Thought != "":
		c.Tell(Event{Thought: d.Thought})
	case d.Kept != nil:
		k := *d.Kept
		k.AfterText, k.AfterCalls = a.text.Len(), len(a.asked)
		a.kept = append(a.kept, k)
	case d.Notice != "":
		c.Tell(Event{Notice: d.Notice})
	}
}

func (a *answer) callDelta(d model.CallDelta) {
	c := a.find(d)
	if d.Extra != nil {
		c.extra = d.Extra
		return
	}
	if c.done {
		return
	}
	c.args.WriteString(d.Arguments)
	if !d.Done {
		if !c.told || c.streams {
			c.told = true
			call := c.event(a.loop.Now(), run.Queued, "use")
			e := Event{Call: &call}
			if c.streams {
				e.Partial = c.args.String()
			}
			a.loop.Conversation.Tell(e)
		}
		return
	}
	c.done = true
	if a.ctx.Err() != nil {
		return
	}
	c.call.Arguments = json.RawMessage(c.args.String())
	if strings.TrimSpace(c.args.String()) == "" {
		c.call.Arguments = json.RawMessage("{}")
	}
	c.place = a.n
	a.n++
	a.loop.Conversation.Calling(c.call.ID, a.text.String())
	a.calls.Submit(c.call)
}

// find gives the call of a piece, a new one for its first.
func (a *answer) find(d model.CallDelta) *asked {
	for _, c := range a.asked {
		if c.index == d.Index {
			return c
		}
	}
	c := &asked{
		index: d.Index, tool: d.Name, kind: tools.Other, place: -1,
		call: run.Call{ID: a.loop.Conversation.CallID(d.ID), Name: d.Name},
	}
	tool := a.tools.Get(d.Name)
	if tool == nil && a.tools.DroppedBy(d.Name) == "" {
		if plain := unwrapped(d.Name); a.tools.Get(plain) != nil {
			c.call.Name, tool = plain, a.tools.Get(plain)
		}
	}
	if tool != nil {
		spec := tool.Spec()
		c.tool, c.kind, c.streams = spec.Name, spec.Kind, spec.InputStreaming
	}
	a.asked = append(a.asked, c)
	return c
}

// wrapping matches what several models and services leave round the name of a tool: blanks, a
// namespace that they make up for tools that have none, the number of the call, and a control token
// of the model's format with what follows it.
var wrapping = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\s*(?:(?:functions?|default_api|tools?)\s*[.:/]\s*)*([^.:/<]+?)\s*(?::\d+)?\s*(?:<\|.*)?$`)
})

// unwrapped is the name of a tool without what stands round it.
func unwrapped(name string) string {
	if m := wrapping().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

func (c *asked) event(at time.Time, s run.State, phase string) run.Event {
	return run.Event{Call: c.call, Tool: c.tool, Kind: c.kind, State: s, Phase: phase, Title: c.tool, At: at}
}

// CutOff is the result of an incomplete call.
func CutOff() tools.Result {
	return tools.Fail(filetime.Cancelled, "cut_off", "The call was cut off before it was complete: nothing was done.")
}

// drop sends the events of an incomplete call, which was announced and will not run.
func (l *Loop) drop(c *asked) {
	r := CutOff()
	r.Call = c.call.ID
	for _, state := range []run.State{run.Queued, run.Executing, run.Completed, run.Yielded} {
		e := c.event(l.Now(), state, "use")
		if state == run.Completed || state == run.Yielded {
			e.Phase, e.Result = "error", &r
		}
		l.Conversation.Tell(Event{Call: &e})
	}
}

// messages are the assistant's message of the answer, then one for each call's result.
func (a *answer) messages(results []tools.Result) []model.Message {
	own := model.Message{Role: model.Assistant, Text: a.text.String(), Thoughts: a.kept}
	if own.Text == "" && len(a.asked) == 0 {
		return nil
	}
	messages := []model.Message{own}
	a.loop.reflector.message()
	for _, c := range a.asked {
		r := CutOff()
		if c.place >= 0 {
			r = results[c.place]
		}
		messages[0].Calls = append(messages[0].Calls,
			model.Call{ID: c.call.ID, Name: c.call.Name, Arguments: c.args.String(), Extra: c.extra})
		m := ResultMessage(c.call, r)
		if again := r.Again; again != nil && unchanged(*again, a.loop.messages, messages) {
			m.Text = again.Instead
		}
		m.Text += a.loop.reflector.hint(c.call.Name, r)
		messages = append(messages, m)
	}
	return messages
}

// unchanged says that the messages, which the model will be sent again, have what it read again,
// and no word since that it has: whoever asks once more after that word gets the text.
func unchanged(again tools.Repeat, before ...[]model.Message) bool {
	there := false
	for _, list := range before {
		for _, m := range list {
			switch {
			case m.Role != model.Tool || m.Failed:
			case m.Text == again.Instead:
				there = false
			case strings.HasPrefix(m.Text, again.Head) && strings.Contains(m.Text, again.Lines):
				there = true
			}
		}
	}
	return there
}

// ResultMessage is a call's result as a message for the model.
func ResultMessage(c run.Call, r tools.Result) model.Message {
	text := r.Data
	if !r.Success {
		text = fmt.Sprintf("[%s] %s", r.Error, r.Data)
	}
	m := model.Message{Role: model.Tool, CallID: c.ID, Name: c.Name, Text: text, Failed: !r.Success}
	for _, p := range r.Parts {
		if p.Kind == tools.TextPart {
			m.Text += "\n" + p.Text
			continue
		}
		m.Attachments = append(m.Attachments, model.Attachment{MIMEType: p.MIMEType, Name: p.Name, Data: p.Data})
	}
	return m
}
