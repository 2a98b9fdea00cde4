// Package bash is the tool bash: a command line, run by the shell.
package bash

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/schema"
)

//go:embed bash.md
var description string

// maxOutput is what is kept of each stream.
const maxOutput = 256 << 10

type input struct {
	Command     string   `json:"command" desc:"The command line." minlen:"1" alias:"cmd,script" nocoerce:"true"`
	TimeoutMS   *int     `json:"timeout_ms" desc:"Time limit in milliseconds, 0 for none." absent:"30000" min:"0" max:"600000"`
	Timeout     *float64 `json:"timeout" desc:"Time limit in seconds, instead of timeout_ms." above:"0" max:"600"`
	Cwd         string   `json:"cwd,omitempty" desc:"The directory to run in; the session's where absent." alias:"workdir" nocoerce:"true"`
	Description string   `json:"description,omitempty" desc:"What the command is for, in a few words, for the user."`
}

type value struct {
	ExitCode int    `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	TimedOut bool   `json:"timedOut"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "bash", Aliases: []string{"shell", "execute"}, Kind: tools.Execute, Category: "shell",
			Description: strings.TrimSpace(description), Danger: tools.Moderate, Class: tools.ClassExecute,
			Together: tools.Alone, Source: "builtin", NoTimeout: true,
		},
		Title: title,
		Needs: needs,
		Plan:  plan,
	})
}

func (in input) dir() string {
	if in.Cwd == "" {
		return "."
	}
	return in.Cwd
}

func title(in input) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(in.Command), "\n")
	if r := []rune(line); len(r) > 80 {
		line, rest = string(r[:80]), "…"
	}
	if rest != "" {
		line += " …"
	}
	return "$ " + line
}

// argv is the command. Its last word is what the shell calls itself in its messages.
func (in input) argv(env *tools.Env) ([]string, error) {
	shell, err := env.Runner.Find("bash", sandbox.Surroundings{})
	if err != nil {
		return nil, &tools.Refusal{Result: notStarted(err)}
	}
	return []string{shell, "-c", in.Command, "bash"}, nil
}

func needs(env *tools.Env, in input) ([]tools.Need, error) {
	dir, err := env.Paths.Readable(in.dir())
	if err != nil {
		return nil, err
	}
	argv, err := in.argv(env)
	if err != nil {
		return nil, err
	}
	return []tools.Need{{
		Act: tools.Runs, Place: dir, Argv: argv, Profile: sandbox.Unconfined, Confined: env.Runner.Level().Name != "none",
	}}, nil
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return nil, invalid("$.command", "length >= 1", "command must be a command line without NUL bytes")
	}
	timeout, err := in.timeout(env)
	if err != nil {
		return nil, err
	}
	place, err := env.Paths.Readable(in.dir())
	if err != nil {
		return nil, err
	}
	dir := place.Path()
	judged, err := place.Stat()
	if err != nil || !judged.IsDir() {
		return nil, notThere(env, dir, judged)
	}
	argv, err := in.argv(env)
	if err != nil {
		return nil, err
	}
	return &tools.Plan{
		Title: title(in), Kind: tools.Execute, Danger: danger(in.Command), Semantic: "write",
		Run: func(ctx context.Context) (tools.Result, error) {
			folder, err := place.Enter(judged)
			if err != nil {
				return notStarted(err), nil
			}
			defer folder.Close()
			return run(ctx, env, in, argv, folder, timeout)
		},
	}, nil
}

func notThere(env *tools.Env, dir string, info fs.FileInfo) error {
	if info == nil {
		return tools.Refuse(filetime.ReadError, "enoent", "There is no directory %s to run in (ENOENT). Nothing was run.",
			env.Name(dir))
	}
	return tools.Refuse(filetime.ReadError, "not_directory", "%s is no directory to run in. Nothing was run.",
		env.Name(dir))
}

func (in input) timeout(env *tools.Env) (time.Duration, error) {
	switch {
	case in.Timeout != nil && in.TimeoutMS != nil:
		return 0, invalid("$.timeout", "absent", "timeout (seconds) and timeout_ms are the same limit: give one of them")
	case in.Timeout != nil:
		return time.Duration(*in.Timeout * float64(time.Second)), nil
	case in.TimeoutMS != nil:
		return time.Duration(*in.TimeoutMS) * time.Millisecond, nil
	}
	return env.Limits.BashTimeout, nil
}

func invalid(path, expected, message string) error {
	r := tools.Fail(tools.InvalidArgs, "", "Parameter validation failed:\n%s", message)
	pointer := strings.ReplaceAll(path[1:], ".", "/")
	r.Issues = []schema.Issue{{Path: path, Pointer: pointer, Expected: expected, Received: "present", Message: message}}
	return &tools.Refusal{Result: r}
}

func run(ctx context.Context, env *tools.Env, in input, argv []string, dir *sandbox.Folder, timeout time.Duration) (tools.Result, error) {
	news := reporter{env: env}
	o, err := sandbox.Run(ctx, env.Runner, sandbox.Command{
		Argv: argv, Dir: dir, Profile: sandbox.Unconfined, Timeout: timeout,
		Grace: env.Limits.KillGrace, MaxOutput: maxOutput, Output: news.output,
	})
	if err != nil {
		return notStarted(err), nil
	}
	news.flush()
	return answer(title(in), o, timeout), nil
}

func notStarted(err error) tools.Result {
	return tools.Fail(tools.ExecutionError, "not_started", "The command was not run: %v.", err)
}

// answer words how a command ended: its outputs under their names, what became of its background processes, then the
// exit code.
func answer(title string, o sandbox.Outcome, timeout time.Duration) tools.Result {
	r := tools.Result{
		Value: &value{
			ExitCode: o.ExitCode, Stdout: clean(o.StdoutGap.Mark(o.Stdout)), Stderr: clean(o.StderrGap.Mark(o.Stderr)), TimedOut: o.TimedOut,
		},
		Truncated: o.StdoutGap.Bytes+o.StderrGap.Bytes > 0,
	}
	var data strings.Builder
	for _, s := range []struct {
		name, text string
		gap        sandbox.Gap
	}{{"stdout", o.Stdout, o.StdoutGap}, {"stderr", o.Stderr, o.StderrGap}} {
		head, tail := clean(s.text[:s.gap.At]), strings.TrimRight(clean(s.text[s.gap.At:]), "\n")
		if strings.TrimSpace(head+tail) == "" {
			continue
		}
		data.WriteString(s.name + ":\n" + head)
		if s.gap.Chars > 0 {
			r.Gaps = append(r.Gaps, tools.Gap{At: data.Len(), Lost: s.gap.Chars})
		}
		data.WriteString(tail + "\n")
	}
	parts := leftovers(o)
	switch {
	case o.TimedOut:
		r.Error, r.Reason = filetime.Timeout, "timeout"
		took := timeout
		if took == 0 || o.Duration < timeout {
			took = o.Duration
		}
		parts = append(parts, fmt.Sprintf("Command timed out after %s", seconds(took)), "[Exit code: -1]")
	case o.Cancelled:
		r.Error, r.Reason = filetime.Cancelled, "cancelled"
		parts = append(parts, "The command was cancelled before its end.", "[Exit code: -1]")
	case o.ExitCode != 0:
		r.Error = tools.ExitCode(o.ExitCode)
		if data.Len() == 0 {
			parts = append(parts, "(no output)")
		}
		parts = append(parts, fmt.Sprintf("[Exit code: %d]", o.ExitCode))
	default:
		r.Success = true
		if data.Len() == 0 {
			parts = append(parts, "(no output)")
		}
		parts = append(parts, "exit code: 0")
	}
	if r.Success {
		r.Summary = title
	}
	r.Data = data.String() + strings.Join(parts, "\n")
	return r
}

// leftovers says what became of processes that a command did not wait for.
func leftovers(o sandbox.Outcome) (said []string) {
	if n := o.Background - o.Left; n > 0 {
		said = append(said, plural(n, "background process of the command was", "background processes of the command were")+" ended with it.")
	}
	if n := o.Left; n > 0 {
		said = append(said, plural(n, "process of the command", "processes of the command")+" could not be ended.")
	}
	return said
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func seconds(d time.Duration) string {
	s := strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0")
	if s == "1" {
		return "1 second"
	}
	return s + " seconds"
}
