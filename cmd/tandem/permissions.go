package main

import (
	"context"
	"fmt"
	"io"

	"tandem/lspserver/protocol"
	"tandem/lspserver/terminal"
)

type permissionsCmd struct {
	List   permissionsListCmd   `cmd:"" help:"List the permission rules of a folder, strictest first."`
	Remove permissionsRemoveCmd `cmd:"" help:"Remove rules that were saved from an answer."`
}

type permissionsListCmd struct {
	Cwd  string `help:"Folder to work in." default:"." type:"existingdir"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run lists the rules.
func (p *permissionsListCmd) Run(ctx context.Context, c *cli) error {
	rules, err := c.rules(ctx, p.Cwd, nil)
	if err != nil {
		return err
	}
	if p.JSON {
		return terminal.PrintJSON(rules)
	}
	for _, r := range rules.Rules {
		where := r.Workspace
		if where == "" {
			where = "everywhere"
		}
		id := r.ID
		if !r.Removable {
			id = "-"
		}
		fmt.Fprintf(terminal.Stdout(), "%-11s  %-5s  %s  (%s, %s)\n", id, r.Effect, terminal.OneLine(r.Text), terminal.OneLine(where), terminal.OneLine(r.Source))
	}
	if len(rules.Rules) == 0 {
		fmt.Fprintln(terminal.Stderr(), "no rules")
	}
	return nil
}

type permissionsRemoveCmd struct {
	ID  []string `arg:"" name:"id" help:"Rule ID, from 'permissions list'."`
	Cwd string   `help:"Folder to work in." default:"." type:"existingdir"`
}

// Run removes rules.
func (p *permissionsRemoveCmd) Run(ctx context.Context, c *cli) error {
	_, err := c.rules(ctx, p.Cwd, p.ID)
	return err
}

// rules removes rules, if any are named, and returns the remaining ones.
func (c *cli) rules(ctx context.Context, folder string, remove []string) (r protocol.RulesResult, err error) {
	cl, session, err := c.dial(ctx, dialOptions{folder: folder}, terminal.NewPrinter(io.Discard, terminal.Stderr(), nil))
	if err != nil {
		return r, err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	if len(remove) == 0 {
		err = cl.Call(ctx, "tandem/permissions/list", protocol.ListRulesParams{SessionID: session.SessionID}, &r)
	} else {
		err = cl.Call(ctx, "tandem/permissions/set", protocol.SetRulesParams{Scope: "user", SessionID: session.SessionID, Remove: remove}, &r)
	}
	return r, err
}
