package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/logs"
	"tandem/lspserver/protocol"
	"tandem/lspserver/terminal"
	"tandem/tools"
	"tandem/tools/words"
)

type runCmd struct {
	Prompt   []string `arg:"" help:"The prompt; - reads it from standard input."`
	Continue bool     `help:"Continue the folder's most recent session."`
	Cwd      string   `help:"Folder to work in." default:"." type:"existingdir"`
	Verbose  bool     `short:"v" help:"Print the log."`
}

// Run runs one turn and prints the answer on standard output, all else on standard error. It fails
// where changes were refused and none was made: who runs it in a script has nothing then.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	prompt := strings.Join(r.Prompt, " ")
	if prompt == "-" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("standard input cannot be read: %w", err)
		}
		if prompt = strings.TrimSpace(string(text)); prompt == "" {
			return errors.New("standard input has no prompt")
		}
	}
	p := terminal.NewPrinter(terminal.Stdout(), terminal.Stderr(), terminal.Controlling())
	cl, session, err := c.dial(ctx, dialOptions{folder: r.Cwd, storeSession: true, resumeLast: r.Continue, verbose: r.Verbose}, p)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	defer context.AfterFunc(ctx, func() {
		_ = cl.Notify(context.WithoutCancel(ctx), "tandem/session/cancel", protocol.SessionParams{SessionID: session.SessionID})
	})()
	p.Infof("model %s, mode %s", session.Models.CurrentModelID, session.Modes.CurrentModeID)
	var result protocol.PromptResult
	err = cl.Call(context.WithoutCancel(ctx), "tandem/session/prompt", protocol.PromptParams{
		SessionID: session.SessionID,
		Prompt:    []protocol.ContentBlock{{Type: "text", Text: prompt}},
	}, &result)
	p.End()
	if err != nil {
		return err
	}
	p.Infof("%s (%d tokens in, %d out)", words.Ending(result.StopReason), result.Usage.InputTokens, result.Usage.OutputTokens)
	var plans protocol.PlansResult
	if err := cl.Call(context.WithoutCancel(ctx), "tandem/plan/list", protocol.PlansParams{SessionID: session.SessionID}, &plans); err == nil && len(plans.Plans) > 0 {
		p.Infof("planned and not made: %d; see 'tandem plans', and 'tandem plans --approve'", len(plans.Plans))
	}
	switch result.StopReason {
	case "end_turn":
		n := p.Refused()
		if n == 0 {
			return nil
		}
		p.Infof("! Nothing was changed; refused: %s.", tools.Count(n, "change"))
	case "cancelled":
		return exitCodeError(130)
	}
	return exitCodeError(1)
}

type toolCmd struct {
	List toolListCmd `cmd:"" help:"List the tools."`
	Call toolCallCmd `cmd:"" help:"Call a tool with JSON arguments."`
}

type toolListCmd struct {
	JSON bool `name:"json" help:"Print JSON, with descriptions and parameters."`
}

// Run lists the tools.
func (t *toolListCmd) Run(ctx context.Context, c *cli) error {
	cl, _, err := c.dial(ctx, dialOptions{folder: "."}, terminal.NewPrinter(io.Discard, terminal.Stderr(), nil))
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(ctx) }()
	var list protocol.ListToolsResult
	if err := cl.Call(ctx, "tandem/tools/list", protocol.ListToolsParams{}, &list); err != nil {
		return err
	}
	if t.JSON {
		return terminal.PrintJSON(list)
	}
	for _, info := range list.Tools {
		line, _, _ := strings.Cut(info.Description, "\n")
		fmt.Fprintf(terminal.Stdout(), "%-12s %-8s %-9s %s\n", info.Name, info.Kind, info.Danger, line)
	}
	return nil
}

type toolCallCmd struct {
	Name      string `arg:"" help:"Tool name or alias."`
	Arguments string `arg:"" optional:"" default:"{}" help:"Arguments as a JSON object."`
	Cwd       string `help:"Folder to work in." default:"." type:"existingdir"`
	JSON      bool   `name:"json" help:"Print the whole result as JSON."`
	Unread    bool   `help:"Allow edits of files that were not read first. A single call has read none."`
	Verbose   bool   `short:"v" help:"Print the log."`
}

// Run calls the tool once.
func (t *toolCallCmd) Run(ctx context.Context, c *cli) error {
	if !json.Valid([]byte(t.Arguments)) {
		return fmt.Errorf("the arguments are not valid JSON: %s", t.Arguments)
	}
	var options json.RawMessage
	if t.Unread {
		options = json.RawMessage(`{"requireRead":false}`)
	}
	p := terminal.NewPrinter(io.Discard, terminal.Stderr(), terminal.Controlling())
	cl, session, err := c.dial(ctx, dialOptions{folder: t.Cwd, verbose: t.Verbose, options: options}, p)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	var result protocol.ToolResult
	err = cl.Call(ctx, "tandem/tools/call", protocol.CallToolParams{
		SessionID: session.SessionID, Name: t.Name, Arguments: json.RawMessage(t.Arguments),
	}, &result)
	p.End()
	switch {
	case err != nil:
		return err
	case t.JSON:
		err = terminal.PrintJSON(result)
	default:
		fmt.Fprintln(terminal.Stdout(), result.Data)
	}
	if err == nil && !result.Success {
		reason := result.Reason
		if d := result.Denial; d != nil {
			reason = cmp.Or(map[string]string{"policy": d.Layer}[d.Source], d.Source)
		}
		fmt.Fprintf(terminal.Stderr(), "tandem: %s (%s)\n", words.Failure(result.Error, reason), result.Error)
		return exitCodeError(1)
	}
	return err
}

// dialOptions are the options of dial.
type dialOptions struct {
	folder       string
	options      json.RawMessage // the initializationOptions
	storeSession bool            // stores the session; else it only serves tool calls
	resumeLast   bool            // resumes the folder's most recent session
	verbose      bool
}

// dial starts a server in this process and opens a session in a folder. Permission prompts go to
// the terminal of the printer, if it has one.
func (c *cli) dial(ctx context.Context, d dialOptions, p *terminal.Printer) (*client.Client, protocol.NewSessionResult, error) {
	var session protocol.NewSessionResult
	folder, err := filepath.Abs(d.folder)
	if err != nil {
		return nil, session, err
	}
	log := slog.New(slog.DiscardHandler)
	if d.verbose {
		log = slog.New(slog.NewTextHandler(terminal.Stderr(), nil))
	}
	serving := context.WithoutCancel(ctx)
	o := c.options(log, nil)
	params := protocol.NewSessionParams{Cwd: folder}
	if persist(&o, logs.New(io.Discard, logs.Options{Version: version, Now: time.Now, Environ: os.Environ()})); !d.storeSession {
		o.Store, o.Stored = nil, nil
		params.Model = "script/embedded" // no request is sent to a model, so none needs to be configured
	}
	cl, err := client.Dial(serving, inProcess(serving, o), folder, d.options, p.Handlers(), log)
	if err != nil {
		return nil, session, err
	}
	if d.resumeLast {
		session, err = c.resume(ctx, cl, folder, p)
	} else {
		err = cl.Call(ctx, "tandem/session/new", params, &session)
	}
	if err != nil {
		_ = cl.Shutdown(serving)
	}
	return cl, session, err
}

// resume loads and announces the most recent session of a folder. Its history is not printed again.
func (c *cli) resume(ctx context.Context, cl *client.Client, folder string, p *terminal.Printer) (session protocol.NewSessionResult, err error) {
	var list protocol.ListSessionsResult
	if err := cl.Call(ctx, "tandem/session/list", protocol.ListSessionsParams{Cwd: folder}, &list); err != nil {
		return session, err
	}
	if len(list.Sessions) == 0 {
		return session, fmt.Errorf("no session to continue in %s; run without --continue to start one", folder)
	}
	last := list.Sessions[0]
	when := last.UpdatedAt
	if t, err := time.Parse(time.RFC3339, when); err == nil {
		when = t.Local().Format("2006-01-02 15:04")
	}
	p.Infof("continuing %s, last used %s: %s", last.SessionID, when, terminal.OneLine(last.Title))
	p.Mute(true) // the history was printed by the earlier run
	err = cl.Call(ctx, "tandem/session/load", protocol.LoadSessionParams{SessionID: last.SessionID, Cwd: folder}, &session)
	p.Mute(false)
	if name := c.modelName(); err == nil && name != "" {
		session.Models.CurrentModelID = name
		err = cl.Call(ctx, "tandem/session/setModel", protocol.SetModelParams{SessionID: session.SessionID, Model: name}, nil)
	}
	if err == nil && c.Mode != "" {
		session.Modes.CurrentModeID = c.Mode
		err = cl.Call(ctx, "tandem/session/setMode", protocol.SetModeParams{SessionID: session.SessionID, Mode: c.Mode}, nil)
	}
	return session, err
}
