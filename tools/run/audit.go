package run

import (
	"encoding/json"
	"slices"
	"time"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
)

// Audit keeps a record of every call. It may be called concurrently.
type Audit interface {
	// Intend keeps that a call is about to change something or to reach out, before it does. The call is refused if that fails.
	Intend(r Record) error
	// Ended keeps how a call ended, also one that was refused or never began; once for each call, before its result is told.
	Ended(r Record)
}

// Record is what there is to keep of one call.
type Record struct {
	Call  Call
	Tool  string // canonical name, or the name asked for where there is no such tool
	Began time.Time
	// Args are the arguments that were judged, shown and run: JSON with sorted keys. Of a call that failed validation they are
	// those that were sent, which may be anything.
	Args json.RawMessage
	// Allowed says that a mode, a rule or a person let the call go on. Layer is which of these, or the stage at which the call
	// ended before anything was decided; Rule is its rule, or the person's answer.
	Allowed     bool
	Rule, Layer string
	// Sandbox is the level and the profile of the call's command, "" where it runs none.
	Sandbox string
	// Plan is nil where the call ended before there was one.
	Plan *tools.Plan
	// Result and Duration are those of a call that has ended.
	Result   *tools.Result
	Duration time.Duration
	// Attempts is how often the tool has tried; 0 where the call ended before. Trace are its stages so far.
	Attempts int
	Trace    []tools.Stage
}

// Dead says that the call failed for good, and not by its arguments, by anybody's decision, or by what it was to look at: its tool broke,
// its time was over, what became of it is not known, the disk or the network failed. The same call may succeed later.
func (r Record) Dead() bool {
	if r.Result == nil || r.Result.Success || r.Attempts == 0 {
		return false
	}
	switch r.Result.Error {
	case tools.ExecutionError, filetime.Timeout, filetime.Unknown, filetime.WriteError:
		return true
	}
	return r.Result.Retryable
}

// auditRecord is what there is to keep of the call so far.
func (c *call) auditRecord() Record {
	r := Record{
		Call: c.Call, Tool: c.Name, Began: c.stages.begun, Args: c.Arguments, Plan: c.plan,
		Allowed: c.verdict.decision.Verdict == gate.Allow || c.changes.landed.Plan != "", Rule: c.verdict.decision.Rule, Layer: c.verdict.decision.Layer, Sandbox: c.confinement(),
	}
	if c.tool != nil {
		r.Tool = c.tool.Spec().Name
	}
	if c.args.valid() {
		r.Args = c.effective()
	}
	return r
}

// confinement is the level and the profile that the call's command runs with.
func (c *call) confinement() string {
	needs := c.needs
	if c.plan != nil {
		needs = c.plan.Needs
	}
	i := slices.IndexFunc(needs, func(n tools.Need) bool { return n.Act == tools.Runs })
	if i < 0 {
		return ""
	}
	level := sandbox.LevelNone
	if needs[i].Confined && c.env.Commands.Runner != nil {
		level = c.env.Commands.Runner.Level().Name
	}
	return level + " " + needs[i].Profile.String()
}

// harmless says that the call only looks, or asks the person.
func (c *call) harmless() bool {
	effect := func(n tools.Need) bool { return n.Act != tools.Nothing && n.Act != tools.Reads }
	if len(c.plan.Needs) == 0 || slices.ContainsFunc(c.plan.Needs, effect) {
		return false
	}
	kind := c.tool.Spec().Kind
	return kind.ReadOnly() || kind == tools.Think
}

// intend has what is about to be changed, run or reached kept first. Without a record of it nothing is done.
func (c *call) intend() error {
	if c.host.Audit == nil || c.harmless() || c.queued() {
		return nil
	}
	err := c.host.Audit.Intend(c.auditRecord())
	if err == nil {
		return nil
	}
	return denied(tools.Denial{Reason: err.Error(), Layer: "audit", Source: "audit"},
		"Permission denied: %v. What changes something is not done without a record of it. Nothing was done. Calls that only read "+
			"still work. Tell the user what is wrong, and wait for what they say.", err)
}

// audit finishes the result and has it kept.
func (c *call) audit() error {
	c.finish()
	if c.host.Audit == nil {
		return nil
	}
	r := c.auditRecord()
	r.Trace = c.stages.trace
	if c.stages.failed == "plan" || c.began() {
		r.Attempts = max(1, c.tries.failed, c.result.Meta.Attempts)
	}
	r.Result, r.Duration = &c.result, c.result.Duration
	switch d := c.result.Denial; {
	case d != nil:
		r.Allowed, r.Rule, r.Layer = false, d.Rule, d.Layer
	case !r.Allowed:
		r.Rule, r.Layer = "", c.stages.failed
	}
	c.host.Audit.Ended(r)
	return nil
}
