package run

import (
	"context"
	"errors"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/tools"
)

// takeSlot waits until the call may run. One that only asks a person or takes a note needs none: it must not hold the others
// up.
func (c *call) takeSlot() (leave func(), err error) {
	if c.tool.Spec().Kind == tools.Think {
		return func() {}, nil
	}
	leave, err = c.host.Schedule.Slots.take(c.ctx)
	if err != nil {
		return nil, c.why(c.ctx, err)
	}
	return leave, nil
}

// execute carries the plan out, under the time limit and, for a change, under the locks of its files.
func (c *call) execute() error {
	if err := c.alive(); err != nil {
		return err
	}
	leave, err := c.takeSlot()
	if err != nil {
		return err
	}
	c.leave(leave)
	defer c.leave(nil)
	if err := c.env.Paths.Intact(); err != nil { // a person may have thought for long
		return err
	}
	if err := c.intend(); err != nil {
		return err
	}
	c.enter(Executing, Event{Phase: "use"})
	ctx, done := c.limited()
	defer done()
	if since := c.host.now(); c.tool.Spec().Kind != tools.Think {
		defer func() { c.host.Schedule.Budget.spend(c.host.now().Sub(since) - c.asking()) }()
	}
	if c.plan.Run != nil {
		began := c.beforeCommand(ctx)
		r, err := c.attempts(ctx)
		if err == nil && !r.Success && errors.Is(context.Cause(ctx), errBudget) {
			why := c.host.Schedule.Budget.stopped()
			r.Error, r.Reason, r.Data = why.Result.Error, why.Result.Reason, r.Data+"\n"+why.Result.Data
		}
		if err == nil && r.Error == filetime.Cancelled && errors.Is(context.Cause(ctx), errSibling) {
			r.Error, r.Reason, r.Data = tools.SiblingCancelled, "sibling", r.Data+"\n"+siblingFailed
		}
		for _, w := range began.Warnings {
			r.Data = beforeExitCode(r.Data, c.told(w))
			r.Warnings = append(r.Warnings, c.told(w))
		}
		if began.Ended != nil { // whatever ended it, what it has changed is found
			c.affected(&r, began.Ended(context.WithoutCancel(ctx)))
		}
		c.result = r
		if err == nil && !r.Success && r.Error == "" {
			err = errors.New("the tool answered neither success nor an error")
		}
		return c.why(ctx, err)
	}
	var paths []string
	for _, f := range c.plan.Change.Files {
		if paths = append(paths, f.Path); f.To != "" {
			paths = append(paths, f.To)
		}
	}
	var refusal error
	ctx = filetime.WithHolder(ctx, filetime.Holder{Call: c.ID})
	err = c.env.FileTime.WithLock(ctx, paths, func() error {
		// A landing is always waited for: nobody may be told that it failed while it is still on its way.
		change := *c.plan.Change
		change.Waits = c.waits
		if c.queued() {
			change.Apply = filetime.Planned
		}
		c.changes.landed, refusal = c.host.Files.Commit(ctx, change)
		for _, f := range c.changes.landed.Files {
			c.env.FileTime.Wrote(c.host.Changes.project(f))
		}
		return nil
	})
	switch {
	case err != nil:
		return c.why(ctx, err)
	case refusal != nil:
		return c.refused(c.why(ctx, refusal))
	}
	c.result = c.plan.Done(c.changes.landed)
	return nil
}

// waitTime is after what time a call that waits for the editor says so.
const waitTime = 5 * time.Second

// waits stops the time of the call while its change waits for the editor, which may tell of changes only when its user pauses.
func (c *call) waits() (over func()) {
	answered := c.thinking()
	timer := time.AfterFunc(waitTime, func() { c.progress(tools.Progress{Text: "(waits until you pause typing)\n"}) })
	return func() {
		timer.Stop()
		answered()
	}
}

// command is what the host is told of a command, or of a process at work; ok is false where the call has none.
func (c *call) command() (about Command, ok bool) {
	if c.plan.Command() == "" && !c.plan.Touches {
		return Command{}, false
	}
	e := c.env
	about = Command{
		Change: filetime.Change{Session: e.Session, Call: e.Call, Turn: e.Turn, Tool: c.tool.Spec().Name, Label: c.plan.Title},
		Paths:  e.Paths, Seen: e.FileTime.Paths(), Unwatched: c.plan.GoesOn,
	}
	for _, n := range c.plan.Needs {
		about.Unwatched = about.Unwatched || n.OnlyReads()
	}
	return about, true
}

// beforeCommand tells the host of a command that is about to run.
func (c *call) beforeCommand(ctx context.Context) Began {
	about, ok := c.command()
	if !ok {
		return Began{}
	}
	return c.host.Changes.before(ctx, about)
}

// unkept is what a person who is asked is told of files that the command may change for good.
func (c *call) unkept() string {
	about, ok := c.command()
	if !ok {
		return ""
	}
	return c.host.Changes.unkept(c.ctx, about)
}

// affected takes what a command has changed into its result.
func (c *call) affected(r *tools.Result, e tools.Effects) {
	c.changes.effects = e
	if told := e.Told(c.env); told != "" {
		r.Data = beforeExitCode(r.Data, told)
	}
}

// beforeExitCode adds lines to what a command has printed. The exit code stays the last line.
func beforeExitCode(data, lines string) string {
	at := strings.LastIndexByte(data, '\n') + 1
	if last := data[at:]; strings.HasPrefix(last, "[Exit code: ") {
		return data[:at] + lines + "\n" + last
	}
	return data + "\n" + lines
}

const siblingFailed = "A command that ran beside it failed, so it was stopped. Look at that one first, then run this one again if it is still needed."

// refused is the error of a change that was not made, as the tool words it.
func (c *call) refused(err error) error {
	if err == nil || c.plan.Failed == nil {
		return err
	}
	return c.plan.Failed(err)
}

// alive fails where the turn is over, so that nothing new is begun.
func (c *call) alive() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// limited gives the context that the tool works under.
func (c *call) limited() (context.Context, context.CancelFunc) {
	ctx, free := c.ctx, func() {}
	if c.tool.Spec().Block || c.plan != nil && c.plan.Block {
		ctx, free = c.blocking()
	}
	d, cause := c.env.Limits.ToolTimeout, errTimeout
	if c.tool.Spec().NoTimeout {
		d = 0
	}
	// Nobody's time is counted while a person thinks.
	if left := c.host.Schedule.Budget.left(); left > 0 && c.tool.Spec().Kind != tools.Think && (d == 0 || left < d) {
		d, cause = left, errBudget
	}
	if d > 0 {
		l, done := newLimit(ctx, d, cause)
		c.pause.mu.Lock()
		c.pause.limit = l
		c.pause.mu.Unlock()
		return l, func() { done(); free() }
	}
	ctx, done := context.WithCancel(ctx)
	return ctx, func() { done(); free() }
}

// blocking is the context of a call that a cancel waits for: only the end of Host.Life ends it.
func (c *call) blocking() (ctx context.Context, free func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx))
	told := context.AfterFunc(c.ctx, func() {
		c.progress(tools.Progress{Text: "(cancelled: this finishes first; cancel once more to end it)\n"})
	})
	over := func() bool { return true }
	if life := c.host.Life; life != nil {
		over = context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	}
	return ctx, func() {
		told()
		over()
		cancel(nil)
	}
}

// grace is how long a tool may take to notice that its time is over: a command is first asked to end, then killed.
func (c *call) grace() time.Duration { return c.env.Limits.KillGrace + 2*time.Second }

// why gives the cause of an error: where the context has ended and the error says no more than that, what ended it.
func (c *call) why(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || speaks(err) {
		return err
	}
	if part, ok := errors.AsType[*filetime.Incomplete](err); ok { // what became of each file is still to be told
		return &filetime.Incomplete{Err: c.why(ctx, part.Err), Files: part.Files}
	}
	if errors.Is(context.Cause(ctx), errBudget) {
		return c.host.Schedule.Budget.stopped()
	}
	return context.Cause(ctx)
}
