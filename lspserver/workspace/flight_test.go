package workspace

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
		for in := range input(len(inputNames)) {
			to := state(s).next(in)
			switch {
			case to == ready && in != no && in != broken && in != without && in != request && state(s) != passed:
				t.Errorf("%s by %s is sent again without a refusal, or a change or request that shows that it is not there", stateNames[s], inputNames[in])
			case to == landed && state(s) == sent:
				t.Errorf("sent by %s has landed though the document never had it", inputNames[in])
			case in == complete && to != seen && to != landed, in == elsewhere && to != strayed && to != misplaced:
				t.Errorf("%s by %s is %s", stateNames[s], inputNames[in], stateNames[to])
			case state(s) == held && in == timeUp && to != held:
				t.Errorf("held by the time alone is %s", stateNames[to])
			}
		}
	}
	for s := ready; s <= unknown; s++ {
		for in := range input(len(inputNames)) {
			if s.next(in) != s {
				t.Errorf("%s goes on to %s", stateNames[s], stateNames[s.next(in)])
			}
		}
	}
}
