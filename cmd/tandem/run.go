package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/words"
)

type runCmd struct {
	Prompt   []string `arg:"" help:"What to do."`
	Continue bool     `help:"Go on with the session that was last used in the folder."`
	Cwd      string   `help:"Folder to work in." default:"." type:"existingdir"`
	Verbose  bool     `short:"v" help:"Show the log."`
}

// Run plays one turn and prints the answer on standard output, everything else on standard error.
func (r *runCmd) Run(ctx context.Context, c *cli) error {
	p := &printer{out: stdout(), info: stderr(), person: atTerminal()}
	cl, session, err := c.dial(ctx, dialing{folder: r.Cwd, kept: true, last: r.Continue, verbose: r.Verbose}, p)
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
	fmt.Fprintf(p.info, "%s (%d tokens in, %d out)\n", words.Ending(result.StopReason), result.Usage.InputTokens, result.Usage.OutputTokens)
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
	cl, _, err := c.dial(ctx, dialing{folder: "."}, &printer{out: io.Discard, info: stderr()})
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
		fmt.Fprintf(stdout(), "%-12s %-8s %-9s %s\n", info.Name, info.Kind, info.Danger, line)
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
	p := &printer{out: io.Discard, info: stderr(), person: atTerminal()}
	cl, session, err := c.dial(ctx, dialing{folder: t.Cwd, verbose: t.Verbose, options: options}, p)
	if err != nil {
		return err
	}
	defer func() { _ = cl.Shutdown(context.WithoutCancel(ctx)) }()
	var result protocol.ToolResult
	err = cl.Call(ctx, "tandem/tools/call", protocol.CallToolParams{
		SessionID: session.SessionID, Name: t.Name, Arguments: json.RawMessage(t.Arguments),
	}, &result)
	p.end()
	switch {
	case err != nil:
		return err
	case t.JSON:
		err = printJSON(result)
	default:
		fmt.Fprintln(stdout(), result.Data)
	}
	if err == nil && !result.Success {
		reason := result.Reason
		if d := result.Denial; d != nil {
			reason = cmp.Or(map[string]string{"policy": d.Layer}[d.Source], d.Source)
		}
		fmt.Fprintf(stderr(), "tandem: %s (%s)\n", words.Failure(result.Error, reason), result.Error)
		return exitCode(1)
	}
	return err
}

// dialing says what dial is to begin with.
type dialing struct {
	folder  string
	options json.RawMessage // the initializationOptions
	kept    bool            // the session is kept, else it is for calls of tools alone
	last    bool            // it is the one that was last used in the folder
	verbose bool
}

// dial starts a server in this process and opens a session in a folder. The person of the printer, if any, is asked for
// permission.
func (c *cli) dial(ctx context.Context, d dialing, p *printer) (*client.Client, protocol.NewSessionResult, error) {
	var session protocol.NewSessionResult
	folder, err := filepath.Abs(d.folder)
	if err != nil {
		return nil, session, err
	}
	log := slog.New(slog.DiscardHandler)
	if d.verbose {
		log = slog.New(slog.NewTextHandler(stderr(), nil))
	}
	h := client.Handlers{Update: p.update, Message: p.message}
	if p.person != nil {
		h.Permission = p.permission
	}
	serving := context.WithoutCancel(ctx)
	o := c.options(log)
	params := protocol.NewSessionParams{Cwd: folder}
	if outlive(&o); !d.kept {
		o.Store, o.Stored = nil, nil
		params.Model = "script/embedded" // no model is asked, so none has to be there
	}
	cl, err := client.Dial(serving, inProcess(serving, o), folder, d.options, h, log)
	if err != nil {
		return nil, session, err
	}
	if d.last {
		session, err = c.resume(ctx, cl, folder, p)
	} else {
		err = cl.Call(ctx, "tandem/session/new", params, &session)
	}
	if err != nil {
		_ = cl.Shutdown(serving)
	}
	return cl, session, err
}

// resume loads the session that was last used in a folder, and says which it is. What was said in it is not printed again.
func (c *cli) resume(ctx context.Context, cl *client.Client, folder string, p *printer) (session protocol.NewSessionResult, err error) {
	var list protocol.ListSessionsResult
	if err := cl.Call(ctx, "tandem/session/list", protocol.ListSessionsParams{Cwd: folder}, &list); err != nil {
		return session, err
	}
	if len(list.Sessions) == 0 {
		return session, fmt.Errorf("there is no session of %s to go on with; leave --continue away to begin one", folder)
	}
	last := list.Sessions[0]
	when := last.UpdatedAt
	if t, err := time.Parse(time.RFC3339, when); err == nil {
		when = t.Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(p.info, "going on with %s, last used %s: %s\n", last.SessionID, when, oneLine(last.Title))
	p.mute(true) // what comes before the answer has been told before
	err = cl.Call(ctx, "tandem/session/load", protocol.LoadSessionParams{SessionID: last.SessionID, Cwd: folder}, &session)
	p.mute(false)
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

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printer shows a turn on a terminal.
type printer struct {
	out, info io.Writer // both make what is written visible
	person    *person

	mu      sync.Mutex
	midline bool
	muted   bool
	asked   bool
	later   []func()   // what is printed once the question is answered
	asking  sync.Mutex // one question at a time
	take    func()     // takes back the question that stands
	over    bool       // no question is asked any more
	nobody  bool       // it was said that nobody can be asked
}

// end is called when the turn is over: a question that stands is taken back, and what waits for its answer is printed.
func (p *printer) end() {
	p.mu.Lock()
	p.over = true
	if p.take != nil {
		p.take()
	}
	p.mu.Unlock()
	p.asking.Lock()
	defer p.asking.Unlock()
	p.print(p.newline)
}

// print lets f print, which holds p.mu, or does so once the question that stands is answered.
func (p *printer) print(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		p.later = append(p.later, f)
		return
	}
	f()
}

// mute drops updates from now on, or no longer.
func (p *printer) mute(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.muted = on
}

func (p *printer) newline() {
	if p.midline {
		fmt.Fprintln(p.out)
		p.midline = false
	}
}

func (p *printer) update(u protocol.UpdateParams) {
	p.mu.Lock()
	muted := p.muted
	p.mu.Unlock()
	if !muted {
		p.print(func() { p.tell(u.Update) })
	}
}

func (p *printer) tell(up protocol.Update) {
	switch up.SessionUpdate {
	case "agent_message_chunk":
		s := contentText(up.Content)
		fmt.Fprint(p.out, s)
		p.midline = !strings.HasSuffix(s, "\n")
	case "notice":
		if s := contentText(up.Content); s != "" {
			p.newline()
			fmt.Fprintln(p.info, "! "+s)
		}
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
		fmt.Fprintln(p.info, mark, headline(up.Title, meta.Summary))
		for _, c := range contentOf(up) {
			switch {
			case c.Type == "diff":
				fmt.Fprint(p.info, unified(c))
			case up.Status == "failed" && up.Kind == "execute" && c.Content != nil && c.Content.Text != meta.Summary:
				fmt.Fprint(p.info, last(c.Content.Text))
			}
		}
	}
}

// headline is a title with what came of it. A summary that names the call itself stands alone.
func headline(title, summary string) string {
	switch {
	case summary == "" || strings.HasPrefix(summary, title):
		return cmp.Or(summary, title)
	case strings.HasPrefix(title, summary):
		return title
	}
	return title + " · " + summary
}

// last is the end of what a command that failed has printed, where the reason usually stands.
func last(text string) string {
	const most = 12
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var b strings.Builder
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(&b, "  … %s before this\n", tools.Count(more, "line"))
		lines = lines[more:]
	}
	for _, l := range lines {
		b.WriteString("  | " + l + "\n")
	}
	return b.String()
}

func (p *printer) message(s string) {
	p.print(func() {
		p.newline()
		fmt.Fprintln(p.info, "! "+s)
	})
}

// permission asks the person. Nothing else is printed meanwhile.
func (p *printer) permission(ctx context.Context, q protocol.PermissionParams) (protocol.PermissionOutcome, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.newline()
	p.asked, p.take = true, cancel
	if p.over {
		cancel()
	}
	p.mu.Unlock()
	allowed, err := p.person.permission(ctx, q)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = false
	for _, f := range p.later {
		f()
	}
	p.later = nil
	switch {
	case err != nil:
		if !p.nobody {
			p.nobody = true
			p.newline()
			fmt.Fprintf(p.info, "! %v, so nobody can be asked, and what needs permission is refused\n", err)
		}
		return protocol.PermissionOutcome{}, client.ErrNobody
	case ctx.Err() != nil:
		return protocol.PermissionOutcome{Outcome: "cancelled"}, nil
	case allowed:
		return protocol.PermissionOutcome{Outcome: "selected", OptionID: "allow_once"}, nil
	}
	return protocol.PermissionOutcome{Outcome: "selected", OptionID: "reject_once"}, nil
}

// contentText is the text of a content block that came as free JSON.
func contentText(content any) string {
	m, _ := content.(map[string]any)
	s, _ := m["text"].(string)
	return s
}

func metaOf(u protocol.Update) protocol.UpdateMeta {
	if u.Meta == nil {
		return protocol.UpdateMeta{}
	}
	return as[protocol.UpdateMeta](u.Meta.Tandem)
}
