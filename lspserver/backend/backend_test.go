package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/script"
	"tandem/agent/prompt"
	"tandem/agent/store"
	"tandem/lspserver/backend"
	"tandem/lspserver/review"
	"tandem/lspserver/workspace"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/run"
)

// face is a Face with no wire: what a person would see is a list of lines.
type face struct {
	answer run.Outcome
	hunks  func(session string, paths []string) // may be nil

	mu    sync.Mutex
	lines []string
}

func (f *face) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

func (f *face) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.lines
	f.lines = nil
	return out
}

func (f *face) View(s *backend.Session) backend.View { return view{f, s.ID()} }

func (f *face) Ask(_ context.Context, _ *backend.Session, q run.Question) run.Answer {
	f.say("asked: %s", q.Plan.Title)
	return run.Answer{Outcome: f.answer}
}

func (f *face) Clarify(context.Context, *backend.Session, tools.Clarification) (string, error) {
	return "", errors.ErrUnsupported
}
func (f *face) Warn(message string) { f.say("warned: %s", message) }
func (f *face) Problems(_ context.Context, all []backend.Problem, _ func(string) string) {
	for _, p := range all {
		f.say("problem: %s", p.Text)
	}
}
func (f *face) FileState(workspace.State)         {}
func (f *face) Called(string, *run.Event, string) {}
func (f *face) ToolsChanged(session string, gone, come []tools.Tool) {
	for _, t := range gone {
		f.say("gone: %s %s", t.Spec().Name, session)
	}
	for _, t := range come {
		f.say("come: %s %s", t.Spec().Name, session)
	}
}

func (f *face) Invoke(_ context.Context, i backend.Invocation) ([]byte, error) {
	return json.Marshal(map[string]any{"success": true, "data": i.Tool + " " + string(i.Arguments)})
}

// view shows a session by its events.
type view struct {
	f  *face
	id string
}

func (v view) On(e agent.Event) {
	switch {
	case e.Text != "":
		v.f.say("says: %s", e.Text)
	case e.User != "":
		v.f.say("user: %s", e.User)
	case e.Notice != "":
		v.f.say("notice: %s", e.Notice)
	case len(e.Hunks) > 0 && v.f.hunks != nil:
		v.f.hunks(v.id, e.Hunks)
	case e.Call != nil && e.Call.State == run.Completed:
		v.f.say("call: %s %s", e.Call.Title, e.Call.Phase)
	}
}

func (v view) Flush() {}
func (v view) Replay(_ context.Context, events iter.Seq[agent.Event]) {
	for e := range events {
		v.On(e)
	}
}

// noEditor is a client without an editor: no document is open.
type noEditor struct{}

func (noEditor) Apply(context.Context, workspace.Delivery) (workspace.Applied, error) {
	return workspace.Applied{}, errors.ErrUnsupported
}

func (noEditor) Save(context.Context, []string) (map[string]string, error) {
	return nil, errors.ErrUnsupported
}

func (noEditor) Resync(context.Context, string) (string, int32, error) {
	return "", 0, errors.ErrUnsupported
}

// models plays one script for every session.
type models struct{ text string }

func (m models) Open(string) (model.Model, error) {
	s, err := script.Parse(m.text)
	if err != nil {
		return nil, err
	}
	return script.New("script/test", s), nil
}
func (models) Names() []string   { return []string{"script/test"} }
func (models) API(string) string { return "" }

func start(t *testing.T, f *face, state, text string, folders ...string) *backend.Backend {
	t.Helper()
	b := backend.New(backend.Options{
		Tools: builtin.Tools(), Opener: func(config.Config, model.Lend) model.Opener { return models{text} },
		Store: func(config.Config) (store.Store, error) {
			return store.Open(filepath.Join(state, "sessions.db"), store.Options{})
		},
	}, f)
	if err := b.Start(context.Background(), backend.Client{Folders: folders, Editor: noEditor{}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func prompted(t *testing.T, b *backend.Backend, se *backend.Session, text string) agent.TurnResult {
	t.Helper()
	carryOut, err := b.Prompt(se, backend.Prompt{Blocks: []prompt.Block{{Type: "text", Text: text}}, Title: text})
	if err != nil {
		t.Fatal(err)
	}
	r, err := carryOut(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBackendNeedsNoWire does the main job through a face of a few lines: a prompt, a question, an edit on disk, its
// review, another process that goes on, undo.
func TestBackendNeedsNoWire(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := &face{answer: run.Allowed}
	b := start(t, f, state, "call read_file {\"path\":\"a.txt\"}\n\n"+
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"2\"}\n\nsay done\n", dir)
	se, err := b.New(backend.NewSession{Mode: "ask"})
	if err != nil {
		t.Fatal(err)
	}
	if r := prompted(t, b, se, "go"); r.Stop != agent.EndTurn {
		t.Fatalf("the turn ended with %s, %v", r.Stop, r.Err)
	}
	content := func() string {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := content(); got != "one\n2\n" {
		t.Errorf("the file says %q", got)
	}
	want := []string{"call: Read a.txt result", "asked: Edit a.txt", "call: Edit a.txt result", "says: done"}
	if got := f.said(); !slices.Equal(got, want) {
		t.Errorf("the face was told %q", got)
	}
	id := se.ID()
	b.Shutdown()
	b.End()

	again := &face{}
	b = start(t, again, state, "say more\n", dir)
	defer b.End()
	page, next, err := b.List(context.Background(), dir, "")
	if err != nil || next != "" || len(page) != 1 || page[0].ID != id || page[0].Title != "go" || page[0].State == nil || page[0].State.Turns != 1 {
		t.Fatalf("the list is %+v, %q, %v", page, next, err)
	}
	if se, err = b.Load(context.Background(), id, ""); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(again.said(), "\n"); !strings.Contains(got, "user: go") || !strings.Contains(got, "says: done") {
		t.Errorf("the conversation came back as %s", got)
	}
	if done := se.Undo(context.Background(), review.Scope{All: true}); len(done.Changed) != 1 || content() != "one\ntwo\n" {
		t.Errorf("undo changed %v, and the file says %q", done.Changed, content())
	}
}

// TestNewsOfHunks is told of changes that are in the store already, and of what is taken back right before the session closes.
func TestNewsOfHunks(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "b.txt")
	news := make(chan int, 10) // how many changes the store has
	f := &face{hunks: func(id string, paths []string) {
		st, err := store.Open(filepath.Join(state, "sessions.db"), store.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		defer st.Close()
		changes, err := agent.Changes(st, id)
		if err != nil || !slices.Equal(paths, []string{file}) {
			t.Errorf("news of %q, %v", paths, err)
		}
		news <- len(changes)
	}}
	b := start(t, f, state, "call write_file {\"path\":\"b.txt\",\"content\":\"two\"}\n\nsay done\n", dir)
	defer b.End()
	se, err := b.New(backend.NewSession{Mode: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	prompted(t, b, se, "go")
	if n := <-news; n != 1 {
		t.Errorf("the store has %d changes when their hunks are told of", n)
	}
	se.Undo(context.Background(), review.Scope{All: true})
	if err := b.Close(se.ID()); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-news:
		if n != 2 {
			t.Errorf("the store has %d changes when the last is told of", n)
		}
	default:
		t.Error("the session was closed without news of what was taken back")
	}
}

// TestBackendRefuses has an Error of the right kind for each request that cannot be served.
func TestBackendRefuses(t *testing.T) {
	dir := t.TempDir()
	b := start(t, &face{}, t.TempDir(), "say hello\n", dir)
	defer b.End()
	se, err := b.New(backend.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	must := func(kind backend.Kind, err error) {
		t.Helper()
		var e *backend.Error
		if !errors.As(err, &e) || e.Kind != kind || e.Message == "" {
			t.Errorf("%T %v, want kind %q", err, err, kind)
		}
	}
	_, err = b.New(backend.NewSession{Cwd: filepath.Join(dir, "none")})
	must(backend.NoSuchFolder, err)
	_, err = b.New(backend.NewSession{Mode: "yolo"})
	must(backend.Invalid, err)
	_, err = b.Find("s-none")
	must(backend.UnknownSession, err)
	_, err = b.Load(context.Background(), "s-none", "")
	must(backend.UnknownSession, err)
	_, err = b.Prompt(se, backend.Prompt{})
	must(backend.Invalid, err)
	_, err = se.Steer([]prompt.Block{{Type: "text", Text: "and"}})
	must(backend.NoTurn, err)
	_, err = se.Accept("", []string{"h-none"})
	must(backend.Invalid, err)
	must(backend.Invalid, b.Rename(se.ID(), "two\nlines"))
	_, err = b.Export(se.ID(), "html")
	must(backend.Invalid, err)
	if err := b.Close(se.ID()); err != nil {
		t.Fatal(err)
	}
	must(backend.UnknownSession, b.Close(se.ID()))
}
