package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/web"
)

// Prompt is a text that a server offers a person to send to the model, by a command.
type Prompt struct {
	// Command is mcp__server__prompt.
	Command string
	// Title is in one line and may be empty, as Description may.
	Title, Description string
	Arguments          []Argument

	name string // the server's own
}

// Argument is one of a Prompt.
type Argument struct {
	Name, Description string
	Required          bool
}

// Usage is how the command is written, with the names of its arguments; optional ones are in
// brackets.
func (p Prompt) Usage() string { return strings.TrimSpace("/" + p.Command + " " + p.Hint()) }

// Hint are the names of the arguments, optional ones in brackets.
func (p Prompt) Hint() string {
	var out []string
	for _, a := range p.Arguments {
		if a.Required {
			out = append(out, a.Name)
		} else {
			out = append(out, "["+a.Name+"]")
		}
	}
	return strings.Join(out, " ")
}

// Resource is something to read that a server offers.
type Resource struct {
	// Mention is how a message names it, without the @: server:uri.
	Mention string
	// Name and Description are in one line and may be empty.
	Name, Description string
}

// Bounds on what a server may offer.
const (
	maxOffers    = 1000
	maxArguments = 16
	maxURI       = 500
)

// offers are the prompts and the resources of a server, as they are kept.
type offers struct {
	Prompts   []promptDescriptor   `json:"prompts,omitempty"`
	Resources []resourceDescriptor `json:"resources,omitempty"`
}

type promptDescriptor struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

type resourceDescriptor struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// learn asks a server for its prompts and resources. What it does not tell is not offered.
func (s *server) learn(ctx context.Context, c *connection) error {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil || caps.Prompts == nil && caps.Resources == nil {
		return nil
	}
	var now offers
	var err error
	if caps.Prompts != nil {
		var list []*sdk.Prompt
		list, err = pages(maxOffers, func(p *sdk.Prompt) string { return p.Name }, func(cursor string) ([]*sdk.Prompt, string, error) {
			r, err := c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Prompts, r.NextCursor, nil
		})
		for _, p := range list {
			now.Prompts = append(now.Prompts, promptOf(p))
		}
	}
	if caps.Resources != nil && err == nil {
		var list []*sdk.Resource
		list, err = pages(maxOffers, func(r *sdk.Resource) string { return r.URI }, func(cursor string) ([]*sdk.Resource, string, error) {
			r, err := c.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Resources, r.NextCursor, nil
		})
		for _, r := range list {
			if len(r.URI) <= maxURI && line(r.URI) == r.URI {
				now.Resources = append(now.Resources, resourceDescriptor{r.URI, show.Clip(line(cmp.Or(r.Title, r.Name)), 80), show.Clip(line(r.Description), 300)})
			}
		}
	}
	if err != nil {
		return fmt.Errorf("it did not tell its prompts and resources: %w", c.blamed(err))
	}
	s.mu.Lock()
	s.further = now
	s.mu.Unlock()
	s.keep(now)
	s.all.changed()
	return nil
}

func promptOf(p *sdk.Prompt) promptDescriptor {
	out := promptDescriptor{Name: p.Name, Title: show.Clip(line(p.Title), 80), Description: show.Clip(line(p.Description), 300)}
	for _, a := range p.Arguments[:min(len(p.Arguments), maxArguments)] {
		if a == nil {
			continue
		}
		out.Arguments = append(out.Arguments, Argument{a.Name, show.Clip(line(a.Description), 300), a.Required})
	}
	return out
}

// keep keeps the offers, so that they are known before the server runs.
func (s *server) keep(now offers) {
	if s.all.o.Pins == nil {
		return
	}
	raw, err := json.Marshal(now)
	if err == nil && len(raw) <= maxPinned {
		err = s.all.o.Pins.Save(s.offersID(), raw)
	}
	if err != nil {
		s.all.o.log().Warn("the prompts and resources of an MCP server are not kept", "server", s.entry.Name, "error", err)
	}
}

// offersID is the name under which the offers are kept.
func (s *server) offersID() string {
	sum := sha256.Sum256([]byte("offers " + s.entry.id(s.folder())))
	return hex.EncodeToString(sum[:])
}

// Prompts are those of the servers, as far as they are known, sorted by their commands.
func (s *Servers) Prompts() []Prompt {
	var out []Prompt
	for _, v := range s.servers() {
		out = append(out, v.prompts()...)
	}
	slices.SortFunc(out, func(a, b Prompt) int { return compare(a.Command, b.Command) })
	return slices.CompactFunc(out, func(a, b Prompt) bool { return a.Command == b.Command })
}

func (s *server) prompts() []Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stays {
		return nil
	}
	var out []Prompt
	for _, p := range s.further.Prompts {
		out = append(out, Prompt{
			Command: s.entry.toolName(p.Name), Title: p.Title, Description: p.Description, Arguments: p.Arguments, name: p.Name,
		})
	}
	return out
}

// Resources are those of the servers, as far as they are known, in the order in which the servers
// tell them.
func (s *Servers) Resources() []Resource {
	var out []Resource
	for _, v := range s.servers() {
		v.mu.Lock()
		for _, r := range v.further.Resources {
			if !v.stays {
				out = append(out, Resource{v.key + ":" + r.URI, r.Name, r.Description})
			}
		}
		v.mu.Unlock()
	}
	return out
}

// named is the server that a word begins with the name of, and what follows behind sep; nil where
// there is none.
func (s *Servers) named(word, sep string) (v *server, rest string) {
	for _, v := range s.servers() {
		for _, name := range []string{v.key, v.entry.Name} {
			if n := len(name) + len(sep); len(word) > n && equalFold(word[:n], name+sep) {
				return v, word[n:]
			}
		}
	}
	return nil, ""
}

// Names says that a word is server:uri of a server that there is.
func (s *Servers) Names(mention string) bool {
	v, _ := s.named(mention, ":")
	return v != nil
}

// Read gives what a resource holds that a person has mentioned as server:uri, for a model: texts
// stand in a block that says that they are data from outside. The server is started where it does
// not run. The error is a sentence without an end.
func (s *Servers) Read(ctx context.Context, mention string) ([]tools.Part, error) {
	v, uri := s.named(mention, ":")
	if v == nil {
		return nil, fmt.Errorf("there is no MCP server of that name")
	}
	var r *sdk.ReadResourceResult
	err := v.request(ctx, func(ctx context.Context, session *sdk.ClientSession, token string) (err error) {
		p := &sdk.ReadResourceParams{URI: uri}
		p.SetProgressToken(token)
		r, err = session.ReadResource(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []tools.Part
	for _, c := range r.Contents[:min(len(r.Contents), maxParts)] {
		text, part := resourceContents(c)
		if part != nil {
			out = append(out, *part)
		} else if strings.TrimSpace(text) != "" {
			out = append(out, tools.Part{Kind: tools.TextPart, Name: v.key + ":" + uri, Text: v.data(fmt.Sprintf("resource=%q", line(uri)), text)})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it is empty")
	}
	return out, nil
}

// Prompt gives the messages of a prompt that a person has called by a command with the text behind
// it, for a model. ok is false where the command is of no server. The server is started where it
// does not run. The error is a sentence without an end.
func (s *Servers) Prompt(ctx context.Context, command, rest string) (parts []tools.Part, ok bool, err error) {
	v, _ := s.named(command, "__")
	if inner, is := strings.CutPrefix(strings.ToLower(command), prefix); is {
		v, _ = s.named(inner, "__")
	}
	if v == nil {
		return nil, false, nil
	}
	find := func() (Prompt, bool) {
		for _, p := range v.prompts() {
			if equalFold(p.Command, command) {
				return p, true
			}
		}
		return Prompt{}, false
	}
	p, known := find()
	if !known { // it may be new, or the server was never started
		if err := v.request(ctx, func(context.Context, *sdk.ClientSession, string) error { return nil }); err != nil {
			return nil, true, err
		}
		if p, known = find(); !known {
			return nil, true, fmt.Errorf("the MCP server %s has no prompt %s", line(v.entry.Name), line(command))
		}
	}
	args, err := p.read(rest)
	if err != nil {
		return nil, true, err
	}
	var r *sdk.GetPromptResult
	err = v.request(ctx, func(ctx context.Context, session *sdk.ClientSession, token string) (err error) {
		g := &sdk.GetPromptParams{Name: p.name, Arguments: args}
		g.SetProgressToken(token)
		r, err = session.GetPrompt(ctx, g)
		return err
	})
	if err != nil {
		return nil, true, err
	}
	if parts = v.messages(p, r.Messages); len(parts) == 0 {
		return nil, true, fmt.Errorf("the prompt %s is empty", p.Command)
	}
	return parts, true, nil
}

// read are the arguments in the text behind a command: words, in the order of the arguments or as
// name=value. Quotes keep words together. The last argument gets all words that are left.
func (p Prompt) read(text string) (map[string]string, error) {
	given := map[string]string{}
	var free []string
	for _, w := range split(text) {
		name, value, is := strings.Cut(w, "=")
		if is && slices.ContainsFunc(p.Arguments, func(a Argument) bool { return a.Name == name }) && given[name] == "" {
			given[name] = value
			continue
		}
		free = append(free, w)
	}
	var open []string
	for _, a := range p.Arguments {
		if _, is := given[a.Name]; !is {
			open = append(open, a.Name)
		}
	}
	for i, name := range open {
		switch {
		case len(free) == 0:
		case i == len(open)-1:
			given[name], free = strings.Join(free, " "), nil
		default:
			given[name], free = free[0], free[1:]
		}
	}
	if len(free) > 0 {
		return nil, fmt.Errorf("the prompt takes no %q; it is written %s", line(strings.Join(free, " ")), p.Usage())
	}
	for _, a := range p.Arguments {
		if a.Required && given[a.Name] == "" {
			return nil, fmt.Errorf("the prompt needs %s; it is written %s", line(a.Name), p.Usage())
		}
	}
	return given, nil
}

// split are the words of a text; " and ' keep blanks in a word, and a quote without an end is a
// letter.
func split(text string) []string {
	var out []string
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return out
		}
		word := ""
		for text != "" && !strings.ContainsRune(" \t\r\n", rune(text[0])) {
			if end := strings.IndexByte(text[1:], text[0]); (text[0] == '"' || text[0] == '\'') && end >= 0 {
				word, text = word+text[1:1+end], text[end+2:]
				continue
			}
			word, text = word+text[:1], text[1:]
		}
		out = append(out, word)
	}
}

// messages are those of a prompt, for a model.
func (s *server) messages(p Prompt, list []*sdk.PromptMessage) []tools.Part {
	var out []tools.Part
	var text strings.Builder
	add := func(role sdk.Role, t string) {
		if len(list) > 1 {
			fmt.Fprintf(&text, "[%s]\n", line(string(role)))
		}
		text.WriteString(show.Visible(strings.ToValidUTF8(strings.ReplaceAll(t, "\r\n", "\n"), "\uFFFD"), true) + "\n\n")
	}
	for _, m := range list[:min(len(list), maxParts)] {
		if m == nil {
			continue
		}
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			add(m.Role, c.Text)
		case *sdk.ImageContent:
			out = append(out, tools.Part{Kind: tools.ImagePart, MIMEType: c.MIMEType, Data: c.Data})
		case *sdk.EmbeddedResource:
			t, part := resourceContents(c.Resource)
			if part != nil {
				out = append(out, *part)
			} else if c.Resource != nil {
				add(m.Role, s.data(fmt.Sprintf("resource=%q", line(c.Resource.URI)), t))
			}
		}
	}
	if t := strings.TrimSpace(text.String()); t != "" {
		out = slices.Insert(out, 0, tools.Part{Kind: tools.TextPart, Name: p.Command, Text: t})
	}
	return out
}

// data is a text of the server's as a model gets it.
func (s *server) data(about, text string) string {
	return web.Block(fmt.Sprintf("server=%q %s", line(s.entry.Name), about), show.Visible(strings.ToValidUTF8(text, "\uFFFD"), true))
}

// request carries a request out that changes nothing.
func (s *server) request(ctx context.Context, do func(ctx context.Context, session *sdk.ClientSession, token string) error) error {
	defer s.use(nil)()
	for again := false; ; again = true {
		c, err := s.ready(ctx)
		if err != nil {
			return fmt.Errorf("the MCP server %s is off: %w", line(s.entry.Name), err)
		}
		err = s.heard(ctx, c, nil, func(ctx context.Context, token string) error { return do(ctx, c.session, token) })
		var coded *jsonrpc.Error
		var late *SilentError
		switch {
		case err == nil, errors.As(err, &late):
			return err
		case errors.Is(err, sdk.ErrSessionMissing) && !again:
			s.end(c, err)
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &coded):
			return fmt.Errorf("the MCP server %s refused it: %s", line(s.entry.Name), strings.TrimRight(show.Clip(line(coded.Message), 300), "."))
		}
		why := c.blamed(err)
		s.end(c, why)
		return fmt.Errorf("the MCP server %s is off: %w", line(s.entry.Name), s.worded(c, why))
	}
}
