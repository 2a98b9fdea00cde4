package config

import (
	"strings"
	"testing"
)

// TestNetwork: words, an object with hosts, and what is neither.
func TestNetwork(t *testing.T) {
	for text, want := range map[string]Network{
		`"deny"`:     "deny",
		`"loopback"`: "loopback",
		`{"hosts": ["Example.org", "b.org:8443"]}`: "hosts Example.org b.org:8443",
		`{"hosts": []}`: "hosts",
		`{"hosts": ["*.example.org", "a.org", "a b", ""]}`: "hosts a.org",
		`"hosts a.org"`:       "loopback",
		`{}`:                  "loopback",
		`{"host": ["a.org"]}`: "loopback",
		`["a.org"]`:           "loopback",
		`{"hosts": "a.org"}`:  "loopback",
	} {
		c, problems, _ := load(t, map[string]string{"user": `{"sandbox": {"network": ` + text + `}}`})
		if c.Sandbox.Network != want {
			t.Errorf("%s: %q", text, c.Sandbox.Network)
		}
		right := want != "loopback" && !strings.Contains(text, "*") || text == `"loopback"`
		if right != (len(problems) == 0) {
			t.Errorf("%s: %q", text, problems)
		}
		if got := c.Redacted().Sandbox.Network; got != want {
			t.Errorf("%s: it is shown as %q", text, got)
		}
	}
}

// TestNetworkNarrower: a workspace may take hosts away and none to them.
func TestNetworkNarrower(t *testing.T) {
	order := []string{`"deny"`, `"loopback"`, `{"hosts": []}`, `{"hosts": ["a.org"]}`, `{"hosts": ["a.org", "b.org"]}`}
	for i, user := range order {
		for j, workspace := range order {
			c, _, _ := load(t, map[string]string{"user": `{"sandbox": {"network": ` + user + `}}`, "workspace": `{"sandbox": {"network": ` + workspace + `}}`})
			one, _, _ := load(t, map[string]string{"user": `{"sandbox": {"network": ` + order[min(i, j)] + `}}`})
			if c.Sandbox.Network != one.Sandbox.Network {
				t.Errorf("%s under %s: %q", workspace, user, c.Sandbox.Network)
			}
		}
	}
	c, _, _ := load(t, map[string]string{
		"user": `{"sandbox": {"network": {"hosts": ["a.org"]}}}`, "workspace": `{"sandbox": {"network": {"hosts": ["c.org"]}}}`,
	})
	if c.Sandbox.Network != "hosts a.org" {
		t.Errorf("%q", c.Sandbox.Network)
	}
}
