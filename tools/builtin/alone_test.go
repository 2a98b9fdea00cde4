package builtin

import (
	"encoding/json"
	"errors"
	"testing"

	"golang.org/x/tools/txtar"

	"tandem/tools"
	"tandem/tools/toolstest"
)

// Every tool validates its arguments itself where no pipeline has done so.
func TestF065ToolsCheckTheirArguments(t *testing.T) {
	env := toolstest.Workspace(t, &txtar.Archive{})
	for _, tool := range Tools() {
		for _, args := range []string{`{"no such parameter":1}`, `[]`, `{`} {
			_, err := tool.Plan(t.Context(), env, json.RawMessage(args))
			var refusal *tools.Refusal
			if !errors.As(err, &refusal) || refusal.Result.Error != tools.InvalidArgs || len(refusal.Result.Issues) == 0 {
				t.Errorf("%s %s: %v", tool.Spec().Name, args, err)
			}
		}
	}
}
