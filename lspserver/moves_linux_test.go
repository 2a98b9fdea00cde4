package lspserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tandem/lspserver/conformance"
)

// TestF162FolderBackAfterRestart has a folder be moved, and a file in it edited: the next process lists both, and takes both back.
func TestF162FolderBackAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	quick := map[string]any{"mode": "auto", "closedFiles": "disk"}
	a := start(t, conformance.Options{Settings: quick}, keeping(path))
	a.write("lib/a.txt", "one\n")
	a.write("lib/sub/b.txt", "two\n")
	id := a.session(nil)
	if out := a.call(id, "move_file", `{"path":"lib","destination":"pkg/lib"}`); !out.Success {
		t.Fatal(out.Data)
	}
	a.call(id, "read_file", `{"path":"pkg/lib/sub/b.txt"}`)
	if out := a.call(id, "edit_file", `{"path":"pkg/lib/sub/b.txt","old_text":"two","new_text":"2"}`); !out.Success {
		t.Fatal(out.Data)
	}
	before := a.changes(id)
	a.end()

	b := start(t, conformance.Options{Root: a.root, Settings: quick}, keeping(path))
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	after := b.changes(id)
	if len(after.Files) == 0 || len(after.Files) != len(before.Files) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if out := b.turn("undo", id, map[string]any{"scope": "session"}); len(out.Conflicts) > 0 {
		t.Errorf("%+v", out)
	}
	b.disk("lib/a.txt", "one\n")
	b.disk("lib/sub/b.txt", "two\n")
	if _, err := os.Stat(filepath.Join(a.root, "pkg/lib")); !os.IsNotExist(err) {
		t.Errorf("pkg/lib is there: %v", err)
	}
	if out := b.turn("redo", id, map[string]any{"scope": "session"}); len(out.Conflicts) > 0 {
		t.Errorf("%+v", out)
	}
	b.disk("pkg/lib/a.txt", "one\n")
	b.disk("pkg/lib/sub/b.txt", "2\n")
	b.end()
}

// TestF162AcrossFileSystems has a file and a folder be moved to another file system, which cannot be one step: nothing of either changes.
func TestF162AcrossFileSystems(t *testing.T) {
	device := func(path string) uint64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Skipf("there is no %s: %v", path, err)
		}
		return uint64(info.Sys().(*syscall.Stat_t).Dev)
	}
	other, err := os.MkdirTemp("/dev/shm", "tandem")
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	defer os.RemoveAll(other)
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, options(nil))
	if device(r.root) == device(other) {
		t.Skip("the temporary folder is on the same file system")
	}
	r.write("a.txt", "one\n")
	r.write("lib/b.txt", "two\n")
	id := r.session(map[string]any{"additionalDirectories": []string{other}})
	r.call(id, "read_file", `{"path":"a.txt"}`)
	for _, c := range []struct{ from, to string }{{"a.txt", "a.txt"}, {"lib", "lib"}, {"a.txt", "new/folder/a.txt"}} {
		got := r.call(id, "move_file", `{"path":"`+c.from+`","destination":"`+filepath.Join(other, c.to)+`"}`)
		if got.Success || !strings.Contains(got.Data, "file system") {
			t.Errorf("%s: %s", c.from, got.raw)
		}
	}
	r.disk("a.txt", "one\n")
	r.disk("lib/b.txt", "two\n")
	left, err := os.ReadDir(other)
	if err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	if l := r.changes(id); len(l.Files) != 0 {
		t.Errorf("%+v", l)
	}
	r.end()
}
