package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/userinfo"
	"tandem/tools"
)

// truncate cuts the middle out of an answer that is too long for the model, keeps all of it for read_file, and leaves out what is too
// large.
func (c *call) truncate() error {
	r := &c.result
	r.Speak(c.host.Validation.Language)
	if !utf8.ValidString(r.Data) {
		r.Data = strings.ToValidUTF8(r.Data, "\uFFFD")
	}
	if c.env == nil {
		return nil
	}
	if slices.ContainsFunc(c.needs, tools.Need.ReadsOwn) {
		if without := userinfo.Without(r.Data); without != r.Data {
			r.Data, r.Gaps = without, nil // nobody edits the settings of a repository by what they look like
		}
	}
	if slices.ContainsFunc(c.needs, func(n tools.Need) bool { return n.Place != (sandbox.Place{}) && n.Place.Class().Is(sandbox.Secret) }) {
		c.host.Keys.learn(r.Data)
	}
	limits := c.env.Limits
	if c.tool != nil && c.tool.Spec().Pages && r.Success {
		limits.MaxToolOutputChars = 0
	}
	shorten(r, c.env, limits)
	return nil
}

// effective are the arguments with all defaults, those that depend on the session too once there is a plan.
func (c *call) effective() json.RawMessage {
	if c.plan != nil && c.plan.Args != nil {
		return c.plan.Args
	}
	return c.args.checked.Args
}

// record notes what the call did: in its result, and with whoever keeps the changes.
func (c *call) record() error {
	m := &c.result.Meta
	if c.args.valid() {
		m.EffectiveArgs = c.effective()
	}
	m.Coerced = c.args.checked.Coerced
	c.tries.report(&c.result)
	if c.verdict.feedback != "" {
		c.result.Data += "\nThe user says: " + c.verdict.feedback
	}
	if l := c.changes.effects.Landed; len(l.Files) > 0 {
		c.result.Effects = &l
		for _, f := range l.Files {
			m.Modified = append(m.Modified, f.Path)
		}
		c.host.Changes.landed(c.changes.effects.Change, l)
	}
	if changed := c.changedArgs(); changed != "" {
		c.warn(changed)
	}
	for _, w := range c.tries.warnings {
		if !slices.Contains(c.result.Warnings, w) {
			c.warn(w)
		}
	}
	if len(c.changes.landed.Files) == 0 {
		return nil
	}
	if c.changes.landed.Plan != "" {
		c.recordPlan()
		return nil
	}
	c.result.Landed = &c.changes.landed
	for _, w := range c.changes.landed.Warnings {
		c.warn(c.told(w))
	}
	for _, f := range c.changes.landed.Files {
		name := c.env.Name(f.Path)
		if f.Applied && !f.Already && !slices.Contains(m.Modified, f.Path) { // one that is replaced is removed and made
			m.Modified = append(m.Modified, f.Path)
		}
		if f.Applied && !f.Already && !c.result.Success {
			c.result.Data += fmt.Sprintf("\n%s was changed already, before this failed.", name)
		}
		if f.SameLine {
			c.result.Warnings = append(c.result.Warnings,
				name+": somebody else changed a line that this edit changed too, or put text right beside it; both changes are in the text.")
		}
		m.RebasedOver += f.Over
		m.Attempts = max(m.Attempts, f.Attempts)
	}
	if len(c.changes.landed.Files) == 1 {
		m.Source, m.Version = c.changes.landed.Files[0].Source, c.changes.landed.Files[0].BeforeVersion
	}
	if len(m.Modified) > 0 {
		c.host.Changes.landed(*c.plan.Change, c.changes.landed)
	}
	if c.result.Diffs == nil {
		for _, f := range c.changes.landed.Files {
			c.result.Diffs = append(c.result.Diffs, tools.Diff(c.env, f))
		}
	}
	return nil
}

// recordPlan words a change that waits: for nobody else anything has happened.
func (c *call) recordPlan() {
	r, l := &c.result, c.changes.landed
	r.Data = fmt.Sprintf("Queued as %s: nothing is changed before the user approves it. What you read, search and edit from here on has this "+
		"change in it; commands and language servers do not see it.\n", l.Plan) + r.Data
	r.Value = tools.Queued{Queued: true, PlanID: l.Plan}
	r.Summary = "Planned, not made: waits for your approval"
	c.plan.Title = "Planned: " + c.plan.Title // else it would look as if it were made
	worded := r.Diffs != nil
	for _, f := range l.Files {
		r.Meta.RebasedOver += f.Over
		if !worded && !f.Already {
			r.Diffs = append(r.Diffs, tools.Diff(c.env, f))
		}
	}
}

// invalidate has whoever knows the syntax of files by their former texts look at them again.
func (c *call) invalidate() error {
	if c.changes.landed.Plan != "" {
		return nil
	}
	c.host.Changes.stale(c.changes.landed, c.changes.effects.Landed)
	return nil
}

// warn adds a sentence to what the model and the person are told.
func (c *call) warn(says string) {
	c.result.Data += "\n" + says
	c.result.Warnings = append(c.result.Warnings, says)
}

// finish makes the result what is kept and given out.
func (c *call) finish() {
	r := &c.result
	if !r.Success && r.Error == "" {
		r.Error = tools.ExecutionError
	}
	if r.Success {
		r.Error = ""
	}
	if strings.TrimSpace(r.Data) == "" {
		r.Data = "(no output)"
	}
	r.Summary = show.Visible(r.Summary, false)
	r.Call, r.Duration = c.ID, max(0, c.host.now().Sub(c.stages.begun))
	c.shown.ended(r)
}
