package loop

import "testing"

// TestFaultW8Names sees what is taken off the name of a call, where there is no tool of that name.
func TestFaultW8Names(t *testing.T) {
	for name, want := range map[string]string{
		"look": "look", " look": "look", "look\n": "look", "functions.look": "look", "functions: look": "look", "default_api:look": "look", "default_api.look": "look",
		"tools.look": "look", "mcp__functions.look": "mcp__functions.look", "functions_look": "functions_look", "": "",
		"functions/look": "look", "functions.look:0": "look", "look:12": "look", "look<|channel|>commentary": "look", "functions.look <|message|>{\n}": "look",
		"look<|": "look", "<|start|>look": "<|start|>look", "other.look": "other.look", "look:x": "look:x", "functions.": "functions.",
	} {
		if got := unwrapped(name); got != want {
			t.Errorf("%q became %q", name, got)
		}
	}
}
