package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/tools/mcp"
)

// MCPServer is an MCP server that a client names for a session.
type MCPServer = mcp.Entry

// proposalFile is where a repository names MCP servers.
const proposalFile = ".mcp.json"

// proposals are the servers that files of the folders name, those of the first folder first. A file that cannot be understood is one
// entry that says so.
func (b *Backend) proposals(folders []string) []mcp.Entry {
	all := b.settings.proposed()
	var out []mcp.Entry
	for _, folder := range folders {
		path := filepath.Join(folder, proposalFile)
		var file struct {
			Servers map[string]config.MCPServer `json:"mcpServers"`
		}
		text, err := config.ReadFile(path)
		if err == nil {
			if err = json.Unmarshal(text, &file); err != nil {
				err = fmt.Errorf("it is not valid: %w", err)
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			out = append(out, mcp.Entry{Name: proposalFile, Source: path, Bad: config.Reason(err)})
		}
		of := []config.Proposal{{Folder: folder, Source: path, Servers: file.Servers}}
		for _, p := range append(of, all...) {
			if p.Folder != folder {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
				out = append(out, proposal(name, p))
			}
		}
	}
	return out
}

// proposal is a server that a file of a folder names. No variable is put into it.
func proposal(name string, p config.Proposal) mcp.Entry {
	s := p.Servers[name]
	e := mcp.Entry{
		Name: name, Command: s.Command, Args: s.Args, Env: s.Env, Cwd: p.Folder, URL: s.URL, Headers: s.Headers, KeyCommand: s.APIKeyCommand,
		Unconfined: s.Sandbox == "off", Writes: s.Writes, Source: p.Source,
	}
	switch {
	case filepath.IsAbs(s.Cwd):
		e.Cwd = s.Cwd
	case s.Cwd != "":
		e.Cwd = filepath.Join(p.Folder, s.Cwd)
	}
	if s.Type == "sse" {
		e.Bad = "servers of the type sse are not supported; use http"
	}
	return e
}

// serversChanged tells the client by what the tools of a session differ from those before.
func (b *Backend) serversChanged(se *Session) func() {
	return func() {
		if se.Session != nil { // else it is being made
			b.tellSession(se)
			b.TellCommands(se)
		}
	}
}

// TellCommands tells the client of the commands of a session where they are not those that it was told of last. It must not be told before
// it knows the session.
func (b *Backend) TellCommands(se *Session) {
	se.telling.Lock()
	defer se.telling.Unlock()
	now := se.Commands()
	if se.met && !reflect.DeepEqual(now, se.commands) {
		se.commands = now
		se.Tell(agent.Event{Commands: true})
	}
}

// Met says that the client knows the session, and nothing of its commands yet.
func (b *Backend) Met(se *Session) {
	se.telling.Lock()
	se.met, se.commands = true, nil
	se.telling.Unlock()
	b.TellCommands(se)
}

// Server is an MCP server of a session.
type Server struct {
	Session string
	mcp.State
}
