package lspserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

func (s *server) reviewRoutes(r *wire.Router) {
	handle(r, protocol.ChangesAccept, s.acceptHunks)
	handle(r, protocol.ChangesReject, s.rejectHunks)
	handle(r, protocol.TextDocumentCodeLens, s.codeLens)
	handle(r, protocol.TextDocumentCodeAction, s.codeAction)
	handle(r, protocol.WorkspaceExecuteCommand, func(ctx context.Context, p lsp.ExecuteCommandParams) (lsp.LSPAny, error) {
		answer, err := s.executeCommand(ctx, p)
		if err != nil {
			return nil, err
		}
		return lsp.Marshal(answer)
	})
}

func (s *server) acceptHunks(_ context.Context, p protocol.HunksParams) (protocol.HunksResult, error) {
	return s.judgeHunks(p, func(se *session, path string) review.Judged { return se.changes.Accept(path, p.HunkIDs) })
}

func (s *server) rejectHunks(ctx context.Context, p protocol.HunksParams) (protocol.HunksResult, error) {
	return s.judgeHunks(p, func(se *session, path string) review.Judged {
		return se.changes.Reject(ctx, path, p.HunkIDs)
	})
}

func (s *server) judgeHunks(p protocol.HunksParams, judge func(*session, string) review.Judged) (protocol.HunksResult, error) {
	r := protocol.HunksResult{Changed: []string{}, Conflicts: []string{}}
	se, err := s.find(p.SessionID)
	if err != nil {
		return r, err
	}
	path := ""
	if p.URI != "" {
		if path, err = s.canonical(p.URI); err != nil {
			return r, err
		}
	}
	for _, id := range p.HunkIDs {
		if !se.changes.Has(id) {
			return r, invalid("The session has no hunk %.40q; tandem/changes/list names those that there are.", id)
		}
	}
	done := judge(se, path)
	r.Changed, r.Conflicts = append(r.Changed, done.Changed...), append(r.Conflicts, done.Conflicts...)
	se.news.tell(done.Paths...)
	return r, nil
}

// settleDown is the least time between two notifications that hunks have changed.
const settleDown = 100 * time.Millisecond

// reviewNews tells the editor that a session's hunks have changed, gathered to one notification in a while.
type reviewNews struct {
	changes *review.Log
	send    func(uris []string)
	guard   func(func()) // runs what stands beside the connection

	mu    sync.Mutex
	paths map[string]bool   // to be told of
	look  map[string]bool   // somebody typed there: to be looked at first
	state map[string]string // what the hunks were when they were last told of
	timer *time.Timer
	last  time.Time
}

func newReviewNews(changes *review.Log, guard func(func()), send func(uris []string)) *reviewNews {
	return &reviewNews{
		changes: changes, guard: guard, send: send, paths: map[string]bool{}, look: map[string]bool{}, state: map[string]string{},
	}
}

// tell says that the hunks of paths have changed; it never blocks.
func (n *reviewNews) tell(paths ...string) { n.gather(true, paths) }

// typed says that somebody else has changed the text of a path, which may have changed its hunks too.
func (n *reviewNews) typed(path string) {
	if n.changes.Tracks(path) {
		n.gather(false, []string{path})
	}
}

func (n *reviewNews) gather(tell bool, paths []string) {
	if len(paths) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	into := n.look
	if tell {
		into = n.paths
	}
	for _, p := range paths {
		into[p] = true
	}
	if n.timer == nil {
		n.timer = time.AfterFunc(max(0, settleDown-time.Since(n.last)), func() { n.guard(n.flush) })
	}
}

func (n *reviewNews) flush() {
	n.mu.Lock()
	paths, look := n.paths, n.look
	n.paths, n.look, n.timer, n.last = map[string]bool{}, map[string]bool{}, nil, time.Now()
	n.mu.Unlock()
	for p := range look {
		paths[p] = paths[p] || false
	}
	var uris []string
	for p, told := range paths {
		now := fingerprint(n.changes.Marks(p))
		n.mu.Lock()
		if told || n.state[p] != now {
			uris = append(uris, workspace.URI(p))
		}
		n.state[p] = now
		n.mu.Unlock()
	}
	if slices.Sort(uris); len(uris) > 0 {
		n.send(uris)
	}
}

// fingerprint is what of hunks is news; that they have moved is not, since editors move what they show along with the text.
func fingerprint(hunks []review.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		text := ""
		if h.Amended {
			text = h.Now.Slice(h.Start, h.End)
		}
		fmt.Fprintf(&b, "%s %s %q\n", h.ID, h.Status, text)
	}
	return b.String()
}

// hunksChanged tells the editor, and has it ask for its code lenses again.
func (s *server) hunksChanged(session string, uris []string) {
	s.notify("tandem/changes/didChange", protocol.DidChangeParams{SessionID: session, URIs: uris})
	w := s.client.Workspace
	if s.client.tandem.Review || w == nil || w.CodeLens == nil || !is(w.CodeLens.RefreshSupport) {
		return
	}
	s.later(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := s.conn.Call(ctx, "workspace/codeLens/refresh", nil, nil); err != nil {
			s.log.Debug("code lenses were not refreshed", "error", err)
		}
	})
}

// typed tells the sessions that a document has changed.
func (s *server) typed(uri string) {
	path, ok := pathOf(uri)
	if !ok {
		return
	}
	real := ""
	for _, se := range s.all() {
		if !se.changes.Tracks("") {
			continue
		}
		if real == "" {
			real = s.real(path)
		}
		se.news.typed(real)
	}
}
