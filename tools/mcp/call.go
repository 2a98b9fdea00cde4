package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox/lazy"
	"tandem/tools"
	"tandem/tools/web"
)

// needs are those of every call: what leaves the machine, or may, since a server can do with the
// arguments what it likes. They are this room's word, whatever the server says of its tool.
func (s *server) needs() []tools.Need {
	host := ""
	if u, err := web.Parse(s.entry.URL); s.entry.URL != "" && err == nil {
		host = u.Host
	}
	return []tools.Need{{Act: tools.Reaches, Host: host}}
}

// unreached is the code by which the library says that a request was not delivered.
const unreached = -32005

// call carries a call out. A server that is not heard of for too long is stopped.
func (s *server) call(ctx context.Context, env *tools.Env, name string, args json.RawMessage) (tools.Result, error) {
	said := []string(nil)
	if s.entry.URL == "" && env.Commands.Autorun != nil {
		said = env.Commands.Autorun.Begin(env.Call, s.who())
	}
	r, err := s.answered(ctx, env, name, args)
	if s.entry.URL == "" && env.Commands.Autorun != nil {
		said = append(said, env.Commands.Autorun.End(env.Call, s.who())...)
	}
	return warned(r, said), err
}

// warned is a result with what was said about files that run later.
func warned(r tools.Result, said []string) tools.Result {
	for _, w := range said {
		r.Data += "\n" + w
	}
	r.Warnings = append(r.Warnings, said...)
	return r
}

func (s *server) answered(ctx context.Context, env *tools.Env, name string, args json.RawMessage) (result tools.Result, err error) {
	defer s.use(env.Person.Asking)()
	c, err := s.ready(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		return off(s.entry.Name, err), nil
	}
	writes := c.files.use()
	defer func() { result = warned(result, writes()) }()
	r, err := s.ask(ctx, env, c, name, args)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has forgotten the session, so it has not begun the call
		s.end(c, err)
		if c, err = s.ready(ctx); err != nil {
			return off(s.entry.Name, err), nil
		}
		r, err = s.ask(ctx, env, c, name, args)
	}
	var late *SilentError
	var need *needError
	var coded *jsonrpc.Error
	switch {
	case err == nil:
		s.mu.Lock()
		s.failures = 0
		s.mu.Unlock()
		return c.explained(s.result(name, r)), nil
	case errors.As(err, &late):
		return tools.Fail(filetime.Timeout, "silent", "The MCP server %s did not answer for %s, so it was stopped. Whether %s took effect "+
			"is not known. The next call starts it again.", s.entry.Name, late.For.Round(time.Millisecond), name), nil
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case errors.As(err, &need):
		return tools.Fail(tools.ExecutionError, "refused", "The MCP server %s %s, so it did not carry %s out.", line(s.entry.Name), need.what, line(name)), nil
	case errors.As(err, &coded) && coded.Code == unreached:
		var key *keyError
		r := tools.Fail(tools.ExecutionError, "unreachable", "The MCP server %s did not take the call: %s. Try it once more later, or go on without it.",
			line(s.entry.Name), strings.TrimRight(show.Clip(line(err.Error()), 400), "."))
		r.Retryable = !errors.As(err, &key)
		return r, nil
	case errors.As(err, &coded):
		return tools.Fail(tools.ExecutionError, "refused", "The MCP server %s refused the call (error %d):\n%s", s.entry.Name, coded.Code,
			s.block(name, coded.Message)), nil
	}
	why := c.blamed(err)
	if why == err && !ended(err) { // the server goes on
		return tools.Fail(tools.ExecutionError, "bad_answer", "The MCP server %s answered, but not in a form that is known: %s. Whether %s took effect "+
			"is not known.", line(s.entry.Name), strings.TrimRight(show.Clip(line(err.Error()), 400), "."), line(name)), nil
	}
	s.end(c, why)
	return off(s.entry.Name, s.worded(c, why)), nil
}

// unaware matches what servers say that know nothing of their client.
var unaware = lazy.Regexp{Text: `(?i)client does not support`}

// explained adds to a failure the reason that the server cannot know: in the older era one without
// a session forgets what its client can do, and has no way back for its requests.
func (c *connection) explained(r tools.Result) tools.Result {
	at := c.session.InitializeResult()
	if !r.Success && c.process == nil && c.session.ID() == "" && at != nil && at.ProtocolVersion < newest && unaware.Get().MatchString(r.Data) {
		r.Data += "\nThe server keeps no session, so it cannot ask anything during a call. Its author can change that: tell the user."
	}
	return r
}

// off is the answer to a call of a server that is off.
func off(server string, err error) tools.Result {
	return tools.Fail(tools.ExecutionError, "server_off", "The MCP server %s is off: %s. Whether a call that was under way has done anything "+
		"is not known. Go on without it, and tell the user.", server, strings.TrimRight(show.Visible(err.Error(), false), "."))
}

var errNotHeard = errors.New("the server was not heard of")

// ask sends one call and waits for its answer.
func (s *server) ask(ctx context.Context, env *tools.Env, c *connection, name string, args json.RawMessage) (r *sdk.CallToolResult, err error) {
	s.mu.Lock()
	s.lastCall = env.Call
	s.mu.Unlock()
	err = s.heard(ctx, c, env.Person.Progress, func(ctx context.Context, token string) error {
		p := &sdk.CallToolParams{Name: name, Arguments: args}
		p.SetProgressToken(token)
		r, err = c.session.CallTool(ctx, p)
		return err
	})
	return r, err
}

// heard carries a request out. A server that is not heard of for too long meanwhile is stopped; the
// error is a *SilentError then. progress may be nil.
func (s *server) heard(ctx context.Context, c *connection, progress func(tools.Progress), do func(ctx context.Context, token string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silence := s.all.silence()
	timer := time.AfterFunc(silence, func() { stop(errNotHeard) })
	defer timer.Stop()
	s.mu.Lock()
	s.tokens++
	token := fmt.Sprintf("call-%d", s.tokens)
	s.calls[token] = &activeCall{progress: progress, alive: func() { timer.Reset(silence) }, hold: func() { timer.Stop() }}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, token)
		s.mu.Unlock()
	}()
	err := do(ctx, token)
	if err != nil && errors.Is(context.Cause(ctx), errNotHeard) {
		err = c.blame(&SilentError{For: silence})
		s.end(c, err)
		s.mu.Lock()
		if s.conn == c {
			s.conn, s.state, s.reason = nil, Off, show.Visible(err.Error(), false)
		}
		s.mu.Unlock()
		s.all.changed()
	}
	return err
}

// progress is news of a running call.
func (s *server) progress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	s.mu.Lock()
	run := s.calls[r.Params.ProgressToken]
	s.mu.Unlock()
	if run == nil {
		return
	}
	run.heard()
	if run.progress != nil {
		p := tools.Progress{Value: int64(r.Params.Progress), Total: int64(r.Params.Total)}
		if r.Params.Message != "" {
			p.Text = show.Clip(line(r.Params.Message), 500) + "\n"
		}
		run.progress(p)
	}
}

// block is a text of the server's as the model gets it.
func (s *server) block(tool, text string) string {
	return web.Block(fmt.Sprintf("server=%q tool=%q", line(s.entry.Name), line(tool)), text)
}

// maxParts is how many pieces of a result are taken in.
const maxParts = 64

// result is the answer of a server as ours. Its text stands in a block that says that it is data
// from outside.
func (s *server) result(tool string, r *sdk.CallToolResult) tools.Result {
	out := tools.Result{Success: !r.IsError, Value: r.StructuredContent}
	var texts []string
	for i, c := range r.Content {
		if i == maxParts {
			texts = append(texts, fmt.Sprintf("(%d further parts were left out)", len(r.Content)-maxParts))
			break
		}
		switch c := c.(type) {
		case *sdk.TextContent:
			texts = append(texts, c.Text)
		case *sdk.ImageContent:
			out.Parts = append(out.Parts, tools.Part{Kind: tools.ImagePart, MIMEType: c.MIMEType, Data: c.Data})
		case *sdk.AudioContent:
			texts = append(texts, fmt.Sprintf("(sound: %s, %d bytes; it cannot be shown here)", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			texts = append(texts, fmt.Sprintf("(resource %s: %s %s)", c.URI, c.Name, c.Description))
		case *sdk.EmbeddedResource:
			text, part := resourceContents(c.Resource)
			if text != "" {
				texts = append(texts, text)
			}
			if part != nil {
				out.Parts = append(out.Parts, *part)
			}
		}
	}
	if r.StructuredContent != nil && !slices.ContainsFunc(texts, func(t string) bool { return says(t, r.StructuredContent) }) {
		raw, _ := json.Marshal(r.StructuredContent) // it was decoded from JSON
		texts = append(texts, string(raw))
	}
	text := strings.Join(texts, "\n")
	if strings.TrimSpace(text) != "" {
		out.Data = s.block(tool, text)
	}
	switch r.StructuredContent.(type) {
	case nil, map[string]any:
	default:
		out.Value = map[string]any{"value": r.StructuredContent}
	}
	out.Summary = fmt.Sprintf("%s of %s answered", line(tool), line(s.entry.Name))
	if !out.Success {
		out.Error, out.Reason = tools.ExecutionError, "tool_error"
		out.Data = fmt.Sprintf("The tool %s of the MCP server %s failed:\n%s", line(tool), line(s.entry.Name), out.Data)
		out.Summary = fmt.Sprintf("%s of %s failed", line(tool), line(s.entry.Name))
	}
	return out
}

// says says that a text is a value in JSON, as servers add it for clients that read texts alone.
func says(text string, value any) bool {
	var v any
	return json.Unmarshal([]byte(text), &v) == nil && reflect.DeepEqual(v, value)
}

// resourceContents is what a resource holds: a text, and a part with its data.
func resourceContents(r *sdk.ResourceContents) (text string, part *tools.Part) {
	switch {
	case r == nil:
		return "", nil
	case r.Blob == nil:
		return fmt.Sprintf("(resource %s)\n%s", r.URI, r.Text), nil
	case strings.HasPrefix(r.MIMEType, "image/"):
		return "", &tools.Part{Kind: tools.ImagePart, MIMEType: r.MIMEType, Name: r.URI, Data: r.Blob}
	case utf8.Valid(r.Blob) && !strings.ContainsRune(string(r.Blob), 0):
		return fmt.Sprintf("(resource %s)\n%s", r.URI, r.Blob), nil
	}
	return fmt.Sprintf("(resource %s: %s, %d bytes)", r.URI, cmp.Or(r.MIMEType, "of an unknown type"), len(r.Blob)), &tools.Part{Kind: tools.DocumentPart, MIMEType: r.MIMEType, Name: r.URI, Data: r.Blob}
}

// shut ends the server for good. Who is starting it is waited for: the end of their context, or of
// the connection, ends that too.
func (s *server) shut(why error) {
	s.mu.Lock()
	s.stays, s.reason = true, why.Error()
	s.mu.Unlock()
	drop := func() {
		s.mu.Lock()
		c := s.conn
		s.conn, s.state = nil, Off
		s.mu.Unlock()
		if c != nil {
			s.end(c, why)
		}
	}
	drop()
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	drop()
}
