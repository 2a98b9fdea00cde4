package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

// update is what of a session/update the tests look at.
type update struct {
	Update struct {
		SessionUpdate string         `json:"sessionUpdate"`
		ToolCallID    string         `json:"toolCallId"`
		Status        string         `json:"status"`
		Content       jsontext.Value `json:"content"`
		ConfigOptions []configOption `json:"configOptions"`
	} `json:"update"`
}

// listener keeps the updates that an agent sends.
type listener struct {
	mu  sync.Mutex
	all []update
}

func (l *listener) on(_ context.Context, u update) {
	u.Update.Content = slices.Clone(u.Update.Content)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, u)
}

// take gives what has come since it was last called.
func (l *listener) take() []update {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.all
	l.all = nil
	return out
}

// TestFaultT2RefusedWrites: where a client refuses fs/write_text_file, the edit has not landed: the
// call fails with the client's words, the file and the view of it are as they were, and the same
// edit lands once the client takes it.
func TestFaultT2RefusedWrites(t *testing.T) {
	refusal := &wire.Error{Code: wire.CodeInternal, Message: "the buffer is read-only"}
	for name, answers := range map[string][]error{
		"always":              {refusal, refusal},
		"once":                {refusal, nil},
		"with a plain error":  {errors.New("no"), errors.New("no")},
		"not at all":          {nil, nil},
		"the second time too": {nil, refusal},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "a.txt")
			if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			buffer, left := "one\ntwo\n", answers
			var heard listener
			r := wire.NewRouter()
			wire.Notify(r, "session/update", heard.on)
			wire.Handle(r, "session/request_permission", func(context.Context, jsontext.Value) (is, error) {
				return is{"outcome": is{"outcome": "selected", "optionId": "allow_once"}}, nil
			})
			wire.Handle(r, "fs/read_text_file", func(context.Context, jsontext.Value) (is, error) {
				mu.Lock()
				defer mu.Unlock()
				return is{"content": buffer}, nil
			})
			wire.Handle(r, "fs/write_text_file", func(_ context.Context, p fileParams) (is, error) {
				mu.Lock()
				defer mu.Unlock()
				if len(left) == 0 {
					return nil, refusal
				}
				err := left[0]
				if left = left[1:]; err == nil {
					buffer = *p.Content
					err = os.WriteFile(p.Path, []byte(buffer), 0o644)
				}
				return is{}, err
			})
			edit := `call edit_file {"path":"a.txt","old_text":"%s","new_text":"%s"}` + "\n\n"
			conn := serve(t, "call read_file {\"path\":\"a.txt\"}\n\n"+fmt.Sprintf(edit, "two", "2")+fmt.Sprintf(edit, "one", "1")+"say done\n", r)
			ctx := t.Context()
			can := is{"fs": is{"readTextFile": true, "writeTextFile": true}}
			var made sessionState
			err = errors.Join(conn.Call(ctx, "initialize", is{"protocolVersion": 1, "clientCapabilities": can}, nil),
				conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": []any{}}, &made))
			if err != nil {
				t.Fatal(err)
			}
			p := is{"sessionId": made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
			if err := conn.Call(ctx, "session/prompt", p, nil); err != nil {
				t.Fatal(err)
			}
			want, text := []string{"completed"}, "one\ntwo\n" // of the read
			for i, old := range []string{"two", "one"} {
				if answers[i] != nil {
					want = append(want, "failed")
					continue
				}
				want = append(want, "completed")
				text = strings.Replace(text, old, map[string]string{"two": "2", "one": "1"}[old], 1)
			}
			var got []string
			words, seen := "", map[string]bool{}
			for _, u := range heard.take() {
				words += string(u.Update.Content)
				if s := u.Update.Status; (s == "completed" || s == "failed") && !seen[u.Update.ToolCallID] {
					got, seen[u.Update.ToolCallID] = append(got, s), true
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the calls are %q, want %q", got, want)
			}
			raw, err := os.ReadFile(file)
			if err != nil || string(raw) != text || buffer != text {
				t.Errorf("the file says %q, the buffer %q, want %q; %v", raw, buffer, text, err)
			}
			if slices.Contains(answers, error(refusal)) && !strings.Contains(words, "It was not changed.") {
				t.Errorf("nothing says that the file was not changed: %s", words)
			}
		})
	}
}

// namedModels opens models by names, each of which says its own.
type namedModels []string

func (n namedModels) Open(name string) (model.Model, error) {
	s, err := script.Parse(strings.Repeat("say "+name+"\n\n", 1000)) // an answer for each turn
	if err != nil {
		return nil, err
	}
	return script.New(name, s), nil
}

func (n namedModels) Names() []string { return n }
func (namedModels) API(string) string { return "" }

// TestFaultT18ChangedModel: a client is notified of a model that the configuration has changed,
// before the turn that runs with it says anything, and once.
func TestFaultT18ChangedModel(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(t.TempDir(), "config.json")
	set := func(model string) {
		t.Helper()
		text, err := json.Marshal(map[string]string{"model": model})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(settings, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("script/one")
	var heard listener
	r := wire.NewRouter()
	wire.Notify(r, "session/update", heard.on)
	ours, theirs := wiretest.Pipes()
	code := make(chan int, 1)
	go func() {
		code <- Serve(context.Background(), theirs, Options{Options: backend.Options{
			Tools: builtin.Tools(), Inputs: config.Inputs{UserFile: settings}, Watch: true,
			Opener: func(config.Config, model.Lend) model.Opener { return namedModels{"script/one", "script/two"} },
		}})
	}()
	conn := wire.Serve(context.Background(), ours, r, wire.Options{Client: true, ACP: true})
	t.Cleanup(func() {
		conn.Close()
		<-code
	})
	ctx := t.Context()
	var made sessionState
	err := errors.Join(conn.Call(ctx, "initialize", is{"protocolVersion": 1}, nil),
		conn.Call(ctx, "session/new", is{"cwd": dir, "mcpServers": []any{}}, &made))
	if err != nil {
		t.Fatal(err)
	}
	// turn gives what a turn sends of the model, and what the model says.
	turn := func() (told []string) {
		t.Helper()
		p := is{"sessionId": made.SessionID, "prompt": []any{is{"type": "text", "text": "go"}}}
		if err := conn.Call(ctx, "session/prompt", p, nil); err != nil {
			t.Fatal(err)
		}
		for _, u := range heard.take() {
			switch u.Update.SessionUpdate {
			case "config_option_update":
				told = append(told, "model "+u.Update.ConfigOptions[0].CurrentValue)
			case "agent_message_chunk":
				var content struct{ Text string }
				if err := json.Unmarshal(u.Update.Content, &content); err != nil {
					t.Fatal(err)
				}
				told = append(told, "says "+strings.TrimSpace(content.Text))
			}
		}
		return told
	}
	if got, want := turn(), []string{"says script/one"}; made.ConfigOptions[0].CurrentValue != "script/one" || !slices.Equal(got, want) {
		t.Fatalf("%q with %+v", got, made.ConfigOptions)
	}
	set("script/two")
	want := []string{"model script/two", "says script/two"}
	for end := time.Now().Add(20 * time.Second); ; { // until the file was noticed
		got := turn()
		if slices.Equal(got, want) || slices.Equal(got, []string{want[0], "says script/one"}) { // noticed before the turn, or while it ran
			break
		}
		if !slices.Equal(got, []string{"says script/one"}) || time.Now().After(end) {
			t.Fatalf("after the configuration has changed: %q, want %q", got, want)
		}
	}
	if got, want := turn(), []string{"says script/two"}; !slices.Equal(got, want) {
		t.Errorf("a turn later: %q, want %q", got, want)
	}
}

// What a client is answered: only a missing key is the request to sign in, and a sentence names the methods that the protocol has.
func TestFaultL6CodesAndNames(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{backend.Refused(&model.Error{Kind: "unavailable", Message: "set a key", NeedsKey: true}), codeAuthRequired, "set a key"},
		{backend.Refused(&model.Error{Kind: "unavailable", Message: "no such provider"}), wire.CodeInvalidParams, "no such provider"},
		{backend.Refused(agent.ErrIdle), wire.CodeInvalidParams, "send this one with session/prompt"},
		{&backend.Error{Kind: backend.UnknownSession, Message: "see tandem/session/list, tandem/session/new"}, codeNotFound, "see session/list, session/new"},
		{&backend.Error{Kind: backend.SessionBusy, Message: "busy", PID: 7}, wire.CodeInvalidRequest, "busy"},
	} {
		got := toWireError(tt.err)
		if codeOf(got) != tt.code || !strings.Contains(got.Error(), tt.want) || strings.Contains(got.Error(), "tandem/session") {
			t.Errorf("%v: %d %v", tt.err, codeOf(got), got)
		}
	}
}
