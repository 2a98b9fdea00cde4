// Package acp is the face for the Agent Client Protocol, version 1: one JSON text a line, for
// editors that drive agents. Like every face it turns the payloads of its wire into the backend's
// values and back. What it sends is valid by the protocol's schema; what is ours beside that stands
// in _meta.tandem.
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

// Options are what a server takes from the program that starts it.
type Options struct {
	// What the application takes; its Log is the server's too.
	backend.Options
	Version string
	// Trace is told of every message, see wire.Options; may be nil.
	Trace func(in bool, body []byte)
}

// Serve answers one client on rwc until its bytes end, and gives the exit code: 0 where they ended
// in order, else 1. Every session has ended and every command is gone when it returns.
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
	// The handlers wait for s.conn, which is there only once the connection has begun.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{Log: s.log, Trace: o.Trace, Code: coded, ACP: true})
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

// clientCapabilities is what is used of what a client says that it can do.
type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Session struct {
		Notices *struct{} `json:"notices"`
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
	type is = map[string]any
	return is{
		"protocolVersion": 1, // whatever the client asks for, which then decides whether it can go on
		"agentCapabilities": is{
			"loadSession":         true,
			"promptCapabilities":  is{"image": true, "embeddedContext": true},
			"sessionCapabilities": is{"list": is{}, "close": is{}, "delete": is{}, "additionalDirectories": is{}},
		},
		"agentInfo":   is{"name": "tandem", "title": "Tandem", "version": s.o.Version},
		"authMethods": []any{},
	}, nil
}

// face shows the backend to the client.
type face struct{ s *server }

var _ backend.Face = face{}

// View gives what a session is shown by.
func (f face) View(se *backend.Session) backend.View {
	s, id := f.s, se.ID()
	return &view{Stream: updates.New(updates.Options{
		Send: func(u protocol.Update) {
			if p, ok := payload(u, s.client.Session.Notices != nil); ok {
				s.update(id, p)
			}
		},
		Waiting: s.conn.Backlog, MaxDiff: s.b.MaxDiff, Jobs: func() []protocol.JobState { return updates.Jobs(se.Session) },
		Commands: func() []protocol.Command { return updates.Commands(se.Session) },
		Guard:    func(fn func()) { s.b.Guard("updates", fn) },
	})}
}

// update sends an update; one that cannot be sent any more is not missed.
func (s *server) update(session string, update any) {
	_ = s.conn.Notify(s.conn.Context(), "session/update", updateParams{SessionID: session, Update: update})
}

// Ask asks for permission.
func (f face) Ask(ctx context.Context, se *backend.Session, q run.Question) run.Answer {
	var r protocol.PermissionResult
	err := f.s.conn.Call(ctx, "session/request_permission", permission(updates.Permission(se.ID(), q, f.s.b.MaxDiff())), &r)
	var coded *wire.Error
	switch {
	case errors.As(err, &coded) && coded.Code == wire.CodeMethodNotFound:
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

// Clarify has no way to ask.
func (face) Clarify(context.Context, *backend.Session, tools.Clarification) (string, error) {
	return "", errors.ErrUnsupported
}

// Warn shows a sentence as a notice of every session, where the client takes notices, and writes it
// to the log.
func (f face) Warn(message string) {
	f.s.log.Warn(message)
	for _, se := range f.s.b.All() {
		se.View.On(agent.Event{Notice: message})
	}
}

// Problems shows those that are new and bad.
func (f face) Problems(_ context.Context, all []backend.Problem, _ func(string) string) {
	for _, p := range all {
		if p.New && p.Bad {
			f.Warn(p.Text)
		}
	}
}

// FileState and Called are of what this protocol does not tell of.
func (face) FileState(workspace.State)         {}
func (face) Called(string, *run.Event, string) {}

// ToolsChanged is of what this protocol does not tell of either.
func (face) ToolsChanged(string, []tools.Tool, []tools.Tool) {}

// Invoke has no way to ask: this protocol has no tools of clients.
func (face) Invoke(context.Context, backend.Invocation) ([]byte, error) {
	return nil, errors.ErrUnsupported
}
