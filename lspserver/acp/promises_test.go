package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/lspserver/backend"
	"tandem/lspserver/wire"
	"tandem/lspserver/wire/wiretest"
	"tandem/lspserver/workspace"
	"tandem/tools/builtin"
)

// lockedBuffer is a log that a test reads while the server writes it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// editor is a connected client with one session, the updates that it got, and the server's log.
type editor struct {
	*wire.Conn
	made sessionState
	log  lockedBuffer
	listener
}

// connect serves a client with these handlers and capabilities, and begins a session.
func connect(t *testing.T, m model.Opener, r *wire.Router, can is, setup is) *editor {
	t.Helper()
	e := &editor{}
	wire.Notify(r, "session/update", e.on)
	ours, theirs := wiretest.Pipes()
	code := make(chan int, 1)
	go func() {
		code <- Serve(context.Background(), theirs, Options{Options: backend.Options{
			Tools: builtin.Tools(), Log: slog.New(slog.NewTextHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Opener: func(config.Config, model.Lend) model.Opener { return m },
		}})
	}()
	e.Conn = wire.Serve(context.Background(), ours, r, wire.Options{Client: true, ACP: true})
	t.Cleanup(func() {
		e.Close()
		if c := <-code; c != 0 {
			t.Errorf("it ended with %d", c)
		}
	})
	if setup["mcpServers"] == nil {
		setup["mcpServers"] = []any{}
	}
	err := errors.Join(e.Call(t.Context(), "initialize", is{"protocolVersion": 1, "clientCapabilities": can}, nil),
		e.Call(t.Context(), "session/new", setup, &e.made))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// prompt runs one turn.
func (e *editor) prompt(t *testing.T) string {
	t.Helper()
	var ended promptResult
	p := is{"sessionId": e.made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
	if err := e.Call(t.Context(), "session/prompt", p, &ended); err != nil {
		t.Fatal(err)
	}
	return ended.StopReason
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPermissionAnswers: a file changes after an answer that allows it, and after no other.
func TestPermissionAnswers(t *testing.T) {
	outcome := func(o is) func() (is, error) { return func() (is, error) { return is{"outcome": o}, nil } }
	fails := func(code int) func() (is, error) {
		return func() (is, error) { return nil, &wire.Error{Code: code, Message: "no window"} }
	}
	for name, tt := range map[string]struct {
		answer func() (is, error)
		lands  bool
		stop   string
		log    string // what the log says of the answer, "" for nothing
	}{
		"allowed":          {outcome(is{"outcome": "selected", "optionId": "allow_once"}), true, "end_turn", ""},
		"rejected":         {outcome(is{"outcome": "selected", "optionId": "reject_once"}), false, "end_turn", ""},
		"cancelled":        {outcome(is{"outcome": "cancelled"}), false, "cancelled", ""},
		"not on offer":     {outcome(is{"outcome": "selected", "optionId": "allow_all"}), false, "end_turn", "was not on offer"},
		"no outcome":       {outcome(is{}), false, "end_turn", "was not on offer"},
		"an error":         {fails(wire.CodeInternal), false, "end_turn", "permission was not answered"},
		"no such method":   {fails(wire.CodeMethodNotFound), false, "end_turn", ""},
		"no handler there": {nil, false, "end_turn", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			file := filepath.Join(dir, "a.txt")
			if err := os.WriteFile(file, []byte("one\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := wire.NewRouter()
			if tt.answer != nil {
				wire.Handle(r, "session/request_permission", func(context.Context, jsontext.Value) (is, error) { return tt.answer() })
			}
			e := connect(t, models{"call read_file {\"path\":\"a.txt\"}\n\n" +
				`call edit_file {"path":"a.txt","old_text":"one","new_text":"1"}` + "\n\nsay done\n"}, r, is{}, is{"cwd": dir})
			if stop := e.prompt(t); stop != tt.stop {
				t.Errorf("the turn ended with %s, want %s", stop, tt.stop)
			}
			raw, err := os.ReadFile(file)
			if lands := string(raw) == "1\n"; err != nil || lands != tt.lands {
				t.Errorf("the file says %q, %v", raw, err)
			}
			log := e.log.String()
			for _, line := range []string{"was not on offer", "permission was not answered"} {
				if strings.Contains(log, line) != (line == tt.log) {
					t.Errorf("of %q the log says\n%s", line, log)
				}
			}
		})
	}
}

// TestPathsOfTheClient: a file of the session's folder has the path by which the client named the
// folder, a link's too; a file of another folder keeps its own.
func TestPathsOfTheClient(t *testing.T) {
	dir := folder(t)
	for _, d := range []string{"real", "other"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, d), 0o755),
			os.WriteFile(filepath.Join(dir, d, "a.txt"), []byte("disk\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	link, other := filepath.Join(dir, "link"), filepath.Join(dir, "other")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	var mu sync.Mutex
	var asked []string
	r := wire.NewRouter()
	wire.Handle(r, "fs/read_text_file", func(_ context.Context, p fileParams) (is, error) {
		mu.Lock()
		defer mu.Unlock()
		if filepath.Base(p.Path) == "a.txt" && !slices.Contains(asked, p.Path) {
			asked = append(asked, p.Path)
		}
		return is{"content": "typed\n"}, nil
	})
	can := is{"fs": is{"readTextFile": true, "writeTextFile": true}}
	e := connect(t, models{"call read_file {\"path\":\"a.txt\"}\n\n" + fmt.Sprintf("call read_file {\"path\":%q}", filepath.Join(other, "a.txt")) +
		"\n\nsay done\n"}, r, can, is{"cwd": link, "additionalDirectories": []string{other}})
	e.prompt(t)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{filepath.Join(link, "a.txt"), filepath.Join(other, "a.txt")}; !slices.Equal(asked, want) {
		t.Errorf("asked of %q, want %q", asked, want)
	}
}

// TestRefusedRequests: a request about a session that is not open, or with what cannot be set, is
// refused with the protocol's code, and sets nothing.
func TestRefusedRequests(t *testing.T) {
	e := connect(t, namedModels{"script/one", "script/two"}, wire.NewRouter(), is{}, is{"cwd": t.TempDir()})
	id := e.made.SessionID
	for _, tt := range []struct {
		method string
		p      is
		code   int
	}{
		{"session/new", is{"mcpServers": []any{}}, wire.CodeInvalidParams},
		{"session/new", is{"cwd": filepath.Join(t.TempDir(), "none"), "mcpServers": []any{}}, wire.CodeInvalidParams},
		{"session/load", is{"sessionId": "s-none", "cwd": t.TempDir(), "mcpServers": []any{}}, codeNotFound},
		{"session/prompt", is{"sessionId": "s-none", "prompt": []any{}}, codeNotFound},
		{"session/close", is{"sessionId": "s-none"}, codeNotFound},
		{"session/set_mode", is{"sessionId": "s-none", "modeId": "plan"}, codeNotFound},
		{"session/set_mode", is{"sessionId": id, "modeId": "root"}, wire.CodeInvalidParams},
		{"session/set_mode", is{"sessionId": id}, wire.CodeInvalidParams},
		{"session/set_mode", is{"sessionId": id, "modeId": "plan"}, 0},
		{"session/set_config_option", is{"sessionId": "s-none", "configId": "model", "value": "script/two"}, codeNotFound},
		{"session/set_config_option", is{"sessionId": id, "configId": "mode", "value": "script/two"}, wire.CodeInvalidParams},
		{"session/set_config_option", is{"sessionId": id, "configId": "model", "value": ""}, wire.CodeInvalidParams},
	} {
		if err := e.Call(t.Context(), tt.method, tt.p, nil); codeOf(err) != tt.code {
			t.Errorf("%s %v: %v, want %d", tt.method, tt.p, err, tt.code)
		}
	}
	var set configOptions
	err := e.Call(t.Context(), "session/set_config_option", is{"sessionId": id, "configId": "model", "value": "script/two"}, &set)
	if err != nil || len(set.ConfigOptions) != 1 || set.ConfigOptions[0].CurrentValue != "script/two" {
		t.Errorf("%+v, %v", set, err)
	}
}

// refusingModels has no model but one.
type refusingModels struct{ models }

func (m refusingModels) Open(name string) (model.Model, error) {
	if name == "script/none" {
		return nil, &model.Error{Kind: "auth", Message: "there is no such model"}
	}
	return m.models.Open(name)
}

func (refusingModels) Names() []string { return nil }

// TestModelsOnOffer: the options are the models, each once, and the one in use among them also
// where no list has it; one that cannot be opened is refused.
func TestModelsOnOffer(t *testing.T) {
	for name, tt := range map[string]struct {
		m    model.Opener
		want []optionValue
	}{
		"listed":     {namedModels{"", "b"}, []optionValue{{"", ""}, {"b", "b"}}},
		"not listed": {refusingModels{models{"say x"}}, []optionValue{{"script/test", "script/test"}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := connect(t, tt.m, wire.NewRouter(), is{}, is{"cwd": t.TempDir()})
			if got := e.made.ConfigOptions[0].Options; !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if _, refuses := tt.m.(refusingModels); refuses {
				p := is{"sessionId": e.made.SessionID, "configId": "model", "value": "script/none"}
				if err := e.Call(t.Context(), "session/set_config_option", p, nil); codeOf(err) != wire.CodeInvalidParams {
					t.Errorf("a model that is not there: %v", err)
				}
			}
		})
	}
}

// TestCancelEndsTheTurn: session/cancel ends the turn of its session while it waits for a
// permission, and that of no other.
func TestCancelEndsTheTurn(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var e *editor
	r := wire.NewRouter()
	wire.Handle(r, "session/request_permission", func(ctx context.Context, _ jsontext.Value) (is, error) {
		for _, id := range []string{"s-none", e.made.SessionID} {
			if err := e.Notify(ctx, "session/cancel", is{"sessionId": id}); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	e = connect(t, models{"call read_file {\"path\":\"a.txt\"}\n\n" +
		`call edit_file {"path":"a.txt","old_text":"one","new_text":"1"}` + "\n\nsay done\n"}, r, is{}, is{"cwd": dir})
	if stop := e.prompt(t); stop != "cancelled" {
		t.Errorf("the turn ended with %s", stop)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(raw) != "one\n" {
		t.Errorf("the file says %q, %v", raw, err)
	}
}

// TestNoticesAreDeclared: a warning reaches the sessions of a client that takes notices, and no
// other; the log has it either way.
func TestNoticesAreDeclared(t *testing.T) {
	for name, tt := range map[string]struct {
		can  is
		want int
	}{
		"declared": {is{"session": is{"notices": is{}}}, 1},
		"not":      {is{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := connect(t, models{"stop error\n"}, wire.NewRouter(), tt.can, is{"cwd": t.TempDir()})
			p := is{"sessionId": e.made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
			if err := e.Call(t.Context(), "session/prompt", p, nil); codeOf(err) != wire.CodeInternal {
				t.Fatalf("%v", err)
			}
			n := 0
			for _, u := range e.take() {
				if u.Update.SessionUpdate == "notice" {
					n++
				}
			}
			if n != tt.want {
				t.Errorf("%d notices, want %d", n, tt.want)
			}
		})
	}
}

// direct is a server with a backend and no client.
func direct(t *testing.T) (*server, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	s := &server{log: slog.New(slog.NewTextHandler(log, nil))}
	s.b = backend.New(backend.Options{
		Log: s.log, Opener: func(config.Config, model.Lend) model.Opener { return models{"say x"} },
	}, face{s})
	t.Cleanup(s.b.End)
	return s, log
}

// TestProblemsWarnOnce: of the configuration's problems those are warnings that are bad and were
// not shown before.
func TestProblemsWarnOnce(t *testing.T) {
	s, log := direct(t)
	face{s}.Problems(t.Context(), []backend.Problem{
		{Text: "new-and-bad", New: true, Bad: true}, {Text: "old-and-bad", Bad: true}, {Text: "new-hint", New: true}, {Text: "old-hint"},
	}, nil)
	if got := log.String(); strings.Count(got, "msg=") != 1 || !strings.Contains(got, "msg=new-and-bad") {
		t.Errorf("the log says\n%s", got)
	}
}

// TestNothingWrittenWithoutSession: where there is no session, the client is neither asked for a
// file's text nor given one.
func TestNothingWrittenWithoutSession(t *testing.T) {
	s, _ := direct(t) // a call without a connection would be a panic
	var refused *workspace.RefusedError
	if _, _, err := (files{s}).Resync(t.Context(), "file:///a"); !errors.As(err, &refused) {
		t.Errorf("a text: %v", err)
	}
	refused = nil
	landed, err := files{s}.Apply(t.Context(), workspace.Delivery{URI: "file:///a", Session: "s-none"})
	if landed.OK || !errors.As(err, &refused) {
		t.Errorf("an edit: %v, %v", landed, err)
	}
}

// TestFailedWritesHaveNotLanded: a write has landed where the client says so, and where it refuses
// or is gone it has not.
func TestFailedWritesHaveNotLanded(t *testing.T) {
	for name, tt := range map[string]struct {
		answer error
		gone   bool
		lands  bool
	}{
		"taken":   {nil, false, true},
		"refused": {errors.New("no"), false, false},
		"gone":    {nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := wire.NewRouter()
			wire.Handle(r, "fs/write_text_file", func(context.Context, fileParams) (is, error) { return is{}, tt.answer })
			ours, theirs := wiretest.Pipes()
			client := wire.Serve(context.Background(), ours, r, wire.Options{Client: true, ACP: true})
			s, _ := direct(t)
			s.conn = wire.Serve(context.Background(), theirs, wire.NewRouter(), wire.Options{ACP: true})
			t.Cleanup(client.Close)
			if err := s.b.Start(s.conn.Context(), backend.Client{Editor: files{s}}); err != nil {
				t.Fatal(err)
			}
			se, err := s.b.New(backend.NewSession{Cwd: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if tt.gone {
				client.Close()
				s.conn.Wait()
			}
			landed, err := files{s}.Apply(t.Context(), workspace.Delivery{URI: "file:///a", Session: se.ID()})
			if landed.OK != tt.lands || (err == nil) != tt.lands || errors.Is(err, workspace.ErrGone) != tt.gone {
				t.Errorf("%v, %v", landed, err)
			}
		})
	}
}
