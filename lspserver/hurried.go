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

func (h hurried) Run(ctx context.Context, c sandbox.Command) (sandbox.Outcome, error) {
	c.Hurry = h.over
	return h.Runner.Run(ctx, c)
}
