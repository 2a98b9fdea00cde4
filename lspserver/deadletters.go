package lspserver

import (
	"context"
	"strconv"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) deadLetterRoutes(r *wire.Router) {
	handle(r, protocol.ClaimsList, s.listClaims)
	handle(r, protocol.DeadLettersList, s.listDeadLetters)
	handle(r, protocol.DeadLettersRetry, s.retryDeadLetters)
	handle(r, protocol.DeadLettersDiscard, s.discardDeadLetters)
}

func (s *server) listClaims(_ context.Context, p protocol.ClaimsParams) (protocol.ClaimsResult, error) {
	out := protocol.ClaimsResult{Claims: []protocol.Claim{}}
	if _, err := s.sessionOr(p.SessionID); err != nil {
		return out, err
	}
	for _, c := range s.b.Claims(p.SessionID) {
		item := protocol.Claim{URI: s.ws.URIOf(c.Path), Holder: c.Session, ToolCallID: c.Call, Since: stamp(c.Since)}
		if !c.Whole {
			item.Range = new(s.toRange(c.Text, c.Start, c.End))
		}
		out.Claims = append(out.Claims, item)
	}
	return out, nil
}

func (s *server) listDeadLetters(_ context.Context, p protocol.DeadLettersParams) (protocol.DeadLettersResult, error) {
	out := protocol.DeadLettersResult{Items: []protocol.DeadLetter{}}
	found, err := s.b.DeadLetters()
	for _, l := range found {
		if p.SessionID != "" && p.SessionID != l.Session {
			continue
		}
		item := protocol.DeadLetter{
			ID: strconv.FormatInt(l.ID, 10), Time: stamp(l.Time), SessionID: l.Session, CallID: l.Call, Turn: l.Turn, Tool: l.Tool, Args: l.Shown,
			Error: l.Error, Reason: l.Reason, Message: l.Message, Attempts: l.Attempts, Trace: []protocol.TraceStage{},
		}
		for _, t := range l.Trace {
			item.Trace = append(item.Trace, protocol.TraceStage(t))
		}
		out.Items = append(out.Items, item)
	}
	return out, err
}

func (s *server) retryDeadLetters(ctx context.Context, p protocol.DeadLetterParams) (protocol.RetryResult, error) {
	out := protocol.RetryResult{Results: []protocol.ToolResult{}}
	ids, err := letterIDs(p.IDs)
	if err != nil {
		return out, err
	}
	results, err := s.b.RetryDeadLetters(ctx, ids)
	for _, r := range results {
		out.Results = append(out.Results, s.toolResult(r))
	}
	if err != nil {
		return out, backend.Refused(err)
	}
	return out, nil
}

func (s *server) discardDeadLetters(_ context.Context, p protocol.DeadLetterParams) (protocol.Empty, error) {
	ids, err := letterIDs(p.IDs)
	if err == nil {
		err = s.b.DiscardDeadLetters(ids)
	}
	return protocol.Empty{}, err
}

// letterIDs are the numbers of letters, each once.
func letterIDs(ids []string) (out []int64, err error) {
	named := map[int64]bool{}
	for _, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || named[n] {
			return nil, invalid("ids are those of different dead letters, and %.40q is none.", id)
		}
		named[n] = true
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, invalid("ids names no dead letter.")
	}
	return out, nil
}
