package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/glob"
	"tandem/tools/grep"
	"tandem/tools/list"
	"tandem/tools/toolstest"
)

// TestFaultS3SearchesLeaveOutWhatARuleDenies: what lies in a folder that a rule denies is in no answer of a search above it, and is counted.
func TestFaultS3SearchesLeaveOutWhatARuleDenies(t *testing.T) {
	for name, c := range map[string]struct {
		tool tools.Tool
		args string
	}{
		"grep": {grep.New(), `{"pattern":"words"}`}, "grep names": {grep.New(), `{"pattern":"words","output_mode":"files_with_matches"}`},
		"glob": {glob.New(), `{"pattern":"**/*.txt"}`}, "list": {list.New(), `{"depth":3}`},
	} {
		w := toolstest.NewWorld(t, c.tool)
		for _, file := range []string{"a.txt", "private/k.txt"} {
			at := filepath.Join(w.Root, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte("words\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		free := w.Call(c.tool.Spec().Name, c.args)
		if !strings.Contains(free.Data, "k.txt") {
			t.Fatalf("%s without a rule: %s", name, free.Data)
		}
		deny := gate.Rule{Effect: gate.Deny, Tool: "*", Params: map[string]string{"path": "private/**"}}
		w.Host.Gate = gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: w.Root, Rules: []gate.Rule{deny}})
		r := w.Call(c.tool.Spec().Name, c.args)
		if strings.Contains(r.Data, "k.txt") || !strings.Contains(r.Data, "a.txt") || !strings.Contains(r.Data, "left out: a deny rule") {
			t.Errorf("%s: %s", name, r.Data)
		}
	}
}
