//go:build unix

package list

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.Prepared(t, func(t *testing.T, env *tools.Env, flag string) bool {
		var err error
		switch flag {
		case "fifo":
			err = syscall.Mkfifo(env.Paths.Cwd+"/pipe", 0o600)
		case "empty":
			err = os.Mkdir(env.Paths.Cwd+"/empty", 0o755)
		default:
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}, New())
}

// More than the limit, and more than is ever counted.
func TestMany(t *testing.T) {
	var files []txtar.File
	for i := range 700 {
		files = append(files, txtar.File{Name: fmt.Sprintf("disk/f%03d", i)})
	}
	env := toolstest.Workspace(t, &txtar.Archive{Files: files})
	for args, want := range map[string]string{
		`{}`:             "700 entries in .:\nf000 (0B)\n",
		`{"limit":1000}`: "\nf699 (0B)",
		`{"limit":10}`:   "\nf009 (0B)\n… 690 more: look into one of the directories, or raise limit",
	} {
		r, _ := toolstest.Call(t.Context(), New(), env, args)
		if !r.Success || !strings.Contains(r.Data, want) || *r.Value.(*value).Total != 700 || r.Truncated == strings.Contains(args, "1000") {
			t.Errorf("%s: %.200s … %s", args, r.Data, r.Data[len(r.Data)-100:])
		}
	}
	env.Limits.MaxToolOutputChars = 100
	r, _ := toolstest.Call(t.Context(), New(), env, `{}`)
	if v := r.Value.(*value); len(v.Entries) != 10 || !r.Truncated {
		t.Errorf("%d entries shown", len(v.Entries))
	}
}

// A count that was given up is a lower bound, in words and in what a program gets.
func TestFaultW18Counts(t *testing.T) {
	for n, want := range map[int]string{2: "2 entries", 3: "3 entries", 4: "at least 3 entries", 9: "at least 3 entries"} {
		v := &value{found: tools.Counter{Most: 3}}
		for range n {
			v.found.Add()
		}
		v.Total = v.found.Total()
		r := answer(&tools.Env{Paths: &sandbox.Paths{Cwd: "/"}}, input{}, v, []string{"a"}, "entry")
		says := outcome(&r)
		if says != want || !strings.Contains(r.Data, want) || !strings.Contains(r.Line(), want) || (v.Total == nil) != (n > 3) ||
			strings.Contains(r.Data, "at least 2 more") != (n > 3) {
			t.Errorf("%d: %s, %s, %s, %v", n, r.Data, r.Line(), says, v.Total)
		}
	}
}

func TestPlan(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	tool := New()
	p, err := toolstest.Plan(t.Context(), tool, env, json.RawMessage(`{"path":"."}`))
	if err != nil || p.Run == nil {
		t.Errorf("%+v, %v", p, err)
	}
	got, err := tool.Needs(env, json.RawMessage(`{"path":"a"}`))
	if err != nil || len(got) != 1 || got[0].Act != tools.Reads || got[0].Place.Path() != env.Paths.Cwd+"/a" || !tool.Spec().Kind.ReadOnly() {
		t.Errorf("%v", got)
	}
}
