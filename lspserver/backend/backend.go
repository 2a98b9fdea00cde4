// Package backend is the application without a wire: sessions and their store, the configuration, the files, the review
// of changes. It knows neither JSON-RPC nor LSP; a Face connects it to a user interface.
package backend

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/custom"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/watch"
	"tandem/lspserver/languages"
	"tandem/lspserver/workspace"
	"tandem/sandbox"
	"tandem/sandbox/effects"
	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/mcp"
	"tandem/tools/outputs"
	"tandem/tools/run"
)

// Options configure a backend.
type Options struct {
	// Inputs are the program's layers of the configuration; the client's are put on top.
	Inputs config.Inputs
	// Opener makes the Opener of models for a configuration. lend asks the client's own model; it is nil if there is none.
	Opener func(c config.Config, lend model.Lend) model.Opener
	// Key finds the key of a service that is no model's; see agent.Shared.
	Key func(variable string, command []string) (string, error)
	// Opened is told of folders that sessions may change, before anything is done for a session there; nil for nobody.
	Opened func(folders ...string)
	// Rules gives the text of the user's own rules file; it is called when a session begins. nil for none.
	Rules func() string
	// Commands are the folders of the user's own commands.
	Commands []custom.Source
	// Tools are the tools on offer.
	Tools []tools.Tool
	// Runner starts commands.
	Runner sandbox.Runner
	// SandboxTrial is how long after the start the sandbox of commands is tried out, unless a command
	// or a request for the status needs its level before; 0 is at once.
	SandboxTrial time.Duration
	// Store opens the store on first use; nil keeps sessions in memory.
	Store func(config.Config) (store.Store, error)
	// Stored says whether the store exists, so that there may be changes of a crashed process to recover. May be nil.
	Stored func(config.Config) bool
	// Redact takes secrets out of what the audit keeps; nil takes none out.
	Redact func([]byte) []byte
	// Locks gives the folder of the lock files that serialise changes of a file between processes; nil for none.
	Locks func(config.Config) string
	// Watch enables watching for changes on disk.
	Watch bool
	Now   func() time.Time
	Log   *slog.Logger
	// Own gives the absolute paths of the program's own files and folders: configuration and state. No tool reads or
	// writes them. nil for none.
	Own func(config.Config) []string
	// Quarantine gives the folder for what commands plant in a workspace; nil is none.
	Quarantine func(config.Config) string
	// Pins gives what keeps the tools of MCP servers as they were; nil keeps nothing.
	Pins func(config.Config) mcp.Pins
	// Scratch makes a temporary file for what a session keeps until it is closed; nil is memory alone.
	Scratch func(config.Config) (outputs.File, error)
	// Started is called with the configuration once the client has sent its own, and after each change; may be nil.
	Started func(config.Config)
}

// Face is a user interface of the backend: a protocol with a client. All methods may be called concurrently; those
// without a result must not block.
type Face interface {
	// View makes the View of a session. It is called once for each session, before its first event.
	View(s *Session) View
	// Ask asks the user for permission, Clarify puts a question of the model; see agent.Client and agent.Clarifier.
	Ask(ctx context.Context, s *Session, q run.Question) run.Answer
	Clarify(ctx context.Context, s *Session, q tools.Clarification) (string, error)
	// Warn shows the user one sentence.
	Warn(message string)
	// Problems shows the problems of the configuration. text gives the text of a configuration file.
	Problems(ctx context.Context, all []Problem, text func(file string) string)
	// FileState says that a file has a new state.
	FileState(st workspace.State)
	// Called reports a call that has ended.
	Called(session string, e *run.Event, source string)
	// ToolsChanged says that tools are gone from the set of a session, of all sessions where session is "", and that others have come.
	ToolsChanged(session string, gone, come []tools.Tool)
	// Invoke has the client run one of its own tools, and gives the answer as it came. errors.ErrUnsupported says that the client
	// cannot.
	Invoke(ctx context.Context, i Invocation) ([]byte, error)
}

// View is the display of one session.
type View interface {
	// On queues an event; it never blocks.
	On(e agent.Event)
	// Flush sends the queued events.
	Flush()
	// Replay sends the events of a loaded session, at the speed at which the client reads, without dropping any.
	Replay(ctx context.Context, events iter.Seq[agent.Event])
}

// Client describes the program at the other end of a Face.
type Client struct {
	Name     string   // what it calls itself, "" where it does not say
	Locale   string   // the language of its user, such as zh-CN, "" where it does not say
	Folders  []string // absolute and existing
	Editor   workspace.Editor
	Features workspace.Features
	// Attended says that it is the client of a person, who sees what goes on after a turn.
	Attended bool
	// Plans says that its user can approve what plan mode queues.
	Plans bool
	// Options is the layer of the configuration in the first message; Own says that the client vouches for it.
	Options []byte
	Own     bool
	// OwnSection says that the client's section of settings is the user's own, and never a repository's.
	OwnSection bool
	// Lend asks the client's own model; nil if it has none.
	Lend model.Lend
	// Languages asks the client's own language servers; nil if it cannot.
	Languages languages.Server
	// AskFolder asks the user whether to work in a folder as wide as the home folder; nil if the client cannot ask.
	AskFolder func(ctx context.Context, folder string) bool
}

// mostCalls limits the concurrent calls of all sessions.
const mostCalls = 32

// Backend is the application for one client. Start must be called first, End last; otherwise all methods may be called
// concurrently.
type Backend struct {
	o        Options
	log      *slog.Logger
	face     Face
	user     func() string // the account of the process
	life     lifetime
	keeper   keeper
	settings settings
	sessions registry
	toolbox  toolbox
	tally    tally
	consent  consent
	places   *run.Slots
	claims   run.Claims     // of all sessions
	commands overlapping    // of all sessions
	memory   effects.Memory // of what commands may change
	indexes  index.Indexes  // of the files that are searched

	// Set by Start and then read-only.
	client  Client
	ws      *workspace.Workspace
	roots   *sandbox.Roots
	watcher *watch.Watcher
	// programs are the language servers that run beside the client's.
	programs *languages.Pool

	lost atomic.Bool // see tellLost
}

// New makes a backend for a face.
func New(o Options, face Face) *Backend {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Backend{o: o, log: o.Log, face: face}
	b.life.log = o.Log
	b.keeper.life, b.keeper.now = &b.life, o.Now
	b.keeper.warn = func(message string) { b.face.Warn(message) }
	if o.Store != nil {
		b.keeper.open = func() (store.Store, error) { return o.Store(b.config()) }
	}
	b.places = run.NewSlots(func() int { return max(mostCalls, b.config().Limits.MaxConcurrency) }, nil)
	b.indexes.RunInBackground, b.indexes.Now = b.Later, o.Now
	b.user = sync.OnceValue(account)
	shipped, err := tools.NewLayer(tools.RankBuiltin, "", o.Tools...)
	if err != nil {
		o.Log.Error("tools are left out", "error", err)
	}
	b.toolbox.layers = tools.NewSet(shipped)
	b.viewTools(viewsOf(config.Default()))
	return b
}

// Start starts the backend for a client. ctx ends with the connection. It sends the client nothing, and opens no files
// but those of the configuration.
func (b *Backend) Start(ctx context.Context, c Client) error {
	b.client = c
	b.life.start(ctx)
	for _, folder := range c.Folders {
		if !isFolder(folder) {
			return noSuchFolder(folder)
		}
	}
	b.settings.changeFolders(nil, c.Folders)
	if b.o.Watch {
		b.watcher = watch.New(func(path string, lost bool) {
			b.Guard("watching files", func() {
				b.settingsChanged(path)
				b.ws.Changed(path, lost)
				b.programs.Changed(path)
			})
		}, b.settings.above, b.log)
	}
	b.reload()
	b.openTools()
	cfg := b.config()
	b.roots = &sandbox.Roots{}
	b.roots.Home, _ = os.UserHomeDir() // "" protects no names below it
	if b.o.Own != nil {
		b.roots.Own = b.o.Own(cfg)
	}
	b.addRoots(c.Folders)
	o := workspace.Options{
		Roots:  b.roots,
		Editor: c.Editor, Features: c.Features, Apply: filetime.Apply(cfg.Apply), Closed: filetime.Apply(cfg.ClosedFiles),
		MaxFileBytes: int64(cfg.Limits.MaxFileBytes), Canonical: sandbox.Canonical, Notify: b.face.FileState, Now: b.o.Now, Log: b.log,
		Journal: &b.keeper, Held: time.Duration(cfg.Limits.HeldMs) * time.Millisecond, Waits: b.waits, Late: b.lateEdit,
	}
	if b.watcher != nil {
		o.Watcher = b.watcher
	}
	if b.o.Locks != nil {
		o.Locks = b.o.Locks(cfg)
	}
	b.ws = workspace.New(o)
	b.programs = languages.NewPool(ctx, languages.Options{
		Programs: func() []languages.Program { return languagePrograms(b.config()) }, Read: b.ws.Read, Unsaved: b.ws.Unsaved, Log: b.log,
	})
	return nil
}

// addRoots makes folders of the workspace roots, so that open documents in them are compared with the disk. A wide one is none
// until a person was asked, see allow.
func (b *Backend) addRoots(folders []string) {
	for _, folder := range folders {
		if !b.roots.Wide(folder) {
			b.roots.Add(folder)
		}
	}
}

// Ready does the rest of the start, for which the client does not wait: it reports problems of the configuration,
// watches its files and recovers changes of crashed processes. The client has sent its section of settings before, if
// it has one.
func (b *Backend) Ready(ctx context.Context) {
	if b.o.Started != nil {
		b.o.Started(b.config())
	}
	b.TellProblems(ctx)
	b.awaitSandbox()
	b.watchSettings()
	if b.o.Stored != nil && b.o.Stored(b.config()) {
		b.recover()
	}
}

// Workspace is the file access, open documents included.
func (b *Backend) Workspace() *workspace.Workspace { return b.ws }

// Later runs fn in the background; End waits for it.
func (b *Backend) Later(fn func(ctx context.Context)) { b.life.later(fn) }

// Guard runs fn and logs a panic, which must not end the connection.
func (b *Backend) Guard(what string, fn func()) { b.life.guard(what, fn) }

// Caught is deferred to turn a panic into an error.
func (b *Backend) Caught(what string, err *error) { b.life.panicked(recover(), what, err) }

// Shutdown closes every session, with the short grace period for commands, and waits for pending edits.
func (b *Backend) Shutdown() {
	b.life.hurry()
	b.closeSessions()
	b.ws.Settle()
}

// End closes the backend. When it returns every session is closed and every command has ended. It may be called without
// Start.
func (b *Backend) End() {
	b.life.end()
	b.sessions.end()
	b.closeSessions()
	if b.watcher != nil {
		b.watcher.Close()
	}
	b.life.wait()
	if b.ws != nil {
		b.programs.Close()
		b.ws.Settle()
	}
	b.keeper.close()
}

// closeSessions closes all sessions concurrently.
func (b *Backend) closeSessions() {
	var wg sync.WaitGroup
	for _, se := range b.All() {
		wg.Go(se.Close)
	}
	wg.Wait()
}

func (b *Backend) config() config.Config { return b.settings.config() }

// MaxDiff is the size in bytes of the largest change whose texts are sent.
func (b *Backend) MaxDiff() int { return b.config().Limits.MaxDiffBytes }
