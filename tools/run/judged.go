package run

import (
	"context"
	"fmt"
	"slices"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
)

type reader = func(context.Context, sandbox.Place) (filetime.Snapshot, error)

// judgedRead reads the files that the call's needs cover, and no other.
func (c *call) judgedRead(read reader) reader {
	return func(ctx context.Context, p sandbox.Place) (filetime.Snapshot, error) {
		if !slices.ContainsFunc(c.needs, func(n tools.Need) bool { return n.Covers(p) }) {
			return filetime.Snapshot{}, c.unjudged("file")
		}
		return read(ctx, p)
	}
}

// judgedRunner runs the commands that were judged, and no other.
type judgedRunner struct {
	sandbox.Runner
	c *call
}

// Level is none for a call whose command no sandbox could confine.
func (r *judgedRunner) Level() sandbox.Level {
	if r.c.tries.lost != "" {
		return sandbox.Level{Name: sandbox.LevelNone, Reason: r.c.tries.lost}
	}
	return r.Runner.Level()
}

// Start starts cmd where the call's needs name it, in the folder and with the profile that they name. Nothing may be asked for
// with it that needs do not tell.
func (r *judgedRunner) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	judged := func(n tools.Need) bool {
		return n.Act == tools.Runs && slices.Equal(n.Argv, cmd.Argv) && cmd.Dir != nil && n.Place.Path() == cmd.Dir.Path() && n.Profile == cmd.Profile &&
			slices.Equal(n.Ports, cmd.Ports)
	}
	input := cmd.Stdin != "" && cmd.Stdin != string(r.c.args.checked.Args) // those were judged
	more := cmd.Env != nil || cmd.Given != nil || input || cmd.Privileged || cmd.Leave || cmd.Keeps != ""
	if r.c.plan == nil || more || !slices.ContainsFunc(r.c.plan.Needs, judged) {
		return nil, r.c.unjudged("command")
	}
	return r.Runner.Start(ctx, cmd)
}

// unjudged is a fault of the tool, which is also logged: it asks for a file or a command that was not judged.
func (c *call) unjudged(what string) error {
	err := fmt.Errorf("a fault of the tool %s: it is not the %s that was judged", c.tool.Spec().Name, what)
	c.log(err)
	return err
}
