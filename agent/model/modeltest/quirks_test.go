package modeltest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Of the rows with a source so many are seen to matter: TestQuirksNotice changes the code that reads streams, one line at a time, and lists
// those that no change makes fail.
func TestQuirksCount(t *testing.T) {
	raw, err := os.ReadFile("changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\nuntouched\n")
	untouched := strings.Split(rest, "\n")
	source := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	count, names := 0, map[string]bool{}
	for _, q := range slices.Concat(ChatQuirks, MessagesQuirks, ResponsesQuirks) {
		if !source.MatchString(q.Source) {
			t.Errorf("%s: %q is no source", q.Name, q.Source)
		}
		if names[q.Line+q.Name] {
			t.Errorf("two rows have the name %q", q.Name)
		}
		names[q.Line+q.Name] = true
		if !slices.Contains(untouched, strings.ReplaceAll(q.Line+" "+q.Name, " ", "_")) {
			count++
		}
	}
	if count < 117 {
		t.Errorf("%d rows count", count)
	}
}
