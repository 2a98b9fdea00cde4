package lspserver_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"tandem/lspserver"
	"tandem/lspserver/conformance"
)

// BenchmarkLoad loads a session of 3,000 calls in a server that does not have it yet.
func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "sessions.db")
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	in := func(fn func(ask func(method string, params map[string]any) string)) {
		client, server := conformance.Pipe(nil, nil)
		done := make(chan int, 1)
		go func() {
			code := lspserver.Serve(b.Context(), server, keeping(path))
			_ = server.Close() // as the end of the process does
			done <- code
		}()
		e, err := conformance.Start(b.Context(), client, conformance.Options{Root: root, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}})
		if err != nil {
			b.Fatal(err)
		}
		fn(func(method string, params map[string]any) string {
			var out struct{ SessionID string }
			raw, err := e.Request(b.Context(), method, params)
			if err == nil {
				err = json.Unmarshal(raw, &out)
			}
			if err != nil {
				b.Fatalf("%s: %v %s", method, err, raw)
			}
			return out.SessionID
		})
		if err := e.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		<-done
	}
	id := ""
	in(func(ask func(string, map[string]any) string) {
		id = ask("tandem/session/new", map[string]any{})
		ask("tandem/tools/call", map[string]any{"sessionId": id, "name": "write_file", "arguments": map[string]any{"path": "a.txt", "content": "one\ntwo\nthree\n"}})
		for range 3000 {
			ask("tandem/tools/call", map[string]any{"sessionId": id, "name": "read_file", "arguments": map[string]any{"path": "a.txt"}})
		}
	})
	for b.Loop() {
		b.StopTimer()
		in(func(ask func(string, map[string]any) string) {
			b.StartTimer()
			ask("tandem/session/load", map[string]any{"sessionId": id})
			b.StopTimer()
		})
		b.StartTimer()
	}
}
