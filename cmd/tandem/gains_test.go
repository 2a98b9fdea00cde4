package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// TestF277SearchBesideTheShell asks the same of the tool and of rg in a command: the tool finds the same lines, as data for a program,
// and unsaved text too. How long both take is told, and measured in cmd/bench.
func TestF277SearchBesideTheShell(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip(err)
	}
	p := run(t, nil, nil, "--stdio")
	e := p.editor(quick(t, conformance.Options{}))
	for name, text := range map[string]string{"a.go": "one\nthe needle\n", "b/c.go": "the needle\ntwo\n", "d.go": "three\n"} {
		err := os.MkdirAll(filepath.Dir(e.Path(name)), 0o755)
		if err == nil {
			err = os.WriteFile(e.Path(name), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	e.OpenUnsaved("d.go", "three\nthe needle, not saved\n")
	session := e.session("auto")
	began := time.Now()
	shell := e.tool(session, "bash", map[string]any{"command": "rg --line-number needle"})
	between := time.Now()
	var r struct {
		Success bool
		Data    string
		Result  struct {
			Matches []struct {
				Path, Text string
				Line       int
			}
		}
	}
	e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": "grep", "arguments": map[string]any{"pattern": "needle"}}, &r)
	t.Logf("rg in a command %v, grep %v", between.Sub(began), time.Since(between))
	for _, line := range []string{"a.go:2:the needle\n", "b/c.go:1:the needle\n"} {
		if !strings.Contains(shell, line) {
			t.Errorf("rg: %s", shell)
		}
	}
	if strings.Contains(shell, "not saved") {
		t.Errorf("rg finds what is not on disk: %s", shell)
	}
	m := r.Result.Matches
	if len(m) != 3 {
		t.Fatalf("grep: %+v", r)
	}
	for i, want := range []struct {
		name string
		line int
		text string
	}{{"a.go", 2, "the needle"}, {"b/c.go", 1, "the needle"}, {"d.go", 2, "the needle, not saved"}} {
		if m[i].Path != e.Path(want.name) || m[i].Line != want.line || m[i].Text != want.text {
			t.Errorf("grep: %+v, want %+v", m[i], want)
		}
	}
	e.leaves()
}
