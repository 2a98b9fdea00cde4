package doctor

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tandem/agent/config"
	"tandem/tools/mcp"
	"tandem/tools/plugin"
)

// servers looks whether the MCP servers of the configuration can be started, without starting one.
func (x *Examination) servers() {
	const check = "MCP server"
	for _, name := range slices.Sorted(maps.Keys(x.cfg.MCPServers)) {
		s := x.cfg.MCPServers[name]
		e := mcp.Entry{Name: name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, KeyCommand: s.APIKeyCommand, Own: true}
		there := s.URL != "" || x.Find(s.Command) != ""
		if strings.ContainsRune(s.Command, '/') {
			info, err := os.Stat(s.Command)
			there = err == nil && info.Mode().IsRegular() || !filepath.IsAbs(s.Command) // a relative one starts from the session's folder
		}
		err := e.Check()
		switch {
		case err != nil:
			x.add(check, Fails, fmt.Sprintf("%s: %v", name, err), "fix mcpServers."+name)
		case !there:
			x.add(check, warn, fmt.Sprintf("%s: the program %s was not found", name, s.Command), "install it, or give its absolute path")
		case s.URL != "":
			x.add(check, fine, fmt.Sprintf("%s, over HTTP", name), "")
		case s.Sandbox == "off":
			x.add(check, fine, fmt.Sprintf("%s: %s, without a sandbox", name, s.Command), "")
		default:
			x.add(check, fine, fmt.Sprintf("%s: %s", name, s.Command), "")
		}
	}
}

// plugins looks whether the plug-ins of the configuration bring tools.
func (x *Examination) plugins() {
	const check = "plug-in"
	for _, folder := range x.cfg.Plugins {
		path := filepath.Join(folder, plugin.Manifest)
		js, err := config.ReadFile(path)
		if err != nil {
			x.add(check, Fails, fmt.Sprintf("%s: %s", path, config.Reason(err)), "fix the path in plugins")
			continue
		}
		l, id, err := plugin.Layer(folder, js)
		if err != nil {
			x.add(check, Fails, fmt.Sprintf("%s: %v", path, err), "fix it; docs/plugins.md describes the format")
			continue
		}
		x.add(check, fine, fmt.Sprintf("%s: %d tools", id, l.Len()), "")
	}
}
