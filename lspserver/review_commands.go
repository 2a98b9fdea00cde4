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

// The commands with which a client that has no plugin can review.
const (
	commandAccept     = "tandem.acceptHunk"
	commandReject     = "tandem.rejectHunk"
	commandAcceptFile = "tandem.acceptFile"
	commandRejectFile = "tandem.rejectFile"
	commandUndoTurn   = "tandem.undoTurn"
)

func commands() []string {
	return []string{commandAccept, commandReject, commandAcceptFile, commandRejectFile, commandUndoTurn}
}

// found is a hunk with the session that made it.
type found struct {
	session string
	uri     string
	review.Hunk
}

// hunksOf gives the hunks of a document that nobody has accepted.
func (s *server) hunksOf(uri string) []found {
	path, ok := pathOf(uri)
	if !ok {
		return nil
	}
	path = s.real(path)
	var out []found
	for _, se := range s.all() {
		for _, h := range se.changes.Marks(path) {
			if h.Status != "accepted" {
				out = append(out, found{se.id, uri, h})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b found) int { return a.Start - b.Start })
	return out
}

// command is one that does something with the hunk.
func (h found) command(name, title string, whole bool) lsp.Command {
	target := protocol.ReviewTarget{SessionID: h.session, URI: h.uri}
	if !whole {
		target.HunkID = h.ID
	}
	raw, err := json.Marshal(target)
	if err != nil { // strings only
		panic(err)
	}
	return lsp.Command{Title: title, Command: name, Arguments: []lsp.LSPAny{raw}}
}

// size words how many lines the hunk adds and takes away.
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
		at := s.toRange(h.Now, h.Start, h.Start)
		if i == 0 && len(hunks) > 1 {
			add(lsp.Range{}, h.command(commandAcceptFile, fmt.Sprintf("Accept all %d changes", len(hunks)), true))
			add(lsp.Range{}, h.command(commandRejectFile, "Reject all", true))
		}
		add(at, h.command(commandAccept, "Accept "+h.size(), false))
		add(at, h.command(commandReject, "Reject", false))
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
	var t protocol.ReviewTarget
	if len(p.Arguments) > 0 {
		if err := json.Unmarshal(p.Arguments[0], &t); err != nil {
			return nil, invalid("The argument of %s is {sessionId, uri, hunkId, turn}: %v", p.Command, err)
		}
	}
	if all := s.all(); t.SessionID == "" && len(all) == 1 {
		t.SessionID = all[0].id
	}
	if p.Command == commandUndoTurn {
		r, err := s.undo(ctx, protocol.UndoParams{SessionID: t.SessionID, Scope: "turn", Turn: t.Turn})
		for _, c := range r.Conflicts {
			path, _ := pathOf(c.URI)
			s.warn(fmt.Sprintf("Not all of %s was undone: %s.", s.short(path), c.Reason))
		}
		return r, err
	}
	hunks := protocol.HunksParams{SessionID: t.SessionID, URI: t.URI}
	judge := s.acceptHunks
	if p.Command == commandReject || p.Command == commandRejectFile {
		judge = s.rejectHunks
	}
	switch {
	case p.Command == commandAccept || p.Command == commandReject:
		if t.HunkID == "" {
			return nil, invalid("%s wants a hunkId.", p.Command)
		}
		hunks.HunkIDs = []string{t.HunkID}
	case t.URI == "":
		return nil, invalid("%s wants a uri.", p.Command)
	}
	r, err := judge(ctx, hunks)
	if n := len(r.Conflicts); n > 0 {
		s.warn(fmt.Sprintf("%d of %d changes stay: their text was changed since.", n, n+len(r.Changed)))
	}
	return r, err
}

// warn shows a person a message.
func (s *server) warn(message string) {
	s.notify("window/showMessage", lsp.ShowMessageParams{Type: lsp.MessageTypeWarning, Message: "Tandem: " + message})
}

// all gives the sessions, in the order of their ids.
func (s *server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*session
	for _, se := range s.sessions {
		out = append(out, se)
	}
	slices.SortFunc(out, func(a, b *session) int { return strings.Compare(a.id, b.id) })
	return out
}
