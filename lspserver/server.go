// Package lspserver answers the editor: one file for each family of methods, no policy of its own. It turns wire values
// into plain ones, finds the session or the document, and delegates.
package lspserver

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime/text"
	"tandem/filetime/watch"
	"tandem/lspserver/protocol"
	"tandem/lspserver/review"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools"
)

// Options are what a server takes from the program that starts it.
type Options struct {
	Version string
	// Inputs are the layers of the configuration that the program knows; the editor's own are put on top.
	Inputs config.Inputs
	// Opener makes the finder of models for a configuration.
	Opener func(config.Config) model.Opener
	// Tools are the tools on offer.
	Tools []tools.Tool
	// Runner starts commands. grace is from the configuration.
	Runner sandbox.Runner
	// Store opens what keeps the sessions, when there is first something to keep; nil keeps them as long as the server
	// lives.
	Store func(config.Config) (store.Store, error)
	// Watch turns watching for changes on disk on.
	Watch bool
	// Orphaned is asked to tell when the process with an id is gone; nil where nobody looks.
	Orphaned func(ctx context.Context, pid int) <-chan struct{}
	Now      func() time.Time
	Log      *slog.Logger
	// Started is told of the configuration once the editor has given its own; may be nil.
	Started func(config.Config)
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
		o: o, log: o.Log, sessions: map[string]*session{}, registry: tools.NewRegistry(), ready: make(chan struct{}),
		fetched: make(chan struct{}),
		stats:   map[string]*protocol.ToolStats{},
	}
	for _, t := range o.Tools {
		if err := s.registry.Register(t); err != nil {
			o.Log.Error("tool not registered", "error", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := wire.NewRouter()
	s.routes(r)
	// The handlers wait for s.conn, which is there only once the connection has begun.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{Log: o.Log, Dropped: s.dropped})
	close(s.ready)
	code := s.conn.Wait()
	s.end()
	return code
}

// server is one connection: one accepted editor, not the listener.
type server struct {
	o        Options
	log      *slog.Logger
	conn     *wire.Conn
	ready    chan struct{}
	registry *tools.Registry

	// Set by initialize and then read-only.
	client   client
	ws       *workspace.Workspace
	watcher  *watch.Watcher
	initOpts []byte
	fetched  chan struct{}   // closed when the editor has been asked for its configuration
	closing  context.Context // ends when there is no time left for a long grace
	hurry    context.CancelFunc

	mu       sync.Mutex
	cfg      config.Config
	problems []config.Problem
	section  []byte
	pushed   bool // the editor has sent its section by itself
	opener   model.Opener
	folders  []string
	sessions map[string]*session
	stats    map[string]*protocol.ToolStats
	usage    model.Usage
	ended    bool

	opening sync.Once
	kept    store.Store // once it was opened
	loading sync.Mutex  // one session is loaded at a time

	background sync.WaitGroup
}

// client is what the editor said of itself.
type client struct {
	lsp.ClientCapabilities
	tandem   protocol.ClientExperimental
	encoding text.Encoding
	progress bool
	ask      bool // window/showMessageRequest
	config   bool
	annotate bool
}

// session is one conversation as the server knows it.
type session struct {
	*agent.Session
	id      string
	cwd     string
	changes *review.Log
	updates *updates
	news    *reviewNews
	touched time.Time
}

func (s *server) routes(r *wire.Router) {
	s.lifecycleRoutes(r)
	s.documentRoutes(r)
	s.sessionRoutes(r)
	s.toolRoutes(r)
	s.changeRoutes(r)
	s.reviewRoutes(r)
	wire.Handle(r, "tandem/status", s.status)
}

// later runs fn beside the connection and lets its end wait for it.
func (s *server) later(fn func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("background work panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		fn(s.conn.Context())
	}()
}

// end waits until nothing of the connection is left.
func (s *server) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.closeSessions()
	if s.watcher != nil {
		s.watcher.Close()
	}
	s.background.Wait()
	s.closeStore()
}

// closeSessions ends every session, all at the same time.
func (s *server) closeSessions() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.sessions))
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, se := range all {
		wg.Go(se.Close)
	}
	wg.Wait()
}

func (s *server) config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}
