package agent

import (
	"cmp"
	"context"

	"tandem/agent/model"
	"tandem/agent/store"
)

// steered is what a person has said to a turn that was running, as the model and as a person gets it.
type steered struct {
	said  model.Message
	shown string
}

// Steer adds to the running turn. The model gets in with its next request, and there is one even where its present
// answer would have been the end of the turn; the client is told by an Event with User when that happens. Where the turn
// ends otherwise in stays in the conversation, for the next prompt. It waits for nothing. Errors are ErrIdle, ErrClosed
// and ErrEmpty; then nothing has happened. Model, Title and News of in say nothing.
//
// The function it gives must be called. It returns when in is written down; its error is ErrIdle where the turn came to
// nothing because its model could not be opened, or that of ctx, whose end gives up the waiting and nothing else.
func (s *Session) Steer(in Input) (keep func(ctx context.Context) error, err error) {
	said, err := s.message(in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running
	switch {
	case s.closed:
		return nil, ErrClosed
	case t == nil || t.over:
		return nil, ErrIdle
	}
	s.see(in)
	t.steered = append(t.steered, steered{said, cmp.Or(in.Shown, said.Text)})
	return t.keep, nil
}

// keep writes down what waits and is not written down yet, in its order.
func (t *Turn) keep(ctx context.Context) error {
	select {
	case <-t.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	if t.failed {
		return ErrIdle
	}
	t.keeping.Lock()
	defer t.keeping.Unlock()
	t.s.mu.Lock()
	waiting := t.steered[t.kept:]
	t.kept = len(t.steered)
	t.s.mu.Unlock()
	r := t.s.record
	var entries []store.Entry
	for _, w := range waiting {
		entries = append(entries, r.entry(t.number, store.Steer, "", w.shown, body{Message: &w.said}))
	}
	r.add(entries...)
	t.s.teller.drain() // where join has been quicker
	return nil
}

// join puts what the person has said meanwhile into the conversation, and says whether there was anything.
func (t *Turn) join() bool {
	t.keeping.Lock() // it is written down as what waits before it is written down as what was said, or not at all
	defer t.keeping.Unlock()
	s := t.s
	s.mu.Lock()
	waiting := t.steered
	t.steered, t.kept = nil, 0
	for _, w := range waiting {
		s.history = append(s.history, w.said)
	}
	s.mu.Unlock()
	for _, w := range waiting {
		t.tellOnce(s.record.said(t.number, w.shown, w.said), Event{User: w.shown})
	}
	return len(waiting) > 0
}

// done says that the turn has nothing more to do, after which nothing can be added to it.
func (t *Turn) done() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.over = len(t.steered) == 0
	return t.over
}

// leave ends the turn to what may be added, and keeps what has not reached the model for the next one.
func (t *Turn) leave() {
	t.s.mu.Lock()
	t.over = true
	t.s.mu.Unlock()
	if t.join() {
		t.tell(Event{Notice: "The turn ended before the model was given what you added; it goes along with your next prompt."})
	}
}
