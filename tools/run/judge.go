package run

import (
	"slices"
	"strings"
	"sync"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
)

// admission refuses what no answer of a person would allow, before the tool reads anything for it.
func (c *call) admission() error { return c.judge(c.needs) }

// policy judges what the plan needs, which may be less than what was admitted.
func (c *call) policy() error { return c.judge(c.plan.Needs) }

// judge asks the gate about needs, and fails where it refuses.
func (c *call) judge(needs []tools.Need) error {
	needs = c.host.Keys.flagged(c.args.checked.Args, needs)
	d := c.host.Gate.Judge(gate.Call{Tool: c.tool, Args: c.args.checked.Args, Needs: needs, Turn: c.env.Turn, Context: c.ctx})
	if err := c.alive(); err != nil {
		return err
	}
	if c.tries.lost != "" {
		d.Reason, d.Why = d.Reason+"; "+c.tries.lost, d.Why+"; "+c.tries.lost
	}
	switch c.verdict.decision = d; d.Verdict {
	case gate.Allow, gate.Ask:
		return nil
	case gate.Queue:
		if c.canWait(needs) {
			return nil
		}
		return tools.Refuse(tools.PlanMode, "plan", "The session only plans: %s. Nothing was done. Edits of text and new files can be "+
			"planned, and reads, searches and commands that only read run. Say what else you would do, and leave it to the user to change "+
			"the mode.", d.Reason)
	}
	return denied(tools.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: "policy"},
		"Permission denied: %s. Nothing was done. The same call is denied every time: go on without it, "+
			"and tell the user what you could not do.", d.Reason)
}

// canWait says that the call may be queued: as far as is known by now, it changes texts and makes files, and does nothing else.
func (c *call) canWait(needs []tools.Need) bool {
	if !c.host.Changes.Queues || c.host.Apply == filetime.None {
		return false
	}
	if c.plan != nil {
		return c.plan.Change != nil && !c.plan.Change.Undo && c.plan.Change.CanWait()
	}
	return len(needs) > 0 && !slices.ContainsFunc(needs, func(n tools.Need) bool { return n.Act > tools.Replaces || n.Act < tools.Nothing })
}

// queued says that the gate has the call's change wait for a person.
func (c *call) queued() bool { return c.verdict.decision.Verdict == gate.Queue }

// mayRead says that reading a place would be allowed without a question. A host without the tool has no rule about it.
func (c *call) mayRead(p sandbox.Place) bool {
	t := c.host.Tools.Get(tools.ReadFile)
	if t == nil {
		return c.host.Tools.DroppedBy(tools.ReadFile) == ""
	}
	need := tools.Need{Act: tools.Reads, Place: p, Arg: tools.PathArg}
	return c.host.Gate.Judge(gate.Call{Tool: t, Needs: []tools.Need{need}, Turn: c.env.Turn, Context: c.ctx}).Verdict == gate.Allow
}

// refuses makes the function that reports whether a rule refuses the call for a place that a search
// comes by. A list has tens of thousands of places, which share the memory of their need.
func (c *call) refuses() func(sandbox.Place) bool {
	reused := sync.Pool{New: func() any { return new([1]tools.Need) }}
	return func(p sandbox.Place) bool {
		needs := reused.Get().(*[1]tools.Need)
		defer reused.Put(needs)
		needs[0] = tools.Need{Act: tools.Reads, Place: p, Arg: tools.PathArg}
		d := c.host.Gate.Judge(gate.Call{Tool: c.tool, Needs: needs[:], Turn: c.env.Turn, Context: c.ctx})
		return d.Verdict == gate.Deny && d.Layer == gate.LayerRules
	}
}

// safety works out what a person who is asked has to know: the change as of now, and the files of which nothing brings the text back.
func (c *call) safety() error {
	if c.verdict.decision.Verdict == gate.Allow || c.queued() {
		return nil
	}
	diffs, err := c.preview()
	c.verdict.question = Question{Plan: c.plan, Args: c.args.checked.Args, Diffs: diffs, Unkept: c.unkept()}
	return err
}

// permission asks a person where the policy takes that, with nothing of the call done yet and no time limit running.
func (c *call) permission() error {
	if c.verdict.decision.Verdict == gate.Allow || c.queued() {
		return nil
	}
	option, err := c.agreed(c.verdict.question)
	if err != nil {
		return err
	}
	if c.queued() { // the mode was changed while the question stood
		return nil
	}
	c.verdict.byPerson(option)
	if c.plan.Change != nil {
		c.plan.Change.Allowed = true
	}
	return nil
}

// agreed asks a person about the call and judges it again when the answer comes, by the mode, the rules and the files as they are by
// then. An answer allows what was asked: what is refused now stays refused, and what has become another question is asked again.
func (c *call) agreed(q Question) (Option, error) {
	for {
		asked, scripts := c.verdict.decision, scriptsOf(c.plan.Needs)
		q.Judged = asked
		option, err := c.consent(q)
		if err != nil {
			return "", err
		}
		now, err := c.needsNow()
		if err != nil {
			return "", err
		}
		if err := c.plan.Unjudged(now); err != nil {
			return "", denied(tools.Denial{Reason: "what the call is about has changed while the question stood", Layer: "person", Source: "changed"},
				"Permission denied: what the call is about has changed while the user was asked (%v). Nothing was done. If the call is still "+
					"right, send it again.", err)
		}
		if err := c.judge(now); err != nil {
			return "", err
		}
		worst := c.verdict.decision
		if err := c.judge(c.plan.Needs); err != nil {
			return "", err
		}
		if worst.Verdict < c.verdict.decision.Verdict || worst.Once {
			c.verdict.decision = worst
		}
		if scriptsOf(now) == scripts && (c.verdict.decision.Verdict == gate.Allow || !c.verdict.decision.Once || asked.Once) {
			return option, nil
		}
		for i, n := range c.plan.Needs {
			if n.Act == tools.Runs {
				c.plan.Needs[i].Scripts = scriptsOf(now)
			}
		}
	}
}

// needsNow are the needs of the call as they are by now.
func (c *call) needsNow() ([]tools.Need, error) {
	env := *c.env
	env.Needs = nil
	return c.tool.Needs(&env, c.args.checked.Args)
}

// scriptsOf are the scripts of the command in needs; see tools.Need.Scripts.
func scriptsOf(needs []tools.Need) string {
	for _, n := range needs {
		if n.Act == tools.Runs {
			return n.Scripts
		}
	}
	return ""
}

// consent asks a person, and fails where they do not allow what is asked.
func (c *call) consent(q Question) (Option, error) {
	answer := Answer{Outcome: Unavailable}
	if q.Call, q.Tool, q.Turn = c.Call, c.tool, c.env.Turn; c.host.Asker != nil {
		answer = c.host.Asker.Ask(c.ctx, q)
	}
	if err := c.alive(); err != nil {
		return "", err
	}
	if answer.Outcome == Cancelled {
		c.cancelTurn(errTurnCancelled)
		return "", errTurnCancelled
	}
	switch answer.Outcome {
	case Allowed:
		c.verdict.feedback = feedback(answer)
		return answer.Option, nil
	case Unavailable:
		d := tools.Denial{Reason: "nobody is there who could be asked for permission", Layer: "person", Source: "unattended"}
		if q.Judged.Layer == gate.LayerSandbox {
			d.Layer = gate.LayerSandbox
		}
		return "", denied(d,
			"Permission denied: the user has to be asked first (%s), and nobody can be asked here. Calls of this kind cannot "+
				"run in this session at all. Nothing was done. Go on without them, and say what is left to do.", q.Judged.Reason)
	case Unanswered:
		return "", denied(tools.Denial{
			Reason: "the editor gave no valid answer to the question for permission", Layer: "person", Source: "unanswered",
		}, "Permission denied: the editor gave no valid answer to the question for permission. Nothing was done. "+
			"Stop here and tell the user that the question was not answered.")
	}
	d := tools.Denial{Reason: "the user denied this call", Layer: "person", Source: "user"}
	if answer.Outcome == RejectedBefore {
		return "", denied(d, "Permission denied: the user already denied this same call in this turn and was not asked again. Nothing was "+
			"done. Do not repeat it. Say what you wanted to do and wait for what the user says.")
	}
	if c.verdict.feedback = feedback(answer); c.verdict.feedback != "" {
		return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Do not try to get the same result another way; "+
			"do what follows from what the user says.")
	}
	return "", denied(d, "Permission denied: the user denied this call. Nothing was done. Stop here: do not try to get the same result "+
		"another way. Say what you wanted to do and wait for the user's answer.")
}

// told is a warning as the model reads it.
func (c *call) told(w filetime.Warning) string { return c.env.Name(w.Path) + " " + w.Says }

// feedback is what a person said with their answer, as the model reads it.
func feedback(a Answer) string {
	const most = 4000
	return strings.TrimSpace(show.Clip(strings.ToValidUTF8(a.Feedback, "\uFFFD"), most))
}

// denied is a call that somebody refused; format tells the model what follows from that.
func denied(d tools.Denial, format string, args ...any) error {
	r := tools.Fail(tools.GateDenied, "denied", format, args...)
	r.Denial = &d
	return &tools.Refusal{Result: r}
}
