package builtin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestF276_FaultM5ChoicesHaveTheirDefault: each optional choice of each tool, also within lists, is described with what the tool takes without
// it, as programs and as models read it.
func TestF276_FaultM5ChoicesHaveTheirDefault(t *testing.T) {
	type schema struct {
		Description string            `json:"description"`
		Enum        []any             `json:"enum"`
		Required    []string          `json:"required"`
		Properties  map[string]schema `json:"properties"`
		Items       *schema           `json:"items"`
	}
	found := 0
	var look func(at string, s schema)
	look = func(at string, s schema) {
		for name, p := range s.Properties {
			if len(p.Enum) > 0 && !slices.Contains(s.Required, name) {
				found++
				if !strings.Contains(p.Description, "default") {
					t.Errorf("%s.%s is described as %q", at, name, p.Description)
				}
			}
			look(at+"."+name, p)
		}
		if s.Items != nil {
			look(at+"[]", *s.Items)
		}
	}
	for _, tool := range Tools() {
		for _, raw := range []json.RawMessage{tool.Schema().JSON(), tool.Schema().Shown()} {
			var s schema
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			look(tool.Spec().Name, s)
		}
	}
	if found < 8 {
		t.Errorf("%d choices", found)
	}
}
