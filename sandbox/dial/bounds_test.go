package dial

import (
	"strings"
	"testing"
)

// TestHostsAtTheirBounds: the longest name and label are hosts and longer ones are not, and of letters, digits and bytes the first and the
// last are taken.
func TestHostsAtTheirBounds(t *testing.T) {
	label := strings.Repeat("x", 63)
	name := label + "." + label + "." + label + "." + strings.Repeat("x", 61) // 253 characters
	for host, want := range map[string]bool{
		name: true, name + ".": true, name + "x": false, label + ".org": true, label + "x.org": false, "az.org": true, "a09z.org": true,
		"-a.org": false, "a-.org": false, "a-b.org": true, "a`b.org": false, "a{b.org": false, "a/b.org": false, "a:b.org": false,
		"a\x7fb.org": false, "a\x80b.org": false,
	} {
		got, err := Host(host)
		if (err == nil) != want {
			t.Errorf("%q: %q, %v", host, got, err)
		}
	}
	if _, err := Host("a\x80b.org"); err == nil || !strings.Contains(err.Error(), "ASCII") {
		t.Errorf("the first byte that is no ASCII: %v", err)
	}
}
