// Package acp is the face for the Agent Client Protocol, version 1: one JSON text a line, for
// editors that drive agents. Like every face it converts between the payloads of its wire and the
// backend's values. All it sends is valid by the protocol's schema; additions of Tandem are in
// _meta.tandem.
package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"tandem/agent"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
	"tandem/tools"
	"tandem/tools/run"
)

// Options of a server, set by the program that starts it.
type Options struct {
	// Options of the application. Its Log is the server's too.
	backend.Options
	Version string
	// Trace is called for every message, see wire.Options. May be nil.
	Trace func(in bool, body []byte)
}

// Serve serves one client on rwc until the end of its bytes, and returns the exit code: 0 after an
// orderly end, else 1. Before it returns, every session has ended and every command has exited.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, o Options) int {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{o: o, log: o.Log, ready: make(chan struct{})}
	s.b = backend.New(o.Options, face{s})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := wire.NewRouter()
	wire.Handle(r, "initialize", s.initialize)
	s.sessionRoutes(r)
	// Handlers wait for ready, since s.conn is set only after the connection has begun.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{Log: s.log, Trace: o.Trace, Code: toWireError, ACP: true})
	close(s.ready)
	code := s.conn.Wait()
	s.b.End()
	return code
}

// server is one connection.
type server struct {
	o     Options
	b     *backend.Backend
	log   *slog.Logger
	conn  *wire.Conn
	ready chan struct{}

	client clientCapabilities // set by initialize and then read-only
}

type initializeParams struct {
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         struct {
		Name string `json:"name"`
	} `json:"clientInfo"`
}

// clientCapabilities are the capabilities of a client that are used here.
type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Session struct {
		Notices    *struct{} `json:"notices"`
		Compaction *struct{} `json:"compaction"`
	} `json:"session"`
}

func (s *server) initialize(_ context.Context, p initializeParams) (map[string]any, error) {
	<-s.ready
	s.client = p.ClientCapabilities
	err := s.b.Start(s.conn.Context(), backend.Client{
		Name:     p.ClientInfo.Name,
		Attended: true,
		Editor:   files{s},
		Features: workspace.Features{Versionless: s.client.FS.ReadTextFile && s.client.FS.WriteTextFile},
	})
	if err != nil {
		return nil, err
	}
	s.b.Later(s.b.Ready)
	type object = map[string]any
	return object{
		"protocolVersion": 1, // for every requested version; the client decides whether to go on
		"agentCapabilities": object{
			"loadSession":         true,
			"promptCapabilities":  object{"image": true, "embeddedContext": true},
			"mcpCapabilities":     object{"http": true},
			"sessionCapabilities": object{"list": object{}, "close": object{}, "delete": object{}, "additionalDirectories": object{}},
		},
		"agentInfo":   object{"name": "tandem", "title": "Tandem", "version": s.o.Version},
		"authMethods": []any{},
	}, nil
}

// face shows the backend to the client.
type face struct{ s *server }

var _ backend.Face = face{}

// View returns the view that shows a session to the client.
func (f face) View(se *backend.Session) backend.View {
	s, id := f.s, se.ID()
	return &view{Stream: updates.New(updates.Options{
		Send: func(u protocol.Update) {
			if p, ok := updatePayload(u, s.client.Session.Notices != nil, s.client.Session.Compaction != nil); ok {
				s.update(id, p)
			}
		},
		Waiting: s.conn.Backlog, MaxDiff: s.b.MaxDiff, Jobs: func() []protocol.JobState { return updates.Jobs(se.Session) },
		Commands: func() []protocol.Command { return updates.Commands(se.Session) },
		Guard:    func(fn func()) { s.b.Guard("updates", fn) },
	})}
}

// update sends an update. An error means that the connection has ended.
func (s *server) update(session string, update any) {
	_ = s.conn.Notify(s.conn.Context(), "session/update", updateParams{SessionID: session, Update: update})
}

// Ask asks for permission.
func (f face) Ask(ctx context.Context, se *backend.Session, q run.Question) run.Answer {
	var r protocol.PermissionResult
	err := f.s.conn.Call(ctx, "session/request_permission", permissionPayload(updates.Permission(se.ID(), q, f.s.b.MaxDiff())), &r)
	switch {
	case wire.Is(err, wire.CodeMethodNotFound):
		return run.Answer{Outcome: run.Unavailable}
	case err != nil:
		f.s.log.Debug("permission was not answered", "error", err)
		return run.Answer{Outcome: run.Unanswered}
	}
	answer, ok := updates.Answer(q, r)
	if !ok {
		f.s.log.Warn("an answer to a permission request that was not on offer", "outcome", r.Outcome.Outcome)
	}
	return answer
}

// Clarify is unsupported: the protocol has no request for a question.
func (face) Clarify(context.Context, *backend.Session, tools.Clarification) (string, error) {
	return "", errors.ErrUnsupported
}

// Warn logs a sentence and shows it as a notice of every session, if the client supports notices.
func (f face) Warn(message string) {
	f.s.log.Warn(message)
	for _, se := range f.s.b.All() {
		se.View.On(agent.Event{Notice: message})
	}
}

// Problems shows the new errors of the configuration.
func (f face) Problems(_ context.Context, all []backend.Problem, _ func(string) string) {
	for _, p := range all {
		if p.New && p.Bad {
			f.Warn(p.Text)
		}
	}
}

// FileState and Called have no counterpart in this protocol.
func (face) FileState(workspace.State)         {}
func (face) Called(string, *run.Event, string) {}

// ToolsChanged has no counterpart in this protocol.
func (face) ToolsChanged(string, []tools.Tool, []tools.Tool) {}

// Invoke is unsupported: the protocol has no tools of clients.
func (face) Invoke(context.Context, backend.Invocation) ([]byte, error) {
	return nil, errors.ErrUnsupported
}
