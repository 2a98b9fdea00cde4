package lspserver

import (
	"sync"
	"sync/atomic"

	"tandem/agent"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/tools/run"
)

// view implements backend.View by messages to the client.
type view struct {
	s  *server
	id string // of the session
	*updates.Stream
	// progress is that of the latest turn; answer collects the model's text in a turn of tandem.ask.
	progress atomic.Pointer[progress]
	answer   answer
	unable   sync.Map // the files of which a person was told that the editor takes no edits of them
}

func (f face) View(se *backend.Session) backend.View {
	s, id := f.s, se.ID()
	return &view{s: s, id: id, Stream: updates.New(updates.Options{
		Send: func(u protocol.Update) {
			notify(s, protocol.SessionUpdate, protocol.UpdateParams{SessionID: id, Update: u})
		},
		Waiting: s.conn.Backlog, MaxDiff: s.b.MaxDiff, Jobs: func() []protocol.JobState { return updates.Jobs(se.Session) },
		Commands: func() []protocol.Command { return updates.Commands(se.Session) },
		Guard:    func(fn func()) { s.b.Guard("updates", fn) },
	})}
}

// viewOf is a session's view.
func viewOf(se *backend.Session) *view { return se.View.(*view) }

// On queues an event. A plain client gets no updates, but has hunks to review.
func (v *view) On(e agent.Event) {
	if len(e.Hunks) > 0 {
		v.s.hunksChanged(v.id, e.Hunks)
		return
	}
	if len(e.Plans) > 0 {
		notify(v.s, protocol.PlanDidChange, protocol.PlanDidChangeParams{SessionID: v.id, PlanIDs: e.Plans})
		return
	}
	v.answer.on(e)
	if e.Call != nil && e.Call.State == run.Executing {
		if p := v.progress.Load(); p != nil {
			p.running(v.s.oneLine(e.Call.Title), e.Call.Progress)
		}
	}
	if v.s.client.plain {
		v.plainly(e)
		return
	}
	v.Stream.On(e)
}
