package main

import (
	"context"

	"tandem/lspserver"
	"tandem/lspserver/acp"
)

// acpCmd runs the server of the Agent Client Protocol.
type acpCmd struct {
	Trace string `help:"Write all messages to FILE. It contains your text, but no keys." placeholder:"FILE" type:"path"`
}

// Help is the text of --help below the flags.
func (acpCmd) Help() string {
	return "Editors start 'tandem acp': Zed, JetBrains IDEs, codecompanion.nvim, avante.nvim. It speaks version 1 of the Agent " +
		"Client Protocol, one JSON message a line, and exits at the end of its input. In VS Code and Neovim use Tandem's plug-ins " +
		"instead: this protocol has no document versions, no review of single changes and no undo."
}

// Run serves the editor that started the process.
func (a acpCmd) Run(ctx context.Context, c *cli) error {
	return c.serveEditor(a.Trace, func(o lspserver.Options, conn editorConn) int {
		return acp.Serve(ctx, conn, acp.Options{Options: o.Options, Version: o.Version, Trace: o.Trace})
	})
}
