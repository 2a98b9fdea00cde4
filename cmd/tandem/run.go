package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

type runCmd struct {
	Prompt  []string `arg:"" help:"What to do."`
	Cwd     string   `help:"Folder to work in." default:"." type:"existingdir"`
	Verbose bool     `short:"v" help:"Show the log."`
}

// Run plays one turn and prints the answer on standard output, everything else on standard error.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	p := &printer{out: os.Stdout, info: os.Stderr}
	cl, session, err := c.dial(ctx, r.Cwd, true, r.Verbose, nil, p)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	defer context.AfterFunc(ctx, func() {
		_ = cl.Notify(context.WithoutCancel(ctx), "tandem/session/cancel", protocol.SessionParams{SessionID: session.SessionID})
	})()
	fmt.Fprintf(p.info, "model %s, mode %s\n", session.Models.CurrentModelID, session.Modes.CurrentModeID)
	var result protocol.PromptResult
	err = cl.Call(context.WithoutCancel(ctx), "tandem/session/prompt", protocol.PromptParams{
		SessionID: session.SessionID,
		Prompt:    []protocol.ContentBlock{{Type: "text", Text: strings.Join(r.Prompt, " ")}},
	}, &result)
	p.end()
	if err != nil {
		return err
	}
	fmt.Fprintf(p.info, "%s (%d tokens in, %d out)\n", result.StopReason, result.Usage.InputTokens, result.Usage.OutputTokens)
	switch result.StopReason {
	case "end_turn":
		return nil
	case "cancelled":
		return exitCode(130)
	}
	return exitCode(1)
}

type toolCmd struct {
	List toolListCmd `cmd:"" help:"List the tools."`
	Call toolCallCmd `cmd:"" help:"Call a tool with arguments in JSON."`
}

type toolListCmd struct {
	JSON bool `name:"json" help:"Print everything about them, as JSON."`
}

// Run lists the tools.
func (t *toolListCmd) Run(ctx context.Context, c *cli) error {
	cl, _, err := c.dial(ctx, ".", false, false, nil, &printer{out: io.Discard, info: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(ctx) }()
	var list protocol.ListToolsResult
	if err := cl.Call(ctx, "tandem/tools/list", protocol.ListToolsParams{}, &list); err != nil {
		return err
	}
	if t.JSON {
		return printJSON(list)
	}
	for _, info := range list.Tools {
		line, _, _ := strings.Cut(info.Description, "\n")
		fmt.Printf("%-12s %-8s %-9s %s\n", info.Name, info.Kind, info.Danger, line)
	}
	return nil
}

type toolCallCmd struct {
	Name      string `arg:"" help:"Name or alias of the tool."`
	Arguments string `arg:"" optional:"" default:"{}" help:"Its arguments, a JSON object."`
	Cwd       string `help:"Folder to work in." default:"." type:"existingdir"`
	JSON      bool   `name:"json" help:"Print the whole result as JSON."`
	Unread    bool   `help:"Let edits change files that were not read first: a single call has read none."`
	Verbose   bool   `short:"v" help:"Show the log."`
}

// Run calls the tool once.
func (t *toolCallCmd) Run(ctx context.Context, c *cli) error {
	if !json.Valid([]byte(t.Arguments)) {
		return fmt.Errorf("the arguments are no JSON: %s", t.Arguments)
	}
	var options json.RawMessage
	if t.Unread {
		options = json.RawMessage(`{"requireRead":false}`)
	}
	cl, session, err := c.dial(ctx, t.Cwd, false, t.Verbose, options, &printer{out: io.Discard, info: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	var result protocol.ToolResult
	err = cl.Call(ctx, "tandem/tools/call", protocol.CallToolParams{
		SessionID: session.SessionID, Name: t.Name, Arguments: json.RawMessage(t.Arguments),
	}, &result)
	switch {
	case err != nil:
		return err
	case t.JSON:
		err = printJSON(result)
	default:
		fmt.Println(result.Data)
	}
	if err == nil && !result.Success {
		fmt.Fprintln(os.Stderr, "tandem:", result.Error)
		return exitCode(1)
	}
	return err
}

func printJSON(v any) error {
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// dial starts a server in this process and opens a session in a folder, which is kept, or for calls of tools alone. With a terminal the person is
// asked for permission; without one every question is a no.
func (c *cli) dial(ctx context.Context, folder string, kept, verbose bool, options json.RawMessage, p *printer) (*client.Client, protocol.NewSessionResult, error) {
	var session protocol.NewSessionResult
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, session, err
	}
	log := slog.New(slog.DiscardHandler)
	if verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	h := client.Handlers{Update: p.update, Message: p.message}
	if terminal(os.Stdin) && terminal(os.Stderr) {
		h.Permission = p.permission
	}
	serving := context.WithoutCancel(ctx)
	o := c.options(log)
	params := protocol.NewSessionParams{Cwd: folder}
	if outlive(&o); !kept {
		o.Store, o.Stored = nil, nil
		params.Model = "script/embedded" // no model is asked, so none has to be there
	}
	cl, err := client.Dial(serving, inProcess(serving, o), folder, options, h, log)
	if err != nil {
		return nil, session, err
	}
	err = cl.Call(ctx, "tandem/session/new", params, &session)
	if err != nil {
		_ = cl.Shutdown(serving)
	}
	return cl, session, err
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printer shows a turn on a terminal.
type printer struct {
	out, info io.Writer

	mu      sync.Mutex
	midline bool
	asking  sync.Mutex // one question at a time
}

func (p *printer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newline()
}

func (p *printer) newline() {
	if p.midline {
		fmt.Fprintln(p.out)
		p.midline = false
	}
}

func (p *printer) update(u protocol.UpdateParams) {
	p.mu.Lock()
	defer p.mu.Unlock()
	up := u.Update
	switch up.SessionUpdate {
	case "agent_message_chunk":
		s := contentText(up.Content)
		fmt.Fprint(p.out, s)
		p.midline = !strings.HasSuffix(s, "\n")
	case "notice":
		p.newline()
		fmt.Fprintln(p.info, "! "+contentText(up.Content))
	case "tool_call_update":
		meta := metaOf(up)
		if meta.State != "completed" {
			return
		}
		p.newline()
		mark := "✓"
		if up.Status == "failed" {
			mark = "✗"
		}
		line := fmt.Sprintf("%s %s", mark, up.Title)
		if meta.Summary != "" {
			line += " · " + meta.Summary
		}
		fmt.Fprintln(p.info, line)
		fmt.Fprint(p.info, unifiedOf(up))
	}
}

func (p *printer) message(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newline()
	fmt.Fprintln(p.info, "! "+s)
}

// permission asks on the terminal. Anything but a yes is a no.
func (p *printer) permission(_ context.Context, q protocol.PermissionParams) protocol.PermissionOutcome {
	p.asking.Lock()
	defer p.asking.Unlock()
	p.end()
	fmt.Fprintf(p.info, "%s\n%s%sAllow? [y/N] ", q.ToolCall.Title, unifiedOf(q.ToolCall), commandOf(q.ToolCall))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return protocol.PermissionOutcome{Outcome: "selected", OptionID: "allow_once"}
	}
	return protocol.PermissionOutcome{Outcome: "selected", OptionID: "reject_once"}
}

// contentText is the text of a content block that came as free JSON.
func contentText(content any) string {
	m, _ := content.(map[string]any)
	s, _ := m["text"].(string)
	return s
}

func metaOf(u protocol.Update) (meta protocol.UpdateMeta) {
	if u.Meta != nil {
		if raw, err := json.Marshal(u.Meta.Tandem); err == nil {
			_ = json.Unmarshal(raw, &meta) // of another shape it is empty
		}
	}
	return meta
}

// unifiedOf collects the diffs that an update shows.
func unifiedOf(u protocol.Update) string {
	var b strings.Builder
	list, _ := u.Content.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		meta, _ := m["_meta"].(map[string]any)
		ours, _ := meta["tandem"].(map[string]any)
		if s, ok := ours["unified"].(string); ok {
			b.WriteString(s)
		}
	}
	return b.String()
}

// commandOf is the command that an update shows, word for word.
func commandOf(u protocol.Update) string {
	list, _ := u.Content.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		if m["type"] == "content" {
			return "  " + contentText(m["content"]) + "\n"
		}
	}
	return ""
}
