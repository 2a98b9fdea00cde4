// Package gate judges calls of tools: may a call go on, must a person be asked, or is it refused. It is a pure function of the
// mode, the rules and the call; nothing here asks anybody, and nothing is looked up.
//
// A call needs things: files, a command, a host (tools.Need). Each need is judged by itself, and the strictest verdict on one
// of them is the verdict on the call; deny is stricter than queue, queue than ask, ask than allow. For one need the first line
// that applies decides:
//
//	1 deny   no tool may do it: Tandem's own files, .git, a forbidden command. Nothing switches this off.
//	2 deny   a deny rule covers it, whoever wrote the rule.
//	3 deny   sandbox.level is strict, and no sandbox confines the command.
//	4 deny   the mode denies it, or queues it (plan).
//	5 ask    it is asked about each time: keys, what runs later, danger, a command without a sandbox, what is not declared, and
//	         what may be covered by a deny rule. No rule and no earlier answer allows it.
//	6 ask    an ask rule covers it.
//	7 allow  an allow rule covers it, from the user's own configuration or from an answer.
//	8        what the mode says.
//
// So the order of rules means nothing, a deny cannot be undone, and an allow rule only answers questions: it never lifts a
// refusal of the mode. A rule names a tool, and patterns of its parameters: paths as globs, commands word by word, see Rule.
// Whether the rules of a repository may allow anything is decided where rules are read: they may not.
package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/rule"
)

// Verdict is what is said to a call. The zero value refuses.
type Verdict = rule.Verdict

// The verdicts, from the strictest on.
const (
	Deny  = rule.Deny
	Queue = rule.Queue
	Ask   = rule.Ask
	Allow = rule.Allow
)

// Layers name who decided.
const (
	LayerBuiltin = "protected" // line 1
	LayerRules   = "rules"     // lines 2, 6 and 7
	LayerSandbox = "sandbox"   // line 3, and lines 4 and 5 for a command that would be judged otherwise in a sandbox
	LayerMode    = "mode"      // lines 4, 5 and 8
)

// Call is what is judged.
type Call struct {
	Tool tools.Tool
	// Args are the checked arguments, with their canonical names and the defaults; nil where only the needs are known.
	Args  json.RawMessage
	Needs []tools.Need
	// Turn is that of the call; 0 is none.
	Turn int
	// Context ends when nobody waits for the judgement any more, which then refuses. nil never ends.
	Context context.Context
}

// ended reports whether nobody waits for the judgement.
func (c Call) ended() bool { return c.Context != nil && c.Context.Err() != nil }

// Decision is a verdict with its grounds: Reason for the model, Why for a person who is asked, the id of the rule that decided or
// the name of the mode, and the layer that it belongs to.
type Decision struct {
	Verdict Verdict
	Reason  string
	Why     string
	Rule    string
	Layer   string
	// Once says of Ask that an answer is about this call alone.
	Once bool
	// Allows and Denies are the rules by which the question need not be asked again; nil where there is none, as with Once.
	Allows, Denies *Rule
	// Wide is the rule of a further answer, for a command whose options are all known: its first word and anything after it; nil where
	// there is none.
	Wide *Rule
	// Edits are the files, by canonical path, where the question is only about edits of files; nil otherwise.
	Edits []string
}

// Policy is a mode and the rules on top of it. It is never changed; all methods may be called concurrently.
type Policy struct {
	mode     Mode
	row      ModeRow
	known    bool
	confined bool
	rules    map[Verdict]*ruleSet
	now      func() time.Time
}

// Options make a Policy.
type Options struct {
	Mode Mode
	// Strict refuses commands that no sandbox confines.
	Strict bool
	// Cwd is the canonical folder of the session, which relative patterns start from.
	Cwd   string
	Rules []Rule
	// Now is the time by which rules hold; nil is time.Now.
	Now func() time.Time
}

// New makes a policy. Rules for other workspaces are left out.
func New(o Options) *Policy {
	p := &Policy{mode: o.Mode, confined: o.Strict, now: o.Now, rules: map[Verdict]*ruleSet{Deny: {}, Ask: {}, Allow: {}}}
	if p.now == nil {
		p.now = time.Now
	}
	p.row, p.known = o.Mode.row()
	for _, r := range o.Rules {
		if set := p.rules[r.Effect]; set != nil && here(r, o.Cwd) {
			set.add(compile(r, o.Cwd))
		}
	}
	for _, set := range p.rules {
		set.ready()
	}
	return p
}

// Judge says what the rules and the mode say to a call. A mode that is not known denies everything, and no needs are unknown
// ones.
func (p *Policy) Judge(c Call) Decision {
	name := c.Tool.Spec().Name
	if !p.known {
		return Decision{Reason: fmt.Sprintf("there is no mode %q", string(p.mode)), Rule: string(p.mode), Layer: LayerMode}
	}
	needs := c.Needs
	if len(needs) == 0 {
		needs = []tools.Need{{}}
	}
	var worst Decision
	var asked []tools.Need
	var act tools.Act // of the worst
	about := &subject{Call: c, now: p.now()}
	for i, n := range needs {
		if c.ended() {
			return Decision{Reason: name + " was not judged: the call has ended", Rule: "built-in", Layer: LayerBuiltin}
		}
		d := p.judge(about, honest(c.Tool, n))
		if d.Verdict == Ask {
			asked = append(asked, n)
		}
		more := d.Once && !worst.Once || d.Once == worst.Once && n.Act > act && n.Act.Writes() && act.Writes()
		if i == 0 || d.Verdict < worst.Verdict || d.Verdict == worst.Verdict && more {
			worst, act = d, n.Act
		}
	}
	worst.Reason = name + " " + worst.Reason
	if worst.Verdict == Ask && !worst.Once {
		worst.Allows, worst.Denies, worst.Edits = derive(c, asked)
		worst.Wide = widened(worst.Allows, c.Needs)
	}
	return worst
}

// judge is the eight lines for one need. The reason follows the name of the tool.
func (p *Policy) judge(c *subject, n tools.Need) Decision {
	c.at, c.parts = nil, partsOf(n)
	op := p.row.of(c.Tool, n)
	if op.never != "" {
		return Decision{Reason: op.never, Rule: "built-in", Layer: LayerBuiltin}
	}
	denying, covered := p.covering(Deny, c, n)
	if covered == yes {
		return Decision{Reason: "is refused by " + cmp.Or(denying.Source, "a rule"), Rule: denying.ID(), Layer: LayerRules}
	}
	if p.confined && n.Act == tools.Runs && !n.Confined {
		return Decision{
			Reason: "is refused: sandbox.level is strict, and there is no sandbox that could confine the command",
			Rule:   "sandbox.level", Layer: LayerSandbox,
		}
	}
	d := Decision{Verdict: op.verdict, Reason: op.what, Why: op.why, Rule: string(p.mode), Layer: cmp.Or(op.layer, LayerMode)}
	switch {
	case d.Verdict < Ask:
		d.Reason += ", and the mode is " + string(p.mode)
		return d
	case op.each:
		d.Verdict, d.Once = Ask, true
		return d
	case covered == maybe:
		return Decision{
			Verdict: Ask, Once: true, Rule: denying.ID(), Layer: LayerRules,
			Reason: fmt.Sprintf("%s, and nobody can tell whether %s is about it", op.what, denying.name()),
			Why:    fmt.Sprintf("%s; a deny rule may apply: %s", op.why, denying.name()),
		}
	}
	if r, covers := p.covering(Ask, c, n); covers != no {
		return Decision{
			Verdict: Ask, Reason: fmt.Sprintf("%s, and %s wants a question", op.what, r.name()), Rule: r.ID(), Layer: LayerRules,
			Why: fmt.Sprintf("%s; an ask rule applies: %s", op.why, r.name()), Once: true,
		}
	}
	if d.Verdict == Ask {
		if r := p.allowing(c, n); r != nil {
			return Decision{Verdict: Allow, Reason: fmt.Sprintf("%s, which %s allows", op.what, r.name()), Rule: r.ID(), Layer: LayerRules}
		}
		if names := p.changed(c, n); names != "" {
			d.Reason += ", which was allowed for " + names + " as it was then: it has changed since"
			d.Why += "; changed since you allowed this: " + names
		}
	}
	return d
}

// covering finds the rule of an effect that covers the most of a need: any part of it is enough.
func (p *Policy) covering(effect Verdict, c *subject, n tools.Need) (found *compiled, most match) {
	for i, part := range c.parts {
		p.rules[effect].each(c, n, part, func(r *compiled) bool {
			if i > 0 && len(r.words) == 0 { // it is about all parts alike
				return true
			}
			if m := r.covers(c, n, part); m > most {
				found, most = r, m
			}
			return most < yes && !c.ended()
		})
	}
	return found, most
}

// allowing finds the rules that cover all parts of a need, and gives the first.
func (p *Policy) allowing(c *subject, n tools.Need) (first *compiled) {
	for _, part := range c.parts {
		var covering *compiled
		p.rules[Allow].each(c, n, part, func(r *compiled) bool {
			if r.covers(c, n, part) == yes {
				covering = r
			}
			return covering == nil && !c.ended()
		})
		if covering == nil {
			return nil
		}
		if first == nil {
			first = covering
		}
	}
	return first
}

// changed names the scripts of a need that a rule would allow if they were as they were when it was made; "" where there is none.
func (p *Policy) changed(c *subject, n tools.Need) (names string) {
	if n.Scripts == "" {
		return ""
	}
	p.rules[Allow].each(c, n, c.parts[0], func(r *compiled) bool {
		then := n
		then.Scripts = r.Scripts
		if r.Scripts != "" && all(c.parts, func(p part) bool { return r.covers(c, then, p) == yes }) {
			names = cmp.Or(rule.ScriptNames(n.Scripts), rule.ScriptNames(r.Scripts))
		}
		return names == ""
	})
	return names
}

// Drops says at which stage a tool is left out of what a model is offered, since every call of it is denied: "mode" or "deny",
// and the reason; "" is offered.
func (p *Policy) Drops(s tools.Spec) (stage, reason string) {
	if s.Unlisted {
		return "pool", "it is there for models that know its name, and not offered"
	}
	if r := p.rules[Deny].whole(s); r != nil {
		return "deny", "is refused by " + r.name()
	}
	denied := false
	switch s.Class {
	case tools.ClassWrite:
		denied = max(p.row.Edit, p.row.Overwrite) == Deny
	case tools.ClassNetwork:
		denied = p.row.Network == Deny
	}
	if denied {
		return "mode", "the mode is " + string(p.mode)
	}
	return "", ""
}

// operation is what a need is about, in a sentence for the model (what) and for a person (why), and the verdict of the mode. each
// asks each time, never is why it is denied in every mode. layer is the ground of the verdict if it is not the mode.
type operation struct {
	what    string
	why     string
	verdict Verdict
	each    bool
	never   string
	layer   string
}

// of finds the column of the table.
func (r ModeRow) of(t tools.Tool, n tools.Need) (op operation) {
	switch n.Act {
	case tools.Nothing, tools.Reads:
		op = operation{what: "only looks", why: "Only reads", verdict: r.Look}
	case tools.Creates:
		op = operation{what: "makes a new file", why: "Creates a file", verdict: r.Edit}
	case tools.Edits:
		op = operation{what: "changes a file", why: "Changes a file", verdict: r.Edit}
	case tools.Replaces:
		what, why := replacing(cmp.Or(n.Does, t.Spec().Kind))
		op = operation{what: what, why: why, verdict: r.Overwrite}
	case tools.Runs:
		op = operation{what: "runs a command", why: runsCommand, verdict: r.Command}
		if n.OnlyReads() {
			op = operation{what: "runs a command that only reads", why: "Runs a command that only reads", verdict: r.Look}
		}
	case tools.Reaches:
		op = operation{what: "reaches out to the network", why: "Sends a request to the network", verdict: r.Network}
	default:
		op = operation{what: "does not say what it does", why: "Does not declare its effects", verdict: r.Unknown, each: true}
	}
	each := func(what, why string, v Verdict) {
		op.what, op.why, op.verdict, op.each = what, why, min(op.verdict, v), true
	}
	if n.Danger == tools.Dangerous || t.Spec().Danger == tools.Dangerous {
		each(op.what, op.why, r.Dangerous)
		defer func() { op.endanger(show.Visible(n.Shell.Risk, false)) }() // also where it is asked about for more than that
	}
	if n.Secret {
		each(op.what+", and the request contains a secret: text of a file that holds keys or passwords",
			op.why+". It contains a secret: text of a file with keys or passwords", r.Secret)
	}
	if n.Act == tools.Runs {
		if n.Keys != "" {
			keys := " (" + show.Visible(n.Keys, false) + ")"
			each("runs a command that names a file which holds keys or passwords"+keys,
				"Runs a command that names a file that may contain keys or passwords"+keys, r.Secret)
		}
		if len(n.Ports) > 0 {
			ports := tools.PortNames(n.Ports)
			each(op.what+", and this computer's other programs can connect to it at "+ports,
				op.why+"; other programs on this computer can connect to it at "+ports, r.Network)
		}
		if !n.Confined {
			if op.verdict > Deny {
				op.layer = LayerSandbox
			}
			each("runs a command with no sandbox in force", withoutSandbox, r.Unconfined)
		}
		if n.Shell.Forbidden != "" {
			op.never = "is refused: " + n.Shell.Forbidden
		}
		return op
	}
	if n.Place == (sandbox.Place{}) { // it is about no file in particular
		return op
	}
	about := func(verb, rest string) string { return verb + " " + show.Visible(n.Place.Rel(), false) + "? " + rest }
	const keys = "It may contain keys or passwords."
	switch class, writes := n.Place.Class(), n.Act.Writes(); {
	case class.Is(sandbox.Internal), class.Is(sandbox.Own) && writes:
		op.never = "touches what no tool may touch"
	case class.Is(sandbox.Secret) && writes:
		each("changes a file that holds keys or passwords", about("Change", keys), r.Secret)
	case class.Is(sandbox.Secret):
		what := "reads a file that holds keys or passwords"
		if t.Spec().Kind == tools.Execute { // its line need not name the file
			what += " (" + show.Visible(n.Place.Rel(), false) + ")"
		}
		each(what, about("Read", keys), r.Secret)
	case class.Is(sandbox.LaterCode) && writes:
		each("changes a file that runs later or tells programs what to do",
			about("Change", "Other programs run it or follow it automatically."), r.LaterCode)
	case class.Is(sandbox.Linked) && writes:
		each("changes a file that has other names (hard links), which change with it",
			about("Change", "Its other names (hard links) change with it."), r.LaterCode)
	}
	return op
}

// The reasons of commands that endanger makes more precise.
const (
	runsCommand    = "Runs a command"
	withoutSandbox = "Runs a command without a sandbox"
)

// endanger adds that the operation is dangerous. risk is the dangerous part of its command, "" for none.
func (o *operation) endanger(risk string) {
	if o.what += ", and it is dangerous"; risk == "" {
		return
	}
	o.what += ": " + risk
	effect := "Runs a dangerous command"
	if name, _, _ := strings.Cut(risk, " "); slices.Contains([]string{"rm", "rmdir", "unlink", "shred"}, name) {
		effect = "Deletes files"
	}
	switch o.why {
	case runsCommand:
		o.why = effect
	case withoutSandbox:
		o.why = effect + " without a sandbox"
	default:
		o.why += ". " + effect
	}
	o.why += ": " + risk
}

// replacing is what a tool of a kind does to a file at most, for the model and for a person. One that writes a whole file may find that there is none yet.
func replacing(k tools.Kind) (what, why string) {
	switch k {
	case tools.Edit:
		return "writes a whole file", "Replaces the whole text of a file"
	case tools.Delete:
		return "deletes a file", "Deletes a file"
	case tools.Move:
		return "moves a file", "Moves a file"
	}
	return "replaces, deletes or moves a file", "Replaces, deletes or moves a file"
}

// honest is the need, except that a tool which may change something cannot pass for one that only looks.
func honest(t tools.Tool, n tools.Need) tools.Need {
	if n.Act != tools.Nothing && n.Act != tools.Reads {
		return n
	}
	switch t.Spec().Kind {
	case tools.Edit, tools.Delete, tools.Move:
		n.Act = tools.Replaces
	case tools.Fetch, tools.Other:
		n.Act = tools.Reaches
	}
	return n
}
