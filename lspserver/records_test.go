package lspserver_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tandem/agent/agenttest"
	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/filetime/disk"
	"tandem/lspserver/conformance"
)

// changeRecord is one of tandem/changes/records as a client reads it.
type changeRecord struct {
	ID, FilePath, Operation     string
	TurnNumber                  int
	ToolCallID, Time            string
	BeforeHash, AfterHash       string
	ContentBefore, ContentAfter *string
}

func (r *rig) records(session string, more ...any) []changeRecord {
	r.t.Helper()
	params := map[string]any{"sessionId": session}
	for i := 0; i < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	var out struct{ Records []changeRecord }
	r.ask("tandem/changes/records", params, &out)
	return out.Records
}

func sha(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// Every change of a file is written down with its texts, and is there when the session is loaded again.
func TestF193ChangeRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	settings := map[string]any{"mode": "auto", "closedFiles": "disk"}
	a := start(t, conformance.Options{Settings: settings}, keeping(path))
	one := a.write("one.txt", "alpha\nbeta\n")
	big := a.write("big.txt", "first\n"+strings.Repeat("a line of a large file\n", 60_000))
	a.write("open.txt", "open\n")
	if err := a.Open("open.txt"); err != nil {
		t.Fatal(err)
	}
	id := a.session(map[string]any{"model": a.script(`call read_file {"path":"one.txt"}
call read_file {"path":"open.txt"}
call read_file {"path":"big.txt","limit":3}

call edit_file {"path":"one.txt","old_text":"beta","new_text":"BETA"}
call edit_file {"path":"open.txt","old_text":"open","new_text":"opened"}
call edit_file {"path":"big.txt","old_text":"first","new_text":"FIRST"}
call edit_file {"path":"one.txt","old_text":"not there","new_text":"x"}

call bash {"command":"echo gamma >> one.txt; echo unseen > unseen.txt"}

say Done.

call write_file {"path":"new/two.txt","content":"two\n"}

call bash {"command":"rm one.txt"}

say Done.
`)})
	if r := a.records(id); len(r) != 0 {
		t.Errorf("before anything happened: %+v", r)
	}
	began := time.Now().Add(-time.Second)
	a.prompt(id, "Go.")
	a.prompt(id, "On.")
	a.call(id, "write_file", `{"path":"three.txt","content":"three\n"}`, "callId", "mine")
	a.ask("tandem/changes/undo", map[string]any{"sessionId": id, "scope": "toolCall", "toolCallId": "mine"}, nil)

	all := a.records(id, "contents", true)
	calls, ids := map[string]bool{}, map[string]bool{}
	got := ""
	for _, r := range all {
		rel, err := filepath.Rel(a.root, r.FilePath)
		if err != nil {
			t.Error(err)
		}
		show := func(hash string, text *string) string {
			switch {
			case text != nil && sha(*text) != hash:
				return "(another hash)"
			case text != nil:
				return fmt.Sprintf("%q", *text)
			case hash == "":
				return "-"
			case len(hash) == 64:
				return "(hash)"
			}
			return "(nonsense)"
		}
		got += fmt.Sprintf("%d %s %s %s -> %s\n", r.TurnNumber, r.Operation, rel,
			show(r.BeforeHash, r.ContentBefore), show(r.AfterHash, r.ContentAfter))
		if at, err := time.Parse(time.RFC3339, r.Time); err != nil || at.Before(began) || at.After(time.Now()) {
			t.Errorf("%+v: %v", r, err)
		}
		if r.ToolCallID == "" || r.ID == "" || ids[r.ID] {
			t.Errorf("%+v", r)
		}
		calls[r.ToolCallID], ids[r.ID] = true, true
	}
	want := `1 edit one.txt "alpha\nbeta\n" -> "alpha\nBETA\n"
1 edit open.txt "open\n" -> "opened\n"
1 edit big.txt (hash) -> (hash)
1 shell one.txt "alpha\nBETA\n" -> "alpha\nBETA\ngamma\n"
1 shell unseen.txt - -> "unseen\n"
2 create new/two.txt - -> "two\n"
2 shell one.txt "alpha\nBETA\ngamma\n" -> -
0 create three.txt - -> "three\n"
0 undo three.txt "three\n" -> -
`
	if d := cmp.Diff(sortedHead(want, 3), sortedHead(got, 3)); d != "" {
		t.Error(d)
	}
	if !calls["mine"] || len(calls) < 7 {
		t.Errorf("the calls are %v", calls)
	}
	for _, row := range []struct {
		want int
		more []any
	}{
		{5, []any{"turn", 1}},
		{2, []any{"turn", 2}},
		{2, []any{"turn", 0}},
		{0, []any{"turn", 3}},
		{3, []any{"uri", "file://" + one}},
		{1, []any{"uri", "file://" + one, "turn", 2}},
		{1, []any{"uri", "file://" + big}},
		{0, []any{"uri", "file://" + filepath.Join(a.root, "none")}},
	} {
		r := a.records(id, row.more...)
		if len(r) != row.want {
			t.Errorf("%v: %d records", row.more, len(r))
		}
		for _, c := range r {
			if c.ContentBefore != nil || c.ContentAfter != nil || c.BeforeHash+c.AfterHash == "" {
				t.Errorf("%v: %+v", row.more, c)
			}
		}
	}
	if e := a.refused("tandem/changes/records", map[string]any{"sessionId": "s-none"}); e.Code != -32011 {
		t.Errorf("%+v", e)
	}
	if e := a.refused("tandem/changes/records", map[string]any{"sessionId": id, "uri": "one.txt"}); e.Code != -32602 {
		t.Errorf("%+v", e)
	}
	a.end()

	b := start(t, conformance.Options{Root: a.root, Settings: settings}, keeping(path))
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	if d := cmp.Diff(all, b.records(id, "contents", true)); d != "" {
		t.Error(d)
	}
	b.call(id, "write_file", `{"path":"four.txt","content":"four\n"}`)
	if again := b.records(id); len(again) != len(all)+1 || ids[again[len(all)].ID] {
		t.Errorf("%+v", again)
	}
	b.end()
}

// sortedHead sorts the first lines, which calls that run together may give in any order.
func sortedHead(s string, n int) []string {
	lines := strings.Split(s, "\n")
	head := lines[:min(n, len(lines))]
	for i := range head {
		for j := i + 1; j < len(head); j++ {
			if head[j] < head[i] {
				head[i], head[j] = head[j], head[i]
			}
		}
	}
	return lines
}

// The status tells of the store, which is opened only when there is a session.
func TestStatusOfTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, keeping(path))
	type state struct {
		Kind, Path, Problem string
		Size, Quota         int64
		Sessions, Intents   int
	}
	status := func() state {
		var out struct{ Store state }
		r.ask("tandem/status", map[string]any{}, &out)
		return out.Store
	}
	equal(t, "before anything", status(), state{Kind: "closed"})
	id := r.session(nil)
	r.call(id, "write_file", `{"path":"a.txt","content":"a\n"}`)
	got := status()
	if got.Size < 4096 || got.Quota != store.Quota || got.Intents > 1 {
		t.Errorf("%+v", got)
	}
	got.Size, got.Quota, got.Intents = 0, 0, 0
	equal(t, "with a session", got, state{Kind: "file", Path: path, Sessions: 1})
	r.end()

	so := keeping(path)
	so.Store = func(config.Config) (store.Store, error) { return nil, store.ErrDamaged }
	r = start(t, conformance.Options{}, so)
	var list any
	r.ask("tandem/session/list", map[string]any{}, &list)
	got = status()
	equal(t, "one that cannot be opened", got, state{Kind: "memory", Size: got.Size, Quota: got.Quota, Problem: store.ErrDamaged.Error()})
	r.end()
}

// fullDisk is a store that can write nothing more.
type fullDisk struct{ store.Store }

func (fullDisk) Begin(disk.Intent) (int64, error) {
	return 0, errors.New("the journal /x/sessions.db cannot be written: database or disk is full")
}

// What cannot be written down beforehand is not done: neither to a file nor to a buffer.
func TestNotWrittenDownNotDone(t *testing.T) {
	so := options(nil)
	so.Store = func(config.Config) (store.Store, error) { return fullDisk{agenttest.Store(t)}, nil }
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, so)
	r.write("open.txt", "one\n")
	r.write("closed.txt", "one\n")
	if err := r.Open("open.txt"); err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	before := tree(t, r.root)
	for _, name := range []string{"open.txt", "closed.txt"} {
		r.call(id, "read_file", fmt.Sprintf(`{"path":%q}`, name))
		got := r.call(id, "edit_file", fmt.Sprintf(`{"path":%q,"old_text":"one","new_text":"two"}`, name))
		if got.Success || got.Error != "WRITE_ERROR" || !strings.Contains(got.Data, "disk is full") {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	if got := r.call(id, "write_file", `{"path":"new/x.txt","content":"x\n"}`); got.Success || got.Error != "WRITE_ERROR" {
		t.Errorf("%s", got.raw)
	}
	equal(t, "the files", tree(t, r.root), before)
	if text, _ := r.Text("open.txt"); text != "one\n" {
		t.Errorf("the buffer says %q", text)
	}
	if n, _, _ := r.Counts(); n != 0 {
		t.Errorf("the editor was asked %d times", n)
	}
	r.end()
}

// fileState is one of tandem/fileTime/get as a client reads it.
type fileState struct {
	URI, State, ReadAt, Mtime, Hash string
	Size                            int
	Version                         *int32
	Dirty                           bool
	Lock                            *struct {
		Holder, ToolCallID, Since string
		PID                       int
	}
}

func (r *rig) fileTimes(names ...string) map[string]fileState {
	r.t.Helper()
	params := map[string]any{}
	var uris []string
	for _, n := range names {
		uris = append(uris, r.URI(n))
	}
	if uris != nil {
		params["uris"] = uris
	}
	var out struct{ Files []fileState }
	r.ask("tandem/fileTime/get", params, &out)
	byName := map[string]fileState{}
	for _, f := range out.Files {
		byName[filepath.Base(f.URI)] = f
	}
	return byName
}

// Every field of tandem/fileTime/get, of a file that is open, and of one that is not.
func TestFileTimeGet(t *testing.T) {
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, options(nil))
	began := time.Now().Add(-time.Second)
	closed, open := r.write("closed.txt", "one\n"), r.write("open.txt", "open\n")
	r.write("unseen.txt", "?\n")
	if err := r.Open("open.txt"); err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	if got := r.fileTimes(); len(got) != 0 {
		t.Errorf("nothing was seen: %+v", got)
	}
	r.call(id, "read_file", `{"path":"closed.txt"}`)
	r.call(id, "read_file", `{"path":"open.txt"}`)
	check := func(name, path, state, text string, version int32, dirty bool) {
		t.Helper()
		f := r.fileTimes()[name]
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		mtime, err1 := time.Parse(time.RFC3339, f.Mtime)
		readAt, err2 := time.Parse(time.RFC3339, f.ReadAt)
		if err1 != nil || err2 != nil || !mtime.Equal(info.ModTime()) || readAt.Before(began) || readAt.After(time.Now()) {
			t.Errorf("%s: read at %s, modified %s; the file %v", name, f.ReadAt, f.Mtime, info.ModTime())
		}
		if f.State != state || f.Hash != sha(text) || f.Size != len(text) || f.Dirty != dirty || f.Lock != nil ||
			(version == 0) != (f.Version == nil) || version != 0 && *f.Version != version {
			t.Errorf("%s: %+v", name, f)
		}
	}
	check("closed.txt", closed, "read", "one\n", 0, false)
	check("open.txt", open, "read", "open\n", 1, false)
	if err := r.Change("open.txt", func(string) []conformance.Splice { return []conformance.Splice{{New: "é"}} }); err != nil {
		t.Fatal(err)
	}
	check("open.txt", open, "stale", "éopen\n", 2, true)
	r.call(id, "edit_file", `{"path":"closed.txt","old_text":"one","new_text":"two"}`)
	check("closed.txt", closed, "written", "two\n", 0, false)

	r.call(id, "read_file", `{"path":"open.txt"}`)
	r.call(id, "edit_file", `{"path":"open.txt","old_text":"open","new_text":"opened"}`)
	check("open.txt", open, "written", "éopened\n", 3, true)
	r.end()
}

// The lock of a file whose edit is on its way is seen from another server too.
func TestFileTimeLock(t *testing.T) {
	locks := folder(t)
	so := options(nil)
	so.Locks = func(config.Config) string { return locks }
	arrived, release := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived) })
	began := time.Now().Add(-time.Second)
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "editor"}, BeforeApply: func(int) {
		arrive()
		<-release
	}}, so)
	b := start(t, conformance.Options{Root: a.root}, so)
	a.write("a.txt", "one\n")
	a.write("b.txt", "one\n")
	id, other := a.session(nil), b.session(nil)
	b.call(other, "read_file", `{"path":"a.txt"}`)
	b.call(other, "read_file", `{"path":"b.txt"}`)
	a.call(id, "read_file", `{"path":"a.txt"}`)
	if l := b.fileTimes("a.txt")["a.txt"].Lock; l != nil {
		t.Errorf("before: %+v", l)
	}
	done := make(chan result, 1)
	go func() {
		defer close(done)
		done <- a.call(id, "edit_file", `{"path":"a.txt","old_text":"one","new_text":"two"}`, "callId", "mine")
	}()
	select {
	case <-arrived:
	case d := <-done:
		close(release)
		t.Fatalf("the edit did not reach the editor: %s", d.raw)
	}
	got := b.fileTimes("a.txt", "b.txt")
	if l := got["a.txt"].Lock; l == nil || l.Holder != id || l.ToolCallID != "mine" || l.PID != os.Getpid() {
		t.Errorf("%+v", l)
	} else if since, err := time.Parse(time.RFC3339, l.Since); err != nil || since.Before(began) || since.After(time.Now()) {
		t.Errorf("since %s", l.Since)
	}
	if got["b.txt"].Lock != nil || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	close(release)
	if d := <-done; !d.Success {
		t.Errorf("%s", d.raw)
	}
	if l := b.fileTimes("a.txt")["a.txt"].Lock; l != nil {
		t.Errorf("after: %+v", l)
	}
	a.end()
	b.end()
}
