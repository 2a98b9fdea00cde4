package lspserver_test

import (
	"path/filepath"
	"testing"

	"tandem/lspserver/conformance"
)

// TestFaultV23CutOff: after a reload the history says how each turn ended that did not end by itself, and shows what a person
// typed and the names of what was attached, not the text that the model got.
func TestFaultV23CutOff(t *testing.T) {
	const (
		typed   = "What is it?\n\nAttached: a.txt:2-3, b.txt"
		stopped = "Stopped."
		cut     = "The turn was interrupted: its window or session was closed."
	)
	for _, tt := range []struct {
		name string
		end  func(r *rig, id string, turn func())
		want string
	}{
		{"a person stops it", func(r *rig, id string, turn func()) {
			r.Notify("tandem/session/cancel", map[string]any{"sessionId": id})
			turn()
			r.end()
		}, stopped},
		{"the window is closed", func(r *rig, _ string, _ func()) { r.end() }, cut},
		{"the session is left", func(r *rig, id string, turn func()) {
			r.ask("tandem/session/close", map[string]any{"sessionId": id}, nil)
			turn()
			r.end()
		}, cut},
		{"it ends by itself", func(r *rig, _ string, turn func()) { turn(); r.end() }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "sessions.db")
			a := start(t, conformance.Options{}, keeping(store))
			a.write("a.txt", "one\ntwo\nthree\n")
			script := "say Wait.\nwait 60s\n"
			if tt.want == "" {
				script = "say Wait.\n"
			}
			id := a.session(map[string]any{"model": a.script(script)})
			params := map[string]any{"sessionId": id, "prompt": []any{
				map[string]any{"type": "text", "text": "What is it?"},
				map[string]any{"type": "resource", "resource": map[string]any{"uri": a.URI("a.txt") + "#L2-L3", "text": "two\nthree\n"}},
				map[string]any{"type": "resource_link", "uri": a.URI("b.txt"), "name": "b.txt"},
			}}
			answer := a.Begin("tandem/session/prompt", params)
			until(t, "the model speaks", patience, func() bool { return a.said(id, "agent_message_chunk") == "Wait." })
			tt.end(a, id, func() {
				if _, err := answer(a.ctx); err != nil {
					t.Error(err)
				}
			})

			b := start(t, conformance.Options{Root: a.root}, keeping(store))
			b.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
			if got := b.said(id, "user_message_chunk"); got != typed {
				t.Errorf("the person reads %q, want %q", got, typed)
			}
			if got := b.said(id, "notice"); got != tt.want {
				t.Errorf("the history says %q, want %q", got, tt.want)
			}
			b.end()
		})
	}
}
