// Package updates turns what happens in a session into the payloads of ACP (Agent Client Protocol)
// that a client is told of: session/update, and the question of session/request_permission. It
// gathers, it holds back for a slow client, and it keeps the order.
package updates

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tandem/agent"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/run"
)

const (
	// frame is the least time between two updates of a session that can wait: at most 30 a second.
	frame = time.Second / 30
	// A client with more bytes than backlog yet to read is told of states only once it has read.
	backlog = 1 << 20
	// mostText is how much text is gathered, mostOutput how much of what a command prints,
	// mostPieces how many pieces that alternate.
	mostText, mostOutput, mostPieces = 4 << 20, 256 << 10, 16
)

// Stream turns a session's events into updates: text and progress are gathered, and one piece of
// them goes out a frame; everything else goes out at once, after what came before it. Where the
// client is slow that waits too, and a later state of a call takes the place of an earlier one. No
// text is ever left out, only what a command has printed meanwhile, which its result has.
type Stream struct {
	Options

	mu     sync.Mutex
	pieces []*piece // what waits, in order
	timer  *time.Timer
	last   time.Time
	calls  map[string]*callState
	groups map[string][]string // the calls that run together, by the first of them
	wrote  int                 // the last turn that has changed something
	again  bool                // it replays: a call ends with its result
}

// piece is an update that waits: a chunk of text, news of a call, or with urgent what waits only
// for a slow client.
type piece struct {
	update protocol.Update
	text   *strings.Builder
	call   *callState
	urgent bool
}

// callState is what has been told of a call.
type callState struct {
	announced bool
	at        map[string]int64
	kind      string
	partial   string
	output    []byte
	cut       int             // bytes of output that were left out
	step      *tools.Progress // how far it has come
	head      string          // what the tool says that it is about, "" where it says nothing
	grouped   bool            // it is in its group
	told      protocol.Update // the last update, without its times
	toldOf    string          // its state
}

// Options are what a Stream works with.
type Options struct {
	// Send sends an update to the client; it must not block.
	Send func(protocol.Update)
	// Waiting is how many bytes the client has yet to read.
	Waiting func() int
	// Guard runs what stands beside the connection; a fault there must not end it.
	Guard func(func())
	// MaxDiff is how many bytes of a change go out as whole texts.
	MaxDiff func() int
	// Jobs are the commands of the session that run in the background.
	Jobs func() []protocol.JobState
	// Commands are those that a person can call in the session.
	Commands func() []protocol.Command
}

// New makes the stream of a session.
func New(o Options) *Stream {
	return &Stream{Options: o, calls: map[string]*callState{}, groups: map[string][]string{}}
}

// On takes an event in; it never blocks.
func (u *Stream) On(e agent.Event) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.on(e)
}

// on takes an event in. u.mu is held.
func (u *Stream) on(e agent.Event) {
	switch {
	case e.Text != "":
		u.gather("agent_message_chunk", show.Prose(e.Text))
	case e.Thought != "":
		u.gather("agent_thought_chunk", show.Prose(e.Thought))
	case e.User != "":
		u.now(protocol.Update{SessionUpdate: "user_message_chunk", Content: Text(e.User)}, nil) // two messages are not one
	case e.Call != nil:
		u.call(e)
	case e.Late != "":
		u.now(protocol.Update{
			SessionUpdate: "tool_call_update", ToolCallID: e.Late, Status: "completed",
			Meta: &protocol.Meta{Tandem: protocol.UpdateMeta{Turn: e.Turn, Phase: "result", Late: true}},
		}, nil)
	case e.Usage != nil:
		up := protocol.Update{SessionUpdate: "usage_update", Usage: new(Usage(*e.Usage)), Used: e.Context, Size: e.Window, Cost: Cost(e.Session)}
		u.now(up, nil)
	case e.Notice != "":
		if e.Compaction != "" {
			u.now(protocol.Update{SessionUpdate: "compaction_update", CompactionID: e.Compaction, Status: "completed"}, nil)
		}
		u.now(protocol.Update{SessionUpdate: "notice", Content: Text(show.Visible(e.Notice, true))}, nil)
	case e.Mode != "":
		u.now(protocol.Update{SessionUpdate: "current_mode_update", CurrentModeID: e.Mode}, nil)
	case e.Tasks != nil:
		u.now(protocol.Update{SessionUpdate: "plan", Entries: plan(e.Tasks)}, nil)
	case e.Commands:
		u.now(protocol.Update{SessionUpdate: "available_commands_update", Commands: u.Commands()}, nil)
	case e.Jobs:
		u.now(protocol.Update{SessionUpdate: "session_info_update", Meta: &protocol.Meta{Tandem: protocol.UpdateMeta{Jobs: new(u.Jobs())}}}, nil)
	}
}

// slow says that the client has much to read yet.
func (u *Stream) slow() bool { return u.Waiting() > backlog }

// Replay tells again what happened, no quicker than the client reads.
func (u *Stream) Replay(ctx context.Context, events iter.Seq[agent.Event]) {
	for e := range events {
		for u.Waiting() > backlog/2 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		u.mu.Lock()
		u.again = true
		u.on(e)
		u.again = false
		u.mu.Unlock()
		if e.Call == nil {
			u.Flush() // two messages are not one
		}
	}
	u.Flush()
}

// Flush sends everything that waits.
func (u *Stream) Flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drain(func(*piece) bool { return true })
}

// gather adds text to the piece that is waiting for it.
func (u *Stream) gather(kind, s string) {
	var p *piece
	for _, waits := range slices.Backward(u.pieces) {
		if waits.text != nil && waits.update.SessionUpdate == kind {
			p = waits
		}
		// The order is kept as long as it can be; progress has no place in it.
		if p != nil || waits.urgent || waits.text != nil && len(u.pieces) <= mostPieces {
			break
		}
	}
	if p == nil {
		p = &piece{update: protocol.Update{SessionUpdate: kind}, text: &strings.Builder{}}
		u.pieces = append(u.pieces, p)
	}
	if p.text.WriteString(s); p.text.Len() > mostText {
		u.drain(func(*piece) bool { return true })
	}
	u.soon()
}

// soon sends a piece now, if a frame has passed, else at its end. u.mu is held.
func (u *Stream) soon() {
	if u.timer != nil || len(u.pieces) == 0 {
		return
	}
	if wait := frame - time.Since(u.last); wait > 0 {
		u.timer = time.AfterFunc(wait, func() { u.Guard(u.tick) })
		return
	}
	u.step()
}

func (u *Stream) tick() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.timer = nil
	u.step()
}

// step sends what is urgent and one piece more, to a client that reads. u.mu is held.
func (u *Stream) step() {
	if u.slow() {
		u.last = time.Now()
	} else {
		sent := false
		u.drain(func(p *piece) bool {
			first := !sent
			sent = sent || !p.urgent
			return first
		})
	}
	u.soon()
}

// drain sends the pieces of which send is true, in order. u.mu is held.
func (u *Stream) drain(send func(*piece) bool) {
	u.pieces = slices.DeleteFunc(u.pieces, func(p *piece) bool {
		if !send(p) {
			return false
		}
		if up, says := p.words(); says {
			u.post(up)
		}
		return true
	})
}

// words is the update as it is to be sent; there is none of a call whose progress has been told
// since.
func (p *piece) words() (up protocol.Update, says bool) {
	up = p.update
	if p.text != nil {
		up.Content = Text(p.text.String())
		return up, true
	}
	if p.call == nil {
		return up, true
	}
	m, c := up.Meta.Tandem.(protocol.UpdateMeta), p.call
	if len(c.output) > 0 || c.cut > 0 {
		m.Output = strings.ToValidUTF8(string(c.output), "\ufffd")
		if c.cut > 0 {
			m.Output = fmt.Sprintf("[%d bytes]\n%s", c.cut, m.Output)
		}
		c.output, c.cut = nil, 0
	}
	if !p.urgent {
		m.PartialInput = c.partial
		if c.step != nil {
			m.Render = &protocol.Render{Markdown: cmp.Or(c.head, tools.Escaped(up.Title)), Widgets: []protocol.Widget{
				{Type: "progress", Value: c.step.Value, Total: c.step.Total},
			}}
			c.step = nil
		}
		if m.PartialInput == "" && m.Output == "" && m.Render == nil {
			return up, false
		}
	}
	up.Meta = &protocol.Meta{Tandem: m}
	return up, true
}

// print adds to what a command has printed. What nobody has read is cut at its head.
func (c *callState) print(s string) {
	c.output = append(c.output, s...)
	if over := len(c.output) - mostOutput; over > 0 {
		over += mostOutput / 2
		c.output = slices.Delete(c.output, 0, over)
		c.cut += over
	}
}

// now sends an update, of a call where c is not nil, after what came before it.
func (u *Stream) now(up protocol.Update, c *callState) {
	if u.slow() {
		u.hold(up, c)
		u.soon()
		return
	}
	u.drain(func(p *piece) bool { return p.urgent || p.call == nil || p.call == c })
	u.post(up)
}

// hold keeps an update for a slow client. Of a call only the last state is kept, with all that the
// earlier ones say and it does not.
func (u *Stream) hold(up protocol.Update, c *callState) {
	for _, p := range u.pieces {
		switch {
		case c != nil && p.call == c:
			p.update, p.urgent = later(p.update, up), true
			return
		case slices.Contains([]string{"usage_update", "plan", "available_commands_update"}, up.SessionUpdate) && p.update.SessionUpdate == up.SessionUpdate:
			p.update = up
			return
		}
	}
	u.pieces = append(u.pieces, &piece{update: up, call: c, urgent: true})
}

// later is what two updates of one call say together.
func later(a, b protocol.Update) protocol.Update {
	b.SessionUpdate = a.SessionUpdate
	b.Title, b.Kind, b.Status = cmp.Or(b.Title, a.Title), cmp.Or(b.Kind, a.Kind), cmp.Or(b.Status, a.Status)
	if b.Content == nil {
		b.Content = a.Content
	}
	if b.Locations == nil {
		b.Locations = a.Locations
	}
	if b.RawInput == nil {
		b.RawInput = a.RawInput
	}
	if b.RawOutput == nil {
		b.RawOutput = a.RawOutput
	}
	am, bm := a.Meta.Tandem.(protocol.UpdateMeta), b.Meta.Tandem.(protocol.UpdateMeta)
	bm.State, bm.GroupID, bm.Summary = cmp.Or(bm.State, am.State), cmp.Or(bm.GroupID, am.GroupID), cmp.Or(bm.Summary, am.Summary)
	bm.Semantic, bm.Error, bm.Batch = cmp.Or(bm.Semantic, am.Semantic), cmp.Or(bm.Error, am.Error), cmp.Or(bm.Batch, am.Batch)
	bm.Reason = cmp.Or(bm.Reason, am.Reason)
	bm.Render, bm.Denial = cmp.Or(bm.Render, am.Render), cmp.Or(bm.Denial, am.Denial)
	if bm.Calls == nil {
		bm.Calls = am.Calls
	}
	if bm.Issues == nil {
		bm.Issues = am.Issues
	}
	b.Meta = &protocol.Meta{Tandem: bm}
	return b
}

func (u *Stream) post(up protocol.Update) {
	u.last = time.Now()
	u.Send(up)
}

// call tells of a tool call. What a command prints and arguments that are being written are
// gathered.
func (u *Stream) call(e agent.Event) {
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
	maps.Copy(at, c.at)
	meta := protocol.UpdateMeta{State: string(ev.State), At: at, Phase: ev.Phase, Batch: ev.Batch, Turn: e.Turn}
	meta.Semantic = semanticOf(ev)
	meta.Collapsible = meta.Semantic == "read" || meta.Semantic == "search"
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
			up.RawInput = RawInput(ev.Call.Arguments)
		}
	}
	if p := ev.Plan; p != nil {
		for _, l := range p.Locations {
			up.Locations = append(up.Locations, protocol.Location{Path: l.Path, Line: l.Line})
		}
	}
	if r := rendered(ev.Render); r != nil {
		c.head = r.Markdown
		if !wait {
			meta.Render = r
		}
	}
	if r := ev.Result; r != nil {
		meta.Summary, meta.Error, meta.Reason = r.Line(), string(r.Error), r.Detail()
		for _, i := range r.Issues {
			meta.Issues = append(meta.Issues, protocol.Issue(i))
		}
		if d := r.Denial; d != nil {
			meta.Denial = &protocol.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: d.Source}
		}
		if ev.State == run.Completed {
			up.Content, up.RawOutput, meta.Render = resultContent(r, ev.Kind, u.MaxDiff()), program(r), renderOf(ev)
		}
	}
	if p := ev.Progress; p != nil {
		c.print(p.Text)
		if p.Value != 0 || p.Total != 0 {
			c.step = p
		}
	}
	if ev.State == run.Executing && meta.Semantic == "write" && e.Turn > u.wrote {
		u.wrote = e.Turn
		u.now(protocol.Update{ // for programs: people see the call itself, so there is no text, though its member is there
			SessionUpdate: "notice", Content: map[string]string{"type": "text", "text": ""},
			Meta: &protocol.Meta{Tandem: protocol.UpdateMeta{Boundary: "writes", Turn: e.Turn}},
		}, nil)
	}
	grouped := u.join(c, ev)
	together := u.groups[ev.Group]
	if len(together) > 1 {
		meta.GroupID = "group-" + ev.Group
	}
	up.Meta = &protocol.Meta{Tandem: meta}
	if !wait {
		u.tellCall(c, up, meta)
		if grouped {
			meta.Phase, meta.Calls, meta.Render = "grouped", slices.Clone(together), u.grouped(together)
			u.now(protocol.Update{
				SessionUpdate: "tool_call_update", ToolCallID: id, Title: ev.Title, Kind: c.kind, Status: up.Status,
				Meta: &protocol.Meta{Tandem: meta},
			}, c)
		}
		if ev.State == run.Yielded || u.again && ev.State == run.Completed {
			delete(u.calls, id)
		}
		return
	}
	for _, p := range u.pieces {
		if p.call == c {
			if !p.urgent {
				p.update = up
			}
			return
		}
	}
	u.pieces = append(u.pieces, &piece{update: up, call: c})
	u.soon()
}

// tellCall sends an update of a call, unless it says what the last one said.
func (u *Stream) tellCall(c *callState, up protocol.Update, meta protocol.UpdateMeta) {
	meta.At = nil
	bare := up
	bare.SessionUpdate, bare.Meta = "", &protocol.Meta{Tandem: meta}
	was, state := c.told, c.toldOf
	if c.told, c.toldOf = bare, meta.State; state == meta.State { // else they differ, and need not be encoded to be compared
		old, err1 := json.Marshal(was)
		raw, err2 := json.Marshal(bare)
		if err1 == nil && err2 == nil && bytes.Equal(raw, old) {
			return
		}
	}
	u.now(up, c)
}

// grouped is how calls that run together are shown: what each of them is about.
func (u *Stream) grouped(ids []string) *protocol.Render {
	var heads []string
	for _, id := range ids {
		if c := u.calls[id]; c != nil && c.head != "" {
			heads = append(heads, c.head)
		}
	}
	if len(heads) == 0 {
		return nil
	}
	return &protocol.Render{Markdown: fmt.Sprintf("%d at once: %s", len(ids), strings.Join(heads, ", "))}
}

// join puts a call that begins to run into the group of those that run with it, and says whether
// that is one of several.
func (u *Stream) join(c *callState, e *run.Event) bool {
	const most = 256
	if e.State != run.Executing || e.Group == "" || c.grouped {
		return false
	}
	if c.grouped = true; len(u.groups) > most {
		clear(u.groups)
	}
	u.groups[e.Group] = append(u.groups[e.Group], e.Call.ID)
	return len(u.groups[e.Group]) > 1
}
