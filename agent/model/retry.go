package model

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maxWait limits the wait before a retry. A server that demands more fails the request.
const maxWait = time.Minute

// Retrying returns a model that retries requests after transient errors, with exponential backoff
// or the wait that the server demands, up to attempts tries. It retries only while nothing but
// thoughts was delivered. Each retry is a Notice.
func Retrying(m Model, attempts int, backoff time.Duration) Model {
	return &retrier{Model: m, attempts: attempts, backoff: backoff}
}

type retrier struct {
	Model
	attempts int
	backoff  time.Duration
}

func (m *retrier) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
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
		if wait > maxWait {
			tooLong := *e
			tooLong.Message += fmt.Sprintf(" It asks to be left alone for %s; try again then.", e.After.Round(time.Second))
			return resp, &tooLong
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
