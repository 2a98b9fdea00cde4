package lspserver

import (
	"context"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

// handle makes fn answer a request; see wire.Handle.
func handle[P, R any](r *wire.Router, m protocol.ServerRequest[P, R], fn func(context.Context, P) (R, error)) {
	wire.Handle(r, m.Name, fn)
}

// handleInOrder makes begin answer a request that later messages are about; see wire.HandleInOrder.
func handleInOrder[P, R any](
	r *wire.Router, m protocol.ServerRequest[P, R],
	begin func(context.Context, P) (rest func(context.Context) (R, error), err error),
) {
	wire.HandleInOrder(r, m.Name, begin)
}

// handleNote makes fn take a notification; see wire.Notify.
func handleNote[P any](r *wire.Router, m protocol.ServerNote[P], fn func(context.Context, P)) {
	wire.Notify(r, m.Name, fn)
}
