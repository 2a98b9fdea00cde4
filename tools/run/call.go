package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"tandem/filetime/text/show"
	"tandem/tools"
)

// Why a call's context ended.
var (
	errTimeout       = errors.New("the tool's time is over")
	errTurnCancelled = errors.New("the turn was cancelled by a person")
	errSibling       = errors.New("a command of the same batch failed")
)

// call is one call on its way through the stages.
type call struct {
	Call
	ctx  context.Context
	host *Host
	// cancelTurn is pulled where a person answers a question by ending the turn.
	cancelTurn func(cause error)
	sched      scheduling
	stages     stageLog

	late    *tools.Set // with a tool that was made known for the call
	tool    tools.Tool
	env     *tools.Env
	args    arguments
	shown   appearance
	needs   []tools.Need // as they were judged before there was a plan
	plan    *tools.Plan
	verdict judgement
	tries   attempts
	claims  []*claim
	changes changeSet
	result  tools.Result
	life    lifecycle
	pause   pause // of a running call
}

// stage is one step of a call.
type stage struct {
	name string
	do   func(*call) error
	// always stages happen to every call; the others are left out once one of them has failed.
	always bool
}

// stages are the way of every call, in order. A new concern is one more entry.
func stages() []stage {
	return []stage{
		{name: "resolve", do: (*call).resolve},
		{name: "normalise", do: (*call).normalise},
		{name: "validate", do: (*call).validate},
		{name: "before-hooks", do: (*call).beforeHooks},
		{name: "needs", do: (*call).need},
		{name: "admission", do: (*call).admission},
		{name: "plan", do: (*call).makePlan},
		{name: "policy", do: (*call).policy},
		{name: "safety", do: (*call).safety},
		{name: "permission", do: (*call).permission},
		{name: "claim", do: (*call).claim},
		{name: "cache", do: (*call).cache},
		{name: "execute", do: (*call).execute},
		{name: "after-hooks", do: (*call).afterHooks, always: true},
		{name: "truncate", do: (*call).truncate, always: true},
		{name: "record", do: (*call).record, always: true},
		{name: "ast-invalidation", do: (*call).invalidate, always: true},
		{name: "syntax", do: (*call).syntax, always: true},
		{name: "audit", do: (*call).audit, always: true},
		{name: "emit", do: (*call).emit, always: true},
	}
}

// run carries the call out. It always gives a Result, whatever the tool does.
func (c *call) run() tools.Result {
	defer c.unclaim()
	c.stages.begun = c.host.now()
	list := stages()
	ahead := map[string]time.Duration{"before-hooks": c.args.hooks.took} // what was done before the call's turn came
	for i := 0; i < len(list); i++ {
		s := list[i]
		if c.stages.skips(s) {
			continue
		}
		since := c.host.now()
		err := catch(func() error { return s.do(c) })
		switch {
		case err == nil:
		case c.loses(err):
			i = slices.IndexFunc(list, func(s stage) bool { return s.name == "needs" }) - 1
		case s.always: // the outcome stands: what has landed has landed
			c.log(err)
		default:
			c.stages.failed = s.name
			if worse := catch(func() error { c.result = c.failure(err); return nil }); worse != nil {
				c.result = tools.Fail(tools.ExecutionError, "", "Exception: %s", show.Clip(err.Error(), 500))
				c.log(worse)
			}
		}
		c.stages.took(s, c.host.now().Sub(since)+ahead[s.name])
		if c.host.Trace {
			c.result.Meta.Trace = c.stages.trace
		}
	}
	return c.result
}

// loses says that a call goes back to its needs: its command was not run, since the sandbox that there is failed. What it needs now is
// the command without one, which is judged and asked about as such, once.
func (c *call) loses(err error) bool {
	return c.tries.loses(err, c.result.Warnings)
}

// prepare goes as far as can be gone without doing anything, for the scheduler and for the first news of the call. What
// fails here fails again in its own stage.
func (c *call) prepare() {
	c.shown.title = show.Visible(c.Name, false)
	err := catch(func() error {
		if err := c.find(); err != nil {
			return nil
		}
		c.shown.title = c.tool.Spec().Name
		if err := c.normalise(); err != nil {
			return err
		}
		if t := c.tool.Title(c.args.checked.Args); t != "" {
			c.shown.title = show.Visible(t, false)
		}
		if r, ok := c.tool.(tools.Renderer); ok && len(c.args.checked.Issues) == 0 {
			c.shown.renders = r.Renders(c.args.checked.Args)
		}
		return nil
	})
	if err != nil {
		c.log(err)
	}
}
