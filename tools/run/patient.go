package run

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/panics"
)

// roomy gives a new goroutine a stack that will do for most calls. Growing it later, step by step and with everything on
// it, takes a quarter of the time of a call that does little.
//
//go:noinline
func roomy() {
	var room [8 << 10]byte
	touch(&room)
}

//go:noinline
func touch(room *[8 << 10]byte) { room[0] = 1 }

// crash is a panic as an error: what a model may read of it, and the stack for the log.
type crash struct {
	value any
	stack string
}

func (c *crash) Error() string { return fmt.Sprint(c.value) }

// catch runs fn and turns a panic into a *crash.
func catch(fn func() error) (err error) {
	var c panics.Catcher
	c.Try(func() { err = fn() })
	if r := c.Recovered(); r != nil {
		return &crash{value: r.Value, stack: string(r.Stack)}
	}
	return err
}

// patient runs a tool's fn on the goroutine of its call, which takes no other goroutine and no timer where fn minds ctx. Go
// cannot stop a function that does not: where fn has not returned a grace after the end of ctx, another goroutine goes on with
// the call, and this one ends with fn. What the stage holds is therefore in call.held, and not in its deferred functions.
func patient[T any](ctx context.Context, c *call, fn func(context.Context) (T, error)) (value T, err error) {
	var settled atomic.Bool // whoever sets it goes on with the call
	returned := make(chan struct{})
	grace := c.grace()
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-returned:
			return
		case <-late.C:
		}
		if settled.CompareAndSwap(false, true) {
			roomy()
			c.giveUp(c.why(ctx, context.Cause(ctx)))
		}
	})
	defer stop()
	err = catch(func() (err error) {
		value, err = fn(ctx)
		return err
	})
	close(returned)
	if !settled.CompareAndSwap(false, true) {
		runtime.Goexit()
	}
	return value, err
}
