package lspserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	lsp "go.lsp.dev/protocol"

	"tandem/agent"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/tools/run"
	"tandem/tools/words"
)

// Prompts in clients without a plug-in: the command tandem.ask begins a turn, code actions offer it with a ready
// prompt, $/progress shows the turn, and window/showMessage the answer. The session is made implicitly by the first
// prompt: one for each workspace folder, or for the folder of a document outside of them.

const commandAsk = "tandem.ask"

// The lengths in characters of a message that may appear while the user types, and of an error.
const (
	shortLine   = 100
	failureLine = 200
	titleLine   = 40
)

// askers are the sessions that were begun by tandem.ask.
type askers struct {
	mu sync.Mutex        // held while a session is begun
	id map[string]string // by folder
}

// askCommand begins a turn and does not wait for it.
func (s *server) askCommand(arguments []lsp.LSPAny) error {
	if len(arguments) == 0 {
		s.say(lsp.MessageTypeInfo, shortLine, "write “tandem: …” in a comment and choose the code action on that line.")
		return nil
	}
	var a protocol.AskTarget
	if err := json.Unmarshal(arguments[0], &a); err != nil {
		return invalid("The argument of %s is {uri, range, text}: %v", commandAsk, err)
	}
	path, ok := pathOf(a.URI)
	if !ok {
		return invalid("%s wants the uri of a file, not %.200q.", commandAsk, a.URI)
	}
	if strings.TrimSpace(a.Text) == "" {
		return invalid("%s wants a text.", commandAsk)
	}
	s.b.Later(func(ctx context.Context) {
		if err := s.ask(ctx, path, a); err != nil && ctx.Err() == nil {
			s.say(lsp.MessageTypeError, failureLine, wordsOfError(err))
		}
	})
	return nil
}

// wordsOfError is what a person is told of a request that failed.
func wordsOfError(err error) string {
	if coded, ok := errors.AsType[*wire.Error](err); ok {
		return coded.Message
	}
	return err.Error()
}

// ask runs a turn and shows its end to the user.
func (s *server) ask(ctx context.Context, path string, a protocol.AskTarget) error {
	se, err := s.asker(ctx, path)
	if err != nil {
		return err
	}
	p := protocol.PromptParams{SessionID: se.ID(), Prompt: []protocol.ContentBlock{updates.Text(clone(a.Text))}}
	if a.Range != nil {
		at := &protocol.EditorContext{URI: a.URI, Cursor: a.Range.Start}
		if a.Range.Start != a.Range.End {
			at.Selection = a.Range
		}
		p.Meta = &protocol.PromptMeta{Tandem: protocol.PromptContext{Editor: at}}
	}
	answered, err := s.prompt(ctx, p)
	if err != nil {
		return err
	}
	viewOf(se).answer.begin()
	r, err := answered(ctx)
	said := viewOf(se).answer.take()
	if err != nil {
		if backend.NotPermitted.Is(err) { // the next prompt begins a new session
			s.asked.mu.Lock()
			maps.DeleteFunc(s.asked.id, func(_, id string) bool { return id == se.ID() })
			s.asked.mu.Unlock()
		}
		return err
	}
	switch r.StopReason {
	case string(agent.EndTurn):
		s.say(lsp.MessageTypeInfo, shortLine, said)
	case string(agent.Failed): // a notice has told the reason
	default:
		s.say(lsp.MessageTypeWarning, failureLine, s.ending(r))
	}
	return nil
}

// asker gives the session for prompts about a file.
func (s *server) asker(ctx context.Context, path string) (*backend.Session, error) {
	s.asked.mu.Lock()
	defer s.asked.mu.Unlock()
	folder := s.folderOf(path)
	if se, err := s.b.Find(s.asked.id[folder]); err == nil {
		return se, nil
	}
	r, err := s.newSession(ctx, protocol.NewSessionParams{Cwd: folder})
	if err != nil {
		return nil, err
	}
	s.asked.id[folder] = r.SessionID
	return s.b.Find(r.SessionID)
}

// folderOf is the innermost workspace folder that a file lies in, or else the file's own.
func (s *server) folderOf(path string) string {
	in := ""
	for _, f := range s.b.Folders() {
		if rel, err := filepath.Rel(f, path); err == nil && filepath.IsLocal(rel) && len(f) > len(in) {
			in = f
		}
	}
	if in == "" {
		return filepath.Dir(path)
	}
	return in
}

// offers are the ready prompts at a position in a document.
func (s *server) offers(p lsp.CodeActionParams) []lsp.Command {
	u := string(p.TextDocument.URI)
	path, ok := pathOf(u)
	if !ok {
		return nil
	}
	u = s.ws.URIOf(s.b.Canonical(path))
	name := s.b.Short(path)
	var out []lsp.Command
	offer := func(title string, at lsp.Range, text string) {
		out = append(out, commandOf(commandAsk, title, protocol.AskTarget{URI: u, Range: &at, Text: text}))
	}
	for _, se := range s.b.All() {
		if se.Busy() {
			out = append(out, commandOf(commandStop, "Tandem: stop the agent", protocol.ReviewTarget{SessionID: se.ID()}))
		}
	}
	lines := s.linesOf(u)
	if said, at := s.asksFor(u, fromPosition(p.Range.Start)); said != "" {
		offer("Tandem: do what this comment says", p.Range, fmt.Sprintf(
			"%s\n\n(A comment in line %d of %s says so. Remove the comment when it is done.)", said, lines(toPosition(at)), name))
	}
	const most = 10
	var problems []string
	at := p.Range
	for i, d := range p.Context.Diagnostics {
		if i == 0 {
			at = d.Range
		}
		if i < most {
			problems = append(problems, fmt.Sprintf("%s, line %d: %s", name, lines(d.Range.Start), wordsOf(d)))
		}
	}
	if len(problems) > 0 {
		offer("Tandem: fix this", at, "Fix this problem: "+strings.Join(problems, "\n"))
	}
	return out
}

// linesOf numbers the lines, from 1, of positions in a document, in which lines end with \n alone.
func (s *server) linesOf(u string) func(lsp.Position) int {
	for _, d := range s.ws.Shown() {
		if d.URI == u {
			return func(p lsp.Position) int {
				off, _ := d.Text.Offset(fromPosition(p), s.client.encoding)
				return d.Text.Line(off) + 1
			}
		}
	}
	return func(p lsp.Position) int { return int(p.Line) + 1 }
}

// asksFor is the wish in a document to which the line of a position belongs, "" for none, and where it begins.
func (s *server) asksFor(u string, p text.Position) (said string, at text.Position) {
	for _, d := range s.ws.Shown() {
		if d.URI != u || p.Line > d.Text.Position(d.Text.Len(), s.client.encoding).Line {
			continue
		}
		const most = 2000
		lines := d.Text.Line(d.Text.Len()) + 1
		off, _ := d.Text.Offset(p, s.client.encoding)
		said, first := wish(func(n int) (string, bool) {
			if n < 0 || n >= lines {
				return "", false
			}
			from := d.Text.LineStart(n)
			return d.Text.Slice(from, min(d.Text.LineEnd(n), from+most)), true
		}, d.Text.Line(off))
		if said != "" {
			return said, d.Text.Position(d.Text.LineStart(first), s.client.encoding)
		}
	}
	return "", p
}

// wordsOf is the text of a diagnostic.
func wordsOf(d lsp.Diagnostic) string {
	switch m := d.Message.(type) {
	case lsp.String:
		return string(m)
	case *lsp.MarkupContent:
		return m.Value
	}
	return ""
}

// say shows the first line of a message, cut to most characters; the whole message goes to window/logMessage. Longer
// messages make some editors wait for a key, which the user may be typing for another purpose.
func (s *server) say(kind lsp.MessageType, most int, message string) {
	line := "Tandem: " + s.oneLine(message)
	if short := cut(line, most); short != line || strings.TrimSpace(message) != s.oneLine(message) {
		notify(s, protocol.WindowLogMessage, lsp.LogMessageParams{Type: kind, Message: "Tandem: " + show.Visible(strings.TrimSpace(message), true)})
		line = short
	}
	notify(s, protocol.WindowShowMessage, lsp.ShowMessageParams{Type: kind, Message: line})
}

// oneLine collapses white space to single blanks and makes invisible characters visible.
func (s *server) oneLine(text string) string {
	return s.client.harmless(show.Line(text))
}

// cut truncates a text to most characters, with an ellipsis.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}

// answer collects, from begin to take, the model's text since its last call: at the end of a turn that is its answer.
type answer struct {
	mu     sync.Mutex
	listen bool
	text   strings.Builder
	called bool // since the text
}

const mostAnswer = 256 << 10

func (a *answer) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listen = true
}

func (a *answer) on(e agent.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !a.listen:
	case e.Call != nil:
		a.called = true
	case e.Text != "":
		if a.called {
			a.text.Reset()
			a.called = false
		}
		if a.text.Len() < mostAnswer {
			a.text.WriteString(e.Text)
		}
	}
}

func (a *answer) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.text.String()
	a.text.Reset()
	a.listen, a.called = false, false
	if strings.TrimSpace(said) == "" {
		return words.Ending(string(agent.EndTurn))
	}
	return said
}

// plainly shows an event in a client without updates: notices, and what the editor cannot do, once for each file: the model may leave it out.
func (v *view) plainly(e agent.Event) {
	if e.Notice != "" {
		v.s.say(lsp.MessageTypeInfo, failureLine, e.Notice)
	}
	if c := e.Call; c != nil && c.State == run.Completed && c.Result != nil && c.Plan != nil && c.Result.Reason == "no_apply_edit" {
		for _, l := range c.Plan.Locations {
			if _, told := v.unable.LoadOrStore(l.Path, true); !told {
				v.s.warn(fmt.Sprintf("%s is open, and this editor takes no edits (workspace/applyEdit), so it was not changed. Close it and ask again.",
					v.s.oneLine(v.s.b.Short(l.Path))))
			}
		}
	}
}
