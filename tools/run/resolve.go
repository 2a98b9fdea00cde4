package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
)

// resolve finds the tool, and fails where it was taken out since the request that the call answers.
func (c *call) resolve() error {
	if err := c.alive(); err != nil {
		return err
	}
	if err := c.host.Schedule.Budget.take(); err != nil {
		return err
	}
	if err := c.resolveLate(); err != nil {
		return err
	}
	return c.find()
}

// resolveLate has a tool made known that is in no set yet.
func (c *call) resolveLate() error {
	h := c.host
	if c.tool != nil || !h.Offering.lazy(h.Tools, c.Name) {
		return nil
	}
	there, err := h.Offering.Resolve(c.ctx, c.Name)
	if err := c.alive(); err != nil {
		return err
	}
	if err != nil {
		return tools.Refuse(tools.ToolNotFound, "off", "Tool %q cannot be had: %s. Go on without it, and tell the user.", show.Clip(c.Name, 80),
			strings.TrimRight(show.Visible(err.Error(), false), "."))
	}
	if there {
		c.late = h.Offering.now(h.Tools)
	}
	return nil
}

func (c *call) find() error {
	if c.tool == nil {
		if c.tool = c.host.Tools.Get(c.Name); c.tool == nil && c.late != nil {
			c.tool = c.late.Get(c.Name)
		}
		if c.tool != nil {
			c.env = c.host.Env(c.Call)
			c.env.Judged = tools.Judged{Context: c.ctx, Allows: c.mayRead, Denies: c.refuses(), More: c.again}
			c.env.Person.Show, c.env.Person.Pause, c.env.Read = c.progress, c.thinking, c.judgedRead(c.env.Read)
			if c.env.Commands.Runner != nil {
				c.env.Commands.Runner = &judgedRunner{c.env.Commands.Runner, c}
			}
		}
	}
	offer := c.host.Offering.now(c.host.Tools)
	if c.tool != nil && offer.Holds(c.tool) {
		return nil
	}
	if v := offer.Dropping(c.Name); v != nil {
		if v.Setting != "" {
			return tools.Refuse(tools.Unsupported, "setting", "Tool %q needs the setting %s, which the user has not made. "+
				"Go on without it, and tell the user.", c.Name, v.Setting)
		}
		return tools.Refuse(tools.ToolNotFound, "disabled", "Tool %q is disabled by %s. Do it with another tool.", c.Name, v.By)
	}
	shown := c.host.Offering.Of(offer)
	if near := shown.Nearest(c.Name); len(near) > 0 {
		return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. Did you mean %s?", show.Clip(c.Name, 60), strings.Join(near, ", "))
	}
	names, deferred := shown.Names()
	if deferred > 0 {
		return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. The tools are %s; tool_search finds %d more.", show.Clip(c.Name, 60),
			strings.Join(names, ", "), deferred)
	}
	return tools.Refuse(tools.ToolNotFound, "unknown", "Tool %q does not exist. The tools are %s.", show.Clip(c.Name, 60), strings.Join(names, ", "))
}

func (c *call) normalise() error {
	if !c.args.known {
		c.args.checked = c.host.Validation.check(c.tool, c.Arguments)
		c.args.known = true
	}
	return nil
}

func (c *call) validate() error {
	if len(c.args.checked.Issues) > 0 {
		return c.unseen(tools.Invalid(c.args.checked.Issues))
	}
	c.env.Judged.Checked = true
	return nil
}

// unseen adds the parameters to a refusal of arguments that were a guess, since the model was told of the tool by name alone.
func (c *call) unseen(err error) error {
	var refusal *tools.Refusal
	if all := c.env.Catalogue; all != nil && all.Offer().Deferred(c.tool) && errors.As(err, &refusal) {
		refusal.Result.Data += "\nThe tool and its parameters:\n" + tools.Schema(c.tool)
		all.Load(c.tool.Spec().Name)
	}
	return err
}

// need finds what the call is about to touch.
func (c *call) need() (err error) {
	c.needs, err = c.tool.Needs(c.env, c.args.checked.Args)
	c.env.Needs = c.needs
	return err
}

// makePlan lets the tool work out what it will do. What cannot be done ends here, before anybody is asked.
func (c *call) makePlan() error {
	leave, err := c.takeSlot()
	if err != nil {
		return err
	}
	defer leave()
	ctx, done := c.limited()
	defer done()
	plan, err := patient(ctx, c.grace(), func(ctx context.Context) (*tools.Plan, error) {
		return c.tool.Plan(ctx, c.env, c.args.checked.Args)
	})
	if err != nil {
		return c.why(ctx, err)
	}
	if plan == nil || (plan.Change == nil) == (plan.Run == nil) {
		return errors.New("the tool made no plan that can be carried out")
	}
	if plan.Needs == nil {
		plan.Needs = c.needs
	}
	if err := plan.Unjudged(c.needs); err != nil {
		return fmt.Errorf("a fault of the tool %s: %w; nothing was done", c.tool.Spec().Name, err)
	}
	if plan.Locations == nil {
		for _, path := range tools.Targets(plan.Needs) {
			plan.Locations = append(plan.Locations, tools.Location{Path: path})
		}
	}
	if plan.Title = show.Visible(plan.Title, false); plan.Title == "" {
		plan.Title = c.shown.title
	}
	if plan.Kind == "" {
		plan.Kind = c.tool.Spec().Kind
	}
	if ch := plan.Change; ch != nil {
		ch.Session, ch.Call, ch.Turn, ch.Tool = c.env.Session, c.env.Call, c.env.Turn, c.tool.Spec().Name
		ch.Apply = c.host.Apply
		if ch.Label == "" {
			ch.Label = plan.Title
		}
		for i, f := range ch.Files {
			ch.Files[i].OneName = !slices.ContainsFunc(plan.Needs, func(n tools.Need) bool {
				return n.Place.Path() == f.Path && n.Place.Class().Is(sandbox.Linked)
			})
		}
	}
	c.life.mu.Lock()
	c.plan = plan
	c.life.mu.Unlock()
	return nil
}
