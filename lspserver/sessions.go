package lspserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools/gate"
)

// Tandem's own JSON-RPC error codes.
const (
	codeUnknownSession   = -32011
	codeSessionBusy      = -32012
	codeModelUnavailable = -32013
	codeNotPermitted     = -32014
)

func (s *server) sessionRoutes(r *wire.Router) {
	handle(r, protocol.SessionNew, s.newSession)
	handle(r, protocol.SessionList, s.listSessions)
	handle(r, protocol.SessionLoad, s.loadSession)
	handleNote(r, protocol.WindowWorkDoneProgressCancel, s.progressCancelled)
	handle(r, protocol.SessionFork, s.forkSession)
	handle(r, protocol.SessionCheckpoints, s.checkpoints)
	handle(r, protocol.SessionRestore, s.restoreSession)
	handleInOrder(r, protocol.SessionPrompt, s.prompt)
	handleInOrder(r, protocol.SessionSteer, s.steer)
	handle(r, protocol.SessionCompact, s.compact)
	handleNote(r, protocol.SessionCancel, s.cancel)
	handle(r, protocol.SessionSetMode, s.setMode)
	handle(r, protocol.SessionSetModel, s.setModel)
	handle(r, protocol.SessionClose, s.closeSession)
	handle(r, protocol.SessionDelete, s.deleteSession)
	handle(r, protocol.SessionRename, s.renameSession)
	handle(r, protocol.SessionSearch, s.searchSessions)
	handle(r, protocol.SessionExport, s.exportSession)
}

func invalid(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// coded converts an error of the backend to a JSON-RPC error.
func coded(err error) error {
	var e *backend.Error
	if !errors.As(err, &e) {
		return err
	}
	code := map[backend.Kind]int{
		backend.UnknownSession: codeUnknownSession, backend.SessionBusy: codeSessionBusy,
		backend.ModelUnavailable: codeModelUnavailable, backend.NotPermitted: codeNotPermitted,
	}
	return &wire.Error{
		Code: cmp.Or(code[e.Kind], wire.CodeInvalidParams), Name: string(e.Kind), Message: err.Error(), PID: e.PID,
	}
}

func (s *server) newSession(ctx context.Context, p protocol.NewSessionParams) (protocol.NewSessionResult, error) {
	servers, err := updates.Servers(p.MCPServers)
	if err != nil {
		return protocol.NewSessionResult{}, invalid("%v.", err)
	}
	history, err := updates.History(p.Messages)
	if err != nil {
		return protocol.NewSessionResult{}, invalid("%v.", err)
	}
	// The reply to workspace/configuration must be applied before the first session.
	select {
	case <-s.fetched:
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	se, err := s.b.New(backend.NewSession{Cwd: p.Cwd, More: p.AdditionalDirectories, Mode: p.Mode, Model: p.Model, History: history, Servers: servers})
	if err != nil {
		return protocol.NewSessionResult{}, err
	}
	wire.After(ctx, func() { s.b.Met(se) })
	return s.setup(se), nil
}

// setup gives a session's modes and models.
func (s *server) setup(se *backend.Session) protocol.NewSessionResult {
	r := protocol.NewSessionResult{SessionID: se.ID()}
	r.Modes = protocol.ModeState{CurrentModeID: string(se.Mode()), AvailableModes: []protocol.Choice{}}
	for _, m := range gate.Modes() {
		r.Modes.AvailableModes = append(r.Modes.AvailableModes, protocol.Choice{ID: string(m.Mode), Name: m.Name})
	}
	r.Models.CurrentModelID = se.Model()
	for _, n := range s.b.Models() {
		r.Models.AvailableModels = append(r.Models.AvailableModels, protocol.ModelChoice{ModelID: n, Name: n})
	}
	return r
}

// prompt begins the turn before later messages are handled, so that a cancel that follows finds it; the function that
// it gives does the rest.
func (s *server) prompt(_ context.Context, p protocol.PromptParams) (func(context.Context) (protocol.PromptResult, error), error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return nil, err
	}
	specs, err := toolSpecs(p.Tools)
	if err != nil {
		return nil, err
	}
	title := updates.Title(p.Prompt)
	run, err := s.b.Prompt(se, backend.Prompt{
		Blocks: updates.Blocks(p.Prompt), Title: title, Model: p.Model, Tools: specs, Attention: attentionOf(p.Meta),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (protocol.PromptResult, error) {
		defer s.b.TellCommands(se) // files of commands may have changed meanwhile
		var progress *progress
		result, err := run(ctx, func() {
			progress = s.newProgress(title, se.Cancel)
			viewOf(se).progress.Store(progress)
		})
		if err != nil {
			return protocol.PromptResult{}, err
		}
		r := turnResult(result)
		progress.ended(s.ending(r))
		return r, nil
	}, nil
}

// attentionOf converts the editor's context.
func attentionOf(m *protocol.PromptMeta) *backend.Attention {
	if m == nil || m.Tandem.Editor == nil {
		return nil
	}
	says := m.Tandem.Editor
	out := &backend.Attention{URI: says.URI, Cursor: fromPosition(says.Cursor), Visible: fromRange(says.Visible), Selection: fromRange(says.Selection)}
	out.Path, _ = pathOf(says.URI)
	return out
}

func (s *server) compact(ctx context.Context, p protocol.CompactParams) (protocol.CompactResult, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return protocol.CompactResult{}, err
	}
	done, err := se.Compact(ctx, p.Instructions)
	if err != nil {
		return protocol.CompactResult{}, backend.Refused(err)
	}
	return protocol.CompactResult{CompactionID: done.ID, Kind: done.Kind, Before: done.Before, After: done.After}, nil
}

// steer queues the message before later messages are handled. The reply follows once it is stored.
func (s *server) steer(_ context.Context, p protocol.SteerParams) (func(context.Context) (protocol.Empty, error), error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return nil, err
	}
	keep, err := se.Steer(updates.Blocks(p.Prompt))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (protocol.Empty, error) { return protocol.Empty{}, keep(ctx) }, nil
}

// turnResult converts the end of a turn.
func turnResult(r agent.TurnResult) protocol.PromptResult {
	out := protocol.PromptResult{StopReason: string(r.Stop), Usage: updates.Usage(r.Usage), Turn: r.Turn}
	if r.Err != nil {
		out.Error = &protocol.TurnError{Code: errorCode(r.Err), Message: r.Err.Error()}
	}
	return out
}

func errorCode(err error) string {
	if m, ok := errors.AsType[*model.Error](err); ok {
		return m.Kind
	}
	return "internal"
}

func (s *server) cancel(_ context.Context, p protocol.SessionParams) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		s.log.Debug("cancel of an unknown session", "session", p.SessionID)
		return
	}
	se.Cancel()
}

func (s *server) setMode(_ context.Context, p protocol.SetModeParams) (protocol.Empty, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return protocol.Empty{}, err
	}
	return protocol.Empty{}, backend.Refused(se.SetMode(gate.Mode(p.Mode)))
}

func (s *server) setModel(_ context.Context, p protocol.SetModelParams) (protocol.Empty, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return protocol.Empty{}, err
	}
	return protocol.Empty{}, s.b.SetModel(se, p.Model)
}

func (s *server) closeSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	return protocol.Empty{}, s.b.Close(p.SessionID)
}
