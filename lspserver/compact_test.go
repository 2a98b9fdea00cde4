package lspserver_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// A person has the conversation made shorter: the model writes no summary, so that results are cleared, which the client is told of. The
// transcript keeps them.
func TestCompact(t *testing.T) {
	a := start(t, conformance.Options{Settings: map[string]any{"mode": "auto"}}, keeping(filepath.Join(t.TempDir(), "sessions.db")))
	var script strings.Builder
	for i := range 6 {
		a.write(fmt.Sprintf("f%d.txt", i), strings.Repeat(fmt.Sprintf("a line of file %d\n", i), 400))
		fmt.Fprintf(&script, "call read_file {\"path\":\"f%d.txt\"}\n\n", i)
	}
	script.WriteString("say Read.\n\nsay No summary.\n\nsay None either.\n\nsay Later.\n")
	type result struct {
		CompactionID  string
		Kind          string
		Before, After int64
	}
	id := a.session(map[string]any{"model": a.script(script.String())})
	var none, done result
	a.ask("tandem/session/compact", map[string]any{"sessionId": id}, &none)
	if none.Kind != "none" || none.CompactionID != "" || none.Before != none.After {
		t.Errorf("%+v", none)
	}
	a.prompt(id, "Read them.")
	a.ask("tandem/session/compact", map[string]any{"sessionId": id, "instructions": "Short."}, &done)
	if done.Kind != "prune" || done.CompactionID == "" || done.After >= done.Before {
		t.Errorf("%+v", done)
	}
	var out struct{ Text string }
	a.ask("tandem/session/export", map[string]any{"sessionId": id, "format": "markdown"}, &out)
	if !strings.Contains(out.Text, "cleared for the model") || strings.Count(out.Text, "a line of file 0") == 0 || strings.Contains(out.Text, "No summary.") {
		t.Errorf("%.3000s", out.Text)
	}
	a.prompt(id, "And later?")
	if e := a.refused("tandem/session/compact", map[string]any{"sessionId": "nobody"}); e.Code != -32011 {
		t.Errorf("%+v", e)
	}
	a.end()
}
