package backend

import (
	"context"
	"errors"
	"sync"

	"tandem/agent"
	"tandem/tools/run"
)

// Resolved is the cause with which a question ends at a client that has not answered it: another client has.
type Resolved struct {
	By     string     // the client
	Option run.Option // "" where the answer was no choice
}

func (r *Resolved) Error() string { return "the question was answered by " + r.By }

// ResolvedBy words, for a client, what ended a question: the name of another client, "rule" for an answer to another question that
// covers this one too, else "end": the turn, the session or the time of the question is over. option is what another client chose.
func ResolvedBy(ctx context.Context) (by string, option run.Option) {
	var other *Resolved
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &other):
		return other.By, other.Option
	case errors.Is(cause, agent.ErrGranted):
		return "rule", ""
	}
	return "end", ""
}

// resolveOnce puts a question to all clients at the same time (ResolveOnce). The first that a person answers counts and ends the
// question at the others, whose answers are ignored from then on. Where no person answers, it is Unanswered, or Unavailable where
// nobody could be asked anywhere.
func resolveOnce(ctx context.Context, clients []attached, se *Session, q run.Question) run.Answer {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var (
		mu    sync.Mutex
		won   *run.Answer
		other = run.Answer{Outcome: run.Unavailable}
		all   sync.WaitGroup
	)
	for _, c := range clients {
		all.Go(func() {
			a := c.Ask(ctx, se, q)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case won != nil:
			case a.Outcome == run.Unavailable, a.Outcome == run.Unanswered:
				if a.Outcome == run.Unanswered {
					other = a
				}
			default:
				won = &a
				end(&Resolved{By: c.Name, Option: a.Option})
			}
		})
	}
	all.Wait()
	if won != nil {
		return *won
	}
	return other
}

// attached is a client that can be asked.
type attached struct {
	Face
	Name string
}

// clients are those that a question goes to: a connection has one.
func (b *Backend) clients() []attached { return []attached{{b.face, b.client.Name}} }
