package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tandem/agent/model"
	"tandem/agent/model/wire"
)

// Editor gives a model that an editor lends: the one that it knows by id, or for "" the one of its
// choice. The name is "editor", or "editor/id". An editor that is silent for longer than idle has
// failed.
func Editor(lend model.Lend, id string, idle time.Duration) model.Model {
	return &editor{lend, id, idle}
}

type editor struct {
	lend model.Lend
	id   string
	idle time.Duration
}

func (m *editor) Name() string {
	if m.id == "" {
		return "editor"
	}
	return "editor/" + m.id
}

func (m *editor) Stream(ctx context.Context, r model.Request, on func(model.Delta)) (model.Response, error) {
	loan, err := m.loan(r)
	if err != nil {
		return model.Response{}, &model.Error{
			Kind: "bad_response", Message: fmt.Sprintf("The conversation cannot be sent: %v.", err),
		}
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(m.idle, cancel)
	defer silent.Stop()
	a := lentAnswer{on: on, calls: wire.Calls{On: on}, places: map[int]int{}}
	lent, err := m.lend(asking, loan, func(c model.Chunk) {
		silent.Reset(m.idle)
		if a.chunk(c); a.bad != nil {
			cancel()
		}
	})
	var known *model.Error
	switch {
	case ctx.Err() != nil:
		return model.Response{}, ctx.Err()
	case a.bad != nil:
		return model.Response{}, a.bad
	case err != nil && asking.Err() != nil:
		return model.Response{}, &model.Error{
			Kind: "cut", Message: fmt.Sprintf("The editor's model has been silent for %s.", m.idle),
		}
	case err != nil:
		failed := model.Error{Kind: "http", Message: fmt.Sprintf("The editor's model failed: %v.", err)}
		if errors.As(err, &known) {
			failed = *known
		}
		if wire.TooLong(err.Error()) {
			failed.Kind, failed.Window = "context_window", wire.WindowIn(err.Error())
		}
		return model.Response{}, &failed
	}
	return a.end(lent)
}

func (m *editor) loan(r model.Request) (model.Loan, error) {
	messages, err1 := json.Marshal(said("", nil).Items(r.Messages))
	tools, err2 := json.Marshal(offered().Items(r.Tools))
	return model.Loan{Model: m.id, Messages: messages, Tools: tools}, errors.Join(err1, err2)
}

// lentAnswer is what an editor's model has said so far.
type lentAnswer struct {
	on     func(model.Delta)
	calls  wire.Calls
	places map[int]int // of the editor's indexes among calls
	said   bool
	bad    *model.Error
}

func (a *lentAnswer) chunk(c model.Chunk) {
	if c.ToolCall == nil {
		a.calls.SettleAll(false) // what comes next is no part of a call
	}
	switch t := c.ToolCall; {
	case a.bad != nil:
	case t != nil:
		at, ok := a.places[t.Index]
		if !ok {
			a.calls.SettleAll(false)
			at = a.calls.New(t.ID, t.Name)
			a.places[t.Index] = at
		}
		if a.calls.Done(at) && t.ArgumentsDelta != "" {
			a.bad = &model.Error{Kind: "bad_response", Message: fmt.Sprintf(
				"The editor's model went on with the arguments of %s after they were complete.", a.calls.Name(at))}
			return
		}
		a.calls.Write(at, t.ArgumentsDelta)
		a.calls.Identify(at, t.ID, t.Name)
	case c.Thought != "":
		a.on(model.Delta{Thought: c.Thought})
	case c.Text != "":
		a.said = true
		a.on(model.Delta{Text: c.Text})
	}
}

func (a *lentAnswer) end(lent model.Lent) (model.Response, error) {
	resp := model.Response{Stop: model.StopEnd, Usage: lent.Usage}
	switch cmp.Or(lent.StopReason, "end_turn") {
	case "max_tokens":
		a.calls.SettleAll(false)
		resp.Stop, resp.Detail = model.StopMaxTokens, "The answer reached the model's limit of tokens."
	case "refusal":
		resp.Stop, resp.Detail = model.StopRefusal, "The editor's model declined to answer."
	case "end_turn", "tool_calls":
		a.calls.SettleAll(true)
		if a.calls.Len() > 0 {
			resp.Stop = model.StopCalls
		} else if !a.said {
			resp.Detail = "The editor's model ended its answer without a word."
		}
	default:
		return model.Response{}, &model.Error{
			Kind: "cut", Message: fmt.Sprintf("The editor's model broke off: %s.", wire.Short(lent.StopReason, 100)),
		}
	}
	return resp, nil
}
