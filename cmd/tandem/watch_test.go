package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// soon is when a change is told of, with a machine that has other work to do; figures tell how soon it is indeed.
const soon = 30 * time.Second

// fileTimes are the tandem/fileTime that an editor has heard, each with when.
type fileTimes struct {
	mu   sync.Mutex
	list []fileTime
}

type fileTime struct {
	URI, State, By string
	at             time.Time
}

func (f *fileTimes) hear(method string, params json.RawMessage) {
	n := fileTime{at: time.Now()}
	if method == "tandem/fileTime" && json.Unmarshal(params, &n) == nil {
		f.mu.Lock()
		f.list = append(f.list, n)
		f.mu.Unlock()
	}
}

// of gives what was told of a file since n things had been told, and how many have been by now.
func (f *fileTimes) of(uri string, n int) (told []fileTime, now int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.list[n:] {
		if t.URI == uri {
			told = append(told, t)
		}
	}
	return told, len(f.list)
}

// tool calls a tool and wants it to succeed.
func (e *editor) tool(session, name string, arguments map[string]any) string {
	e.p.t.Helper()
	var r struct {
		Success bool
		Data    string
	}
	e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": name, "arguments": arguments}, &r)
	if !r.Success {
		e.p.t.Fatalf("%s %v: %s", name, arguments, r.Data)
	}
	return r.Data
}

// watched is the program with an editor that listens.
type watched struct {
	*editor
	session string
	told    fileTimes
	took    []time.Duration
}

func watching(t *testing.T) *watched {
	t.Helper()
	p := run(t, nil, nil, "--stdio")
	w := &watched{}
	w.editor = p.editor(quick(t, conformance.Options{Heard: w.told.hear}))
	w.session = w.editor.session("auto")
	return w
}

func (w *watched) write(name, text string) {
	w.p.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.Path(name)), 0o755))
	w.must(os.WriteFile(w.Path(name), []byte(text), 0o644))
}

func (w *watched) read(name string) {
	w.p.t.Helper()
	w.tool(w.session, "read_file", map[string]any{"path": name})
}

// stale has something happen to a file that the session has read, and wants to be told once, and by whom.
func (w *watched) stale(name, by, what string, do func()) {
	t := w.p.t
	t.Helper()
	uri := w.URI(name)
	_, n := w.told.of(uri, 0)
	began := time.Now()
	do()
	var told []fileTime
	until(t, what+" is told of", func() bool { told, _ = w.told.of(uri, n); return len(told) > 0 })
	took := told[0].at.Sub(began)
	w.took = append(w.took, took)
	if told[0].State != "stale" || told[0].By != by || took > soon {
		t.Errorf("%s: told of %+v after %v", what, told[0], took)
	}
}

// F188: the ways in which a file that a session has read is changed by others. No tool is called meanwhile.
func TestF188StaleWithoutACall(t *testing.T) {
	w := watching(t)
	const dir, name = "one/two", "one/two/a.txt"
	n := 0
	anew := func() string { n++; return fmt.Sprintf("text %d\n", n) }
	begin := func() {
		w.write(name, anew())
		w.read(name)
	}
	ways := []struct {
		what string
		do   func()
	}{
		{"a write in place", func() { w.write(name, anew()) }},
		{"a line more", func() {
			h, err := os.OpenFile(w.Path(name), os.O_APPEND|os.O_WRONLY, 0)
			w.must(err)
			fmt.Fprintln(h, "more")
			w.must(h.Close())
		}},
		{"a save by rename", func() { w.write("one/new", anew()); w.must(os.Rename(w.Path("one/new"), w.Path(name))) }},
		{"a save with a backup", func() { w.must(os.Rename(w.Path(name), w.Path(name)+"~")); w.write(name, anew()) }},
		{"its removal", func() { w.must(os.Remove(w.Path(name))) }},
		{"its move", func() { w.must(os.Rename(w.Path(name), w.Path("elsewhere"))) }},
		{"its folder's removal", func() { w.must(os.RemoveAll(w.Path(dir))) }},
		{"its folder's move", func() { w.must(os.Rename(w.Path("one"), w.Path("three"))) }},
		{"its folder made anew", func() { w.must(os.RemoveAll(w.Path("one"))); w.write(name, anew()) }},
		{"another of its size and time", func() {
			info, err := os.Stat(w.Path(name))
			w.must(err)
			raw, err := os.ReadFile(w.Path(name))
			w.must(err)
			w.write(name, strings.ToUpper(string(raw)))
			w.must(os.Chtimes(w.Path(name), info.ModTime(), info.ModTime()))
		}},
	}
	for _, way := range ways {
		begin()
		w.stale(name, "disk", way.what, way.do)
	}
	// After a folder was there anew with the same text, its file is still watched.
	begin()
	raw, err := os.ReadFile(w.Path(name))
	w.must(err)
	w.must(os.RemoveAll(w.Path("one")))
	w.write(name, string(raw))
	w.read(name)
	w.stale(name, "disk", "a write after its folder came back", func() { w.write(name, anew()) })

	// Typing, and saves of an open document that are not its editor's.
	begin()
	w.must(w.Open(name))
	w.stale(name, "user", "typing", func() {
		w.must(w.Change(name, func(string) []conformance.Splice { return []conformance.Splice{{New: "typed "}} }))
	})
	w.must(w.Save(name))
	w.read(name)
	w.stale(name, "disk", "a write to an open document", func() { w.write(name, anew()) })
	w.must(w.Reload(name))
	w.must(w.CloseFile(name))

	// Many at once.
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("many/%d/a.txt", i))
		w.write(names[i], anew())
		w.read(names[i])
	}
	_, before := w.told.of("", 0)
	began := time.Now()
	for _, name := range names {
		w.write(name, anew())
	}
	until(t, "300 writes are told of", func() bool { _, now := w.told.of("", 0); return now-before >= len(names) })
	t.Logf("300 files, with the time that it took to write them: %v", time.Since(began).Round(time.Millisecond))
	slices.Sort(w.took)
	t.Logf("%d changes were told of: the median after %v, the last after %v", len(w.took), w.took[len(w.took)/2], w.took[len(w.took)-1])
	var status struct{ Watcher string }
	w.ask("tandem/status", map[string]any{}, &status)
	if status.Watcher != "on" {
		t.Errorf("the watcher is %s", status.Watcher)
	}
	w.leaves()
}

// F189: what the agent itself changes is not told of as if it came from elsewhere, whether it goes to the disk or to the
// editor, saved then or not; neither is a save that changes nothing.
func TestF189OwnWritesAreNoNews(t *testing.T) {
	w := watching(t)
	w.write("disk.txt", "one\n")
	w.write("open.txt", "one\n")
	w.write("outside.txt", "one\n")
	w.must(w.Open("open.txt"))
	w.must(w.Open("outside.txt"))
	for _, name := range []string{"disk.txt", "open.txt", "outside.txt"} {
		w.read(name)
	}
	edit := func(name, from, to string) {
		w.tool(w.session, "edit_file", map[string]any{"path": name, "old_text": from, "new_text": to})
	}
	now := "one"
	for i := range 10 {
		next := fmt.Sprintf("two %d", i)
		edit("disk.txt", now, next)
		edit("open.txt", now, next)
		w.must(w.Save("open.txt"))
		now = next
	}
	w.tool(w.session, "write_file", map[string]any{"path": "made/new.txt", "content": "made\n"})
	w.must(os.Chtimes(w.Path("disk.txt"), time.Now(), time.Now()))
	w.must(os.Chtimes(w.Path("open.txt"), time.Now(), time.Now()))
	w.must(w.Save("open.txt"))
	// What is told of last, and takes the longest to be told of, comes after all that might have been told before.
	w.stale("outside.txt", "disk", "a write of another", func() { w.write("outside.txt", "two\n") })
	w.leaves()
	for _, told := range w.told.list {
		if told.State == "stale" && told.URI != w.URI("outside.txt") {
			t.Errorf("told of %+v", told)
		}
	}
}
