// Package gate judges plans: may a call go on, must a person be asked, or is it refused. It is a pure function of the
// mode, the rules, the tool and its plan; nothing here asks anybody.
package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// Mode is how much a session may do without asking. It is a run.Gate.
type Mode string

// The modes.
const (
	Ask         Mode = "ask"
	AcceptEdits Mode = "acceptEdits"
	ReadOnly    Mode = "readOnly"
	Auto        Mode = "auto"
)

// Known says that there is such a mode.
func (m Mode) Known() bool { return slices.Contains([]Mode{Ask, AcceptEdits, ReadOnly, Auto}, m) }

const (
	allow = "allow"
	ask   = "ask"
	deny  = "deny"
)

// row is one operation: what a person is told that it is, and what each mode but readOnly says to it, which denies what
// does not only look.
type row struct {
	what             string
	ask, edits, auto string
}

func rowOf(op tools.Op) row {
	switch op {
	case tools.OpRead:
		return row{"only looks", allow, allow, allow}
	case tools.OpEdit:
		return row{"changes a file", ask, allow, allow}
	case tools.OpOverwrite:
		return row{"replaces, deletes or moves a file", ask, ask, allow}
	case tools.OpCommand:
		return row{"runs a command", ask, ask, allow}
	case tools.OpUnsandboxed:
		return row{"runs a command with no sandbox in force", ask, ask, ask}
	case tools.OpNetwork:
		return row{"reaches out to the network", ask, ask, ask}
	}
	return row{"does not say what it does", ask, ask, ask}
}

// Judge says what the mode says to a plan. A mode that is not known denies everything.
func (m Mode) Judge(t tools.Tool, p *tools.Plan) run.Decision {
	op := opOf(t, p)
	r := rowOf(op)
	if c := p.Change; c != nil && !slices.ContainsFunc(c.Files, func(f filetime.FileEdit) bool { return !f.Create }) {
		r.what = "makes a new file"
	}
	d := run.Decision{Reason: fmt.Sprintf("%s %s", t.Spec().Name, r.what), Layer: "mode", Rule: string(m)}
	switch m {
	case Ask:
		d.Verdict = r.ask
	case AcceptEdits:
		d.Verdict = r.edits
	case Auto:
		d.Verdict = r.auto
	case ReadOnly:
		if d.Verdict = allow; op != tools.OpRead {
			d.Verdict, d.Reason = deny, d.Reason+", and the mode is readOnly"
		}
	default:
		d.Verdict, d.Reason = deny, fmt.Sprintf("there is no mode %q", string(m))
	}
	return d
}

// Policy is a mode with what the configuration says on top of it. It is a run.Gate.
type Policy struct {
	Mode Mode
	// Deny and Ask are rules about tools. A refusal counts more than a question, and both more than the mode's yes.
	Deny, Ask []Rule
	// Confined refuses commands that no sandbox confines.
	Confined bool
}

// Rule is about the tools whose name or alias Tool matches, whatever the case of the letters; * stands for any of them.
// A pattern that is none matches every tool. Name is what the rule is called before a person.
type Rule struct{ Tool, Name string }

func (r Rule) matches(s tools.Spec) bool {
	return slices.ContainsFunc(append([]string{s.Name}, s.Aliases...), func(name string) bool {
		ok, err := path.Match(strings.ToLower(r.Tool), strings.ToLower(name))
		return ok || err != nil
	})
}

// Judge says what the rules and the mode say to a plan.
func (p Policy) Judge(t tools.Tool, plan *tools.Plan) run.Decision {
	spec := t.Spec()
	about := func(r Rule) bool { return r.matches(spec) }
	if i := slices.IndexFunc(p.Deny, about); i >= 0 {
		return run.Decision{
			Verdict: deny, Reason: fmt.Sprintf("%s is refused by %s", spec.Name, p.Deny[i].Name), Rule: p.Deny[i].Tool, Layer: "rules",
		}
	}
	d := p.Mode.Judge(t, plan)
	if p.Confined && d.Verdict != deny && opOf(t, plan) == tools.OpUnsandboxed {
		return run.Decision{
			Verdict: deny, Reason: "sandbox.level is strict, and there is no sandbox that could confine the command",
			Rule: "sandbox.level", Layer: "sandbox",
		}
	}
	if i := slices.IndexFunc(p.Ask, about); i >= 0 && d.Verdict == allow {
		d = run.Decision{
			Verdict: ask, Reason: fmt.Sprintf("%s, and %s wants a question", d.Reason, p.Ask[i].Name), Rule: p.Ask[i].Tool, Layer: "rules",
		}
	}
	return d
}

// opOf is the plan's own row, except that a tool which may change something cannot pass for one that only looks.
func opOf(t tools.Tool, p *tools.Plan) tools.Op {
	if p.Op != tools.OpRead {
		return p.Op
	}
	switch t.Spec().Kind {
	case tools.Edit, tools.Delete, tools.Move:
		return tools.OpOverwrite
	case tools.Fetch, tools.Other:
		return tools.OpNetwork
	}
	if p.Change != nil {
		return tools.OpOverwrite
	}
	return tools.OpRead
}
