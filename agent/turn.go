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

// Turn is the work on one prompt.
type Turn struct {
	s      *Session
	number int
	in     Input
	name   string      // of the model
	model  model.Model // nil if the turn was cancelled before it was opened
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	// life is that of calls that a cancel waits for; kill ends them.
	life context.Context
	kill context.CancelFunc
	// opened is closed when Open has returned; failed is its result.
	opened chan struct{}
	failed bool
	usage  model.Usage
	shown  string // of said
	said   model.Message
	// steered is the queue of messages that have not reached the model; it is closed once over is set. Under s.mu.
	steered []steered
	over    bool
	kept    int        // the number of steered that are in the store; under s.mu
	keeping sync.Mutex // held while they are stored
	// shortened counts what was done to the present request since the service refused it for its length.
	shortened int
	// compactions wait for the next request; under s.mu.
	compactions []*compaction
	// budget limits the turn's calls.
	budget *run.Budget
	tools  toolset
}

// Number counts the session's turns from 1.
func (t *Turn) Number() int { return t.number }

// Run runs the turn. It must be called once, after Open. The end of ctx cancels the turn.
func (t *Turn) Run(ctx context.Context) TurnResult {
	defer context.AfterFunc(ctx, t.cancel)()
	if ctx.Err() != nil {
		t.cancel()
	}
	s := t.s
	defer t.end() // also after a panic
	stop, err := t.guarded(t.answer)
	t.cancel()
	stop, err = t.guarded(func() (StopReason, error) {
		t.leave()
		s.record.said(t.number, "", s.window.EndTurn(closing(stop))...)
		s.record.ended(t.number, s.cutOff(stop), t.usage, err)
		return stop, err
	})
	if err != nil {
		s.o.Log.Warn("turn failed", "session", s.o.ID, "turn", t.number, "model", t.name, "error", err)
		if m := (*model.Error)(nil); errors.As(err, &m) && m.Kind == "auth" {
			s.models.forget() // the user may have replaced the key
		}
		t.tell(Event{Notice: err.Error()})
	}
	if notice := runningJobs(s.jobs.Running()); notice != "" {
		t.tell(Event{Notice: notice})
	}
	s.outbox.flush()
	t.runEndHooks(stop)
	return TurnResult{Stop: stop, Usage: t.usage, Turn: t.number, Err: err}
}

// cutOff is the reason that is stored for the end of a turn: one that ended with its session was not stopped by a person.
func (s *Session) cutOff(stop StopReason) StopReason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop == loop.Cancelled && s.closed {
		return interrupted
	}
	return stop
}

func (t *Turn) tell(e Event) { t.tellOnce(nil, e) }

// tellOnce sends an event once a batch is written.
func (t *Turn) tellOnce(written *batch, e Event) {
	e.Turn, e.At = t.number, max(0, t.s.o.Now().Sub(t.began))
	t.s.outbox.put(e, written)
}

// guarded turns a panic of do into the failure of the turn.
func (t *Turn) guarded(do func() (StopReason, error)) (stop StopReason, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.s.o.Log.Error("turn panicked", "panic", v, "stack", string(debug.Stack()))
			stop, err = Failed, errors.New("an internal error occurred in Tandem; the session continues, and the log has the details")
		}
	}()
	return do()
}

// answer runs the loop of the turn.
func (t *Turn) answer() (StopReason, error) {
	s := t.s
	if unseen := prompt.Unseen(s.fitting(t.in.Blocks)); len(unseen) > 0 {
		t.tell(Event{Notice: fmt.Sprintf("The attachment was not sent to the model: %s. It takes text, and images in PNG, JPEG, "+
			"GIF and WebP of up to limits.maxImageBytes.", strings.Join(unseen, ", "))})
	}
	return t.loop().Run(t.ctx)
}

// loop is that of the turn.
func (t *Turn) loop() *loop.Loop {
	s := t.s
	return &loop.Loop{
		Model: t.model, System: s.system, Conversation: conversation{t}, Calls: t.budget,
		Host: func() *run.Host {
			h := s.host(t.number, t.began, t.cancel, t.Tools)
			h.Life = t.life
			return h
		},
		Limits: s.limits, Key: s.window.Key(), Now: s.o.Now, Log: s.o.Log,
	}
}

// limits are the configured limits of a turn.
func (s *Session) limits() loop.Limits {
	b := s.config().Budget
	return loop.Limits{Requests: b.MaxTurnRequests, CostUSD: b.MaxCostUSD}
}

// conversation is the session's history as a loop.Conversation; messages that are added are stored too.
type conversation struct{ *Turn }

var _ loop.Conversation = conversation{}

// BeforeRequest adds the steered messages, and the rules of folders that the model has reached.
// Old results are cleared where the request would come near the model's window.
func (c conversation) BeforeRequest(ctx context.Context, ask loop.Ask) (rewritten bool) {
	c.join()
	c.s.system() // first, since it reads the workspace's own rules
	if news := joined(c.s.window.TakeNotes(), c.s.reach.rules.found(ctx)); news != "" {
		c.AddAnswer("", model.Message{Role: model.User, Text: news})
	}
	c.shortened = 0
	return c.compactWaiting(ctx, ask) || c.tidy(ctx, ask) // a rewrite each pass
}

func (c conversation) Since(n int) []model.Message { return c.s.window.Since(n) }

func (c conversation) AddAnswer(text string, messages ...model.Message) {
	c.s.window.Add(messages...)
	c.s.outbox.barrier(c.s.record.said(c.number, text, messages...))
}

func (c conversation) AddUsage(u model.Usage, overhead int) {
	c.usage = c.usage.Add(u)
	all := c.s.window.Use(u)
	if cut := c.s.window.Measure(u, overhead, c.s.o.Now()); cut > 0 {
		c.tell(Event{Notice: fmt.Sprintf("%s reads %d tokens at most and leaves out what is before them. "+
			"Old results are cleared from now on; to let it read more, raise its context length.", c.name, cut)})
	}
	c.tell(Event{Usage: new(c.usage), Session: all, Context: u.Input + u.Output, Window: c.s.window.Size()})
}

func (c conversation) TryClose() bool               { return c.done() }
func (c conversation) CallID(wanted string) string  { return c.s.ids.of(wanted) }
func (c conversation) AnnounceCall(id, text string) { c.s.record.say(id, text) }
func (c conversation) Notify(e Event)               { c.tell(e) }
