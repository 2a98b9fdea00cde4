package mcptest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Of the rows with a source so many are seen to matter: TestQuirksNotice changes the code that reads what servers send, one line at a time,
// and lists those that no change makes fail. A row without a source is our own and does not count.
func TestQuirksCount(t *testing.T) {
	raw, err := os.ReadFile("changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\nuntouched\n")
	untouched := strings.Split(rest, "\n")
	source := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$|^@?[\w./-]+ \d+\.\d+\.\d+$`)
	count := 0
	for _, q := range Quirks {
		if q.Source != "" && !source.MatchString(q.Source) {
			t.Errorf("%s: %q is no source", q.Name, q.Source)
		}
		if q.Source != "" && !slices.Contains(untouched, strings.ReplaceAll(q.Name, " ", "_")) {
			count++
		}
	}
	if count < 33 {
		t.Errorf("%d rows count", count)
	}
}
