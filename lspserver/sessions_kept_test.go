package lspserver_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/lsptest"
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
	a := start(t, lsptest.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}, Heard: first.hear}, keeping(path))
	a.write("a.txt", "one\ntwo\nthree\n")
	id := a.session(map[string]any{"model": a.script(`say Let me look.
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

	b := start(t, lsptest.Options{Root: a.root, Settings: map[string]any{"mode": "ask"}, Heard: second.hear}, keeping(path))
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
	c := start(t, lsptest.Options{}, keeping(path))
	if e := c.refused("tandem/session/load", map[string]any{"sessionId": id}); e.Code != -32014 || !strings.Contains(e.Message, a.root) {
		t.Errorf("%+v", e)
	}
	c.end()
}

// BenchmarkKept makes tool calls in a session that is kept and in one that is not, and says what a thousand take on disk.
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
	client, server := lsptest.Pipe(nil, nil)
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
	e, err := lsptest.Start(b.Context(), client, lsptest.Options{Root: root, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}})
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
