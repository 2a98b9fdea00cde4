package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"
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

// batchPool runs the calls of one batch on a bounded pool, started in the order of submission. The pool's Go blocks while all
// workers are busy, so one goroutine hands the calls over, and submit never waits.
type batchPool struct {
	mu     sync.Mutex
	change sync.Cond // of queue and closed
	queue  []func(context.Context)
	closed bool
}

// newBatchPool starts a pool of limit workers in a group, which it belongs to until it was closed and its tasks have ended. A panic of
// a task is that of the group.
func newBatchPool(ctx context.Context, limit int, in *background) *batchPool {
	p := &batchPool{}
	p.change.L = &p.mu
	workers := pool.New().WithMaxGoroutines(limit).WithContext(ctx)
	in.start(func() {
		for task := p.next(); task != nil; task = p.next() {
			workers.Go(func(ctx context.Context) error {
				roomy()
				task(ctx)
				return nil
			})
		}
		_ = workers.Wait()
	})
	return p
}

func (p *batchPool) submit(task func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, task)
	p.change.Signal()
}

// close lets the pool end after the tasks that were submitted.
func (p *batchPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.change.Signal()
}

// next waits for a task; nil is the end.
func (p *batchPool) next() (task func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 && !p.closed {
		p.change.Wait()
	}
	if len(p.queue) > 0 {
		task, p.queue = p.queue[0], p.queue[1:]
	}
	return task
}

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
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(grace):
		var none T
		return none, context.Cause(ctx)
	}
}
