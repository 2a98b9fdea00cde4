package glob

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.Cases(t, New())
}

// An absolute pattern names the place itself.
func TestAbsolute(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{Files: []txtar.File{{Name: "disk/a/b/x.go"}, {Name: "disk/y.go"}}})
	for pattern, want := range map[string]string{"/a/**/*.go": "a/b/x.go", "/a/b/x.go": "a/b/x.go", "/*.go": "y.go"} {
		r, p := toolstest.Call(t.Context(), New(), env, `{"pattern":"`+env.Paths.Cwd+pattern+`"}`)
		if !r.Success || !slices.Equal(r.Value.(*value).Files, []string{env.Paths.Cwd + "/" + want}) {
			t.Errorf("%s: %s (%v)", pattern, r.Data, p)
		}
	}
	if r, _ := toolstest.Call(t.Context(), New(), env, `{"pattern":"/etc/*"}`); r.Error != "OUTSIDE_ROOTS" {
		t.Errorf("%+v", r)
	}
}

// More than the limit, and more than is ever counted.
func TestMany(t *testing.T) {
	var files []txtar.File
	for i := range 700 {
		files = append(files, txtar.File{Name: fmt.Sprintf("disk/f%03d", i)})
	}
	env := toolstest.Workspace(t, &txtar.Archive{Files: files})
	for args, want := range map[string]string{
		`{"pattern":"*"}`:              "Found 700 files:\n1. f000\n",
		`{"pattern":"*","limit":1000}`: "\n700. f699",
		`{"pattern":"*","limit":10}`:   "\n10. f009\n… 690 more: narrow the pattern, or raise limit",
	} {
		r, _ := toolstest.Call(t.Context(), New(), env, args)
		if !r.Success || !strings.Contains(r.Data, want) || *r.Value.(*value).Total != 700 || r.Truncated == strings.Contains(args, "1000") {
			t.Errorf("%s: %.200s … %s", args, r.Data, r.Data[len(r.Data)-100:])
		}
	}
	env.Limits.MaxToolOutputChars = 100
	r, _ := toolstest.Call(t.Context(), New(), env, `{"pattern":"*"}`)
	if v := r.Value.(*value); len(v.Files) != 8 || !r.Truncated {
		t.Errorf("%d files shown", len(v.Files))
	}
}

// A count that was given up is a lower bound, in words and in what a program gets.
func TestFaultW18Counts(t *testing.T) {
	for n, want := range map[int]string{2: "2 files", 3: "3 files", 4: "at least 3 files", 9: "at least 3 files"} {
		v := &value{found: tools.Counter{Most: 3}}
		for range n {
			v.found.Add()
		}
		v.Total = v.found.Total()
		r := answer(".", "*", v, []string{"a"})
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
	p, err := toolstest.Plan(t.Context(), tool, env, json.RawMessage(`{"pattern":"*.go","path":"."}`))
	if err != nil || p.Run == nil {
		t.Errorf("%+v, %v", p, err)
	}
	got, err := tool.Needs(env, json.RawMessage(`{"pattern":"x","path":"a"}`))
	if err != nil || len(got) != 1 || got[0].Act != tools.Reads || got[0].Place.Path() != env.Paths.Cwd+"/a" || !tool.Spec().Kind.ReadOnly() {
		t.Errorf("%v", got)
	}
}
