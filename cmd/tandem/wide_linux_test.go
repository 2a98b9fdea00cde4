package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// TestFaultM4WideAnswer: the question about a command offers its first word with any arguments beside its exact words, where no option of
// the program runs another one; the answer covers the next call of the program and no other program.
func TestFaultM4WideAnswer(t *testing.T) {
	p := run(t, nil, nil, "--stdio")
	asks := map[string]map[string]string{} // by command the names of the answers
	e := p.editor(conformance.Options{
		Settings: map[string]any{"mode": "ask"},
		Ask: func(_ int, a conformance.Ask) string {
			var in struct{ Command string }
			if err := json.Unmarshal(a.ToolCall.RawInput, &in); err != nil {
				t.Error(err)
			}
			names := map[string]string{}
			for _, o := range a.Options {
				names[o.OptionID] = o.Name
			}
			asks[in.Command] = names
			if names["allow_wide"] != "" {
				return "allow_wide"
			}
			return "reject_once"
		},
	})
	id := e.session("ask")
	call := func(command string) (out struct{ Success bool }) {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"command": command})
		e.ask("tandem/tools/call", map[string]any{"sessionId": id, "name": "bash", "arguments": json.RawMessage(args)}, &out)
		return out
	}
	if !call("mkdir made").Success {
		t.Error("it was not run")
	}
	name := asks["mkdir made"]["allow_wide"]
	if !strings.HasPrefix(name, "Always allow in this workspace, with any arguments: mkdir ** ") && name != "Always allow in this workspace, with any arguments: mkdir **" {
		t.Fatalf("the answers: %v", asks)
	}
	if exact := asks["mkdir made"]["allow_always"]; !strings.HasPrefix(exact, "Always allow in this workspace: mkdir made") {
		t.Errorf("the exact one: %q", exact)
	}
	asked := len(asks)
	if !call("mkdir -p a/b other").Success || len(asks) != asked {
		t.Errorf("another call of the program was asked about: %v", asks)
	}
	for _, command := range []string{"mkdir made; touch x", "find . -newer a -exec touch {} +", "env mkdir z", "mkdir --unknown-option z", "rm -r made"} {
		if call(command); asks[command] == nil || asks[command]["allow_wide"] != "" {
			t.Errorf("%s: %v", command, asks[command])
		}
	}
	var list struct {
		Rules []struct{ Text, Effect string }
	}
	e.ask("tandem/permissions/list", map[string]any{"sessionId": id}, &list)
	if !slices.ContainsFunc(list.Rules, func(r struct{ Text, Effect string }) bool {
		return r.Effect == "allow" && strings.Contains(r.Text, "mkdir **")
	}) {
		t.Errorf("the rule is not listed: %s", fmt.Sprint(list))
	}
	e.leaves()
}
