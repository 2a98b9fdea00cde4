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

func TestF205TableOfModes(t *testing.T) {
	create := &filetime.Change{Files: []filetime.FileEdit{{Create: true}}}
	edit := &filetime.Change{Files: []filetime.FileEdit{{}, {Create: true}}}
	for _, c := range []struct {
		kind      tools.Kind
		plan      tools.Plan
		ask, auto string
		reason    string
	}{
		{tools.Read, tools.Plan{Op: tools.OpRead}, "allow", "allow", "x only looks"},
		{tools.Search, tools.Plan{Op: tools.OpRead}, "allow", "allow", "x only looks"},
		{tools.Execute, tools.Plan{Op: tools.OpRead}, "allow", "allow", "x only looks"},
		{tools.Edit, tools.Plan{Op: tools.OpEdit, Change: edit}, "ask", "allow", "x changes a file"},
		{tools.Edit, tools.Plan{Op: tools.OpEdit, Change: create}, "ask", "allow", "x makes a new file"},
		{tools.Edit, tools.Plan{Op: tools.OpOverwrite, Change: edit}, "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Execute, tools.Plan{Op: tools.OpCommand}, "ask", "allow", "x runs a command"},
		{tools.Execute, tools.Plan{Op: tools.OpUnsandboxed}, "ask", "ask", "x runs a command with no sandbox in force"},
		{tools.Fetch, tools.Plan{Op: tools.OpNetwork}, "ask", "ask", "x reaches out to the network"},
		{tools.Edit, tools.Plan{Op: 200}, "ask", "ask", "x does something that no rule knows"},
		// What may change something does not pass for a read by saying nothing.
		{tools.Edit, tools.Plan{}, "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Read, tools.Plan{Change: edit}, "ask", "allow", "x replaces, deletes or moves a file"},
		{tools.Other, tools.Plan{}, "ask", "ask", "x reaches out to the network"},
	} {
		x := tool{spec: tools.Spec{Name: "x", Kind: c.kind}}
		for mode, want := range map[gate.Mode]string{gate.Ask: c.ask, gate.Auto: c.auto, "readonly": "deny"} {
			d := mode.Judge(x, &c.plan)
			if d.Verdict != want {
				t.Errorf("%s, op %d of a tool of kind %s: %s, want %s", mode, c.plan.Op, c.kind, d.Verdict, want)
			}
			if want != "deny" && d.Reason != c.reason {
				t.Errorf("reason %q, want %q", d.Reason, c.reason)
			}
		}
	}
}

// Whether calls may run together is the scheduler's business and never changes what is asked.
func TestF130SchedulingIsNoPermission(t *testing.T) {
	for _, mode := range []gate.Mode{gate.Ask, gate.Auto} {
		for op := tools.OpRead; op <= tools.OpNetwork; op++ {
			verdicts := map[string]bool{}
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
