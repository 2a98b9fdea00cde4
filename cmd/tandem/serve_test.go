package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

func TestPrinted(t *testing.T) {
	t.Setenv("TANDEM_TEST_SECRET_KEY", "k-1")
	if got, err := printed([]string{"sh", "-c", "printf %s $TANDEM_TEST_SECRET_KEY"}); got != "k-1" || err != nil {
		t.Errorf("a key of the environment: %q, %v", got, err)
	}
	if _, err := printed([]string{"sh", "-c", "echo locked >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "3: locked") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := printed([]string{"/nowhere/at/all"}); err == nil {
		t.Error("a command that is not there gives no error")
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
