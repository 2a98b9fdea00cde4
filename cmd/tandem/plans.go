package main

import (
	"context"
	"errors"
	"fmt"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
	"tandem/lspserver/terminal"
)

type plansCmd struct {
	Approve bool     `help:"Make the changes."`
	Discard bool     `help:"Drop them."`
	IDs     []string `arg:"" optional:"" name:"plan" help:"Only these, such as plan_1."`
	Cwd     string   `help:"Folder of the session." default:"." type:"existingdir"`
}

// Run lists what plan mode has queued in the folder's most recent session, or approves or discards
// it.
func (r *plansCmd) Run(ctx context.Context, c *cli) error {
	if r.Approve && r.Discard {
		return errors.New("--approve and --discard exclude each other")
	}
	p := terminal.NewPrinter(terminal.Stdout(), terminal.Stderr(), terminal.Controlling())
	cl, session, err := c.dial(ctx, dialOptions{folder: r.Cwd, storeSession: true, resumeLast: true}, p)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	switch id := session.SessionID; {
	case r.Approve:
		return r.approve(ctx, cl, id)
	case r.Discard:
		return cl.Call(ctx, "tandem/plan/discard", protocol.DiscardPlansParams{SessionID: id, PlanIDs: r.IDs}, nil)
	}
	var list protocol.PlansResult
	if err := cl.Call(ctx, "tandem/plan/list", protocol.PlansParams{SessionID: session.SessionID}, &list); err != nil {
		return err
	}
	for _, plan := range list.Plans {
		fmt.Fprintf(terminal.Stdout(), "%s  %s  %s\n", plan.PlanID, plan.State, terminal.OneLine(plan.Title))
		for _, file := range plan.Diff {
			fmt.Fprint(terminal.Stdout(), file.Unified)
		}
	}
	if len(list.Plans) == 0 {
		fmt.Fprintln(terminal.Stderr(), "no change is planned")
	}
	return nil
}

func (r *plansCmd) approve(ctx context.Context, cl *client.Client, session string) error {
	var done protocol.ApproveResult
	params := protocol.ApproveParams{SessionID: session, PlanIDs: r.IDs}
	if err := cl.Call(context.WithoutCancel(ctx), "tandem/plan/approve", params, &done); err != nil {
		return err
	}
	failed := false
	for _, d := range done.Results {
		fmt.Fprintln(terminal.Stdout(), terminal.OneLine(d.Result.Data))
		failed = failed || !d.Result.Success
	}
	if failed {
		return exitCodeError(1)
	}
	return nil
}
