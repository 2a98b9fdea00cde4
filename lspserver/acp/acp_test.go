package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/script"
	"tandem/lspserver/backend"
	"tandem/lspserver/wire"
	"tandem/lspserver/wire/wiretest"
	"tandem/tools/builtin"
)

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

// serve starts an agent that plays a script, and the editor's end of a connection to it with these
// handlers.
func serve(t *testing.T, text string, r *wire.Router) *wire.Conn {
	t.Helper()
	ours, theirs := wiretest.Pipes()
	code := make(chan int, 1)
	go func() {
		code <- Serve(context.Background(), theirs, Options{Options: backend.Options{
			Tools: builtin.Tools(), Opener: func(config.Config, model.Lend) model.Opener { return models{text} },
		}})
	}()
	conn := wire.Serve(context.Background(), ours, r, wire.Options{Client: true, ACP: true})
	t.Cleanup(func() {
		conn.Close()
		if c := <-code; c != 0 {
			t.Errorf("it ended with %d", c)
		}
	})
	return conn
}

type is = map[string]any

func codeOf(err error) int {
	var e *wire.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// TestFindingL10OverAPipe does the main job with an editor that has unsaved text of a file and is
// asked.
func TestFindingL10OverAPipe(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, buffer := filepath.Join(dir, "a.txt"), "one, typed\ntwo\n"
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := wire.NewRouter()
	asked := make(chan jsontext.Value, 8)
	wire.Notify(r, "session/update", func(context.Context, jsontext.Value) {})
	wire.Handle(r, "session/request_permission", func(_ context.Context, p jsontext.Value) (is, error) {
		asked <- p
		return is{"outcome": is{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	wire.Handle(r, "fs/read_text_file", func(context.Context, jsontext.Value) (is, error) { return is{"content": buffer}, nil })
	wire.Handle(r, "fs/write_text_file", func(_ context.Context, p fileParams) (is, error) {
		buffer = *p.Content
		return is{}, os.WriteFile(p.Path, []byte(buffer), 0o644)
	})
	conn := serve(t, "call read_file {\"path\":\"a.txt\"}\n\n"+
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"2\"}\n\nsay done\n", r)
	ctx := t.Context()
	if err := conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": []any{}}, nil); codeOf(err) != wire.CodeInvalidRequest {
		t.Errorf("before initialize: %v", err)
	}
	can := is{"fs": is{"readTextFile": true, "writeTextFile": true}}
	var hello struct {
		ProtocolVersion int `json:"protocolVersion"`
	}
	err = conn.Call(ctx, "initialize", is{"protocolVersion": 7, "clientCapabilities": can}, &hello)
	if err != nil || hello.ProtocolVersion != 1 {
		t.Fatalf("initialize: %+v, %v", hello, err)
	}
	var made sessionState
	if err := conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": []any{}}, &made); err != nil {
		t.Fatal(err)
	}
	if o := made.ConfigOptions; len(o) != 1 || o[0].CurrentValue != "script/test" {
		t.Errorf("options %+v", o)
	}
	var ended promptResult
	p := is{"sessionId": made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
	if err := conn.Call(ctx, "session/prompt", p, &ended); err != nil || ended.StopReason != "end_turn" {
		t.Fatalf("%+v, %v", ended, err)
	}
	if len(asked) != 1 || buffer != "one, typed\n2\n" {
		t.Errorf("asked %d times, the buffer says %q", len(asked), buffer)
	}
	var question struct{ ToolCall map[string]any }
	if err := json.Unmarshal(<-asked, &question); err != nil || question.ToolCall["toolCallId"] == nil || question.ToolCall["kind"] != "edit" {
		t.Errorf("asked %v, %v", question, err)
	}
	if _, there := question.ToolCall["sessionUpdate"]; there {
		t.Errorf("the call of a question is no update: %v", question.ToolCall)
	}
	p["sessionId"] = "s-none"
	if err := conn.Call(ctx, "session/prompt", p, nil); codeOf(err) != codeNotFound {
		t.Errorf("an unknown session: %v", err)
	}
	servers := []any{is{"type": "sse", "name": "x", "url": "http://127.0.0.1:1/"}}
	if err := conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": servers}, nil); codeOf(err) != wire.CodeInvalidParams {
		t.Errorf("a server of tools: %v", err)
	}
}

func TestFindingL10StopReasons(t *testing.T) {
	for _, tt := range []struct {
		r    agent.TurnResult
		want string
		code int
	}{
		{agent.TurnResult{Stop: agent.EndTurn}, "end_turn", 0},
		{agent.TurnResult{Stop: agent.Cancelled}, "cancelled", 0},
		{agent.TurnResult{Stop: agent.BudgetExceeded}, "max_turn_requests", 0},
		{agent.TurnResult{Stop: "error", Err: &model.Error{Kind: "auth", Message: "set a key"}}, "", codeAuthRequired},
		{agent.TurnResult{Stop: "error", Err: &model.Error{Kind: "cut", Message: "cut"}}, "", wire.CodeInternal},
		{agent.TurnResult{Stop: "error", Err: errors.New("x")}, "", wire.CodeInternal},
	} {
		got, err := promptResultOf(tt.r)
		if got.StopReason != tt.want || codeOf(err) != tt.code {
			t.Errorf("%s, %v: %q, %v", tt.r.Stop, tt.r.Err, got.StopReason, err)
		}
	}
}

// TestF158PatchOverACP has a person of an ACP client see the diffs of all files of a patch, and a
// file of unsaved text get its part of it.
func TestF158PatchOverACP(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{filepath.Join(dir, "a.txt"): "one, typed\ntwo\n", filepath.Join(dir, "b.txt"): "red\n"}
	for path, s := range texts {
		if err := os.WriteFile(path, []byte(strings.Replace(s, ", typed", "", 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	r := wire.NewRouter()
	asked := make(chan jsontext.Value, 8)
	wire.Notify(r, "session/update", func(context.Context, jsontext.Value) {})
	wire.Handle(r, "session/request_permission", func(_ context.Context, p jsontext.Value) (is, error) {
		asked <- p
		return is{"outcome": is{"outcome": "selected", "optionId": "allow_once"}}, nil
	})
	wire.Handle(r, "fs/read_text_file", func(_ context.Context, p fileParams) (is, error) {
		mu.Lock()
		defer mu.Unlock()
		s, there := texts[p.Path]
		if !there {
			return nil, os.ErrNotExist
		}
		return is{"content": s}, nil
	})
	wire.Handle(r, "fs/write_text_file", func(_ context.Context, p fileParams) (is, error) {
		mu.Lock()
		defer mu.Unlock()
		texts[p.Path] = *p.Content
		return is{}, errors.Join(os.MkdirAll(filepath.Dir(p.Path), 0o755), os.WriteFile(p.Path, []byte(*p.Content), 0o644))
	})
	conn := serve(t, "call read_file {\"path\":\"a.txt\"}\ncall read_file {\"path\":\"b.txt\"}\n\n"+
		`call patch {"patch":"*** Update File: a.txt\n-two\n+2\n*** Update File: b.txt\n-red\n+RED\n*** Add File: n/c.txt\n+new"}`+"\n\nsay done\n", r)
	ctx := t.Context()
	can := is{"fs": is{"readTextFile": true, "writeTextFile": true}}
	var made sessionState
	var ended promptResult
	err = errors.Join(conn.Call(ctx, "initialize", is{"protocolVersion": 1, "clientCapabilities": can}, nil),
		conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": []any{}}, &made))
	if err != nil {
		t.Fatal(err)
	}
	p := is{"sessionId": made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
	if err := conn.Call(ctx, "session/prompt", p, &ended); err != nil || ended.StopReason != "end_turn" {
		t.Fatalf("%+v, %v", ended, err)
	}
	var question struct {
		ToolCall struct {
			Content []struct{ Type, Path, NewText string }
		}
	}
	if err := json.Unmarshal(<-asked, &question); err != nil || len(question.ToolCall.Content) != 3 {
		t.Fatalf("%+v, %v", question, err)
	}
	for i, want := range []string{"one, typed\n2\n", "RED\n", "new\n"} {
		if c := question.ToolCall.Content[i]; c.Type != "diff" || c.NewText != want {
			t.Errorf("diff %d is %+v, want %q", i, c, want)
		}
	}
	if a, b := texts[filepath.Join(dir, "a.txt")], texts[filepath.Join(dir, "b.txt")]; a != "one, typed\n2\n" || b != "RED\n" {
		t.Errorf("%q, %q", a, b)
	}
	if c, err := os.ReadFile(filepath.Join(dir, "n", "c.txt")); err != nil || string(c) != "new\n" {
		t.Errorf("%q, %v", c, err)
	}
}

// TestF208NoPlansOverACP: the protocol has no way to approve what waits, so plan mode refuses it.
func TestF208NoPlansOverACP(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := wire.NewRouter()
	wire.Notify(r, "session/update", func(context.Context, jsontext.Value) {})
	conn := serve(t, "call write_file {\"path\":\"a.txt\",\"content\":\"a\\n\"}\n\nsee /PLAN_MODE/\nsay done\n", r)
	var made sessionState
	var ended promptResult
	err = errors.Join(conn.Call(t.Context(), "initialize", is{"protocolVersion": 1}, nil),
		conn.Call(t.Context(), "session/new", is{"cwd": dir, "mcpServers": []any{}}, &made))
	if err == nil {
		err = conn.Call(t.Context(), "session/set_mode", is{"sessionId": made.SessionID, "modeId": "plan"}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := is{"sessionId": made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
	if err := conn.Call(t.Context(), "session/prompt", p, &ended); err != nil || ended.StopReason != "end_turn" {
		t.Errorf("%+v, %v", ended, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("it was written")
	}
}
