package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/foreign"
	"tandem/tools/gate"
	"tandem/tools/toolstest"
)

// The five principles and the five rules that every tool keeps, whoever wrote it. Each test stands for one of them and looks at all
// tools that are shipped.

// twins are two tools that do the same: one whose arguments are a Go type, one that is described by a JSON Schema.
func twins(t *testing.T) (typed, raw tools.Tool) {
	t.Helper()
	type args struct {
		Path  string `json:"path" desc:"A file." minlen:"1" nocoerce:"true"`
		Count int    `json:"count,omitempty" desc:"How many." min:"1" max:"9"`
	}
	spec := tools.Spec{
		Name: "typed", Kind: tools.Read, Danger: tools.Safe, Class: tools.ClassRead, Together: tools.WithReads, NotDestructive: true,
		Description: "A twin.",
	}
	typed = tools.Define(tools.Definition[args]{
		Spec:  spec,
		Needs: tools.Always[args](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, _ *tools.Env, in args) (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
				return tools.Result{Success: true, Data: in.Path, Summary: in.Path}, nil
			}}, nil
		},
	})
	spec.Name = "raw"
	raw, err := foreign.New(foreign.Spec{Spec: spec, Parameters: typed.Schema().JSON()},
		func(*tools.Env, json.RawMessage) ([]tools.Need, error) {
			return []tools.Need{{Act: tools.Nothing}}, nil
		},
		func(_ context.Context, _ *tools.Env, args json.RawMessage) (tools.Result, error) {
			var in args2
			if err := json.Unmarshal(args, &in); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Success: true, Data: in.Path, Summary: in.Path}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return typed, raw
}

type args2 struct{ Path string }

// TestConstitution_UnifiedContract: one interface holds every tool, and what it declares is complete.
func TestConstitution_UnifiedContract(t *testing.T) {
	typed, raw := twins(t)
	for _, tool := range append(builtin.Tools(), typed, raw) {
		s := tool.Spec()
		if s.Name == "" || s.Kind == "" || s.Danger == "" || s.Class == "" || s.Description == "" || tool.Title(json.RawMessage(`{}`)) == "" ||
			!json.Valid(tool.Schema().JSON()) {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

// TestConstitution_TypeErasure: tools with arguments of any type stand in one set, are compared and called alike.
func TestConstitution_TypeErasure(t *testing.T) {
	typed, raw := twins(t)
	w := toolstest.NewWorld(t, typed, raw)
	for _, name := range []string{"typed", "raw"} {
		if r := w.Call(name, `{"path": "a", "count": 3}`); !r.Success || r.Data != "a" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, tool := range builtin.Tools() {
		if !reflect.TypeOf(tool).Comparable() {
			t.Errorf("%s cannot be compared", tool.Spec().Name)
		}
	}
}

// TestConstitution_CentralisedPolicy: no tool judges paths or permissions itself. A file outside is refused by the one resolver, a
// rule denies by the one gate, whatever the tool.
func TestConstitution_CentralisedPolicy(t *testing.T) {
	for dir, list := range imports(t, "../*/*.go") {
		for _, imported := range list {
			if judge := imported == "tandem/tools/gate" || imported == "tandem/tools/run"; judge && !slices.Contains([]string{"gate", "run", "hooks", "toolstest"}, dir) {
				t.Errorf("tools/%s imports %s: a tool asks nobody", dir, imported)
			}
		}
	}
	for _, tool := range builtin.Tools() {
		name := tool.Spec().Name
		w := toolstest.NewWorld(t, tool)
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{{Effect: gate.Deny, Tool: name, Source: "a rule"}}})
		r := w.Call(name, valid(t, tool, "a.txt"))
		if r.Error != tools.GateDenied && r.Error != tools.Unsupported || r.Success {
			t.Errorf("%s is denied by a rule and answers %s: %s", name, r.Error, r.Data)
		}
		_, path := tool.Schema().Param("path")
		if _, patch := tool.Schema().Param("patch"); !path && !patch {
			continue
		}
		w = toolstest.NewWorld(t, tool)
		if r := w.Call(name, valid(t, tool, "../outside.txt")); r.Reason != "outside" && r.Error != tools.Unsupported {
			t.Errorf("%s of a path outside answers %s: %s", name, r.Error, r.Data)
		}
	}
}

// imports are what the packages of some files import, tests aside, by the name of their folder.
func imports(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(name))
		for _, i := range f.Imports {
			out[dir] = append(out[dir], strings.Trim(i.Path.Value, `"`))
		}
	}
	return out
}

// valid are arguments that a tool takes, with a path where it has one.
func valid(t *testing.T, tool tools.Tool, path string) string {
	t.Helper()
	type node struct {
		Type       any
		Enum       []any
		Properties map[string]json.RawMessage
		Required   []string
		Items      json.RawMessage
	}
	var value func(name string, raw json.RawMessage) any
	value = func(name string, raw json.RawMessage) any {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		kind := fmt.Sprint(n.Type)
		switch {
		case name == "path":
			return path
		case name == "patch":
			return "*** Delete File: " + path
		case name == "url":
			return "https://example.org/"
		case name == "command":
			return "true"
		case len(n.Enum) > 0:
			return n.Enum[0]
		case strings.Contains(kind, "array"):
			return []any{value("item", n.Items)}
		case strings.Contains(kind, "object"):
			out := map[string]any{}
			for name, of := range n.Properties {
				if slices.Contains(n.Required, name) || name == "path" {
					out[name] = value(name, of)
				}
			}
			return out
		case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
			return 1
		case strings.Contains(kind, "boolean"):
			return true
		}
		return name
	}
	args := value("", tool.Schema().JSON())
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestConstitution_IsomorphicResults: whatever is called with whatever, the answer has one shape, and success is its only flag.
func TestConstitution_IsomorphicResults(t *testing.T) {
	random(t, 400, func(name, args string, r tools.Result) {
		if r.Success != (r.Error == "") || strings.TrimSpace(r.Data) == "" || len(r.Issues) > 0 && r.Error != tools.InvalidArgs {
			t.Errorf("%s %s: %+v", name, args, r)
		}
	})
}

// TestConstitution_DefaultPolicy: what is not declared is the worst: of kind other, alone, destructive, and asked about.
func TestConstitution_DefaultPolicy(t *testing.T) {
	tool, err := foreign.New(foreign.Spec{Spec: tools.Spec{Name: "mystery"}}, nil,
		func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
			return tools.Result{Success: true, Data: "done", Summary: "done"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if s := tool.Spec(); s.Kind != tools.Other || s.Together != tools.Alone || s.NotDestructive || s.Kind.ReadOnly() {
		t.Errorf("%+v", s)
	}
	w := toolstest.NewWorld(t, tool)
	if r := w.Call("mystery", `{"anything": 1}`); !r.Success || len(w.Asked) != 1 {
		t.Errorf("asked %d times: %+v", len(w.Asked), r)
	}
	for _, mode := range []gate.Mode{gate.ModeReadOnly, gate.ModePlan} {
		w := toolstest.NewWorld(t, tool)
		w.Host.Gate = mode
		if r := w.Call("mystery", `{}`); r.Success {
			t.Errorf("%s: %+v", mode, r)
		}
	}
}

// TestConstitution_SeparationOfConcerns: the contract and the schemas know no tool, no session, no store and no wire.
func TestConstitution_SeparationOfConcerns(t *testing.T) {
	for _, pattern := range []string{"../*.go", "../schema/*.go"} {
		found := imports(t, pattern)
		if len(found) != 1 {
			t.Errorf("%s: %d packages", pattern, len(found))
		}
		for dir, list := range found {
			for _, imported := range list {
				for _, far := range []string{"agent", "lspserver", "tools/run", "tools/gate", "tools/builtin", "tools/mcp"} {
					if imported == "tandem/"+far || strings.HasPrefix(imported, "tandem/"+far+"/") {
						t.Errorf("%s imports %s", dir, imported)
					}
				}
			}
		}
	}
}

// TestConstitution_IsomorphicProtocol: a tool of a Go type and one of a JSON Schema say the same about the same wrong arguments.
func TestConstitution_IsomorphicProtocol(t *testing.T) {
	typed, raw := twins(t)
	w := toolstest.NewWorld(t, typed, raw)
	for _, args := range []string{`{}`, `{"path": 3}`, `{"path": ""}`, `{"path": "a", "count": 10}`, `[]`, `{`} {
		a, b := w.Call("typed", args), w.Call("raw", args)
		if a.Error != tools.InvalidArgs || !reflect.DeepEqual(a.Issues, b.Issues) || a.Data != b.Data {
			t.Errorf("%s:\n%+v\n%+v", args, a.Issues, b.Issues)
		}
	}
}

// TestConstitution_DegradesInsteadOfCrashing: a tool that panics, plans nothing or answers nothing is a failed call, and the next one
// works.
func TestConstitution_DegradesInsteadOfCrashing(t *testing.T) {
	type none struct{}
	bad := func(name string, plan func() (*tools.Plan, error)) tools.Tool {
		return tools.Define(tools.Definition[none]{
			Spec:  tools.Spec{Name: name, Kind: tools.Read, Danger: tools.Safe, Class: tools.ClassRead},
			Needs: tools.Always[none](tools.Need{Act: tools.Nothing}),
			Plan:  func(context.Context, *tools.Env, none) (*tools.Plan, error) { return plan() },
		})
	}
	typed, _ := twins(t)
	w := toolstest.NewWorld(
		t, typed,
		bad("panics", func() (*tools.Plan, error) { panic("boom") }),
		bad("plans_nothing", func() (*tools.Plan, error) { return nil, nil }),
		bad("answers_nothing", func() (*tools.Plan, error) {
			return &tools.Plan{Run: func(context.Context) (tools.Result, error) { return tools.Result{}, nil }}, nil
		}),
	)
	for _, name := range []string{"panics", "plans_nothing", "answers_nothing"} {
		if r := w.Call(name, `{}`); r.Error != tools.ExecutionError || strings.Contains(r.Data, "goroutine") {
			t.Errorf("%s: %+v", name, r)
		}
		if r := w.Call("typed", `{"path": "a"}`); !r.Success {
			t.Errorf("after %s: %+v", name, r)
		}
	}
	random(t, 400, func(name, args string, r tools.Result) {
		if r.Error == tools.ExecutionError {
			t.Errorf("%s %s: %s", name, args, r.Data)
		}
	})
}

// TestConstitution_CrossCuttingOnce: paths are resolved by sandbox.Paths for every tool alike: a relative and an absolute path and a file
// URI name one file, and so does a mention in a call that reads.
func TestConstitution_CrossCuttingOnce(t *testing.T) {
	for _, tool := range builtin.Tools() {
		if canonical, ok := tool.Schema().Param("path"); !ok || canonical != "path" {
			continue
		}
		w := toolstest.NewWorld(t, tool)
		w.Files.Put(w.Path("a.txt"), "one\n", true)
		places := map[sandbox.Place]bool{}
		spellings := []string{"a.txt", "x/../a.txt", w.Path("a.txt"), "file://" + w.Path("a.txt")}
		if tool.Spec().Class == tools.ClassRead {
			spellings = append(spellings, "@a.txt")
		}
		for _, path := range spellings {
			needs, err := tool.Needs(&w.Env, json.RawMessage(valid(t, tool, path)))
			if err != nil || len(needs) == 0 {
				t.Fatalf("%s %s: %v", tool.Spec().Name, path, err)
			}
			places[needs[0].Place] = true
			if got := needs[0].Place.Path(); got != w.Path("a.txt") {
				t.Errorf("%s: %s is %s", tool.Spec().Name, path, got)
			}
		}
	}
}

// TestConstitution_TypeSafetyDegrades: a schema that says nothing takes any object, and the call still goes through every stage.
func TestConstitution_TypeSafetyDegrades(t *testing.T) {
	for _, parameters := range []string{``, `true`, `{}`, `{"type": "object"}`} {
		tool, err := foreign.New(foreign.Spec{
			Spec: tools.Spec{Name: "loose", Kind: tools.Read, Danger: tools.Safe, Class: tools.ClassRead}, Parameters: json.RawMessage(parameters),
		}, func(*tools.Env, json.RawMessage) ([]tools.Need, error) {
			return []tools.Need{{Act: tools.Nothing}}, nil
		},
			func(_ context.Context, _ *tools.Env, args json.RawMessage) (tools.Result, error) {
				return tools.Result{Success: true, Data: string(args), Summary: "ok"}, nil
			})
		if err != nil {
			t.Fatalf("%s: %v", parameters, err)
		}
		w := toolstest.NewWorld(t, tool)
		w.Host.Trace = true
		if r := w.Call("loose", `{"a": [1, {"b": null}]}`); !r.Success || !strings.Contains(r.Data, `"b":null`) || len(r.Meta.Trace) < 10 {
			t.Errorf("%s: %+v", parameters, r)
		}
	}
}

// random calls tools that are shipped with made-up arguments; what reaches the network or runs commands is left out.
func random(t *testing.T, n int, check func(name, args string, r tools.Result)) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 11))
	w := toolstest.NewWorld(t, builtin.Tools()...)
	w.Files.Put(w.Path("a.txt"), "one\ntwo\n", true)
	var list []tools.Tool
	for _, tool := range builtin.Tools() {
		if c := tool.Spec().Class; c != tools.ClassNetwork && tool.Spec().Category != "shell" {
			list = append(list, tool)
		}
	}
	junk := []any{nil, true, -1, 0, 1.5, 1e300, "", "a.txt", "../x", "\x00", strings.Repeat("x", 5000), []any{}, []any{1, "a"}, map[string]any{"a": 1}}
	for range n {
		tool := list[r.IntN(len(list))]
		args := map[string]any{}
		if r.IntN(3) > 0 {
			if err := json.Unmarshal([]byte(valid(t, tool, "a.txt")), &args); err != nil {
				t.Fatal(err)
			}
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.Schema().JSON(), &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			if r.IntN(3) == 0 {
				args[name] = junk[r.IntN(len(junk))]
			}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		check(tool.Spec().Name, string(raw), w.Call(tool.Spec().Name, string(raw)))
	}
}

// TestF252_F253_F254Constitution wants each principle and each rule to have its test.
func TestF252_F253_F254Constitution(t *testing.T) {
	have := tests(t, ".")
	for _, name := range []string{
		"UnifiedContract", "TypeErasure", "CentralisedPolicy", "IsomorphicResults", "DefaultPolicy",
		"SeparationOfConcerns", "IsomorphicProtocol", "DegradesInsteadOfCrashing", "CrossCuttingOnce", "TypeSafetyDegrades",
	} {
		if !slices.Contains(have, "TestConstitution_"+name) {
			t.Errorf("there is no TestConstitution_%s", name)
		}
	}
}
