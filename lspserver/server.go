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

// Options are what a server takes from the program that starts it.
type Options struct {
	// What the application takes; its Now and Log are the server's too.
	backend.Options
	Version string
	// Orphaned is asked to tell when the process with an id is gone; nil where nobody looks.
	Orphaned func(ctx context.Context, pid int) <-chan struct{}
	// Crashes gives the paths of reports of faults inside; nil where none are written.
	Crashes <-chan string
	// Trace is told of every message, see wire.Options; may be nil.
	Trace func(in bool, body []byte)
}

// Serve answers one editor on rwc until it leaves, and gives the exit code of LSP: 0 after shutdown, else 1. Every
// session has ended and every command is gone when it returns.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, o Options) int {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{
		o: o, log: o.Log, loans: map[string]*loan{}, ready: make(chan struct{}), fetched: make(chan struct{}),
		asked: askers{id: map[string]string{}},
	}
	s.b = backend.New(o.Options, face{s})
	s.questions = newQuestions(s)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := wire.NewRouter()
	s.routes(r)
	// The handlers wait for s.conn, which is there only once the connection has begun.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{
		Log: s.log, Dropped: s.dropped, Trace: o.Trace, Handled: s.handled, Code: coded,
	})
	close(s.ready)
	code := s.conn.Wait()
	s.b.End()
	return code
}

// server is one connection: one accepted editor, not the listener.
type server struct {
	o       Options
	b       *backend.Backend
	log     *slog.Logger
	conn    *wire.Conn
	ready   chan struct{}
	tracing atomic.Pointer[lsp.TraceValue] // what the client wants to be told of

	// Set by initialize and then read-only.
	client  client
	ws      *workspace.Workspace
	fetched chan struct{} // closed when the editor has been asked for its configuration

	mu     sync.Mutex
	pushed bool             // the editor has sent its section by itself
	loans  map[string]*loan // by stream
	lent   int              // how many there have been
	marked map[string]bool  // files of the configuration that have diagnostics

	questions *questions
	asked     askers
}

// client is what the editor said of itself.
type client struct {
	lsp.ClientCapabilities
	tandem   protocol.ClientExperimental
	encoding text.Encoding
	progress bool
	config   bool
	annotate bool
	// plain says that the client did not declare experimental.tandem: it knows nothing of us but LSP.
	plain bool
	// literal says that it shows messages word for word, as is known of its kind; others may render Markdown in them.
	literal bool
	// documents says that edits go to it as documentChanges, with versions.
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
	s.recordRoutes(r)
	s.reviewRoutes(r)
	handle(r, protocol.Status, s.status)
	r.Always(protocol.Status.Name)
}
