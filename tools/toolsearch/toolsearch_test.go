package toolsearch_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/toolsearch"
	"tandem/tools/toolstest"
)

// The tool loads what it finds, and nothing else. Where there is no model to load it for, it says so.
func TestF028Loads(t *testing.T) {
	search := toolsearch.New()
	env := toolstest.Workspace(t, &txtar.Archive{})
	if r, _ := toolstest.Call(t.Context(), search, env, `{"query":"select:tool_search"}`); r.Error != tools.Unsupported {
		t.Errorf("%+v", r)
	}
	var loaded []string
	env.Catalogue = &tools.Catalogue{
		Offer: func() tools.Offer { return tools.Offer{Full: []tools.Tool{search}} },
		Load:  func(names ...string) { loaded = append(loaded, names...) },
	}
	for _, c := range []struct{ args, code, want string }{
		{`{"query":"select:ToolSearch"}`, "", "Found 1 tool. You can call what is listed here now:\n{\"name\":\"tool_search\""},
		{`{"query":"find tools","limit":1}`, "", `{"name":"tool_search"`},
		{`{"query":"select:none"}`, "TOOL_NOT_FOUND", `Tool not found: "none".`},
		{`{"query":"zebra"}`, "", `No tool fits "zebra".`},
		{`{"query":""}`, "INVALID_ARGS", "query cannot be empty"},
		{`{"query":"x","limit":21}`, "INVALID_ARGS", "limit must be <= 20"},
	} {
		if r, _ := toolstest.Call(t.Context(), search, env, c.args); string(r.Error) != c.code || !strings.Contains(r.Data, c.want) {
			t.Errorf("%s: %s %s", c.args, r.Error, r.Data)
		}
	}
	if !slices.Equal(loaded, []string{"tool_search", "tool_search"}) {
		t.Errorf("%v", loaded)
	}
}
