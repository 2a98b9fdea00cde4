package run

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"
)

// Everything that this package takes of conc is in this file.
//
// A batch is a bounded pool. conc's stream would bring the results in order too, but it takes in no more tasks than its
// limit while the first one still runs: a call that waits for a person would hold up all that follow it.

// workers runs the calls of one batch, never more than its limit at once. One goroutine at a time may use it.
type workers struct{ p *pool.Pool }

func newWorkers(limit int) workers { return workers{pool.New().WithMaxGoroutines(max(1, limit))} }

// start runs fn as soon as a worker is free, and blocks until then.
func (w workers) start(fn func()) {
	w.p.Go(func() {
		roomy()
		fn()
	})
}

// wait returns when all that was started has ended; the workers are of no use afterwards.
func (w workers) wait() { w.p.Wait() }

// background is a group of goroutines that somebody waits for.
type background struct{ wg conc.WaitGroup }

func (b *background) start(fn func()) {
	b.wg.Go(func() {
		roomy()
		fn()
	})
}

func (b *background) wait() { b.wg.Wait() }

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

// patient runs fn, and gives it up when it has not come back grace after the end of ctx: Go cannot stop a function that
// does not listen, but it need not wait for it either.
func patient[T any](ctx context.Context, grace time.Duration, fn func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		roomy()
		var o outcome
		o.err = catch(func() (err error) {
			o.value, err = fn(ctx)
			return err
		})
		done <- o
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-late.C:
		var none T
		return none, context.Cause(ctx)
	}
}
