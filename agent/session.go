package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	"tandem/tools"
	"tandem/tools/gate"
	"tandem/tools/jobs"
	"tandem/tools/mcp"
	"tandem/tools/outputs"
	"tandem/tools/run"
	"tandem/tools/words"
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

// Session is one conversation with its model, its mode and what the model has seen of the files. All methods may be
// called concurrently; one prompt runs at a time.
type Session struct {
	o       Options
	window  *window.Window
	system  func() string
	models  *models
	rights  *rights
	reach   *reach
	record  *record
	outbox  *outbox
	servers *mcp.Servers
	ctx     context.Context // ends with Close
	close   context.CancelFunc
	working sync.WaitGroup
	jobs    *jobs.Jobs
	tasks   tasks
	outputs outputs.Outputs
	keys    run.Keys
	tools   toolset
	loaded  loadedTools
	ids     callIDs
	// beginning is what the hooks say that run when the session begins.
	beginning beginning

	mu       sync.Mutex
	settings Settings
	turns    int
	running  *Turn
	closed   bool
}

// New makes a session. The error is a *ModeError, or a *model.Error of kind "unavailable" when there is no such model.
func New(o Options, at Start) (_ *Session, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	date := o.Now()
	s := &Session{o: o, models: newModels(), rights: newRights(o.Cwd, o.Now, o.Keeping.Remember), jobs: jobs.New()}
	s.outputs.Spill = o.Shared.Scratch
	if o.Keeping.Store != nil {
		s.outputs.Recall = s.storedOutput
	}
	s.jobs.Changed = func() { s.Tell(Event{Jobs: true}) }
	env := func() *tools.Env { return s.env(0, run.Call{}, s.Tools) }
	s.reach = newReach(o, at.More, env, s.planned)
	s.ctx, s.close = context.WithCancel(context.Background())
	s.servers = s.newServers(env)
	defer func() {
		if err != nil {
			s.jobs.Close()
			s.servers.Close()
			s.reach.close()
		}
	}()
	s.resume(at, fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, o.ID, o.Cwd, date.UnixNano())))[:32])
	s.Configure(at.Settings)
	if at.Past != nil {
		s.recallKeys(at.Past.full)
	} else {
		s.recallKeys(s.window.Since(0))
	}
	s.system = sync.OnceValue(func() string { return s.systemPrompt(date) })
	if err := s.setMode(cmp.Or(at.Mode, gate.Mode(at.Config.Mode)), at.Mode != ""); err != nil {
		return nil, err
	}
	if err := s.setModel(cmp.Or(at.Model, at.Config.Model), at.Model != ""); err != nil {
		return nil, err
	}
	s.restorePlans(at.Past)
	s.begins()
	return s, nil
}

// systemPrompt is the system prompt of a session that began at a time. It is made once: the prompt cache of a service begins with it.
func (s *Session) systemPrompt(began time.Time) string {
	folders := s.reach.roots()
	sys := prompt.System{Root: folders[0], More: folders[1:], Date: began, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, t := range s.Tools().List() {
		if spec := t.Spec(); !spec.Unlisted {
			sys.Tools = append(sys.Tools, spec.Name)
		}
	}
	if s.o.Own.Rules != "" {
		sys.Rules = append(sys.Rules, prompt.Rule{Text: s.o.Own.Rules})
	}
	for _, text := range s.window.Instructions() {
		sys.Rules = append(sys.Rules, prompt.Rule{Text: text})
	}
	for _, folder := range folders {
		if rule, ok := s.reach.rules.of(s.ctx, folder); ok {
			sys.Rules = append(sys.Rules, rule)
		}
	}
	for _, k := range s.skills() {
		sys.Skills = append(sys.Skills, prompt.Skill{Name: k.Name, Description: k.Description, Path: k.Path, Shared: k.Shared})
	}
	return sys.Render()
}

// ID is the session's id.
func (s *Session) ID() string { return s.o.ID }

// Cwd is the base of relative paths.
func (s *Session) Cwd() string { return s.o.Cwd }

// FileTime records the texts of files that the session's model has seen.
func (s *Session) FileTime() *filetime.FileTime { return s.reach.fileTime }

// Configure replaces the settings, for the next call and the next prompt. Mode and model follow them unless they were set for the
// session.
func (s *Session) Configure(settings Settings) {
	s.mu.Lock()
	s.settings = settings
	s.models.configure(settings.Config, settings.Models)
	s.reach.configure(settings.Config)
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

// recallKeys has the guard of keys that leave know what the calls of the history have shown of files of keys.
func (s *Session) recallKeys(history []model.Message) {
	shown := map[string]string{}
	for _, m := range history {
		if m.Role == model.Tool {
			shown[m.CallID] = m.Text
		}
	}
	for _, m := range history {
		for _, c := range m.Calls {
			s.keys.Recall(json.RawMessage(c.Arguments), shown[c.ID], s.reach.secret)
		}
	}
}

// Folders are the session's, Cwd first.
func (s *Session) Folders() []string { return s.reach.roots() }

// AddFolders adds folders to the session, for the next call. The system prompt stays as it is, since the prompt cache begins with it:
// the model is told with the next prompt.
func (s *Session) AddFolders(folders ...string) {
	if len(s.reach.add(folders...)) > 0 {
		all := s.reach.roots()
		s.record.set(func(r *store.Session) { r.More = all[1:] })
	}
}

// Reopen opens the session's folders anew by path, since the user has loaded the session again: a folder may have been
// replaced.
func (s *Session) Reopen() { s.reach.reopen() }

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

// History is the conversation as the model is sent it, without the system prompt. Every call in it has its result.
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
	if err := s.reach.intact(); err != nil {
		return err
	}
	t.chooses()
	m, err := t.find()
	if err != nil {
		return err
	}
	s.prepareServers(t.ctx)
	if err := t.expand(t.ctx); err != nil {
		return err
	}
	news := joined(s.atBegin(t.ctx), s.reach.takeAdded(t.ctx))
	if t.in.News != nil && t.ctx.Err() == nil {
		news = joined(news, t.in.News(t.ctx))
	}
	news = joined(news, s.window.TakeNotes())
	if news = joined(joined(joined(news, endedJobs(s.jobs.Ended())), unreachedJobs(s.jobs)), s.autorunSince()); news != "" {
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
	s.window.Asked(t.number, t.shown)
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
	t.s.rights.limitTo("")
	t.s.mu.Lock()
	for _, w := range t.compactions {
		close(w.done)
	}
	t.s.running, t.over, t.compactions = nil, true, nil
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
		s.reach.rules.see(path)
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
	s.reach.close()
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
	host.Trace, host.Schedule.Parallel = o.Trace, o.Parallel
	if o.Apply != "" {
		host.Apply = o.Apply
	}
	if o.DryRun {
		return nil, run.Partition(host, calls), nil
	}
	err := s.reach.intact()
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
		Life: s.ctx, Tools: set(), Offering: run.Offering{Present: set, Resolve: s.servers.Resolve, Visible: s.offer},
		Gate: s, Asker: asker{s, turn, endTurn}, Hooks: s.hooks(),
		Env: func(call run.Call) *tools.Env { return s.env(turn, call, set) },
		Observe: func(e run.Event) {
			written := s.record.saw(turn, e)
			s.reach.plans.saw(e)
			s.outbox.put(Event{Turn: turn, At: max(0, e.At.Sub(began)), Call: &e}, written)
			if e.State == run.Executing && e.Phase == "use" && e.Plan != nil && !e.Plan.Kind.ReadOnly() {
				s.outbox.flush() // the client hears of the call before its effects
			}
		},
		Keys: &s.keys, Claims: s.o.Shared.Claims, Files: s.reach.files,
		Schedule:   run.Schedule{Serial: c.Writes == "serial", SerialCommands: c.Shell == "serial", Slots: s.reach.places},
		Validation: run.Validation{Language: s.language(turn, c.Messages), Coerce: c.Coerce != "off"},
		Now:        s.o.Now, Log: s.o.Log,
		Retry: run.Retry{Attempts: c.Retry.Attempts, Backoff: time.Duration(c.Retry.BackoffMs) * time.Millisecond},
	}
	if c := s.o.Review; c != nil {
		h.Changes = run.Changes{Landed: c.Landed, Stale: c.Stale, BeforeCommand: c.BeforeCommand, Unkept: c.Unkept}
	}
	h.Changes.Project = s.reach.files.Project
	if c, ok := s.o.Client.(Planner); ok {
		h.Changes.Queues = c.Plans()
	}
	if s.o.Keeping.Store != nil {
		h.Audit = auditor{record: s.record, who: s.o.Keeping.Who, turn: turn, redact: s.o.Keeping.Redact}
	}
	if a := filetime.Apply(c.Apply); a != filetime.Auto {
		h.Apply = a
	}
	return h
}

// language is that of the messages to the model of a turn for the setting, or, of turn 0, to that of the host, which is taken to speak
// the language of its user.
func (s *Session) language(turn int, setting string) words.Language {
	if l := words.Language(setting); l == words.English || l == words.Chinese {
		return l
	}
	if turn == 0 && strings.HasPrefix(strings.ToLower(s.o.Locale), "zh") {
		return words.Chinese
	}
	return words.English
}

func (s *Session) env(turn int, call run.Call, set func() *tools.Set) *tools.Env {
	env := s.reach.env()
	env.FileTime = env.FileTime.By(call.ID)
	env.Call, env.Turn, env.Tasks, env.Outputs = call.ID, turn, turnTasks{s, turn, call.ID}, &s.outputs
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Review != nil {
		env.Undo = s.o.Review.Undo()
	}
	env.Catalogue = &tools.Catalogue{Offer: func() tools.Offer { return s.offer(set()) }, Load: s.load}
	if set := s.base(); set.Get(tools.JobOutput) != nil && set.Get(tools.JobKill) != nil {
		env.Commands.Jobs, env.Commands.Continues = s.jobs, turn > 0 && s.o.Attended && !s.settings.CommandTimeSet
	}
	if w := s.settings.Config.WebSearch; w.Provider != "" {
		env.WebSearch = &tools.WebSearch{Provider: w.Provider, BaseURL: w.BaseURL, KeyEnv: w.KeyEnv(), Key: func() (string, error) {
			if s.o.Shared.Key == nil {
				return "", nil
			}
			key, err := s.o.Shared.Key(w.KeyEnv(), w.APIKeyCommand)
			if err != nil {
				err = fmt.Errorf("the key is not available: webSearch.apiKeyCommand %w", err)
			}
			return key, err
		}}
	}
	if c, ok := s.o.Client.(Clarifier); ok {
		env.Person.Answer = func(ctx context.Context, q tools.Clarification) (string, error) {
			s.outbox.flush()
			return c.Clarify(ctx, s.o.ID, q)
		}
	}
	return env
}
