package lspserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/filetime/disk"
	"tandem/lspserver"
	"tandem/lspserver/conformance"
)

// keeping are options of a server that keeps its sessions in a file.
func keeping(path string) lspserver.Options {
	o := options(nil)
	o.Store = func(config.Config) (store.Store, error) { return store.Open(path, store.Options{}) }
	return o
}

// wire are the updates of calls and messages that a client was sent, without what differs from one time to another.
type wire struct {
	calls map[string][]string
	text  strings.Builder
}

func (w *wire) hear(method string, params json.RawMessage) {
	var p struct{ Update map[string]any }
	if method != "tandem/session/update" || json.Unmarshal(params, &p) != nil {
		return
	}
	kind, _ := p.Update["sessionUpdate"].(string)
	if c, ok := p.Update["content"].(map[string]any); ok && strings.HasSuffix(kind, "message_chunk") {
		fmt.Fprintf(&w.text, "%s %v\n", kind, c["text"])
		return
	}
	meta, _ := p.Update["_meta"].(map[string]any)
	ours, _ := meta["tandem"].(map[string]any)
	if ours["state"] != "completed" || ours["phase"] == "grouped" {
		return
	}
	for _, k := range []string{"at", "batch", "groupId"} {
		delete(ours, k)
	}
	if v, ok := p.Update["rawOutput"].(map[string]any); ok && v["ignored"] == 0. {
		delete(v, "ignored") // the wire writes a zero that the store leaves out
	}
	raw, err := json.Marshal(p.Update)
	if err != nil {
		panic(err)
	}
	id, _ := p.Update["toolCallId"].(string)
	w.calls[id] = append(w.calls[id], string(raw))
}

// Another server shows a session as the first one did: every message, and every call with what it showed at its end.
func TestLoadTellsWhatWasTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var first, second wire
	first.calls, second.calls = map[string][]string{}, map[string][]string{}
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}, Heard: first.hear}, keeping(path))
	a.write("a.txt", "one\ntwo\nthree\n")
	id := a.session(map[string]any{"mode": "auto", "model": a.script(`say Let me look.
call read_file {"path":"a.txt"}
call read_file {"path":"none.txt"}

call edit_file {"path":"a.txt","old_text":"two","new_text":"2"}
call write_file {"path":"b.txt","content":"new\n"}

call bash {"command":"echo out; exit 3"}
call nonsense {"x":1}

say That is it.
`)})
	a.ask("tandem/tools/call", map[string]any{
		"sessionId": id, "callId": "mine", "name": "list_dir", "arguments": map[string]any{"path": "."},
	}, nil)
	a.prompt(id, "Change two.\nPlease.")
	a.end()
	if len(first.calls) < 6 {
		t.Fatalf("%d calls", len(first.calls))
	}

	b := start(t, conformance.Options{Root: a.root, Settings: map[string]any{"mode": "ask"}, Heard: second.hear}, keeping(path))
	var list struct {
		Sessions []struct{ SessionID, Cwd, Title string }
	}
	b.ask("tandem/session/list", map[string]any{"cwd": a.root}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].Title != "Change two." {
		t.Errorf("%+v", list)
	}
	var loaded struct {
		SessionID string
		Modes     struct{ CurrentModeID string }
	}
	b.ask("tandem/session/load", map[string]any{"sessionId": id}, &loaded)
	if loaded.SessionID != id || loaded.Modes.CurrentModeID != "auto" {
		t.Errorf("%+v", loaded)
	}
	want := "user_message_chunk Change two.\nPlease.\nagent_message_chunk Let me look.\nagent_message_chunk That is it.\n"
	equal(t, "the second told", second.text.String(), want)
	for call, told := range first.calls {
		if got := second.calls[call]; len(got) != 1 {
			t.Errorf("the end of the call %s was told %d times", call, len(got))
		} else {
			equal(t, call, got[0], told[len(told)-1])
		}
	}
	if e := b.refused("tandem/tools/call", map[string]any{
		"sessionId": id, "callId": "mine", "name": "list_dir", "arguments": map[string]any{"path": "."},
	}); e.Code != -32602 {
		t.Errorf("a callId of before: %+v", e)
	}
	b.end()

	// In another folder it is not for loading.
	c := start(t, conformance.Options{}, keeping(path))
	if e := c.refused("tandem/session/load", map[string]any{"sessionId": id}); e.Code != -32014 || !strings.Contains(e.Message, a.root) {
		t.Errorf("%+v", e)
	}
	c.end()
}

// BenchmarkKept makes tool calls in a session that is kept and in one that is not, and says what a thousand take on
// disk.
func BenchmarkKept(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) { benchmarkKept(b, kept) })
	}
}

func benchmarkKept(b *testing.B, kept bool) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	so := options(nil)
	if kept {
		so = keeping(path)
	}
	client, server := conformance.Pipe(nil, nil)
	done := make(chan int, 1)
	go func() {
		code := lspserver.Serve(b.Context(), server, so)
		_ = server.Close() // as the end of the process does
		done <- code
	}()
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	e, err := conformance.Start(b.Context(), client, conformance.Options{Root: root, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}})
	if err != nil {
		b.Fatal(err)
	}
	ask := func(method string, params map[string]any) (out struct {
		SessionID string
		Success   bool
		Data      string
	},
	) {
		raw, err := e.Request(b.Context(), method, params)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil {
			b.Fatalf("%s: %v %s", method, err, raw)
		}
		return out
	}
	id := ask("tandem/session/new", map[string]any{}).SessionID
	tool := func(name string, arguments map[string]any) {
		if r := ask("tandem/tools/call", map[string]any{"sessionId": id, "name": name, "arguments": arguments}); !r.Success {
			b.Fatalf("%s: %s", name, r.Data)
		}
	}
	var text strings.Builder
	for i := range 300 { // about 10 KB
		fmt.Fprintf(&text, "\tline %d of it says %d\n", i, i*i*7919%100003)
	}
	tool("write_file", map[string]any{"path": "a.txt", "content": "n=0;\n" + text.String()})
	began, n := time.Now(), 0
	for b.Loop() { // four reads to one edit
		for range 4 {
			tool("read_file", map[string]any{"path": "a.txt"})
		}
		tool("edit_file", map[string]any{"path": "a.txt", "old_text": fmt.Sprintf("n=%d;", n), "new_text": fmt.Sprintf("n=%d;", n+1)})
		n++
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/float64(5*n), "µs/call")
	if err := e.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	<-done
	if kept {
		st, err := store.Open(path, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		size, err := st.Size()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/float64(5*n), "KB/1000calls")
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Many sessions come in pages, the last used first, each once.
func TestSessionPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	st, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const many = 250
	for i := range many {
		folder := "/w/even"
		if i%2 == 1 {
			folder = "/w/odd"
		}
		s := store.Session{ID: fmt.Sprintf("s-%03d", i), Cwd: folder, Title: fmt.Sprint("Number ", i)}
		if err := st.Save(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	r := start(t, conformance.Options{}, keeping(path))
	fresh := r.session(nil)
	for cwd, want := range map[string][]int{"": {101, 100, 50}, "/w/even/": {100, 25}, "/w/odd": {100, 25}, "/w": {0}} {
		var sizes []int
		var all []string
		for cursor := ""; ; {
			params := map[string]any{}
			if cwd != "" {
				params["cwd"] = cwd
			}
			if cursor != "" {
				params["cursor"] = cursor
			}
			var page struct {
				Sessions   []struct{ SessionID, UpdatedAt string }
				NextCursor string
			}
			r.ask("tandem/session/list", params, &page)
			sizes = append(sizes, len(page.Sessions))
			for _, s := range page.Sessions {
				all = append(all, s.SessionID)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		sameList(t, "the pages of "+cwd, sizes, want...)
		if cwd == "" && all[0] != fresh {
			t.Errorf("the newest is %s", all[0])
		} else if cwd == "" {
			all = all[1:]
		}
		for i := 1; i < len(all); i++ {
			if all[i-1] <= all[i] {
				t.Errorf("%s comes before %s", all[i-1], all[i])
			}
		}
	}
	if e := r.refused("tandem/session/list", map[string]any{"cursor": "nonsense"}); e.Code != -32602 {
		t.Errorf("%+v", e)
	}
	var found struct{ Sessions []struct{ SessionID string } }
	r.ask("tandem/session/search", map[string]any{"query": "number 24", "limit": 5}, &found)
	if len(found.Sessions) != 5 || found.Sessions[0].SessionID != "s-249" {
		t.Errorf("%+v", found)
	}
	r.end()
}

// What a process has left that was killed is cleared up by the next one, before anybody asks it for anything: what
// another program wrote meanwhile is kept, and a person is told.
func TestRecoveryAtStart(t *testing.T) {
	path, root := filepath.Join(t.TempDir(), "sessions.db"), folder(t)
	file := filepath.Join(root, "a.txt")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "one\n")
	st, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Another program has the file open, so that the displaced one stands for two seconds; they never pass.
	other, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := disk.New(disk.Options{Journal: st, After: func(time.Duration, func()) func() bool { return func() bool { return true } }})
	c := d.Change(disk.Intent{Session: "s-old", Call: "c", Tool: "edit_file"})
	if _, err := c.Replace(file, []byte("one\n"), []byte("two\n")); err != nil {
		t.Fatal(err)
	}
	c.End(disk.Landed)
	if err := st.Close(); err != nil { // as the end of the process does, for others
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(root, disk.TempPrefix+"*"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if _, err := other.WriteAt([]byte("late\n"), 0); err != nil || other.Close() != nil {
		t.Fatal(err)
	}
	write(file, "three\n")

	so := keeping(path)
	so.Stored = func(config.Config) bool { return true }
	told := make(chan string, 10)
	r := start(t, conformance.Options{Root: root, Heard: func(method string, params json.RawMessage) {
		if method == "window/showMessage" {
			told <- string(params)
		}
	}}, so)
	select {
	case m := <-told:
		hash := sha("late\n")
		if !strings.Contains(m, file) || !strings.Contains(m, "session kept --show "+hash[:12]) {
			t.Error(m)
		}
	case <-time.After(patience):
		t.Fatal("no message to the user")
	}
	if got := tree(t, root); strings.Contains(got, disk.TempPrefix) || !strings.Contains(got, fmt.Sprintf("%x", "three\n")) {
		t.Error(got)
	}
	r.end()
	if st, err = store.Open(path, store.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one\n", "late\n"} {
		if got, err := st.Blob(sha(text)); got != text {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	if s, err := st.Stats(); err != nil || s.Intents != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
