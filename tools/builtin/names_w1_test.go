package builtin_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

// Every tool with a path takes it literally where it is there; only one that reads takes an abbreviation, of what is there alone.
func TestFaultW1EveryTool(t *testing.T) {
	for _, tool := range builtin.Tools() {
		if canonical, ok := tool.Schema().Param("path"); !ok || canonical != "path" {
			continue
		}
		name, reads := tool.Spec().Name, tool.Spec().Class == tools.ClassRead
		w := toolstest.NewWorld(t, tool)
		for _, f := range []string{"@both", "both", "cut", "x:7", "x", "file:both", "output:both"} {
			if err := os.WriteFile(w.Path(f), []byte("one\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for asked, want := range map[string]string{
			"@both": "@both", "both": "both", "x:7": "x:7", "file:both": "file:both", "output:both": "output:both", "@none": "@none",
			"@cut": "@cut or cut", "cut:3": "cut:3 or cut", "file:cut": "file:cut or cut", "@cut:3": "@cut:3 or cut",
		} {
			literal, cut, _ := strings.Cut(want, " or ")
			if want = literal; reads && cut != "" {
				want = cut
			}
			needs, err := tool.Needs(&w.Env, json.RawMessage(valid(t, tool, asked)))
			if err != nil || len(needs) == 0 {
				t.Fatalf("%s %s: %v", name, asked, err)
			}
			if got := needs[0].Place.Path(); got != w.Path(want) {
				t.Errorf("%s: %s is %s", name, asked, got)
			}
		}
	}
}
