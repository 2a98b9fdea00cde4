package run

import (
	"context"
	"fmt"
	"slices"

	"tandem/sandbox"
	"tandem/tools"
)

// judgedRunner runs the commands that were judged, and no other.
type judgedRunner struct {
	sandbox.Runner
	c *call
}

// Start starts cmd where the call's needs name it, in the folder and with the profile that they name.
func (r *judgedRunner) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	judged := func(n tools.Need) bool {
		return n.Act == tools.Runs && slices.Equal(n.Argv, cmd.Argv) && cmd.Dir != nil && n.Place.Path() == cmd.Dir.Path() && n.Profile == cmd.Profile
	}
	if r.c.plan == nil || !slices.ContainsFunc(r.c.plan.Needs, judged) {
		err := fmt.Errorf("a fault of the tool %s: it is not the command that was judged", r.c.tool.Spec().Name)
		r.c.log(err)
		return nil, err
	}
	return r.Runner.Start(ctx, cmd)
}
