package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime/text/show"
	"tandem/tools"
)

// Hook is middleware around calls. Its functions may be called concurrently, should return when ctx ends, and may be nil.
type Hook struct {
	// Name is what people and the model know the hook by.
	Name string
	// Matches says whether the hook is for a tool; nil is every tool.
	Matches func(tools.Spec) bool
	// Before is called with arguments that are valid, before the call is judged. It gives the arguments that the call goes on with,
	// which are validated and judged as if the model had sent them; nil leaves them as they are. An error denies the call: a
	// *HookDenial by the hook's own decision, any other since the hook failed. A hook cannot allow what is denied otherwise.
	Before func(ctx context.Context, c Hooked) (json.RawMessage, error)
	// After is called once a call was executed, with what the model is about to read, and gives what it reads instead. The result
	// stands otherwise, and after an error it stands as it is. It is not called for a call that was refused, or whose turn was
	// cancelled.
	After func(ctx context.Context, c Hooked, output string) (string, error)
}

// Hooked is what a hook is told of a call.
type Hooked struct {
	Session, Call string
	// Turn is 0 outside of a turn.
	Turn int
	// Tool is the canonical name.
	Tool string
	// Args are JSON with sorted keys and the defaults.
	Args json.RawMessage
	// Error is the code of a call that has failed, "" before it and where it succeeded.
	Error string
}

// HookDenial is the decision of a hook that a call must not go on.
type HookDenial struct{ Reason string }

func (d *HookDenial) Error() string { return d.Reason }

// hooks are those that are for the call.
func (c *call) hooks() []Hook {
	if c.tool == nil || len(c.host.Hooks) == 0 {
		return nil
	}
	spec := c.tool.Spec()
	return slices.DeleteFunc(slices.Clone(c.host.Hooks), func(h Hook) bool { return h.Matches != nil && !h.Matches(spec) })
}

// awaitsHooks says that it is not known what the call is about before its hooks have run.
func (c *call) awaitsHooks() bool {
	return !c.args.hooks.ran && c.args.valid() &&
		slices.ContainsFunc(c.hooks(), func(h Hook) bool { return h.Before != nil })
}

// beforeHooks has the hooks before the call run, once: the scheduler needs the arguments that they leave, and calls it first.
func (c *call) beforeHooks() error {
	if !c.awaitsHooks() {
		return c.args.hooks.err
	}
	since := c.host.now()
	c.args.hooks.err = catch(func() error {
		for _, h := range c.hooks() {
			if h.Before == nil {
				continue
			}
			if err := c.beforeHook(h); err != nil {
				return err
			}
		}
		return nil
	})
	c.args.hooks.ran, c.args.hooks.took = true, c.host.now().Sub(since)
	return c.args.hooks.err
}

func (c *call) beforeHook(h Hook) error {
	if err := c.alive(); err != nil {
		return err
	}
	var changed json.RawMessage
	err := catch(func() (err error) {
		changed, err = h.Before(c.ctx, c.hookedCall())
		return err
	})
	if _, ok := errors.AsType[*crash](err); ok {
		c.log(err)
	}
	if err != nil {
		if alive := c.alive(); alive != nil {
			return alive
		}
		return deniedByHook(h.Name, err)
	}
	if changed == nil {
		return nil
	}
	checked := c.host.Validation.check(c.tool, changed)
	if len(checked.Issues) == 0 && string(checked.Args) == string(c.args.checked.Args) {
		return nil
	}
	if len(checked.Issues) > 0 {
		refusal := new(tools.Refusal)
		if err := tools.Invalid(checked.Issues); errors.As(err, &refusal) {
			refusal.Result.Data += fmt.Sprintf("\nThese are not your arguments but those of the hook %s, which changed them. Nothing was done. "+
				"Tell the user that the hook is wrong.", h.Name)
		}
		return refusal
	}
	c.args.change(h.Name, checked)
	if t := c.tool.Title(c.args.checked.Args); t != "" {
		c.shown.title = show.Visible(t, false)
	}
	return nil
}

func (c *call) hookedCall() Hooked {
	return Hooked{
		Session: c.env.Session, Call: c.ID, Turn: c.env.Turn, Tool: c.tool.Spec().Name, Args: slices.Clone(c.args.checked.Args),
		Error: string(c.result.Error),
	}
}

// deniedByHook is a call that a hook has refused, or that a hook was to judge and has failed.
func deniedByHook(name string, err error) error {
	d := tools.Denial{Reason: tidy(err.Error(), 1000), Rule: name, Layer: "hook", Source: "hook"}
	if _, ok := errors.AsType[*HookDenial](err); ok {
		return denied(d, "Permission denied by the hook %s: %s\nNothing was done. Do what follows from this reason; where nothing does, go on "+
			"without the call, and tell the user what you could not do.", name, d.Reason)
	}
	return denied(d, "Permission denied: the hook %s has to judge this call, and failed: %s\nNothing was done. Calls that it is for are denied as "+
		"long as it fails: go on without them, and tell the user.", name, d.Reason)
}

// tidy makes a text from outside fit to be read by a model.
func tidy(text string, limit int) string {
	return show.Clip(strings.TrimSpace(show.Prose(text)), limit)
}

// changedArgs tells the model, which knows the arguments that it sent, what hooks have made of them.
func (c *call) changedArgs() string {
	if len(c.args.hooks.changedBy) == 0 || !c.began() {
		return ""
	}
	return fmt.Sprintf("The call ran with other arguments than yours, changed by %s: %s", strings.Join(c.args.hooks.changedBy, ", "), tidy(string(c.args.checked.Args), 1000))
}

// afterHooks gives the hooks after the call what the model is about to read.
func (c *call) afterHooks() error {
	if c.tool == nil || !c.began() || c.ctx.Err() != nil {
		return nil
	}
	r := &c.result
	for _, h := range c.hooks() {
		if h.After == nil {
			continue
		}
		if len(r.Gaps) > 0 { // a hook reads what the model would
			r.Data = marked(r.Data, r.Gaps).text
			r.Gaps, r.Truncated = nil, true
		}
		var output string
		err := catch(func() (err error) {
			output, err = h.After(c.ctx, c.hookedCall(), strings.ToValidUTF8(r.Data, "\uFFFD"))
			return err
		})
		if err != nil {
			c.log(err)
			failed := fmt.Sprintf("The hook %s failed after the call: %s", h.Name, tidy(err.Error(), 500))
			r.Data += "\n" + failed
			r.Warnings = append(r.Warnings, failed)
			continue
		}
		r.Data = show.Prose(output)
	}
	return nil
}
