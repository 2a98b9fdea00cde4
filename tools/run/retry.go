package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/tools"
)

// Retry says how often a call is made that has failed for a reason which may pass, see tools.Result.Retryable. The zero value makes
// every call once.
type Retry struct {
	// Attempts are the attempts in all.
	Attempts int
	// Backoff is the pause before the second attempt; it doubles with every further one.
	Backoff time.Duration
	// Sleep waits, and returns early when ctx ends; nil waits on the clock of the process.
	Sleep func(ctx context.Context, d time.Duration)
}

// repeatable says that making the call twice does no more than making it once. No declaration makes a change or a command repeatable.
func (c *call) repeatable() bool {
	for _, n := range c.plan.Needs {
		if n.Act == tools.Unknown || n.Act == tools.Runs || n.Act.Writes() {
			return false
		}
	}
	spec := c.tool.Spec()
	return len(c.plan.Needs) > 0 && (spec.Kind.ReadOnly() || spec.Idempotent)
}

// attempts runs the plan, again after a failure that may pass. ctx bounds all attempts together. While it waits the call has no slot.
func (c *call) attempts(ctx context.Context) (r tools.Result, err error) {
	pause := c.host.Retry.Backoff
	for n := 1; ; n++ {
		r, err = patient(ctx, c.grace(), c.plan.Run)
		failed := r
		if refusal, ok := errors.AsType[*tools.Refusal](err); ok {
			failed = refusal.Result
		}
		if failed.Success || !failed.Retryable || ctx.Err() != nil || !c.repeatable() {
			return r, err
		}
		if c.tries.failed = n; n >= c.host.Retry.Attempts {
			return r, err
		}
		c.progress(tools.Progress{Text: fmt.Sprintf("It failed (%s), and is tried again in %v.\n", failed.Error, pause)})
		c.leave(nil)
		c.host.Retry.sleep(ctx, pause)
		pause *= 2
		if over := c.alive(); over != nil {
			return r, over
		}
		place, over := c.takeSlot()
		if over != nil {
			return r, over
		}
		if c.leave(place); ctx.Err() != nil { // its time is over, and why it failed says more than that
			return r, err
		}
	}
}

func (r Retry) sleep(ctx context.Context, d time.Duration) {
	if r.Sleep != nil {
		r.Sleep(ctx, d)
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
