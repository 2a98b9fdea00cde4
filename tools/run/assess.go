package run

import (
	"context"
	"encoding/json"

	"tandem/tools"
	"tandem/tools/gate"
)

// Assessment is what would become of a call, without anything of it being done.
type Assessment struct {
	// Tool is nil where there is no such tool.
	Tool tools.Tool
	// Danger is how much the call could break, ReadOnly that it only looks, Together that it may run with others.
	Danger             tools.Danger
	ReadOnly, Together bool
	Paths              []string
	// Args are the checked arguments, Needs what the call touches at most.
	Args     json.RawMessage
	Needs    []tools.Need
	Decision gate.Decision
	// Wide is the rule that a person might write for such calls; nil where no rule can allow this one. See gate.Wide.
	Wide *gate.Rule
	// Failed is the result of a call that ends before it is judged; nil otherwise.
	Failed *tools.Result
}

// Assess goes as far as the judgement of a call, which changes nothing. Where ctx ends, the answer is a refusal.
func Assess(ctx context.Context, host *Host, asked Call) (a Assessment) {
	c := &call{Call: asked, host: host, ctx: ctx}
	fail := func(err error) Assessment {
		r := c.failure(err)
		a.Failed, a.Danger = &r, tools.Dangerous
		a.Decision = gate.Decision{Reason: r.Data, Layer: "call", Rule: string(r.Error)}
		return a
	}
	for _, do := range []func() error{c.find, c.normalise, c.validate, c.need} {
		if err := catch(do); err != nil {
			return fail(err)
		}
	}
	a.Tool = c.tool
	spec := c.tool.Spec()
	if a.Danger = spec.Danger; a.Danger == "" {
		a.Danger = tools.Moderate
	}
	a.ReadOnly, a.Together = spec.Kind.ReadOnly(), c.footprint().together != tools.Alone
	a.Paths, a.Args, a.Needs = tools.Targets(c.needs), c.args.checked.Args, c.needs
	for _, n := range c.needs {
		if n.Danger != "" {
			a.Danger = n.Danger
		}
		a.ReadOnly = a.ReadOnly || n.OnlyReads()
	}
	gated := gate.Call{Tool: c.tool, Args: c.args.checked.Args, Needs: host.Keys.flagged(c.args.checked.Args, c.needs), Turn: c.env.Turn, Context: ctx}
	a.Decision = host.Gate.Judge(gated)
	a.Decision.Allows, _ = gate.Exact(gated)
	a.Wide = gate.Wide(gated)
	return a
}
