package words_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/tools/words"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"path", "path", 0},
		{"path", "pth", 1},
		{"read_flie", "read_file", 2},
		{"kitten", "sitting", 3},
	} {
		if got := words.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSlip(t *testing.T) {
	for _, c := range []struct {
		written, name string
		want          bool
	}{
		{"pth", "path", true},
		{"paath", "path", true},
		{"oath", "path", true},
		{"ptah", "path", true},
		{"path", "path", false},
		{"hatp", "path", false},
		{"", "path", false},
		{"n", "a", false},
		{"files", "fixed", false},
		{"todowrite", "write", false},
		{"casesensitive", "caseinsensitive", false},
	} {
		if got := words.Slip(c.written, c.name); got != c.want {
			t.Errorf("%q for %q: %v", c.written, c.name, got)
		}
	}
}

// TestDistanceLaws: it is a metric, and at most as great as the longer name.
func TestDistanceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab_]{0,8}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		ab := words.Distance(a, b)
		if ab != words.Distance(b, a) || (ab == 0) != (a == b) || ab > max(len(a), len(b)) || words.Distance(a, c) > ab+words.Distance(b, c) {
			t.Fatalf("%q, %q, %q: %d", a, b, c, ab)
		}
	})
}
