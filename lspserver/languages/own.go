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
	// Install says how to install it.
	Install string
	// Settings are its initializationOptions; nil is none.
	Settings any
	// Loaded matches the line of its log that says that it knows the files of the project, where it
	// does not say that as progress.
	Loaded *regexp.Regexp
	// Status says that it tells by experimental/serverStatus, an extension of LSP by rust-analyzer,
	// that it knows them, or cannot read them.
	Status bool
	// TSServer says that it passes requests on to the server of TypeScript, which is asked for
	// diagnostics: see tsDiagnostics.
	TSServer bool
	// Since and Before bound the major versions of the package typescript that it is for; 0 is no
	// bound. One with Since is the compiler of that package itself.
	Since, Before int
	// Named says that the person has named the command, so that it runs also where nothing confines
	// it.
	Named bool
}

// Presets are the language servers that are known.
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
			Settings: map[string]any{"tsserver": map[string]any{"useSyntaxServer": "never"}}, TSServer: true, Before: compilerServes,
		},
		{
			Name: "typescript", Command: "tsc", Args: []string{"--lsp", "--stdio"}, Languages: typescript, Roots: typescriptRoots,
			Install: "npm install -g typescript", Since: compilerServes,
		},
		{
			Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"},
			Roots: []string{"pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt"}, Install: "npm install -g pyright",
			Loaded: regexp.MustCompile(`\b(Found \d+|No) source files?\b`),
		},
		{
			Name: "rust-analyzer", Command: "rust-analyzer", Languages: map[string]string{".rs": "rust"}, Roots: []string{"Cargo.toml"},
			Install: "rustup component add rust-analyzer", Status: true,
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
	// Programs gives those that may be started, by the present configuration.
	Programs func() []Program
	// Read gives the present text of a file, Unsaved the documents that are open with unsaved text.
	Read    func(ctx context.Context, path string) (filetime.Snapshot, error)
	Unsaved func() []string
	Log     *slog.Logger
	// Loading is how long a question waits for a server that reads the project; 0 is the default.
	Loading time.Duration
}

// loading is the default of Options.Loading.
const loading = 20 * time.Second

// idle is after how long a server is ended that nobody has asked.
const idle = 10 * time.Minute

// Pool starts language servers beside the editor: one for each program and project, for all
// sessions. Its methods may be called concurrently.
type Pool struct {
	o   Options
	ctx context.Context

	mu      sync.Mutex
	running map[place]*process
}

type place struct{ program, root string }

// NewPool makes a Pool whose servers end with ctx at the latest.
func NewPool(ctx context.Context, o Options) *Pool {
	return &Pool{o: o, ctx: ctx, running: map[place]*process{}}
}

// Session is the Server of a session: env gives the environment that servers are started and paths
// judged in.
func (p *Pool) Session(env func() *tools.Env) Server { return &session{p, env} }

// Changed says that a file has changed on disk.
func (p *Pool) Changed(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, s := range p.running {
		if below(at.root, path) {
			s.changed(path)
		}
	}
}

// Close ends all servers and waits for them.
func (p *Pool) Close() {
	p.mu.Lock()
	all := p.running
	p.running = map[place]*process{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(s.stop)
	}
	wg.Wait()
}

func below(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

type session struct {
	pool *Pool
	env  func() *tools.Env
}

// Serves says that there is a project at the top of a folder and a program for it.
func (s *session) Serves(folder string) bool {
	env := s.env()
	return slices.ContainsFunc(s.pool.o.Programs(), func(p Program) bool {
		return s.project(env, p, folder) && s.takes(env, p, folder) && s.find(env, p, folder) != ""
	})
}

func (s *session) project(env *tools.Env, p Program, folder string) bool {
	return slices.ContainsFunc(p.Roots, func(name string) bool { return there(env, filepath.Join(folder, name)) })
}

func there(env *tools.Env, path string) bool {
	at, err := env.Paths.Readable(path)
	if err != nil {
		return false
	}
	info, err := at.Stat()
	return err == nil && info.Mode().IsRegular()
}

// find gives the absolute path of a program that may be started for a project, "" where there is
// none.
func (s *session) find(env *tools.Env, p Program, root string) string {
	if env.Commands.Runner == nil || !p.Named && !env.Commands.Runner.Level().Confines() {
		return ""
	}
	if p.Since > 0 && !p.Named {
		return s.compiler(env, root).program
	}
	program, err := env.Commands.Runner.Find(p.Command, sandbox.Surroundings{})
	if err != nil {
		return ""
	}
	return program
}

// root is the project that a file belongs to: the nearest folder with one of the files that a
// program knows projects by, else the folder of the session that it lies in.
func (s *session) root(env *tools.Env, p Program, path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		inside := slices.ContainsFunc(env.Paths.Read, func(root string) bool { return below(sandbox.Canonical(root), dir) })
		switch {
		case inside && s.project(env, p, dir):
			return dir
		case !inside || dir == filepath.Dir(dir):
			for _, root := range env.Paths.Read {
				if root = sandbox.Canonical(root); below(root, path) {
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
			root = s.root(env, p, r.Path)
		} else if !s.project(env, p, root) {
			continue
		}
		if root == "" || !s.takes(env, p, root) {
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
			if s.find(env, p, root) != "" {
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

// get gives the server of a project, and starts it unless only a running one is wanted.
// errNoProgram says that there is no program.
func (p *Pool) get(ctx context.Context, s *session, env *tools.Env, program Program, root string, running bool) (*process, error) {
	key := place{program.Name, root}
	p.mu.Lock()
	srv := p.running[key]
	if srv == nil && running {
		p.mu.Unlock()
		return nil, nil
	}
	if srv == nil {
		path := s.find(env, program, root)
		if path == "" {
			p.mu.Unlock()
			return nil, errNoProgram
		}
		srv = &process{
			program: program, root: root, ready: make(chan struct{}), open: map[string]*document{}, published: map[string]publication{},
			working: map[string]bool{}, moved: make(chan struct{}), loaded: program.Loaded == nil && !program.Status,
			read: p.o.Read, unsaved: p.o.Unsaved, log: p.o.Log, loading: cmp.Or(p.o.Loading, loading),
		}
		srv.ended = func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.running[key] == srv {
				delete(p.running, key)
			}
		}
		srv.idle = time.AfterFunc(idle, func() { srv.ended(); srv.stop() })
		p.running[key] = srv
		go srv.start(p.ctx, env, path)
	}
	srv.idle.Reset(idle)
	p.mu.Unlock()
	select {
	case <-srv.ready:
		return srv, srv.failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// document is a file that a server was told the text of.
type document struct {
	version int32
	text    text.Text
	// unanswered counts the versions since the latest publication without a version.
	unanswered int
}

// publication is what a server has published of a file.
type publication struct {
	// about is the version of the document that it is about: as the server says it, or for a server
	// that says none, the only one that it can be about. nil where several versions were still to
	// be answered.
	about *int32
	at    time.Time
	items json.RawMessage
}

// settled is after how long the latest publication about nobody knows what is taken for one about
// the present text.
const settled = time.Second

// publishedOf returns the latest publication about a file with the state of its document, nil where
// that is not open. s.mu is held.
func (s *process) publishedOf(path string) (p publication, open *document) {
	p, open = s.published[path], s.open[path]
	if p.items != nil && p.about == nil && open != nil && time.Since(p.at) > settled {
		p.about = &open.version
	}
	return p, open
}

// publish keeps what a server publishes.
func (s *process) publish(path string, version *int32, items json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := publication{about: version, at: time.Now(), items: items}
	if d := s.open[path]; d != nil {
		if now := d.version; p.about == nil && d.unanswered <= 1 {
			p.about = &now
		}
		d.unanswered = min(1, max(0, d.unanswered-1))
	}
	s.published[path] = p
}

// process is one running language server.
type process struct {
	program Program
	root    string
	read    func(ctx context.Context, path string) (filetime.Snapshot, error)
	unsaved func() []string
	log     *slog.Logger
	loading time.Duration // see Options
	idle    *time.Timer
	ended   func() // takes it out of the pool

	ready    chan struct{} // closed when it was started, or has failed
	failed   error
	conn     *wire.Conn
	child    sandbox.Process
	cancel   context.CancelFunc
	encoding text.Encoding
	pulls    bool // it answers textDocument/diagnostic
	resolves bool // it answers codeAction/resolve
	places   bool // it answers workspaceSymbol/resolve

	telling sync.Mutex // held while documents are told, so that they come in order

	mu        sync.Mutex
	open      map[string]*document
	published map[string]publication
	touched   []string // that have changed on disk since it was told last
	// working are the tokens of the work that it has begun by itself, and whether that goes on.
	// pieces counts what has ended.
	working map[string]bool
	pieces  int
	loaded  bool          // it has said so, or says it as progress
	unread  string        // why it cannot read the project, "" where it can
	moved   chan struct{} // closed and replaced when one of these changes
}

// stdio is the connection to a process.
type stdio struct {
	io.ReadCloser
	in io.WriteCloser
}

func (s stdio) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.ReadCloser.Close()) }

// starting is how long a server may take to answer its first request.
const starting = 30 * time.Second

func (s *process) start(ctx context.Context, env *tools.Env, path string) {
	defer close(s.ready)
	if s.failed = s.launch(ctx, env, path); s.failed != nil {
		s.failed = tools.Refuse(tools.ExecutionError, "language_server", "The language server %s does not run: %s. Tell the user, and use grep.",
			s.program.Name, strings.TrimSuffix(show.Visible(s.failed.Error(), false), "."))
		s.log.Warn("language server", "name", s.program.Name, "error", s.failed)
		s.ended()
		s.end()
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
	s.conn = wire.Serve(ctx, stdio{s.child.Stdout(), s.child.Stdin()}, s.routes(), wire.Options{Log: s.log, Client: true})
	go func() {
		s.child.Wait()
		s.ended()
		s.conn.Close()
	}()
	hello, done := context.WithTimeout(ctx, starting)
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
	s.pulls = given(answer.Capabilities.DiagnosticProvider)
	var actions struct{ ResolveProvider bool }
	s.resolves = json.Unmarshal(answer.Capabilities.CodeActionProvider, &actions) == nil && actions.ResolveProvider
	var symbols struct{ ResolveProvider bool }
	s.places = json.Unmarshal(answer.Capabilities.SymbolProvider, &symbols) == nil && symbols.ResolveProvider
	return s.conn.Notify(ctx, "initialized", map[string]any{})
}

// capabilities are what a server is told of its client.
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

// routes answers what servers ask of their client.
func (s *process) routes() *wire.Router {
	r := wire.NewRouter()
	none := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	wire.Handle(r, "client/registerCapability", none)
	wire.Handle(r, "client/unregisterCapability", none)
	// In order, because some servers say that the work has begun without having waited for the
	// answer.
	wire.HandleInOrder(r, "window/workDoneProgress/create", func(_ context.Context, p struct {
		Token json.RawMessage `json:"token"`
	},
	) (func(context.Context) (any, error), error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.working[string(p.Token)] = false
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
			s.publish(path, p.Version, slices.Clone(p.Diagnostics))
		}
	})
	wire.Notify(r, "$/progress", s.progress)
	wire.Notify(r, "window/logMessage", func(_ context.Context, p struct {
		Message string `json:"message"`
	},
	) {
		if s.program.Loaded != nil && s.program.Loaded.MatchString(p.Message) {
			s.move(func() { s.loaded = true })
		}
	})
	wire.Notify(r, "experimental/serverStatus", func(_ context.Context, p struct {
		Health    string `json:"health"`
		Quiescent bool   `json:"quiescent"`
		Message   string `json:"message"`
	},
	) {
		if s.program.Status {
			s.move(func() {
				s.loaded, s.unread = p.Quiescent, ""
				if p.Health == "error" {
					s.unread = strings.Clone(p.Message)
				}
			})
		}
	})
	for _, method := range []string{"window/showMessage", "telemetry/event", "$/logTrace"} {
		wire.Notify(r, method, func(context.Context, json.RawMessage) {})
	}
	return r
}

// stop ends the server: by its protocol, then by the runner.
func (s *process) stop() {
	<-s.ready
	s.idle.Stop()
	if s.failed == nil {
		const leave = time.Second
		ctx, done := context.WithTimeout(s.conn.Context(), leave)
		if s.conn.Call(ctx, "shutdown", nil, nil) == nil {
			_ = s.conn.Notify(ctx, "exit", nil)
		}
		done()
	}
	s.end()
}

func (s *process) end() {
	if s.child != nil {
		s.child.Stop()
		s.child.Wait()
	}
	s.cancel()
	if s.conn != nil {
		s.conn.Close()
	}
}

func (s *process) changed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.touched, path) {
		s.touched = append(s.touched, path)
	}
}

// ask tells the server of all that has changed, and asks it.
func (s *process) ask(ctx context.Context, r Request, folder bool) (Reply, error) {
	out := Reply{Server: s.program.Name, Encoding: s.encoding}
	now, err := s.tell(ctx, r.Path, folder)
	if err != nil {
		return out, err
	}
	switch {
	case r.Method == "workspace/diagnostic":
		out.Result, err = s.known()
		return out, err
	case r.Method == "textDocument/diagnostic" && !s.pulls && !s.program.TSServer:
		s.mu.Lock()
		defer s.mu.Unlock()
		p, open := s.publishedOf(r.Path)
		switch older := now.Version - 1; {
		case p.about != nil && open != nil && *p.about == open.version:
			out.Version = &now.Version
		case p.about != nil || p.items == nil:
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
		named["workDoneToken"] = r.Method // so that the work of the request is not taken for the server's own
	}
	if r.Method == codeAction {
		if params, err = s.faulted(ctx, r.Path, params); err != nil {
			return out, err
		}
	}
	switch {
	case r.Method == "textDocument/diagnostic" && s.program.TSServer:
		out.Result, err = s.tsDiagnostics(ctx, r.Path)
	case r.Running:
		out.Result, err = s.call(ctx, r.Method, params)
	default:
		out.Result, err = s.whole(ctx, r.Method, params)
	}
	if err == nil && r.Method == "workspace/symbol" && s.places {
		out.Result, err = s.placed(ctx, out.Result)
	}
	if err == nil && r.Resolve != "" {
		out.Result, err = s.resolved(ctx, out.Result, r.Resolve)
	}
	return out, err
}

// call sends a request.
func (s *process) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.conn.Call(ctx, method, params, &result)
	var coded *wire.Error
	if errors.As(err, &coded) { // such as one that does not know the method
		return nil, tools.Refuse(tools.ExecutionError, "language_server", "The language server %s cannot answer: %s.", s.program.Name,
			strings.TrimSuffix(show.Visible(coded.Message, false), "."))
	}
	return slices.Clone(result), err
}

// errLoading ends a question that a server would answer when it has read the project.
var errLoading = errors.New("the language server still reads the project")

// whole sends a request when the server knows the project, and again where it has turned out
// meanwhile that it did not. What a server knows of the other files is not said in its answer, so
// one that is not ready in time is no answer to a question about all of them. It is not waited for
// either: such an answer may come long after the call has ended.
func (s *process) whole(ctx context.Context, method string, params any) (json.RawMessage, error) {
	limit, done := context.WithTimeout(ctx, s.loading)
	defer done()
	all := slices.Contains([]string{"textDocument/references", "textDocument/rename", "workspace/symbol"}, method)
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if all {
		go func() {
			<-limit.Done()
			if _, works := s.until(asking, true); works {
				stop(errLoading)
			}
		}()
	}
	for first := true; ; first = false {
		before, ready := s.until(limit, false)
		if !ready && ctx.Err() == nil {
			s.move(func() { s.loaded = true }) // it is not waited for again
		}
		var result json.RawMessage
		var err error
		if ready || !all {
			result, err = s.call(asking, method, params)
		}
		now, works := s.state()
		switch {
		case ctx.Err() == nil && (all && !ready || err != nil && errors.Is(context.Cause(asking), errLoading)):
			return nil, tools.Refuse(tools.ExecutionError, "language_server_loading",
				"The language server %s still reads the project and does not know all files yet. Ask again after a while, or use grep.", s.program.Name)
		case err != nil:
			return nil, err
		case s.cannotRead() != "" && (all || method == "textDocument/definition" || method == "textDocument/diagnostic"):
			return nil, tools.Refuse(tools.ExecutionError, "language_server", "The language server %s cannot read the project: %s. Use grep.",
				s.program.Name, strings.TrimSuffix(show.Visible(s.cannotRead(), false), "."))
		case ready && !works && (now == before || !first), limit.Err() != nil && (works || !first):
			return result, ctx.Err()
		}
	}
}

// cannotRead is why the server cannot read the project, as it says itself.
func (s *process) cannotRead() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unread
}

// until waits until the server is at work by itself, or is not, and gives how many pieces of such
// work have ended.
func (s *process) until(ctx context.Context, works bool) (pieces int, ok bool) {
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		pieces, now := s.state()
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

// state is how many pieces of work the server has ended, and whether it is still at work.
func (s *process) state() (pieces int, works bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	works = !s.loaded
	for _, going := range s.working {
		works = works || going
	}
	return s.pieces, works
}

// move changes what the server is known to do.
func (s *process) move(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// progress hears of the work of the server. That of a request has a token of the request and is not
// counted.
func (s *process) progress(_ context.Context, p struct {
	Token json.RawMessage `json:"token"`
	Value struct {
		Kind string `json:"kind"`
	} `json:"value"`
},
) {
	s.move(func() {
		token := string(p.Token)
		if _, ours := s.working[token]; !ours {
			return
		}
		switch p.Value.Kind {
		case "begin":
			s.working[token] = true
		case "end":
			delete(s.working, token)
			s.pieces++
		}
	})
}

// mostPlaced is how many symbols without a range are resolved for one question.
const mostPlaced = 100

// placed resolves the symbols of an answer that have no range. What is resolved is sent back as it
// came.
func (s *process) placed(ctx context.Context, result json.RawMessage) (json.RawMessage, error) {
	all := list(result)
	for i, raw := range all[:min(mostPlaced, len(all))] {
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
		if err == nil && given(with) {
			all[i] = with
		}
	}
	return json.Marshal(all)
}

const codeAction = "textDocument/codeAction"

// faulted adds to the parameters of textDocument/codeAction the diagnostics of their range, which
// repairs are offered for.
func (s *process) faulted(ctx context.Context, path string, params any) (any, error) {
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
	if s.pulls {
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

// resolved gives the actions of a title an edit, where the server resolves them.
func (s *process) resolved(ctx context.Context, result json.RawMessage, title string) (json.RawMessage, error) {
	all := list(result)
	for i, raw := range all {
		var a struct {
			Title         string
			Edit, Command json.RawMessage
		}
		if !s.resolves || json.Unmarshal(raw, &a) != nil || a.Title != title || given(a.Edit) || len(a.Command) > 0 && a.Command[0] == '"' {
			continue
		}
		with, err := s.call(ctx, "codeAction/resolve", raw)
		switch {
		case err == nil:
			all[i] = with
		case !given(a.Command): // what has one need not know more
			return nil, err
		}
	}
	return json.Marshal(all)
}

// known is what the server has said of files unasked, as the answer to workspace/diagnostic.
func (s *process) known() (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []any{}
	for path := range s.published {
		if p, _ := s.publishedOf(path); len(p.items) > 0 && !s.pending(path) {
			items = append(items, map[string]any{"uri": fileuri.Of(path), "items": p.items})
		}
	}
	for path := range s.open {
		if s.pending(path) {
			items = append(items, map[string]any{"uri": fileuri.Of(path), "items": []any{}, "pending": true})
		}
	}
	return json.Marshal(map[string]any{"items": items})
}

// tell tells the server of the file that it is asked about, of unsaved text and of what has changed
// on disk.
func (s *process) tell(ctx context.Context, path string, folder bool) (now filetime.Snapshot, err error) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.mu.Lock()
	touched := s.touched
	s.touched = nil
	paths := make([]string, 0, len(s.open)+1)
	for p := range s.open {
		paths = append(paths, p)
	}
	s.mu.Unlock()
	for _, p := range s.unsaved() {
		if below(s.root, p) && s.language(p) != "" {
			paths = append(paths, p)
		}
	}
	if !folder {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		read, err := s.read(ctx, p)
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
		if read, err := s.read(ctx, p); err == nil && !read.Exists {
			kind = 3
		}
		changes = append(changes, map[string]any{"uri": fileuri.Of(p), "type": kind})
	}
	if len(changes) > 0 {
		err = s.conn.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
	}
	return now, err
}

// pending reports whether a publication about the present text of a document is still to come. s.mu
// is held.
func (s *process) pending(path string) bool {
	p, open := s.publishedOf(path)
	return open != nil && !s.pulls && !s.program.TSServer && (p.about == nil || *p.about != open.version)
}

func (s *process) language(path string) string {
	return s.program.Languages[strings.ToLower(filepath.Ext(path))]
}

// update tells the server the text of a file, where that is another than it was told. s.telling is
// held.
func (s *process) update(ctx context.Context, now filetime.Snapshot) error {
	u := fileuri.Of(now.Path)
	s.mu.Lock()
	d := s.open[now.Path]
	s.mu.Unlock()
	switch {
	case d == nil && now.Exists:
		d = &document{version: 1, text: now.Text, unanswered: 1}
		s.mu.Lock()
		s.open[now.Path] = d
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": u, "languageId": s.language(now.Path), "version": d.version, "text": now.Text.String(),
		}})
	case d != nil && !now.Exists:
		s.mu.Lock()
		delete(s.open, now.Path)
		delete(s.published, now.Path)
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": u}})
	case d != nil && !d.text.Equal(now.Text):
		s.mu.Lock()
		d.version, d.text, d.unanswered = d.version+1, now.Text, d.unanswered+1
		s.mu.Unlock()
		return s.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument": map[string]any{"uri": u, "version": d.version}, "contentChanges": []any{map[string]any{"text": now.Text.String()}},
		})
	}
	return nil
}
