// Package gate judges plans: may a call go on, must a person be asked, or is it refused. It is a pure function of the
// tool and its plan; nothing here asks anybody.
package gate

import (
	"fmt"
	"slices"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// Mode is how much a session may do without asking. It is a run.Gate.
type Mode string

// The modes.
const (
	Ask  Mode = "ask"
	Auto Mode = "auto"
)

const (
	allow = "allow"
	ask   = "ask"
)

// row is one operation: what a person is told that it is, and what each mode says to it.
type row struct {
	what      string
	ask, auto string
}

func rowOf(op tools.Op) row {
	switch op {
	case tools.OpRead:
		return row{"only looks", allow, allow}
	case tools.OpEdit:
		return row{"changes a file", ask, allow}
	case tools.OpOverwrite:
		return row{"replaces, deletes or moves a file", ask, allow}
	case tools.OpCommand:
		return row{"runs a command", ask, allow}
	case tools.OpUnsandboxed:
		return row{"runs a command with no sandbox in force", ask, ask}
	case tools.OpNetwork:
		return row{"reaches out to the network", ask, ask}
	}
	return row{"does something that no rule knows", ask, ask}
}

// Judge says what the mode says to a plan. A mode that is not known denies everything.
func (m Mode) Judge(t tools.Tool, p *tools.Plan) run.Decision {
	r := rowOf(opOf(t, p))
	if c := p.Change; c != nil && !slices.ContainsFunc(c.Files, func(f filetime.FileEdit) bool { return !f.Create }) {
		r.what = "makes a new file"
	}
	d := run.Decision{Reason: fmt.Sprintf("%s %s", t.Spec().Name, r.what), Layer: "mode", Rule: string(m)}
	switch m {
	case Ask:
		d.Verdict = r.ask
	case Auto:
		d.Verdict = r.auto
	default:
		d.Verdict, d.Reason = "deny", fmt.Sprintf("there is no mode %q", string(m))
	}
	return d
}

// opOf is the plan's own row, except that a tool which may change something cannot pass for one that only looks by
// saying nothing.
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
