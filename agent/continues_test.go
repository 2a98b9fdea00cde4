package agent

import (
	"testing"
	"time"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// TestFaultV10WhoseCommandsContinue: those of a turn, in a session that a person's client has open, where no layer of the configuration
// names a time for commands.
func TestFaultV10WhoseCommandsContinue(t *testing.T) {
	for _, c := range []struct {
		attended, timed bool
		turn            int
		want            bool
	}{{true, false, 1, true}, {true, false, 0, false}, {true, true, 1, false}, {false, false, 1, false}} {
		s := session(t, &client{}, opener{"main": play(t, "")}, func(o *setup) {
			o.Attended, o.Tools = c.attended, func() *tools.Set { return toolstest.SetOf(builtin.Tools()...) }
		})
		s.Configure(Settings{Config: s.config(), Models: s.models.opener, CommandTimeSet: c.timed})
		env := s.env(c.turn, run.Call{ID: "x"}, s.Tools)
		if env.Commands.Continues != c.want || env.Limits.JobTime != time.Hour || env.Commands.Jobs == nil {
			t.Errorf("%+v: %v, %v", c, env.Commands.Continues, env.Limits.JobTime)
		}
	}
}
