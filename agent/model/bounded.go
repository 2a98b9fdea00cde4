package model

import (
	"context"
	"errors"
	"fmt"
)

// maxAnswer is the size of the largest answer, in bytes of what it says, thinks and calls with.
const maxAnswer = 8 << 20

var errTooLarge = errors.New("the answer is too large")

// Bounded is a model whose answers end with an error where they are larger than 8 MiB.
func Bounded(m Model) Model { return bounded{m} }

type bounded struct{ Model }

func (b bounded) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	within, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	size := 0
	resp, err := b.Model.Stream(within, r, func(d Delta) {
		if size += d.size(); size > maxAnswer {
			cut(errTooLarge)
			return
		}
		on(d)
	})
	if size > maxAnswer && ctx.Err() == nil {
		return Response{}, &Error{Kind: "bad_response", Message: fmt.Sprintf(
			"%s answered with more than %d MiB; the rest was not read.", b.Name(), maxAnswer>>20)}
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
