// Command tandem is an agent backend for editors: flags and wiring, nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"tandem/lspserver/terminal"
	"tandem/sandbox"
)

// version is set by the linker for a release.
var version = "0.1.0-dev"

// cli is the command line.
type cli struct {
	Stdio bool   `help:"Answer an editor on standard input and output (the same as 'serve --stdio')."`
	Model string `help:"Model as provider/model, or script:/path for a model script." env:"TANDEM_MODEL" placeholder:"NAME"`
	Mode  string `help:"What may be done without asking: readOnly, plan, ask, acceptEdits or auto." placeholder:"MODE" enum:",readOnly,plan,ask,acceptEdits,auto" default:""`

	Serve       serveCmd       `cmd:"" help:"Answer an editor."`
	Acp         acpCmd         `cmd:"" help:"Answer an editor that drives agents by the Agent Client Protocol, on standard input and output."`
	Run         runCmd         `cmd:"" help:"Run one prompt in a folder and print what happens."`
	Init        initCmd        `cmd:"" help:"Write a configuration to begin with."`
	Doctor      doctorCmd      `cmd:"" help:"Find out what is missing or wrong here, and what to do about it."`
	Config      configCmd      `cmd:"" help:"Show the configuration, and where each value was set."`
	Tool        toolCmd        `cmd:"" help:"List the tools, or call one."`
	Session     sessionCmd     `cmd:"" help:"Look at the sessions that are kept, or forget them."`
	Permissions permissionsCmd `cmd:"" help:"List the rules about what the agent may do, or take one back."`

	Quarantine quarantineCmd `cmd:"" help:"Look at what commands of the agent made that would be executed later, and put it back."`

	Audit   auditCmd   `cmd:"" help:"Look at what is recorded of tool calls, and verify it."`
	Demo    demoCmd    `cmd:"" help:"Watch an edit land while somebody types into the same file."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Conformance conformanceCmd `cmd:"" help:"Examine a client: what it makes of edits, and what becomes of them."`
}

func main() {
	// An editor that is gone shows as a failing write, which ends the server in order, its commands included.
	signal.Ignore(syscall.SIGPIPE)
	sandbox.Conceal()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := start(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// start runs the command that args name and gives its exit code.
func start(ctx context.Context, args []string) int {
	var c cli
	if c.plain(args, os.LookupEnv) {
		return ended(serveCmd{}.Run(ctx, &c))
	}
	parser, err := kong.New(&c,
		kong.Name("tandem"),
		kong.Description("An agent that edits beside you: it knows your unsaved text, and nothing you type is lost.\n\n"+
			"Editors start 'tandem --stdio'. Without one, try 'tandem demo' or 'tandem run \"...\"'. For a model of your own "+
			"begin with 'tandem init' and 'tandem doctor'."),
		kong.UsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&c),
	)
	if err != nil {
		fmt.Fprintln(terminal.Stderr(), "tandem:", err)
		return 2
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case onlyFlags(args) && has(args, "--stdio"):
		args = append([]string{"serve"}, args...)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(terminal.Stderr(), "tandem: %v\nTry 'tandem --help'.\n", err)
		return 2
	}
	return ended(parsed.Run())
}

// ended gives the exit code for what a command ended with, and tells of it.
func ended(err error) int {
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(terminal.Stderr(), "tandem:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// exitCode is an end that has been explained already.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// onlyFlags says that args name no command. Flags with values are written with "=" by editors, or follow as a word.
func onlyFlags(args []string) bool {
	for i, a := range args {
		if a[:min(1, len(a))] != "-" && (i == 0 || args[i-1] != "--model" && args[i-1] != "--mode" && args[i-1] != "--trace") {
			return false
		}
	}
	return true
}

func has(args []string, flag string) bool {
	for _, a := range args {
		if a == flag {
			return true
		}
	}
	return false
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println("tandem", version)
	return nil
}
