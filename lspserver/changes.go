package lspserver

import (
	"context"
	"maps"
	"slices"

	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
)

func (s *server) changeRoutes(r *wire.Router) {
	handle(r, protocol.ChangesList, s.listChanges)
	handle(r, protocol.ChangesDiff, s.diffChanges)
	handle(r, protocol.ChangesUndo, s.undo)
	handle(r, protocol.ChangesRedo, s.redo)
	handle(r, protocol.FileTimeGet, s.getFileTime)
}

func (s *server) canonical(u string) (string, error) {
	path, ok := pathOf(u)
	if !ok {
		return "", invalid("%.200q is no file URI", u)
	}
	return s.real(path), nil
}

// real is a path with its symbolic links resolved, as everything is kept by.
func (s *server) real(path string) string { return sandbox.Canonical(path) }

func (s *server) listChanges(ctx context.Context, p protocol.ListChangesParams) (protocol.ListChangesResult, error) {
	r := protocol.ListChangesResult{Files: []protocol.ChangedFile{}}
	se, err := s.find(p.SessionID)
	if err != nil {
		return r, err
	}
	path := ""
	if p.URI != "" {
		if path, err = s.canonical(p.URI); err != nil {
			return r, err
		}
	}
	for _, f := range se.changes.List(ctx, path, s.short) {
		out := protocol.ChangedFile{
			URI: workspace.URI(f.Path), Status: f.Status, Additions: f.Diff.Additions, Deletions: f.Diff.Deletions,
			Unified: f.Diff.Unified, Truncated: f.Diff.Truncated, Hunks: []protocol.ChangedHunk{},
		}
		for _, h := range f.Hunks {
			out.Hunks = append(out.Hunks, protocol.ChangedHunk{
				ID: h.ID, Range: s.toRange(h.Now, h.Start, h.End), OldText: h.Old, NewText: h.New, Status: h.Status,
				Turn: h.Turn, ToolCallID: h.Call,
			})
		}
		r.Files = append(r.Files, out)
	}
	return r, nil
}

func (s *server) diffChanges(ctx context.Context, p protocol.DiffChangesParams) (protocol.FileDiff, error) {
	se, err := s.find(p.SessionID)
	if err != nil {
		return protocol.FileDiff{}, err
	}
	path, err := s.canonical(p.URI)
	if err != nil {
		return protocol.FileDiff{}, err
	}
	f, ok := se.changes.Diff(ctx, path, s.short, p.Full, p.HunkIDs)
	if !ok {
		return protocol.FileDiff{Path: path, Hunks: []protocol.DiffHunk{}}, nil
	}
	out := s.diffWithHunks(f.Diff, f.Now)
	out.Path = path
	return out, nil
}

func (s *server) undo(ctx context.Context, p protocol.UndoParams) (protocol.UndoResult, error) {
	return s.takeBack(ctx, p, (*review.Log).LastTurn, (*review.Log).Undo)
}

func (s *server) redo(ctx context.Context, p protocol.UndoParams) (protocol.UndoResult, error) {
	return s.takeBack(ctx, p, (*review.Log).LastTaken, (*review.Log).Redo)
}

func (s *server) takeBack(
	ctx context.Context, p protocol.UndoParams, last func(*review.Log) int,
	do func(*review.Log, context.Context, review.Scope) review.Undone,
) (protocol.UndoResult, error) {
	r := protocol.UndoResult{Changed: []string{}, Conflicts: []protocol.UndoConflict{}}
	se, err := s.find(p.SessionID)
	if err != nil {
		return r, err
	}
	var scope review.Scope
	switch {
	case p.Scope == "session":
		scope.All = true
	case p.Scope == "turn" && p.Turn == nil:
		turn := last(se.changes)
		scope.Turn = &turn
	case p.Scope == "turn":
		scope.Turn = p.Turn
	case p.Scope == "toolCall" && p.ToolCallID != "":
		scope.Call = p.ToolCallID
	case p.Scope == "file" && p.URI != "":
		if scope.Path, err = s.canonical(p.URI); err != nil {
			return r, err
		}
	default:
		return r, invalid("scope is turn, session, toolCall (with toolCallId) or file (with uri)")
	}
	done := do(se.changes, ctx, scope)
	for _, path := range done.Changed {
		r.Changed = append(r.Changed, workspace.URI(path))
	}
	for _, path := range slices.Sorted(maps.Keys(done.Conflicts)) {
		r.Conflicts = append(r.Conflicts, protocol.UndoConflict{URI: workspace.URI(path), Reason: done.Conflicts[path]})
	}
	se.news.tell(done.Changed...)
	return r, nil
}

func (s *server) getFileTime(_ context.Context, p protocol.FileTimeParams) (protocol.FileTimeResult, error) {
	r := protocol.FileTimeResult{Files: []protocol.FileTimeState{}}
	var paths []string
	for _, u := range p.URIs {
		path, err := s.canonical(u)
		if err != nil {
			return r, err
		}
		paths = append(paths, path)
	}
	for _, st := range s.ws.States(paths) {
		out := protocol.FileTimeState{
			URI: st.URI, State: st.State, ReadAt: stamp(st.ReadAt), Mtime: stamp(st.ModTime), Size: st.Size, Hash: st.Hash,
			Dirty: st.Dirty,
		}
		if st.Open {
			out.Version = &st.Version
		}
		if l := st.Lock; l != nil {
			out.Lock = &protocol.FileLock{Holder: l.Session, ToolCallID: l.Call, Since: stamp(l.Since), PID: l.PID}
		}
		r.Files = append(r.Files, out)
	}
	return r, nil
}

// status answers at once, whatever else is going on.
func (s *server) status(ctx context.Context, _ protocol.None) (protocol.StatusResult, error) {
	r := protocol.StatusResult{
		Store:   s.storeState(ctx),
		Version: s.o.Version, Clients: 1, Tools: len(s.tools.Load().List()), Watcher: "off", PerTool: []protocol.ToolStats{},
		Config: []string{},
	}
	if s.watcher != nil {
		r.Watcher = s.watcher.State()
	}
	if s.o.Runner != nil {
		level := s.o.Runner.Level()
		r.Sandbox = protocol.SandboxState{Level: level.Name, Reason: level.Reason}
	}
	r.Documents, r.Suspect = s.ws.Documents()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Models, r.Sessions, r.Usage = s.opener.Names(), len(s.sessions), updates.Usage(s.usage)
	for _, p := range s.problems {
		r.Config = append(r.Config, p.String())
	}
	if s.cfg.WriteRoots != nil && len(s.cfg.WriteRoots) == 0 {
		r.Config = append(r.Config, `"writeRoots" is []: files may be changed anywhere`)
	}
	for _, name := range slices.Sorted(maps.Keys(s.stats)) {
		r.PerTool = append(r.PerTool, *s.stats[name])
	}
	return r, nil
}
