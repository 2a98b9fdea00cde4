package run

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
)

// Everything that this package takes of conc is in this file.

// background is a group of goroutines that somebody waits for. A panic of one is that of wait.
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
