package agent

import (
	"cmp"
	"context"

	"tandem/agent/model"
	"tandem/agent/store"
)

// steered is a user's message to a running turn, for the model and for display.
type steered struct {
	said  model.Message
	shown string
}

// Steer queues a message for the running turn. The model gets it with its next request, which is made even if the
// present answer would have ended the turn; the client gets an Event with User then. If the turn ends otherwise, the
// message stays in the conversation for the next prompt. It does not block. Errors are ErrIdle, ErrClosed and ErrEmpty;
// then nothing has happened. Model, Title and News of in are ignored.
//
// The caller must call keep, which returns when the message is stored. Its error is ErrIdle if the turn failed to open,
// or that of ctx, which ends the waiting alone.
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

// keep stores the queued messages that are not stored yet, in order.
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
	t.s.outbox.flush() // join may have queued an event meanwhile
	return nil
}

// join moves the queued messages into the conversation, and says whether there were any.
func (t *Turn) join() bool {
	t.keeping.Lock() // a Steer entry is stored before the Message entry, or never
	defer t.keeping.Unlock()
	s := t.s
	s.mu.Lock()
	waiting := t.steered
	t.steered, t.kept = nil, 0
	for _, w := range waiting {
		s.window.Add(w.said)
		s.window.Asked(t.number, w.shown)
	}
	s.mu.Unlock()
	for _, w := range waiting {
		t.tellOnce(s.record.said(t.number, w.shown, w.said), Event{User: w.shown})
	}
	return len(waiting) > 0
}

// done closes the queue if it is empty, and says whether it did.
func (t *Turn) done() bool {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.over = len(t.steered) == 0
	return t.over
}

// leave closes the queue; queued messages join the conversation, for the next prompt.
func (t *Turn) leave() {
	t.s.mu.Lock()
	t.over = true
	t.s.mu.Unlock()
	if t.join() {
		t.tell(Event{Notice: "The turn ended before your message was sent. It is sent with your next prompt."})
	}
}
