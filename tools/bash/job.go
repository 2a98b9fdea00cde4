package bash

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/jobs"
)

//go:embed job_output.md
var outputDescription string

//go:embed job_kill.md
var killDescription string

type outputInput struct {
	JobID  string `json:"job_id" desc:"As bash gave it." minlen:"1" alias:"id,bash_id,shell_id,task_id"`
	WaitMS int    `json:"wait_ms,omitempty" desc:"Wait so long for its end." default:"0" min:"0" max:"600000" alias:"waitMs"`
}

type killInput struct {
	JobID string `json:"job_id" desc:"As bash gave it." minlen:"1" alias:"id,bash_id,shell_id,task_id"`
}

type started struct {
	JobID   string         `json:"jobId"`
	Sandbox string         `json:"sandbox"`
	Ports   []relayOfAPort `json:"ports,omitempty"`
}

// relayOfAPort is a port of the command, and the one of 127.0.0.1 that leads to it.
type relayOfAPort struct {
	Port int `json:"port"`
	Host int `json:"host"`
}

type jobValue struct {
	JobID    string `json:"jobId"`
	Running  bool   `json:"running"`
	ExitCode *int   `json:"exitCode,omitempty"`
	TimedOut bool   `json:"timedOut,omitempty"`
	Output   string `json:"output"`
	Sandbox  string `json:"sandbox,omitempty"`
}

// NewJobOutput makes the tool job_output, which looks at a command that bash has left running.
func NewJobOutput() tools.Tool {
	return tools.Define(tools.Definition[outputInput]{
		Spec: tools.Spec{
			Name: tools.JobOutput, Aliases: []string{"BashOutput", "TaskOutput"}, Kind: tools.Read, Category: "shell", Description: strings.TrimSpace(outputDescription),
			Danger: tools.Safe, Class: tools.ClassRead, Together: tools.WithReads, NotDestructive: true, Source: "builtin", Deferred: true, NoTimeout: true,
		},
		Title:   func(in outputInput) string { return "Output of " + in.JobID },
		Subject: func(in outputInput) string { return in.JobID },
		Needs:   tools.Always[outputInput](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, env *tools.Env, in outputInput) (*tools.Plan, error) {
			return jobPlan(env, tools.Read, tools.Safe, func(ctx context.Context) (jobs.Look, error) {
				return env.Commands.Jobs.Look(ctx, in.JobID, time.Duration(in.WaitMS)*time.Millisecond)
			})
		},
	})
}

// NewJobKill makes the tool job_kill, which ends a command that bash has left running.
func NewJobKill() tools.Tool {
	return tools.Define(tools.Definition[killInput]{
		Spec: tools.Spec{
			Name: tools.JobKill, Aliases: []string{"KillShell", "KillBash", "TaskStop"}, Kind: tools.Execute, Category: "shell", Description: strings.TrimSpace(killDescription),
			Danger: tools.Moderate, Class: tools.ClassExecute, Together: tools.Alone, Source: "builtin", Deferred: true, NoTimeout: true,
		},
		Title:   func(in killInput) string { return "End " + in.JobID },
		Subject: func(in killInput) string { return in.JobID },
		Needs:   tools.Always[killInput](tools.Need{Act: tools.Nothing}),
		Plan: func(_ context.Context, env *tools.Env, in killInput) (*tools.Plan, error) {
			return jobPlan(env, tools.Execute, tools.Moderate, func(ctx context.Context) (jobs.Look, error) {
				return env.Commands.Jobs.Kill(ctx, in.JobID)
			})
		},
	})
}

func jobPlan(env *tools.Env, kind tools.Kind, danger tools.Danger, look func(context.Context) (jobs.Look, error)) (*tools.Plan, error) {
	if env.Commands.Jobs == nil {
		return nil, noJobs()
	}
	return &tools.Plan{Kind: kind, Danger: danger, Run: func(ctx context.Context) (tools.Result, error) {
		l, err := look(ctx)
		if errors.Is(err, jobs.ErrUnknown) {
			return tools.Fail(tools.InvalidArgs, "unknown_job", "Job not found in this session. Use the id that bash gave when it started the command; "+
				"if that is it, the job ended long ago."), nil
		}
		if err != nil {
			return tools.Result{}, err
		}
		said := env.Commands.Autorun.Check(env.Call)
		if !l.Running {
			said = append(l.Said, said...)
		}
		said = append(said, env.Commands.Jobs.Fresh(l.ID, notes(env, l))...)
		return warned(looked(l), said), nil
	}}, nil
}

// notes are sentences about what the sandbox refuses to a job, and about ports of it that nothing
// reaches.
func notes(env *tools.Env, l jobs.Look) (said []string) {
	r := ran{l.Profile, env.Commands.Runner.Level().Name, l.Dir, l.Text, l.Connections.Refused}
	if !l.Running {
		if l.Outcome.ExitCode == 0 {
			return nil
		}
		r.level, r.refused = l.Outcome.Level, l.Outcome.Refused
	}
	said = restrictions(env, r)
	return append(said, l.Unreached()...)
}

func noJobs() error {
	return tools.Refuse(tools.Unsupported, "background",
		"Commands cannot go on in the background here. Nothing was run. Run the command without `background`, with a `timeout_ms` that is long enough.")
}

// goesOn starts a command that goes on after the call.
func goesOn(ctx context.Context, env *tools.Env, in input, need tools.Need, dir *sandbox.Folder) (tools.Result, error) {
	var timeout time.Duration
	if in.Timeout != nil || in.TimeoutMS != nil {
		timeout, _ = in.timeout(env) // it was valid in the plan
	}
	said := env.Commands.Autorun.Begin(env.Call, "")
	id, err := env.Commands.Jobs.Start(ctx, env.Commands.Runner, show.Visible(line(in), false), sandbox.Command{
		Argv: need.Argv, Dir: dir, Profile: need.Profile, Timeout: timeout, Grace: env.Limits.KillGrace, Ports: need.Ports,
	}, func() []string { return env.Commands.Autorun.End(env.Call, "") })
	if err != nil {
		said = append(said, env.Commands.Autorun.End(env.Call, "")...)
	}
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		return warned(tools.Fail(tools.ExecutionError, "too_many_jobs", "The command was not run: %d commands go on in the background already. "+
			"End one with job_kill first.", jobs.MaxRunning), said), nil
	case err != nil && ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case err != nil:
		r, err := refused(err)
		return warned(r, said), err
	}
	v := &started{JobID: id, Sandbox: level(env, need)}
	if len(need.Ports) > 0 {
		relays := env.Commands.Jobs.Relays(id)
		for _, r := range relays {
			v.Ports = append(v.Ports, relayOfAPort(r))
		}
		if at := relayed(relays); at != "" {
			said = append(said, at)
		}
	}
	return warned(tools.Result{
		Success: true, Value: v, Summary: title(in),
		Data: fmt.Sprintf("Started in the background as %s. It goes on until it ends, job_kill ends it, or the session is closed. "+
			"job_output gives what it prints.", id),
	}, said), nil
}

// level is the name of the one that a command runs at.
func level(env *tools.Env, need tools.Need) string {
	if need.Profile == sandbox.Unconfined {
		return sandbox.LevelNone
	}
	return env.Commands.Runner.Level().Name
}

// continues words that a command has become a job, with its output so far.
func continues(id, title string, o sandbox.Outcome, level string, after time.Duration) tools.Result {
	r, data := printed(o)
	if data.Len() == 0 {
		data.WriteString("(no output yet)\n")
	}
	r.Success, r.Summary = true, title
	r.Value = &continued{id, forProgram(o.Stdout, o.StdoutGap), forProgram(o.Stderr, o.StderrGap), level}
	fmt.Fprintf(data, "The command is still running after %s, now in the background as %s. Do not start it again: job_output with `wait_ms` waits for "+
		"its end and gives the rest of its output, job_kill ends it.", seconds(after), id)
	r.Data = data.String()
	return r
}

// looked words what a look at a job has shown.
func looked(l jobs.Look) tools.Result {
	v := &jobValue{JobID: l.ID, Running: l.Running, Output: forProgram(l.Text, l.Gap)}
	r := tools.Result{Success: true, Value: v, Truncated: l.Gap.Bytes > 0}
	head, tail := clean(l.Text[:l.Gap.At]), strings.TrimRight(clean(l.Text[l.Gap.At:]), "\n")
	var data strings.Builder
	if blank(head) && blank(tail) {
		data.WriteString("(no new output)")
	} else {
		data.Grow(len(head) + len(tail) + 256)
		data.WriteString("output:\n")
		data.WriteString(head)
		if l.Gap.Bytes > 0 {
			r.Gaps = []tools.Gap{{At: data.Len(), Lines: l.Gap.Lines, Bytes: l.Gap.Bytes}}
		}
		data.WriteString(tail)
	}
	state := l.ID + " is running."
	if o := l.Outcome; !l.Running {
		v.ExitCode, v.TimedOut, v.Sandbox = &o.ExitCode, o.TimedOut, o.Level
		for _, said := range leftovers(o) {
			data.WriteString("\n" + said)
		}
		switch {
		case o.TimedOut:
			state = l.ID + " was ended: its time was over."
		case o.Cancelled:
			state = l.ID + " was ended."
		default:
			state = fmt.Sprintf("%s has ended, exit code: %d", l.ID, o.ExitCode)
		}
	}
	data.WriteString("\n" + state)
	r.Data = data.String()
	r.Summary = strings.TrimSuffix(state, ".")
	return r
}
