package lspserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/run"
)

// face implements backend.Face by messages to the client.
type face struct{ s *server }

var _ backend.Face = face{}

func (f face) Warn(message string) { f.s.warn(message) }

// Ask asks by Tandem's own request, or else by LSP's; see questions.
func (f face) Ask(ctx context.Context, se *backend.Session, q run.Question) run.Answer {
	s := f.s
	ask := s.questions.permission
	if s.client.tandem.Permission {
		ask = s.askPermission
	}
	answer, err := ask(ctx, se.ID(), q)
	if err == nil {
		return answer
	}
	if errors.Is(err, errors.ErrUnsupported) || wire.Is(err, wire.CodeMethodNotFound) {
		return run.Answer{Outcome: run.Unavailable}
	}
	s.log.Debug("permission was not answered", "error", err)
	return run.Answer{Outcome: run.Unanswered}
}

func (s *server) askPermission(ctx context.Context, id string, q run.Question) (run.Answer, error) {
	var r protocol.PermissionResult
	if err := call(ctx, s.conn, protocol.SessionRequestPermission, updates.Permission(id, q, s.b.MaxDiff()), &r); err != nil {
		s.resolved(ctx, id, q.Call.ID)
		return run.Answer{}, err
	}
	answer, ok := updates.Answer(q, r)
	if !ok {
		s.log.Warn("an answer to a permission request that was not on offer", "outcome", r.Outcome.Outcome)
	}
	return answer, nil
}

// resolved tells the client of a question that ended before it was answered there.
func (s *server) resolved(ctx context.Context, id, call string) {
	if ctx.Err() == nil {
		return
	}
	by, option := backend.ResolvedBy(ctx)
	notify(s, protocol.SessionResolved, protocol.ResolvedParams{
		SessionID: id, ToolCallID: call, OptionID: string(option), By: by, AlreadyResolved: true,
	})
}

// ToolsChanged sends a notification of each tool to clients that subscribed, those that are gone first.
func (f face) ToolsChanged(session string, gone, come []tools.Tool) {
	if !f.s.client.tandem.Events {
		return
	}
	send := func(what string, list []tools.Tool) {
		for _, t := range list {
			notify(f.s, protocol.ToolsEvent, protocol.ToolEvent{Type: what, Name: t.Spec().Name, Source: run.Source(t.Spec()), SessionID: session})
		}
	}
	send("unregister", gone)
	send("register", come)
}

// Invoke sends the call to the client.
func (f face) Invoke(ctx context.Context, i backend.Invocation) ([]byte, error) {
	var answer json.RawMessage
	err := call(ctx, f.s.conn, protocol.ToolsInvoke, protocol.InvokeToolParams{
		Name: i.Tool, Arguments: i.Arguments, SessionID: i.Session, CallID: i.Call,
	}, &answer)
	if wire.Is(err, wire.CodeMethodNotFound) {
		return nil, errors.ErrUnsupported
	}
	return bytes.Clone(answer), err
}

// Called sends a notification of each call to clients that subscribed.
func (f face) Called(id string, e *run.Event, source string) {
	if !f.s.client.tandem.Events {
		return
	}
	r := e.Result
	ms := float64(r.Duration.Microseconds()) / 1000
	ev := protocol.ToolEvent{
		Type: "execute", Name: e.Tool, SessionID: id, CallID: e.Call.ID, DurationMs: ms, Error: string(r.Error), Source: source,
	}
	if !r.Success {
		ev.Type = "error"
	}
	notify(f.s, protocol.ToolsEvent, ev)
}
