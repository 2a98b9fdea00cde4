package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/foreign"
)

var (
	errRemoved = errors.New("it was taken out of the configuration")
	errClosed  = errors.New("the session is closed")
)

const (
	// maxDescription is how many characters of a tool's description a model gets, maxSchema how
	// many bytes its schema may have.
	maxDescription = 4000
	maxSchema      = 64 << 10
	// maxPinned is how many bytes are kept of the tools of one server.
	maxPinned = 4 << 20
)

// toolDescriptor is a tool as a server tells of it, with nothing that the room does not use.
type toolDescriptor struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	InputSchema json.RawMessage      `json:"inputSchema,omitempty"`
	Annotations *sdk.ToolAnnotations `json:"annotations,omitempty"`
}

// hash is that of all that a model and a gate go by.
func (t toolDescriptor) hash() string {
	raw, _ := json.Marshal(t) // it was decoded from JSON
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// text is the tool for a person who compares it.
func (t toolDescriptor) text() string {
	raw, _ := json.Marshal(struct {
		Schema      json.RawMessage      `json:"parameters,omitempty"`
		Annotations *sdk.ToolAnnotations `json:"annotations,omitempty"`
	}{t.InputSchema, t.Annotations})
	var b bytes.Buffer
	_ = json.Indent(&b, raw, "", "  ")
	return show.Visible(t.Name+"\n"+t.Title+"\n\n"+t.Description+"\n\n"+b.String()+"\n", true)
}

// pins are the tools of a server by their names, as they were when they were first seen or last
// accepted.
type pins map[string]toolDescriptor

// Change is a tool that is not what it was.
type Change struct {
	Server, Tool string
	// Launch is that of the server.
	Launch Launch
	// Before and After are the tool as text, Unified is the difference.
	Before, After, Unified string
}

// toolChange is a tool that waits for a person.
type toolChange struct {
	now     toolDescriptor
	refused bool
}

// recall takes in what the tools were when they were last seen, so that they are known without the
// server.
func (s *server) recall() {
	if s.all.o.Pins == nil {
		return
	}
	if raw, err := s.all.o.Pins.Load(s.offersID()); err == nil && raw != nil {
		var further offers
		_ = json.Unmarshal(raw, &further) // they are told anew when the server runs
		s.mu.Lock()
		s.further = further
		s.mu.Unlock()
	}
	raw, err := s.all.o.Pins.Load(s.entry.id(s.folder()))
	if err != nil || raw == nil {
		if err != nil {
			s.all.o.log().Warn("the tools of an MCP server", "server", s.entry.Name, "error", err)
		}
		return
	}
	var known pins
	if err := json.Unmarshal(raw, &known); err != nil {
		s.all.o.log().Warn("the tools of an MCP server", "server", s.entry.Name, "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins = known
	s.offer(slices.Collect(maps.Values(known)))
}

// folder is where the server runs.
func (s *server) folder() string {
	if folders := s.all.folders(); s.entry.Cwd == "" && len(folders) > 0 {
		return folders[0]
	}
	return s.entry.Cwd
}

// list asks a server for its tools.
func (s *server) list(ctx context.Context, c *connection) error {
	var now []toolDescriptor
	caps := c.session.InitializeResult().Capabilities
	none := caps == nil || caps.Tools == nil && caps.Prompts == nil && caps.Resources == nil // also where it has tools
	if none || caps.Tools != nil {
		list, err := pages(maxTools, func(t *sdk.Tool) string { return t.Name }, func(cursor string) ([]*sdk.Tool, string, error) {
			r, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Tools, r.NextCursor, nil
		})
		var refused *jsonrpc.Error
		if err != nil && (!none || !errors.As(err, &refused)) {
			return fmt.Errorf("it did not tell its tools: %w", c.blamed(err))
		}
		for _, t := range list {
			if raw, err := json.Marshal(t.InputSchema); err == nil {
				now = append(now, toolDescriptor{t.Name, t.Title, t.Description, raw, t.Annotations})
			}
		}
	}
	s.compare(now)
	return nil
}

// pages joins the pages of a list: at most most entries, each name once. Null entries and those
// without a name are dropped. A cursor that comes again ends the list, since some servers send one
// with their last page that leads back to it. Of a list that fails, the pages before the failure
// are returned with the error.
func pages[T any](most int, name func(*T) string, page func(cursor string) ([]*T, string, error)) (all []*T, err error) {
	named, asked := map[string]bool{"": true}, map[string]bool{}
	for cursor := ""; !asked[cursor] && len(asked) < maxPages; {
		asked[cursor] = true
		entries, next, err := page(cursor)
		if err != nil {
			return all, err
		}
		for _, e := range entries {
			if e == nil || named[name(e)] || len(all) == most {
				continue
			}
			named[name(e)] = true
			all = append(all, e)
		}
		cursor = next
	}
	return all, nil
}

// blamed is why a connection has ended, else err.
func (c *connection) blamed(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return c.why
	}
	return err
}

// again asks anew for what the server says has changed.
func (s *server) again(ctx context.Context, c *connection, list func(context.Context, *connection) error) {
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	ctx, stop := context.WithTimeout(ctx, s.all.silence())
	defer stop()
	if err := list(ctx, c); err != nil {
		s.all.o.log().Warn("MCP server", "server", s.entry.Name, "error", err)
	}
}

// compare takes in what the tools are now. One that is not what it was is left out.
func (s *server) compare(now []toolDescriptor) {
	slices.SortFunc(now, func(a, b toolDescriptor) int { return compare(a.Name, b.Name) })
	s.mu.Lock()
	if s.pins == nil {
		s.pins = pins{}
	}
	news := false
	changedTools := map[string]toolChange{}
	var fine []toolDescriptor
	for _, t := range now {
		was, known := s.pins[t.Name]
		switch {
		case !known:
			s.pins[t.Name], news = t, true
			fine = append(fine, t)
		case was.hash() == t.hash():
			fine = append(fine, t)
		default:
			old := s.changedTools[t.Name]
			changedTools[t.Name] = toolChange{t, old.refused && old.now.hash() == t.hash()}
		}
	}
	s.changedTools = changedTools
	s.offer(fine)
	s.mu.Unlock()
	if news {
		s.pin()
	}
	s.all.changed()
}

// pin keeps what the tools are.
func (s *server) pin() {
	if s.all.o.Pins == nil {
		return
	}
	s.mu.Lock()
	raw, err := json.Marshal(s.pins)
	s.mu.Unlock()
	if err == nil && len(raw) > maxPinned {
		err = fmt.Errorf("they have %d bytes", len(raw))
	}
	if err == nil {
		err = s.all.o.Pins.Save(s.entry.id(s.folder()), raw)
	}
	if err != nil {
		s.all.o.log().Warn("the tools of an MCP server are not kept", "server", s.entry.Name, "error", err)
	}
}

// settle asks a person about the tools that are not what they were, each once.
func (s *server) settle(ctx context.Context) {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.changedTools))
	s.mu.Unlock()
	accepted := false
	for _, name := range names {
		s.mu.Lock()
		h, is := s.changedTools[name]
		was := s.pins[name]
		s.mu.Unlock()
		if !is || h.refused || ctx.Err() != nil {
			continue
		}
		l, err := prepare(s.entry, s.all.o.Env())
		if err == nil {
			c := Change{Server: s.entry.Name, Tool: name, Launch: l, Before: was.text(), After: h.now.text()}
			c.Unified = show.Diff(s.entry.toolName(name), text.New(c.Before), text.New(c.After), show.Options{}).Unified
			err = s.all.o.Accept(ctx, c)
		}
		var later *NotNowError
		s.mu.Lock()
		if now, is := s.changedTools[name]; is && now.now.hash() == h.now.hash() {
			switch {
			case err == nil:
				delete(s.changedTools, name)
				s.pins[name] = h.now
				accepted = true
			case !errors.As(err, &later) && ctx.Err() == nil:
				s.changedTools[name] = toolChange{h.now, true}
			}
		}
		s.mu.Unlock()
	}
	if !accepted {
		return
	}
	s.pin()
	s.mu.Lock()
	var fine []toolDescriptor
	for _, name := range s.present() {
		fine = append(fine, s.pins[name])
	}
	s.offer(fine)
	s.mu.Unlock()
	s.all.changed()
}

// present are the server's own names of the tools that were last on offer, and of those that were
// accepted since. s.mu is held.
func (s *server) present() []string {
	var out []string
	for name := range s.pins {
		if _, held := s.changedTools[name]; !held && s.seen[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// offer makes the layer of these tools. One that is what it was stays the same value, so that a
// call that answers an earlier request finds it. s.mu is held.
func (s *server) offer(list []toolDescriptor) {
	slices.SortFunc(list, func(a, b toolDescriptor) int { return compare(a.Name, b.Name) })
	s.names, s.remarks, s.listed = map[string]string{}, nil, true
	s.seen = map[string]bool{}
	for name := range s.changedTools {
		s.seen[name] = true
	}
	var made []tools.Tool
	before := s.made
	s.made = map[string]tools.Tool{}
	folded := map[string]bool{}
	for _, t := range list {
		s.seen[t.Name] = true
		name := s.entry.toolName(t.Name)
		if folded[strings.ToLower(name)] {
			name = short(name, t.Name, maxName)
			if folded[strings.ToLower(name)] {
				s.remarks = append(s.remarks, fmt.Sprintf("The tool %s is left out: its name is that of another one.", line(t.Name)))
				continue
			}
			s.remarks = append(s.remarks, fmt.Sprintf("The tool %s is named %s, since another one has that name.", line(t.Name), name))
		}
		id := name + " " + t.hash()
		tool := before[id]
		if tool == nil {
			var err error
			if tool, err = s.tool(name, t); err != nil {
				s.remarks = append(s.remarks, fmt.Sprintf("The tool %s is left out: %v.", line(t.Name), err))
				continue
			}
		}
		s.made[id] = tool
		folded[strings.ToLower(name)] = true
		s.names[name] = t.Name
		made = append(made, tool)
	}
	var err error
	if s.layer, err = tools.NewLayer(tools.RankMCP, s.key, made...); err != nil {
		s.remarks = append(s.remarks, err.Error())
	}
}

// offers says that a tool of that name is on offer.
func (s *server) offers(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.names {
		if equalFold(n, name) {
			return true
		}
	}
	return false
}

// tool is a tool of the server as one of ours. What it says of itself makes questions milder: one
// that only reads, or destroys nothing, is not dangerous. It never makes a call go on without a
// question.
func (s *server) tool(name string, t toolDescriptor) (tools.Tool, error) {
	if len(t.InputSchema) > maxSchema {
		return nil, fmt.Errorf("its parameters have %d bytes; the limit is %d", len(t.InputSchema), maxSchema)
	}
	spec := tools.Spec{
		Name: name, Kind: tools.Other, Category: "mcp", Class: tools.ClassNetwork, Danger: tools.Dangerous, Source: "mcp:" + s.key,
		NoTimeout: true, Title: show.Clip(line(t.Title), 80), Description: s.described(t),
	}
	if a := t.Annotations; a != nil {
		if a.ReadOnlyHint || a.DestructiveHint != nil && !*a.DestructiveHint {
			spec.Danger, spec.NotDestructive = tools.Moderate, true
		}
		if a.ReadOnlyHint {
			spec.Together = tools.WithReads
		}
		spec.Idempotent = a.ReadOnlyHint || a.IdempotentHint
		if a.OpenWorldHint != nil && !*a.OpenWorldHint {
			spec.Class = tools.ClassExecute
		}
	}
	made, err := foreign.New(
		foreign.Spec{Spec: spec, Parameters: t.InputSchema, Lenient: true},
		func(*tools.Env, json.RawMessage) ([]tools.Need, error) { return s.needs(), nil },
		func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
			return s.call(ctx, env, t.Name, args)
		},
	)
	if err != nil {
		return nil, err
	}
	return &watched{Tool: made, process: s.entry.URL == ""}, nil
}

// described is the description for a model, of which the first words say whose it is.
func (s *server) described(t toolDescriptor) string {
	text := strings.TrimSpace(show.Visible(strings.ToValidUTF8(strings.ReplaceAll(t.Description, "\r\n", "\n"), "\uFFFD"), true))
	if text == "" {
		text = "No description."
	}
	return show.Clip(fmt.Sprintf("(MCP server %s) %s", line(s.entry.Name), text), maxDescription)
}

// watched is a tool whose process may change files: they are looked at before and after a call, as
// with a command.
type watched struct {
	tools.Tool
	process bool
}

// Plan implements tools.Tool.
func (w *watched) Plan(ctx context.Context, env *tools.Env, args json.RawMessage) (*tools.Plan, error) {
	p, err := w.Tool.Plan(ctx, env, args)
	if err == nil {
		p.Touches = w.process
	}
	return p, err
}

// line is a text in one line with nothing invisible in it.
func line(s string) string {
	return show.Line(strings.ToValidUTF8(s, "\uFFFD"))
}

func compare(a, b string) int { return strings.Compare(a, b) }

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
