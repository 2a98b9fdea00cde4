package agent

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestCommand parses the beginnings of messages as the pattern of a command says.
func TestCommand(t *testing.T) {
	pattern := regexp.MustCompile(`^\s*/([A-Za-z0-9_-]+)(?:\s+|$)`)
	texts := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n\v/mc_-aZ9é\u00a0")))
	head := rapid.SampledFrom([]string{"", "/mcp__", " /mcp__x", "\n/mcp__a_b", "/mcp_"})
	rapid.Check(t, func(t *rapid.T) {
		text := head.Draw(t, "head") + texts.Draw(t, "text")
		name, rest, ok := command(text)
		m := pattern.FindStringSubmatch(text)
		if ok != (m != nil) || ok && (name != m[1] || rest != text[len(m[0]):]) {
			t.Errorf("%q: %q %q %t, want %q", text, name, rest, ok, m)
		}
	})
}
