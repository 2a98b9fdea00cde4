package sandbox

import (
	"testing"
	"time"
)

// A trial that is not over in time, as on a system that is very busy, says nothing of the sandbox: it is done again at the next command.
func TestSlowTrialIsUndecided(t *testing.T) {
	for _, level := range []string{LevelFull, LevelPart} {
		for _, limit := range []time.Duration{0, time.Microsecond, 100 * time.Microsecond} {
			if err := try(level, limit); !undecided(err) {
				t.Errorf("level %s within %v: %v", level, limit, err)
			}
		}
	}
}
