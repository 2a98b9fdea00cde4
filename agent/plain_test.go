package agent

import (
	"testing"

	"tandem/agent/model"
	"tandem/agent/model/wire"
	"tandem/tools/builtin"
)

// TestOwnSchemasArePlain sees that what is shown of the schemas of all built-in tools goes out as it is, so that no request looks at them.
func TestOwnSchemasArePlain(t *testing.T) {
	n := 0
	for _, tool := range builtin.Tools() {
		s := tool.Schema()
		if !s.Own() {
			continue
		}
		if n++; string(wire.Schema(model.ToolSpec{Parameters: s.Shown()})) != string(s.Shown()) {
			t.Errorf("%s: %s", tool.Spec().Name, s.Shown())
		}
	}
	if n < 15 {
		t.Errorf("%d built-in tools have a schema of their own", n)
	}
}
