package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/schema"
	"tandem/tools/toolstest"
)

// byHand is a tool with a schema of its own and an argument type that the generator does not understand.
type byHand struct {
	Path string `json:"path"`
	Hook func() `json:"hook"`
}

func (*byHand) Spec() tools.Spec { return tools.Spec{Name: "by_hand", Kind: tools.Think} }

func (*byHand) Title(json.RawMessage) string { return "By hand" }

func (*byHand) Schema() *schema.Schema {
	s, err := schema.Raw(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":3}},"required":["path"]}`))
	if err != nil {
		panic(err)
	}
	return s
}

func (*byHand) Needs(*tools.Env, json.RawMessage) ([]tools.Need, error) { return []tools.Need{}, nil }

func (*byHand) Plan(_ context.Context, _ *tools.Env, args json.RawMessage) (*tools.Plan, error) {
	return &tools.Plan{Run: func(context.Context) (tools.Result, error) {
		return tools.Result{Success: true, Data: string(args), Summary: "Done"}, nil
	}}, nil
}

// A tool with a schema written by hand is called through the same interface as any other, without the generator.
func TestF044SchemaByHand(t *testing.T) {
	if _, err := schema.For[byHand](); err == nil {
		t.Fatal("the generator understands the type, so this test shows nothing")
	}
	env := toolstest.Workspace(t, &txtar.Archive{})
	if r, _ := toolstest.Call(t.Context(), &byHand{}, env, `{"path":"abc"}`); !r.Success || r.Data != `{"path":"abc"}` {
		t.Errorf("%+v", r)
	}
	if r, _ := toolstest.Call(t.Context(), &byHand{}, env, `{"path":"a"}`); r.Error != tools.InvalidArgs || len(r.Issues) != 1 {
		t.Errorf("%+v", r)
	}
}
