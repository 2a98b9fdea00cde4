package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/conformance"
	"tandem/sandbox"
)

func TestPrinted(t *testing.T) {
	t.Setenv("TANDEM_TEST_SECRET_KEY", "k-1")
	if got, err := commandOutput([]string{"sh", "-c", "printf %s $TANDEM_TEST_SECRET_KEY"}); got != "k-1" || err != nil {
		t.Errorf("a key of the environment: %q, %v", got, err)
	}
	if _, err := commandOutput([]string{"sh", "-c", "echo locked >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "3: locked") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := commandOutput([]string{"/nowhere/at/all"}); err == nil {
		t.Error("a command that is not there gives no error")
	}
}

// TestFindingS20KeysOutsideOfRoots: the program that prints a key is looked for in no folder that a session may change, also where that
// is not the folder that the server was started in. Elsewhere it is found.
func TestFindingS20KeysOutsideOfRoots(t *testing.T) {
	key := func(dir string) string {
		bin := filepath.Join(dir, "bin")
		if err := errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "tandem-key"), []byte("#!/bin/sh\n: > "+dir+"/ran\necho k-1\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
		return bin
	}
	top := sandbox.Canonical(t.TempDir())
	cloned, written, tools := filepath.Join(top, "cloned"), filepath.Join(top, "cloned/../written"), filepath.Join(top, "tools")
	path := key(cloned) + ":" + key(written) + ":" + key(tools)
	for _, c := range []struct {
		path, ran string
	}{{path, tools}, {strings.Join(strings.Split(path, ":")[:2], ":"), ""}} {
		for _, dir := range []string{cloned, written, tools} {
			_ = os.Remove(filepath.Join(dir, "ran"))
		}
		p := prepared(t, map[string]any{
			"model": "mock/m", "writeRoots": []string{".", "../written"},
			"providers": map[string]any{"mock": map[string]any{
				"api": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyCommand": []string{"tandem-key"},
			}},
		})
		p.start(append(p.env, "PATH="+c.path+":"+os.Getenv("PATH")), []string{"--stdio"})
		e, err := conformance.Start(t.Context(), p, conformance.Options{Root: p.root})
		if err != nil {
			t.Fatal(err)
		}
		// The model of a session is opened, with its key, before there is an answer.
		if raw, err := e.Request(t.Context(), "tandem/session/new", map[string]any{"cwd": cloned}); (err == nil) != (c.ran != "") {
			t.Errorf("PATH %s: %s, %v", c.path, raw, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, dir := range []string{cloned, written, tools} {
			if _, err := os.Stat(filepath.Join(dir, "ran")); (err == nil) != (dir == c.ran) {
				t.Errorf("PATH %s: the program in %s: %v", c.path, dir, err)
			}
		}
	}
}

// The log, the trace and the level of the log of the program itself: they are where they should be, nobody else reads
// them, and the key that the model was asked with is in none of them.
func TestTraceAndLog(t *testing.T) {
	const secret = "a-key-of-no-known-shape"
	p := run(t, map[string]any{
		"log": map[string]any{"level": "debug"}, "model": "mock/m",
		"providers": map[string]any{"mock": map[string]any{
			"api": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "MOCK", "headers": map[string]any{"X-Auth-Token": secret + "-2"},
		}},
	}, []string{"MOCK=" + secret}, "--stdio", "--trace", "trace.jsonl")
	began := time.Now()
	e, err := conformance.Start(t.Context(), p, conformance.Options{Root: p.root})
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(filepath.Dir(p.root), "home", "tandem")
	until := time.Now().Add(patience)
	for _, err := os.Stat(filepath.Join(state, "tandem.log")); err != nil && time.Now().Before(until); _, err = os.Stat(filepath.Join(state, "tandem.log")) {
		time.Sleep(5 * time.Millisecond)
	}
	var s struct{ SessionID string }
	raw, err := e.Request(t.Context(), "tandem/session/new", map[string]any{})
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err == nil {
		_, err = e.Request(t.Context(), "tandem/session/prompt", map[string]any{
			"sessionId": s.SessionID, "prompt": []any{map[string]any{"type": "text", "text": "my words, " + secret + " and " + secret + "-2"}},
		})
	}
	if err != nil {
		t.Error(err)
	}
	e.Notify("tandem/session/cancel", map[string]any{"sessionId": "s-none"}) // is told at debug only
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	p.ends(0, began, patience)
	texts := map[string]string{}
	for _, path := range []string{filepath.Join(p.root, "trace.jsonl"), filepath.Join(state, "tandem.log")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), secret) {
			t.Errorf("%s has the key", path)
		}
		texts[filepath.Base(path)] = string(raw)
	}
	for _, want := range []string{
		`"direction":"in","bytes":`, `"method":"tandem/session/prompt"`, `"text":"my words, [redacted] and [redacted]"`, `"direction":"out"`,
	} {
		if !strings.Contains(texts["trace.jsonl"], want) {
			t.Errorf("no %s in the trace:\n%s", want, texts["trace.jsonl"])
		}
	}
	if log := texts["tandem.log"]; !strings.Contains(log, "level=DEBUG") || strings.Contains(log, "my words") {
		t.Errorf("the log:\n%s", log)
	}
}
