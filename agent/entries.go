package agent

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/run"
)

// body is the JSON of store.Entry.Body.
type body struct {
	Message *model.Message `json:"message,omitempty"`
	// OfCall says that the text of Message follows what a model reads of its call's result, whose attachments it has too.
	OfCall bool `json:"ofCall,omitempty"`

	Name      string           `json:"name,omitempty"`
	Arguments string           `json:"arguments,omitempty"`
	Tool      string           `json:"tool,omitempty"`
	Kind      tools.Kind       `json:"kind,omitempty"`
	Title     string           `json:"title,omitempty"`
	Phase     string           `json:"phase,omitempty"`
	Semantic  string           `json:"semantic,omitempty"`
	Locations []tools.Location `json:"locations,omitempty"`
	Result    *tools.Result    `json:"result,omitempty"`

	Path      string         `json:"path,omitempty"`
	Operation Operation      `json:"operation,omitempty"`
	Origin    string         `json:"origin,omitempty"`
	Entry     filetime.Entry `json:"entry,omitempty"`
	// Before and After are the hashes of texts, empty where there was no file.
	Before  string      `json:"before,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	After   string      `json:"after,omitempty"`
	Allowed bool        `json:"allowed,omitempty"`

	Tasks []tools.Task `json:"tasks,omitempty"`

	Stop  StopReason   `json:"stop,omitempty"`
	Usage *model.Usage `json:"usage,omitempty"`

	Plan *keptPlan `json:"plan,omitempty"`

	// Names are the tools of Loaded.
	Names []string `json:"names,omitempty"`

	// Window is a rewrite of what the model is sent.
	Window *window.Rewrite `json:"window,omitempty"`

	// Intent is the intent of a notice.
	Intent int64 `json:"intent,omitempty"`
}

func (r *record) entry(turn int, kind store.Kind, call, text string, b body) store.Entry {
	raw, err := json.Marshal(b)
	if err != nil && b.Result != nil { // the tool's value does not marshal
		b.Result.Value = nil
		raw, err = json.Marshal(b)
	}
	if err != nil {
		r.log.Error("an entry of the session does not marshal", "kind", kind, "error", err)
	}
	return store.Entry{Time: r.now(), Turn: turn, Kind: kind, Call: call, Text: text, Body: raw}
}

// said stores messages. shown is the text of the first for transcripts.
func (r *record) said(turn int, shown string, messages ...model.Message) *batch {
	return r.soon(r.messages(turn, shown, messages)...)
}

func (r *record) messages(turn int, shown string, messages []model.Message) []store.Entry {
	if r.open == nil {
		return nil
	}
	entries := make([]store.Entry, len(messages))
	for i, m := range messages {
		b := body{Message: &m}
		if m.Role == model.Tool {
			r.mu.Lock()
			known, ok := r.results[m.CallID]
			delete(r.results, m.CallID)
			r.mu.Unlock()
			rest, same := strings.CutPrefix(m.Text, known.Text)
			if ok && same && model.SameAttachments(m.Attachments, known.Attachments) {
				m.Text, m.Attachments, b.OfCall = rest, nil, true
			}
		}
		entries[i] = r.entry(turn, store.Message, m.CallID, shown, b)
		shown = ""
	}
	return entries
}

// say records the text of an answer that precedes a call.
func (r *record) say(call, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text != "" {
		r.saying[call] = text
	}
}

// mostData is from how many bytes for a model on a result is kept without its Value, which says the same once more, for the program that
// has it by now. Of a call that such a program has made no more than that is kept of the text either: no model goes on from it.
const mostData = 256 << 10

// saw stores an event of a call. The client gets it once the batch is written.
func (r *record) saw(turn int, e run.Event) *batch {
	if r.open == nil {
		return nil
	}
	id := e.Call.ID
	b := body{Tool: e.Tool, Kind: e.Kind, Title: e.Title}
	switch e.State {
	case run.Queued:
		r.mu.Lock()
		said := r.saying[id]
		delete(r.saying, id)
		r.mu.Unlock()
		b.Name, b.Arguments = e.Call.Name, string(e.Call.Arguments)
		return r.soon(r.entry(turn, store.Call, id, said, b))
	case run.Completed:
		if e.Result == nil {
			return nil
		}
		result := *e.Result
		result.Landed, result.Effects, result.Meta, result.Diffs = nil, nil, tools.Meta{}, slices.Clone(result.Diffs)
		for i := range result.Diffs {
			result.Diffs[i].Hunks = nil // redundant: Unified has them
		}
		if len(result.Data) > mostData {
			result.Value = nil
			if turn == 0 { // no Message follows, see OfCall
				kept := strings.ToValidUTF8(result.Data[:mostData], "")
				result.Data = fmt.Sprintf("%s\n… [%d bytes more are not kept] …", kept, len(result.Data)-len(kept))
				result.Truncated = true
			}
		}
		b.Phase, b.Result = e.Phase, &result
		if e.Plan != nil {
			b.Locations, b.Semantic = e.Plan.Locations, e.Plan.Semantic
		}
		entries := []store.Entry{r.entry(turn, store.Result, id, "", b)}
		written := r.soon(append(entries, r.changes(turn, e)...)...)
		if turn > 0 { // its Message entry follows, see OfCall
			r.mu.Lock()
			r.results[id] = loop.ResultMessage(e.Call, *e.Result)
			r.mu.Unlock()
		}
		return written
	}
	return nil
}

// places are the locations of a plan.
func places(p *tools.Plan) []tools.Location {
	if p.Change == nil {
		return p.Locations
	}
	var out []tools.Location
	for _, f := range p.Change.Files {
		out = append(out, tools.Location{Path: f.Path})
	}
	return out
}

// landed are the entries of a change.
func (r *record) landed(turn int, call string, l filetime.Landed, allowed bool) (out []store.Entry) {
	for _, f := range l.Files {
		if !f.Applied || f.Already {
			continue
		}
		op := OpEdit
		switch {
		case f.Created:
			op = OpCreate
		case f.Deleted:
			op = OpDelete
		case f.Origin != "":
			op = OpMove
		}
		out = append(out, r.landedAs(turn, call, body{Operation: op, Mode: f.Mode, Allowed: allowed}, f, f.Deleted))
	}
	return out
}

// changes are the entries of a call's changes.
func (r *record) changes(turn int, e run.Event) (out []store.Entry) {
	if l := e.Result.Landed; l != nil && e.Plan != nil && e.Plan.Change != nil && !e.Plan.Change.Undo { // see Changed
		out = r.landed(turn, e.Call.ID, *l, e.Plan.Change.Allowed)
	}
	if l := e.Result.Effects; l != nil {
		out = append(out, r.effects(turn, e.Call.ID, *l)...)
	}
	return out
}

// effects are the entries of a command's changes.
func (r *record) effects(turn int, call string, l filetime.Landed) (out []store.Entry) {
	for _, f := range l.Files {
		out = append(out, r.landedAs(turn, call, body{Operation: OpShell, Mode: f.Mode}, f, f.Deleted))
	}
	return out
}

// ended stores the end of a turn.
func (r *record) ended(turn int, stop StopReason, usage model.Usage, why error) {
	text := ""
	if why != nil {
		text = why.Error()
	}
	r.add(r.entry(turn, store.End, "", text, body{Stop: stop, Usage: &usage}))
}
