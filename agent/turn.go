package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// Turn is one prompt on its way to an answer.
type Turn struct {
	s      *Session
	number int
	in     Input
	name   string      // of the model that was asked for
	model  model.Model // nil where the turn was cancelled before it was found
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	// opened is closed when Open has done its part, which has failed or not.
	opened chan struct{}
	failed bool
	usage  model.Usage
	// unpriced says that the person knows of a limit of cost that cannot be kept.
	unpriced bool
	shown    string // of said
	said     model.Message
	// steered has what was said since and has not reached the model; once over nothing is added to it. Under s.mu.
	steered []steered
	over    bool
	kept    int        // of steered, how many are written down; under s.mu
	keeping sync.Mutex // held while they are written down
	// budget is what the turn's calls may use.
	budget *run.Budget
	// reflector sees the results before the model does.
	reflector reflector
	// messages are the system prompt and the history, as far as a request has had them.
	messages []model.Message
}

// Number counts the session's turns from 1.
func (t *Turn) Number() int { return t.number }

// Run carries the turn out. It must be called once, after Open. The end of ctx cancels the turn.
func (t *Turn) Run(ctx context.Context) TurnResult {
	defer context.AfterFunc(ctx, t.cancel)()
	if ctx.Err() != nil {
		t.cancel()
	}
	s := t.s
	defer t.end() // also where there was a fault in what follows
	stop, err := t.guarded(t.loop)
	t.cancel()
	stop, err = t.guarded(func() (StopReason, error) {
		t.leave()
		var own []model.Message
		s.mu.Lock()
		if last := s.history[len(s.history)-1]; last.Role != model.Assistant || len(last.Calls) > 0 {
			// Many models want every turn to end with words of their own.
			own = []model.Message{{Role: model.Assistant, Text: closing(stop)}}
			s.history = append(s.history, own...)
		}
		s.mu.Unlock()
		s.record.said(t.number, "", own...)
		s.record.ended(t.number, stop, t.usage, err)
		return stop, err
	})
	if err != nil {
		s.o.Log.Warn("turn failed", "session", s.o.ID, "turn", t.number, "model", t.name, "error", err)
		if m := (*model.Error)(nil); errors.As(err, &m) && m.Kind == "auth" {
			s.mu.Lock()
			clear(s.opened) // the next prompt asks for the key anew: somebody may have set another one
			s.mu.Unlock()
		}
		t.tell(Event{Notice: err.Error()})
	}
	s.teller.drain()
	return TurnResult{Stop: stop, Usage: t.usage, Turn: t.number, Err: err}
}

func (t *Turn) tell(e Event) { t.tellOnce(nil, e) }

// tellOnce tells of an event once a batch is written.
func (t *Turn) tellOnce(written *batch, e Event) {
	e.Turn, e.At = t.number, max(0, t.s.o.Now().Sub(t.began))
	t.s.teller.say(e, written)
}

// guarded does a part of the turn. A fault of ours ends the turn and not the session.
func (t *Turn) guarded(do func() (StopReason, error)) (stop StopReason, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.s.o.Log.Error("turn panicked", "panic", v, "stack", string(debug.Stack()))
			stop, err = Failed, errors.New("there was a fault inside Tandem; the session goes on, and the log has the details")
		}
	}()
	return do()
}

// loop sends requests until the model has nothing more to do.
func (t *Turn) loop() (StopReason, error) {
	t.s.mu.Lock()
	most := t.s.config.Budget.MaxTurnRequests
	t.s.mu.Unlock()
	if unseen := prompt.Unseen(t.s.fitting(t.in.Blocks)); len(unseen) > 0 {
		t.tell(Event{Notice: fmt.Sprintf("The model does not get what was attached: %s. It takes text, and images in PNG, JPEG, "+
			"GIF and WebP of up to limits.maxImageBytes.", strings.Join(unseen, ", "))})
	}
	warned := false // the model has been told that the budget is used up, and has had a request to wind up
	for range most {
		if t.ctx.Err() != nil {
			return Cancelled, nil
		}
		t.join()
		resp, more, err := t.request()
		switch {
		case t.ctx.Err() != nil:
			return Cancelled, nil
		case err != nil:
			return Failed, err
		case more && t.dear():
			return BudgetExceeded, nil
		case more && warned:
			return t.spent(), nil
		case more:
			warned = t.budget.Refused()
			continue
		}
		if resp.Detail != "" {
			t.tell(Event{Notice: resp.Detail})
		}
		switch resp.Stop {
		case model.StopMaxTokens:
			return MaxTokens, nil
		case model.StopRefusal:
			return Refusal, nil
		}
		if t.done() {
			if warned {
				return t.spent(), nil
			}
			return EndTurn, nil
		}
	}
	t.tell(Event{Notice: fmt.Sprintf("The turn stopped after %d requests to the model (budget.maxTurnRequests).", most)})
	return MaxTurnRequests, nil
}

// spent ends a turn whose calls have used up their budget.
func (t *Turn) spent() StopReason {
	t.tell(Event{Notice: "The turn used up what its tool calls may take (budget.maxToolCalls, budget.maxToolTimeMs)."})
	return BudgetExceeded
}

// request sends one request, carries out what the model asks for while it is still writing, and puts its answer with
// the results into the history. more says that the model waits for the results.
func (t *Turn) request() (resp model.Response, more bool, err error) {
	s := t.s
	t.rules()
	host := s.host(t.number, t.began, t.cancel)
	host.Budget = t.budget
	a := &answer{t: t, calls: run.NewStream(t.ctx, host)}
	resp, err = t.stream(a)
	results := a.calls.Wait()
	t.used(resp.Usage)
	for _, c := range a.asked {
		if c.place < 0 {
			t.drop(c)
		}
	}
	more = err == nil && resp.Stop == model.StopCalls && len(a.asked) > 0
	messages := a.messages(results)
	s.mu.Lock()
	s.history = append(s.history, messages...)
	s.mu.Unlock()
	s.teller.keep(s.record.said(t.number, a.text.String(), messages...))
	return resp, more, err
}

// used adds to what the turn and the session have used.
func (t *Turn) used(u model.Usage) {
	if u == (model.Usage{}) {
		return
	}
	t.usage = t.usage.Add(u)
	t.s.mu.Lock()
	t.s.usage = t.s.usage.Add(u)
	all := t.s.usage
	t.s.mu.Unlock()
	sum := t.usage
	t.tell(Event{Usage: &sum, Session: all, Context: u.Input + u.Output})
}

// dear says that the turn has cost what it may cost, and tells the person; also where that cannot be known.
func (t *Turn) dear() bool {
	t.s.mu.Lock()
	most := t.s.config.Budget.MaxCostUSD
	t.s.mu.Unlock()
	switch {
	case most <= 0:
	case t.usage.CostUSD >= most:
		t.tell(Event{Notice: fmt.Sprintf("The turn has cost $%.4f, and budget.maxCostUsd is %g.", t.usage.CostUSD, most)})
		return true
	case t.usage.CostUSD == 0 && !t.unpriced:
		t.unpriced = true
		t.tell(Event{Notice: fmt.Sprintf("budget.maxCostUsd cannot be heeded: what %s costs is not known. Set the prices of "+
			"its provider, or limit budget.maxTurnRequests.", t.model.Name())})
	}
	return false
}

// rules tells the model of the rules that hold where it has come to look.
func (t *Turn) rules() {
	s := t.s
	s.system() // has the workspace's own, which come first
	if found := s.rules.found(t.ctx); found != "" {
		told := model.Message{Role: model.User, Text: found}
		s.mu.Lock()
		s.history = append(s.history, told)
		s.mu.Unlock()
		s.teller.keep(s.record.said(t.number, "", told))
	}
}

// stream asks the model. A fault of its driver must not take the session with it.
func (t *Turn) stream(a *answer) (resp model.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.s.o.Log.Error("model driver panicked", "model", t.model.Name(), "panic", v, "stack", string(debug.Stack()))
			err = &model.Error{Kind: "bad_response", Message: fmt.Sprintf("The driver of %s failed: %v.", t.model.Name(), v)}
		}
	}()
	return model.Bounded(t.model).Stream(t.ctx, t.compose(), a.delta)
}

func (t *Turn) compose() model.Request {
	if t.messages == nil {
		t.messages = []model.Message{{Role: model.System, Text: t.s.system()}}
	}
	t.s.mu.Lock()
	t.messages = append(t.messages, t.s.history[len(t.messages)-1:]...) // history only grows
	t.s.mu.Unlock()
	r := model.Request{Messages: t.messages[:len(t.messages):len(t.messages)], Session: t.s.cacheKey}
	for _, tool := range t.s.o.Registry.List() {
		spec := tool.Spec()
		r.Tools = append(r.Tools, model.ToolSpec{
			Name: spec.Name, Description: spec.Description, Parameters: tool.Schema().JSON(),
		})
	}
	return r
}

// answer is what a model has said of one answer so far.
type answer struct {
	t     *Turn
	calls *run.Stream
	text  strings.Builder
	kept  []model.Thought
	asked []*asked // in the order in which they began
	n     int      // how many of them have been handed to calls
}

// asked is a call that the model is writing or has written.
type asked struct {
	index int
	call  run.Call
	kind  tools.Kind
	tool  string
	args  strings.Builder
	done  bool
	// place is the call's among those that were handed on, -1 before that.
	place int
}

func (a *answer) delta(d model.Delta) {
	switch {
	case d.Call != nil:
		a.callDelta(*d.Call)
	case d.Text != "":
		a.text.WriteString(d.Text)
		a.t.tell(Event{Text: d.Text})
	case d.Thought != "":
		a.t.tell(Event{Thought: d.Thought})
	case d.Kept != nil:
		k := *d.Kept
		k.AfterText, k.AfterCalls = a.text.Len(), len(a.asked)
		a.kept = append(a.kept, k)
	case d.Notice != "":
		a.t.tell(Event{Notice: d.Notice})
	}
}

func (a *answer) callDelta(d model.CallDelta) {
	c := a.find(d)
	if c.done {
		return
	}
	c.args.WriteString(d.Arguments)
	if !d.Done {
		e := c.event(a.t.s.o.Now(), run.Queued, "use")
		a.t.tell(Event{Call: &e, Partial: c.args.String()})
		return
	}
	c.done = true
	if a.t.ctx.Err() != nil {
		return
	}
	c.call.Arguments = json.RawMessage(c.args.String())
	if strings.TrimSpace(c.args.String()) == "" {
		c.call.Arguments = json.RawMessage("{}")
	}
	c.place = a.n
	a.n++
	a.t.s.record.say(c.call.ID, a.text.String())
	a.calls.Submit(c.call)
}

// find gives the call that a piece belongs to, a new one for its first piece.
func (a *answer) find(d model.CallDelta) *asked {
	for _, c := range a.asked {
		if c.index == d.Index {
			return c
		}
	}
	c := &asked{
		index: d.Index, tool: d.Name, kind: tools.Other, place: -1,
		call: run.Call{ID: a.t.s.callID(d.ID), Name: d.Name},
	}
	if tool := a.t.s.o.Registry.Get(d.Name); tool != nil {
		c.tool, c.kind = tool.Spec().Name, tool.Spec().Kind
	}
	a.asked = append(a.asked, c)
	return c
}

func (c *asked) event(at time.Time, s run.State, phase string) run.Event {
	return run.Event{Call: c.call, Tool: c.tool, Kind: c.kind, State: s, Phase: phase, Title: c.tool, At: at}
}

// cutOff is the result of a call that the model never finished writing.
func cutOff() tools.Result {
	return tools.Fail(filetime.Cancelled, "cut_off", "The call was cut off before it was complete: nothing was done.")
}

// drop tells the client that a call which it has seen begin will not be carried out.
func (t *Turn) drop(c *asked) {
	r := cutOff()
	r.Call = c.call.ID
	for _, state := range []run.State{run.Queued, run.Executing, run.Completed, run.Yielded} {
		e := c.event(t.s.o.Now(), state, "use")
		if state == run.Completed || state == run.Yielded {
			e.Phase, e.Result = "error", &r
		}
		t.tell(Event{Call: &e})
	}
}

// messages are what the answer adds to the history: the model's own message, then one for each call's result.
func (a *answer) messages(results []tools.Result) []model.Message {
	own := model.Message{Role: model.Assistant, Text: a.text.String(), Thoughts: a.kept}
	if own.Text == "" && len(a.asked) == 0 {
		return nil
	}
	messages := []model.Message{own}
	a.t.reflector.message()
	for _, c := range a.asked {
		r := cutOff()
		if c.place >= 0 {
			r = results[c.place]
		}
		text := r.Data
		if !r.Success {
			text = fmt.Sprintf("[%s] %s", r.Error, r.Data)
		}
		text += a.t.reflector.hint(c.call.Name, r)
		messages[0].Calls = append(messages[0].Calls,
			model.Call{ID: c.call.ID, Name: c.call.Name, Arguments: c.args.String()})
		messages = append(messages, model.Message{
			Role: model.Tool, CallID: c.call.ID, Name: c.call.Name, Text: text, Failed: !r.Success,
		})
	}
	return messages
}
