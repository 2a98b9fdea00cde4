package tandem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/builtin"
)

const toolsFile = "docs/tools.md"

// TestRoomsOfTools writes the reference of the tools, or wants it to be that of the definitions.
func TestRoomsOfTools(t *testing.T) {
	have, err := os.ReadFile(toolsFile)
	want := toolsPage(t)
	switch {
	case err == nil && string(have) == want:
	case *update:
		if err := os.WriteFile(toolsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test . -run TestRooms -update", toolsFile)
	}
}

// TestF229_F022ToolsPage wants the page to name the tools that the one list in Go has, each with its parameters.
func TestF229_F022ToolsPage(t *testing.T) {
	page, _ := text(t, toolsFile)
	if page != toolsPage(t) {
		t.Errorf("%s is not what its definitions make: make generate", toolsFile)
	}
	var names, listed []string
	for _, tool := range builtin.Tools() {
		names = append(names, tool.Spec().Name)
		for _, p := range params(t, tool) {
			if !strings.Contains(page, "| `"+p.name+"` |") {
				t.Errorf("the page does not tell of %s.%s", tool.Spec().Name, p.name)
			}
		}
	}
	for line := range strings.Lines(page) {
		if name, ok := strings.CutPrefix(line, "## `"); ok {
			listed = append(listed, strings.TrimSuffix(name, "`\n"))
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, listed) {
		t.Errorf("the page has %v, the list %v", listed, names)
	}
}

// together are the words for the scheduling classes.
var together = map[tools.Together]string{
	tools.Alone: "alone", tools.WithReads: "with reads", tools.OtherFiles: "with edits of other files",
	tools.Commands: "with commands that only read too",
}

// param is one parameter of a tool as the page tells of it.
type param struct{ name, kind, what string }

func toolsPage(t *testing.T) string {
	t.Helper()
	list := builtin.Tools()
	slices.SortFunc(list, func(a, b tools.Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	categories := map[string][]string{}
	for _, tool := range list {
		s := tool.Spec()
		categories[s.Category] = append(categories[s.Category], fmt.Sprintf("[`%s`](#%s)", s.Name, s.Name))
	}
	var b strings.Builder
	b.WriteString("# Tools\n\n<!-- Generated from the definitions in tools/*: make generate -->\n\n" +
		"What the model can call. A name matches whatever the case of its letters, and other names of a tool or a parameter are accepted and\n" +
		"not shown to the model. `tandem/tools/list` gives the same to programs; MCP servers, plug-ins and clients add tools of their own.\n\n" +
		"| category | tools |\n|---|---|\n")
	for _, c := range slices.Sorted(maps.Keys(categories)) {
		fmt.Fprintf(&b, "| %s | %s |\n", c, strings.Join(categories[c], ", "))
	}
	for _, tool := range list {
		s := tool.Spec()
		fmt.Fprintf(&b, "\n## `%s`\n\n", s.Name)
		facts := []string{"kind " + string(s.Kind), "permission class " + string(s.Class), string(s.Danger), "runs " + together[s.Together]}
		if !s.NotDestructive {
			facts = append(facts, "may destroy something")
		}
		if s.Block {
			facts = append(facts, "ends by itself when the turn is cancelled")
		}
		if s.Unlisted {
			facts = append(facts, "not offered to models")
		}
		if len(s.Aliases) > 0 {
			facts = append(facts, "also called `"+strings.Join(s.Aliases, "`, `")+"`")
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", strings.Join(facts, " · "), strings.TrimSpace(s.Description))
		list := params(t, tool)
		if len(list) == 0 {
			b.WriteString("\nIt has no parameters.\n")
			continue
		}
		b.WriteString("\n| parameter | type | what |\n|---|---|---|\n")
		for _, p := range list {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.name, p.kind, strings.ReplaceAll(p.what, "|", `\|`))
		}
	}
	return b.String()
}

// params are the parameters of a tool in the order of their names, those of the objects in lists behind them.
func params(t *testing.T, tool tools.Tool) []param {
	t.Helper()
	type node struct {
		Type                any
		Description         string
		Required            []string
		Enum                []any
		Properties          map[string]json.RawMessage
		Items               json.RawMessage
		Minimum, Maximum    *float64
		MinLength, MaxItems *int
	}
	var out []param
	var walk func(prefix string, raw json.RawMessage)
	walk = func(prefix string, raw json.RawMessage) {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatalf("%s: %v", tool.Spec().Name, err)
		}
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			var of node
			if err := json.Unmarshal(n.Properties[name], &of); err != nil {
				t.Fatalf("%s.%s: %v", tool.Spec().Name, name, err)
			}
			kind := fmt.Sprint(of.Type)
			if list, several := of.Type.([]any); several {
				kind = strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " null", ""), "[]")
				kind = strings.TrimPrefix(kind, "null ")
			}
			if len(of.Enum) > 0 {
				kind = fmt.Sprintf("%s: %s", kind, strings.Trim(strings.ReplaceAll(fmt.Sprint(of.Enum), " ", ", "), "[]"))
			}
			if !slices.Contains(n.Required, name) {
				kind += ", optional"
			}
			switch {
			case of.Minimum != nil && of.Maximum != nil:
				kind += fmt.Sprintf(", %v to %v", int64(*of.Minimum), int64(*of.Maximum))
			case of.Minimum != nil:
				kind += fmt.Sprintf(", %v at least", int64(*of.Minimum))
			}
			out = append(out, param{prefix + name, kind, of.Description})
			if len(of.Items) > 0 {
				walk(prefix+name+"[].", of.Items)
			}
		}
	}
	walk("", tool.Schema().JSON())
	return out
}
