package backend

import (
	"strings"
	"unicode/utf8"

	"tandem/agent/prompt"
	"tandem/filetime/text"
	"tandem/lspserver/workspace"
)

// Attention is the editor's context that a client sends with a prompt; positions are in the client's encoding.
type Attention struct {
	// URI is the document with the cursor, Path its absolute path, "" if it has none.
	URI, Path string
	Cursor    text.Position
	// Visible is the visible range, Selection the selected one; nil if unknown.
	Visible, Selection *workspace.Range
}

// attention is the editor's context for the model: the client's Attention and the open documents, without files outside
// of the session's roots or that may hold keys or passwords.
func (b *Backend) attention(se *Session, says *Attention, blocks []prompt.Block) (e prompt.Editor) {
	if says == nil {
		return e
	}
	for _, d := range b.ws.Shown() {
		if !se.Shows(d.Path) {
			continue
		}
		if d.URI != says.URI {
			e.Open = append(e.Open, d.Path)
			continue
		}
		e.Active = d.Path
		b.look(&e, d, says)
	}
	for _, block := range blocks {
		if block.Type == "resource" && strings.HasPrefix(block.URI, says.URI+"#") {
			e.Selection, e.From, e.To = "", 0, 0 // attached to the prompt already
		}
	}
	if e.Active == "" && says.Path != "" && se.Shows(says.Path) {
		e.Active, e.Line = says.Path, says.Cursor.Line+1
	}
	return e
}

// look adds the cursor and the selection in a document.
func (b *Backend) look(e *prompt.Editor, d workspace.Shown, says *Attention) {
	off := func(p text.Position) int {
		at, _ := d.Text.Offset(p, b.client.Features.Encoding)
		return at
	}
	at := off(says.Cursor)
	line := d.Text.Line(at)
	e.Line, e.Column = line+1, utf8.RuneCountInString(d.Text.Slice(d.Text.LineStart(line), at))+1
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
			last-- // the selection ends with a line break
		}
		e.Selection, e.From, e.To = d.Text.Slice(from, min(to, from+prompt.MaxSelection+1)), first+1, last+1
	}
}
