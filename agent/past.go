package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
	"tandem/tools/words"
)

// Past is a stored session.
type Past struct {
	store.Session
	history []model.Message // what the model is sent
	full    []model.Message // all messages as they were
	asked   []asked
	summary string // the model's last one of the conversation
	events  []pastEvent
	blobs   store.Store
	entries []store.Entry // of ReadPast, for JSONL
	turns   int
	usage   model.Usage
	ids     map[string]bool
	tasks   []tools.Task
	plans   pastPlans
	loaded  map[string]bool // tools
	news    string          // for the next request
}

// asked is what a person has said in a turn.
type asked struct {
	turn int
	text string
}

// pastEvent is an event, or a call with its events.
type pastEvent struct {
	Event
	call *pastCall
}

// Events are the session's events as its client got them, without transient ones. Those of a call are
// made one after the other, with the texts of the files that it changed: all of them together may
// be many times the session.
func (p *Past) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, e := range p.events {
			if e.call == nil && !yield(e.Event) || e.call != nil && !e.call.events(p.blobs, yield) {
				return
			}
		}
	}
}

// add adds an event.
func (p *Past) add(e Event) { p.events = append(p.events, pastEvent{Event: e}) }

// Turns counts them.
func (p *Past) Turns() int { return p.turns }

// ReadPast reads a session, whether or not it is locked. Errors are those of the store.
func ReadPast(st store.Store, id string) (*Past, error) {
	s, entries, err := st.Entries(id)
	if err != nil {
		return nil, err
	}
	r, err := read(entries)
	if err != nil {
		return nil, err
	}
	p := newPast(st, s, entries, r)
	p.entries = entries
	return p, nil
}

// TakePast locks a session, to continue it with Options.Past. A turn that a crash interrupted is completed first: calls
// that may have run get the result UNKNOWN, with the present text of their files, and none is retried. An error of may,
// which is called before anything is written, refuses the session.
func TakePast(
	ctx context.Context, st store.Store, id string, files filetime.Files, now func() time.Time, may func(store.Session) error,
) (*Past, error) {
	s, entries, err := st.Take(id)
	if err != nil {
		return nil, err
	}
	if err := may(s); err != nil {
		return nil, errors.Join(err, st.Release(id))
	}
	m := mender{
		r:    &record{now: now, log: slog.New(slog.DiscardHandler)},
		now:  func(path string) string { return says(ctx, files, path) },
		read: func(path string) (filetime.Snapshot, error) { return files.Read(ctx, path) },
		blob: st.Blob,
	}
	r, err := read(entries)
	if err == nil {
		m.judged, err = st.RecoveredIntents(id)
	}
	if err == nil {
		if more := m.mend(r); len(more) > 0 {
			entries = append(entries, more...)
			if err = st.Append(id, more...); err == nil {
				r, err = read(entries)
			}
		}
	}
	news := ""
	if err == nil && s.Parent != "" && r.turns == s.At {
		if news, err = changedSince(st, s); err == nil {
			var planned string
			planned, err = plannedBefore(st, s)
			news = joined(news, planned)
		}
	}
	if err != nil {
		return nil, errors.Join(err, st.Release(id))
	}
	p := newPast(st, s, entries, r)
	p.news = news
	return p, nil
}

// pastCall is a stored call.
type pastCall struct {
	run.Call
	turn      int
	began     time.Time
	said      string
	tool      string
	kind      tools.Kind
	title     string
	semantic  string
	locations []tools.Location
	running   bool
	phase     string
	result    *tools.Result
	changes   []store.Entry
	ended     time.Time
	told      bool
}

// reading is the state of calls and turns that replaying entries gives.
type reading struct {
	bodies []*body // nil of entries that pastCall has the content of
	calls  map[string]*pastCall
	order  []*pastCall
	named  map[string]bool // the calls in assistant messages
	// noticed are the intents that have a notice.
	noticed []int64
	open    int // the turn that has not ended, 0 for none
	// prompted is the last turn with a prompt, steered its messages that have not joined the conversation.
	prompted int
	steered  []steered
	turns    int
}

func read(entries []store.Entry) (*reading, error) {
	p := &reading{bodies: make([]*body, len(entries)), calls: map[string]*pastCall{}, named: map[string]bool{}}
	var ofCall body
	for i, e := range entries {
		b := &ofCall
		switch e.Kind {
		case store.Decision: // its body is the caller's
			continue
		case store.Call, store.Running, store.Result, store.Change:
			ofCall = body{}
		default:
			b = &body{}
			p.bodies[i] = b
		}
		if err := b.decode(e); err != nil {
			return nil, err
		}
		if e.Turn > p.turns {
			p.turns, p.open = e.Turn, e.Turn
		}
		c := p.calls[e.Call]
		switch e.Kind {
		case store.Message, store.Steer:
			if b.Message == nil {
				return nil, fmt.Errorf("%w: a message says nothing", store.ErrDamaged)
			}
			if b.OfCall {
				known := model.Message{Text: "[UNKNOWN] The result of this call was not kept."}
				if c != nil && c.result != nil {
					known = loop.ResultMessage(c.Call, *c.result)
				}
				b.Message.Text, b.Message.Attachments = known.Text+b.Message.Text, known.Attachments
			}
			if e.Kind == store.Steer {
				p.steered = append(p.steered, steered{*b.Message, e.Text})
				continue
			}
			if b.Message.Role == model.User && e.Text != "" {
				if p.prompted != e.Turn {
					p.prompted = e.Turn
				} else if len(p.steered) > 0 {
					p.steered = p.steered[1:] // FIFO
				}
			}
			for _, call := range b.Message.Calls {
				p.named[call.ID] = true
			}
		case store.Call:
			c = &pastCall{
				Call: run.Call{ID: e.Call, Name: b.Name, Arguments: json.RawMessage(b.Arguments)}, turn: e.Turn, began: e.Time,
				said: e.Text, tool: b.Tool, kind: b.Kind, title: b.Title,
			}
			p.calls[e.Call] = c
			p.order = append(p.order, c)
		case store.Running:
			if c != nil {
				c.running, c.locations = true, b.Locations
			}
		case store.Result:
			if c != nil {
				c.result, c.phase, c.ended, c.title, c.kind = b.Result, b.Phase, e.Time, b.Title, b.Kind
				c.locations, c.semantic = b.Locations, b.Semantic
			}
		case store.Change:
			if c != nil {
				c.changes = append(c.changes, e)
			}
		case store.Notice:
			p.noticed = append(p.noticed, b.Intent)
		case store.End:
			p.open = 0
		}
	}
	return p, nil
}

// decode decodes the body of an entry. The value of a result stays JSON: it is only sent on.
func (b *body) decode(e store.Entry) error {
	var value json.RawMessage
	if e.Kind == store.Result {
		b.Result = &tools.Result{Value: &value}
	}
	if err := json.Unmarshal(e.Body, b); err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	switch r := b.Result; {
	case r == nil:
	case r.Data == "" && !r.Success && r.Error == "": // no result is stored
		b.Result = nil
	case len(value) > 0:
		r.Value = value
	default:
		r.Value = nil
	}
	return nil
}

// newPast builds the history and the events from entries and their reading.
func newPast(st store.Store, s store.Session, entries []store.Entry, r *reading) *Past {
	p := &Past{Session: s, blobs: st, turns: r.turns, ids: map[string]bool{}, loaded: map[string]bool{}}
	for id := range r.calls {
		p.ids[id] = true
	}
	var last *Event // of Usage
	answers := map[string]*model.Message{}
	messages := 0
	for _, b := range r.bodies {
		if b != nil && b.Message != nil {
			messages++
			if b.Message.Role == model.Tool {
				answers[b.Message.CallID] = b.Message
			}
		}
	}
	p.history = make([]model.Message, 0, messages)
	p.full = make([]model.Message, 0, messages)
	p.events = make([]pastEvent, 0, messages)
	for i, e := range entries {
		b := r.bodies[i]
		switch e.Kind {
		case store.Plan:
			p.plans.add(st, e, b.Plan, r.calls[e.Call])
		case store.Message:
			if b.Message.Role == model.User {
				p.plans.news = nil
			}
			p.full = append(p.full, *b.Message)
			p.history = append(p.history, *b.Message)
			p.message(e, *b.Message)
			for _, c := range b.Message.Calls {
				p.ids[c.ID] = true
				call := r.calls[c.ID]
				if call == nil { // cut off before it was complete, or made elsewhere
					call = &pastCall{
						Call: run.Call{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)}, turn: e.Turn, began: e.Time,
						tool: c.Name, kind: tools.Other, title: c.Name, ended: e.Time, phase: "error",
					}
					if m, ok := answers[c.ID]; ok {
						result := loop.CutOff()
						if e.Turn == 0 { // of the history that the session began with
							result, call.phase = tools.Result{Success: true}, "result"
						}
						result.Data = m.Text
						call.result = &result
					}
				}
				p.call(call)
			}
		case store.Call:
			if !r.named[e.Call] {
				p.call(r.calls[e.Call])
			}
		case store.Change:
			if c := r.calls[e.Call]; c != nil && c.told && c.result != nil && c.result.Error == filetime.Unknown && c.result.Reason == filetime.Held {
				p.add(Event{Turn: e.Turn, Late: e.Call})
			}
		case store.Loaded:
			for _, name := range b.Names {
				p.loaded[name] = true
			}
		case store.End, store.Notice:
			if u := b.Usage; u != nil && *u != (model.Usage{}) {
				p.usage = p.usage.Add(*u)
				last = &Event{Turn: e.Turn, Usage: u, Session: p.usage}
			}
			text := e.Text
			if stop := b.Stop; e.Kind == store.End && text == "" && stop != "" && stop != loop.EndTurn {
				text = words.Ending(string(stop))
			}
			if text != "" {
				p.add(Event{Turn: e.Turn, Notice: text})
			}
		case store.Window:
			if b.Window != nil {
				p.history = rewritten(p.history, *b.Window)
				p.summary = cmp.Or(b.Window.Summary, p.summary)
			}
			p.ids[e.Call] = true
			p.add(Event{Turn: e.Turn, Notice: e.Text, Compaction: e.Call})
		case store.Tasks:
			p.tasks = append([]tools.Task{}, b.Tasks...)
		}
	}
	if p.tasks != nil {
		p.add(Event{Tasks: p.tasks})
	}
	if last != nil {
		p.add(*last)
	}
	return p
}

// rewritten is a history after a rewrite, which counts no instructions.
func rewritten(history []model.Message, r window.Rewrite) []model.Message {
	var instructions, rest []model.Message
	for _, m := range history {
		if m.Role == model.System {
			instructions = append(instructions, m)
		} else {
			rest = append(rest, m)
		}
	}
	return append(instructions, r.Apply(rest)...)
}

// message adds the events of a message.
func (p *Past) message(e store.Entry, m model.Message) {
	switch m.Role {
	case model.User:
		if e.Text != "" {
			p.asked = append(p.asked, asked{e.Turn, e.Text})
			p.add(Event{Turn: e.Turn, User: e.Text})
		}
	case model.Assistant:
		for _, t := range m.Thoughts {
			if t.Text != "" {
				p.add(Event{Turn: e.Turn, Thought: t.Text})
			}
		}
		if e.Text != "" {
			p.add(Event{Turn: e.Turn, Text: e.Text})
		}
	}
}

// call adds a call.
func (p *Past) call(c *pastCall) {
	if !c.told {
		c.told = true
		p.events = append(p.events, pastEvent{call: c})
	}
}

// events yields the events of a call; false if no more are wanted.
func (c *pastCall) events(st store.Store, yield func(Event) bool) bool {
	event := run.Event{
		Call: c.Call, Tool: c.tool, Kind: c.kind, Title: c.title, State: run.Queued, Phase: "use", At: c.began,
		Plan: &tools.Plan{Title: c.title, Kind: c.kind, Semantic: c.semantic, Locations: c.locations},
	}
	tell := func(s run.State, phase string, at time.Time) bool {
		e := event
		e.State, e.Phase, e.At = s, phase, at
		return yield(Event{Turn: c.turn, At: max(0, at.Sub(c.began)), Call: &e})
	}
	if !tell(run.Queued, "use", c.began) {
		return false
	}
	if c.result == nil {
		return !c.running || tell(run.Executing, "use", c.began)
	}
	result := *c.result
	result.Landed = landed(st, c.changes)
	event.Result = &result
	return tell(run.Completed, c.phase, c.ended) // that the model was given it says nothing more
}

// landed are the changes of a call, nil if there are none or their texts are gone.
func landed(st store.Store, changes []store.Entry) *filetime.Landed {
	var out filetime.Landed
	for _, e := range changes {
		var b body
		if json.Unmarshal(e.Body, &b) != nil || len(e.Blobs) != 2 && b.Entry == filetime.File {
			return nil
		}
		if b.Entry != filetime.File {
			out.Files = append(out.Files, filetime.LandedFile{
				Path: b.Path, Origin: b.Origin, Entry: b.Entry, Created: b.Operation == OpCreate, Deleted: b.Operation == OpDelete, Applied: true,
			})
			continue
		}
		if b.Operation == OpShell { // it is no edit that a client could apply
			continue
		}
		f := filetime.LandedFile{Path: b.Path, Origin: b.Origin, Entry: b.Entry, Created: b.Operation == OpCreate, Deleted: b.Operation == OpDelete, Applied: true}
		before, err1 := st.Blob(e.Blobs[0].Hash)
		after, err2 := st.Blob(e.Blobs[1].Hash)
		if err1 != nil || err2 != nil {
			return nil
		}
		f.Before, f.After = f.Before.Replace(0, 0, before), f.After.Replace(0, 0, after)
		out.Files = append(out.Files, f)
	}
	if len(out.Files) == 0 {
		return nil
	}
	return &out
}
