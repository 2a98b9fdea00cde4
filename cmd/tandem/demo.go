package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"tandem/lspserver/terminal"
)

type demoCmd struct {
	Keep bool `help:"Keep the demo's folder."`
}

// Run plays the demo in a temporary folder.
func (d *demoCmd) Run(ctx context.Context, c *cli) error {
	folder, err := os.MkdirTemp("", "tandem-demo-")
	if err != nil {
		return err
	}
	if !d.Keep {
		defer os.RemoveAll(folder)
	}
	ok, err := terminal.Demo(ctx, terminal.Stdout(), folder, func() io.ReadWriteCloser { return inProcess(ctx, c.options(slog.New(slog.DiscardHandler), nil)) })
	if err != nil {
		return err
	}
	if d.Keep {
		fmt.Println("kept:", folder)
	}
	if !ok {
		return exitCodeError(1)
	}
	return nil
}
