package lspserver

import (
	"context"
	"slices"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/wire"
)

func (s *server) reviewRoutes(r *wire.Router) {
	handle(r, protocol.ChangesAccept, s.acceptHunks)
	handle(r, protocol.ChangesReject, s.rejectHunks)
	// What a client sends about a document comes behind its changes, so the order counts.
	handleInOrder(r, protocol.TextDocumentCodeLens, func(_ context.Context, p lsp.CodeLensParams) (func(context.Context) ([]lsp.CodeLens, error), error) {
		s.requested(string(p.TextDocument.URI))
		return func(ctx context.Context) ([]lsp.CodeLens, error) { return s.codeLens(ctx, p) }, nil
	})
	handleInOrder(r, protocol.TextDocumentCodeAction, func(
		_ context.Context, p lsp.CodeActionParams,
	) (func(context.Context) ([]lsp.CommandOrCodeAction, error), error) {
		s.requested(string(p.TextDocument.URI))
		return func(ctx context.Context) ([]lsp.CommandOrCodeAction, error) { return s.codeAction(ctx, p) }, nil
	})
	handle(r, protocol.WorkspaceExecuteCommand, func(ctx context.Context, p lsp.ExecuteCommandParams) (lsp.LSPAny, error) {
		answer, err := s.executeCommand(ctx, p)
		if err != nil {
			return nil, err
		}
		return lsp.Marshal(answer)
	})
}

func (s *server) acceptHunks(_ context.Context, p protocol.HunksParams) (protocol.HunksResult, error) {
	return s.judgeHunks(p, (*backend.Session).Accept)
}

func (s *server) rejectHunks(ctx context.Context, p protocol.HunksParams) (protocol.HunksResult, error) {
	return s.judgeHunks(p, func(se *backend.Session, path string, ids []string) (review.JudgeResult, error) {
		return se.Reject(ctx, path, ids)
	})
}

func (s *server) judgeHunks(
	p protocol.HunksParams, judge func(se *backend.Session, path string, ids []string) (review.JudgeResult, error),
) (protocol.HunksResult, error) {
	r := protocol.HunksResult{Changed: []string{}, Conflicts: []string{}}
	se, path, err := s.sessionAndPath(p.SessionID, p.URI)
	if err != nil {
		return r, err
	}
	done, err := judge(se, path, p.HunkIDs)
	r.Changed, r.Conflicts = append(r.Changed, done.Changed...), append(r.Conflicts, done.Conflicts...)
	return r, err
}

// hunksChanged notifies the editor and refreshes its code lenses.
func (s *server) hunksChanged(session string, paths []string) {
	uris := make([]string, len(paths))
	for i, path := range paths {
		uris[i] = s.ws.URIOf(path)
	}
	slices.Sort(uris)
	notify(s, protocol.ChangesDidChange, protocol.DidChangeParams{SessionID: session, URIs: uris})
	w := s.client.Workspace
	if s.client.tandem.Review || w == nil || w.CodeLens == nil || !is(w.CodeLens.RefreshSupport) {
		return
	}
	s.b.Later(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := call(ctx, s.conn, protocol.WorkspaceCodeLensRefresh, protocol.None{}, nil); err != nil {
			s.log.Debug("code lenses were not refreshed", "error", err)
		}
	})
}
