// Package backend is the application without a wire: sessions and what is kept of them, the configuration, the files, the
// review of what was changed. It knows no JSON-RPC and no type of LSP. Whoever shows it to a person is a Face.
package backend

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/watch"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/run"
)

// Options are what a backend takes from the program that makes it.
type Options struct {
	// Inputs are the layers of the configuration that the program knows; the client's own are put on top.
	Inputs config.Inputs
	// Opener makes the finder of models for a configuration. lend lends the client's own, nil where it has none.
	Opener func(c config.Config, lend model.Lend) model.Opener
	// Rules gives the person's own rules for every session; it is asked when one begins. nil for none.
	Rules func() string
	// Tools are the tools on offer.
	Tools []tools.Tool
	// Runner starts commands. grace is from the configuration.
	Runner sandbox.Runner
	// Store opens what keeps the sessions, when the first session begins or is asked for; nil keeps them as long as the
	// backend lives.
	Store func(config.Config) (store.Store, error)
	// Stored says whether there is such a store already, in which an earlier process may have left something to clear up.
	// May be nil.
	Stored func(config.Config) bool
	// Locks gives the folder of the locks that keep processes from changing the same file at once; nil for none.
	Locks func(config.Config) string
	// Watch turns watching for changes on disk on.
	Watch bool
	Now   func() time.Time
	Log   *slog.Logger
	// Own gives the absolute paths of the files and folders that are the program's own: the configuration, what lies beside it,
	// and the state. No tool reads or writes them. nil for none.
	Own func(config.Config) []string
	// Started is told of the configuration once the client has given its own, and whenever it has changed; may be nil.
	Started func(config.Config)
}

// Face is whoever shows the backend to a person. All methods may be called concurrently; those without an answer must not
// block.
type Face interface {
	// View makes what a session is shown by. It is asked once for each session, before anything happens in it.
	View(s *Session) View
	// Ask asks a person for permission, Clarify what the model wants to know; see agent.Client and agent.Clarifier.
	Ask(ctx context.Context, s *Session, q run.Question) run.Answer
	Clarify(ctx context.Context, s *Session, q tools.Clarification) (string, error)
	// Warn shows a person one sentence.
	Warn(message string)
	// Problems shows what is wrong with the configuration. Those that are new have not been shown yet. text gives what a file
	// of the configuration says.
	Problems(ctx context.Context, all []Problem, text func(file string) string)
	// HunksChanged tells that the hunks of files have changed, FileState that a file has another state.
	HunksChanged(session string, paths []string)
	FileState(st workspace.State)
	// Called tells of a call that has ended.
	Called(session string, e *run.Event, source string)
}

// View is what one session is shown by.
type View interface {
	// On takes an event in; it never blocks.
	On(e agent.Event)
	// Flush sends everything that waits.
	Flush()
	// Replay tells again what happened, no quicker than the client reads: nothing is left out.
	Replay(ctx context.Context, events []agent.Event)
}

// Client is what a Face says of the program at its other end.
type Client struct {
	Folders  []string // absolute, and there
	Editor   workspace.Editor
	Features workspace.Features
	// Options is a layer of the configuration that came with the first message; Own says that the client vouches for it.
	Options []byte
	Own     bool
	// OwnSection says that the client's section of settings is the person's own.
	OwnSection bool
	// Lend lends the client's model, nil where it has none.
	Lend model.Lend
}

// mostCalls is how many calls of all sessions run at the same time.
const mostCalls = 32

// Backend is the application for one client. New makes it, Start must come before anything else, End after everything.
// Otherwise all methods may be called concurrently.
type Backend struct {
	o        Options
	log      *slog.Logger
	face     Face
	allTools *tools.Set                // whatever the configuration says
	tools    atomic.Pointer[tools.Set] // seen as the configuration says
	places   *run.Places

	// Set by Start and then read-only.
	ctx     context.Context
	client  Client
	ws      *workspace.Workspace
	roots   *sandbox.Roots
	watcher *watch.Watcher
	closing context.Context // ends when there is no time left for a long grace
	hurry   context.CancelFunc

	configuring sync.Mutex // held while the configuration is put together

	mu       sync.Mutex
	settings settings
	cfg      config.Config
	problems []config.Problem
	section  []byte
	opener   model.Opener
	folders  []string
	sessions map[string]*Session
	stats    map[string]*ToolStats
	usage    model.Usage
	ended    bool

	opening sync.Once
	kept    store.Store // once it was opened
	opened  atomic.Bool
	figures storeFigures
	loading sync.Mutex // one session is loaded at a time
	judging sync.Mutex // one recovery at a time

	background sync.WaitGroup
}

// New makes a backend that is shown by face.
func New(o Options, face Face) *Backend {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		o: o, log: o.Log, face: face, sessions: map[string]*Session{}, stats: map[string]*ToolStats{},
	}
	b.places = run.NewPlaces(func() int { return max(mostCalls, b.config().Limits.MaxConcurrency) }, nil)
	shipped, err := tools.NewLayer(tools.RankBuiltin, "", o.Tools...)
	if err != nil {
		o.Log.Error("tools are left out", "error", err)
	}
	b.allTools = tools.NewSet(shipped)
	b.tools.Store(b.allTools.Narrow(viewsOf(config.Default())...))
	return b
}

// Start begins to work for a client. ctx ends with the connection to it. Nothing is asked of the client yet, and no file is
// opened but those of the configuration.
func (b *Backend) Start(ctx context.Context, c Client) error {
	b.ctx, b.client = ctx, c
	b.closing, b.hurry = context.WithCancel(ctx)
	for _, folder := range c.Folders {
		if !isFolder(folder) {
			return noSuchFolder(folder)
		}
	}
	b.folders = c.Folders
	if b.o.Watch {
		b.watcher = watch.New(func(path string, lost bool) {
			b.Guard("watching files", func() {
				b.settingsChanged(path)
				b.ws.Changed(path, lost)
			})
		}, b.above, b.log)
	}
	b.reload()
	cfg := b.config()
	b.roots = &sandbox.Roots{}
	b.roots.Home, _ = os.UserHomeDir() // without one no name is special by lying there
	if b.o.Own != nil {
		b.roots.Own = b.o.Own(cfg)
	}
	for _, folder := range c.Folders {
		b.roots.Add(folder)
	}
	o := workspace.Options{
		Roots:  b.roots,
		Editor: c.Editor, Features: c.Features, Apply: filetime.Apply(cfg.Apply), Closed: filetime.Apply(cfg.ClosedFiles),
		MaxFileBytes: int64(cfg.Limits.MaxFileBytes), Canonical: sandbox.Canonical, Notify: b.face.FileState, Now: b.o.Now, Log: b.log,
		Journal: journal{b},
	}
	if b.watcher != nil {
		o.Watch = b.watcher.Add
	}
	if b.o.Locks != nil {
		o.Locks = b.o.Locks(cfg)
	}
	b.ws = workspace.New(o)
	return nil
}

// Ready does what the client need not wait for: the configuration is told of and watched, and what an earlier process left
// is cleared up. The client has given its section of settings by then, if it gives one.
func (b *Backend) Ready(ctx context.Context) {
	if b.o.Started != nil {
		b.o.Started(b.config())
	}
	b.TellProblems(ctx)
	b.watchSettings()
	if b.o.Stored != nil && b.o.Stored(b.config()) {
		b.recover()
	}
}

// Workspace is the files, open documents included.
func (b *Backend) Workspace() *workspace.Workspace { return b.ws }

// Tools are those that can be had, as the configuration says now.
func (b *Backend) Tools() *tools.Set { return b.tools.Load() }

// Later runs fn beside the connection and lets its end wait for it.
func (b *Backend) Later(fn func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.background.Add(1)
	go func() {
		defer b.background.Done()
		b.Guard("background work", func() { fn(b.ctx) })
	}()
}

// Guard runs fn. A fault of what stands beside the connection must not end it.
func (b *Backend) Guard(what string, fn func()) {
	var none error
	defer b.Caught(what, &none)
	fn()
}

// Caught is deferred to turn a panic into an error.
func (b *Backend) Caught(what string, err *error) {
	if p := recover(); p != nil {
		b.log.Error(what+" panicked", "panic", p, "stack", string(debug.Stack()))
		*err = errInside
	}
}

var errInside = errors.New("there was a fault inside Tandem; the log has the details")

// Shutdown ends every session, with a short grace for commands, and waits for edits that are on their way.
func (b *Backend) Shutdown() {
	b.hurry()
	b.closeSessions()
	b.ws.Settle()
}

// End waits until nothing is left. Every session has ended and every command is gone when it returns. It may be called
// without Start.
func (b *Backend) End() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.closeSessions()
	if b.watcher != nil {
		b.watcher.Close()
	}
	b.background.Wait()
	if b.ws != nil {
		b.ws.Settle()
	}
	b.closeStore()
}

// closeSessions ends every session, all at the same time.
func (b *Backend) closeSessions() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, se := range all {
		wg.Go(se.Close)
	}
	wg.Wait()
}

func (b *Backend) config() config.Config {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cfg
}

// MaxDiff is the largest change, in bytes, that is told of with its texts.
func (b *Backend) MaxDiff() int { return b.config().Limits.MaxDiffBytes }
