package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tandem/lspserver/conformance"
)

// Files that a session has made, and those that were removed because that was taken back, are taken back and brought again by
// the processes that come after one that was killed.
func TestUndoOfMadeFilesAfterKill(t *testing.T) {
	p := run(t, nil, nil, "--stdio")
	says := func(when string, want map[string]string) {
		t.Helper()
		for name, want := range want {
			raw, err := os.ReadFile(filepath.Join(p.root, name))
			got := string(raw)
			if errors.Is(err, os.ErrNotExist) {
				got, err = "-", nil
			}
			if err != nil || got != want {
				t.Errorf("%s: %s says %q (%v), want %q", when, name, got, err, want)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(p.root, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.editor(quick(t, conformance.Options{}))
	id := e.session("auto")
	call := func(name, callID string, arguments map[string]any) {
		t.Helper()
		var r struct {
			Success bool
			Data    string
		}
		e.ask("tandem/tools/call", map[string]any{"sessionId": id, "name": name, "callId": callID, "arguments": arguments}, &r)
		if !r.Success {
			t.Fatal(r.Data)
		}
	}
	turn := func(what string, params map[string]any, changed int) {
		t.Helper()
		params["sessionId"] = id
		var out struct{ Changed, Conflicts []any }
		e.ask("tandem/changes/"+what, params, &out)
		if len(out.Changed) != changed || len(out.Conflicts) > 0 {
			t.Errorf("%s: %+v", what, out)
		}
	}
	next := func() {
		t.Helper()
		p.kill()
		p = p.another("--stdio")
		e = p.editor(quick(t, conformance.Options{}))
		e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	}
	made := func() map[string]any { return map[string]any{"scope": "toolCall", "toolCallId": "made"} }
	all := func() map[string]any { return map[string]any{"scope": "session"} }

	call("read_file", "read", map[string]any{"path": "a.txt"})
	call("edit_file", "edit", map[string]any{"path": "a.txt", "old_text": "one", "new_text": "ONE"})
	call("write_file", "made", map[string]any{"path": "made.txt", "content": "made\n"})
	call("write_file", "deep", map[string]any{"path": "deep/er/made.txt", "content": "deep\n"})
	turn("undo", made(), 1)
	says("undone", map[string]string{"a.txt": "ONE\n", "made.txt": "-", "deep/er/made.txt": "deep\n"})
	next()
	says("killed", map[string]string{"a.txt": "ONE\n", "made.txt": "-", "deep/er/made.txt": "deep\n"})
	turn("redo", made(), 1)
	says("made again", map[string]string{"made.txt": "made\n"})
	next()
	turn("undo", all(), 3)
	says("all undone", map[string]string{"a.txt": "one\n", "made.txt": "-", "deep/er/made.txt": "-"})
	next()
	turn("redo", all(), 3)
	says("all done again", map[string]string{"a.txt": "ONE\n", "made.txt": "made\n", "deep/er/made.txt": "deep\n"})
	if left := p.litter(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	e.leaves()
}
