package lspserver

import (
	"sync/atomic"

	"tandem/agent"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
)

// view is a session as the client is shown it.
type view struct {
	s *server
	*updates.Stream
	// progress is that of the latest turn; answer what the model says in a turn that tandem.ask began.
	progress atomic.Pointer[progress]
	answer   answer
}

func (f face) View(se *backend.Session) backend.View {
	s, id := f.s, se.ID()
	return &view{s: s, Stream: updates.New(updates.Options{
		Send: func(u protocol.Update) {
			notify(s, protocol.SessionUpdate, protocol.UpdateParams{SessionID: id, Update: u})
		},
		Waiting: s.conn.Backlog, MaxDiff: s.b.MaxDiff,
		Guard: func(fn func()) { s.b.Guard("updates", fn) },
	})}
}

// viewOf is what a session is shown by.
func viewOf(se *backend.Session) *view { return se.View.(*view) }

// On takes an event in. A plain client has no updates.
func (v *view) On(e agent.Event) {
	v.answer.on(e)
	if v.s.client.plain {
		v.plainly(e)
		return
	}
	v.Stream.On(e)
}
