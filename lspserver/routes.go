package lspserver

import (
	"context"
	"strings"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

// handle registers fn for a request; see wire.Handle.
func handle[P, R any](r *wire.Router, m protocol.ServerRequest[P, R], fn func(context.Context, P) (R, error)) {
	wire.Handle(r, m.Name, fn)
}

// handleExact registers fn for a request that may have no unknown members; see wire.HandleExact.
func handleExact[P, R any](r *wire.Router, m protocol.ServerRequest[P, R], fn func(context.Context, P) (R, error)) {
	wire.HandleExact(r, m.Name, fn)
}

// handleInOrder registers begin for a request that later messages refer to; see wire.HandleInOrder.
func handleInOrder[P, R any](
	r *wire.Router, m protocol.ServerRequest[P, R],
	begin func(context.Context, P) (rest func(context.Context) (R, error), err error),
) {
	wire.HandleInOrder(r, m.Name, begin)
}

// handleNote registers fn for a notification; see wire.Notify.
func handleNote[P any](r *wire.Router, m protocol.ServerNote[P], fn func(context.Context, P)) {
	wire.Notify(r, m.Name, fn)
}

// handleNoteAs is handleNote for a notification of LSP whose parameters are read as a type of ours.
func handleNoteAs[Q, P any](r *wire.Router, m protocol.ServerNote[P], fn func(context.Context, Q)) {
	wire.Notify(r, m.Name, fn)
}

// call sends a request to the client and waits for its answer, which may be nil to ignore it; see
// wire.Conn.Call.
func call[P, R any](ctx context.Context, c *wire.Conn, m protocol.ClientRequest[P, R], params P, answer *R) error {
	var p, a any = params, answer
	if _, none := p.(protocol.None); none {
		p = nil
	}
	if answer == nil {
		a = nil
	}
	return c.Call(ctx, m.Name, p, a)
}

// notify sends a notification; one that cannot be sent any more is not missed. A plain client gets none of ours. It
// does not block.
func notify[P any](s *server, m protocol.ClientNote[P], params P) {
	if s.client.plain && strings.HasPrefix(m.Name, "tandem/") {
		return
	}
	if err := s.conn.Notify(s.conn.Context(), m.Name, params); err != nil {
		s.log.Debug("notification not sent", "method", m.Name, "error", err)
	}
}
