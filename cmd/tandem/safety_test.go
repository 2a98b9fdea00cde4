package main

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/lspserver/conformance"
)

// TestFindingS9SettingsOfARepository has an editor hand on what a repository sets: no command of it is run, no service of
// it is asked, no mode of it holds, and the person is told.
func TestFindingS9SettingsOfARepository(t *testing.T) {
	for _, c := range []struct {
		name         string
		tandem       map[string]any // experimental.tandem
		options, own bool           // which of the two count as the person's own
	}{
		{"plain client", nil, false, false},
		{"made for Tandem", map[string]any{}, true, false},
		{"vouches for its section", map[string]any{"settingsAreOwn": true}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, nil, nil, "--stdio")
			mark := func(layer string) string { return filepath.Join(p.root, layer) }
			sets := func(layer string) map[string]any {
				return map[string]any{
					"mode": "auto", "strictPaths": true, "model": layer + "/m",
					"providers": map[string]any{layer: map[string]any{
						"api": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyCommand": []string{"sh", "-c", "echo key; touch " + mark(layer)},
					}},
				}
			}
			o := conformance.Options{Settings: sets("options"), Config: sets("section")}
			o.Capabilities = map[string]any{"experimental": nil}
			if c.tandem != nil {
				declared := map[string]any{"permission": nil, "clarify": nil, "save": nil, "settingsAreOwn": nil}
				maps.Copy(declared, c.tandem)
				o.Capabilities["experimental"] = map[string]any{"tandem": declared}
			}
			e := p.editor(o)
			var s struct {
				SessionID string
				Modes     struct{ CurrentModeID string }
			}
			e.ask("tandem/session/new", map[string]any{}, &s)
			if want := map[bool]string{true: "auto", false: "ask"}[c.options || c.own]; s.Modes.CurrentModeID != want {
				t.Errorf("mode %s, want %s", s.Modes.CurrentModeID, want)
			}
			for _, model := range []string{"options/m", "section/m"} {
				_, _ = e.Request(e.ctx, "tandem/session/prompt", map[string]any{
					"sessionId": s.SessionID, "model": model, "prompt": []any{map[string]any{"type": "text", "text": "Hi."}},
				})
			}
			for layer, own := range map[string]bool{"options": c.options, "section": c.own} {
				if _, err := os.Stat(mark(layer)); (err == nil) != own {
					t.Errorf("the command of the %s ran: %t", layer, err == nil)
				}
			}
			var status struct{ Config []string }
			e.ask("tandem/status", map[string]any{}, &status)
			said := strings.Join(status.Config, "\n")
			for source, own := range map[string]bool{"initializationOptions": c.options, "the tandem section": c.own} {
				refusal := source + `: "providers" is ignored here: an editor's settings can come from a repository, so they may not set it; set it in `
				if strings.Contains(said, refusal) == own {
					t.Errorf("refused of %s: %t\n%s", source, !own, said)
				}
			}
			e.leaves()
		})
	}
}

// TestFindingS21KeyInClear looks for a model whose key would go over http:// to another machine.
func TestFindingS21KeyInClear(t *testing.T) {
	config := map[string]any{
		"model":     "far/m",
		"providers": map[string]any{"far": map[string]any{"api": "openai-chat", "baseUrl": "http://models.invalid/v1", "apiKeyEnv": "FAR"}},
	}
	p := run(t, config, []string{"FAR=canary"}, "doctor", "--json", "--offline")
	printed, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	said := string(printed)
	const want = "The key of the provider far is not sent to http://models.invalid/v1"
	if !strings.Contains(said, want) || !strings.Contains(said, "providers.far.sendKeyInClear") || strings.Contains(said, "canary") {
		t.Error(said)
	}
	e := run(t, config, []string{"FAR=canary"}, "--stdio").editor(conformance.Options{})
	if _, err := e.Request(e.ctx, "tandem/session/new", map[string]any{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	e.leaves()
}

// TestFindingS5PlantedRipgrep searches in a workspace whose folder of programs is on the PATH, as with a virtual environment:
// the program there does not run, and the search finds what it looks for.
func TestFindingS5PlantedRipgrep(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "work")
	bin := filepath.Join(root, ".venv", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(top, "ran")
	for _, name := range []string{"rg", "bash"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := run(t, nil, []string{"TMPDIR=" + filepath.Join(root, "tmp")}, "version")
	<-p.ended
	q := &process{t: t, root: root}
	q.start(append(p.cmd.Env, "PATH="+bin+":"+os.Getenv("PATH")), []string{"--stdio"})
	e := q.editor(conformance.Options{Ask: func(int, conformance.Ask) string { return "allow_once" }})
	id := e.session("readOnly")
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("needle\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Success bool
		Data    string
	}
	e.ask("tandem/tools/call", map[string]any{"sessionId": id, "name": "grep", "arguments": map[string]any{"pattern": "needle"}}, &r)
	if !r.Success || !strings.Contains(r.Data, "a.txt:1") {
		t.Errorf("%+v", r)
	}
	id = e.session("ask")
	e.ask("tandem/tools/call", map[string]any{
		"sessionId": id, "name": "bash", "arguments": map[string]any{"command": "echo $PATH; echo tmp=$TMPDIR; cat /proc/$PPID/environ"},
	}, &r)
	if strings.Contains(r.Data, bin) || !strings.Contains(r.Data, "tmp=\n") || strings.Contains(r.Data, "XDG_STATE_HOME") ||
		!strings.Contains(r.Data, "Permission denied") {
		t.Errorf("the command has: %+v", r)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the workspace ran")
	}
	e.leaves()
}

// TestFindingS12EndlessAnswer asks a service that does not stop talking.
func TestFindingS12EndlessAnswer(t *testing.T) {
	config := service(t, func(_ int, send func(delta, finish string)) {
		for range 64 {
			send(`{"content":"`+strings.Repeat("x", 1<<20)+`"}`, "null")
		}
		send(`{}`, `"stop"`)
	})
	e := run(t, config, []string{"MOCK_KEY=right"}, "--stdio").editor(conformance.Options{})
	var r struct {
		StopReason string
		Error      struct{ Code, Message string }
	}
	e.ask("tandem/session/prompt", map[string]any{
		"sessionId": e.session(""), "prompt": []any{map[string]any{"type": "text", "text": "Talk."}},
	}, &r)
	if r.StopReason != "error" || !strings.Contains(r.Error.Message, "answered with more than 8 MiB") {
		t.Errorf("%+v", r)
	}
	e.leaves()
}

// TestFindingS14StateOfOthers keeps nothing in a state folder that others may write, and says so.
func TestFindingS14StateOfOthers(t *testing.T) {
	p := run(t, nil, nil, "version")
	<-p.ended
	state := filepath.Join(t.TempDir(), "tandem")
	if err := os.Mkdir(state, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	q := &process{t: t, root: p.root}
	q.start(append(p.cmd.Env, "XDG_STATE_HOME="+filepath.Dir(state)), []string{"--stdio"})
	e := q.editor(conformance.Options{Heard: func(method string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, method+" "+string(params))
	}})
	e.ask("tandem/session/prompt", map[string]any{
		"sessionId": e.session(""), "model": "script/embedded", "prompt": []any{map[string]any{"type": "text", "text": "Hi."}},
	}, nil)
	until(t, "the person is told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(said, func(s string) bool {
			return strings.HasPrefix(s, "window/showMessage ") && strings.Contains(s, state+" may be written by others")
		})
	})
	e.leaves()
	left, err := os.ReadDir(state)
	if err != nil || len(left) > 0 {
		t.Errorf("kept there: %v %v", left, err)
	}
}
