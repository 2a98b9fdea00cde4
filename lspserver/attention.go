package lspserver

import (
	"strings"

	lsp "go.lsp.dev/protocol"

	"tandem/agent/prompt"
	"tandem/filetime/text"
	"tandem/lspserver/protocol"
	"tandem/lspserver/workspace"
)

// attention is what a person has in front of them when they send blocks: what the client says of it, and the documents
// that are open. What lies outside of the session's roots is left out, and so is what may hold keys or passwords.
func (s *server) attention(se *session, m *protocol.PromptMeta, blocks []prompt.Block) (e prompt.Editor) {
	if m == nil || m.Tandem.Editor == nil {
		return e
	}
	says := m.Tandem.Editor
	for _, d := range s.ws.Shown() {
		if !se.Shows(d.Path) {
			continue
		}
		if d.URI != says.URI {
			e.Open = append(e.Open, d.Path)
			continue
		}
		e.Active = d.Path
		s.look(&e, d, says)
	}
	for _, b := range blocks {
		if b.Type == "resource" && strings.HasPrefix(b.URI, says.URI+"#") {
			e.Selection, e.From, e.To = "", 0, 0 // the person has attached it
		}
	}
	if path, ok := pathOf(says.URI); e.Active == "" && ok && se.Shows(path) {
		e.Active, e.Line = path, int(says.Cursor.Line)+1
	}
	return e
}

// look adds where in a document the cursor is and what is selected there.
func (s *server) look(e *prompt.Editor, d workspace.Shown, says *protocol.EditorContext) {
	off := func(p lsp.Position) int {
		at, _ := d.Text.Offset(fromPosition(p), s.client.encoding)
		return at
	}
	at := d.Text.Position(off(says.Cursor), text.UTF32)
	e.Line, e.Column = at.Line+1, at.Character+1
	if v := says.Visible; v != nil {
		top, bottom := d.Text.Line(off(v.Start)), d.Text.Line(off(v.End))
		e.Top, e.Bottom = top+1, max(top, bottom)+1
	}
	if r := says.Selection; r != nil {
		from, to := off(r.Start), off(r.End)
		if from > to {
			from, to = to, from
		}
		if from == to {
			return
		}
		first, last := d.Text.Line(from), d.Text.Line(to)
		if last > first && to == d.Text.LineStart(last) {
			last-- // the end of a line is selected, and nothing of the next
		}
		e.Selection, e.From, e.To = d.Text.Slice(from, min(to, from+prompt.MaxSelection+1)), first+1, last+1
	}
}
