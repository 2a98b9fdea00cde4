package backend_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/lspserver/backend"
	"tandem/tools"
	"tandem/tools/foreign"
	"tandem/tools/run"
)

func foreignTool(t *testing.T, name, answer string) tools.Tool {
	t.Helper()
	x, err := foreign.New(foreign.Spec{Spec: tools.Spec{Name: name, Kind: tools.Read, Source: answer}}, nil,
		func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
			return tools.Result{Success: true, Data: "from " + answer}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func layer(t *testing.T, rank tools.Rank, name string, list ...tools.Tool) tools.Layer {
	t.Helper()
	l, err := tools.NewLayer(rank, name, list...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Taking the nearest layer out uncovers the one below, and clients are told of both.
func TestF018LayersUncover(t *testing.T) {
	f := &face{answer: run.Allowed}
	b := start(t, f, t.TempDir(), "say hello\n", t.TempDir())
	defer b.End()
	se, err := b.New(backend.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	call := func() string {
		r, _, err := se.CallTools(context.Background(), []run.Call{{Name: "glob", Arguments: json.RawMessage(`{"pattern":"*"}`)}}, agent.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r[0].Data
	}
	builtin := call()
	f.said()
	b.PutTools(layer(t, tools.RankPlugin, "p", foreignTool(t, "glob", "plugin:p")))
	if got := call(); got != "from plugin:p" {
		t.Errorf("plugin: %s", got)
	}
	b.PutTools(layer(t, tools.RankClient, "", foreignTool(t, "glob", "client")))
	if got := call(); got != "from client" {
		t.Errorf("client: %s", got)
	}
	b.TakeTools(tools.RankClient, "")
	if got := call(); got != "from plugin:p" {
		t.Errorf("plugin again: %s", got)
	}
	b.TakeTools(tools.RankPlugin, "p")
	if got := call(); got != builtin {
		t.Errorf("built-in again: %s", got)
	}
	told := slices.DeleteFunc(f.said(), func(s string) bool { return !strings.HasPrefix(s, "gone") && !strings.HasPrefix(s, "come") })
	if want := slices.Repeat([]string{"gone: glob ", "come: glob "}, 4); !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}
