package builtin_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// Each tool words its own calls for people, in every phase, and nothing in what it is about can pass for Markdown.
func TestF237ToolsRenderThemselves(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"read_file", `{"path": "src/auth.ts"}`, "`src/auth.ts` → 3 lines"},
		{"read_file", `{"path": "src/auth.ts", "start_line": 2}`, "`src/auth.ts` → lines 2-3 of 3"},
		{"read_file", `{"path": "none"}`, "`none` → There is no file or folder with this name."},
		{"list_files", `{"path": "src"}`, "`src` → 1 entry"},
		{"glob", `{"pattern": "**/*.ts"}`, "`**/*.ts` → 1 file"},
		{"grep", `{"pattern": "a\u0060b"}`, "`` a`b `` → "},
		{"edit_file", `{"path": "src/auth.ts", "old_text": "two", "new_text": "2"}`, "`src/auth.ts` → +1 −1"},
		{"write_file", `{"path": "new.txt", "content": "x\n"}`, "`new.txt` → +1 −0"},
		{"bash", `{"command": "true\nfalse"}`, "`true …` → exit 1"},
		{"bash", `{"command": "true"}`, "`true` → exit 0"},
		{"task_create", `{"title": "Test"}`, "`New task: Test` → To do"},
		{"task_list", `{}`, "`List the tasks` → No tasks"},
	} {
		w := toolstest.NewWorld(t, builtin.Tools()...)
		if err := errors.Join(os.Mkdir(w.Path("src"), 0o755), os.WriteFile(w.Path("src/auth.ts"), []byte("one\ntwo\nthree\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := w.See("src/auth.ts", 1, 0); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var phases []string
		w.Host.Observe = func(e run.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Render != nil {
				phases = append(phases, e.Phase+" "+e.Render.Markdown)
			}
		}
		r := w.Call(c.name, c.args)
		if r.Render == nil || !strings.HasPrefix(r.Render.Markdown, c.want) {
			t.Errorf("%s %s: %+v (%s)", c.name, c.args, r.Render, r.Data)
			continue
		}
		subject, _, _ := strings.Cut(c.want, " → ")
		if len(phases) == 0 || phases[0] != "use "+subject {
			t.Errorf("%s %s: %q", c.name, c.args, phases)
		}
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{{Effect: gate.Deny, Tool: c.name, Source: "a rule"}}})
		if r := w.Call(c.name, c.args); r.Error == tools.GateDenied && r.Render.Markdown != subject+" → denied" {
			t.Errorf("%s %s: %+v", c.name, c.args, r.Render)
		}
	}
	for _, tool := range builtin.Tools() {
		r, ok := tool.(tools.Renderer)
		if name := tool.Spec().Name; name == "tool_search" || name == "undo_turn" || name == "patch" {
			continue // they are about nothing that is shorter than their title
		}
		if !ok || r.Renders([]byte(valid(t, tool, "a.txt"))) == nil {
			t.Errorf("%s does not render itself", tool.Spec().Name)
		}
	}
}
