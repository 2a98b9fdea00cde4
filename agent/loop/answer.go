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

// answer collects one streamed answer and submits its calls.
type answer struct {
	loop      *Loop
	ctx       context.Context
	tools     *tools.Set // offered by the request
	stream    *run.Stream
	text      strings.Builder
	thoughts  []model.Thought
	pending   []*pendingCall // calls in the order of their first piece
	submitted int            // number of calls submitted to stream
}

// pendingCall is a call that streams in, complete once done.
type pendingCall struct {
	index int
	call  run.Call
	kind  tools.Kind
	tool  string
	args  strings.Builder
	extra *model.Extra
	done  bool
	// streamsArgs is set if the client gets the arguments piece by piece, isAnnounced once it knows
	// of the call.
	streamsArgs, isAnnounced bool
	// submitIndex is the call's index among the submitted ones, -1 before its submission.
	submitIndex int
}

func (a *answer) delta(d model.Delta) {
	c := a.loop.Conversation
	switch {
	case d.Call != nil:
		a.callDelta(*d.Call)
	case d.Text != "":
		a.text.WriteString(d.Text)
		c.Notify(Event{Text: d.Text})
	case d.Thought != "":
		c.Notify(Event{Thought: d.Thought})
	case d.Kept != nil:
		k := *d.Kept
		k.AfterText, k.AfterCalls = a.text.Len(), len(a.pending)
		a.thoughts = append(a.thoughts, k)
	case d.Notice != "":
		c.Notify(Event{Notice: d.Notice})
	}
}

// isEmpty reports whether nothing of the answer has come.
func (a *answer) isEmpty() bool { return a.text.Len()+len(a.thoughts)+len(a.pending) == 0 }

func (a *answer) callDelta(d model.CallDelta) {
	c := a.callOf(d)
	if d.Extra != nil {
		c.extra = d.Extra
		return
	}
	if c.done {
		return
	}
	c.args.WriteString(d.Arguments)
	if !d.Done {
		if !c.isAnnounced || c.streamsArgs {
			c.isAnnounced = true
			call := c.event(a.loop.Now(), run.Queued, "use")
			e := Event{Call: &call}
			if c.streamsArgs {
				e.Partial = c.args.String()
			}
			a.loop.Conversation.Notify(e)
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
	c.submitIndex = a.submitted
	a.submitted++
	a.loop.Conversation.AnnounceCall(c.call.ID, a.text.String())
	a.stream.Submit(c.call)
}

// callOf returns the call of a piece, a new one for its first.
func (a *answer) callOf(d model.CallDelta) *pendingCall {
	for _, c := range a.pending {
		if c.index == d.Index {
			return c
		}
	}
	c := &pendingCall{
		index: d.Index, tool: d.Name, kind: tools.Other, submitIndex: -1,
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
		c.tool, c.kind, c.streamsArgs = spec.Name, spec.Kind, spec.InputStreaming
	}
	a.pending = append(a.pending, c)
	return c
}

// nameWrapping matches a tool's name with the decoration that some models and services add: blanks,
// an invented namespace, the number of the call, and a control token of the model's format with the
// text after it.
var nameWrapping = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\s*(?:(?:functions?|default_api|tools?)\s*[.:/]\s*)*([^.:/<]+?)\s*(?::\d+)?\s*(?:<\|.*)?$`)
})

// unwrapped is the name of a tool without that decoration.
func unwrapped(name string) string {
	if m := nameWrapping().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

func (c *pendingCall) event(at time.Time, s run.State, phase string) run.Event {
	return run.Event{Call: c.call, Tool: c.tool, Kind: c.kind, State: s, Phase: phase, Title: c.tool, At: at}
}

// CutOff is the result of an incomplete call.
func CutOff() tools.Result {
	return tools.Fail(filetime.Cancelled, "cut_off", "The call was cut off before it was complete: nothing was done.")
}

// announceCutOff sends the final events of an incomplete call, which was announced and will not
// run.
func (l *Loop) announceCutOff(c *pendingCall) {
	r := CutOff()
	r.Call = c.call.ID
	for _, state := range []run.State{run.Queued, run.Executing, run.Completed, run.Yielded} {
		e := c.event(l.Now(), state, "use")
		if state == run.Completed || state == run.Yielded {
			e.Phase, e.Result = "error", &r
		}
		l.Conversation.Notify(Event{Call: &e})
	}
}

// messages are the assistant's message of the answer, then one for each call's result.
func (a *answer) messages(results []tools.Result) []model.Message {
	own := model.Message{Role: model.Assistant, Text: a.text.String(), Thoughts: a.thoughts}
	if own.Text == "" && len(a.pending) == 0 {
		return nil
	}
	messages := []model.Message{own}
	a.loop.reflector.nextMessage()
	for _, c := range a.pending {
		r := CutOff()
		if c.submitIndex >= 0 {
			r = results[c.submitIndex]
		}
		messages[0].Calls = append(messages[0].Calls,
			model.Call{ID: c.call.ID, Name: c.call.Name, Arguments: c.args.String(), Extra: c.extra})
		m := ResultMessage(c.call, r)
		if again := r.Again; again != nil && isUnchanged(*again, a.loop.messages, messages) {
			m.Text = again.Instead
		}
		m.Text += a.loop.reflector.hint(c.call.Name, r)
		messages = append(messages, m)
	}
	return messages
}

// isUnchanged reports whether the same lines are already in the history and no "unchanged" notice
// followed them. A model that reads once more after such a notice gets the text.
func isUnchanged(again tools.Repeat, before ...[]model.Message) bool {
	isPresent := false
	for _, list := range before {
		for _, m := range list {
			switch {
			case m.Role != model.Tool || m.Failed:
			case m.Text == again.Instead:
				isPresent = false
			case strings.HasPrefix(m.Text, again.Head) && strings.Contains(m.Text, again.Lines):
				isPresent = true
			}
		}
	}
	return isPresent
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
