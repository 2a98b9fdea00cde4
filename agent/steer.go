package agent

import (
	"cmp"

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
// ends otherwise in stays in the conversation, for the next prompt. It does not wait for the model. Errors are ErrIdle,
// ErrClosed and ErrEmpty; then nothing has happened. Model and Title of in say nothing.
func (s *Session) Steer(in Input) error {
	said, err := s.message(in)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.running
	switch {
	case s.closed:
		return ErrClosed
	case t == nil || t.over:
		return ErrIdle
	}
	s.see(in)
	w := steered{said, cmp.Or(in.Shown, said.Text)}
	t.steered = append(t.steered, w)
	s.record.steered(t.number, w)
	return nil
}

// join puts what the person has said meanwhile into the conversation, and says whether there was anything.
func (t *Turn) join() bool {
	s := t.s
	s.mu.Lock()
	waiting := t.steered
	t.steered = nil
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

func (r *record) steered(turn int, w steered) {
	r.add(r.entry(turn, store.Steer, "", w.shown, body{Message: &w.said}))
}
