package gate_test

import (
	"testing"
	"time"

	"tandem/tools"
	"tandem/tools/gate"
)

// TestClock asks the injected clock once for each call that is judged, however many needs and rules it has.
func TestClock(t *testing.T) {
	asked := 0
	p := gate.New(gate.Options{Mode: gate.ModeAsk, Cwd: "/w", Now: func() time.Time { asked++; return time.Unix(0, 0) }, Rules: []gate.Rule{
		{Effect: gate.Allow, Tool: "*", Turn: 3}, {Effect: gate.Deny, Tool: "other"}, {Effect: gate.Ask, Tool: "more"},
	}})
	for turn, want := range map[int]gate.Verdict{3: gate.Allow, 4: gate.Ask} {
		asked = 0
		d := p.Judge(gate.Call{Tool: edits, Needs: []tools.Need{{Act: tools.Edits}, {Act: tools.Edits}}, Turn: turn})
		if d.Verdict != want || asked != 1 {
			t.Errorf("turn %d: %s, the clock was asked %d times", turn, d.Verdict, asked)
		}
	}
}
