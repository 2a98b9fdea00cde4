package model

import (
	"context"
	"errors"
	"fmt"
)

// maxAnswerBytes limits an answer: the bytes of its text, thoughts and calls.
const maxAnswerBytes = 8 << 20

var errAnswerTooLarge = errors.New("the answer is too large")

// Bounded limits the size of a model's answers: one above 8 MiB ends with an error, so that a
// runaway model cannot fill the memory.
func Bounded(m Model) Model { return sizeLimiter{m} }

type sizeLimiter struct{ Model }

func (b sizeLimiter) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	size := 0
	resp, err := b.Model.Stream(limited, r, func(d Delta) {
		if size += d.size(); size > maxAnswerBytes {
			cancel(errAnswerTooLarge)
			return
		}
		on(d)
	})
	if size > maxAnswerBytes && ctx.Err() == nil {
		return Response{}, &Error{Kind: "bad_response", Message: fmt.Sprintf(
			"%s answered with more than %d MiB; the rest was not read.", b.Name(), maxAnswerBytes>>20)}
	}
	return resp, err
}

func (d Delta) size() int {
	n := len(d.Text) + len(d.Thought)
	if d.Call != nil {
		n += len(d.Call.ID) + len(d.Call.Name) + len(d.Call.Arguments)
		if d.Call.Extra != nil {
			n += len(d.Call.Extra.Fields)
		}
	}
	if d.Kept != nil {
		n += len(d.Kept.Sealed) // its text came as Thought
	}
	return n
}
