package follow

import (
	"os"
	"strings"
	"testing"
)

var (
	stateNames = []string{"sent", "seen", "strayed", "held", "passed", "ready", "misplaced", "landed", "unknown"}
	inputNames = []string{"yes", "no", "broken", "complete", "elsewhere", "begun", "met", "without", "request", "timeUp"}
)

// TestFlightIsInTheDocs compares the table of states with the one in the docs.
func TestFlightIsInTheDocs(t *testing.T) {
	rows := []string{"| state | " + strings.Join(inputNames, " | ") + " |", "|" + strings.Repeat("---|", len(inputNames)+1)}
	for s, row := range flights {
		cells := []string{stateNames[s]}
		for _, to := range row {
			cells = append(cells, stateNames[to])
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	}
	docs, err := os.ReadFile("../../docs/internals.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(rows, "\n") + "\n"; !strings.Contains(string(docs), want) {
		t.Errorf("docs/internals.md has not this table:\n%s", want)
	}
}

// TestFlightLaws holds what must be true of every way through the table.
func TestFlightLaws(t *testing.T) {
	for s := range flights {
		for in := range Input(len(inputNames)) {
			to := State(s).Next(in)
			switch {
			case to == Ready && in != No && in != Broken && in != Without && in != Request && State(s) != Passed:
				t.Errorf("%s by %s is sent again without a refusal, or a change or request that shows that it is not there", stateNames[s], inputNames[in])
			case to == Landed && State(s) == Sent:
				t.Errorf("sent by %s has landed though the document never had it", inputNames[in])
			case in == Complete && to != Seen && to != Landed, in == Elsewhere && to != Strayed && to != Misplaced:
				t.Errorf("%s by %s is %s", stateNames[s], inputNames[in], stateNames[to])
			case State(s) == Held && in == TimeUp && to != Held:
				t.Errorf("held by the time alone is %s", stateNames[to])
			}
		}
	}
	for s := Ready; s <= Unknown; s++ {
		for in := range Input(len(inputNames)) {
			if s.Next(in) != s {
				t.Errorf("%s goes on to %s", stateNames[s], stateNames[s.Next(in)])
			}
		}
	}
}
