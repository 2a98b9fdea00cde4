package lspserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
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
	// mostText is how much text is gathered, mostOutput how much of what a command prints, mostPieces how many pieces
	// that alternate.
	mostText, mostOutput, mostPieces = 4 << 20, 256 << 10, 16
)

// updates turns a session's events into tandem/session/update: text and progress are gathered, and one piece of them
// goes out a frame; everything else goes out at once, after what came before it. Where the client is slow that waits
// too, and a later state of a call takes the place of an earlier one. No text is ever left out, only what a command has
// printed meanwhile, which its result has.
type updates struct {
	session string
	send    func(method string, params any)
	slow    func() bool // whether the client has much to read yet
	guard   func(func())
	maxDiff func() int // how many bytes of a change go out as whole texts

	mu     sync.Mutex
	pieces []*piece // what waits, in order
	timer  *time.Timer
	last   time.Time
	calls  map[string]*callState
	groups map[string][]string // the calls that run together, by the first of them
	wrote  int                 // the last turn that has changed something
}

// piece is an update that waits: a chunk of text, news of a call, or with urgent what waits only for a slow client.
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
	grouped   bool            // it is in its group
	told      protocol.Update // the last update, without its times
	toldOf    string          // its state
}

func newUpdates(session string, s *server) *updates {
	return &updates{
		session: session, send: s.notify, maxDiff: s.maxDiff,
		slow:  func() bool { return s.conn.Backlog() > backlog },
		guard: func(fn func()) { s.guard("updates", fn) },
		calls: map[string]*callState{}, groups: map[string][]string{},
	}
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
		u.now(protocol.Update{SessionUpdate: "user_message_chunk", Content: textBlock(e.User)}, nil) // two messages are not one
	case e.Call != nil:
		u.call(e)
	case e.Usage != nil:
		usage := usageOf(*e.Usage)
		up := protocol.Update{SessionUpdate: "usage_update", Usage: &usage, Used: e.Context, Cost: costOf(e.Session)}
		u.now(up, nil)
	case e.Notice != "":
		u.now(protocol.Update{SessionUpdate: "notice", Content: textBlock(show.Visible(e.Notice, true))}, nil)
	case e.Mode != "":
		u.now(protocol.Update{SessionUpdate: "current_mode_update", CurrentModeID: e.Mode}, nil)
	}
}

// flush sends everything that waits.
func (u *updates) flush() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drain(func(*piece) bool { return true })
}

// gather adds text to the piece that is waiting for it.
func (u *updates) gather(kind, s string) {
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
func (u *updates) soon() {
	if u.timer != nil || len(u.pieces) == 0 {
		return
	}
	if wait := frame - time.Since(u.last); wait > 0 {
		u.timer = time.AfterFunc(wait, func() { u.guard(u.tick) })
		return
	}
	u.step()
}

func (u *updates) tick() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.timer = nil
	u.step()
}

// step sends what is urgent and one piece more, to a client that reads. u.mu is held.
func (u *updates) step() {
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
func (u *updates) drain(send func(*piece) bool) {
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

// words is the update as it is to be sent; there is none of a call whose progress has been told since.
func (p *piece) words() (up protocol.Update, says bool) {
	up = p.update
	if p.text != nil {
		up.Content = textBlock(p.text.String())
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
			m.Render = &protocol.Render{Markdown: up.Title, Widgets: []protocol.Widget{
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
func (u *updates) now(up protocol.Update, c *callState) {
	if u.slow() {
		u.hold(up, c)
		u.soon()
		return
	}
	u.drain(func(p *piece) bool { return p.urgent || p.call == nil || p.call == c })
	u.post(up)
}

// hold keeps an update for a slow client. Of a call only the last state is kept, with all that the earlier ones say and
// it does not.
func (u *updates) hold(up protocol.Update, c *callState) {
	for _, p := range u.pieces {
		switch {
		case c != nil && p.call == c:
			p.update, p.urgent = later(p.update, up), true
			return
		case up.SessionUpdate == "usage_update" && p.update.SessionUpdate == up.SessionUpdate:
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
	b.Meta = &protocol.Meta{Tandem: bm}
	return b
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
			up.RawInput = rawInput(ev.Call.Arguments)
		}
	}
	if p := ev.Plan; p != nil {
		for _, l := range p.Locations {
			up.Locations = append(up.Locations, protocol.Location{Path: l.Path, Line: l.Line})
		}
	}
	if r := ev.Result; r != nil {
		meta.Summary, meta.Error, meta.Reason = r.Line(), string(r.Error), r.Detail()
		if d := r.Denial; d != nil {
			meta.Denial = &protocol.Denial{Reason: d.Reason, Rule: d.Rule, Layer: d.Layer, Source: d.Source}
		}
		if ev.State == run.Completed {
			up.Content, up.RawOutput, meta.Render = resultContent(r, ev.Kind, u.maxDiff()), r.Value, renderOf(ev)
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
			meta.Phase, meta.Calls, meta.Render = "grouped", slices.Clone(together), nil
			u.now(protocol.Update{
				SessionUpdate: "tool_call_update", ToolCallID: id, Title: ev.Title, Kind: c.kind, Status: up.Status,
				Meta: &protocol.Meta{Tandem: meta},
			}, c)
		}
		if ev.State == run.Yielded {
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
func (u *updates) tellCall(c *callState, up protocol.Update, meta protocol.UpdateMeta) {
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

// join puts a call that begins to run into the group of those that run with it, and says whether that is one of several.
func (u *updates) join(c *callState, e *run.Event) bool {
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

// semanticOf says whether a call looks or changes something; "" for one that does neither.
func semanticOf(e *run.Event) string {
	if e.Plan != nil && e.Plan.Semantic != "" {
		return e.Plan.Semantic
	}
	switch e.Kind {
	case tools.Read, tools.Fetch:
		return "read"
	case tools.Search:
		return "search"
	case tools.Edit, tools.Delete, tools.Move, tools.Execute:
		return "write"
	}
	return ""
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

// renderOf is how a person is shown the result of a call: what the tool made for it, or else its one line with the
// diffs, the output or the reason of a failure below it.
func renderOf(e *run.Event) *protocol.Render {
	r := e.Result
	if r.Render != nil {
		out := &protocol.Render{Markdown: r.Render.Markdown}
		for _, w := range r.Render.Widgets {
			out.Widgets = append(out.Widgets, protocol.Widget(w))
		}
		return out
	}
	out := &protocol.Render{Markdown: escaped(cmp.Or(r.Line(), e.Title))}
	switch text := r.Shown(e.Kind); {
	case r.Landed != nil && r.Success:
		for i, f := range r.Landed.Files {
			w := protocol.Widget{Type: "diff", Path: f.Path, Title: show.Visible(filepath.Base(f.Path), false)}
			if i < len(r.Diffs) {
				d := r.Diffs[i]
				w.Title, w.Markdown = fmt.Sprintf("%s +%d −%d", w.Title, d.Additions, d.Deletions), fenced("diff", d.Unified)
			}
			out.Widgets = append(out.Widgets, w)
		}
	case e.Kind == tools.Execute && text != r.Line():
		out.Widgets = []protocol.Widget{{Type: "collapsible", Title: "Output", Markdown: fenced("", text)}}
	}
	return out
}

// escaped keeps text from being read as Markdown.
func escaped(s string) string {
	const special = "\\`*_<[#"
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// fenced is text as a block of code, whatever fences are in it. What is long is cut: the whole is in the content.
func fenced(language, s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "\n…"
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// resultContent is what a person is shown of a result: diffs where there are some, else the text. Texts larger than most are
// left out.
func resultContent(r *tools.Result, k tools.Kind, most int) []protocol.ToolContent {
	var out []protocol.ToolContent
	if r.Landed != nil {
		for i, f := range r.Landed.Files {
			d := run.DiffPreview{Path: f.Path, Old: f.Before.String(), New: f.After.String()}
			if i < len(r.Diffs) {
				d.Unified = r.Diffs[i].Unified
			}
			out = append(out, diffContent(d, f.Created, most))
		}
		if len(out) > 0 {
			return out
		}
	}
	block := textBlock(r.Shown(k))
	return []protocol.ToolContent{{Type: "content", Content: &block}}
}

func previewContent(previews []run.DiffPreview, most int) []protocol.ToolContent {
	var out []protocol.ToolContent
	for _, d := range previews {
		out = append(out, diffContent(d, d.Old == "", most))
	}
	return out
}

// maxDiff is the largest change that is told of with its texts.
func (s *server) maxDiff() int { return s.config().Limits.MaxDiffBytes }

// diffContent shows a change with both texts, or where they are larger than most only as a unified diff.
func diffContent(d run.DiffPreview, created bool, most int) protocol.ToolContent {
	if len(d.Old)+len(d.New) > most {
		block := textBlock(cmp.Or(d.Unified, "The change of "+d.Path+" is too large to be shown here; tandem/changes/diff gives it."))
		return protocol.ToolContent{Type: "content", Content: &block}
	}
	c := protocol.ToolContent{Type: "diff", Path: d.Path, NewText: &d.New}
	if !created {
		c.OldText = &d.Old
	}
	if d.Unified != "" {
		c.Meta = &protocol.Meta{Tandem: protocol.DiffMeta{Unified: d.Unified}}
	}
	return c
}

func textBlock(s string) protocol.ContentBlock { return protocol.ContentBlock{Type: "text", Text: s} }

func diffOf(d show.File) protocol.FileDiff {
	return protocol.FileDiff{
		Path: d.Path, Unified: d.Unified, Additions: d.Additions, Deletions: d.Deletions, Truncated: d.Truncated,
	}
}
