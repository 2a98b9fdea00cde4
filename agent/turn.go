package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/prompt"
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
	shown  string // of said
	said   model.Message
	// steered has what was said since and has not reached the model; once over nothing is added to it. Under s.mu.
	steered []steered
	over    bool
	kept    int        // of steered, how many are written down; under s.mu
	keeping sync.Mutex // held while they are written down
	// budget is what the turn's calls may use.
	budget *run.Budget
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
	stop, err := t.guarded(t.answer)
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

// answer runs the loop of the turn.
func (t *Turn) answer() (StopReason, error) {
	s := t.s
	if unseen := prompt.Unseen(s.fitting(t.in.Blocks)); len(unseen) > 0 {
		t.tell(Event{Notice: fmt.Sprintf("The model does not get what was attached: %s. It takes text, and images in PNG, JPEG, "+
			"GIF and WebP of up to limits.maxImageBytes.", strings.Join(unseen, ", "))})
	}
	l := &loop.Loop{
		Model: t.model, System: s.system, Conversation: conversation{t}, Calls: t.budget,
		Host:   func() *run.Host { return s.host(t.number, t.began, t.cancel) },
		Limits: s.limits, Key: s.cacheKey, Now: s.o.Now, Log: s.o.Log,
	}
	return l.Run(t.ctx)
}

// limits bound the session's turns.
func (s *Session) limits() loop.Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return loop.Limits{Requests: s.config.Budget.MaxTurnRequests, CostUSD: s.config.Budget.MaxCostUSD}
}

// conversation is the session's history as the loop of a turn goes on with it: what is added is written down too.
type conversation struct{ *Turn }

var _ loop.Conversation = conversation{}

// Next adds what the person has said meanwhile, and the rules that hold where the model has come to look.
func (c conversation) Next(ctx context.Context) {
	c.join()
	c.s.system() // has the workspace's own rules, which come first
	if found := c.s.rules.found(ctx); found != "" {
		c.Answered("", model.Message{Role: model.User, Text: found})
	}
}

func (c conversation) Since(n int) []model.Message {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.history[n:len(c.s.history):len(c.s.history)]
}

func (c conversation) Answered(text string, messages ...model.Message) {
	c.s.mu.Lock()
	c.s.history = append(c.s.history, messages...)
	c.s.mu.Unlock()
	c.s.teller.keep(c.s.record.said(c.number, text, messages...))
}

func (c conversation) Used(u model.Usage) {
	c.usage = c.usage.Add(u)
	c.s.mu.Lock()
	c.s.usage = c.s.usage.Add(u)
	all := c.s.usage
	c.s.mu.Unlock()
	sum := c.usage
	c.tell(Event{Usage: &sum, Session: all, Context: u.Input + u.Output})
}

func (c conversation) Done() bool                  { return c.done() }
func (c conversation) CallID(wanted string) string { return c.s.callID(wanted) }
func (c conversation) Calling(id, text string)     { c.s.record.say(id, text) }
func (c conversation) Tell(e Event)                { c.tell(e) }
