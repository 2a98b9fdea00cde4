// Package loop is the agent loop of one prompt: requests to a model and the tool calls of its
// answers, until the model ends the turn. It imports neither sessions nor the store nor settings:
// the conversation is an interface.
package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"tandem/agent/model"
	"tandem/tools"
	"tandem/tools/run"
)

// Event is an event of a session; exactly one of Text, Thought, User, Call, Usage, Notice, Mode,
// Hunks and Plans is set.
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
	// its answer, Window how many the model can read, 0 if unknown.
	Usage   *model.Usage
	Session model.Usage
	Context int64
	Window  int64
	Notice  string
	// Compaction is the id of a rewrite of what the model is sent, which Notice tells of.
	Compaction string
	Mode       string
	// Late is a call that ended before it was known whether its edit landed, and it has.
	Late string
	// Hunks are the files whose hunks to review have changed.
	Hunks []string
	// Plans are the waiting changes that were queued or have changed their state.
	Plans []string
	// Tasks, if not nil, is the session's present task list.
	Tasks []tools.Task
	// Jobs is set if the list of background commands has changed.
	Jobs bool
	// Commands is set if the list of /name commands has changed.
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

// Conversation is the message history that a loop extends. It is append-only between two rewrites.
// BeforeRequest, Shorten, Since, AddAnswer, AddUsage and TryClose are called one at a time, the
// others also while the model streams and calls run.
type Conversation interface {
	// BeforeRequest adds the messages that precede the next request: the user's steering, and rules
	// of folders that the model has reached. It reports whether it has rewritten earlier ones. ask
	// asks the model something about the conversation.
	BeforeRequest(ctx context.Context, ask Ask) (rewritten bool)
	// Shorten is called with the error of a request. It reports whether the conversation was too
	// long and is shorter now, so that the request may be sent again.
	Shorten(ctx context.Context, err error) bool
	// Since gives the messages from index n on.
	Since(n int) []model.Message
	// AddAnswer adds a model's answer and the results of its calls. text is the text of the answer.
	AddAnswer(text string, messages ...model.Message)
	// AddUsage adds to the conversation's tokens and cost. overhead are the bytes of the system
	// prompt and the tools of the request.
	AddUsage(u model.Usage, overhead int)
	// TryClose closes the queue of steering messages if it is empty, and reports whether it did.
	// Once closed, it takes no message for this loop.
	TryClose() bool

	// CallID returns a unique id for a model's call, the wanted one if it is free.
	CallID(wanted string) string
	// AnnounceCall is called before a call runs. text is the answer's text so far.
	AnnounceCall(id, text string)
	// Notify sends an event to the client. It must not block.
	Notify(e Event)
}

// Limits are the limits of a loop. A CostUSD of 0 is no limit.
type Limits struct {
	// Requests to the model.
	Requests int
	CostUSD  float64
}

// Loop runs one prompt. All fields must be set; Run must be called once.
type Loop struct {
	Model model.Model
	// System returns the system prompt, which must not change: services cache by its prefix.
	System       func() string
	Conversation Conversation
	// Host returns the environment of one answer's calls, with the tools that the request offers.
	// It is called before each request.
	Host func() *run.Host
	// Calls is the budget of all calls of the loop.
	Calls *run.Budget
	// Limits is called before each request.
	Limits func() Limits
	// Key is the key of the prompt cache at the model's service.
	Key string
	Now func() time.Time
	Log *slog.Logger

	usage model.Usage
	// warnedUnpriced is set once the user was warned that the cost limit cannot be enforced.
	warnedUnpriced bool
	reflector      reflector
	// offer holds the tools of the last request, toolSpecs their descriptions. They are reused
	// while the offer is unchanged, which keeps the prompt cache valid.
	offer     tools.Offer
	toolSpecs []model.ToolSpec
	// messages hold the system prompt and the conversation up to the last request.
	messages []model.Message
}

// Run sends requests until the model ends the turn, a limit is reached or ctx ends. The error is
// set if the reason is Failed. When Run returns, every call in the conversation has its result.
func (l *Loop) Run(ctx context.Context) (StopReason, error) {
	maxRequests := l.Limits().Requests
	budgetUsedUp := false // a call was refused for the budget; the model has one more request to finish
	for range maxRequests {
		if ctx.Err() != nil {
			return Cancelled, nil
		}
		resp, more, err := l.request(ctx)
		switch {
		case ctx.Err() != nil:
			return Cancelled, nil
		case err != nil:
			return Failed, err
		case more && l.isOverBudget():
			return BudgetExceeded, nil
		case more && budgetUsedUp:
			return l.endOverBudget(), nil
		case more:
			budgetUsedUp = l.Calls.Refused()
			continue
		}
		if resp.Detail != "" {
			l.notify("%s", resp.Detail)
		}
		switch resp.Stop {
		case model.StopMaxTokens:
			return MaxTokens, nil
		case model.StopRefusal:
			return Refusal, nil
		}
		if l.Conversation.TryClose() {
			if budgetUsedUp {
				return l.endOverBudget(), nil
			}
			return EndTurn, nil
		}
	}
	l.notify("The turn stopped after %d requests to the model (budget.maxTurnRequests).", maxRequests)
	return MaxTurnRequests, nil
}

func (l *Loop) notify(format string, args ...any) {
	l.Conversation.Notify(Event{Notice: fmt.Sprintf(format, args...)})
}

// endOverBudget notifies the user that the budget of calls is used up.
func (l *Loop) endOverBudget() StopReason {
	l.notify("The turn reached its limit of tool calls or tool time (budget.maxToolCalls, budget.maxToolTimeMs).")
	return BudgetExceeded
}

// request sends one request, runs calls while the answer streams in, and appends the answer and the
// results to the conversation. more is set if the model waits for the results.
func (l *Loop) request(ctx context.Context) (resp model.Response, more bool, err error) {
	if l.Conversation.BeforeRequest(ctx, l.Ask) {
		l.messages = nil
	}
	host := l.Host()
	host.Schedule.Budget = l.Calls
	offer := host.Offering.Of(host.Tools)
	a := &answer{loop: l, ctx: ctx, tools: host.Tools, stream: run.NewStream(ctx, host)}
	resp, err = l.stream(ctx, a, offer)
	for err != nil && ctx.Err() == nil && a.isEmpty() && l.Conversation.Shorten(ctx, err) {
		l.messages = nil
		resp, err = l.stream(ctx, a, offer)
	}
	results := a.stream.Wait()
	if resp.Usage != (model.Usage{}) {
		l.usage = l.usage.Add(resp.Usage)
		l.Conversation.AddUsage(resp.Usage, l.overhead())
	}
	for _, c := range a.pending {
		if c.submitIndex < 0 {
			l.announceCutOff(c)
		}
	}
	more = err == nil && resp.Stop == model.StopCalls && len(a.pending) > 0
	l.Conversation.AddAnswer(a.text.String(), a.messages(results)...)
	return resp, more, err
}

// Ask sends the conversation with a question behind it, which does not become a part of it. The
// answer is a text: ok is false if it was cut or makes calls.
type Ask func(ctx context.Context, question string) (answer string, ok bool, err error)

// Ask is an Ask, also where the loop does not run. The request begins as the next one of the loop
// would, so that a service finds it in its prompt cache.
func (l *Loop) Ask(ctx context.Context, question string) (answer string, ok bool, err error) {
	host := l.Host()
	r := l.compose(host.Offering.Of(host.Tools))
	r.Messages = append(slices.Clone(r.Messages), model.Message{Role: model.User, Text: question})
	var text strings.Builder
	calls := false
	resp, err := l.send(ctx, r, func(d model.Delta) {
		text.WriteString(d.Text)
		calls = calls || d.Call != nil
		if d.Notice != "" {
			l.notify("%s", d.Notice)
		}
	})
	if resp.Usage != (model.Usage{}) {
		l.usage = l.usage.Add(resp.Usage)
		l.Conversation.AddUsage(resp.Usage, l.overhead())
	}
	return text.String(), err == nil && !calls && resp.Stop == model.StopEnd, err
}

// isOverBudget reports whether the cost limit is reached and notifies the user, also once if the
// cost is unknown.
func (l *Loop) isOverBudget() bool {
	maxCost := l.Limits().CostUSD
	switch {
	case maxCost <= 0:
	case l.usage.CostUSD >= maxCost:
		l.notify("The turn has cost $%.4f, and budget.maxCostUsd is %g.", l.usage.CostUSD, maxCost)
		return true
	case l.usage.CostUSD == 0 && !l.warnedUnpriced:
		l.warnedUnpriced = true
		l.notify("budget.maxCostUsd is ignored: no price is configured for %s. Set the prices of "+
			"its provider, or limit budget.maxTurnRequests.", l.Model.Name())
	}
	return false
}

// stream sends the request of an answer.
func (l *Loop) stream(ctx context.Context, a *answer, offer tools.Offer) (model.Response, error) {
	return l.send(ctx, l.compose(offer), a.delta)
}

// send sends a request. A panic of the driver becomes the error of the request.
func (l *Loop) send(ctx context.Context, r model.Request, on func(model.Delta)) (resp model.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			l.Log.Error("model driver panicked", "model", l.Model.Name(), "panic", v, "stack", string(debug.Stack()))
			err = &model.Error{Kind: "bad_response", Message: fmt.Sprintf("The driver of %s failed: %v.", l.Model.Name(), v)}
		}
	}()
	return model.Bounded(l.Model).Stream(ctx, r, on)
}

func (l *Loop) compose(offer tools.Offer) model.Request {
	if l.messages == nil {
		l.messages = []model.Message{{Role: model.System, Text: l.System()}}
	}
	l.messages = append(l.messages, l.Conversation.Since(len(l.messages)-1)...)
	if !slices.Equal(offer.Full, l.offer.Full) || !slices.Equal(offer.Named, l.offer.Named) {
		l.offer, l.toolSpecs = offer, toolSpecsOf(offer)
	}
	return model.Request{Messages: l.messages[:len(l.messages):len(l.messages)], Session: l.Key, Tools: l.toolSpecs}
}

// overhead are the bytes of the system prompt and the tools.
func (l *Loop) overhead() (n int) {
	for _, s := range l.toolSpecs {
		n += len(s.Name) + len(s.Description) + len(s.Parameters)
	}
	return n + len(l.System())
}

// toolSpecsOf describes the offered tools to a model.
func toolSpecsOf(offer tools.Offer) (all []model.ToolSpec) {
	for _, tool := range offer.Full {
		all = append(all, model.ToolSpec{
			Name: tool.Spec().Name, Description: offer.Description(tool), Parameters: tool.Schema().Shown(),
		})
	}
	return all
}
