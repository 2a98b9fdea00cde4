package agent

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tandem/agent/custom"
	"tandem/agent/prompt"
	"tandem/tools/mcp"
)

// Command is a message that a person sends by /NAME: one that somebody has written in a file, or the prompt of an MCP server.
type Command struct {
	Name string
	// Description and Hint, of the arguments, are in one line and may be empty.
	Description, Hint string
}

// Commands are those that a person can call at the beginning of a message, as they are now.
func (s *Session) Commands() []Command {
	var out []Command
	for _, c := range s.written() {
		d := c.Description
		if c.Shared {
			d = strings.TrimSpace(d + " (of this workspace)")
		}
		out = append(out, Command{c.Name, d, c.Hint})
	}
	for _, p := range s.servers.Prompts() {
		out = append(out, Command{p.Command, cmp.Or(p.Description, p.Title), p.Hint()})
	}
	return out
}

// written are the commands in files: the person's own, then those of the session's folders.
func (s *Session) written() []custom.Command {
	found, wrong := custom.Commands(slices.Concat(s.o.Own.Commands, s.shared("commands", ".tandem"))...)
	s.unusable(wrong)
	return found
}

// skills are those of the session's folders, also where other agents look for them. The folder of the configuration has none: no tool
// reads there.
func (s *Session) skills() []custom.Skill {
	found, wrong := custom.Skills(s.shared("skills", ".tandem", ".claude", ".agents")...)
	s.unusable(wrong)
	return found
}

// unusable logs what cannot be used. Who writes such files looks for them where they should be, finds them missing, and then here.
func (s *Session) unusable(wrong []string) {
	for _, w := range wrong {
		s.o.Log.Warn(w)
	}
}

// shared are the folders of that name in hidden folders of the workspace.
func (s *Session) shared(name string, in ...string) (out []custom.Source) {
	for _, root := range s.reach.roots() {
		for _, hidden := range in {
			dir := filepath.Join(root, hidden, name)
			out = append(out, custom.Source{
				Dir: dir, Shared: true, List: func() ([]string, error) { return s.reach.names(dir) },
				Read: func(name string) (string, error) { return s.readShared(filepath.Join(dir, name)) },
			})
		}
	}
	return out
}

// readShared reads a file of a folder of the workspace, unsaved text included.
func (s *Session) readShared(path string) (string, error) {
	if !s.reach.shows(path) {
		return "", errors.New("it lies outside of the workspace, or where keys are kept")
	}
	now, err := s.o.Workspace.Read(s.ctx, path)
	if err == nil && !now.Exists {
		err = fs.ErrNotExist
	}
	return now.Text.String(), err
}

// commanded is the command of a file that the turn's message calls, with what follows its name.
func (t *Turn) commanded() (c custom.Command, arguments string, ok bool) {
	i := firstText(t.in.Blocks)
	if i < 0 {
		return c, "", false
	}
	name, rest, ok := command(t.in.Blocks[i].Text)
	if !ok || strings.HasPrefix(name, mcp.Commands) {
		return c, "", false
	}
	all := t.s.written()
	n := slices.IndexFunc(all, func(c custom.Command) bool { return c.Name == name })
	if n < 0 {
		return c, "", false
	}
	return all[n], rest, true
}

// chooses has the message say what the command that it calls says, and the turn go by its model and its mode.
func (t *Turn) chooses() {
	c, arguments, ok := t.commanded()
	if !ok {
		return
	}
	i := firstText(t.in.Blocks)
	t.in.Blocks = slices.Clone(t.in.Blocks)
	t.in.Blocks[i].Text = c.Message(arguments)
	t.said, _ = t.s.message(t.in) // not empty, so without error
	if c.Model != "" && t.in.Model == "" {
		t.in.Model, t.name = c.Model, c.Model
	}
	t.s.rights.limitTo(c.Mode)
}

func firstText(blocks []prompt.Block) int {
	return slices.IndexFunc(blocks, func(b prompt.Block) bool { return b.Type == "text" && strings.TrimSpace(b.Text) != "" })
}
