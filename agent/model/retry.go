package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxPause is the longest pause that is worth a person's waiting; a server that wants more is reported instead.
const maxPause = time.Minute

// Retrying gives a model that repeats a request that failed in a way that may pass, up to attempts tries in all, as
// long as nothing of an answer but thoughts has been handed on. The pause doubles from backoff unless the server names
// one; each repetition is told as a Notice.
func Retrying(m Model, attempts int, backoff time.Duration) Model {
	return &retrying{Model: m, attempts: attempts, backoff: backoff}
}

type retrying struct {
	Model
	attempts int
	backoff  time.Duration
}

func (m *retrying) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	pause := m.backoff
	for try := 1; ; try++ {
		started := false
		resp, err := m.Model.Stream(ctx, r, func(d Delta) {
			// A thought that is had again does no harm.
			started = started || d.Thought == "" && d.Notice == ""
			on(d)
		})
		var e *Error
		if err == nil || started || ctx.Err() != nil || !errors.As(err, &e) || !e.Retryable || try >= m.attempts {
			return resp, err
		}
		wait := max(pause, e.After)
		if wait > maxPause {
			late := *e
			late.Message += fmt.Sprintf(" It asks to be left alone for %s; try again then.", e.After.Round(time.Second))
			return resp, &late
		}
		pause *= 2
		on(Delta{Notice: fmt.Sprintf("%s Trying again in %s (%d of %d).", e.Message, wait, try+1, m.attempts)})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Response{}, ctx.Err()
		}
	}
}
