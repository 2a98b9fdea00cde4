package lspserver

import (
	"context"
	"errors"

	"tandem/agent"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools"
	"tandem/tools/run"
)

// host is the client as a session sees it.
type host struct{ s *server }

func (h host) Update(id string, e agent.Event) {
	h.s.guard("telling of an event", func() { h.update(id, e) })
}

func (h host) update(id string, e agent.Event) {
	s := h.s
	if e.Call != nil && e.Call.State == run.Completed && e.Call.Result != nil {
		s.count(id, e.Call)
	}
	se, err := s.find(id)
	if err != nil {
		return
	}
	se.answer.on(e)
	if s.client.plain {
		s.plainly(se, e)
		return
	}
	se.updates.On(e)
}

// told sends what waits of a session's updates, so that nobody is asked about what they have not been told of.
func (h host) told(id string) {
	if se, err := h.s.find(id); err == nil {
		h.s.guard("telling before asking", se.updates.Flush)
	}
}

// Ask asks through the client's own request, or else through LSP's; see questions.
func (h host) Ask(ctx context.Context, id string, q run.Question) run.Answer {
	s := h.s
	h.told(id)
	ask := s.questions.permission
	if s.client.tandem.Permission {
		ask = s.askPermission
	}
	answer, err := ask(ctx, id, q)
	if err == nil {
		return answer
	}
	var coded *wire.Error
	if errors.Is(err, errors.ErrUnsupported) || errors.As(err, &coded) && coded.Code == wire.CodeMethodNotFound {
		return run.Answer{Outcome: run.Unavailable}
	}
	s.log.Debug("permission was not answered", "error", err)
	return run.Answer{Outcome: run.Unanswered}
}

func (s *server) askPermission(ctx context.Context, id string, q run.Question) (run.Answer, error) {
	var r protocol.PermissionResult
	if err := s.conn.Call(ctx, "tandem/session/requestPermission", updates.Permission(id, q, s.maxDiff()), &r); err != nil {
		return run.Answer{}, err
	}
	answer, ok := updates.Answer(r)
	if !ok {
		s.log.Warn("an answer to a permission request that was not on offer", "outcome", r.Outcome.Outcome)
	}
	return answer, nil
}

// maxDiff is the largest change that is told of with its texts.
func (s *server) maxDiff() int { return s.config().Limits.MaxDiffBytes }

// count keeps the figures of tandem/status and tells who wants to hear of every call.
func (s *server) count(id string, e *run.Event) {
	r := e.Result
	name := e.Tool
	if s.tools.Load().Get(name) == nil {
		name = "(unknown)"
	}
	ms := float64(r.Duration.Microseconds()) / 1000
	s.mu.Lock()
	st := s.stats[name]
	if st == nil {
		st = &protocol.ToolStats{Name: name}
		s.stats[name] = st
	}
	st.Calls++
	st.MS += ms
	st.Bytes += int64(len(r.Data))
	if !r.Success {
		st.Errors++
	}
	s.mu.Unlock()
	if !s.client.tandem.Events {
		return
	}
	ev := protocol.ToolEvent{Type: "execute", Name: e.Tool, SessionID: id, CallID: e.Call.ID, DurationMs: ms, Error: string(r.Error)}
	if !r.Success {
		ev.Type = "error"
	}
	if t := s.tools.Load().Get(e.Tool); t != nil {
		ev.Source = source(t.Spec())
	}
	s.notify("tandem/tools/event", ev)
}

func source(spec tools.Spec) string {
	if spec.Source == "" {
		return "builtin"
	}
	return spec.Source
}
