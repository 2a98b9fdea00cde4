package lspserver

import (
	"context"

	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) recordRoutes(r *wire.Router) {
	handle(r, protocol.ChangesRecords, s.changeRecords)
}

func (s *server) changeRecords(_ context.Context, p protocol.RecordsParams) (protocol.RecordsResult, error) {
	r := protocol.RecordsResult{Records: []protocol.ChangeRecord{}}
	se, path, err := s.sessionAndPath(p.SessionID, p.URI)
	if err != nil {
		return r, err
	}
	found, err := s.b.Records(se, path, p.Turn, p.Contents)
	for _, c := range found {
		r.Records = append(r.Records, protocol.ChangeRecord{
			ID: c.ID, FilePath: c.Path, From: c.Origin, Entry: string(c.Entry), Operation: string(c.Operation), TurnNumber: c.Turn,
			ToolCallID: c.Call, Time: stamp(c.Time),
			BeforeHash: c.BeforeHash, AfterHash: c.AfterHash, ContentBefore: c.Before, ContentAfter: c.After,
		})
	}
	return r, err
}
