package lspserver

import (
	"cmp"
	"context"
	"strings"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func infoOf(i backend.Info) protocol.SessionInfo {
	out := protocol.SessionInfo{SessionID: i.ID, Cwd: i.Cwd, Title: i.Title, UpdatedAt: stamp(i.Updated)}
	if i.State != nil {
		out.Meta = &protocol.SessionMeta{Tandem: protocol.SessionState{Turns: i.State.Turns, Pending: i.State.Pending}}
	}
	return out
}

func (s *server) listSessions(ctx context.Context, p protocol.ListSessionsParams) (protocol.ListSessionsResult, error) {
	r := protocol.ListSessionsResult{Sessions: []protocol.SessionInfo{}}
	page, next, err := s.b.List(ctx, p.Cwd, p.Cursor)
	for _, i := range page {
		r.Sessions = append(r.Sessions, infoOf(i))
	}
	r.NextCursor = next
	return r, err
}

func (s *server) searchSessions(_ context.Context, p protocol.SearchParams) (protocol.SearchResult, error) {
	r := protocol.SearchResult{Sessions: []protocol.SessionInfo{}}
	if strings.TrimSpace(p.Query) == "" || p.Limit < 0 {
		return r, invalid("search wants a query, and a limit above 0 or none.")
	}
	found, err := s.b.Search(p.Query, cmp.Or(p.Limit, 50))
	for _, i := range found {
		r.Sessions = append(r.Sessions, infoOf(i))
	}
	return r, err
}

func (s *server) loadSession(ctx context.Context, p protocol.LoadSessionParams) (protocol.NewSessionResult, error) {
	se, err := s.b.Load(ctx, p.SessionID, p.Cwd)
	if err != nil {
		return protocol.NewSessionResult{}, err
	}
	wire.After(ctx, func() { s.b.Met(se) })
	return s.setup(se), nil
}

func (s *server) forkSession(ctx context.Context, p protocol.ForkParams) (protocol.NewSessionResult, error) {
	se, err := s.b.Fork(ctx, p.SessionID, p.AtTurn)
	if err != nil {
		return protocol.NewSessionResult{}, err
	}
	wire.After(ctx, func() { s.b.Met(se) })
	return s.setup(se), nil
}

func (s *server) deleteSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	return protocol.Empty{}, s.b.Delete(p.SessionID)
}

func (s *server) renameSession(_ context.Context, p protocol.RenameParams) (protocol.Empty, error) {
	return protocol.Empty{}, s.b.Rename(p.SessionID, p.Title)
}

func (s *server) exportSession(_ context.Context, p protocol.ExportParams) (protocol.ExportResult, error) {
	text, err := s.b.Export(p.SessionID, p.Format)
	return protocol.ExportResult{Text: text}, err
}
