package loop

import "testing"

// TestFaultW8Names sees what is taken off the name of a call, where there is no tool of that name.
func TestFaultW8Names(t *testing.T) {
	for name, want := range map[string]string{
		"look": "look", " look": "look", "look\n": "look", "functions.look": "look", "functions: look": "look", "default_api:look": "look", "default_api.look": "look",
		"tools.look": "look", "mcp__functions.look": "mcp__functions.look", "functions_look": "functions_look", "": "",
	} {
		if got := unprefixed(name); got != want {
			t.Errorf("%q became %q", name, got)
		}
	}
}
