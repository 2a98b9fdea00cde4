package lspserver

import (
	"context"
	"errors"

	"tandem/agent"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
)

func (s *server) recordRoutes(r *wire.Router) {
	handle(r, protocol.ChangesRecords, s.changeRecords)
}

func (s *server) changeRecords(_ context.Context, p protocol.RecordsParams) (protocol.RecordsResult, error) {
	r := protocol.RecordsResult{Records: []protocol.ChangeRecord{}}
	se, err := s.find(p.SessionID)
	if err != nil {
		return r, err
	}
	se.Written()
	path := ""
	if p.URI != "" {
		if path, err = s.canonical(p.URI); err != nil {
			return r, err
		}
	}
	all, err := agent.Changes(s.store(), p.SessionID)
	if errors.Is(err, store.ErrUnknown) { // nothing has happened in it yet
		return r, nil
	}
	if err != nil {
		return r, s.refusal(p.SessionID, err)
	}
	for _, c := range all {
		if path != "" && c.Path != path || p.Turn != nil && c.Turn != *p.Turn {
			continue
		}
		out := protocol.ChangeRecord{
			ID: c.ID, FilePath: c.Path, Operation: string(c.Operation), TurnNumber: c.Turn,
			ToolCallID: c.Call, Time: stamp(c.Time),
			BeforeHash: c.BeforeHash, AfterHash: c.AfterHash,
		}
		if p.Contents {
			before, after, had, err := c.Texts(s.store())
			if err != nil {
				return r, err
			}
			if had && c.BeforeHash != "" {
				out.ContentBefore = &before
			}
			if had && c.AfterHash != "" {
				out.ContentAfter = &after
			}
		}
		r.Records = append(r.Records, out)
	}
	return r, nil
}

// recorded are files whose changes are written down in a session as what a person took back.
type recorded struct {
	filetime.Files
	session *session
}

// Commit implements filetime.Files.
func (r recorded) Commit(ctx context.Context, c filetime.Change) (filetime.Landed, error) {
	l, err := r.Files.Commit(ctx, c)
	r.session.Changed(c, l)
	return l, err
}
