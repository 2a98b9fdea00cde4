package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// lead is a figure that guards what the project is ahead by: start, memory, a command, and a read
// late in a session. It is a ratio to what was measured beside it, so it belongs to no machine.
type lead struct {
	Figure string  `json:"figure"`
	Beside string  `json:"beside"`
	Ratio  float64 `json:"ratio"`
	Reason string  `json:"reason"` // why the ratio was written anew
}

// lostLead is by how much a ratio may be worse than the one that is kept.
const lostLead = 1.2

// checkLead compares what was measured with the ratios in a file. An error names those that are
// lost, and figures that were not measured.
func (b *bench) checkLead(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all []lead
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var lost []string
	for _, l := range all {
		ours, ok1 := b.value(l.Figure)
		other, ok2 := b.value(l.Beside)
		switch {
		case !ok1 || !ok2 || other == 0:
			lost = append(lost, fmt.Sprintf("%s or %s was not measured", l.Figure, l.Beside))
		case ours/other > l.Ratio*lostLead:
			lost = append(lost, fmt.Sprintf("%s is %s of %s, and was %s", l.Figure, times(ours/other), l.Beside, times(l.Ratio)))
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("the lead is lost:\n%s", strings.Join(lost, "\n"))
	}
	return nil
}
