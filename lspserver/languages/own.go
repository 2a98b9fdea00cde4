package languages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/fileuri"
	"tandem/lspserver/wire"
	"tandem/sandbox"
	"tandem/tools"
)

// Program is a language server that can be started.
type Program struct {
	Name    string
	Command string
	Args    []string
	// Languages are the ids of languages by the endings of files, such as ".go".
	Languages map[string]string
	// Roots are files in whose folder a project is.
	Roots []string
	// Install is the command that installs it.
	Install string
	// Settings are its initializationOptions; nil is none.
	Settings any
	// LoadedLine matches the log line after which the project is loaded, for a server that does not
	// report that as progress.
	LoadedLine *regexp.Regexp
	// ReportsStatus is set for a server with experimental/serverStatus, an extension of LSP by
	// rust-analyzer, which reports that the project is loaded or cannot be.
	ReportsStatus bool
	// TSServer is set for a server that forwards requests to TypeScript's own, which has the
	// diagnostics: see tsDiagnostics.
	TSServer bool
	// Since and Before limit the major versions of the package typescript that it supports; 0 is no
	// limit. A program with Since is the compiler of that package itself.
	Since, Before int
	// ByUser is set if the user's configuration names the command, so that it may run without a
	// sandbox.
	ByUser bool
}

// Presets returns the built-in language servers.
func Presets() []Program {
	typescript := map[string]string{
		".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
		".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	}
	typescriptRoots := []string{"tsconfig.json", "jsconfig.json", "package.json"}
	return []Program{
		{
			Name: "gopls", Command: "gopls", Languages: map[string]string{".go": "go"}, Roots: []string{"go.work", "go.mod"},
			Install: "go install golang.org/x/tools/gopls@latest", Settings: map[string]any{"pullDiagnostics": true},
		},
		{
			Name: "typescript-language-server", Command: "typescript-language-server", Args: []string{"--stdio"}, Languages: typescript,
			// From version 7 on the package typescript has no server that this one could use. Its
			// second server, which knows single files alone, would answer for the first while that
			// is starting.
			Roots: typescriptRoots, Install: "npm install -g typescript@5 typescript-language-server",
			Settings: map[string]any{"tsserver": map[string]any{"useSyntaxServer": "never"}}, TSServer: true, Before: compilerServesSince,
		},
		{
			Name: "typescript", Command: "tsc", Args: []string{"--lsp", "--stdio"}, Languages: typescript, Roots: typescriptRoots,
			Install: "npm install -g typescript", Since: compilerServesSince,
		},
		{
			Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"},
			Roots: []string{"pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"}, Install: "npm install -g pyright",
			LoadedLine: regexp.MustCompile(`\b(Found \d+|No) source files?\b`),
		},
		{
			Name: "rust-analyzer", Command: "rust-analyzer", Languages: map[string]string{".rs": "rust"}, Roots: []string{"Cargo.toml"},
			Install: "rustup component add rust-analyzer", ReportsStatus: true,
			// The sandbox does not let it write, which cargo check would. Without cargo check only
			// the experimental checks find a name that is nowhere defined.
			Settings: map[string]any{"checkOnSave": false, "diagnostics": map[string]any{"experimental": map[string]any{"enable": true}}},
		},
		{
			Name: "clangd", Command: "clangd", Languages: map[string]string{
				".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp",
			},
			Roots: []string{"compile_commands.json", "compile_flags.txt", ".clangd"}, Install: "the package clangd of your system",
		},
	}
}

// Options configure a Pool.
type Options struct {
	// Programs returns the programs that may be started by the present configuration.
	Programs func() []Program
	// Read returns the present text of a file, Unsaved the paths of open documents with unsaved
	// text.
	Read    func(ctx context.Context, path string) (filetime.Snapshot, error)
	Unsaved func() []string
	Log     *slog.Logger
	// LoadTimeout limits the wait of a request for a server that loads the project; 0 is the
	// default.
	LoadTimeout time.Duration
}

// defaultLoadTimeout is the default of Options.LoadTimeout.
const defaultLoadTimeout = 20 * time.Second

// idleTimeout is the time without requests after which a server is stopped.
const idleTimeout = 10 * time.Minute

// Pool starts language servers beside the editor: one for each program and project, for all
// sessions. Its methods may be called concurrently.
type Pool struct {
	o   Options
	ctx context.Context

	mu      sync.Mutex
	running map[serverKey]*process
}

type serverKey struct{ program, root string }

// NewPool returns a Pool whose servers end with ctx at the latest.
func NewPool(ctx context.Context, o Options) *Pool {
	return &Pool{o: o, ctx: ctx, running: map[serverKey]*process{}}
}

// Session returns the Server of a session. env returns the environment in which servers are started
// and paths are checked.
func (p *Pool) Session(env func() *tools.Env) Server { return &session{p, env} }

// Changed reports to the servers that a file has changed on disk.
func (p *Pool) Changed(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, s := range p.running {
		if isBelow(at.root, path) {
			s.noteDiskChange(path)
		}
	}
}

// Close ends all servers and waits for them.
func (p *Pool) Close() {
	p.mu.Lock()
	all := p.running
	p.running = map[serverKey]*process{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.shutDown)
	}
	wg.Wait()
}

func isBelow(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

type session struct {
	pool *Pool
	env  func() *tools.Env
}

// Serves reports whether a folder is the root of a project that a program supports.
func (s *session) Serves(folder string) bool {
	env := s.env()
	return slices.ContainsFunc(s.pool.o.Programs(), func(p Program) bool {
		return s.isProject(env, p, folder) && s.supports(env, p, folder) && s.findProgram(env, p, folder) != ""
	})
}

func (s *session) isProject(env *tools.Env, p Program, folder string) bool {
	return slices.ContainsFunc(p.Roots, func(name string) bool { return isReadableFile(env, filepath.Join(folder, name)) })
}

func isReadableFile(env *tools.Env, path string) bool {
	at, err := env.Paths.Readable(path)
	if err != nil {
		return false
	}
	info, err := at.Stat()
	return err == nil && info.Mode().IsRegular()
}

// findProgram returns the absolute path of a program that may be started for a project, or "".
func (s *session) findProgram(env *tools.Env, p Program, root string) string {
	if env.Commands.Runner == nil || !p.ByUser && !env.Commands.Runner.Level().Confines() {
		return ""
	}
	if p.Since > 0 && !p.ByUser {
		return s.compiler(env, root).program
	}
	program, err := env.Commands.Runner.Find(p.Command, sandbox.Surroundings{})
	if err != nil {
		return ""
	}
	return program
}

// projectRoot is the project root of a file: the nearest folder with one of the program's root
// files, else the folder of the session that contains it.
func (s *session) projectRoot(env *tools.Env, p Program, path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		inside := slices.ContainsFunc(env.Paths.Read, func(root string) bool { return isBelow(sandbox.Canonical(root), dir) })
		switch {
		case inside && s.isProject(env, p, dir):
			return dir
		case !inside || dir == filepath.Dir(dir):
			for _, root := range env.Paths.Read {
				if root = sandbox.Canonical(root); isBelow(root, path) {
					return root
				}
			}
			return ""
		}
	}
}

// Ask implements Server.
func (s *session) Ask(ctx context.Context, r Request) ([]Reply, error) {
	env := s.env()
	at, err := env.Paths.Readable(r.Path)
	if err != nil {
		return nil, err
	}
	folder := false
	if info, err := at.Stat(); err == nil {
		folder = info.IsDir()
	}
	var out []Reply
	var missing []string
	idle := ""
	for _, p := range s.pool.o.Programs() {
		root := r.Path
		if !folder {
			if p.Languages[strings.ToLower(filepath.Ext(r.Path))] == "" {
				continue
			}
			root = s.projectRoot(env, p, r.Path)
		} else if !s.isProject(env, p, root) {
			continue
		}
		if root == "" || !s.supports(env, p, root) {
			continue
		}
		srv, err := s.pool.get(ctx, s, env, p, root, r.Running || r.Method == "workspace/diagnostic")
		if errors.Is(err, errNoProgram) {
			missing = append(missing, p.Install)
			continue
		}
		if err != nil {
			return nil, err
		}
		if srv == nil {
			if s.findProgram(env, p, root) != "" {
				idle = p.Name
			}
			continue
		}
		reply, err := srv.ask(ctx, r, folder)
		if err != nil {
			return nil, err
		}
		out = append(out, reply)
	}
	if len(out) == 0 && len(missing) > 0 {
		says := "Tell the user that one can be installed: " + strings.Join(missing, "; ") + "."
		if env.Commands.Runner != nil && !env.Commands.Runner.Level().Confines() {
			says = "None is started without a sandbox unless the user names its command in languageServers."
		}
		return nil, &tools.NoServerError{Says: says}
	}
	if len(out) == 0 && idle != "" {
		return nil, &tools.NoServerError{Idle: idle}
	}
	return out, nil
}

// errNoProgram is the error for a program that is not installed.
var errNoProgram = errors.New("the program is not installed")

// get returns the server of a project and starts it, unless only a running one is wanted. The error
// is errNoProgram if the program is not installed.
func (p *Pool) get(ctx context.Context, s *session, env *tools.Env, program Program, root string, running bool) (*process, error) {
	key := serverKey{program.Name, root}
	p.mu.Lock()
	srv := p.running[key]
	if srv == nil && running {
		p.mu.Unlock()
		return nil, nil
	}
	if srv == nil {
		path := s.findProgram(env, program, root)
		if path == "" {
			p.mu.Unlock()
			return nil, errNoProgram
		}
		srv = &process{
			program: program, root: root, ready: make(chan struct{}), open: map[string]*document{}, published: map[string]publication{},
			tasks: map[string]bool{}, stateChanged: make(chan struct{}), isLoaded: program.LoadedLine == nil && !program.ReportsStatus,
			readFile: p.o.Read, unsavedPaths: p.o.Unsaved, log: p.o.Log, loadTimeout: cmp.Or(p.o.LoadTimeout, defaultLoadTimeout),
		}
		srv.removeFromPool = func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.running[key] == srv {
				delete(p.running, key)
			}
		}
		srv.idleTimer = time.AfterFunc(idleTimeout, func() { srv.removeFromPool(); srv.shutDown() })
		p.running[key] = srv
		go srv.start(p.ctx, env, path)
	}
	srv.idleTimer.Reset(idleTimeout)
	p.mu.Unlock()
	select {
	case <-srv.ready:
		return srv, srv.startError
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// document is a file that a server has open.
type document struct {
	version int32
	text    text.Text
	// unpublished counts the versions sent since the latest publication without a version.
	unpublished int
}

// publication holds the diagnostics that a server pushed for a file.
type publication struct {
	// version is the version of the document that it is about: as the server reports it, or for a
	// server without versions the only one that it can be about. nil if several were unanswered.
	version *int32
	at      time.Time
	items   json.RawMessage
}

// publishSettleTime is the age from which a publication of unknown version counts as one about the
// present text.
const publishSettleTime = time.Second

// publicationOf returns the latest publication about a file and its document, nil if that is not
// open. s.mu is held.
func (s *process) publicationOf(path string) (p publication, open *document) {
	p, open = s.published[path], s.open[path]
	if p.items != nil && p.version == nil && open != nil && time.Since(p.at) > publishSettleTime {
		p.version = &open.version
	}
	return p, open
}

// storePublication stores the pushed diagnostics of a file.
func (s *process) storePublication(path string, version *int32, items json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := publication{version: version, at: time.Now(), items: items}
	if d := s.open[path]; d != nil {
		if now := d.version; p.version == nil && d.unpublished <= 1 {
			p.version = &now
		}
		d.unpublished = min(1, max(0, d.unpublished-1))
	}
	s.published[path] = p
}

// process is one running language server.
type process struct {
	program        Program
	root           string
	readFile       func(ctx context.Context, path string) (filetime.Snapshot, error)
	unsavedPaths   func() []string
	log            *slog.Logger
	loadTimeout    time.Duration // see Options
	idleTimer      *time.Timer
	removeFromPool func() // removes it from the pool

	ready             chan struct{} // closed after the start or its failure
	startError        error
	conn              *wire.Conn
	child             sandbox.Process
	cancel            context.CancelFunc
	encoding          text.Encoding
	canPull           bool // it serves textDocument/diagnostic
	canResolveActions bool // it serves codeAction/resolve
	canResolveSymbols bool // it serves workspaceSymbol/resolve

	syncMu sync.Mutex // serializes document notifications, so that they are sent in order

	mu            sync.Mutex
	open          map[string]*document
	published     map[string]publication
	changedOnDisk []string // paths changed on disk since the last notification
	// tasks maps the progress tokens of the server's own work to whether it runs; finishedTasks
	// counts those that ended.
	tasks         map[string]bool
	finishedTasks int
	isLoaded      bool          // it has reported so, or reports it as progress
	loadError     string        // why it cannot load the project, "" if it can
	stateChanged  chan struct{} // closed and replaced when one of these changes
}

// pipeConn is the connection to a process by its standard input and output.
type pipeConn struct {
	io.ReadCloser
	in io.WriteCloser
}

func (s pipeConn) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s pipeConn) Close() error                { return errors.Join(s.in.Close(), s.ReadCloser.Close()) }

// startTimeout limits the wait for the answer to initialize.
const startTimeout = 30 * time.Second

func (s *process) start(ctx context.Context, env *tools.Env, path string) {
	defer close(s.ready)
	if s.startError = s.launch(ctx, env, path); s.startError != nil {
		s.startError = tools.Refuse(tools.ExecutionError, "language_server", "The language server %s does not run: %s. Tell the user, and use grep.",
			s.program.Name, strings.TrimSuffix(show.Visible(s.startError.Error(), false), "."))
		s.log.Warn("language server", "name", s.program.Name, "error", s.startError)
		s.removeFromPool()
		s.terminate()
	}
}

func (s *process) launch(ctx context.Context, env *tools.Env, path string) error {
	ctx, s.cancel = context.WithCancel(ctx)
	at, err := env.Paths.Readable(s.root)
	if err != nil {
		return err
	}
	dir, err := at.Enter(nil)
	if err != nil {
		return err
	}
	profile := sandbox.ReadOnly
	if !env.Commands.Runner.Level().Confines() {
		profile = sandbox.Unconfined
	}
	s.child, err = env.Commands.Runner.Start(ctx, sandbox.Command{
		Argv: append([]string{path}, s.program.Args...), Dir: dir, Profile: profile, Interactive: true, Grace: env.Limits.KillGrace,
		Keeps: "language server\x00" + s.program.Name + "\x00" + s.root,
	})
	dir.Close()
	if errors.Is(err, fs.ErrNotExist) && env.Commands.Runner.Level().Confines() {
		if _, there := os.Stat(path); there == nil {
			return fmt.Errorf("%s is there, but the sandbox hides it: commands have a /tmp of their own. Install it elsewhere, such as in ~/.local/bin", path)
		}
	}
	if err != nil {
		return err
	}
	if s.child.Stdin() == nil {
		return errors.New("it was not started")
	}
	s.conn = wire.Serve(ctx, pipeConn{s.child.Stdout(), s.child.Stdin()}, s.routes(), wire.Options{Log: s.log, Client: true})
	go func() {
		s.child.Wait()
		s.removeFromPool()
		s.conn.Close()
	}()
	hello, done := context.WithTimeout(ctx, startTimeout)
	defer done()
	folder := map[string]any{"uri": fileuri.Of(s.root), "name": filepath.Base(s.root)}
	var answer struct {
		Capabilities struct {
			PositionEncoding   lsp.PositionEncodingKind `json:"positionEncoding"`
			DiagnosticProvider json.RawMessage          `json:"diagnosticProvider"`
			CodeActionProvider json.RawMessage          `json:"codeActionProvider"`
			SymbolProvider     json.RawMessage          `json:"workspaceSymbolProvider"`
		} `json:"capabilities"`
	}
	err = s.conn.Call(hello, "initialize", map[string]any{
		"processId": nil, "rootUri": fileuri.Of(s.root), "workspaceFolders": []any{folder}, "initializationOptions": s.program.Settings,
		"capabilities": capabilities,
	}, &answer)
	if err != nil {
		return err
	}
	if answer.Capabilities.PositionEncoding == lsp.PositionEncodingKindUTF8 {
		s.encoding = text.UTF8
	}
	s.canPull = isSet(answer.Capabilities.DiagnosticProvider)
	var actions struct{ ResolveProvider bool }
	s.canResolveActions = json.Unmarshal(answer.Capabilities.CodeActionProvider, &actions) == nil && actions.ResolveProvider
	var symbols struct{ ResolveProvider bool }
	s.canResolveSymbols = json.Unmarshal(answer.Capabilities.SymbolProvider, &symbols) == nil && symbols.ResolveProvider
	return s.conn.Notify(ctx, "initialized", map[string]any{})
}

// capabilities are the client capabilities that servers are sent.
var capabilities = json.RawMessage(`{
	"general": {"positionEncodings": ["utf-8", "utf-16"]},
	"window": {"workDoneProgress": true},
	"workspace": {"configuration": true, "workspaceFolders": true, "symbol": {"resolveSupport": {"properties": ["location.range"]}}, "workspaceEdit": {"documentChanges": true}, "didChangeWatchedFiles": {"dynamicRegistration": true}},
	"textDocument": {
		"synchronization": {"didSave": true}, "definition": {}, "references": {}, "rename": {}, "diagnostic": {}, "formatting": {},
		"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}}, "isPreferredSupport": true,
			"disabledSupport": true, "dataSupport": true, "resolveSupport": {"properties": ["edit"]}},
		"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}, "publishDiagnostics": {"versionSupport": true, "dataSupport": true}
	},
	"experimental": {"serverStatusNotification": true}
}`)

// routes serves the requests and notifications of servers.
func (s *process) routes() *wire.Router {
	r := wire.NewRouter()
	none := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	wire.Handle(r, "client/registerCapability", none)
	wire.Handle(r, "client/unregisterCapability", none)
	// In order, because some servers begin the work without waiting for the answer.
	wire.HandleInOrder(r, "window/workDoneProgress/create", func(_ context.Context, p struct {
		Token json.RawMessage `json:"token"`
	},
	) (func(context.Context) (any, error), error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tasks[string(p.Token)] = false
		return func(context.Context) (any, error) { return nil, nil }, nil
	})
	wire.Handle(r, "workspace/configuration", func(_ context.Context, p struct{ Items []json.RawMessage }) ([]any, error) {
		out := make([]any, len(p.Items))
		for i := range out {
			out[i] = s.program.Settings
		}
		return out, nil
	})
	wire.Notify(r, "textDocument/publishDiagnostics", func(_ context.Context, p struct {
		URI         string          `json:"uri"`
		Version     *int32          `json:"version"`
		Diagnostics json.RawMessage `json:"diagnostics"`
	},
	) {
		if path, ok := fileuri.Path(strings.Clone(p.URI)); ok {
			s.storePublication(path, p.Version, slices.Clone(p.Diagnostics))
		}
	})
	wire.Notify(r, "$/progress", s.progress)
	wire.Notify(r, "window/logMessage", func(_ context.Context, p struct {
		Message string `json:"message"`
	},
	) {
		if s.program.LoadedLine != nil && s.program.LoadedLine.MatchString(p.Message) {
			s.updateState(func() { s.isLoaded = true })
		}
	})
	wire.Notify(r, "experimental/serverStatus", func(_ context.Context, p struct {
		Health    string `json:"health"`
		Quiescent bool   `json:"quiescent"`
		Message   string `json:"message"`
	},
	) {
		if s.program.ReportsStatus {
			s.updateState(func() {
				s.isLoaded, s.loadError = p.Quiescent, ""
				if p.Health == "error" {
					s.loadError = strings.Clone(p.Message)
				}
			})
		}
	})
	for _, method := range []string{"window/showMessage", "telemetry/event", "$/logTrace"} {
		wire.Notify(r, method, func(context.Context, json.RawMessage) {})
	}
	return r
}

// shutDown ends the server, first by its protocol, then by the runner.
func (s *process) shutDown() {
	<-s.ready
	s.idleTimer.Stop()
	if s.startError == nil {
		const leave = time.Second
		ctx, done := context.WithTimeout(s.conn.Context(), leave)
		if s.conn.Call(ctx, "shutdown", nil, nil) == nil {
			_ = s.conn.Notify(ctx, "exit", nil)
		}
		done()
	}
	s.terminate()
}

func (s *process) terminate() {
	if s.child != nil {
		s.child.Stop()
		s.child.Wait()
	}
	s.cancel()
	if s.conn != nil {
		s.conn.Close()
	}
}

func (s *process) noteDiskChange(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.changedOnDisk, path) {
		s.changedOnDisk = append(s.changedOnDisk, path)
	}
}

// ask syncs the changed documents to the server, then sends the request.
func (s *process) ask(ctx context.Context, r Request, folder bool) (Reply, error) {
	out := Reply{Server: s.program.Name, Encoding: s.encoding}
	now, err := s.syncDocuments(ctx, r.Path, folder)
	if err != nil {
		return out, err
	}
	switch {
	case r.Method == "workspace/diagnostic":
		out.Result, err = s.publishedReport()
		return out, err
	case r.Method == "textDocument/diagnostic" && !s.canPull && !s.program.TSServer:
		s.mu.Lock()
		defer s.mu.Unlock()
		p, open := s.publicationOf(r.Path)
		switch older := now.Version - 1; {
		case p.version != nil && open != nil && *p.version == open.version:
			out.Version = &now.Version
		case p.version != nil || p.items == nil:
			out.Version = &older
		}
		if p.items == nil {
			p.items = json.RawMessage("[]")
		}
		out.Result, err = json.Marshal(map[string]any{"kind": "full", "items": p.items})
		return out, err
	case r.Method == "textDocument/diagnostic":
		out.Version = &now.Version
	}
	params := r.Params(s.encoding, fileuri.Of(r.Path))
	if named, ok := params.(map[string]any); ok {
		named["workDoneToken"] = r.Method // separates the progress of this request from the server's own tasks
	}
	if r.Method == codeAction {
		if params, err = s.withDiagnostics(ctx, r.Path, params); err != nil {
			return out, err
		}
	}
	switch {
	case r.Method == "textDocument/diagnostic" && s.program.TSServer:
		out.Result, err = s.tsDiagnostics(ctx, r.Path)
	case r.Running:
		out.Result, err = s.call(ctx, r.Method, params)
	default:
		out.Result, err = s.callWhenLoaded(ctx, r.Method, params)
	}
	if err == nil && r.Method == "workspace/symbol" && s.canResolveSymbols {
		out.Result, err = s.withRanges(ctx, out.Result)
	}
	if err == nil && r.Resolve != "" {
		out.Result, err = s.withEdits(ctx, out.Result, r.Resolve)
	}
	return out, err
}

// call sends a request.
func (s *process) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.conn.Call(ctx, method, params, &result)
	if coded, ok := errors.AsType[*wire.Error](err); ok { // such as an unknown method
		return nil, tools.Refuse(tools.ExecutionError, "language_server", "The language server %s cannot answer: %s.", s.program.Name,
			strings.TrimSuffix(show.Visible(coded.Message, false), "."))
	}
	return slices.Clone(result), err
}

// errLoading cancels a request that the server would only answer after loading the project.
var errLoading = errors.New("the language server still reads the project")

// callWhenLoaded sends a request after the project is loaded, and repeats it if loading was still
// running. An answer does not say which files the server knew, so a request about all files fails
// if loading takes too long; a late answer is not awaited, since it may come long after the call
// has ended.
func (s *process) callWhenLoaded(ctx context.Context, method string, params any) (json.RawMessage, error) {
	limit, done := context.WithTimeout(ctx, s.loadTimeout)
	defer done()
	all := slices.Contains([]string{"textDocument/references", "textDocument/rename", "workspace/symbol"}, method)
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if all {
		go func() {
			<-limit.Done()
			if _, works := s.waitForState(asking, true); works {
				stop(errLoading)
			}
		}()
	}
	for first := true; ; first = false {
		before, ready := s.waitForState(limit, false)
		if !ready && ctx.Err() == nil {
			s.updateState(func() { s.isLoaded = true }) // later requests do not wait again
		}
		var result json.RawMessage
		var err error
		if ready || !all {
			result, err = s.call(asking, method, params)
		}
		now, works := s.taskState()
		switch {
		case ctx.Err() == nil && (all && !ready || err != nil && errors.Is(context.Cause(asking), errLoading)):
			return nil, tools.Refuse(tools.ExecutionError, "language_server_loading",
				"The language server %s still reads the project and does not know all files yet. Ask again after a while, or use grep.", s.program.Name)
		case err != nil:
			return nil, err
		case s.projectError() != "" && (all || method == "textDocument/definition" || method == "textDocument/diagnostic"):
			return nil, tools.Refuse(tools.ExecutionError, "language_server", "The language server %s cannot read the project: %s. Use grep.",
				s.program.Name, strings.TrimSuffix(show.Visible(s.projectError(), false), "."))
		case ready && !works && (now == before || !first), limit.Err() != nil && (works || !first):
			return result, ctx.Err()
		}
	}
}

// projectError is the server's own message why it cannot load the project, "" if it can.
func (s *process) projectError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loadError
}

// waitForState waits until the server runs tasks of its own, or runs none, and returns the number
// of finished ones.
func (s *process) waitForState(ctx context.Context, works bool) (pieces int, ok bool) {
	for {
		s.mu.Lock()
		moved := s.stateChanged
		s.mu.Unlock()
		pieces, now := s.taskState()
		if now == works {
			return pieces, true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return pieces, false
		}
	}
}

// taskState returns the number of finished tasks, and whether any still runs.
func (s *process) taskState() (pieces int, works bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	works = !s.isLoaded
	for _, going := range s.tasks {
		works = works || going
	}
	return s.finishedTasks, works
}

// updateState applies a change to the task state and wakes the goroutines that wait for one.
func (s *process) updateState(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.stateChanged)
	s.stateChanged = make(chan struct{})
}

// progress tracks the server's own tasks by $/progress. Progress of a request carries the token of
// the request and is not counted.
func (s *process) progress(_ context.Context, p struct {
	Token json.RawMessage `json:"token"`
	Value struct {
		Kind string `json:"kind"`
	} `json:"value"`
},
) {
	s.updateState(func() {
		token := string(p.Token)
		if _, ours := s.tasks[token]; !ours {
			return
		}
		switch p.Value.Kind {
		case "begin":
			s.tasks[token] = true
		case "end":
			delete(s.tasks, token)
			s.finishedTasks++
		}
	})
}

// maxResolved limits the symbols without a range that are resolved for one request.
const maxResolved = 100

// withRanges resolves the symbols of an answer that have no range. The unresolved symbol is sent
// back unchanged, as LSP demands.
func (s *process) withRanges(ctx context.Context, result json.RawMessage) (json.RawMessage, error) {
	all := elements(result)
	for i, raw := range all[:min(maxResolved, len(all))] {
		var one struct {
			Location *location `json:"location"`
		}
		if wire.Unmarshal(raw, &one) != nil || one.Location == nil || one.Location.Range != nil {
			continue
		}
		with, err := s.call(ctx, "workspaceSymbol/resolve", raw)
		if ctx.Err() != nil {
			return nil, err
		}
		if err == nil && isSet(with) {
			all[i] = with
		}
	}
	return json.Marshal(all)
}

const codeAction = "textDocument/codeAction"

// withDiagnostics adds the diagnostics of the range to the parameters of textDocument/codeAction,
// since servers offer quick fixes for those only.
func (s *process) withDiagnostics(ctx context.Context, path string, params any) (any, error) {
	var p struct {
		TextDocument json.RawMessage `json:"textDocument"`
		Range        lsp.Range       `json:"range"`
		Context      map[string]any  `json:"context"`
	}
	raw, err := json.Marshal(params)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return nil, err
	}
	var report struct{ Items []json.RawMessage }
	if s.canPull {
		raw, err = s.call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": p.TextDocument})
		if err == nil {
			err = json.Unmarshal(raw, &report)
		}
	} else {
		s.mu.Lock()
		raw = s.published[path].items
		s.mu.Unlock()
		if len(raw) > 0 {
			err = json.Unmarshal(raw, &report.Items)
		}
	}
	if err != nil {
		return nil, err
	}
	p.Context["diagnostics"] = slices.DeleteFunc(report.Items, func(item json.RawMessage) bool {
		var d diagnostic
		return json.Unmarshal(item, &d) != nil || before(d.Range.End, p.Range.Start) || before(p.Range.End, d.Range.Start)
	})
	return p, nil
}

func before(a, b lsp.Position) bool {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Character, b.Character)) < 0
}

// withEdits resolves the edits of the actions with a title, if the server supports that.
func (s *process) withEdits(ctx context.Context, result json.RawMessage, title string) (json.RawMessage, error) {
	all := elements(result)
	for i, raw := range all {
		var a struct {
			Title         string
			Edit, Command json.RawMessage
		}
		if !s.canResolveActions || json.Unmarshal(raw, &a) != nil || a.Title != title || isSet(a.Edit) || len(a.Command) > 0 && a.Command[0] == '"' {
			continue
		}
		with, err := s.call(ctx, "codeAction/resolve", raw)
		switch {
		case err == nil:
			all[i] = with
		case !isSet(a.Command): // an action with a command is usable without an edit
			return nil, err
		}
	}
	return json.Marshal(all)
}

// publishedReport builds the answer to workspace/diagnostic from the pushed diagnostics.
func (s *process) publishedReport() (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for path := range s.published {
		if p, _ := s.publicationOf(path); len(p.items) > 0 && !s.isPending(path) {
			items = append(items, map[string]any{"uri": fileuri.Of(path), "items": p.items})
		}
	}
	for path := range s.open {
		if s.isPending(path) {
			items = append(items, map[string]any{"uri": fileuri.Of(path), "items": []any{}, "pending": true})
		}
	}
	return json.Marshal(map[string]any{"items": items})
}

// syncDocuments sends the server the text of the requested file, of unsaved documents, and the
// paths that changed on disk.
func (s *process) syncDocuments(ctx context.Context, path string, folder bool) (now filetime.Snapshot, err error) {
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	s.mu.Lock()
	touched := s.changedOnDisk
	s.changedOnDisk = nil
	paths := make([]string, 0, len(s.open)+1)
	paths = slices.AppendSeq(paths, maps.Keys(s.open))
	s.mu.Unlock()
	for _, p := range s.unsavedPaths() {
		if isBelow(s.root, p) && s.languageOf(p) != "" {
			paths = append(paths, p)
		}
	}
	if !folder {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		read, err := s.readFile(ctx, p)
		if p == path {
			now = read
		}
		if err == nil {
			err = s.update(ctx, read)
		}
		if err != nil && p == path {
			return now, err
		}
	}
	var changes []any
	for _, p := range touched {
		kind := 2
		if read, err := s.readFile(ctx, p); err == nil && !read.Exists {
			kind = 3
		}
		changes = append(changes, map[string]any{"uri": fileuri.Of(p), "type": kind})
	}
	if len(changes) > 0 {
		err = s.conn.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
	}
	return now, err
}

// isPending reports whether the server has not yet published diagnostics of the present text of a
// document. s.mu is held.
func (s *process) isPending(path string) bool {
	p, open := s.publicationOf(path)
	return open != nil && !s.canPull && !s.program.TSServer && (p.version == nil || *p.version != open.version)
}

func (s *process) languageOf(path string) string {
	return s.program.Languages[strings.ToLower(filepath.Ext(path))]
}

// update sends the server the text of a file if it differs from the last one sent. s.telling is
// held.
func (s *process) update(ctx context.Context, now filetime.Snapshot) error {
	u := fileuri.Of(now.Path)
	s.mu.Lock()
	d := s.open[now.Path]
	s.mu.Unlock()
	switch {
	case d == nil && now.Exists:
		d = &document{version: 1, text: now.Text, unpublished: 1}
		s.mu.Lock()
		s.open[now.Path] = d
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": u, "languageId": s.languageOf(now.Path), "version": d.version, "text": now.Text.String(),
		}})
	case d != nil && !now.Exists:
		s.mu.Lock()
		delete(s.open, now.Path)
		delete(s.published, now.Path)
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": u}})
	case d != nil && !d.text.Equal(now.Text):
		s.mu.Lock()
		d.version, d.text, d.unpublished = d.version+1, now.Text, d.unpublished+1
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": u, "version": d.version}, "contentChanges": []any{map[string]any{"text": now.Text.String()}},
		})
	}
	return nil
}
