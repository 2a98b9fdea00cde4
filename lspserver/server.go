// Package lspserver answers the editor: one file for each family of methods, no policy of its own. It turns wire values
// into plain ones, finds the session or the document, and delegates.
package lspserver

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime/text"
	"tandem/lspserver/backend"
	"tandem/lspserver/protocol"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
)

// Options configure a server.
type Options struct {
	// Now and Log are the server's too.
	backend.Options
	Version string
	// Orphaned gives a channel that is closed when the process with an id has ended; may be nil.
	Orphaned func(ctx context.Context, pid int) <-chan struct{}
	// Crashes gives the paths of new crash reports; may be nil.
	Crashes <-chan string
	// Trace is called with every message, see wire.Options; may be nil.
	Trace func(in bool, body []byte)
}

// Serve serves one editor on rwc until the connection ends, and gives the exit code of LSP: 0 after shutdown, else 1.
// When it returns every session is closed and every command has ended.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, o Options) int {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{
		o: o, log: o.Log, loans: map[string]*loan{}, ready: make(chan struct{}), fetched: make(chan struct{}),
		asked: askers{id: map[string]string{}}, order: changeOrder{docs: map[string]*docOrder{}},
	}
	s.b = backend.New(o.Options, face{s})
	s.questions = newQuestions(s)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := wire.NewRouter()
	s.routes(r)
	// The handlers wait for s.conn, which is set below.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{
		Log: s.log, Dropped: s.dropped, Trace: o.Trace, Handled: s.handled, Code: coded,
	})
	close(s.ready)
	code := s.conn.Wait()
	s.b.End()
	return code
}

// server is one connection, not a listener.
type server struct {
	o       Options
	b       *backend.Backend
	log     *slog.Logger
	conn    *wire.Conn
	ready   chan struct{}
	tracing atomic.Pointer[lsp.TraceValue] // set by $/setTrace

	// Set by initialize and then read-only.
	client  client
	ws      *workspace.Workspace
	fetched chan struct{} // closed when the editor's configuration was fetched

	mu     sync.Mutex
	pushed bool             // the editor has sent its section unasked
	loans  map[string]*loan // by stream
	lent   int              // the number of loans so far
	marked map[string]bool  // configuration files with diagnostics

	order     changeOrder
	questions *questions
	asked     askers
	turns     sync.Map // what stops the turn of a progress, by its token
}

// client is the editor's description in initialize.
type client struct {
	lsp.ClientCapabilities
	tandem   protocol.ClientExperimental
	encoding text.Encoding
	progress bool
	config   bool
	annotate bool
	// plain says that the client did not declare experimental.tandem: it knows LSP alone.
	plain bool
	// literal says that it shows messages verbatim, see literals; others may render Markdown.
	literal bool
	// documents says that edits are sent as documentChanges, with versions.
	documents bool
}

func (s *server) routes(r *wire.Router) {
	s.lifecycleRoutes(r)
	s.documentRoutes(r)
	s.sessionRoutes(r)
	s.lendRoutes(r)
	s.mentionRoutes(r)
	s.toolRoutes(r)
	s.changeRoutes(r)
	s.planRoutes(r)
	s.recordRoutes(r)
	s.auditRoutes(r)
	s.deadLetterRoutes(r)
	s.reviewRoutes(r)
	handle(r, protocol.Status, s.status)
	r.Prioritize(protocol.Status.Name)
	r.BeforeRequests(s.order.request)
}
