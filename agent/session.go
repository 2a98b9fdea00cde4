package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/prompt"
	"tandem/agent/store"
	"tandem/agent/window"
	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/sandbox/planted"
	"tandem/sandbox/tree"
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/jobs"
	"tandem/tools/mcp"
	"tandem/tools/messages"
	"tandem/tools/outputs"
	"tandem/tools/run"
)

// Why a session refuses a request.
var (
	ErrBusy   = errors.New("the session is answering another prompt")
	ErrClosed = errors.New("the session is closed")
	ErrEmpty  = errors.New("the prompt holds nothing that can be sent to a model")
	ErrIdle   = errors.New("the session is answering no prompt")
)

// ModeError is an unknown mode.
type ModeError struct{ Mode gate.Mode }

func (e *ModeError) Error() string {
	var names []string
	for _, m := range gate.Modes() {
		names = append(names, strconv.Quote(string(m.Mode)))
	}
	last := len(names) - 1
	return fmt.Sprintf("the mode %q is not served; use %s or %s", e.Mode, strings.Join(names[:last], ", "), names[last])
}

// Options configure a session. Log and Runner may be nil; all else must be set, except where noted.
type Options struct {
	ID string
	// Cwd is the absolute base of relative paths, More are the workspace's other folders.
	Cwd  string
	More []string
	// Home replaces ~ in paths; may be empty.
	Home   string
	Config config.Config
	// Mode and Model override the configuration's where they are not empty.
	Mode   gate.Mode
	Model  string
	Models model.Opener
	// Roots is what the session's roots are added to; nil is one of this session alone.
	Roots *sandbox.Roots
	// Rules is the text of the user's own rules file; may be empty.
	Rules string

	// Tools gives the present set of tools; it is called before each request to a model and before each call begins.
	Tools  func() *tools.Set
	Client Client
	Files  filetime.Files
	Runner sandbox.Runner
	// Quarantine is the absolute folder for what commands plant in the workspace, see planted.Quarantine. With "" it stays where it is,
	// and is told.
	Quarantine string
	// Places is a semaphore on the running calls of all sessions; nil is no limit. The configuration limits one session's.
	Places *run.Places
	// Claims are what calls of all sessions are about to change; nil takes none.
	Claims *run.Claims
	// Indexes are what searches of all sessions remember of the files; nil remembers nothing.
	Indexes *tree.Indexes
	// OpenDocuments lists the paths of the documents with unsaved text; may be nil.
	OpenDocuments func() []string
	// Seen is called with every path that the model sees, Landed with every landed change; neither may block. May be nil.
	Seen   func(path string)
	Landed func(c filetime.Change, l filetime.Landed)
	// Stale is called after Landed with the files whose syntax is to be looked at again. May be nil.
	Stale func(l filetime.Landed)
	// Languages makes what asks language servers about code, with the environment that it starts some in; nil where there are none.
	Languages func(env func() *tools.Env) tools.Languages
	// Undo takes changes of the session back, for tools; nil where the host keeps none.
	Undo tools.Undo
	// InPlace says that a change of a file goes to an editor, see sandbox.Paths; may be nil.
	InPlace func(path string) bool
	// Wrote says that since a time the editor has saved a file with this content, or a tool has landed it there; see planted.Guard. May
	// be nil.
	Wrote func(path, content string, since time.Time) bool
	// Store opens the store at the session's first write; nil keeps nothing. Past is the stored session to continue, which
	// the Store has locked; may be nil.
	Store func() store.Store
	Past  *Past
	// History is a conversation from elsewhere to begin with, where Past is nil. Its system messages follow the rules of the
	// system prompt. Every call in it has its result.
	History []model.Message
	// Servers are the MCP servers that the client has named for the session. Proposed gives those that the workspace names, about which a
	// person is asked; it may be nil. Pins keep what their tools were, see mcp.Options.
	Servers  []mcp.Entry
	Proposed func() []mcp.Entry
	Pins     mcp.Pins
	// ServersChanged is called when Tools or MCPServers gives something else, since a server has begun, failed or changed its tools. It
	// must not block. May be nil.
	ServersChanged func()
	// Remember keeps a rule beyond the session and has every session follow it; nil where rules cannot be kept.
	Remember func(r gate.Rule) error
	// Attended says that a person's client has the session open: a command of a turn that is still running when its answer is due goes
	// on as a job.
	Attended bool
	// Locale is the language of the client's user, as LSP names it; "" where it does not say.
	Locale string
	// Who is whom the records of the audit name; Redact takes secrets out of them, nil takes none out.
	Who    Who
	Redact func([]byte) []byte
	// Key gives what a variable of the environment holds, else what a command prints; nil finds no key.
	Key func(variable string, command []string) (string, error)
	// BeforeCommand is called before a command runs, see run.Host; may be nil.
	BeforeCommand func(ctx context.Context, c run.Command) run.Began
	// Unkept is for the question about a command, see run.Host; may be nil.
	Unkept func(ctx context.Context, c run.Command) string
	// Scratch makes a temporary file for answers that were too long for the model, which are kept until the session is closed; nil keeps
	// what memory can hold.
	Scratch func() (outputs.File, error)
	Now     func() time.Time
	Log     *slog.Logger
}

// Session is one conversation with its model, its mode and what the model has seen of the files. All methods may be
// called concurrently; one prompt runs at a time.
type Session struct {
	o        Options
	fileTime *filetime.FileTime
	findings tools.Findings
	// languages asks language servers; nil where there are none. coded says that there is reason to offer the tools that ask them.
	languages   tools.Languages
	coded       func() bool
	system      func() string
	rules       *rules
	window      *window.Window
	record      *record
	outbox      *outbox
	ctx         context.Context // ends with Close
	close       context.CancelFunc
	working     sync.WaitGroup
	jobs        *jobs.Jobs
	tasks       tasks
	outputs     outputs.Outputs
	keys        run.Keys
	beginning   beginning
	planted     *planted.Guard
	plantedNews []string // that no prompt has told the model
	servers     *mcp.Servers
	models      *models
	rights      *rights
	tools       toolset
	loaded      loadedTools
	ids         callIDs

	mu       sync.Mutex
	settings Settings
	folders  []*sandbox.Folder // Cwd and More
	paths    *sandbox.Paths
	places   *run.Places

	turns   int
	running *Turn
	closed  bool
}

// New makes a session. The error is a *ModeError, or a *model.Error of kind "unavailable" when there is no such model.
func New(o Options) (_ *Session, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	date := o.Now()
	s := &Session{
		o: o, rules: &rules{files: o.Files, log: o.Log, root: o.Cwd, read: map[string]bool{}, fresh: map[string]bool{}},
		models: newModels(), rights: newRights(o.Cwd, o.Remember),
		jobs: jobs.New(),
	}
	s.outputs.Spill = o.Scratch
	s.jobs.Changed = func() { s.Tell(Event{Jobs: true}) }
	for _, path := range slices.Concat([]string{o.Cwd}, o.More) {
		s.folders = append(s.folders, sandbox.OpenFolder(path))
	}
	defer func() {
		if err != nil {
			s.jobs.Close()
			if s.servers != nil {
				s.servers.Close()
			}
			s.closeFolders()
		}
	}()
	s.places = run.NewPlaces(s.mostCalls, o.Places)
	s.rules.shows = s.Shows
	s.resume(fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, o.ID, o.Cwd, date.UnixNano())))[:32])
	s.fileTime = filetime.New(o.Files, o.ID, func(path string) {
		s.rules.see(path)
		if o.Seen != nil {
			o.Seen(path)
		}
	})
	s.ctx, s.close = context.WithCancel(context.Background())
	s.servers = s.newServers()
	s.coded = func() bool { return false }
	if o.Languages != nil {
		s.languages = o.Languages(func() *tools.Env { return s.env(0, run.Call{}, s.Tools) })
		s.coded = sync.OnceValue(func() bool { return s.languages.Serves(o.Cwd) })
	}
	s.Configure(Settings{Config: o.Config, Models: o.Models})
	s.recallKeys()
	s.system = sync.OnceValue(func() string {
		sys := prompt.System{Root: o.Cwd, More: o.More, Date: date, Platform: runtime.GOOS + "/" + runtime.GOARCH}
		for _, t := range s.Tools().List() {
			if spec := t.Spec(); !spec.Unlisted {
				sys.Tools = append(sys.Tools, spec.Name)
			}
		}
		if o.Rules != "" {
			sys.Rules = append(sys.Rules, prompt.Rule{Text: o.Rules})
		}
		for _, text := range s.window.Instructions() {
			sys.Rules = append(sys.Rules, prompt.Rule{Text: text})
		}
		for _, folder := range slices.Concat([]string{o.Cwd}, o.More) {
			if rule, ok := s.rules.of(s.ctx, folder); ok {
				sys.Rules = append(sys.Rules, rule)
			}
		}
		return sys.Render()
	})
	if err := s.setMode(cmp.Or(o.Mode, gate.Mode(o.Config.Mode)), o.Mode != ""); err != nil {
		return nil, err
	}
	if err := s.setModel(cmp.Or(o.Model, o.Config.Model), o.Model != ""); err != nil {
		return nil, err
	}
	s.begins()
	return s, nil
}

// ID is the session's id.
func (s *Session) ID() string { return s.o.ID }

// Cwd is the base of relative paths.
func (s *Session) Cwd() string { return s.o.Cwd }

// FileTime records the texts of files that the session's model has seen.
func (s *Session) FileTime() *filetime.FileTime { return s.fileTime }

// Configure replaces the settings, for the next call and the next prompt. Mode and model follow them unless they were set for the
// session.
func (s *Session) Configure(settings Settings) {
	s.mu.Lock()
	s.settings = settings
	s.models.configure(settings.Config, settings.Models)
	s.confine()
	followed := s.rights.configure(settings)
	s.mu.Unlock()
	s.servers.Configure(s.entries())
	s.rights.reconsider()
	if followed != "" {
		s.outbox.put(Event{Mode: string(followed)}, nil)
	}
}

// config is the present configuration.
func (s *Session) config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Config
}

// confine rebuilds the paths from the configuration and the folders. Running calls go on with those before. s.mu is held.
func (s *Session) confine() {
	if s.paths != nil {
		defer s.paths.Close()
	}
	folders := slices.Concat([]string{s.o.Cwd}, s.o.More)
	s.paths = &sandbox.Paths{
		Cwd: s.o.Cwd, Home: s.o.Home, Strict: s.settings.Config.StrictPaths, Folders: s.folders, Roots: s.o.Roots, InPlace: s.o.InPlace,
		Unsaved: s.o.OpenDocuments,
		Read:    slices.Concat(folders, s.absolute(s.settings.Config.ReadRoots)), Write: folders,
		Unrestricted: s.settings.Config.WriteRoots != nil && len(s.settings.Config.WriteRoots) == 0,
	}
	if len(s.settings.Config.WriteRoots) > 0 {
		s.paths.Write = s.absolute(s.settings.Config.WriteRoots)
	}
	paths := s.paths
	s.planted = &planted.Guard{
		Paths: paths, Session: s.o.ID, Now: s.o.Now, Wrote: s.o.Wrote, Name: func(path string) string { return show.Visible(paths.Rel(path), false) },
	}
	if s.o.Quarantine != "" {
		s.planted.Quarantine = &planted.Quarantine{Dir: s.o.Quarantine, Now: s.o.Now}
	}
}

// recallKeys has the guard of keys that leave know what the calls of the history have shown of files of keys.
func (s *Session) recallKeys() {
	shown := map[string]string{}
	history := s.window.Since(0)
	for _, m := range history {
		if m.Role == model.Tool {
			shown[m.CallID] = m.Text
		}
	}
	secret := func(path string) bool {
		if len(path) > 4096 || strings.ContainsAny(path, "\n\x00") {
			return false
		}
		place, err := s.paths.Readable(path)
		return err == nil && place.Class().Is(sandbox.Secret)
	}
	for _, m := range history {
		for _, c := range m.Calls {
			s.keys.Recall(json.RawMessage(c.Arguments), shown[c.ID], secret)
		}
	}
}

// Reopen opens the session's folders anew by path, since the user has loaded the session again: a folder may have been
// replaced.
func (s *Session) Reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folders = slices.Clone(s.folders) // running calls use the old ones
	for i, f := range s.folders {
		s.folders[i] = f.Again()
	}
	s.confine()
}

// intact fails where one of the session's folders is replaced; see sandbox.Paths.Intact.
func (s *Session) intact() error {
	s.mu.Lock()
	paths := s.paths
	s.mu.Unlock()
	return paths.Intact()
}

// closeFolders closes the folders, and ends the hold on the roots.
func (s *Session) closeFolders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths != nil {
		s.paths.Close()
	}
	for _, f := range s.folders {
		f.Close()
	}
}

func (s *Session) absolute(paths []string) []string {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(s.o.Cwd, p)
		}
		out = append(out, p)
	}
	return out
}

// Mode is the present mode.
func (s *Session) Mode() gate.Mode { return s.rights.currentMode() }

// SetMode changes the mode at once, also of a running turn. The error is a *ModeError.
func (s *Session) SetMode(m gate.Mode) error {
	return s.setMode(m, true)
}

// setMode changes the mode, see rights.
func (s *Session) setMode(m gate.Mode, chosen bool) error {
	changed, err := s.rights.setMode(m, chosen)
	if err != nil {
		return err
	}
	if chosen {
		s.record.set(func(r *store.Session) { r.Mode = string(m) })
	}
	if changed {
		s.outbox.put(Event{Mode: string(m)}, nil)
	}
	return nil
}

// Model is the name of the session's model.
func (s *Session) Model() string { return s.models.current() }

// SetModel changes the model from the next prompt on; "" is the default one. The error is a *model.Error of kind
// "unavailable".
func (s *Session) SetModel(name string) error { return s.setModel(name, name != "") }

func (s *Session) setModel(name string, chosen bool) error {
	full, err := s.models.choose(name, chosen)
	if err != nil {
		return err
	}
	s.record.set(func(r *store.Session) { r.Model = full })
	return nil
}

// History is the conversation so far, without the system prompt. Every call in it has its result.
func (s *Session) History() []model.Message { return slices.Clone(s.window.Since(0)) }

// Input is a user's message: its Blocks, the editor's context, and a Model that overrides the session's for this prompt
// unless it is empty.
type Input struct {
	Blocks []prompt.Block
	Editor prompt.Editor
	Model  string
	// Tools are on offer in this turn alone; nil is none.
	Tools *tools.Layer
	// Shown is the text of the prompt in transcripts, Title the title of a session that has none.
	Shown, Title string
	// News gives text for the model that precedes Blocks, or ""; it is called when the turn is opened. May be nil.
	News func(ctx context.Context) string
}

// Prompt is Begin, Open and Run.
func (s *Session) Prompt(ctx context.Context, in Input) (TurnResult, error) {
	t, err := s.Begin(in)
	if err == nil {
		err = t.Open(ctx)
	}
	if err != nil {
		return TurnResult{}, err
	}
	return t.Run(ctx), nil
}

// Begin claims the session for a turn, so that a later Cancel finds it, and does none of the turn's work. It does not
// block. Errors are ErrBusy, ErrClosed and ErrEmpty; then nothing has happened. The Turn must be opened.
func (s *Session) Begin(in Input) (*Turn, error) {
	said, err := s.message(in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.running != nil:
		return nil, ErrBusy
	}
	b := s.settings.Config.Budget
	t := &Turn{
		s: s, number: s.turns + 1, in: in, began: s.o.Now(), shown: cmp.Or(in.Shown, said.Text), said: said,
		name: cmp.Or(in.Model, s.models.current()), opened: make(chan struct{}),
	}
	t.budget = &run.Budget{MaxCalls: b.MaxToolCalls, MaxTime: time.Duration(b.MaxToolTimeMs) * time.Millisecond}
	t.life, t.kill = context.WithCancel(s.ctx)
	t.ctx, t.cancel = context.WithCancel(t.life)
	s.running = t
	s.working.Add(1)
	return t, nil
}

// Open prepares the turn, which may take a while: a command may have to print the key of its model. It must be called
// once. The end of ctx cancels the turn; for a cancelled turn Open returns at once. After an error, such as a *CommandError, a
// *model.Error of kind "unavailable" or a *sandbox.PathError for a replaced folder, nothing has happened and the turn
// is over; else it must be run.
func (t *Turn) Open(ctx context.Context) error {
	defer context.AfterFunc(ctx, t.cancel)()
	s := t.s
	ready := false
	defer func() { // also after a panic
		if t.failed = !ready; t.failed {
			t.end()
		}
		close(t.opened)
	}()
	if err := s.intact(); err != nil {
		return err
	}
	m, err := t.find()
	if err != nil {
		return err
	}
	s.prepareServers(t.ctx)
	if err := t.expand(t.ctx); err != nil {
		return err
	}
	news := s.atBegin(t.ctx)
	if t.in.News != nil && t.ctx.Err() == nil {
		news = joined(news, t.in.News(t.ctx))
	}
	if news = joined(joined(joined(news, endedJobs(s.jobs.Ended())), unreachedJobs(s.jobs)), s.plantedSince()); news != "" {
		t.in.Blocks = slices.Insert(slices.Clone(t.in.Blocks), 0, prompt.Block{Type: "text", Text: news})
		t.said, _ = s.message(t.in) // not empty, so without error
	}
	s.mu.Lock()
	t.model = m
	renamed := m != nil && t.in.Model == "" && s.models.resolved(t.name, m.Name())
	if renamed {
		t.name = m.Name()
	}
	s.turns = t.number
	s.window.Add(t.said)
	s.mu.Unlock()
	s.see(t.in)
	title := t.in.Title != "" && s.Title() == ""
	if renamed || title {
		s.record.set(func(r *store.Session) {
			if renamed {
				r.Model = m.Name()
			}
			if title && r.Title == "" {
				r.Title = t.in.Title
			}
		})
	}
	s.outbox.barrier(s.record.said(t.number, t.shown, t.said))
	ready = true
	return nil
}

// find gives the turn's model, or nil once the turn is cancelled.
func (t *Turn) find() (model.Model, error) {
	if known := t.s.models.cached(t.name); known != nil {
		return known, nil
	}
	type found struct {
		m   model.Model
		err error
	}
	done := make(chan found, 1)
	go func() {
		var f found
		_, f.err = t.guarded(func() (_ StopReason, err error) {
			f.m, err = t.s.models.open(t.name)
			return "", err
		})
		done <- f
	}()
	select {
	case f := <-done:
		return f.m, f.err
	case <-t.ctx.Done():
		return nil, nil
	}
}

// end releases the session from the turn.
func (t *Turn) end() {
	t.cancel()
	t.kill()
	t.s.mu.Lock()
	t.s.running, t.over = nil, true
	t.s.mu.Unlock()
	t.s.working.Done()
}

// fitting removes the data of images that are too large; their text tells the model that they cannot be shown.
func (s *Session) fitting(blocks []prompt.Block) []prompt.Block {
	most := s.config().Limits.MaxImageBytes
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		if len(b.Data) > most {
			blocks[i].Data = nil
		}
	}
	return blocks
}

// message is in as a message for the model. The error is ErrEmpty.
func (s *Session) message(in Input) (model.Message, error) {
	in.Blocks = s.fitting(in.Blocks)
	said := model.Message{Role: model.User, Text: prompt.User(s.o.Cwd, in.Blocks)}
	if said.Text == "" {
		return said, ErrEmpty
	}
	for _, b := range prompt.Pictures(in.Blocks) {
		said.Attachments = append(said.Attachments, model.Attachment{MIMEType: b.MIMEType, Data: b.Data})
	}
	if e := in.Editor.Render(s.o.Cwd); e != "" {
		said.Text += "\n\n" + e
	}
	return said, nil
}

// see records the paths in a user's message as seen.
func (s *Session) see(in Input) {
	for _, path := range prompt.Paths(s.o.Cwd, in.Blocks, in.Editor) {
		s.rules.see(path)
	}
}

// Cancel cancels the running turn, if any; its Run returns with Stop Cancelled. A call that a cancel waits for is ended by the second one.
func (s *Session) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.running; t != nil {
		if t.ctx.Err() != nil {
			t.kill()
		}
		t.cancel()
	}
}

// Close cancels the turn, the calls and the commands in the background, and waits for their end. Later requests fail with ErrClosed.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.close()
	s.jobs.Close()
	s.servers.Close()
	s.working.Wait()
	s.outputs.Close()
	s.outbox.flush()
	s.record.release()
	s.closeFolders()
}

// CallOptions are options of calls outside of a turn.
type CallOptions struct {
	// Apply overrides where changes go; "" is the configuration's choice.
	Apply filetime.Apply
	// Trace adds the stages and their times to the results.
	Trace bool
	// Parallel makes one batch of all calls.
	Parallel bool
	// DryRun only computes the batches.
	DryRun bool
}

// CallTools runs calls for a host with a model loop of its own, independent of a turn. It gives the results in the
// order of the calls, and the batches as indices. A call without an id gets one. The error is ErrClosed, a
// *CallIDError, or a *sandbox.PathError for a replaced folder; then nothing has happened.
func (s *Session) CallTools(ctx context.Context, calls []run.Call, o CallOptions) ([]tools.Result, [][]int, error) {
	calls = slices.Clone(calls)
	host := s.host(0, s.o.Now(), func() {}, s.Tools)
	host.Trace, host.Parallel = o.Trace, o.Parallel
	if o.Apply != "" {
		host.Apply = o.Apply
	}
	if o.DryRun {
		return nil, run.Partition(host, calls), nil
	}
	err := s.intact()
	s.mu.Lock()
	if s.closed { // it has closed its folders: ErrClosed comes first
		err = ErrClosed
	}
	if err == nil {
		err = s.ids.admit(calls)
	}
	if err == nil {
		s.working.Add(1)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	defer s.working.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	results, batches := run.Batch(ctx, host, calls)
	s.outbox.flush()
	return results, batches, nil
}

// host is the environment of the calls of a turn; 0 is none.
func (s *Session) host(turn int, began time.Time, endTurn func(), set func() *tools.Set) *run.Host {
	c := s.config()
	h := &run.Host{
		Life: s.ctx, Tools: set(), Present: set, Resolve: s.servers.Resolve, Gate: s, Offer: s.offer, Asker: asker{s, turn, endTurn}, Hooks: s.hooks(),
		Env: func(call run.Call) *tools.Env { return s.env(turn, call, set) },
		Observe: func(e run.Event) {
			written := s.record.saw(turn, e)
			s.outbox.put(Event{Turn: turn, At: max(0, e.At.Sub(began)), Call: &e}, written)
			if e.State == run.Executing && e.Phase == "use" && e.Plan != nil && !e.Plan.Kind.ReadOnly() {
				s.outbox.flush() // the client hears of the call before its effects
			}
		},
		Places: s.places, Keys: &s.keys, Claims: s.o.Claims, Files: s.o.Files,
		Landed: s.o.Landed, Stale: s.o.Stale, BeforeCommand: s.o.BeforeCommand, Unkept: s.o.Unkept, Serial: c.Writes == "serial", SerialCommands: c.Shell == "serial",
		Coerce: c.Coerce != "off", Messages: s.language(turn, c.Messages), Now: s.o.Now, Log: s.o.Log,
		Retry: run.Retry{Attempts: c.Retry.Attempts, Backoff: time.Duration(c.Retry.BackoffMs) * time.Millisecond},
	}
	if s.o.Store != nil {
		h.Audit = auditor{record: s.record, who: s.o.Who, turn: turn, redact: s.o.Redact}
	}
	if a := filetime.Apply(c.Apply); a != filetime.Auto {
		h.Apply = a
	}
	return h
}

// language is that of the messages to the model of a turn for the setting, or, of turn 0, to that of the host, which is taken to speak
// the language of its user.
func (s *Session) language(turn int, setting string) messages.Language {
	if l := messages.Language(setting); l == messages.English || l == messages.Chinese {
		return l
	}
	if turn == 0 && strings.HasPrefix(strings.ToLower(s.o.Locale), "zh") {
		return messages.Chinese
	}
	return messages.English
}

func (s *Session) env(turn int, call run.Call, set func() *tools.Set) *tools.Env {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.settings.Config.Limits
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	env := &tools.Env{
		Session: s.o.ID, Call: call.ID, Turn: turn,
		Paths: s.paths, FileTime: s.fileTime, Read: s.read, Open: s.o.OpenDocuments, Indexes: s.o.Indexes, Runner: s.runner(), Confined: confined(s.settings.Config.Sandbox.Network),
		Planted:     s.planted,
		Undo:        s.o.Undo,
		Tasks:       turnTasks{s, turn, call.ID},
		Outputs:     &s.outputs,
		Languages:   s.languages,
		Findings:    &s.findings,
		RequireRead: s.settings.Config.RequireRead, Now: s.o.Now,
		Limits: tools.Limits{
			MaxToolOutputChars: l.MaxToolOutputChars, MaxConcurrency: l.MaxConcurrency,
			MaxReadBytes: l.MaxReadBytes, MaxFileBytes: int64(l.MaxFileBytes), MaxDiffBytes: l.MaxDiffBytes, MaxImageBytes: l.MaxImageBytes,
			ToolTimeout: ms(l.ToolTimeoutMs), BashTimeout: ms(l.BashTimeoutMs),
			BashReadOnlyTimeout: ms(l.BashReadOnlyTimeoutMs), KillGrace: ms(l.KillGraceMs), JobTime: ms(l.JobMs),
		},
	}
	env.Catalogue = &tools.Catalogue{Offer: func() tools.Offer { return s.offer(set()) }, Load: s.load}
	if set := s.base(); set.Get(tools.JobOutput) != nil && set.Get(tools.JobKill) != nil {
		env.Jobs, env.Continues = s.jobs, turn > 0 && s.o.Attended && !s.settings.CommandTimeSet
	}
	if w := s.settings.Config.WebSearch; w.Provider != "" {
		env.WebSearch = &tools.WebSearch{Provider: w.Provider, BaseURL: w.BaseURL, KeyEnv: w.KeyEnv(), Key: func() (string, error) {
			if s.o.Key == nil {
				return "", nil
			}
			key, err := s.o.Key(w.KeyEnv(), w.APIKeyCommand)
			if err != nil {
				err = fmt.Errorf("the key cannot be had: webSearch.apiKeyCommand %w", err)
			}
			return key, err
		}}
	}
	if c, ok := s.o.Client.(Clarifier); ok {
		env.Clarify = func(ctx context.Context, q tools.Clarification) (string, error) {
			s.outbox.flush()
			return c.Clarify(ctx, s.o.ID, q)
		}
	}
	return env
}

func (s *Session) read(ctx context.Context, p sandbox.Place) (filetime.Snapshot, error) {
	return s.o.Files.Read(ctx, p.Path())
}

// runner is a Runner with the configuration's search path and environment of commands. s.mu is held.
func (s *Session) runner() sandbox.Runner {
	if s.o.Runner == nil {
		return nil
	}
	c := s.settings.Config.Commands
	hosts, _ := s.settings.Config.Sandbox.Network.Hosts()
	return &surroundings{
		Runner: s.o.Runner, privileged: c.Capabilities == "keep", level: s.settings.Config.Sandbox.Level,
		in: sandbox.Surroundings{
			Paths: s.paths, Hosts: hosts,
			Roots: slices.Concat([]string{s.o.Cwd}, s.o.More, s.paths.Write), Path: s.absolute(c.Path), Pass: c.Env,
		},
	}
}

// confined is the profile of commands for a setting.
func confined(n config.Network) sandbox.Profile {
	switch _, proxied := n.Hosts(); {
	case proxied:
		return sandbox.Proxy
	case n == "deny":
		return sandbox.Write
	}
	return sandbox.Loopback
}

// surroundings is a Runner with a session's search path and environment.
type surroundings struct {
	sandbox.Runner
	in         sandbox.Surroundings
	privileged bool
	level      string // the setting
}

// Level is that of the commands of the session.
func (r *surroundings) Level() sandbox.Level {
	if r.level == "off" { // nothing has to be tried
		return sandbox.Level{}.Under(r.level, r.privileged)
	}
	return r.Runner.Level().Under(r.level, r.privileged)
}

// Find looks a program up in the session's search path.
func (r *surroundings) Find(name string, _ sandbox.Surroundings) (string, error) {
	return r.Runner.Find(name, r.in)
}

// Start starts c in the session's environment.
func (r *surroundings) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	c.Surroundings, c.Privileged = r.in, r.privileged
	return r.Runner.Start(ctx, c)
}

// mostCalls is the limit on the session's concurrent calls.
func (s *Session) mostCalls() int { return max(1, s.config().Limits.MaxConcurrency) }
