package lspserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/lspserver/conformance"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests are all tests, and then the end of what waits for the next command.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer commands.Close()
	return t.M.Run()
}

// patience is far more than anything here takes, and ends a test that hangs.
const patience = 30 * time.Second

// soon is what ought to take no time at all, on a machine that has much else to do.
const soon = 5 * time.Second

// unconfined is a runner as on a system without a sandbox, so that the tests ask the same everywhere.
type unconfined struct{ sandbox.Runner }

func (unconfined) Level() sandbox.Level {
	return sandbox.Level{Name: sandbox.LevelNone, Reason: "there is none in this test"}
}

// commands is what all servers of these tests run commands with: what waits for the next one waits for those of all.
var commands sandbox.Local

// options are those of a server with all real parts; env is its environment, for keys.
func options(env map[string]string, more ...tools.Tool) lspserver.Options {
	return lspserver.Options{Version: "test", Options: backend.Options{
		Opener: func(c config.Config, lend model.Lend) model.Opener {
			return &registry.Registry{Editor: lend, Config: c, Getenv: func(name string) string { return env[name] }}
		},
		Tools: append(builtin.Tools(), more...), Runner: unconfined{&commands}, Watch: true,
	}}
}

// rig is an editor with a server behind it.
type rig struct {
	*conformance.Editor
	t    *testing.T
	ctx  context.Context
	root string
	line io.Closer
	exit chan int
	kept store.Store // nil where the options have a store of their own

	mu      sync.Mutex
	updates []update
}

// update is a tandem/session/update as a client reads it.
type update struct {
	SessionID string
	Update    struct {
		SessionUpdate, ToolCallID, Title, Status string
		Content, RawInput, AvailableCommands     json.RawMessage
		Meta                                     struct {
			Tandem struct{ State, Phase, Summary, Error string }
		} `json:"_meta"`
	}
}

// folder is a temporary folder by its real name.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// start connects an editor; its root is a new folder unless o has one.
func start(t *testing.T, o conformance.Options, so lspserver.Options) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	if o.Root == "" {
		o.Root = folder(t)
	}
	r := &rig{t: t, ctx: ctx, root: o.Root, exit: make(chan int, 1)}
	heard := o.Heard
	o.Heard = func(method string, params json.RawMessage) {
		if heard != nil {
			heard(method, params)
		}
		var u update
		if method == "tandem/session/update" && json.Unmarshal(params, &u) == nil {
			r.mu.Lock()
			r.updates = append(r.updates, u)
			r.mu.Unlock()
		}
	}
	if so.Store == nil {
		r.kept = agenttest.Store(t)
		so.Store = func(config.Config) (store.Store, error) { return r.kept, nil }
	}
	client, server := conformance.Pipe(nil, nil)
	r.line = client
	go func() {
		code := lspserver.Serve(context.WithoutCancel(t.Context()), server, so)
		_ = server.Close() // as the end of the process does
		r.exit <- code
	}()
	var err error
	if r.Editor, err = conformance.Start(ctx, client, o); err != nil {
		t.Fatal(err)
	}
	return r
}

// end takes leave and wants the server to have behaved.
func (r *rig) end() {
	r.t.Helper()
	if err := r.Close(r.ctx); err != nil {
		r.t.Error("shutdown:", err)
	}
	r.ended(0)
	if r.kept != nil {
		agenttest.Audited(r.t, r.kept)
	}
	for _, v := range r.Violations() {
		r.t.Error(v)
	}
}

// ended waits for the end of Serve.
func (r *rig) ended(want int) {
	r.t.Helper()
	select {
	case code := <-r.exit:
		if code != want {
			r.t.Errorf("exit code %d, want %d", code, want)
		}
	case <-time.After(patience):
		r.t.Fatal("the server does not end")
	}
}

func (r *rig) write(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
	if err != nil {
		r.t.Fatal(err)
	}
	return path
}

// ask sends a request and decodes its answer into out.
func (r *rig) ask(method string, params, out any) {
	r.t.Helper()
	raw, err := r.Request(r.ctx, method, params)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		r.t.Errorf("%s: %v %s", method, err, raw)
	}
}

// refused sends a request that must be answered with an error.
func (r *rig) refused(method string, params any) *conformance.RPCError {
	r.t.Helper()
	raw, err := r.Request(r.ctx, method, params)
	var e *conformance.RPCError
	if !errors.As(err, &e) {
		r.t.Errorf("%s was not refused: %s %v", method, raw, err)
		return &conformance.RPCError{}
	}
	return e
}

// session makes one; params may be nil.
func (r *rig) session(params map[string]any) string {
	r.t.Helper()
	var s struct{ SessionID string }
	if params == nil {
		params = map[string]any{}
	}
	r.ask("tandem/session/new", params, &s)
	return s.SessionID
}

// script writes a model's script outside the workspace and gives its model's name.
func (r *rig) script(text string) string {
	r.t.Helper()
	path := filepath.Join(folder(r.t), "script")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return "script:" + path
}

func prompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// turnEnd is the answer to a prompt.
type turnEnd struct {
	StopReason string
	Turn       int
	Error      struct{ Code, Message string }
}

func (r *rig) prompt(session, text string) (end turnEnd) {
	r.t.Helper()
	r.ask("tandem/session/prompt", prompt(session, text), &end)
	return end
}

// result is a ToolResult as a client reads it.
type result struct {
	Success                               bool
	Data, Context, Error, Reason, Summary string
	Result, Diff, Edit                    json.RawMessage
	Applied                               *bool
	CallID                                string
	Issues                                []struct{ Path, Pointer, Expected, Received, Message string }
	Denial                                struct{ Layer, Rule, Reason string }
	Meta                                  struct {
		EffectiveArgs json.RawMessage
		Trace         []struct{ Stage string }
	}
	raw json.RawMessage
}

// call is tandem/tools/call; more pairs are further members of its params.
func (r *rig) call(session, name, arguments string, more ...any) (out result) {
	r.t.Helper()
	params := map[string]any{"sessionId": session, "name": name, "arguments": json.RawMessage(arguments)}
	for i := 0; i < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	r.ask("tandem/tools/call", params, &out.raw)
	if err := json.Unmarshal(out.raw, &out); err != nil {
		r.t.Fatalf("%v: %s", err, out.raw)
	}
	return out
}

// told gives the updates of a session so far.
func (r *rig) told(session string) (out []update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.updates {
		if u.SessionID == session {
			out = append(out, u)
		}
	}
	return out
}

// said is the text of all chunks of a kind.
func (r *rig) said(session, kind string) string {
	var b strings.Builder
	for _, u := range r.told(session) {
		var c struct{ Text string }
		if u.Update.SessionUpdate == kind && json.Unmarshal(u.Update.Content, &c) == nil {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// until waits for something that other processes or goroutines do.
func until(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// tree is every file below a folder with its content and its time.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := []byte{}
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %s %v %d %x\n", path, info.Mode(), info.ModTime(), len(content), content[:min(len(content), 100)])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func sameList[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
