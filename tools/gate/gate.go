// Package gate judges what calls need: may one go on, must a person be asked, or is it refused. It is a pure function of the
// mode, the rules, the tool and its needs; nothing here asks anybody.
package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
)

// Verdict is what is said to a call. The zero value refuses.
type Verdict uint8

// The verdicts, from the strictest on.
const (
	Deny Verdict = iota
	Ask          // a person decides
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Decision is a verdict with its grounds: a sentence for a person and a model, the rule that decided, and the layer that
// the rule belongs to.
type Decision struct {
	Verdict Verdict
	Reason  string
	Rule    string
	Layer   string
}

// Mode is how much a session may do without asking. It is a run.Gate.
type Mode string

// The modes, from the strictest on.
const (
	ModeReadOnly    Mode = "readOnly"
	ModeAsk         Mode = "ask"
	ModeAcceptEdits Mode = "acceptEdits"
	ModeAuto        Mode = "auto"
)

// ModeRow is everything that there is to know of one mode: Name tells a person what it does, the others are what it says
// to each operation.
type ModeRow struct {
	Mode Mode
	Name string

	Look, Edit, Overwrite, Command, Unconfined, Network, Unknown Verdict
	// Secret is about reading or changing what holds keys and passwords, LaterCode about changing what runs later, or changes
	// under other names too, each where the other columns do not say something stricter. See sandbox.Class.
	Secret, LaterCode Verdict
}

// Modes is the table of modes, the strictest first. Settings, flags and clients that list the modes are compared with it.
func Modes() []ModeRow {
	return []ModeRow{
		{Mode: ModeReadOnly, Name: "Only look", Look: Allow},
		{
			Mode: ModeAsk, Name: "Ask before every change",
			Look: Allow, Edit: Ask, Overwrite: Ask, Command: Ask, Unconfined: Ask, Network: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
		{
			Mode: ModeAcceptEdits, Name: "Ask before overwriting, deleting and moving",
			Look: Allow, Edit: Allow, Overwrite: Ask, Command: Ask, Unconfined: Ask, Network: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
		{
			Mode: ModeAuto, Name: "Edit without asking",
			Look: Allow, Edit: Allow, Overwrite: Allow, Command: Allow, Unconfined: Ask, Network: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
	}
}

// row is the table's row for m. ok is false where there is no such mode, and then the row denies everything.
func (m Mode) row() (r ModeRow, ok bool) {
	rows := Modes()
	if i := slices.IndexFunc(rows, func(r ModeRow) bool { return r.Mode == m }); i >= 0 {
		return rows[i], true
	}
	return r, false
}

// Known says that there is such a mode.
func (m Mode) Known() bool {
	_, ok := m.row()
	return ok
}

// AtMost is m, or limit where m is looser.
func (m Mode) AtMost(limit Mode) Mode {
	order := func(m Mode) int { return slices.IndexFunc(Modes(), func(r ModeRow) bool { return r.Mode == m }) }
	if order(m) > order(limit) {
		return limit
	}
	return m
}

const forbidden = "touches what no tool may touch"

// of is what a person is told of a need, and what the row says to it.
func (r ModeRow) of(n tools.Need) (what string, v Verdict) {
	switch n.Act {
	case tools.Nothing, tools.Reads:
		what, v = "only looks", r.Look
	case tools.Creates:
		what, v = "makes a new file", r.Edit
	case tools.Edits:
		what, v = "changes a file", r.Edit
	case tools.Replaces:
		what, v = "replaces, deletes or moves a file", r.Overwrite
	case tools.Runs:
		if n.Confined {
			return "runs a command", r.Command
		}
		return "runs a command with no sandbox in force", r.Unconfined
	case tools.Reaches:
		return "reaches out to the network", r.Network
	default:
		return "does not say what it does", r.Unknown
	}
	if n.Place == (sandbox.Place{}) { // it is about no file in particular
		return what, v
	}
	switch class := n.Place.Class(); {
	case class.Is(sandbox.Internal), class.Is(sandbox.Own) && n.Act.Writes():
		return forbidden, Deny
	case class.Is(sandbox.Secret) && n.Act.Writes():
		return "changes a file that holds keys or passwords", min(v, r.Secret)
	case class.Is(sandbox.Secret):
		return "reads a file that holds keys or passwords", min(v, r.Secret)
	case class.Is(sandbox.LaterCode) && n.Act.Writes():
		return "changes a file that runs later or tells programs what to do", min(v, r.LaterCode)
	case class.Is(sandbox.Linked) && n.Act.Writes():
		return "changes a file that has other names (hard links), which change with it", min(v, r.LaterCode)
	}
	return what, v
}

// Judge says what the mode says to the needs of a call: the strictest of what it says to each. A mode that is not known
// denies everything, and no needs are unknown ones.
func (m Mode) Judge(t tools.Tool, needs []tools.Need) Decision {
	row, known := m.row()
	what, verdict := row.of(tools.Need{})
	for i, n := range needs {
		if w, v := row.of(honest(t, n)); i == 0 || v < verdict {
			what, verdict = w, v
		}
	}
	d := Decision{Verdict: verdict, Reason: fmt.Sprintf("%s %s", t.Spec().Name, what), Layer: "mode", Rule: string(m)}
	switch {
	case !known:
		d.Reason = fmt.Sprintf("there is no mode %q", string(m))
	case verdict == Deny && what != forbidden:
		d.Reason += ", and the mode is " + string(m)
	}
	return d
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

// Judge says what the rules and the mode say to the needs of a call.
func (p Policy) Judge(t tools.Tool, needs []tools.Need) Decision {
	spec := t.Spec()
	about := func(r Rule) bool { return r.matches(spec) }
	if i := slices.IndexFunc(p.Deny, about); i >= 0 {
		return Decision{
			Verdict: Deny, Reason: fmt.Sprintf("%s is refused by %s", spec.Name, p.Deny[i].Name), Rule: p.Deny[i].Tool, Layer: "rules",
		}
	}
	d := p.Mode.Judge(t, needs)
	if p.Confined && d.Verdict != Deny && slices.ContainsFunc(needs, unconfined) {
		return Decision{
			Verdict: Deny, Reason: "sandbox.level is strict, and there is no sandbox that could confine the command",
			Rule: "sandbox.level", Layer: "sandbox",
		}
	}
	if i := slices.IndexFunc(p.Ask, about); i >= 0 && d.Verdict == Allow {
		d = Decision{
			Verdict: Ask, Reason: fmt.Sprintf("%s, and %s wants a question", d.Reason, p.Ask[i].Name), Rule: p.Ask[i].Tool, Layer: "rules",
		}
	}
	return d
}

func unconfined(n tools.Need) bool { return n.Act == tools.Runs && !n.Confined }
