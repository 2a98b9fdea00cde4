package lspserver

import (
	"context"
	"errors"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/tools"
)

// Clarify puts a question of the model to the user: by Tandem's own request, or else, for a choice of options, by
// window/showMessageRequest. errors.ErrUnsupported says that the client can do neither; "" is no answer.
func (f face) Clarify(ctx context.Context, se *backend.Session, q tools.Clarification) (string, error) {
	s, id := f.s, se.ID()
	var answer string
	var err error
	switch {
	case s.client.tandem.Clarify:
		p := protocol.ClarifyParams{
			SessionID: id, ToolCallID: q.Call, Question: q.Question, DefaultAnswer: q.Default, TimeoutMs: q.Timeout.Milliseconds(),
		}
		for _, o := range q.Options {
			p.Options = append(p.Options, protocol.ClarifyOption(o))
		}
		var r protocol.ClarifyResult
		if q.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, q.Timeout)
			defer cancel()
		}
		if err = call(ctx, s.conn, protocol.SessionClarify, p, &r); err != nil {
			s.resolved(ctx, id, q.Call)
		}
		answer = clone(r.Answer)
	case len(q.Options) > 0:
		answer, err = s.questions.clarify(ctx, id, q)
	default:
		return "", errors.ErrUnsupported
	}
	if wire.Is(err, wire.CodeMethodNotFound) {
		return "", errors.ErrUnsupported
	}
	return answer, err
}
