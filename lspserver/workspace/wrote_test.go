package workspace

import (
	"os"
	"testing"
	"time"
)

// TestWrote: a file is a person's or a tool's if the editor said to have saved what is in it, or a tool has landed it; not if the
// buffer merely shows it, since the editor has loaded it anew.
func TestWrote(t *testing.T) {
	w, b, _, path := folder(t, map[string]string{"a.txt": "one\n"}, "a.txt")
	tell := func(text string, saved bool) {
		b.mu.Lock()
		b.text, b.ver = text, b.ver+1
		w.Change(b.uri, b.ver, []ContentChange{{Text: text}})
		b.mu.Unlock()
		if saved {
			w.Saved(b.uri, nil)
		}
	}
	since := w.o.Now()
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(path("a.txt"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is := func(content string, want bool) {
		t.Helper()
		if got := w.Wrote(path("a.txt"), content, since); got != want {
			t.Errorf("%q: %v", content, got)
		}
	}
	is("one\n", false)
	put("planted\n")
	tell("planted\n", false)
	is("planted\n", false)
	put("typed\n")
	tell("typed\n", true)
	is("typed\n", true)
	is("typed\r\n", true) // as the disk may have it
	is("planted\n", false)
	if w.Wrote(path("a.txt"), "typed\n", since.Add(time.Hour)) {
		t.Error("before that time")
	}
	put("planted\n")
	tell("typed more\n", true) // the disk has something else by now
	is("planted\n", false)
	is("typed more\n", false)
}

func TestWroteByTool(t *testing.T) {
	w, _, _, path := folder(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"}, "")
	since := w.o.Now()
	if _, err := w.Commit(t.Context(), changing(t, w, path, "a.txt: one>1")); err != nil {
		t.Fatal(err)
	}
	if !w.Wrote(path("a.txt"), on(t, path, "a.txt"), since) || w.Wrote(path("b.txt"), "two\n", since) {
		t.Error(on(t, path, "a.txt"))
	}
}
