package gate_test

import (
	"errors"
	"os"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/schema"
	shellparse "tandem/tools/shell"
)

type tool struct {
	tools.Tool
	spec tools.Spec
}

func (t tool) Spec() tools.Spec { return t.spec }

func (tool) Schema() *schema.Schema {
	s, err := schema.For[struct {
		Path    string `json:"path,omitempty" alias:"file_path"`
		Command string `json:"command,omitempty"`
		Cwd     string `json:"cwd,omitempty"`
		Mode    string `json:"mode,omitempty"`
		URL     string `json:"url,omitempty"`
	}]()
	if err != nil {
		panic(err)
	}
	return s
}

// judged is what a mode says to needs of a tool.
func judged(m gate.Mode, t tools.Tool, needs []tools.Need) gate.Decision {
	return m.Judge(gate.Call{Tool: t, Needs: needs})
}

// place is one below a root, whose class is that of its name.
func place(t *testing.T, name string) sandbox.Place {
	t.Helper()
	root := t.TempDir()
	p, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// linkedPlace is that of a file with two names, which an editor writes in place.
func linkedPlace(t *testing.T) sandbox.Place {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.WriteFile(root+"/a", nil, 0o644), os.Link(root+"/a", root+"/b")); err != nil {
		t.Fatal(err)
	}
	p, err := (&sandbox.Paths{Cwd: root, Write: []string{root}, InPlace: func(string) bool { return true }}).Writable("a")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestF167_F205_F207_F212_F214TableOfModes(t *testing.T) {
	code, secret, git := place(t, ".vscode/tasks.json"), place(t, ".env"), place(t, ".git/config")
	reads := shellparse.Command{Calls: [][]string{{"ls"}}, Literal: true, ReadOnly: true}
	both, linked := place(t, ".docker/.git/config"), linkedPlace(t)
	for _, c := range []struct {
		kind             tools.Kind
		need             tools.Need
		ask, edits, auto string
		only, plan       string
		reason           string
	}{
		{tools.Read, tools.Need{Act: tools.Reads}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Search, tools.Need{Act: tools.Reads}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Execute, tools.Need{Act: tools.Reads}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Think, tools.Need{Act: tools.Nothing}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Edit, tools.Need{Act: tools.Edits}, "ask", "allow", "allow", "deny", "queue", "x changes a file"},
		{tools.Edit, tools.Need{Act: tools.Creates}, "ask", "allow", "allow", "deny", "queue", "x makes a new file"},
		{tools.Edit, tools.Need{Act: tools.Replaces}, "ask", "ask", "allow", "deny", "queue", "x writes a whole file"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true}, "ask", "ask", "allow", "deny", "queue", "x runs a command"},
		{tools.Execute, tools.Need{Act: tools.Runs}, "ask", "ask", "ask", "deny", "deny", "x runs a command with no sandbox in force"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Profile: sandbox.ReadOnly, Shell: reads}, "allow", "allow", "allow", "allow", "allow", "x runs a command that only reads"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Profile: sandbox.Loopback, Shell: reads}, "ask", "ask", "allow", "deny", "queue", "x runs a command"}, // FaultS1
		{tools.Execute, tools.Need{Act: tools.Runs, Shell: reads}, "ask", "ask", "ask", "deny", "deny", "x runs a command with no sandbox in force"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Danger: tools.Dangerous}, "ask", "ask", "ask", "deny", "queue", "x runs a command, and it is dangerous"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Danger: tools.Dangerous, Shell: shellparse.Command{Risk: "rm -rf a\n"}}, "ask", "ask", "ask", "deny", "queue", "x runs a command, and it is dangerous: rm -rf a\\u{a}"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Shell: shellparse.Command{ReadOnly: true, Forbidden: "no"}}, "deny", "deny", "deny", "deny", "deny", ""},
		{tools.Execute, tools.Need{Act: tools.Runs, Danger: tools.Dangerous, Shell: shellparse.Command{Risk: "rm -rf a"}}, "ask", "ask", "ask", "deny", "deny", "x runs a command with no sandbox in force, and it is dangerous: rm -rf a"},
		{tools.Execute, tools.Need{Act: tools.Runs, Confined: true, Keys: "/etc/shadow"}, "ask", "ask", "ask", "deny", "queue", "x runs a command that names a file which holds keys or passwords (/etc/shadow)"},
		{tools.Delete, tools.Need{Act: tools.Replaces, Danger: tools.Dangerous}, "ask", "ask", "ask", "deny", "queue", "x deletes a file, and it is dangerous"},
		{tools.Move, tools.Need{Act: tools.Replaces}, "ask", "ask", "allow", "deny", "queue", "x moves a file"},
		{tools.Fetch, tools.Need{Act: tools.Reaches}, "ask", "ask", "ask", "deny", "ask", "x reaches out to the network"},
		{tools.Edit, tools.Need{Act: 200}, "ask", "ask", "ask", "deny", "deny", "x does not say what it does"},
		// What may change something does not pass for a read.
		{tools.Edit, tools.Need{Act: tools.Reads}, "ask", "ask", "allow", "deny", "queue", "x writes a whole file"},
		{tools.Other, tools.Need{Act: tools.Reads}, "ask", "ask", "ask", "deny", "ask", "x reaches out to the network"},
		{tools.Edit, tools.Need{Act: tools.Nothing}, "ask", "ask", "allow", "deny", "queue", "x writes a whole file"},
		// By class.
		{tools.Read, tools.Need{Act: tools.Reads, Place: code}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Edit, tools.Need{Act: tools.Edits, Place: code}, "ask", "ask", "ask", "deny", "deny", "x changes a file that runs later or tells programs what to do"},
		{tools.Edit, tools.Need{Act: tools.Creates, Place: code}, "ask", "ask", "ask", "deny", "deny", "x changes a file that runs later or tells programs what to do"},
		{tools.Read, tools.Need{Act: tools.Reads, Place: secret}, "ask", "ask", "ask", "deny", "ask", "x reads a file that holds keys or passwords"},
		{tools.Edit, tools.Need{Act: tools.Edits, Place: secret}, "ask", "ask", "ask", "deny", "queue", "x changes a file that holds keys or passwords"},
		{tools.Read, tools.Need{Act: tools.Reads, Place: git}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{tools.Read, tools.Need{Act: tools.Reads, Place: linked}, "allow", "allow", "allow", "allow", "allow", "x only looks"},
		{
			tools.Edit,
			tools.Need{Act: tools.Edits, Place: linked},
			"ask", "ask", "ask", "deny", "deny",
			"x changes a file that has other names (hard links), which change with it",
		},
		{tools.Read, tools.Need{Act: tools.Reads, Place: both}, "ask", "ask", "ask", "deny", "ask", "x reads a file that holds keys or passwords"},
		{tools.Edit, tools.Need{Act: tools.Edits, Place: both}, "deny", "deny", "deny", "deny", "deny", "x touches what no tool may touch"},
		{tools.Edit, tools.Need{Act: tools.Edits, Place: git}, "deny", "deny", "deny", "deny", "deny", "x touches what no tool may touch"},
	} {
		x := tool{spec: tools.Spec{Name: "x", Kind: c.kind}}
		for mode, want := range map[gate.Mode]string{
			gate.ModeAsk: c.ask, gate.ModeAcceptEdits: c.edits, gate.ModeAuto: c.auto, gate.ModeReadOnly: c.only, gate.ModePlan: c.plan, "readonly": "deny",
		} {
			d := judged(mode, x, []tools.Need{c.need})
			if d.Verdict.String() != want {
				t.Errorf("%s, %s by a tool of kind %s: %s, want %s", mode, c.need, c.kind, d.Verdict, want)
			}
			if (want == "ask" || want == "allow") && d.Reason != c.reason {
				t.Errorf("reason %q, want %q", d.Reason, c.reason)
			}
		}
		// The strictest need decides, wherever it stands.
		for _, needs := range [][]tools.Need{{{Act: tools.Reads}, c.need}, {c.need, {Act: tools.Reads}}} {
			x := tool{spec: tools.Spec{Name: "x", Kind: tools.Execute}}
			if got, want := judged(gate.ModeAuto, x, needs).Verdict, judged(gate.ModeAuto, x, []tools.Need{c.need}).Verdict; got != want {
				t.Errorf("%v: %s, want %s", needs, got, want)
			}
		}
	}
}

// What a tool does not declare is asked about in every mode, and denied where only looking is allowed.
func TestFindingB5UndeclaredAsks(t *testing.T) {
	for _, kind := range []tools.Kind{tools.Read, tools.Search, tools.Think, tools.Execute, tools.Edit, tools.Other, ""} {
		x := tool{spec: tools.Spec{Name: "x", Kind: kind}}
		for mode, want := range map[gate.Mode]string{
			gate.ModeAsk: "ask", gate.ModeAcceptEdits: "ask", gate.ModeAuto: "ask", gate.ModeReadOnly: "deny", gate.ModePlan: "deny",
		} {
			for _, needs := range [][]tools.Need{nil, {}, {{}}, {{Act: tools.Nothing}, {}}} {
				if d := judged(mode, x, needs); d.Verdict.String() != want {
					t.Errorf("%s, kind %q, %v: %s, want %s", mode, kind, needs, d.Verdict, want)
				}
			}
		}
	}
}

// Whether calls may run together is the scheduler's business and never changes what is asked.
func TestF130SchedulingIsNoPermission(t *testing.T) {
	for _, mode := range []gate.Mode{gate.ModeAsk, gate.ModeAcceptEdits, gate.ModeReadOnly, gate.ModeAuto} {
		for act := tools.Unknown; act <= tools.Reaches; act++ {
			verdicts := map[gate.Verdict]bool{}
			for _, together := range []tools.Together{tools.Alone, tools.WithReads, tools.OtherFiles} {
				d := judged(mode, tool{spec: tools.Spec{Name: "x", Kind: tools.Execute, Together: together}}, []tools.Need{{Act: act}})
				verdicts[d.Verdict] = true
			}
			if len(verdicts) != 1 {
				t.Errorf("%s, act %d: %v", mode, act, verdicts)
			}
		}
	}
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
		if r.Secret != r.LaterCode && r.Mode != gate.ModePlan {
			t.Errorf("%+v", r)
		}
		for _, pair := range [][2]gate.Verdict{
			{before.Edit, r.Edit},
			{before.Overwrite, r.Overwrite},
			{before.Command, r.Command},
			{before.Unconfined, r.Unconfined},
			{before.Network, r.Network},
			{before.Unknown, r.Unknown},
			{before.Dangerous, r.Dangerous},
			{before.Secret, r.Secret},
			{before.LaterCode, r.LaterCode},
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
		{"yolo", "none", "yolo"},
	} {
		if got := c[0].AtMost(c[1]); got != c[2] {
			t.Errorf("%s at most %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
