package gate_test

import (
	"testing"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/gate"
)

type tool struct {
	tools.Tool
	spec tools.Spec
}

func (t tool) Spec() tools.Spec { return t.spec }

func TestF205_F212TableOfModes(t *testing.T) {
	create := &filetime.Change{Files: []filetime.FileEdit{{Create: true}}}
	edit := &filetime.Change{Files: []filetime.FileEdit{{}, {Create: true}}}
	for _, c := range []struct {
		kind             tools.Kind
		plan             tools.Plan
		ask, edits, auto string
		reason           string
	}{
		{tools.Read, tools.Plan{Op: tools.OpRead}, "allow", "allow", "allow", "x only looks"},
		{tools.Search, tools.Plan{Op: tools.OpRead}, "allow", "allow", "allow", "x only looks"},
		{tools.Execute, tools.Plan{Op: tools.OpRead}, "allow", "allow", "allow", "x only looks"},
		{tools.Edit, tools.Plan{Op: tools.OpEdit, Change: edit}, "ask", "allow", "allow", "x changes a file"},
		{tools.Edit, tools.Plan{Op: tools.OpEdit, Change: create}, "ask", "allow", "allow", "x makes a new file"},
		{tools.Edit, tools.Plan{Op: tools.OpOverwrite, Change: edit}, "ask", "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Execute, tools.Plan{Op: tools.OpCommand}, "ask", "ask", "allow", "x runs a command"},
		{tools.Execute, tools.Plan{Op: tools.OpUnsandboxed}, "ask", "ask", "ask", "x runs a command with no sandbox in force"},
		{tools.Fetch, tools.Plan{Op: tools.OpNetwork}, "ask", "ask", "ask", "x reaches out to the network"},
		{tools.Edit, tools.Plan{Op: 200}, "ask", "ask", "ask", "x does not say what it does"},
		// What may change something does not pass for a read.
		{tools.Edit, tools.Plan{Op: tools.OpRead}, "ask", "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Read, tools.Plan{Op: tools.OpRead, Change: edit}, "ask", "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Other, tools.Plan{Op: tools.OpRead}, "ask", "ask", "ask", "x reaches out to the network"},
	} {
		x := tool{spec: tools.Spec{Name: "x", Kind: c.kind}}
		only := "deny"
		if c.reason == "x only looks" {
			only = "allow"
		}
		for mode, want := range map[gate.Mode]string{
			gate.ModeAsk: c.ask, gate.ModeAcceptEdits: c.edits, gate.ModeAuto: c.auto, gate.ModeReadOnly: only, "readonly": "deny", "plan": "deny",
		} {
			d := mode.Judge(x, &c.plan)
			if d.Verdict.String() != want {
				t.Errorf("%s, op %d of a tool of kind %s: %s, want %s", mode, c.plan.Op, c.kind, d.Verdict, want)
			}
			if want != "deny" && d.Reason != c.reason {
				t.Errorf("reason %q, want %q", d.Reason, c.reason)
			}
		}
	}
}

// What a tool does not declare is asked about in every mode, and denied where only looking is allowed.
func TestFindingB5UndeclaredAsks(t *testing.T) {
	for _, kind := range []tools.Kind{tools.Read, tools.Search, tools.Think, tools.Execute, tools.Edit, tools.Other, ""} {
		x := tool{spec: tools.Spec{Name: "x", Kind: kind}}
		for mode, want := range map[gate.Mode]string{
			gate.ModeAsk: "ask", gate.ModeAcceptEdits: "ask", gate.ModeAuto: "ask", gate.ModeReadOnly: "deny",
		} {
			if d := mode.Judge(x, &tools.Plan{}); d.Verdict.String() != want {
				t.Errorf("%s, kind %q: %s, want %s", mode, kind, d.Verdict, want)
			}
		}
	}
}

// Whether calls may run together is the scheduler's business and never changes what is asked.
func TestF130SchedulingIsNoPermission(t *testing.T) {
	for _, mode := range []gate.Mode{gate.ModeAsk, gate.ModeAcceptEdits, gate.ModeReadOnly, gate.ModeAuto} {
		for op := tools.OpUnknown; op <= tools.OpNetwork; op++ {
			verdicts := map[gate.Verdict]bool{}
			for _, together := range []tools.Together{tools.Alone, tools.WithReads, tools.OtherFiles} {
				d := mode.Judge(tool{spec: tools.Spec{Name: "x", Kind: tools.Execute, Together: together}}, &tools.Plan{Op: op})
				verdicts[d.Verdict] = true
			}
			if len(verdicts) != 1 {
				t.Errorf("%s, op %d: %v", mode, op, verdicts)
			}
		}
	}
}

func TestF206PolicyBeforeMode(t *testing.T) {
	x := tool{spec: tools.Spec{Name: "edit_file", Aliases: []string{"Edit"}, Kind: tools.Edit}}
	rule := func(name string) []gate.Rule {
		return []gate.Rule{{Tool: "grep"}, {Tool: name, Name: "permissions.deny"}}
	}
	for _, c := range []struct {
		policy                 gate.Policy
		op                     tools.Op
		verdict, layer, reason string
	}{
		{gate.Policy{Mode: gate.ModeAuto}, tools.OpEdit, "allow", "mode", "edit_file changes a file"},
		{gate.Policy{Mode: gate.ModeAuto, Deny: rule("edit_file")}, tools.OpEdit, "deny", "rules", "edit_file is refused by permissions.deny"},
		{gate.Policy{Mode: gate.ModeAuto, Deny: rule("EDIT")}, tools.OpRead, "deny", "rules", "edit_file is refused by permissions.deny"},
		{gate.Policy{Mode: gate.ModeAuto, Deny: rule("edit_*")}, tools.OpEdit, "deny", "rules", "edit_file is refused by permissions.deny"},
		{gate.Policy{Mode: gate.ModeAuto, Deny: rule("[")}, tools.OpEdit, "deny", "rules", "edit_file is refused by permissions.deny"},
		{gate.Policy{Mode: gate.ModeAuto, Deny: rule("write_file")}, tools.OpEdit, "allow", "mode", "edit_file changes a file"},
		{gate.Policy{Mode: gate.ModeAuto, Ask: rule("*")}, tools.OpEdit, "ask", "rules", "edit_file changes a file, and permissions.deny wants a question"},
		{gate.Policy{Mode: gate.ModeReadOnly, Ask: rule("*")}, tools.OpEdit, "deny", "mode", "edit_file changes a file, and the mode is readOnly"},
		{gate.Policy{Mode: gate.ModeAuto, Ask: rule("*"), Deny: rule("edit")}, tools.OpEdit, "deny", "rules", "edit_file is refused by permissions.deny"},
		{
			gate.Policy{Mode: gate.ModeAuto, Confined: true},
			tools.OpUnsandboxed, "deny", "sandbox",
			"sandbox.level is strict, and there is no sandbox that could confine the command",
		},
		{gate.Policy{Mode: gate.ModeAuto, Confined: true}, tools.OpCommand, "allow", "mode", "edit_file runs a command"},
		{gate.Policy{Mode: gate.ModeReadOnly, Confined: true}, tools.OpUnsandboxed, "deny", "mode", "edit_file runs a command with no sandbox in force, and the mode is readOnly"},
	} {
		d := c.policy.Judge(x, &tools.Plan{Op: c.op, Change: change(c.op)})
		if d.Verdict.String() != c.verdict || d.Layer != c.layer || d.Reason != c.reason {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

func change(op tools.Op) *filetime.Change {
	if op == tools.OpEdit {
		return &filetime.Change{Files: []filetime.FileEdit{{}}}
	}
	return nil
}

// The zero values of what is decided refuse, and a row that says nothing of an operation denies it.
func TestZeroVerdictDenies(t *testing.T) {
	var v gate.Verdict
	if v != gate.Deny || v.String() != "deny" || gate.Verdict(99).String() != "deny" {
		t.Errorf("the zero verdict is %v", v)
	}
	for _, r := range gate.Modes() {
		if !r.Mode.Known() || r.Name == "" || r.Look != gate.Allow {
			t.Errorf("%+v", r)
		}
	}
	for i, r := range gate.Modes()[1:] { // from the strictest on
		before := gate.Modes()[i]
		for _, pair := range [][2]gate.Verdict{
			{before.Edit, r.Edit},
			{before.Overwrite, r.Overwrite},
			{before.Command, r.Command},
			{before.Unconfined, r.Unconfined},
			{before.Network, r.Network},
			{before.Unknown, r.Unknown},
		} {
			if pair[1] < pair[0] {
				t.Errorf("%s is stricter than %s in one thing: %v, %v", r.Mode, before.Mode, pair[1], pair[0])
			}
		}
	}
}

func TestAtMost(t *testing.T) {
	for _, c := range [][3]gate.Mode{
		{gate.ModeAuto, gate.ModeAsk, gate.ModeAsk},
		{gate.ModeAcceptEdits, gate.ModeAsk, gate.ModeAsk},
		{gate.ModeAsk, gate.ModeAsk, gate.ModeAsk},
		{gate.ModeReadOnly, gate.ModeAsk, gate.ModeReadOnly},
		{gate.ModeReadOnly, gate.ModeAuto, gate.ModeReadOnly},
		{"yolo", gate.ModeAsk, "yolo"}, // which denies everything
	} {
		if got := c[0].AtMost(c[1]); got != c[2] {
			t.Errorf("%s at most %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
