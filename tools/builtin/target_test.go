package builtin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/gate"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// The files that a call is about are said in one place, Tool.Needs: the scheduler, the gate and what the pipeline lands go by it, however
// the model writes the path.
func TestF270OneTarget(t *testing.T) {
	files := &txtar.Archive{Files: []txtar.File{{Name: "disk/a/b.txt", Data: []byte("one\n")}, {Name: "disk/c.txt", Data: []byte("two\n")}}}
	env := toolstest.Workspace(t, files)
	set := toolstest.SetOf(builtin.Tools()...)
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"a/b.txt"}`, "to read a/b.txt"},
		{"read_file", `{"filePath":"./a/../a/b.txt"}`, "to read a/b.txt"},
		{"read_file", `{"path":"@a/b.txt"}`, "to read a/b.txt"},
		{"list_files", `{"path":"a"}`, "to read a"},
		{"glob", `{"pattern":"*","path":"a"}`, "to read a"},
		{"grep", `{"pattern":"x"}`, "to read ."},
		{"edit_file", `{"path":"a/b.txt","old_text":"one","new_text":"1"}`, "to edit a/b.txt"},
		{"multi_edit", `{"path":"a/b.txt","edits":[{"old_text":"one","new_text":"1"}]}`, "to edit a/b.txt"},
		{"write_file", `{"path":"new/file.txt","content":"x"}`, "to replace new/file.txt"},
	} {
		tool := set.Get(c.tool)
		checked := tool.Schema().Check(json.RawMessage(c.args), true)
		if len(checked.Issues) > 0 {
			t.Errorf("%s %s: %v", c.tool, c.args, checked.Issues)
			continue
		}
		needs, err := tool.Needs(env, checked.Args)
		if err != nil || len(needs) != 1 {
			t.Errorf("%s %s: %v %v", c.tool, c.args, needs, err)
			continue
		}
		verb, _, _ := strings.Cut(strings.TrimPrefix(needs[0].String(), "to "), " ")
		if got := fmt.Sprintf("to %s %s", verb, env.Paths.Rel(needs[0].Place.Path())); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.args, got, c.want)
		}
	}

	w := toolstest.NewWorld(t, builtin.Tools()...)
	edit := func(path string) run.Call {
		return run.Call{Name: "edit_file", Arguments: json.RawMessage(fmt.Sprintf(`{"path":%q,"old_text":"a","new_text":"b"}`, path))}
	}
	if got := fmt.Sprint(run.Partition(w.Host, []run.Call{edit("c.txt"), edit("a/b.txt"), edit("a/../c.txt")})); got != "[[0 1] [2]]" {
		t.Errorf("the scheduler: %s", got)
	}
	for path, want := range map[string]gate.Verdict{"c.txt": gate.Allow, "a/../.vscode/tasks.json": gate.Ask} {
		needs, err := set.Get("edit_file").Needs(env, edit(path).Arguments)
		if err != nil {
			t.Fatal(err)
		}
		if d := gate.ModeAuto.Judge(gate.Call{Tool: set.Get("edit_file"), Needs: needs}); d.Verdict != want {
			t.Errorf("the gate: %s: %+v", path, d)
		}
	}
	plan, err := toolstest.Plan(t.Context(), set.Get("write_file"), env, json.RawMessage(`{"path":"new/../made.txt","content":"x"}`))
	if err != nil || len(plan.Change.Files) != 1 || plan.Change.Files[0].Path != env.Needs[0].Place.Path() {
		t.Errorf("what lands: %+v %v", plan, err)
	}
	if err := plan.Unjudged([]tools.Need{{Act: tools.Reads, Place: env.Needs[0].Place}}); err == nil {
		t.Error("a file that was judged for reading alone may be written")
	}
}
