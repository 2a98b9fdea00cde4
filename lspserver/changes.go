package lspserver

import (
	"context"
	"maps"
	"slices"

	"tandem/filetime/text/show"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
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
	return s.b.Canonical(path), nil
}

// sessionAndPath finds a session and the path of a URI, "" for no URI.
func (s *server) sessionAndPath(id, u string) (se *backend.Session, path string, err error) {
	if se, err = s.b.Find(id); err == nil && u != "" {
		path, err = s.canonical(u)
	}
	return se, path, err
}

func (s *server) listChanges(ctx context.Context, p protocol.ListChangesParams) (protocol.ListChangesResult, error) {
	r := protocol.ListChangesResult{Files: []protocol.ChangedFile{}}
	se, path, err := s.sessionAndPath(p.SessionID, p.URI)
	if err != nil {
		return r, err
	}
	for _, f := range se.Changes.List(ctx, path, s.b.Short) {
		out := protocol.ChangedFile{
			URI: s.ws.URIOf(f.Path), Status: f.Status, Additions: f.Diff.Additions, Deletions: f.Diff.Deletions,
			Unified: f.Diff.Unified, Truncated: f.Diff.Truncated, Hunks: []protocol.ChangedHunk{},
		}
		if out.Entry = string(f.Entry); f.Origin != "" {
			out.From = s.ws.URIOf(f.Origin)
		}
		inline := show.NewInline()
		for _, h := range f.Hunks {
			hunk := protocol.ChangedHunk{
				ID: h.ID, Range: s.toRange(h.Now, h.Start, h.End), OldText: h.Old, NewText: h.New, Status: h.Status,
				Turn: h.Turn, ToolCallID: h.Call,
			}
			if h.Status == "pending" || h.Status == "conflict" {
				hunk.Inline = inlineOf(inline.Spans(h.Old, h.New))
			}
			out.Hunks = append(out.Hunks, hunk)
		}
		r.Files = append(r.Files, out)
	}
	for _, f := range s.ws.Unsure(se.ID()) {
		i := slices.IndexFunc(r.Files, func(c protocol.ChangedFile) bool { return c.URI == f.URI })
		switch {
		case i >= 0:
			r.Files[i].Unknown = true
		case path == "" || path == f.Path:
			r.Files = append(r.Files, protocol.ChangedFile{URI: f.URI, Status: "modified", Hunks: []protocol.ChangedHunk{}, Unknown: true})
		}
	}
	return r, nil
}

func (s *server) diffChanges(ctx context.Context, p protocol.DiffChangesParams) (protocol.FileDiff, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return protocol.FileDiff{}, err
	}
	path, err := s.canonical(p.URI)
	if err != nil {
		return protocol.FileDiff{}, err
	}
	f, ok := se.Changes.Diff(ctx, path, s.b.Short, p.Full, p.HunkIDs)
	if !ok {
		return protocol.FileDiff{Path: path, Hunks: []protocol.DiffHunk{}}, nil
	}
	out := s.diffWithHunks(f.Diff, f.Now)
	out.Path = path
	return out, nil
}

func (s *server) undo(ctx context.Context, p protocol.UndoParams) (protocol.UndoResult, error) {
	return s.revert(ctx, p, (*review.Log).LastTurn, (*backend.Session).Undo)
}

func (s *server) redo(ctx context.Context, p protocol.UndoParams) (protocol.UndoResult, error) {
	return s.revert(ctx, p, (*review.Log).LastTaken, (*backend.Session).Redo)
}

func (s *server) revert(
	ctx context.Context, p protocol.UndoParams, last func(*review.Log) int,
	do func(*backend.Session, context.Context, review.Scope) review.UndoResult,
) (protocol.UndoResult, error) {
	r := protocol.UndoResult{Changed: []string{}, Conflicts: []protocol.UndoConflict{}}
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return r, err
	}
	var scope review.Scope
	switch {
	case p.Scope == "session":
		scope.All = true
	case p.Scope == "turn" && p.Turn == nil:
		turn := last(se.Changes)
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
	return s.undone(do(se, ctx, scope)), nil
}

func (s *server) undone(done review.UndoResult) protocol.UndoResult {
	r := protocol.UndoResult{Changed: []string{}, Conflicts: []protocol.UndoConflict{}}
	for _, path := range done.Changed {
		r.Changed = append(r.Changed, s.ws.URIOf(path))
	}
	for _, path := range slices.Sorted(maps.Keys(done.Conflicts)) {
		r.Conflicts = append(r.Conflicts, protocol.UndoConflict{URI: s.ws.URIOf(path), Reason: done.Conflicts[path]})
	}
	return r
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

// status answers without waiting for a busy store.
func (s *server) status(ctx context.Context, _ protocol.None) (protocol.StatusResult, error) {
	st := s.b.Status(ctx)
	r := protocol.StatusResult{
		Store: protocol.StoreState(st.Store), Version: s.o.Version, Clients: 1, Tools: st.Tools, Watcher: st.Watcher,
		Sandbox:   protocol.SandboxState{Level: st.Sandbox.Name, Reason: st.Sandbox.Reason},
		Documents: st.Documents, Suspect: st.Suspect, Models: st.Models, Sessions: st.Sessions, Usage: updates.Usage(st.Usage),
		Cache:   protocol.CacheStats{Hits: st.Hits, Misses: st.Misses},
		PerTool: []protocol.ToolStats{}, Config: append([]string{}, st.Remarks...),
	}
	r.Deferred = protocol.DeferredTools{Names: []string{}, TokensSaved: st.Offer.Saved()}
	for _, t := range st.Offer.Named {
		if st.Offer.Deferred(t) {
			r.Deferred.Names = append(r.Deferred.Names, t.Spec().Name)
		}
	}
	for _, t := range st.PerTool {
		r.PerTool = append(r.PerTool, protocol.ToolStats(t))
	}
	for _, j := range st.Jobs {
		r.Jobs = append(r.Jobs, protocol.JobState{SessionID: j.Session, JobID: j.ID, Title: j.Title})
	}
	for _, p := range st.Plugins {
		r.Plugins = append(r.Plugins, protocol.PluginState{Folder: p.Folder, ID: p.ID, Tools: p.Tools, Reason: p.Reason})
	}
	for _, k := range st.Keys {
		r.Keys = append(r.Keys, protocol.KeyVariable(k))
	}
	for _, x := range st.Searched {
		r.Searched = append(r.Searched, protocol.SearchedRoot(x))
	}
	for _, v := range st.Servers {
		r.MCPServers = append(r.MCPServers, protocol.MCPServerState{
			SessionID: v.Session, Name: v.Name, Source: v.Source, Proposed: !v.Own && v.Source != "", Command: v.Command,
			State: v.State.State, Reason: v.Reason, Tools: v.Tools, Held: v.Held, Remarks: v.Remarks,
		})
	}
	return r, nil
}
