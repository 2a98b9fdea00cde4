package lspserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/store"
	"tandem/filetime/disk"
	"tandem/lspserver/conformance"
)

// A process was killed after a call had created, changed and deleted files and before it stored that. In the next process
// each is a change of the session that can be undone and redone, around text that the user has written since.
func TestUndoOfWhatLandedBeforeAKill(t *testing.T) {
	const le = "\xff\xfeo\x00n\x00e\x00\n\x00"
	le2 := strings.Replace(le, "o", "O", 1)
	path, root := filepath.Join(t.TempDir(), "sessions.db"), folder(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for name, text := range map[string]string{"a.txt": "one\n", "le.txt": le, "gone.txt": "gone\n", "mine.txt": "mine\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(kind store.Kind, call string, body any) store.Entry {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return store.Entry{Time: time.Now(), Turn: 1, Kind: kind, Call: call, Body: raw}
	}
	type fields = map[string]any
	err = errors.Join(st.Save(store.Session{ID: "s-killed", Cwd: root, Mode: "auto", Title: "Killed"}), st.Append("s-killed",
		entry(store.Message, "", fields{"message": fields{"role": "user", "text": "Go."}}),
		entry(store.Call, "c1", fields{"name": "patch", "arguments": "{}", "tool": "patch", "kind": "edit"}),
		entry(store.Running, "c1", fields{}),
	))
	if err != nil {
		t.Fatal(err)
	}
	// The time never comes at which the end would be written down.
	d := disk.New(disk.Options{Journal: st, After: func(time.Duration, func()) func() bool { return func() bool { return true } }})
	c := d.Change(disk.Intent{Session: "s-killed", Call: "c1", Turn: 1, Tool: "patch"})
	hash := func(s string) string { return disk.Hash([]byte(s)) }
	edit := func(op disk.Op, name, before, after string) disk.Planned {
		p := disk.Planned{Op: op, Path: at(name), AfterHash: hash(after)}
		if op != disk.Create {
			p.Before, p.BeforeHash = []byte(before), hash(before)
		}
		if op == disk.Delete {
			p.AfterHash = ""
		}
		return p
	}
	if err := c.Begin(
		edit(disk.Edit, "a.txt", "one\n", "ONE\n"), edit(disk.Edit, "le.txt", le, le2), edit(disk.Create, "new.txt", "", "new\n"),
		edit(disk.Delete, "gone.txt", "gone\n", ""), edit(disk.Edit, "mine.txt", "mine\n", "yours\n"),
	); err != nil {
		t.Fatal(err)
	}
	_, err1 := c.Replace(at("a.txt"), []byte("one\n"), []byte("ONE\n"))
	_, err2 := c.Replace(at("le.txt"), []byte(le), []byte(le2))
	_, err3 := c.Create(at("new.txt"), []byte("new\n"), 0)
	_, err4 := c.Delete(at("gone.txt"), []byte("gone\n"))
	if err := errors.Join(err1, err2, err3, err4, st.Close()); err != nil { // as the kernel does it
		t.Fatal(err)
	}

	r := start(t, conformance.Options{Root: root, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(path))
	const id = "s-killed"
	r.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	has := func(when string, want map[string]string) {
		t.Helper()
		for name, want := range want {
			raw, err := os.ReadFile(at(name))
			if got := string(raw); errors.Is(err, os.ErrNotExist) && want != "-" || err == nil && got != want {
				t.Errorf("%s: %s says %q (%v), want %q", when, name, got, err, want)
			}
		}
	}
	landed := map[string]string{"a.txt": "ONE\n", "le.txt": le2, "new.txt": "new\n", "gone.txt": "-", "mine.txt": "mine\n"}
	before := map[string]string{"a.txt": "one\n", "le.txt": le, "new.txt": "-", "gone.txt": "gone\n", "mine.txt": "mine\n"}
	has("loaded", landed)
	call := map[string]any{"scope": "toolCall", "toolCallId": "c1"}
	if l := r.changes(id); len(l.Files) != 4 {
		t.Errorf("%+v", l)
	}
	if out := r.turn("undo", id, call); len(out.Changed) != 4 || len(out.Conflicts) > 0 {
		t.Errorf("undo: %+v", out)
	}
	has("undone", before)
	if out := r.turn("redo", id, call); len(out.Changed) != 4 || len(out.Conflicts) > 0 {
		t.Errorf("redo: %+v", out)
	}
	has("done again", landed)
	for name, text := range map[string]string{"new.txt": "new\nmine\n", "gone.txt": "mine\n"} {
		// At once: of a file that is written in place the server may read the moment in which it is empty, and then nothing of its text is
		// the agent's.
		next := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, at(name))); err != nil {
			t.Fatal(err)
		}
	}
	if out := r.turn("undo", id, call); len(out.Changed) != 3 || len(out.Conflicts) > 0 {
		t.Errorf("undo of what another program has edited: %+v", out)
	}
	before["new.txt"], before["gone.txt"] = "mine\n", "mine\n" // another program's file is in the place of the deleted one
	has("undone around the other text", before)
	r.end()
}

// What a session knew of files is gone from the store when the answer to its deletion comes, although its changes have
// landed only a moment before, and is not there later either.
func TestDeletedSessionLeavesNoTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(path))
	r.write("a.txt", "secret one\n")
	r.write("held.txt", "secret two\n")
	// Another program has this one open, so that what the edit displaces stands for a while.
	other, err := os.OpenFile(filepath.Join(r.root, "held.txt"), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	for _, name := range []string{"a.txt", "held.txt"} {
		r.call(id, "read_file", `{"path":"`+name+`"}`)
		if out := r.call(id, "edit_file", `{"path":"`+name+`","old_text":"secret","new_text":"SECRET"}`); !out.Success {
			t.Fatal(out.Data)
		}
	}
	r.ask("tandem/session/delete", map[string]any{"sessionId": id}, nil)
	clean := func(when string) {
		t.Helper()
		for _, suffix := range []string{"", "-wal"} {
			raw, err := os.ReadFile(path + suffix)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if bytes.Contains(bytes.ToLower(raw), []byte("secret")) {
				t.Errorf("%s: the text is in %s%s", when, filepath.Base(path), suffix)
			}
		}
	}
	clean("deleted")
	r.end()
	clean("ended")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	r.disk("held.txt", "SECRET two\n")
}
