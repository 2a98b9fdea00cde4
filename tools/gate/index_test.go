package gate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	shellparse "tandem/tools/shell"
)

// TestFaultS10ComparedWithFew: of thousands of rules of a kind few are compared, whatever they have in common.
func TestFaultS10ComparedWithFew(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	at, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable("src/a/x7/config.json")
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"path": "src/a/x7/config.json", "command": "npm run x7 -v && git push x7"})
	calls := []gate.Call{
		{Tool: edits, Args: args, Needs: []tools.Need{{Act: tools.Edits, Place: at, Arg: "path"}}},
		{Tool: shell, Args: args, Needs: []tools.Need{lineOf(t, "npm run x7 -v && git push x7"), {Act: tools.Reads, Place: at}}},
		{Tool: tool{spec: tools.Spec{Name: "mcp__x7__get"}}, Needs: []tools.Need{{Act: tools.Reaches}}},
	}
	for _, kind := range []string{
		"deny tool%d", "deny mcp__x%d__*", "ask *x%d*", "deny bash command=x%d **", "deny bash command=git push x%d", "ask bash command=git push x%d*",
		"deny bash command=npm run x%d **", "allow bash command=npm run x%d *", "deny bash command=*x%d* push", "deny * path=src/x%d/**", "deny * path=**/x%d/config.json",
		"ask * path=src/**/x%d/*", "allow edit_file path=src/a/x%d/**", "deny edit_file path=**/x%d", "allow bash command=x%d", "deny bash cwd=x%d/**",
	} {
		var list []gate.Rule
		for i := range 2000 {
			list = append(list, rules(fmt.Sprintf(kind, i))...)
		}
		for _, c := range calls {
			if n, _ := gate.Compared(gate.Options{Cwd: root, Rules: list}, gate.Call{Tool: c.Tool, Args: c.Args, Needs: c.Needs}); n > 20 {
				t.Errorf("%s: %s is compared with %d of %d rules", kind, c.Tool.Spec().Name, n, len(list))
			}
		}
	}
}

// TestFaultS10IndexFindsWhatCovers: no rule that may cover a call is left out, whatever it and the call look like.
func TestFaultS10IndexFindsWhatCovers(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	if err := os.MkdirAll(root+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	paths := &sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "git", "push", "go", "-x", "*", "a*", "*b", "**", "?", "A", "[ab]", "{a,b}", `\a`, "xargs", "$x", ".", ".."})
	name := rapid.SampledFrom([]string{"a", "b", "ab", "A", "a/b", "a/b/ab", "ab/a", ".", "b/A"})
	rapid.Check(t, func(t *rapid.T) {
		drawn := func(sep string) string {
			return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), sep)
		}
		var list []gate.Rule
		for range rapid.IntRange(1, 12).Draw(t, "rules") {
			r := gate.Rule{
				Effect: rapid.SampledFrom([]gate.Verdict{gate.Deny, gate.Ask, gate.Allow}).Draw(t, "effect"),
				Tool:   rapid.SampledFrom([]string{"bash", "edit_file", "*", "e*", "edit", "[", "x"}).Draw(t, "tool"), Params: map[string]string{},
				Workspace: rapid.SampledFrom([]string{"", root}).Draw(t, "workspace"),
			}
			for _, param := range rapid.SliceOfN(rapid.SampledFrom([]string{"path", "file_path", "command", "cwd", "mode", "none"}), 0, 2).Draw(t, "params") {
				switch sep := "/"; param {
				case "command":
					sep = " "
					fallthrough
				default:
					r.Params[param] = rapid.SampledFrom([]string{"", "", root + "/", "./"}).Draw(t, "from") + drawn(sep)
				}
			}
			list = append(list, r)
		}
		at, err := paths.Readable(name.Draw(t, "path"))
		if err != nil {
			t.Fatal(err)
		}
		line := drawn(" ") + rapid.SampledFrom([]string{"", " && ", "; ", " | "}).Draw(t, "then") + drawn(" ")
		raw, _ := json.Marshal(map[string]string{"path": at.Rel(), "command": line, "cwd": ".", "mode": drawn("")})
		tree := rapid.Bool().Draw(t, "tree")
		call := gate.Call{Tool: edits, Args: raw, Needs: []tools.Need{{Act: tools.Edits, Place: at, Arg: "path", Tree: tree}}}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0: // it names no place
			call = gate.Call{Tool: tool{spec: tools.Spec{Name: "x"}}, Args: raw, Needs: []tools.Need{{Act: tools.Reaches}}}
		case 1:
			run := tools.Need{Act: tools.Runs, Confined: true, Profile: sandbox.Loopback, Place: at, Arg: "cwd", Shell: shellparse.Parse(t.Context(), line, root, root)}
			call = gate.Call{Tool: shell, Args: raw, Needs: []tools.Need{run, {Act: tools.Reads, Place: at, Tree: tree}}}
		}
		if _, missed := gate.Compared(gate.Options{Mode: gate.ModeAuto, Cwd: root, Rules: list}, call); len(missed) > 0 {
			t.Fatalf("%s %s: %+v is not found", call.Tool.Spec().Name, raw, missed)
		}
	})
}

// BenchmarkFaultS10ManyRulesOfAFolder judges a search of a folder, below which each of ten thousand rules may be about something.
func BenchmarkFaultS10ManyRulesOfAFolder(b *testing.B) {
	root := sandbox.Canonical(b.TempDir())
	at, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable(".")
	if err != nil {
		b.Fatal(err)
	}
	var list []gate.Rule
	for i := range 10_000 {
		list = append(list, rules(fmt.Sprintf("deny * path=src/x%d/**", i))...)
	}
	policy := gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: root, Rules: list})
	search := gate.Call{Tool: tool{spec: tools.Spec{Name: "grep", Kind: tools.Search}}, Args: json.RawMessage(`{"path":"."}`), Needs: []tools.Need{{Act: tools.Reads, Place: at, Arg: "path", Tree: true}}}
	for b.Loop() {
		if d := policy.Judge(search); d.Verdict != gate.Ask {
			b.Fatalf("%+v", d)
		}
	}
}
