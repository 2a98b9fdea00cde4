package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

// live tries tasks.
type live struct {
	dir     string // everything that is made lies below it
	program string
	model   string
	environ []string
	limit   time.Duration
	log     *slog.Logger
}

// outcome is the result of a task.
type outcome struct {
	task     string
	failures []string // none means success
	calls    []protocol.AuditEntry
	requests int
	usage    protocol.Usage
	took     time.Duration
}

// pipes are the two ends of a process.
type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p pipes) Close() error                { return errors.Join(p.in.Close(), p.ReadCloser.Close()) }

// spawn starts the server with settings, sessions and caches of its own. The home folder stays the
// person's, since the sandbox protects what is known to lie there.
func (l *live) spawn(ctx context.Context, own, work string) (*exec.Cmd, pipes, error) {
	cmd := exec.CommandContext(ctx, l.program, "--stdio")
	cmd.Dir = work
	cmd.Env = append(slices.Clip(l.environ), "XDG_CONFIG_HOME="+own, "XDG_STATE_HOME="+own, "XDG_CACHE_HOME="+own)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, pipes{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, pipes{}, err
	}
	return cmd, pipes{out, in}, cmd.Start()
}

// try has the model carry out a task in a process and a folder of its own. An error says that it
// could not be tried; what the model or its service failed in is in the outcome.
func (l *live) try(ctx context.Context, t task) (o outcome, err error) {
	o.task = t.name
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", t.name, err)
			o.failures = append(o.failures, "it could not be tried")
		}
	}()
	work, own := filepath.Join(l.dir, t.name, "work"), filepath.Join(l.dir, t.name, "own")
	if err := errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(own, 0o700), t.write(work)); err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit+time.Minute) // ends the process, whatever happened
	defer cancel()
	cmd, ends, err := l.spawn(ctx, own, work)
	if err != nil {
		return o, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was ended
	}()
	options, err := json.Marshal(map[string]any{"model": l.model, "mode": "auto", "closedFiles": "disk"})
	if err != nil {
		return o, err
	}
	var requests atomic.Int64
	handlers := client.Handlers{Update: func(u protocol.UpdateParams) {
		if u.Update.SessionUpdate == "usage_update" { // one for each request that was answered
			requests.Add(1)
		}
	}}
	if t.open != "" {
		handlers.Buffer = client.NewBuffer(filepath.Join(work, t.open), t.unsaved)
	}
	c, err := client.Dial(ctx, ends, work, options, handlers, l.log)
	if err != nil {
		return o, err
	}
	var session protocol.NewSessionResult
	if err := c.Call(ctx, "tandem/session/new", protocol.NewSessionParams{}, &session); err != nil {
		return o, err
	}
	o.failures = l.ask(ctx, c, session.SessionID, t.prompts, &o)
	o.requests = int(requests.Load())
	var audit protocol.AuditResult
	if err := c.Call(ctx, "tandem/audit/query", protocol.AuditParams{SessionID: session.SessionID}, &audit); err != nil {
		return o, err
	}
	o.calls = audit.Entries
	called := map[string]bool{}
	for _, e := range o.calls {
		called[e.Tool] = called[e.Tool] || e.Error == ""
	}
	o.failures = append(o.failures, t.failures(ended{
		read: func(path string) (string, error) {
			if path == t.open {
				return handlers.Buffer.Text(), nil
			}
			text, err := os.ReadFile(filepath.Join(work, filepath.FromSlash(path)))
			return string(text), err
		},
		command: func(line string) (int, error) { return command(ctx, c, session.SessionID, line) },
		called:  called,
	})...)
	return o, c.Shutdown(ctx)
}

// ask sends the prompts in turn and returns their failures.
func (l *live) ask(ctx context.Context, c *client.Client, session string, prompts []string, o *outcome) []string {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	began := time.Now()
	defer func() { o.took = time.Since(began) }()
	for _, text := range prompts {
		var r protocol.PromptResult
		err := c.Call(ctx, "tandem/session/prompt", protocol.PromptParams{
			SessionID: session, Prompt: []protocol.ContentBlock{{Type: "text", Text: text}},
		}, &r)
		o.usage.InputTokens += r.Usage.InputTokens
		o.usage.CachedInputTokens += r.Usage.CachedInputTokens
		o.usage.OutputTokens += r.Usage.OutputTokens
		switch {
		case ctx.Err() != nil:
			return []string{fmt.Sprintf("it was given up after %s", l.limit)}
		case err != nil:
			return []string{fmt.Sprintf("the turn has no end: %v", err)}
		case r.Error != nil:
			return []string{fmt.Sprintf("the turn ended with %s: %s", r.StopReason, r.Error.Message)}
		case r.StopReason != "end_turn":
			return []string{"the turn ended with " + r.StopReason}
		}
	}
	return nil
}

// command runs a command line in the sandbox like the model's own, since it may run code that the
// model wrote.
func command(ctx context.Context, c *client.Client, session, line string) (int, error) {
	arguments, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return 0, err
	}
	var r protocol.ToolResult
	if err := c.Call(ctx, "tandem/tools/call", protocol.CallToolParams{
		SessionID: session, Name: "bash", Arguments: arguments,
	}, &r); err != nil || r.Success {
		return 0, err
	}
	raw, err := json.Marshal(r.Result)
	if err != nil {
		return 0, err
	}
	var ran struct {
		ExitCode *int `json:"exitCode"`
	}
	if json.Unmarshal(raw, &ran) != nil || ran.ExitCode == nil {
		return -1, fmt.Errorf("the command did not run: %s", r.Data)
	}
	return *ran.ExitCode, nil
}
