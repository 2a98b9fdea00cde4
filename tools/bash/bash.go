// Package bash is the tool bash, a command line that the shell runs, and the tools job_output and
// job_kill for those that go on in the background.
package bash

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/shell"
)

//go:embed bash.md
var description string

const (
	// maxOutput is how many bytes are kept of each stream, for a model to read on where the answer
	// was cut.
	maxOutput = 512 << 10
	// maxValue is how many bytes of each a program is given.
	maxValue = 256 << 10
)

type input struct {
	Command     string   `json:"command" desc:"The command line." minlen:"1" alias:"cmd,script" nocoerce:"true"`
	TimeoutMS   *int     `json:"timeout_ms,omitempty" desc:"At most 600000; 0 is no limit." absent:"30000" min:"0" max:"600000"`
	Timeout     *float64 `json:"timeout,omitempty" desc:"The same in seconds." above:"0" max:"600" shown:"false" unit:"it is in seconds; timeout_ms takes milliseconds"`
	Cwd         string   `json:"cwd,omitempty" desc:"Where to run." alias:"workdir,directory,dir_path,working_directory" nocoerce:"true"`
	Background  bool     `json:"background,omitempty" desc:"Go on as a job." alias:"run_in_background,is_background"`
	Ports       []int    `json:"ports,omitempty" desc:"A job's to open."`
	Interrupt   string   `json:"interrupt,omitempty" desc:"block: a cancel waits." enum:"cancel,block" absent:"cancel"`
	Description string   `json:"description,omitempty" desc:"Its purpose, briefly." shown:"false" alias:"justification,explanation"`
}

// continued is the value of a command that has become a job.
type continued struct {
	JobID   string `json:"jobId"`
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
	Sandbox string `json:"sandbox,omitempty"`
}

type value struct {
	ExitCode int    `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	TimedOut bool   `json:"timedOut"`
	// Sandbox is the level that the command ran at.
	Sandbox string `json:"sandbox,omitempty"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[input]{
		Spec: tools.Spec{
			Name: "bash", Aliases: []string{
				"shell", "execute", "execute_command", "exec_command", "local_shell", "run_command", "run_shell_command", "run_terminal_cmd", "run_in_terminal",
			}, Kind: tools.Execute, Category: "shell",
			Description: strings.TrimSpace(description), Danger: tools.Moderate, Class: tools.ClassExecute,
			Together: tools.Commands, Source: "builtin", NoTimeout: true, InputStreaming: true,
		},
		Title:   title,
		Subject: func(in input) string { return strings.TrimPrefix(line(in), "$ ") },
		Outcome: outcome,
		Needs:   needs,
		Plan:    plan,
	})
}

// outcome is how a command ended.
func outcome(r *tools.Result) string {
	switch v := r.Value.(type) {
	case *started:
		return v.JobID
	case *continued:
		return v.JobID
	case *value:
		if v.TimedOut {
			return "timed out"
		}
		return fmt.Sprintf("exit %d", v.ExitCode)
	}
	return ""
}

func (in input) dir() string {
	if in.Cwd == "" {
		return "."
	}
	return in.Cwd
}

// title is the line, and that it goes on after the call.
func title(in input) string {
	switch {
	case in.Background && len(in.Ports) > 0:
		return line(in) + " (in the background, open at " + tools.PortNames(in.Ports) + ")"
	case in.Background:
		return line(in) + " (in the background)"
	}
	return line(in)
}

func line(in input) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(in.Command), "\n")
	if r := []rune(line); len(r) > 80 {
		line, rest = string(r[:80]), "…"
	}
	if rest != "" {
		line += " …"
	}
	return "$ " + line
}

func needs(env *tools.Env, in input) ([]tools.Need, error) {
	dir, err := env.Paths.FolderName(in.dir())
	if err != nil {
		return nil, err
	}
	program, err := env.Commands.Runner.Find("bash", sandbox.Surroundings{})
	if err != nil {
		return nil, &tools.Refusal{Result: notStarted(err)}
	}
	keep := slices.DeleteFunc(slices.Concat([]string{env.Paths.Home}, env.Paths.Read, env.Paths.Write), func(p string) bool { return p == "" })
	parsed := shell.Parse(env.Judged.Waiting(), in.Command, dir.Path(), keep...)
	reads, why := operands(env, dir, parsed.Reads)
	if why != "" {
		parsed = parsed.Doubted(why)
	}
	if len(parsed.Removes) > 0 && madeAgain(env, parsed.Removes) {
		parsed.Danger = shell.Moderate
	}
	profile := sandbox.Unconfined
	switch confines := env.Commands.Runner.Level().Confines(); {
	case confines && parsed.ReadOnly && len(in.Ports) == 0: // else a program that a repository makes git run could write
		profile = sandbox.ReadOnly
	case confines:
		profile = env.Commands.Profile()
	}
	writes, err := targets(env, parsed.Writes)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]tools.Need{{
		Act: tools.Runs, Place: dir, Arg: "cwd", Argv: []string{program, "-c", in.Command, "bash"}, // the last word is its name in its messages
		Profile: profile, Confined: profile != sandbox.Unconfined,
		Shell: parsed, Keys: keysNamed(env, parsed.Named), Danger: tools.Danger(parsed.Danger.String()), Scripts: scripts(env, dir, parsed), Ports: in.Ports,
	}}, reads, writes), nil
}

func plan(_ context.Context, env *tools.Env, in input) (*tools.Plan, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return nil, tools.Misused("$.command", "length >= 1", "command is empty: give a command line")
	case strings.ContainsRune(in.Command, 0):
		return nil, tools.Misused("$.command", "no NUL bytes", "command must be a command line without NUL bytes")
	case len(in.Command) >= shell.MaxArgument:
		return nil, tools.Misused("$.command", fmt.Sprintf("at most %d bytes", shell.MaxArgument-1), fmt.Sprintf(
			"command has %d bytes, and a command line has at most %d: write it to a script file and run that",
			len(in.Command), shell.MaxArgument-1))
	}
	timeout, err := in.timeout(env)
	if err != nil {
		return nil, err
	}
	if err := in.checkPorts(env); err != nil {
		return nil, err
	}
	if in.Background && env.Commands.Jobs == nil {
		return nil, noJobs()
	}
	place, need := env.Place(), env.Needs[0]
	judged, err := place.Stat()
	if err != nil || !judged.IsDir() {
		return nil, notThere(env, place.Path(), judged)
	}
	args, err := in.effective(timeout)
	if err != nil {
		return nil, err
	}
	return &tools.Plan{
		Args: args, Title: title(in), Kind: tools.Execute, Danger: need.Danger, Semantic: semantic(need.Shell),
		Locations: []tools.Location{{Path: place.Path()}}, GoesOn: in.Background, Block: in.Interrupt == "block" && !in.Background,
		Run: func(ctx context.Context) (tools.Result, error) {
			folder, err := place.Enter(judged)
			if err != nil {
				return notStarted(err), nil
			}
			defer folder.Close()
			if in.Background {
				return goesOn(ctx, env, in, need, folder)
			}
			return runs(ctx, env, in, need, folder, timeout)
		},
	}, nil
}

// semantic is what a client that folds what only looks is told.
func semantic(c shell.Command) string {
	switch {
	case c.Searches:
		return "search"
	case c.ReadOnly:
		return "read"
	}
	return "write"
}

func notThere(env *tools.Env, dir string, info fs.FileInfo) error {
	if info == nil {
		return tools.Refuse(filetime.ReadError, "enoent", "Directory not found: %s (ENOENT). The command was not run.",
			env.Name(dir))
	}
	return tools.Refuse(filetime.ReadError, "not_directory", "%s is not a directory. The command was not run.",
		env.Name(dir))
}

func (in input) timeout(env *tools.Env) (time.Duration, error) {
	switch {
	case in.Timeout != nil && in.TimeoutMS != nil:
		return 0, tools.Misused("$.timeout", "absent", "timeout (seconds) and timeout_ms are the same limit: give one of them")
	case in.Timeout != nil:
		return time.Duration(*in.Timeout * float64(time.Second)), nil
	case in.TimeoutMS != nil:
		return time.Duration(*in.TimeoutMS) * time.Millisecond, nil
	}
	if d := env.Limits.BashReadOnlyTimeout; d > 0 && env.Needs[0].Shell.ReadOnly {
		return d, nil
	}
	return env.Limits.BashTimeout, nil
}

// effective are the arguments with the time limit in force, which depends on the settings and on
// the command.
func (in input) effective(timeout time.Duration) (json.RawMessage, error) {
	if in.TimeoutMS == nil && in.Timeout == nil && !in.Background {
		in.TimeoutMS = new(int(timeout.Milliseconds()))
	}
	js, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(js, &members); err != nil {
		return nil, err
	}
	return json.Marshal(members) // with sorted keys, as the checked arguments have them
}

// mayContinue says that the command becomes a job when its answer is due: nobody has named a time
// for it.
func (in input) mayContinue(env *tools.Env) bool {
	named := in.Timeout != nil || in.TimeoutMS != nil || env.Limits.BashReadOnlyTimeout > 0 && env.Needs[0].Shell.ReadOnly
	return env.Commands.Outlasts(named)
}

func runs(ctx context.Context, env *tools.Env, in input, need tools.Need, dir *sandbox.Folder, timeout time.Duration) (tools.Result, error) {
	var said []string
	end := func() []string { return env.Commands.Autorun.End(env.Call, "") }
	if need.OnlyReads() {
		said, end = env.Commands.Autorun.Check(env.Call), func() []string { return nil }
	} else {
		said = env.Commands.Autorun.Begin(env.Call, "")
	}
	news := reporter{env: env}
	c := sandbox.Command{
		Argv: need.Argv, Dir: dir, Profile: need.Profile, Timeout: timeout,
		Grace: env.Limits.KillGrace, MaxOutput: maxOutput, Output: news.output,
	}
	var o sandbox.Outcome
	var job string
	var err error
	if in.mayContinue(env) {
		c.Timeout = max(timeout, env.Limits.JobTime)
		o, job, err = env.Commands.Jobs.Run(ctx, env.Commands.Runner, show.Visible(line(in), false), c, timeout, end)
	} else {
		o, err = sandbox.Run(ctx, env.Commands.Runner, c)
	}
	news.flush()
	if job != "" {
		return warned(continues(job, title(in), o, level(env, need), timeout), said), nil
	}
	said = append(said, end()...)
	if err != nil {
		r, err := refused(err)
		return warned(r, said), err
	}
	if o.ExitCode != 0 {
		said = append(said, restrictions(env, ran{need.Profile, o.Level, need.Place.Path(), o.Stderr, o.Refused})...)
	}
	r := warned(answer(title(in), o, timeout), said)
	if say := hint(need.Shell); say != "" && r.Success {
		r.Data += "\n" + say
	}
	return r, nil
}

// warned is a result with what was said about files that commands have planted.
func warned(r tools.Result, said []string) tools.Result {
	r.Warnings = append(r.Warnings, said...)
	for _, w := range said {
		r.Data += "\n" + w
	}
	return r
}

// refused is what a Runner does not start. A command that the sandbox cannot confine may go on
// without one: that is judged anew.
func refused(err error) (tools.Result, error) {
	if errors.Is(err, sandbox.ErrNotConfined) {
		return tools.Result{}, err
	}
	return notStarted(err), nil
}

func notStarted(err error) tools.Result {
	return tools.Fail(tools.ExecutionError, "not_started", "The command was not run: %v.", err)
}

// answer words how a command ended: its outputs under their names, what became of its background
// processes, then the exit code.
func answer(title string, o sandbox.Outcome, timeout time.Duration) tools.Result {
	r, data := printed(o)
	r.Value = &value{
		ExitCode: o.ExitCode, Stdout: forProgram(o.Stdout, o.StdoutGap), Stderr: forProgram(o.Stderr, o.StderrGap), TimedOut: o.TimedOut,
		Sandbox: o.Level,
	}
	parts := leftovers(o)
	switch {
	case o.TimedOut:
		r.Error, r.Reason = filetime.Timeout, "timeout"
		took := timeout
		if took == 0 || o.Duration < timeout {
			took = o.Duration
		}
		parts = append(parts, timedOut(took, timeout), "[Exit code: -1]")
	case o.Cancelled:
		r.Error, r.Reason = filetime.Cancelled, "cancelled"
		parts = append(parts, "The command was cancelled before its end.", "[Exit code: -1]")
	case o.ExitCode != 0:
		r.Error = tools.ExitCode(o.ExitCode)
		if data.Len() == 0 {
			parts = append(parts, "(no output)")
		}
		if why := signalled(o.ExitCode); why != "" {
			parts = append(parts, why)
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
	data.WriteString(strings.Join(parts, "\n"))
	r.Data = data.String()
	return r
}

// printed words the outputs of a command under their names, in data, to which the caller adds the
// rest: a flood is copied once.
func printed(o sandbox.Outcome) (r tools.Result, data *strings.Builder) {
	r.Truncated = o.StdoutGap.Bytes+o.StderrGap.Bytes > 0
	data = &strings.Builder{}
	data.Grow(len(o.Stdout) + len(o.Stderr) + 256)
	for _, s := range []struct {
		name, text string
		gap        sandbox.Gap
	}{{"stdout", o.Stdout, o.StdoutGap}, {"stderr", o.Stderr, o.StderrGap}} {
		head, tail := clean(s.text[:s.gap.At]), strings.TrimRight(clean(s.text[s.gap.At:]), "\n")
		if blank(head) && blank(tail) {
			continue
		}
		data.WriteString(s.name + ":\n")
		data.WriteString(head)
		if s.gap.Bytes > 0 {
			r.Gaps = append(r.Gaps, tools.Gap{At: data.Len(), Lines: s.gap.Lines, Bytes: s.gap.Bytes})
		}
		data.WriteString(tail)
		data.WriteByte('\n')
	}
	return r, data
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// forProgram is an output as a program is given it: its head and tail, if it is long.
func forProgram(text string, gap sandbox.Gap) string {
	if len(text) > maxValue {
		k, buf := sandbox.NewKept(maxValue), make([]byte, 32<<10)
		for rest := text; rest != ""; {
			n := copy(buf, rest)
			k.Write(buf[:n])
			rest = rest[n:]
		}
		less, more := k.Output()
		text, gap = less, sandbox.Gap{At: more.At, Bytes: more.Bytes + gap.Bytes}
	}
	return clean(gap.Mark(text))
}

// leftovers says what became of processes that a command did not wait for.
func leftovers(o sandbox.Outcome) (said []string) {
	if n := o.Background - o.Left; n > 0 {
		said = append(said, plural(n, "background process of the command was", "background processes of the command were")+" ended with it. To keep it running, run it as a command of its own with `background`.")
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
