// Package loop runs one prompt: requests to a model and the tool calls of its answers, until the model has nothing more to
// do. It knows neither sessions nor what keeps them nor settings: the conversation that it goes on with is an interface.
package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// Event is one piece of news; exactly one of Text, Thought, User, Call, Usage, Notice and Mode is set.
type Event struct {
	Turn int
	// At is the time since the turn began.
	At      time.Duration
	Text    string
	Thought string
	User    string
	Call    *run.Event
	// Partial is the raw text of a call's arguments so far, while the model writes them; Call then names it.
	Partial string
	// Usage is the turn's so far; with it come the Session's, and Context, the tokens of the last request and its answer.
	Usage   *model.Usage
	Session model.Usage
	Context int64
	Notice  string
	Mode    string
}

// StopReason is why a turn ended; the values are those of the wire.
type StopReason string

// The reasons.
const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
	BudgetExceeded  StopReason = "budget_exceeded"
	Failed          StopReason = "error"
)

// Conversation is what a loop goes on with and adds to. Next, Since, Answered, Used and Done are called one at a time, the
// others also while the model writes and calls run.
type Conversation interface {
	// Next adds what the model is to be told before its next request: what a person has said meanwhile, rules that hold where
	// it has come to look.
	Next(ctx context.Context)
	// Since gives the messages from the nth on. Messages are only ever added.
	Since(n int) []model.Message
	// Answered adds a model's answer and the results of its calls. text is what the model said in it.
	Answered(text string, messages ...model.Message)
	// Used adds to the tokens and the money that the conversation has cost.
	Used(u model.Usage)
	// Done says that the model has had everything. After that nothing is added for this loop.
	Done() bool

	// CallID gives a model's call an id that no other call of the conversation has, the one that is wanted where it is free.
	CallID(wanted string) string
	// Calling announces that a call will be carried out, in whose answer the model has said text so far.
	Calling(id, text string)
	// Tell tells whoever follows the conversation. It must not block.
	Tell(e Event)
}

// Limits bound a loop; 0 is no limit of the cost.
type Limits struct {
	// Requests to the model.
	Requests int
	CostUSD  float64
}

// Loop is one prompt on its way to an answer. All fields must be set; Run must be called once.
type Loop struct {
	Model model.Model
	// System gives the first message of every request, the same one each time.
	System       func() string
	Conversation Conversation
	// Host gives what the calls of one answer run with, and in it the tools that the request offers; it is asked before each
	// request.
	Host func() *run.Host
	// Calls is what all calls together may take.
	Calls *run.Budget
	// Limits are asked before each request.
	Limits func() Limits
	// Key names the conversation to a service that keeps what it has read of it.
	Key string
	Now func() time.Time
	Log *slog.Logger

	usage model.Usage
	// unpriced says that the person knows of a limit of cost that cannot be kept.
	unpriced bool
	// reflector sees the results before the model does.
	reflector reflector
	// messages are the system prompt and the conversation, as far as a request has had them.
	messages []model.Message
}

// Run sends requests until the model has nothing more to do, a limit is reached or ctx ends. The error is set where the
// reason is Failed. Every call in the conversation then has its result.
func (l *Loop) Run(ctx context.Context) (StopReason, error) {
	most := l.Limits().Requests
	warned := false // the model has been told that the budget is used up, and has had a request to wind up
	for range most {
		if ctx.Err() != nil {
			return Cancelled, nil
		}
		resp, more, err := l.request(ctx)
		switch {
		case ctx.Err() != nil:
			return Cancelled, nil
		case err != nil:
			return Failed, err
		case more && l.overBudget():
			return BudgetExceeded, nil
		case more && warned:
			return l.noMoreCalls(), nil
		case more:
			warned = l.Calls.Refused()
			continue
		}
		if resp.Detail != "" {
			l.notice("%s", resp.Detail)
		}
		switch resp.Stop {
		case model.StopMaxTokens:
			return MaxTokens, nil
		case model.StopRefusal:
			return Refusal, nil
		}
		if l.Conversation.Done() {
			if warned {
				return l.noMoreCalls(), nil
			}
			return EndTurn, nil
		}
	}
	l.notice("The turn stopped after %d requests to the model (budget.maxTurnRequests).", most)
	return MaxTurnRequests, nil
}

func (l *Loop) notice(format string, args ...any) {
	l.Conversation.Tell(Event{Notice: fmt.Sprintf(format, args...)})
}

// noMoreCalls ends a loop whose calls have used up their budget.
func (l *Loop) noMoreCalls() StopReason {
	l.notice("The turn used up what its tool calls may take (budget.maxToolCalls, budget.maxToolTimeMs).")
	return BudgetExceeded
}

// request sends one request, carries out what the model asks for while it is still writing, and puts its answer with
// the results into the conversation. more says that the model waits for the results.
func (l *Loop) request(ctx context.Context) (resp model.Response, more bool, err error) {
	l.Conversation.Next(ctx)
	host := l.Host()
	host.Budget = l.Calls
	a := &answer{loop: l, ctx: ctx, tools: host.Tools, calls: run.NewStream(ctx, host)}
	resp, err = l.stream(ctx, a)
	results := a.calls.Wait()
	if resp.Usage != (model.Usage{}) {
		l.usage = l.usage.Add(resp.Usage)
		l.Conversation.Used(resp.Usage)
	}
	for _, c := range a.asked {
		if c.place < 0 {
			l.drop(c)
		}
	}
	more = err == nil && resp.Stop == model.StopCalls && len(a.asked) > 0
	l.Conversation.Answered(a.text.String(), a.messages(results)...)
	return resp, more, err
}

// overBudget says that the loop has cost what it may cost, and tells the person; also where the cost cannot be known.
func (l *Loop) overBudget() bool {
	most := l.Limits().CostUSD
	switch {
	case most <= 0:
	case l.usage.CostUSD >= most:
		l.notice("The turn has cost $%.4f, and budget.maxCostUsd is %g.", l.usage.CostUSD, most)
		return true
	case l.usage.CostUSD == 0 && !l.unpriced:
		l.unpriced = true
		l.notice("budget.maxCostUsd cannot be heeded: what %s costs is not known. Set the prices of "+
			"its provider, or limit budget.maxTurnRequests.", l.Model.Name())
	}
	return false
}

// stream asks the model. A fault of its driver is the error of one request.
func (l *Loop) stream(ctx context.Context, a *answer) (resp model.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			l.Log.Error("model driver panicked", "model", l.Model.Name(), "panic", v, "stack", string(debug.Stack()))
			err = &model.Error{Kind: "bad_response", Message: fmt.Sprintf("The driver of %s failed: %v.", l.Model.Name(), v)}
		}
	}()
	return model.Bounded(l.Model).Stream(ctx, l.compose(a.tools), a.delta)
}

func (l *Loop) compose(offer *tools.Set) model.Request {
	if l.messages == nil {
		l.messages = []model.Message{{Role: model.System, Text: l.System()}}
	}
	l.messages = append(l.messages, l.Conversation.Since(len(l.messages)-1)...)
	r := model.Request{Messages: l.messages[:len(l.messages):len(l.messages)], Session: l.Key}
	for _, tool := range offer.List() {
		spec := tool.Spec()
		r.Tools = append(r.Tools, model.ToolSpec{
			Name: spec.Name, Description: spec.Description, Parameters: tool.Schema().JSON(),
		})
	}
	return r
}
