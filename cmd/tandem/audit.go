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
	List   auditListCmd   `cmd:"" help:"List the recorded tool calls, newest last."`
	Verify auditVerifyCmd `cmd:"" help:"Verify the hash chain of the records. Exit code 1: they were altered."`
}

type auditListCmd struct {
	Session string    `help:"Only calls of this session, even if it was deleted. Takes the full ID." placeholder:"ID"`
	Since   state.Age `help:"Only calls that began within the last TIME, such as 90d or 36h." placeholder:"TIME"`
	Limit   int       `help:"Maximum number of calls, counted from the newest." default:"100"`
	JSON    bool      `name:"json" help:"Print JSON."`
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
				how = "(no result recorded)"
			case how == "":
				how = "ok"
			}
			fmt.Fprintf(terminal.Stdout(), "%s  %s  %s  %s  %s %s  %s  %s\n", a.Time.Format("2006-01-02 15:04:05"), terminal.OneLine(a.Session), decision,
				terminal.OneLine(a.Tool), terminal.OneLine(a.Layer), terminal.OneLine(a.Rule), terminal.OneLine(how), terminal.OneLine(string(a.Args)))
		}
		if len(found) == 0 {
			fmt.Fprintln(terminal.Stderr(), "no calls recorded")
		}
		return nil
	})
}

type auditVerifyCmd struct{}

// Run verifies the hash chain.
func (auditVerifyCmd) Run(c *cli) error {
	return c.withStore(func(st store.Store) error {
		s, err := st.VerifyAudit()
		var found *store.TamperedError
		switch {
		case errors.As(err, &found):
			return fmt.Errorf("%w; the %d records before it are unaltered", err, s.Records)
		case err != nil:
			return err
		case s.Records == 0:
			fmt.Fprintln(terminal.Stdout(), "no calls recorded")
			return nil
		}
		fmt.Fprintf(terminal.Stdout(), "%d records are unaltered, from number %d on; newest hash: %s\n", s.Records, s.First, s.Head)
		return nil
	})
}
