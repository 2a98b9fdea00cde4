package lspserver

import (
	"strings"
	"sync"
	"time"

	"tandem/agent"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/run"
)

// frame is the least time between two updates of a session that can wait: at most 30 a second.
const frame = time.Second / 30

// updates turns a session's events into tandem/session/update: text and progress are gathered to one update a frame,
// everything else goes out at once, after what was gathered before it.
type updates struct {
	session string
	send    func(method string, params any)

	mu      sync.Mutex
	kind    string // of the gathered text
	text    strings.Builder
	waiting []protocol.Update // gathered progress, one for each call
	timer   *time.Timer
	last    time.Time
	calls   map[string]*callState
}

// callState is what has been told of a call.
type callState struct {
	announced bool
	at        map[string]int64
	kind      string
	partial   string
	output    strings.Builder
}

func newUpdates(session string, send func(string, any)) *updates {
	return &updates{session: session, send: send, calls: map[string]*callState{}}
}

// on takes an event in; it never blocks.
func (u *updates) on(e agent.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case e.Text != "":
		u.gather("agent_message_chunk", e.Text)
	case e.Thought != "":
		u.gather("agent_thought_chunk", e.Thought)
	case e.User != "":
		u.gather("user_message_chunk", e.User)
	case e.Call != nil:
		u.call(e)
	case e.Usage != nil:
		usage := usageOf(*e.Usage)
		u.now(protocol.Update{SessionUpdate: "usage_update", Usage: &usage})
	case e.Notice != "":
		u.now(protocol.Update{SessionUpdate: "notice", Content: textBlock(e.Notice)})
	case e.Mode != "":
		u.now(protocol.Update{SessionUpdate: "current_mode_update", CurrentModeID: e.Mode})
	}
}

// flush sends what was gathered.
func (u *updates) flush() {
	u.mu.Lock()
	u.drain()
	u.mu.Unlock()
}

func (u *updates) gather(kind, s string) {
	if u.kind != kind {
		u.drain()
		u.kind = kind
	}
	u.text.WriteString(s)
	u.soon()
}

// soon sends what is gathered now, if a frame has passed, else at its end. u.mu is held.
func (u *updates) soon() {
	if u.timer != nil {
		return
	}
	if wait := frame - time.Since(u.last); wait > 0 {
		u.timer = time.AfterFunc(wait, u.flush)
		return
	}
	u.drain()
}

func (u *updates) drain() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	if u.text.Len() > 0 {
		u.post(protocol.Update{SessionUpdate: u.kind, Content: textBlock(u.text.String())})
		u.text.Reset()
	}
	for _, w := range u.waiting {
		if m, ok := w.Meta.Tandem.(protocol.UpdateMeta); ok {
			if c := u.calls[w.ToolCallID]; c != nil {
				m.PartialInput, m.Output = c.partial, c.output.String()
				c.output.Reset()
				w.Meta = &protocol.Meta{Tandem: m}
			}
		}
		u.post(w)
	}
	u.waiting = u.waiting[:0]
}

func (u *updates) now(up protocol.Update) {
	u.drain()
	u.post(up)
}

func (u *updates) post(up protocol.Update) {
	u.last = time.Now()
	u.send("tandem/session/update", protocol.UpdateParams{SessionID: u.session, Update: up})
}

// call tells of a tool call. What a command prints and arguments that are being written are gathered.
func (u *updates) call(e agent.Event) {
	ev := e.Call
	id := ev.Call.ID
	c := u.calls[id]
	if c == nil {
		c = &callState{at: map[string]int64{}}
		u.calls[id] = c
	}
	if ev.State != "" {
		if _, told := c.at[string(ev.State)]; !told {
			c.at[string(ev.State)] = e.At.Milliseconds()
		}
	}
	if ev.Kind != "" {
		c.kind = string(ev.Kind)
	}
	at := make(map[string]int64, len(c.at))
	for k, v := range c.at {
		at[k] = v
	}
	meta := protocol.UpdateMeta{State: string(ev.State), At: at, Phase: ev.Phase, Batch: ev.Batch, Turn: e.Turn}
	up := protocol.Update{SessionUpdate: "tool_call_update", ToolCallID: id, Title: ev.Title, Kind: c.kind, Status: statusOf(ev)}
	wait := e.Partial != "" || ev.Progress != nil
	if !c.announced {
		c.announced, wait = true, false
		up.SessionUpdate = "tool_call"
	}
	if e.Partial != "" {
		if up.SessionUpdate == "tool_call_update" {
			up.Title = "" // it is known once the arguments are
		}
		c.partial = tail(e.Partial)
		meta.PartialInput = c.partial
	} else {
		c.partial = ""
		if ev.State == run.Queued && len(ev.Call.Arguments) > 0 {
			up.RawInput = rawInput(ev.Call.Arguments)
		}
	}
	if p := ev.Plan; p != nil {
		meta.Semantic = p.Semantic
		for _, l := range p.Locations {
			up.Locations = append(up.Locations, protocol.Location{Path: l.Path, Line: l.Line})
		}
	}
	if r := ev.Result; r != nil {
		meta.Summary, meta.Error = r.Summary, string(r.Error)
		if ev.State == run.Completed {
			up.Content = resultContent(r)
			up.RawOutput = r.Value
		}
	}
	if p := ev.Progress; p != nil {
		c.output.WriteString(p.Text)
	}
	up.Meta = &protocol.Meta{Tandem: meta}
	if !wait {
		u.now(up)
		if ev.State == run.Yielded {
			delete(u.calls, id)
		}
		return
	}
	for i, w := range u.waiting {
		if w.ToolCallID == id {
			u.waiting[i] = up
			u.soon()
			return
		}
	}
	u.waiting = append(u.waiting, up)
	u.soon()
}

// tail is the end of what a model is writing: all of it again and again would be too much.
func tail(s string) string {
	const most = 4 << 10
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-most:], "")
}

// statusOf is the state of a call in the words of the Agent Client Protocol.
func statusOf(e *run.Event) string {
	switch {
	case e.Result != nil && e.Result.Success:
		return "completed"
	case e.Result != nil:
		return "failed"
	case e.State == run.Executing:
		return "in_progress"
	}
	return "pending"
}

// resultContent is what a person is shown of a result: diffs where there are some, else the text.
func resultContent(r *tools.Result) []protocol.ToolContent {
	var out []protocol.ToolContent
	if r.Landed != nil {
		for i, f := range r.Landed.Files {
			old, now := f.Before.String(), f.After.String()
			c := protocol.ToolContent{Type: "diff", Path: f.Path, NewText: &now}
			if !f.Created {
				c.OldText = &old
			}
			if i < len(r.Diffs) {
				c.Meta = &protocol.Meta{Tandem: protocol.DiffMeta{Unified: r.Diffs[i].Unified}}
			}
			out = append(out, c)
		}
		if len(out) > 0 {
			return out
		}
	}
	block := textBlock(r.Data)
	return []protocol.ToolContent{{Type: "content", Content: &block}}
}

func previewContent(previews []run.DiffPreview) []protocol.ToolContent {
	var out []protocol.ToolContent
	for _, d := range previews {
		c := protocol.ToolContent{
			Type: "diff", Path: d.Path, NewText: &d.New, Meta: &protocol.Meta{Tandem: protocol.DiffMeta{Unified: d.Unified}},
		}
		if d.Old != "" {
			c.OldText = &d.Old
		}
		out = append(out, c)
	}
	return out
}

func textBlock(s string) protocol.ContentBlock { return protocol.ContentBlock{Type: "text", Text: s} }

func diffOf(d show.File) protocol.FileDiff {
	return protocol.FileDiff{
		Path: d.Path, Unified: d.Unified, Additions: d.Additions, Deletions: d.Deletions, Truncated: d.Truncated,
	}
}
