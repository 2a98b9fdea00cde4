package updates

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tandem/lspserver/protocol"
	"tandem/tools/mcp"
)

// Servers are the MCP servers that a client names for a session. What is not understood is an
// error, so that nothing runs in another way than was meant.
func Servers(raw []json.RawMessage) ([]mcp.Entry, error) {
	var out []mcp.Entry
	for i, r := range raw {
		var s protocol.MCPServer
		dec := json.NewDecoder(bytes.NewReader(r))
		if err := dec.Decode(&s); err != nil {
			return nil, fmt.Errorf("mcpServers[%d] is no MCP server: %w", i, err)
		}
		if s.Type != "" && s.Type != "stdio" && s.Type != "http" {
			return nil, fmt.Errorf("mcpServers[%d] (%.40q) is of the type %.20q; stdio and http are served", i, s.Name, s.Type)
		}
		if (s.Type == "http") != (s.URL != "") {
			return nil, fmt.Errorf("mcpServers[%d] (%.40q): a url and the type http belong together", i, s.Name)
		}
		e := mcp.Entry{
			Name: s.Name, Command: s.Command, Args: s.Args, URL: s.URL, Env: pairs(s.Env), Headers: pairs(s.Headers), Own: true, Source: "the editor",
		}
		if err := e.Check(); err != nil {
			return nil, fmt.Errorf("mcpServers[%d] (%.40q): %w", i, s.Name, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func pairs(list []protocol.Variable) map[string]string {
	out := map[string]string{}
	for _, v := range list {
		out[v.Name] = v.Value
	}
	return out
}
