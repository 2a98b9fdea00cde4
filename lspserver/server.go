// Package lspserver answers the editor: one file for each family of methods, no policy of its own. It turns wire values
// into plain ones, finds the session or the document, and delegates.
package lspserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
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
	"tandem/lspserver/updates"
	"tandem/lspserver/wire"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// Options are what a server takes from the program that starts it.
type Options struct {
	Version string
	// Inputs are the layers of the configuration that the program knows; the editor's own are put on top.
	Inputs config.Inputs
	// Opener makes the finder of models for a configuration. lend lends the editor's own, nil where it has none.
	Opener func(c config.Config, lend model.Lend) model.Opener
	// Rules gives the person's own rules for every session; it is asked when one begins. nil for none.
	Rules func() string
	// Tools are the tools on offer.
	Tools []tools.Tool
	// Runner starts commands. grace is from the configuration.
	Runner sandbox.Runner
	// Store opens what keeps the sessions, when the first session begins or is asked for; nil keeps them as long as the
	// server lives.
	Store func(config.Config) (store.Store, error)
	// Stored says whether there is such a store already, in which an earlier process may have left something to clear up.
	// May be nil.
	Stored func(config.Config) bool
	// Locks gives the folder of the locks that keep processes from changing the same file at once; nil for none.
	Locks func(config.Config) string
	// Watch turns watching for changes on disk on.
	Watch bool
	// Orphaned is asked to tell when the process with an id is gone; nil where nobody looks.
	Orphaned func(ctx context.Context, pid int) <-chan struct{}
	Now      func() time.Time
	Log      *slog.Logger
	// Started is told of the configuration once the editor has given its own, and whenever it has changed; may be nil.
	Started func(config.Config)
	// Own gives the absolute paths of the files and folders that are the program's own: the configuration, what lies beside it, and
	// the state. No tool reads or writes them. nil for none.
	Own func(config.Config) []string
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
		o: o, log: o.Log, sessions: map[string]*session{}, loans: map[string]*loan{}, ready: make(chan struct{}),
		fetched: make(chan struct{}),
		stats:   map[string]*protocol.ToolStats{}, asked: askers{id: map[string]string{}},
	}
	s.questions = newQuestions(s)
	s.places = run.NewPlaces(func() int { return max(mostCalls, s.config().Limits.MaxConcurrency) }, nil)
	shipped, err := tools.NewLayer(tools.RankBuiltin, "", o.Tools...)
	if err != nil {
		o.Log.Error("tools are left out", "error", err)
	}
	s.allTools = tools.NewSet(shipped)
	s.tools.Store(s.allTools.Narrow(viewsOf(config.Default())...))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := wire.NewRouter()
	s.routes(r)
	// The handlers wait for s.conn, which is there only once the connection has begun.
	s.conn = wire.Serve(ctx, rwc, r, wire.Options{
		Log: o.Log, Dropped: s.dropped, Trace: o.Trace, Handled: s.handled,
	})
	close(s.ready)
	code := s.conn.Wait()
	s.end()
	return code
}

// mostCalls is how many calls of all sessions run at the same time.
const mostCalls = 32

// server is one connection: one accepted editor, not the listener.
type server struct {
	o        Options
	log      *slog.Logger
	conn     *wire.Conn
	ready    chan struct{}
	allTools *tools.Set                // whatever the configuration says
	tools    atomic.Pointer[tools.Set] // seen as the configuration says
	places   *run.Places
	tracing  atomic.Pointer[lsp.TraceValue] // what the client wants to be told of

	// Set by initialize and then read-only.
	client   client
	ws       *workspace.Workspace
	roots    *sandbox.Roots
	watcher  *watch.Watcher
	initOpts []byte
	fetched  chan struct{}   // closed when the editor has been asked for its configuration
	closing  context.Context // ends when there is no time left for a long grace
	hurry    context.CancelFunc

	configuring sync.Mutex // held while the configuration is put together

	mu       sync.Mutex
	settings settings
	cfg      config.Config
	problems []config.Problem
	section  []byte
	pushed   bool // the editor has sent its section by itself
	opener   model.Opener
	folders  []string
	sessions map[string]*session
	loans    map[string]*loan // by stream
	lent     int              // how many there have been
	stats    map[string]*protocol.ToolStats
	usage    model.Usage
	ended    bool

	opening sync.Once
	kept    store.Store // once it was opened
	opened  atomic.Bool
	figures storeFigures
	loading sync.Mutex // one session is loaded at a time
	judging sync.Mutex // one recovery at a time

	background sync.WaitGroup
	questions  *questions
	asked      askers
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
	// documents says that edits go to it as documentChanges, with versions.
	documents bool
}

// session is one conversation as the server knows it.
type session struct {
	*agent.Session
	id      string
	cwd     string
	changes *review.Log
	updates *updates.Stream
	news    *reviewNews
	// progress is that of the latest turn; answer what the model says in a turn that tandem.ask began.
	progress atomic.Pointer[progress]
	answer   answer
	touched  time.Time
	// folders are cwd and the workspace's other folders; mentions is what can be mentioned below them.
	folders  []string
	mentions listing
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
		s.guard("background work", func() { fn(s.conn.Context()) })
	}()
}

// guard runs fn. A fault of what stands beside the connection must not end it.
func (s *server) guard(what string, fn func()) {
	var none error
	defer s.caught(what, &none)
	fn()
}

// caught is deferred to turn a panic into an error.
func (s *server) caught(what string, err *error) {
	if p := recover(); p != nil {
		s.log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		*err = errInside
	}
}

var errInside = errors.New("there was a fault inside Tandem; the log has the details")

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
	if s.ws != nil {
		s.ws.Settle()
	}
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
