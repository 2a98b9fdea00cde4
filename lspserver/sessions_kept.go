package lspserver

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"tandem/filetime/text/show"
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

func (s *server) checkpoints(_ context.Context, p protocol.SessionParams) (protocol.CheckpointsResult, error) {
	r := protocol.CheckpointsResult{Checkpoints: []protocol.Checkpoint{}}
	points, err := s.b.Checkpoints(p.SessionID)
	for _, c := range points {
		r.Checkpoints = append(r.Checkpoints, protocol.Checkpoint{
			Turn: c.Turn, Time: stamp(c.Time), Prompt: show.Visible(c.Prompt, true),
			Files: c.Files, Additions: c.Additions, Deletions: c.Deletions,
		})
	}
	return r, err
}

func (s *server) restoreSession(ctx context.Context, p protocol.RestoreParams) (protocol.RestoreResult, error) {
	r := protocol.RestoreResult{Kept: []protocol.UndoConflict{}}
	if !slices.Contains([]string{backend.Conversation, backend.Files, backend.Both}, p.What) {
		return r, invalid("what is conversation, files or both")
	}
	se, done, err := s.b.Restore(ctx, p.SessionID, p.Turn, p.What, p.DryRun)
	if err != nil {
		return r, err
	}
	undone := s.undone(done.UndoResult)
	r.Prompt, r.Changed, r.Conflicts = done.Prompt, undone.Changed, undone.Conflicts
	for _, path := range slices.Sorted(maps.Keys(done.Lost)) {
		uri := s.ws.URIOf(path)
		i := slices.IndexFunc(r.Conflicts, func(c protocol.UndoConflict) bool { return c.URI == uri })
		r.Kept = append(r.Kept, r.Conflicts[i])
		r.Conflicts = slices.Delete(r.Conflicts, i, i+1)
	}
	now := s.setup(se)
	if r.SessionID, r.Modes, r.Models = now.SessionID, now.Modes, now.Models; se.ID() != p.SessionID {
		wire.After(ctx, func() { s.b.Met(se) })
	}
	return r, nil
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
