package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools/gate"
)

// Error codes of the protocol, beside those of JSON-RPC.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002
)

func (s *server) sessionRoutes(r *wire.Router) {
	wire.Handle(r, "session/new", s.newSession)
	wire.Handle(r, "session/load", s.loadSession)
	wire.Handle(r, "session/list", s.listSessions)
	wire.Handle(r, "session/close", s.closeSession)
	wire.Handle(r, "session/delete", s.deleteSession)
	wire.HandleInOrder(r, "session/prompt", s.prompt)
	wire.Notify(r, "session/cancel", s.cancel)
	wire.Handle(r, "session/set_mode", s.setMode)
	wire.Handle(r, "session/set_config_option", s.setOption)
}

// toWireError maps errors of the backend to the protocol's codes.
func toWireError(err error) error {
	var e *backend.Error
	if !errors.As(err, &e) {
		return err
	}
	code := map[backend.Kind]int{
		backend.UnknownSession: codeNotFound, backend.SessionBusy: wire.CodeInvalidRequest, backend.NotPermitted: wire.CodeInvalidRequest,
	}
	is := cmp.Or(code[e.Kind], wire.CodeInvalidParams)
	if e.NeedsKey { // to a client it is the request to sign in
		is = codeAuthRequired
	}
	said := strings.ReplaceAll(err.Error(), "tandem/session/", "session/") // the methods that a client has here
	return &wire.Error{Code: is, Name: string(e.Kind), Message: said, PID: e.PID}
}

func invalid(format string, args ...any) error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// view shows a session to the client. reportedModel is the model that the client was last sent.
type view struct {
	*updates.Stream
	reportedModel atomic.Value
}

// sessionParams are the parameters of session/new and session/load.
type sessionParams struct {
	Cwd                   string            `json:"cwd"`
	AdditionalDirectories []string          `json:"additionalDirectories"`
	MCPServers            []json.RawMessage `json:"mcpServers"`
	SessionID             string            `json:"sessionId"`
}

// sessionState lists the modes and options of a session.
type sessionState struct {
	SessionID     string             `json:"sessionId,omitempty"`
	Modes         protocol.ModeState `json:"modes"`
	ConfigOptions []configOption     `json:"configOptions"`
}

func (s *server) newSession(ctx context.Context, p sessionParams) (sessionState, error) {
	return s.openSession(ctx, p, func(servers []backend.MCPServer) (*backend.Session, error) {
		return s.b.New(backend.NewSession{Cwd: p.Cwd, More: p.AdditionalDirectories, Servers: servers})
	})
}

func (s *server) loadSession(ctx context.Context, p sessionParams) (sessionState, error) {
	return s.openSession(ctx, p, func(servers []backend.MCPServer) (*backend.Session, error) {
		return s.b.Load(ctx, p.SessionID, p.Cwd, servers...)
	})
}

// openSession creates or loads a session and returns its modes and options.
func (s *server) openSession(ctx context.Context, p sessionParams, begin func(servers []backend.MCPServer) (*backend.Session, error)) (sessionState, error) {
	if p.Cwd == "" {
		return sessionState{}, invalid("cwd is missing: the absolute path of the folder to work in.")
	}
	servers, err := updates.Servers(p.MCPServers)
	if err != nil {
		return sessionState{}, invalid("%v.", err)
	}
	se, err := begin(servers)
	if err != nil {
		return sessionState{}, err
	}
	wire.After(ctx, func() { s.b.Met(se) })
	c := sessionState{
		SessionID: se.ID(), ConfigOptions: s.modelOptions(se), Modes: protocol.ModeState{CurrentModeID: string(se.Mode())},
	}
	for _, m := range gate.Modes() {
		c.Modes.AvailableModes = append(c.Modes.AvailableModes, protocol.Choice{ID: string(m.Mode), Name: m.Name})
	}
	return c, nil
}

// modelOption is the id of the option that is the session's model.
const modelOption = "model"

// modelOptions are a session's options, which the client knows from now on.
func (s *server) modelOptions(se *backend.Session) []configOption {
	o := configOption{ID: modelOption, Name: "Model", Category: "model", Type: "select", CurrentValue: se.Model()}
	names := s.b.Models()
	if !slices.Contains(names, o.CurrentValue) {
		names = append([]string{o.CurrentValue}, names...)
	}
	for _, n := range names {
		o.Options = append(o.Options, optionValue{Value: n, Name: n})
	}
	se.View.(*view).reportedModel.Store(o.CurrentValue)
	return []configOption{o}
}

// notifyModel sends the session's model if it was changed elsewhere, such as by the configuration.
func (s *server) notifyModel(se *backend.Session) {
	if se.View.(*view).reportedModel.Load() != se.Model() {
		s.update(se.ID(), configOptions{SessionUpdate: "config_option_update", ConfigOptions: s.modelOptions(se)})
	}
}

func (s *server) listSessions(ctx context.Context, p protocol.ListSessionsParams) (protocol.ListSessionsResult, error) {
	r := protocol.ListSessionsResult{Sessions: []protocol.SessionInfo{}}
	page, next, err := s.b.List(ctx, p.Cwd, p.Cursor)
	for _, i := range page {
		r.Sessions = append(r.Sessions, protocol.SessionInfo{
			SessionID: i.ID, Cwd: i.Cwd, Title: i.Title, UpdatedAt: i.Updated.UTC().Format(time.RFC3339Nano),
		})
	}
	r.NextCursor = next
	return r, err
}

func (s *server) closeSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	return protocol.Empty{}, s.b.Close(p.SessionID)
}

func (s *server) deleteSession(_ context.Context, p protocol.SessionParams) (protocol.Empty, error) {
	return protocol.Empty{}, s.b.Delete(p.SessionID)
}

type promptResult struct {
	StopReason string        `json:"stopReason"`
	Meta       protocol.Meta `json:"_meta"` // turn and usage
}

// prompt starts the turn before any later message is handled, so that a cancel right after it finds
// the turn.
func (s *server) prompt(_ context.Context, p protocol.PromptParams) (func(context.Context) (promptResult, error), error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return nil, err
	}
	run, err := s.b.Prompt(se, backend.Prompt{Blocks: updates.Blocks(p.Prompt), Title: updates.Title(p.Prompt)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (promptResult, error) {
		r, err := run(ctx, func() { s.notifyModel(se) })
		if err != nil {
			return promptResult{}, err
		}
		return promptResultOf(r)
	}, nil
}

// promptResultOf is the result of a turn. A stop reason that the protocol lacks is mapped to the
// closest one; a notice has explained it.
func promptResultOf(r agent.TurnResult) (promptResult, error) {
	stop := r.Stop
	switch stop {
	case agent.EndTurn, agent.MaxTokens, agent.MaxTurnRequests, agent.Refusal, agent.Cancelled:
	case agent.BudgetExceeded:
		stop = agent.MaxTurnRequests
	default:
		e := &wire.Error{Code: wire.CodeInternal, Message: "An internal error in Tandem ended the turn; the log has the details."}
		if m, ok := errors.AsType[*model.Error](r.Err); ok {
			e.Name, e.Message = m.Kind, m.Message
			if m.Kind == "auth" {
				e.Code = codeAuthRequired
			}
		}
		return promptResult{}, e
	}
	meta := map[string]any{"turn": r.Turn, "usage": updates.Usage(r.Usage)}
	return promptResult{StopReason: string(stop), Meta: protocol.Meta{Tandem: meta}}, nil
}

func (s *server) cancel(_ context.Context, p protocol.SessionParams) {
	if se, err := s.b.Find(p.SessionID); err == nil {
		se.Cancel()
	}
}

// setParams are the parameters of session/set_mode (ModeID) and session/set_config_option (the
// others).
type setParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
	ConfigID  string `json:"configId"`
	Value     string `json:"value"`
}

func (s *server) setMode(_ context.Context, p setParams) (protocol.Empty, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return protocol.Empty{}, err
	}
	return protocol.Empty{}, backend.Refused(se.SetMode(gate.Mode(p.ModeID)))
}

func (s *server) setOption(_ context.Context, p setParams) (configOptions, error) {
	se, err := s.b.Find(p.SessionID)
	if err != nil {
		return configOptions{}, err
	}
	if p.ConfigID != modelOption || p.Value == "" {
		return configOptions{}, invalid("there is no option %.40q with the value %.80q; %s is the one.", p.ConfigID, p.Value, modelOption)
	}
	if err := se.SetModel(p.Value); err != nil {
		return configOptions{}, backend.Refused(err)
	}
	return configOptions{ConfigOptions: s.modelOptions(se)}, nil
}
