package main

import (
	"fmt"
	"path/filepath"
	"time"

	"tandem/lspserver/state"
	"tandem/lspserver/terminal"
	"tandem/sandbox/effects/autorun"
)

type quarantineCmd struct {
	List    quarantineListCmd    `cmd:"" help:"List the quarantined files, newest last."`
	Restore quarantineRestoreCmd `cmd:"" help:"Move quarantined files back to their folder."`
}

type quarantineListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *cli) quarantine() *autorun.Quarantine {
	return &autorun.Quarantine{Dir: state.Quarantine(c.settings()), Now: time.Now}
}

// Run lists the quarantined files.
func (l *quarantineListCmd) Run(c *cli) error {
	q := c.quarantine()
	all, err := q.List()
	if err != nil {
		return err
	}
	if l.JSON {
		return terminal.PrintJSON(append([]autorun.Quarantined{}, all...))
	}
	for _, t := range all {
		fmt.Fprintf(terminal.Stdout(), "%s  %s  (session %s, content in %s)\n", t.ID, terminal.OneLine(filepath.Join(t.Root, t.Path)),
			terminal.OneLine(t.Session), terminal.OneLine(filepath.Join(q.Dir, t.ID)))
	}
	if len(all) == 0 {
		fmt.Fprintln(terminal.Stderr(), "the quarantine is empty")
	}
	return nil
}

type quarantineRestoreCmd struct {
	ID []string `arg:"" name:"id" help:"ID of a file, from 'quarantine list'."`
}

// Run restores files.
func (r *quarantineRestoreCmd) Run(c *cli) error {
	for _, id := range r.ID {
		t, err := c.quarantine().Restore(id)
		if err != nil {
			return err
		}
		fmt.Fprintln(terminal.Stdout(), terminal.OneLine(filepath.Join(t.Root, t.Path)))
	}
	return nil
}
