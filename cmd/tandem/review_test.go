package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// After a kill the next process lists the same hunks with what was decided about them, takes a turn of before back around
// what was typed meanwhile, and brings it again.
func TestUndoAfterKill(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	model := "read_file {\"path\":\"a.txt\"}\n\ncall edit_file {\"path\":\"a.txt\",\"old_text\":\"two\",\"new_text\":\"TWO\"}\n" +
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"four\",\"new_text\":\"FOUR\"}\n\nsay Done.\n\n" +
		"call edit_file {\"path\":\"a.txt\",\"old_text\":\"six\",\"new_text\":\"SIX\"}\n\nsay Done.\n"
	if err := os.WriteFile(script, []byte("call "+model), 0o600); err != nil {
		t.Fatal(err)
	}
	type list struct {
		Files []struct {
			Hunks []struct {
				ID, OldText, NewText, Status string
				Turn                         int
			}
		}
	}
	p := run(t, map[string]any{"model": "script:" + script}, nil, "--stdio")
	if err := os.WriteFile(filepath.Join(p.root, "a.txt"), []byte("one\ntwo\nthree\nfour\nfive\nsix\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.editor(quick(t, conformance.Options{}))
	id := e.session("auto")
	for n := range 2 {
		e.ask("tandem/session/prompt", map[string]any{
			"sessionId": id, "prompt": []any{map[string]any{"type": "text", "text": fmt.Sprint("Turn ", n+1)}},
		}, nil)
	}
	var before, after list
	e.ask("tandem/changes/list", map[string]any{"sessionId": id}, &before)
	if len(before.Files) != 1 || len(before.Files[0].Hunks) != 3 {
		t.Fatalf("%+v", before)
	}
	e.ask("tandem/changes/accept", map[string]any{"sessionId": id, "hunkIds": []string{before.Files[0].Hunks[2].ID}}, nil)
	before.Files[0].Hunks[2].Status = "accepted"
	p.kill()

	p = p.another("--stdio")
	e = p.editor(quick(t, conformance.Options{}))
	if err := e.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	if err := e.Change("a.txt", func(text string) []conformance.Splice {
		at := strings.Index(text, "three")
		return []conformance.Splice{{Start: at, End: at, New: "typed\n"}}
	}); err != nil {
		t.Fatal(err)
	}
	e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	e.ask("tandem/changes/list", map[string]any{"sessionId": id}, &after)
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("listed after the kill: %+v\nbefore: %+v", after, before)
	}
	for _, row := range []struct{ what, want string }{
		{"undo", "one\ntwo\ntyped\nthree\nfour\nfive\nSIX\n"},
		{"redo", "one\nTWO\ntyped\nthree\nFOUR\nfive\nSIX\n"},
		{"undo", "one\ntwo\ntyped\nthree\nfour\nfive\nSIX\n"},
	} {
		var out struct{ Changed, Conflicts []any }
		e.ask("tandem/changes/"+row.what, map[string]any{"sessionId": id, "scope": "turn", "turn": 1}, &out)
		if got, _ := e.Text("a.txt"); got != row.want || len(out.Changed) != 1 || len(out.Conflicts) > 0 {
			t.Errorf("%s: %+v, %q, want %q", row.what, out, got, row.want)
		}
	}
	p.kill()

	p = p.another("--stdio")
	e = p.editor(quick(t, conformance.Options{}))
	e.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
	after = list{}
	e.ask("tandem/changes/list", map[string]any{"sessionId": id}, &after)
	// The editor had not saved, so that the disk is as it was before the undo.
	if len(after.Files) != 1 || len(after.Files[0].Hunks) != 3 || after.Files[0].Hunks[0].ID != before.Files[0].Hunks[0].ID {
		t.Errorf("after a kill with unsaved text: %+v", after)
	}
	e.leaves()
}
