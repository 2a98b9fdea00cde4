package lspserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/lspserver/conformance"
)

// TestF180CommandsAfterRestart: what a command has changed is in review in the next process too, and is undone and redone there, with the
// permissions of files that come back.
func TestF180CommandsAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	o := conformance.Options{
		Settings: map[string]any{"mode": "auto"},
		Ask:      func(int, conformance.Ask) string { return "allow_once" }, // where nothing confines commands
	}
	a := start(t, o, keeping(path))
	a.write("a.txt", "one\ntwo\n")
	a.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(a.Path("run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.write("data.bin", "a\x00b")
	id := a.session(nil)
	out := a.call(id, "bash", `{"command": "echo three >> a.txt; rm run.sh data.bin; echo new > new.txt; chmod 600 new.txt"}`, "callId", "c1")
	want := "(no output)\nexit code: 0\nchanged files:\n  modified a.txt\n  created new.txt\n  deleted run.sh\n" +
		"changed, and cannot be undone:\n  deleted data.bin (is no text)"
	if out.Data != want {
		t.Errorf("%q, want %q", out.Data, want)
	}
	if raw := string(out.raw); strings.Contains(raw, `"edit"`) || strings.Contains(raw, `"applied"`) || !strings.Contains(raw, `"modified"`) {
		t.Errorf("a command is no edit that a host could apply: %s", out.raw)
	}
	before := a.changes(id)
	if len(before.Files) != 3 {
		t.Fatalf("%+v", before)
	}
	for _, f := range before.Files {
		if f.Hunks[0].Status != "pending" || f.Hunks[0].ToolCallID != "c1" {
			t.Errorf("%+v", f)
		}
	}
	a.end()

	o.Root = a.root
	b := start(t, o, keeping(path))
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	if d := cmp.Diff(before, b.changes(id)); d != "" {
		t.Error(d)
	}
	b.write("a.txt", "typed\none\ntwo\nthree\n")
	scope := map[string]any{"scope": "toolCall", "toolCallId": "c1"}
	mode := func(name string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(b.Path(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if done := b.turn("undo", id, scope); len(done.Changed) != 3 || len(done.Conflicts) != 0 {
		t.Errorf("%+v", done)
	}
	b.disk("a.txt", "typed\none\ntwo\n")
	b.disk("run.sh", "#!/bin/sh\n")
	mode("run.sh", 0o755)
	if _, err := os.Stat(b.Path("new.txt")); err == nil {
		t.Error("what the command made is still there")
	}
	if done := b.turn("redo", id, scope); len(done.Changed) != 3 || len(done.Conflicts) != 0 {
		t.Errorf("%+v", done)
	}
	b.disk("a.txt", "typed\none\ntwo\nthree\n")
	b.disk("new.txt", "new\n")
	mode("new.txt", 0o600)
	if _, err := os.Stat(b.Path("run.sh")); err == nil {
		t.Error("what the command removed is there again")
	}
	b.end()
}

// TestUnkeptIsAsked: a person who is asked about a command sees which files it may change for good. Without a sandbox that keeps it from
// writing, a line that reads by its words may run programs that write.
func TestUnkeptIsAsked(t *testing.T) {
	o, asked := answering(t, "reject_once", "reject_once")
	o.Settings = map[string]any{"mode": "ask", "sandbox": map[string]any{"level": "off"}}
	r := start(t, o, own(t, "{}"))
	r.write("large.txt", strings.Repeat("a line\n", 200_000))
	r.write("small.txt", "x\n")
	id := r.session(nil)
	for _, command := range []string{"make all", "ls"} {
		r.call(id, "bash", `{"command": "`+command+`"}`)
	}
	if len(*asked) != 2 {
		t.Fatalf("%+v", *asked)
	}
	for i := range *asked {
		if said := string((*asked)[i].ToolCall.Content); !strings.Contains(said, "cannot be undone: large.txt (larger than 1 MiB).") {
			t.Errorf("%s", said)
		}
	}
	r.end()
}
