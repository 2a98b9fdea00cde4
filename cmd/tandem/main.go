// Command tandem is an agent backend for editors: flags and wiring, nothing else.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"tandem/cmd/commandline"
	"tandem/lspserver/terminal"
	"tandem/sandbox"
)

// version is set by the linker for a release.
var version = "0.1.0-dev"

// cli is the command line.
type cli struct {
	Stdio bool   `help:"Serve an editor over standard input and output (like 'serve --stdio')."`
	Model string `help:"Model: provider/model, or script:/path for a model script." env:"TANDEM_MODEL" placeholder:"NAME"`
	Mode  string `help:"Permission mode: readOnly, plan, ask, acceptEdits or auto." placeholder:"MODE" enum:",readOnly,plan,ask,acceptEdits,auto" default:""`

	Serve       serveCmd       `cmd:"" help:"Run the LSP server for an editor."`
	Acp         acpCmd         `cmd:"" help:"Run the server of the Agent Client Protocol for an editor."`
	Run         runCmd         `cmd:"" help:"Run one prompt in a folder and print the answer."`
	Plans       plansCmd       `cmd:"" help:"List what plan mode has queued, and approve or discard it."`
	Init        initCmd        `cmd:"" help:"Write a starter configuration."`
	Doctor      doctorCmd      `cmd:"" help:"Check the setup and say how to fix what is missing or wrong."`
	Config      configCmd      `cmd:"" help:"Show the configuration and where each value was set."`
	Tool        toolCmd        `cmd:"" help:"List the tools, or call one."`
	Session     sessionCmd     `cmd:"" help:"List, print, export or delete stored sessions."`
	Permissions permissionsCmd `cmd:"" help:"List the permission rules, or remove saved ones."`

	Quarantine quarantineCmd `cmd:"" help:"List or restore quarantined files: files made by the agent's commands that would run later."`

	Audit   auditCmd   `cmd:"" help:"List the recorded tool calls, or verify the record."`
	Demo    demoCmd    `cmd:"" help:"Show an edit landing while somebody types into the same file."`
	Version versionCmd `cmd:"" help:"Print the version."`

	Conformance conformanceCmd `cmd:"" help:"Test how a client applies and confirms edits."`
}

func main() {
	// If the editor has exited, a write fails with EPIPE, which shuts the server down in order,
	// with its commands. SIGPIPE would kill it.
	signal.Ignore(syscall.SIGPIPE)
	sandbox.Conceal()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := start(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// helpColumns is the width of the help: one column less than that of a terminal of 80, some of
// which break a line that fills the last one.
const helpColumns = 79

// start runs the command of args and returns its exit code.
func start(ctx context.Context, args []string) int {
	var c cli
	if c.fillFromPlainArgs(args, os.LookupEnv) {
		return exitStatus(serveCmd{}.Run(ctx, &c))
	}
	program := commandline.Program{
		Name: "tandem", Version: version,
		About: "A coding agent that edits files while you type in them. It reads your unsaved text, and nothing you type " +
			"is lost.\n\nEditors start 'tandem --stdio'. To try it without an editor, run 'tandem demo' or 'tandem run \"...\"'. " +
			"To set up a model, run 'tandem init', then 'tandem doctor'.",
		Columns: helpColumns, Getenv: os.LookupEnv,
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case hasOnlyFlags(args) && hasFlag(args, "--stdio"):
		args = append([]string{"serve"}, args...)
	}
	parsed, err := program.Parse(&c, args)
	if err != nil {
		fmt.Fprintf(terminal.Stderr(), "tandem: %v\nTry 'tandem --help'.\n", err)
		return 2
	}
	if parsed.Command == nil {
		fmt.Fprint(terminal.Stdout(), parsed.Text)
		return 0
	}
	return exitStatus(runCommand(ctx, &c, parsed.Command))
}

// runCommand runs a command of c.
func runCommand(ctx context.Context, c *cli, command any) error {
	switch command := command.(type) {
	case interface {
		Run(ctx context.Context, c *cli) error
	}:
		return command.Run(ctx, c)
	case interface {
		Run(ctx context.Context) error
	}:
		return command.Run(ctx)
	case interface{ Run(c *cli) error }:
		return command.Run(c)
	case interface{ Run() error }:
		return command.Run()
	}
	return fmt.Errorf("%T cannot be run", command)
}

// exitStatus prints the error of a command and returns its exit code.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitCodeError](err); ok {
		return int(code)
	}
	fmt.Fprintln(terminal.Stderr(), "tandem:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

// exitCodeError sets the exit code without a message: the command has printed one.
type exitCodeError int

func (e exitCodeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// hasOnlyFlags reports whether args contain no command. The value of a flag follows "=" or is the
// next word.
func hasOnlyFlags(args []string) bool {
	for i, a := range args {
		if a[:min(1, len(a))] != "-" && (i == 0 || args[i-1] != "--model" && args[i-1] != "--mode" && args[i-1] != "--trace") {
			return false
		}
	}
	return true
}

func hasFlag(args []string, flag string) bool {
	return slices.Contains(args, flag)
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println("tandem", version)
	return nil
}
