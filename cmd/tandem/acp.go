package main

import (
	"context"

	"tandem/lspserver"
	"tandem/lspserver/acp"
)

// acpCmd is the face for editors that drive agents by the Agent Client Protocol.
type acpCmd struct {
	Trace string `help:"Write every message, both ways, to a file: your text is in it, keys are not." placeholder:"FILE" type:"path"`
}

// Help is shown by --help.
func (acpCmd) Help() string {
	return "Editors start 'tandem acp': Zed, JetBrains IDEs, codecompanion.nvim, avante.nvim. It speaks version 1 of the Agent " +
		"Client Protocol, one JSON text a line, and ends with its input. In VS Code and Neovim the plug-ins of Tandem do more: " +
		"this protocol has no versions of documents, no review of single changes and no undo."
}

// Run answers the editor that started the process.
func (a acpCmd) Run(ctx context.Context, c *cli) error {
	return c.answer(a.Trace, func(o lspserver.Options, conn conn) int {
		return acp.Serve(ctx, conn, acp.Options{Options: o.Options, Version: o.Version, Trace: o.Trace})
	})
}
