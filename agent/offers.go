package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/agent/prompt"
	"tandem/filetime/text/show"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/mcp"
	"tandem/tools/web"
)

// Resources are those of the session's MCP servers, which a person mentions by @server:uri.
func (s *Session) Resources() []mcp.Resource { return s.servers.Resources() }

// CommandError is why a message that begins with a command of an MCP server is not sent. It is a sentence.
type CommandError struct{ Why string }

func (e *CommandError) Error() string { return e.Why }

// maxMentions is how many resources one message may mention.
const maxMentions = 16

// command parses the beginning of a message that calls a command: its name, and what follows it.
func command(text string) (name, rest string, ok bool) {
	const blanks = " \t\n\f\r"
	text, ok = strings.CutPrefix(strings.TrimLeft(text, blanks), "/")
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		end = len(text)
	}
	name, text = text[:end], text[end:]
	rest = strings.TrimLeft(text, blanks)
	return name, rest, ok && name != "" && (text == "" || rest != text)
}

// expand has the turn's message say what it names of MCP servers: the text of the prompt that it calls, in the place of the command, and
// the resources that it mentions, and what it names of the editor, behind it. A resource that cannot be had is told to the model and the person; a prompt that cannot be had
// is an error, a *CommandError, since nothing would be left of the message. The servers are started where they do not run.
func (t *Turn) expand(ctx context.Context) error {
	blocks := slices.Clone(t.in.Blocks)
	mentions := t.mentions(blocks)
	if i := firstText(blocks); i >= 0 {
		if name, rest, ok := command(blocks[i].Text); ok && strings.HasPrefix(name, mcp.Commands) && name != mcp.Commands {
			said, err := t.called(ctx, name, rest)
			if err != nil {
				return err
			}
			if said != nil {
				blocks = slices.Replace(blocks, i, i+1, said...)
			}
		}
	}
	for _, name := range mentions {
		blocks = append(blocks, t.mentioned(ctx, name)...)
	}
	blocks = append(blocks, t.spoken(ctx, t.in.Blocks)...)
	if len(blocks) == len(t.in.Blocks) && len(mentions) == 0 && slices.EqualFunc(blocks, t.in.Blocks, sameText) {
		return nil
	}
	t.in.Blocks = blocks
	t.said, _ = t.s.message(t.in) // not empty, so without error
	return nil
}

func sameText(a, b prompt.Block) bool { return a.Type == b.Type && a.Text == b.Text }

// called is the message for a command, nil where no server has it.
func (t *Turn) called(ctx context.Context, name, rest string) ([]prompt.Block, error) {
	if err := t.s.maySpeak(mcp.KeyOf(name)); err != nil {
		return nil, &CommandError{fmt.Sprintf("/%s: %v.", name, err)}
	}
	parts, ok, err := t.s.servers.Prompt(ctx, name, rest)
	switch {
	case !ok:
		return nil, nil
	case err != nil && ctx.Err() == nil:
		return nil, &CommandError{fmt.Sprintf("/%s: %s.", name, show.Visible(err.Error(), false))}
	case err != nil: // the turn is cancelled
		return nil, nil
	}
	said := []prompt.Block{{Type: "text", Text: fmt.Sprintf("The user has chosen the prompt %s of an MCP server. It says what is to be done:", name)}}
	return append(said, t.blocks("/"+name, parts)...), nil
}

// mentions are the resources that texts name with @, each once.
func (t *Turn) mentions(blocks []prompt.Block) []string {
	var out []string
	for _, b := range blocks {
		if b.Type != "text" {
			continue
		}
		for _, name := range prompt.Mentions(b.Text) {
			if t.s.servers.Names(name) && !slices.Contains(out, name) && len(out) < maxMentions {
				out = append(out, name)
			}
		}
	}
	return out
}

// mentioned is what a resource holds.
func (t *Turn) mentioned(ctx context.Context, name string) []prompt.Block {
	server, _, _ := strings.Cut(name, ":")
	err := t.s.maySpeak(server)
	var parts []tools.Part
	if err == nil {
		parts, err = t.s.servers.Read(ctx, name)
	}
	if err == nil {
		return t.blocks(name, parts)
	}
	why := fmt.Sprintf("@%s could not be read: %s.", name, show.Visible(err.Error(), false))
	if ctx.Err() == nil {
		t.s.Tell(Event{Turn: t.number, Notice: why})
	}
	return []prompt.Block{{Type: "resource", URI: name, Text: why}}
}

// blocks are parts of a message that a server has given. Texts are cut where the answer of a tool would be.
func (t *Turn) blocks(name string, parts []tools.Part) []prompt.Block {
	most := t.s.config().Limits.MaxToolOutputChars
	var out []prompt.Block
	for _, p := range parts {
		b := prompt.Block{Type: "resource", URI: name, MIMEType: p.MIMEType}
		switch p.Kind {
		case tools.TextPart:
			if b.Text = web.First(p.Text, most); len(b.Text) < len(p.Text) {
				b.Text += fmt.Sprintf("\n(Cut: these are the first %d characters.)", most)
			}
		case tools.ImagePart:
			b.Type, b.Name, b.Data = "image", name, p.Data
		}
		out = append(out, b)
	}
	return out
}

// maySpeak says why a server is not to be asked for what a person has named: a rule forbids it, or the mode.
func (s *Session) maySpeak(server string) error {
	l := mcp.Launch{Entry: mcp.Entry{Name: server}}
	d := s.Judge(gate.Call{Tool: l.Tool(), Args: json.RawMessage(`{}`), Needs: []tools.Need{{Act: tools.Nothing}}})
	if d.Verdict == gate.Deny {
		return fmt.Errorf("the MCP server %s is not asked: %s", server, strings.TrimRight(d.Reason, "."))
	}
	return nil
}
