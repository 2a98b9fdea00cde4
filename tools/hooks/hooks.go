// Package hooks runs the programs that a person has configured on events: before and after calls of
// tools, when a session begins, and when a turn has ended.
//
// A program gets one JSON object on its standard input, the event, and may print one on its
// standard output, the answer. Before a call it has to: a program that fails, prints nothing, or
// prints what is no answer denies the call. It runs with the rights of the person, in the session's
// folder and with the environment of commands.
package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// Hook is a program.
type Hook struct {
	// Matcher is a glob of names and aliases of tools, whatever the case of their letters; "" is
	// all.
	Matcher string
	// Argv begins with the program: an absolute path, or a name that is looked for as those of
	// commands are.
	Argv []string
	// Timeout is how long it may run; 0 is five seconds.
	Timeout time.Duration
}

const (
	defaultTimeout = 5 * time.Second
	// maxOutput is how many bytes of an answer are read.
	maxOutput = 1 << 20
	grace     = 500 * time.Millisecond
)

// Event is what a program reads.
type Event struct {
	// Event is beforeToolCall, afterToolCall, sessionStart or turnEnd.
	Event   string `json:"event"`
	Session string `json:"sessionId"`
	// Tool is the canonical name of the tool of a call, Input are the arguments, Output is what the
	// model would read of its result.
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output *string         `json:"output,omitempty"`
	Call   string          `json:"callId,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Turn is that of the call, or the one that has ended for the reason Stop.
	Turn int    `json:"turn,omitempty"`
	Stop string `json:"stopReason,omitempty"`
}

// Answer is what a program prints. Before a call that is Input or Decision, after one and when a
// session begins Output.
type Answer struct {
	// Input are the arguments that the call goes on with, a JSON object; nil leaves them.
	Input json.RawMessage `json:"input"`
	// Output replaces what the model reads; nil leaves it.
	Output *string `json:"output"`
	// Decision is deny, for Reason, or allow, which says no more than nothing.
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// Names of the events.
const (
	BeforeToolCall = "beforeToolCall"
	AfterToolCall  = "afterToolCall"
	SessionStart   = "sessionStart"
	TurnEnd        = "turnEnd"
)

// Programs start hooks. They may be used concurrently.
type Programs struct {
	// Runner may be nil: then every hook fails.
	Runner sandbox.Runner
	// Folder is the one that hooks run in.
	Folder *sandbox.Folder
}

// Around are hooks as middleware of calls, in the order in which they run.
func (p Programs) Around(before, after []Hook) []run.Hook {
	var out []run.Hook
	for i, h := range before {
		hook := run.Hook{Name: h.name(BeforeToolCall, i), Matches: h.matches}
		hook.Before = func(ctx context.Context, c run.Hooked) (json.RawMessage, error) {
			a, said, err := p.Run(ctx, h, eventOf(BeforeToolCall, c))
			switch {
			case err != nil:
				return nil, err
			case !said:
				return nil, errors.New("it printed no answer; {} lets the call go on")
			case a.Output != nil:
				return nil, errors.New("its answer has an output, and the call has none yet")
			case a.Decision == "deny":
				return nil, &run.HookDenial{Reason: cmp.Or(strings.TrimSpace(a.Reason), "it gave no reason")}
			}
			return a.Input, nil
		}
		out = append(out, hook)
	}
	for i, h := range after {
		hook := run.Hook{Name: h.name(AfterToolCall, i), Matches: h.matches}
		hook.After = func(ctx context.Context, c run.Hooked, output string) (string, error) {
			e := eventOf(AfterToolCall, c)
			e.Output = &output
			a, _, err := p.Run(ctx, h, e)
			switch {
			case err != nil:
				return "", err
			case a.Input != nil || a.Decision != "":
				return "", errors.New("its answer has an input or a decision, and the call is over")
			case a.Output == nil:
				return output, nil
			}
			return *a.Output, nil
		}
		out = append(out, hook)
	}
	return out
}

func eventOf(name string, c run.Hooked) Event {
	return Event{Event: name, Session: c.Session, Tool: c.Tool, Input: c.Args, Call: c.Call, Turn: c.Turn, Error: c.Error}
}

// Name is what people and models know a hook by: where it is configured, and its program without
// the arguments.
func Name(event string, i int, h Hook) string { return h.name(event, i) }

func (h Hook) name(event string, i int) string {
	program := ""
	if len(h.Argv) > 0 {
		program = " (" + show.Visible(filepath.Base(h.Argv[0]), false) + ")"
	}
	return fmt.Sprintf("hooks.%s[%d]%s", event, i, program)
}

// matches says that the hook is for a tool. A pattern that is none matches every tool.
func (h Hook) matches(s tools.Spec) bool {
	if h.Matcher == "" {
		return true
	}
	return slices.ContainsFunc(append([]string{s.Name}, s.Aliases...), func(name string) bool {
		ok, err := path.Match(strings.ToLower(h.Matcher), strings.ToLower(name))
		return ok || err != nil
	})
}

// Run runs a hook and reads its answer; said is false where it printed nothing. The error says what
// is wrong with the hook, or is the cause with which ctx has ended.
func (p Programs) Run(ctx context.Context, h Hook, e Event) (a Answer, said bool, err error) {
	if len(h.Argv) == 0 || h.Argv[0] == "" {
		return a, false, errors.New("it names no command")
	}
	if p.Runner == nil {
		return a, false, errors.New("no commands can be run here")
	}
	program, err := p.Runner.Find(h.Argv[0], sandbox.Surroundings{})
	if err != nil {
		return a, false, fmt.Errorf("its program was not found: %w", err)
	}
	stdin, err := json.Marshal(e)
	if err != nil {
		return a, false, err
	}
	timeout := cmp.Or(h.Timeout, defaultTimeout)
	o, err := sandbox.Run(ctx, p.Runner, sandbox.Command{
		Argv: append([]string{program}, h.Argv[1:]...), Dir: p.Folder, Profile: sandbox.Unconfined, Stdin: string(stdin) + "\n",
		Timeout: timeout, Grace: grace, MaxOutput: maxOutput,
	})
	switch {
	case ctx.Err() != nil:
		return a, false, context.Cause(ctx)
	case err != nil:
		return a, false, fmt.Errorf("it cannot be run: %w", err)
	case o.TimedOut:
		return a, false, fmt.Errorf("it did not end within %v", timeout)
	case o.ExitCode != 0:
		return a, false, fmt.Errorf("it ended with the exit code %d%s", o.ExitCode, firstLine(o.Stderr))
	case o.StdoutGap.Bytes > 0:
		return a, false, fmt.Errorf("it printed more than %d bytes", maxOutput)
	case strings.TrimSpace(o.Stdout) == "":
		return a, false, nil
	}
	a, err = parse(o.Stdout)
	return a, true, err
}

func firstLine(s string) string {
	const most = 300
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" {
		return ""
	}
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return ": " + line
}

// parse reads an answer: one object with no other members than those of Answer, since one that is
// not known may be a restriction.
func parse(s string) (a Answer, err error) {
	wrong := func(why any) (Answer, error) {
		return Answer{}, fmt.Errorf("what it printed is not a valid answer: %v", why)
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	var object json.RawMessage
	if err := d.Decode(&object); err != nil {
		return wrong(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("more than one JSON value")
	}
	if !bytes.HasPrefix(object, []byte("{")) {
		return wrong("it is no JSON object")
	}
	d = json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return wrong(err)
	}
	if string(a.Input) == "null" {
		a.Input = nil
	}
	switch {
	case a.Input != nil && !bytes.HasPrefix(a.Input, []byte("{")):
		return wrong("input is no JSON object")
	case a.Decision != "" && a.Decision != "deny" && a.Decision != "allow":
		return wrong(fmt.Sprintf("decision is %q, and may be deny or allow", a.Decision))
	}
	return a, nil
}
