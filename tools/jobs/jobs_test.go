package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tandem/sandbox"
)

// played is a runner of commands that print what they are fed, until they are ended or over is closed.
type played struct {
	sandbox.Runner
	err   error
	feeds chan string
	over  chan struct{}
}

type playing struct {
	sandbox.Process
	outcome chan sandbox.Outcome
}

func (p playing) Wait() sandbox.Outcome { return <-p.outcome }

func (r *played) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	if r.err != nil {
		return nil, r.err
	}
	p := playing{outcome: make(chan sandbox.Outcome, 1)}
	go func() {
		for {
			select {
			case s := <-r.feeds:
				c.Output(sandbox.Stdout, []byte(s))
			case <-r.over:
				p.outcome <- sandbox.Outcome{ExitCode: 3}
				return
			case <-ctx.Done():
				time.Sleep(c.Grace)
				p.outcome <- sandbox.Outcome{ExitCode: -1, Cancelled: true}
				return
			}
		}
	}()
	return p, nil
}

func silent() []string { return nil }

func play() *played { return &played{feeds: make(chan string), over: make(chan struct{})} }

func start(t *testing.T, j *Jobs, r sandbox.Runner, title string) string {
	t.Helper()
	id, err := j.Start(t.Context(), r, title, sandbox.Command{Grace: 5 * time.Second}, silent)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func look(t *testing.T, j *Jobs, id string, wait time.Duration) Look {
	t.Helper()
	l, err := j.Look(t.Context(), id, wait)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What is printed is given once, by the look after it, and no character is cut in two.
func TestF170aLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		defer j.Close()
		id := start(t, j, r, "x")
		r.feeds <- "one\n\xc3"
		synctest.Wait()
		if l := look(t, j, id, 0); !l.Running || l.Text != "one\n" || l.Title != "x" {
			t.Errorf("%+v", l)
		}
		r.feeds <- "\xa4\n"
		synctest.Wait()
		if l := look(t, j, id, 0); l.Text != "ä\n" {
			t.Errorf("%q", l.Text)
		}
		begun := time.Now()
		if l := look(t, j, id, time.Minute); !l.Running || time.Since(begun) != time.Minute {
			t.Errorf("%+v after %v", l, time.Since(begun))
		}
		time.AfterFunc(time.Second, func() { close(r.over) })
		if l := look(t, j, id, time.Minute); l.Running || l.Outcome.ExitCode != 3 || time.Since(begun) != time.Minute+time.Second {
			t.Errorf("%+v after %v", l, time.Since(begun))
		}
		if l := j.Ended(); l != nil {
			t.Errorf("its end was given by a look: %+v", l)
		}
	})
}

// What is printed between two looks is kept at both ends, and the rest is counted.
func TestF170aBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		defer j.Close()
		id := start(t, j, r, "x")
		for range 2000 {
			r.feeds <- strings.Repeat("x", 999) + "\n"
		}
		synctest.Wait()
		l := look(t, j, id, 0)
		if len(l.Text) != maxOutput || l.Gap != (sandbox.Gap{At: maxOutput / 2, Bytes: 2_000_000 - maxOutput, Lines: 2000 - 262 - 263}) {
			t.Errorf("%d bytes, %+v", len(l.Text), l.Gap)
		}
		r.feeds <- "end"
		synctest.Wait()
		if l := look(t, j, id, 0); l.Text != "end" || l.Gap != (sandbox.Gap{}) {
			t.Errorf("%+v", l)
		}
	})
}

// A number of jobs runs at once, a failed start takes no place, and a place is free again when a job has ended.
func TestF170aPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		defer j.Close()
		broken := errors.New("broken")
		if _, err := j.Start(t.Context(), &played{err: broken}, "x", sandbox.Command{}, silent); !errors.Is(err, broken) || j.Any() {
			t.Errorf("%v, %v", err, j.Any())
		}
		var ids []string
		for i := range MaxRunning {
			ids = append(ids, start(t, j, r, fmt.Sprint(i)))
		}
		if _, err := j.Start(t.Context(), r, "x", sandbox.Command{}, silent); !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
		if l := j.Running(); len(l) != MaxRunning || j.Running() != nil {
			t.Errorf("%+v", l)
		}
		begun := time.Now()
		if l, err := j.Kill(t.Context(), ids[0]); err != nil || l.Running || !l.Outcome.Cancelled || time.Since(begun) != 5*time.Second {
			t.Errorf("%+v, %v", l, err)
		}
		start(t, j, r, "next")
		close(r.over)
		synctest.Wait()
		if l := j.Ended(); len(l) != MaxRunning || l[0].ExitCode != 3 || j.Ended() != nil {
			t.Errorf("%+v", l)
		}
		for range maxEnded + 3 { // the latest can be looked at
			ids = append(ids, start(t, j, r, "x"))
			synctest.Wait()
		}
		if _, err := j.Look(t.Context(), ids[0], 0); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		look(t, j, ids[len(ids)-1], 0)
	})
}

// The end of the jobs waits for all of them, and no other begins. The end of the call that started one does not end it.
func TestF170aClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		call, over := context.WithCancel(t.Context())
		id, err := j.Start(call, r, "x", sandbox.Command{Grace: 5 * time.Second}, silent)
		over()
		synctest.Wait()
		if l := look(t, j, id, 0); err != nil || !l.Running {
			t.Errorf("%+v, %v", l, err)
		}
		if _, err := j.Start(call, r, "x", sandbox.Command{}, silent); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		begun := time.Now()
		j.Close()
		if l := look(t, j, id, 0); l.Running || time.Since(begun) != 5*time.Second {
			t.Errorf("%+v after %v", l, time.Since(begun))
		}
		if _, err := j.Start(t.Context(), r, "x", sandbox.Command{}, silent); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// TestFaultV10Continues: a command that is still running when its answer is due becomes a job with what it prints from then on. One that
// ends before is none, and so is one that the end of its call, or a lack of room, has ended.
func TestFaultV10Continues(t *testing.T) {
	run := func(t *testing.T, ctx context.Context, j *Jobs, r *played) (sandbox.Outcome, string) {
		t.Helper()
		o, id, err := j.Run(ctx, r, "make", sandbox.Command{Grace: time.Second, MaxOutput: 1 << 10}, 30*time.Second, func() []string { return []string{"last"} })
		if err != nil {
			t.Fatal(err)
		}
		return o, id
	}
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		defer j.Close()
		var changed atomic.Int32
		j.Changed = func() { changed.Add(1) }
		go func() {
			r.feeds <- "one\xe2\x82"
			time.Sleep(time.Minute)
			r.feeds <- "\xac two"
			time.Sleep(time.Minute)
			close(r.over)
		}()
		begun := time.Now()
		o, id := run(t, t.Context(), j, r)
		if id != "job_1" || o.Stdout != "one" || o.Stderr != "" || time.Since(begun) != 30*time.Second || changed.Load() != 1 {
			t.Fatalf("%q %+v after %v, %d changes", id, o, time.Since(begun), changed.Load())
		}
		if l := look(t, j, id, 0); !l.Running || l.Text != "" || l.Title != "make" {
			t.Errorf("%+v", l)
		}
		if l := look(t, j, id, time.Hour); l.Running || l.Text != "\xe2\x82\xac two" || l.Outcome.ExitCode != 3 || fmt.Sprint(l.Said) != "[last]" || changed.Load() != 2 {
			t.Errorf("%+v, %d changes", l, changed.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		j, r := New(), play()
		defer j.Close()
		go func() {
			r.feeds <- "all"
			close(r.over)
		}()
		if o, id := run(t, t.Context(), j, r); id != "" || o.Stdout != "all" || o.ExitCode != 3 || j.Any() {
			t.Errorf("one that ends in time: %q %+v", id, o)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		j := New()
		defer j.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if o, id := run(t, ctx, j, play()); id != "" || !o.TimedOut || o.Cancelled || j.Any() {
			t.Errorf("the time of the call is over: %q %+v", id, o)
		}
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, end)
		if o, id := run(t, ctx, j, play()); id != "" || o.TimedOut || !o.Cancelled || j.Any() {
			t.Errorf("the call is cancelled: %q %+v", id, o)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		j := New()
		for range MaxRunning {
			start(t, j, play(), "x")
		}
		if o, id := run(t, t.Context(), j, play()); id != "" || !o.TimedOut || o.Cancelled || len(j.Alive()) != MaxRunning {
			t.Errorf("there are too many: %q %+v", id, o)
		}
		ended := make(chan sandbox.Outcome)
		go func() {
			o, _ := run(t, t.Context(), j, play())
			ended <- o
		}()
		synctest.Wait()
		j.Close()
		if o := <-ended; !o.Cancelled {
			t.Errorf("the session is closed: %+v", o)
		}
		if _, _, err := j.Run(t.Context(), play(), "x", sandbox.Command{MaxOutput: 1}, time.Second, silent); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
