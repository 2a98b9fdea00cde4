package lspserver

import (
	"context"

	"tandem/sandbox"
)

// hurried is a Runner whose commands get no long grace once the connection has ended.
type hurried struct {
	sandbox.Runner
	over <-chan struct{}
}

// Start starts c.
func (h hurried) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	c.Hurry = h.over
	return h.Runner.Start(ctx, c)
}
