package main

import (
	"errors"
	"fmt"
	"time"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/lspserver/state"
	"tandem/lspserver/terminal"
)

type auditCmd struct {
	List   auditListCmd   `cmd:"" help:"List the tool calls that are recorded, the last one at the end."`
	Verify auditVerifyCmd `cmd:"" help:"Find out whether the records are as they were written. Exit code 1: they are not."`
}

type auditListCmd struct {
	Session string    `help:"Only those of the session, also where it was deleted; its whole name." placeholder:"ID"`
	Since   state.Age `help:"Only those that began within so long, such as 90d or 36h." placeholder:"TIME"`
	Limit   int       `help:"How many of the newest." default:"100"`
	JSON    bool      `name:"json" help:"Print them as JSON."`
}

// Run lists the calls.
func (l *auditListCmd) Run(c *cli) error {
	q := agent.AuditQuery{Session: l.Session, Limit: l.Limit}
	if l.Since > 0 {
		q.Since = time.Now().Add(-time.Duration(l.Since))
	}
	return c.withStore(func(st store.Store) error {
		found, err := agent.ReadAudit(st, q)
		if err != nil {
			return err
		}
		if l.JSON {
			return terminal.PrintJSON(append([]agent.Audited{}, found...))
		}
		for _, a := range found {
			decision, how := "deny ", a.Error
			if a.Allowed {
				decision = "allow"
			}
			switch {
			case a.Pending:
				how = "(no end is recorded)"
			case how == "":
				how = "ok"
			}
			fmt.Fprintf(terminal.Stdout(), "%s  %s  %s  %s  %s %s  %s  %s\n", a.Time.Format("2006-01-02 15:04:05"), terminal.OneLine(a.Session), decision,
				terminal.OneLine(a.Tool), terminal.OneLine(a.Layer), terminal.OneLine(a.Rule), terminal.OneLine(how), terminal.OneLine(string(a.Args)))
		}
		if len(found) == 0 {
			fmt.Fprintln(terminal.Stderr(), "no calls are recorded")
		}
		return nil
	})
}

type auditVerifyCmd struct{}

// Run verifies the chain.
func (auditVerifyCmd) Run(c *cli) error {
	return c.withStore(func(st store.Store) error {
		s, err := st.VerifyAudit()
		var found *store.TamperedError
		switch {
		case errors.As(err, &found):
			return fmt.Errorf("%w; %d records before it are as they were written", err, s.Records)
		case err != nil:
			return err
		case s.Records == 0:
			fmt.Fprintln(terminal.Stdout(), "no calls are recorded")
			return nil
		}
		fmt.Fprintf(terminal.Stdout(), "%d records are as they were written, from %d on; the newest hash is %s\n", s.Records, s.First, s.Head)
		return nil
	})
}
