// Command live is an end-to-end evaluation with a real model: it runs small tasks against the built
// program and reports which succeeded, which calls were refused, and their cost. It measures how
// well a model understands the tools' descriptions and errors.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tandem/agent/model/registry"
	"tandem/agent/model/script"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// noModel is the message if no model is configured.
const noModel = "no real model is chosen: set ANTHROPIC_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY or OPENROUTER_API_KEY to a key " +
	"(the tasks cost what the model costs), or TANDEM_MODEL to a model of a service on this machine, as in TANDEM_MODEL=ollama/NAME"

// run returns the exit code: 0 if all tasks ran, successful or not; 2 without a model or for wrong
// flags; 1 for other errors.
func run(ctx context.Context, args, environ []string, out, log io.Writer) int {
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	flags.SetOutput(log)
	only := flags.String("only", "", "try only the tasks whose names match `regexp`")
	program := flags.String("program", "", "try the server in `file`, not one that is built for it")
	limit := flags.Duration("limit", 5*time.Minute, "give up a task after this `time`")
	if flags.Parse(args) != nil {
		return 2
	}
	fail := func(code int, err error) int {
		fmt.Fprintln(log, "live:", err)
		return code
	}
	wanted, err := regexp.Compile(*only)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("there are no arguments, only flags: %q", flags.Args())
	}
	if err != nil {
		return fail(2, err)
	}
	name, err := choose(ctx, environ)
	if err != nil {
		return fail(2, err)
	}
	all, err := tasks()
	if err != nil {
		return fail(1, err)
	}
	if all = slices.DeleteFunc(all, func(t task) bool { return !wanted.MatchString(t.name) }); len(all) == 0 {
		return fail(2, fmt.Errorf("no task has a name that matches %s", *only))
	}
	dir, err := os.MkdirTemp("", "tandem-live-")
	if err != nil {
		return fail(1, err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fail(1, err)
	}
	l := &live{dir: dir, program: *program, model: name, environ: environ, limit: *limit, log: slog.New(slog.DiscardHandler)}
	if l.program == "" {
		l.program = filepath.Join(dir, "tandem")
		if err := build(ctx, l.program); err != nil {
			return fail(1, err)
		}
	}
	fmt.Fprintf(out, "%s, %s\n\n", name, time.Now().Format("2006-01-02"))
	var done []outcome
	for _, t := range all {
		fmt.Fprintf(log, "%s …", t.name)
		o, tried := l.try(ctx, t)
		if ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		fmt.Fprintf(log, " %.0f s\n", o.took.Seconds())
		done, err = append(done, o), errors.Join(err, tried)
	}
	fmt.Fprint(out, report(done))
	if err != nil {
		return fail(1, err)
	}
	return 0
}

// choose returns the model that the environment selects, after a check that its service is
// reachable and accepts the key.
func choose(ctx context.Context, environ []string) (string, error) {
	r := &registry.Registry{Getenv: func(name string) string {
		value := ""
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		return value
	}}
	name := r.Getenv("TANDEM_MODEL")
	if name == "" {
		hosted, _ := r.Choices()
		if len(hosted) == 0 || hosted[0].Local {
			return "", errors.New(noModel)
		}
		name = hosted[0].Model
	}
	if name == script.EmbeddedName || name == "editor" || strings.HasPrefix(name, "editor/") {
		return "", fmt.Errorf("TANDEM_MODEL is %s, which cannot do tasks here: %s", name, noModel)
	}
	_, err := r.Check(ctx, name)
	return name, err
}

// build makes the server.
func build(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, "tandem/cmd/tandem")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}
