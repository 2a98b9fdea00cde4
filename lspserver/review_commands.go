package lspserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
)

// The review commands for clients without a plug-in.
const (
	commandAccept     = "tandem.acceptHunk"
	commandReject     = "tandem.rejectHunk"
	commandAcceptFile = "tandem.acceptFile"
	commandRejectFile = "tandem.rejectFile"
	commandAcceptAll  = "tandem.acceptAll"
	commandUndoTurn   = "tandem.undoTurn"
	commandStop       = "tandem.stop"
)

func commands() []string {
	return []string{
		commandAccept, commandReject, commandAcceptFile, commandRejectFile, commandAcceptAll, commandUndoTurn, commandStop, commandAsk,
	}
}

// found is a hunk with its session.
type found struct {
	session string
	uri     string
	review.Hunk
}

// hunksOf gives the pending hunks of a document.
func (s *server) hunksOf(uri string) []found {
	path, ok := pathOf(uri)
	if !ok {
		return nil
	}
	path = s.b.Canonical(path)
	uri = s.ws.URIOf(path) // as the client spells it: the library's decoder does not keep that
	var out []found
	for _, se := range s.b.All() {
		for _, h := range se.Changes.Marks(path) {
			if h.Status != "accepted" {
				out = append(out, found{se.ID(), uri, h})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b found) int { return a.Start - b.Start })
	return out
}

// command is an LSP command about the hunk.
func (h found) command(name, title string, whole bool) lsp.Command {
	target := protocol.ReviewTarget{SessionID: h.session, URI: h.uri}
	if !whole {
		target.HunkID = h.ID
	}
	return commandOf(name, title, target)
}

func commandOf(name, title string, argument any) lsp.Command {
	raw, err := json.Marshal(argument)
	if err != nil { // strings and numbers only
		panic(err)
	}
	return lsp.Command{Title: title, Command: name, Arguments: []lsp.LSPAny{raw}}
}

// size describes how many lines the hunk adds and removes.
func (h found) size() string {
	lines := func(s string) int {
		n := strings.Count(s, "\n")
		if s != "" && !strings.HasSuffix(s, "\n") {
			n++
		}
		return n
	}
	return fmt.Sprintf("+%d −%d", lines(h.New), lines(h.Old))
}

func (s *server) codeLens(_ context.Context, p lsp.CodeLensParams) ([]lsp.CodeLens, error) {
	out := []lsp.CodeLens{}
	if s.client.tandem.Review {
		return out, nil
	}
	hunks := s.hunksOf(string(p.TextDocument.URI))
	add := func(r lsp.Range, c lsp.Command) { out = append(out, lsp.CodeLens{Range: r, Command: c}) }
	for i, h := range hunks {
		at := s.toRange(h.Now, h.Start, h.Now.LineEnd(h.Now.Line(h.Start)))
		if i == 0 && len(hunks) > 1 {
			add(lsp.Range{}, h.command(commandAcceptFile, fmt.Sprintf("Tandem: accept all %d changes", len(hunks)), true))
			add(lsp.Range{}, h.command(commandRejectFile, "Tandem: reject all", true))
		}
		add(at, h.command(commandAccept, "Tandem: accept "+h.size(), false))
		add(at, h.command(commandReject, "Tandem: reject "+h.size(), false))
	}
	return out, nil
}

func (s *server) codeAction(_ context.Context, p lsp.CodeActionParams) ([]lsp.CommandOrCodeAction, error) {
	out := []lsp.CommandOrCodeAction{}
	kind := lsp.CodeActionKindQuickFix
	asked := len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(k lsp.CodeActionKind) bool {
		return k == lsp.CodeActionKindEmpty || k == kind
	})
	if s.client.tandem.Review || !asked {
		return out, nil
	}
	literals := s.client.TextDocument != nil && s.client.TextDocument.CodeAction != nil &&
		s.client.TextDocument.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet != nil
	add := func(c lsp.Command) {
		if literals {
			out = append(out, &lsp.CodeAction{Title: c.Title, Kind: &kind, Command: c})
			return
		}
		out = append(out, &c)
	}
	for _, c := range s.offers(p) {
		add(c)
	}
	hunks := s.hunksOf(string(p.TextDocument.URI))
	met := slices.DeleteFunc(slices.Clone(hunks), func(h found) bool {
		r := s.toRange(h.Now, h.Start, max(h.Start, h.End-1))
		return p.Range.End.Line < r.Start.Line || p.Range.Start.Line > r.End.Line
	})
	for _, h := range met {
		add(h.command(commandAccept, fmt.Sprintf("Accept the agent's change (%s)", h.size()), false))
		add(h.command(commandReject, fmt.Sprintf("Reject the agent's change (%s)", h.size()), false))
	}
	if len(met) > 0 && len(hunks) > len(met) {
		add(met[0].command(commandAcceptFile, "Accept all changes of this file", true))
		add(met[0].command(commandRejectFile, "Reject all changes of this file", true))
	}
	return out, nil
}

func (s *server) executeCommand(ctx context.Context, p lsp.ExecuteCommandParams) (any, error) {
	if !slices.Contains(commands(), p.Command) {
		return nil, invalid("There is no command %.60q; there are %s.", p.Command, strings.Join(commands(), ", "))
	}
	if p.Command == commandAsk {
		return nil, s.askCommand(p.Arguments)
	}
	var t protocol.ReviewTarget
	if len(p.Arguments) > 0 {
		if err := json.Unmarshal(p.Arguments[0], &t); err != nil {
			return nil, invalid("The argument of %s is {sessionId, uri, hunkId, turn}: %v", p.Command, err)
		}
	}
	if p.Command == commandStop {
		return nil, s.stop(t.SessionID)
	}
	if !s.client.plain {
		return s.review(ctx, p.Command, t)
	}
	// Many clients tell of no change while they wait for the answer of a command, and what it changes lands with the change.
	s.b.Later(func(ctx context.Context) {
		if _, err := s.review(ctx, p.Command, t); err != nil && ctx.Err() == nil {
			s.say(lsp.MessageTypeError, failureLine, wordsOfError(err))
		}
	})
	return nil, nil
}

// stop stops the turn of a session, or all turns.
func (s *server) stop(session string) error {
	if session != "" {
		se, err := s.b.Find(session)
		if err == nil {
			se.Cancel()
		}
		return err
	}
	running := 0
	for _, se := range s.b.All() {
		if se.Busy() {
			se.Cancel()
			running++
		}
	}
	if running == 0 {
		s.say(lsp.MessageTypeInfo, shortLine, "there is no turn to stop.")
	}
	return nil
}

// review does what a command about changes says. What is left as it is comes as a message, too.
func (s *server) review(ctx context.Context, command string, t protocol.ReviewTarget) (any, error) {
	if command == commandUndoTurn {
		return s.undoTurn(ctx, t)
	}
	if all := s.b.All(); t.SessionID == "" && len(all) == 1 {
		t.SessionID = all[0].ID()
	}
	if command == commandAcceptAll {
		return s.acceptAll(ctx, t)
	}
	one := command == commandAccept || command == commandReject
	if one && t.HunkID == "" || !one && t.URI == "" {
		var ok bool
		if t, ok = s.natural(ctx, command, t); !ok {
			return nil, nil
		}
	}
	hunks := protocol.HunksParams{SessionID: t.SessionID, URI: t.URI}
	if one {
		hunks.HunkIDs = []string{t.HunkID}
	}
	judge := s.acceptHunks
	if command == commandReject || command == commandRejectFile {
		judge = s.rejectHunks
	}
	r, err := judge(ctx, hunks)
	if n := len(r.Conflicts); n > 0 {
		s.warn(review.LeftAsIs(n, n+len(r.Changed)) + ".")
	}
	return r, err
}

// undoTurn reverts the last turn of a session, by default of the most recently used one.
func (s *server) undoTurn(ctx context.Context, t protocol.ReviewTarget) (any, error) {
	if se := s.b.Latest(); t.SessionID == "" && se != nil {
		t.SessionID = se.ID()
	}
	if t.SessionID == "" {
		s.say(lsp.MessageTypeInfo, shortLine, "there is no turn to undo.")
		return nil, nil
	}
	r, err := s.undo(ctx, protocol.UndoParams{SessionID: t.SessionID, Scope: "turn", Turn: t.Turn})
	for _, c := range r.Conflicts {
		path, _ := pathOf(c.URI)
		s.warn(fmt.Sprintf("Not all of %s was undone: %s.", s.b.Short(path), c.Reason))
	}
	return r, err
}

// acceptAll accepts the pending hunks of a session, by default of all.
func (s *server) acceptAll(ctx context.Context, t protocol.ReviewTarget) (any, error) {
	r := protocol.HunksResult{Changed: []string{}, Conflicts: []string{}}
	for _, se := range s.b.All() {
		if t.SessionID == "" || t.SessionID == se.ID() {
			did, err := s.acceptHunks(ctx, protocol.HunksParams{SessionID: se.ID()})
			if err != nil {
				return r, err
			}
			r.Changed = append(r.Changed, did.Changed...)
			r.Conflicts = append(r.Conflicts, did.Conflicts...)
		}
	}
	return r, nil
}

// pendingHunks are the pending hunks of one session, or of all if id is empty, in one document or in all.
func (s *server) pendingHunks(ctx context.Context, id, u string) (out []found) {
	path, named := pathOf(u)
	for _, se := range s.b.All() {
		if id != "" && se.ID() != id {
			continue
		}
		for _, f := range se.Changes.List(ctx, "", s.b.Short) {
			at := s.ws.URIOf(f.Path)
			if named && s.b.Canonical(path) != f.Path {
				continue
			}
			for _, h := range f.Hunks {
				if h.Status != "accepted" {
					out = append(out, found{se.ID(), at, h})
				}
			}
		}
	}
	return out
}

// natural gives the target of a command that was called without one, as from a command palette: the only pending hunk,
// or the only file with pending hunks. If there are several the user is told to choose, and ok is false.
func (s *server) natural(ctx context.Context, name string, t protocol.ReviewTarget) (_ protocol.ReviewTarget, ok bool) {
	waiting := s.pendingHunks(ctx, t.SessionID, t.URI)
	files := slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, h := range waiting {
			if !yield(h.session + h.uri) {
				return
			}
		}
	}))
	one := name == commandAccept || name == commandReject
	switch {
	case len(waiting) == 0:
		s.say(lsp.MessageTypeInfo, shortLine, "there are no changes to review.")
		return t, false
	case one && len(waiting) > 1:
		s.say(lsp.MessageTypeInfo, shortLine, fmt.Sprintf("%d changes to review. Choose the code action on one of them.", len(waiting)))
		return t, false
	case !one && len(files) > 1:
		s.say(lsp.MessageTypeInfo, shortLine, fmt.Sprintf("%d files have changes to review. Choose a code action in one of them.", len(files)))
		return t, false
	}
	t.SessionID, t.URI = waiting[0].session, waiting[0].uri
	if one {
		t.HunkID = waiting[0].ID
	}
	return t, true
}

// warn shows a warning.
func (s *server) warn(message string) {
	notify(s, protocol.WindowShowMessage, lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: "Tandem: " + message})
}
