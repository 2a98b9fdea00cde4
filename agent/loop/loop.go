// Package loop runs one prompt: requests to a model and the tool calls of its answers, until the
// model ends the turn. It knows neither sessions nor the store nor settings: the conversation is an
// interface.
package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// Event is an event of a session; exactly one of Text, Thought, User, Call, Usage, Notice, Mode and
// Hunks is set.
type Event struct {
	Turn int
	// At is the time since the turn began.
	At      time.Duration
	Text    string
	Thought string
	User    string
	Call    *run.Event
	// Partial is the raw text of a call's arguments while they stream in; Call is the call.
	Partial string
	// Usage is the turn's so far, Session the session's, Context the tokens of the last request and
	// its answer.
	Usage   *model.Usage
	Session model.Usage
	Context int64
	Notice  string
	Mode    string
	// Hunks are the files whose hunks, what there is to review of the session's changes, are not
	// what they were.
	Hunks []string
	// Tasks, where not nil, is the session's task list as it is now.
	Tasks []tools.Task
	// Jobs says that the commands in the background are not what they were.
	Jobs bool
	// Commands says that the commands which a person can call by /name are not what they were.
	Commands bool
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

// Conversation is the append-only message history that a loop extends. Next, Since, Answered, Used
// and Done are called one at a time, the others also while the model streams and calls run.
type Conversation interface {
	// Next adds the messages that precede the next request: the user's steering, and rules of
	// folders that the model has reached.
	Next(ctx context.Context)
	// Since gives the messages from index n on.
	Since(n int) []model.Message
	// Answered adds a model's answer and the results of its calls. text is the text of the answer.
	Answered(text string, messages ...model.Message)
	// Used adds to the conversation's tokens and cost.
	Used(u model.Usage)
	// Done says that no message waits for the model; from then on none is added for this loop.
	Done() bool

	// CallID gives a model's call a unique id, the wanted one if it is free.
	CallID(wanted string) string
	// Calling announces that a call will run. text is the answer's text so far.
	Calling(id, text string)
	// Tell sends an event to the client. It must not block.
	Tell(e Event)
}

// Limits are the limits of a loop; 0 is no limit of the cost.
type Limits struct {
	// Requests to the model.
	Requests int
	CostUSD  float64
}

// Loop is the run of one prompt. All fields must be set; Run must be called once.
type Loop struct {
	Model model.Model
	// System gives the system prompt, which stays the same.
	System       func() string
	Conversation Conversation
	// Host gives the environment of one answer's calls, with the tools that the request offers; it
	// is called before each request.
	Host func() *run.Host
	// Calls is the budget of all calls together.
	Calls *run.Budget
	// Limits is called before each request.
	Limits func() Limits
	// Key is the key of the prompt cache at the model's service.
	Key string
	Now func() time.Time
	Log *slog.Logger

	usage model.Usage
	// unpriced says that the user was told that the limit of cost cannot be enforced.
	unpriced  bool
	reflector reflector
	// offer is what the last request offered, and described what it told the model of that.
	offer     tools.Offer
	described []model.ToolSpec
	// messages are the system prompt and the conversation up to the last request.
	messages []model.Message
}

// Run sends requests until the model ends the turn, a limit is reached or ctx ends. The error is
// set if the reason is Failed. When Run returns, every call in the conversation has its result.
func (l *Loop) Run(ctx context.Context) (StopReason, error) {
	most := l.Limits().Requests
	warned := false // the model knows that the budget is used up, and has one request left to finish
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

// noMoreCalls ends a loop whose budget of calls is used up.
func (l *Loop) noMoreCalls() StopReason {
	l.notice("The turn reached its limit of tool calls or tool time (budget.maxToolCalls, budget.maxToolTimeMs).")
	return BudgetExceeded
}

// request sends one request, runs calls while the answer streams in, and adds the answer and the
// results to the conversation. more says that the model waits for the results.
func (l *Loop) request(ctx context.Context) (resp model.Response, more bool, err error) {
	l.Conversation.Next(ctx)
	host := l.Host()
	host.Schedule.Budget = l.Calls
	offer := host.Offering.Of(host.Tools)
	a := &answer{loop: l, ctx: ctx, tools: host.Tools, calls: run.NewStream(ctx, host)}
	resp, err = l.stream(ctx, a, offer)
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

// overBudget says that the limit of cost is reached, and tells the user; it also tells once if the
// cost is unknown.
func (l *Loop) overBudget() bool {
	most := l.Limits().CostUSD
	switch {
	case most <= 0:
	case l.usage.CostUSD >= most:
		l.notice("The turn has cost $%.4f, and budget.maxCostUsd is %g.", l.usage.CostUSD, most)
		return true
	case l.usage.CostUSD == 0 && !l.unpriced:
		l.unpriced = true
		l.notice("budget.maxCostUsd is ignored: no price is configured for %s. Set the prices of "+
			"its provider, or limit budget.maxTurnRequests.", l.Model.Name())
	}
	return false
}

// stream sends the request. A panic of the driver becomes the error of the request.
func (l *Loop) stream(ctx context.Context, a *answer, offer tools.Offer) (resp model.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			l.Log.Error("model driver panicked", "model", l.Model.Name(), "panic", v, "stack", string(debug.Stack()))
			err = &model.Error{Kind: "bad_response", Message: fmt.Sprintf("The driver of %s failed: %v.", l.Model.Name(), v)}
		}
	}()
	return model.Bounded(l.Model).Stream(ctx, l.compose(offer), a.delta)
}

func (l *Loop) compose(offer tools.Offer) model.Request {
	if l.messages == nil {
		l.messages = []model.Message{{Role: model.System, Text: l.System()}}
	}
	l.messages = append(l.messages, l.Conversation.Since(len(l.messages)-1)...)
	if !slices.Equal(offer.Full, l.offer.Full) || !slices.Equal(offer.Named, l.offer.Named) {
		l.offer, l.described = offer, describe(offer)
	}
	return model.Request{Messages: l.messages[:len(l.messages):len(l.messages)], Session: l.Key, Tools: l.described}
}

// describe tells a model of the tools on offer.
func describe(offer tools.Offer) (all []model.ToolSpec) {
	for _, tool := range offer.Full {
		all = append(all, model.ToolSpec{
			Name: tool.Spec().Name, Description: offer.Description(tool), Parameters: tool.Schema().Shown(), Plain: tool.Schema().Own(),
		})
	}
	return all
}
