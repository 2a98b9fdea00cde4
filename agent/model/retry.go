package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxPause is the longest pause; a server that demands more is an error.
const maxPause = time.Minute

// Retrying gives a model that retries requests after transient errors, up to attempts tries in all,
// as long as only thoughts of an answer were delivered. The backoff is exponential unless the
// server names a pause; each retry is a Notice.
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
			// Repeated thoughts are harmless.
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
