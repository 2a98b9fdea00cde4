package main

import (
	"context"
	"fmt"
	"io"
	"regexp"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/conformance"
	"tandem/lspserver/terminal"
	"tandem/sandbox"
	"tandem/tools/builtin"
)

type conformanceCmd struct {
	Client  string `help:"Client to test, such as fake:strict." placeholder:"NAME"`
	List    bool   `help:"List the checks."`
	Only    string `name:"run" help:"Run only the checks whose names match REGEXP." placeholder:"REGEXP"`
	JSON    bool   `name:"json" help:"Print JSON."`
	Verbose bool   `short:"v" help:"Also print the messages between client and server."`
}

// Help is shown behind the flags.
func (conformanceCmd) Help() string {
	return "Plays editing scenarios against a real server in this process and prints one row for each check: what the client " +
		"did, and how Tandem handled it. Exit code 0: the client does all that it declared; 1: it does not; 2: wrong usage.\n\n" + conformance.ClientHelp()
}

// Run tests the client and prints the results.
func (c *conformanceCmd) Run(ctx context.Context) error {
	only, err := regexp.Compile(c.Only)
	if err != nil {
		return usageError(fmt.Sprintf("--run: %v", err))
	}
	if c.List {
		return listChecks(terminal.Stdout(), only, c.JSON)
	}
	if c.Client == "" {
		return usageError("conformance needs --client.\n\n" + conformance.ClientHelp())
	}
	client, err := conformance.ParseClient(c.Client)
	if err != nil {
		return usageError(err.Error() + ".\n\n" + conformance.ClientHelp())
	}
	found, err := client.Examine(ctx, only, serveScenario)
	if err != nil {
		return err
	}
	if len(found.Rows) == 0 {
		return usageError(fmt.Sprintf("--run: no check matches %q; 'tandem conformance --list' lists them", c.Only))
	}
	if c.JSON {
		err = terminal.PrintJSON(found)
	} else {
		err = found.Print(terminal.Stdout(), c.Verbose)
	}
	if err == nil && found.Not > 0 {
		return exitCodeError(1)
	}
	return err
}

// serveScenario runs the server with the model and the commands of a scenario, and without the
// user's settings.
func serveScenario(ctx context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, own []byte) int {
	return lspserver.Serve(ctx, rwc, lspserver.Options{Version: version, Options: backend.Options{
		Inputs: config.Inputs{Flags: own}, Tools: builtin.Tools(), Runner: runner,
		Opener: func(config.Config, model.Lend) model.Opener { return models },
	}})
}

func listChecks(w io.Writer, only *regexp.Regexp, asJSON bool) error {
	checks := []conformance.Finding{}
	for _, f := range conformance.Checks() {
		if only.MatchString(f.Name) {
			checks = append(checks, f)
		}
	}
	if asJSON {
		return terminal.PrintJSON(checks)
	}
	for _, f := range checks {
		if _, err := fmt.Fprintf(w, "%-18s%s\n", f.Name, f.What); err != nil {
			return err
		}
	}
	return nil
}
