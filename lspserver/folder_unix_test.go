//go:build unix

package lspserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
)

// anew deletes a folder and makes another one in its place, with one file in it.
func anew(t *testing.T, dir string) {
	t.Helper()
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "a.txt"), []byte("another\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// TestFindingS18RootMadeAnew: a session does nothing in a folder that was deleted and made anew, until a person opens
// it again or begins a new one.
func TestFindingS18RootMadeAnew(t *testing.T) {
	home := folder(t)
	for name, params := range map[string]map[string]any{
		"cwd":          {},
		"other folder": {"additionalDirectories": []string{filepath.Join(home, "more")}},
	} {
		t.Run(name, func(t *testing.T) {
			more := filepath.Join(home, "more")
			anew(t, more)
			r := start(t, conformance.Options{}, options(nil))
			defer r.end()
			r.write("a.txt", "one\n")
			gone, path := r.root, "a.txt"
			if name != "cwd" {
				gone, path = more, filepath.Join(more, "a.txt")
			}
			id := r.session(params)
			arguments := `{"path":"` + path + `"}`
			if got := r.call(id, "read_file", arguments); !got.Success {
				t.Fatalf("%s", got.raw)
			}
			equal(t, "a prompt", r.prompt(id, "go").StopReason, "end_turn")

			// One that is renamed and comes back is the same.
			if err := os.Rename(gone, gone+"-away"); err != nil {
				t.Fatal(err)
			}
			if got := r.call(id, "read_file", arguments); got.Reason != "enoent" {
				t.Errorf("a folder that is gone: %s", got.raw)
			}
			if err := os.Rename(gone+"-away", gone); err != nil {
				t.Fatal(err)
			}
			if got := r.call(id, "read_file", arguments); !got.Success {
				t.Errorf("a folder that is back: %s", got.raw)
			}

			anew(t, gone)
			args := map[string]any{"path": path}
			call := map[string]any{"sessionId": id, "name": "read_file", "arguments": args}
			for method, p := range map[string]map[string]any{
				"tandem/session/prompt": prompt(id, "go"),
				"tandem/tools/call":     call,
				"tandem/tools/batch":    {"sessionId": id, "calls": []any{map[string]any{"name": "read_file", "arguments": args}}},
			} {
				e := r.refused(method, p)
				if e.Code != -32014 || !strings.Contains(string(e.Data), "not_permitted") ||
					!strings.Contains(e.Message, gone+" was deleted and made anew") || !strings.Contains(e.Message, "pen the session again") {
					t.Errorf("%s: %v %s", method, e, e.Data)
				}
			}
			fresh := r.session(params)
			if got := r.call(fresh, "read_file", arguments); !strings.Contains(got.Data, "another") {
				t.Errorf("a new session: %s", got.raw)
			}
			r.ask("tandem/session/load", map[string]any{"sessionId": id}, nil)
			if got := r.call(id, "read_file", arguments); !strings.Contains(got.Data, "another") {
				t.Errorf("opened again: %s", got.raw)
			}
			end := r.prompt(id, "go")
			equal(t, "the turn after the refused one", end, turnEnd{StopReason: "end_turn", Turn: 2})
		})
	}
}

// TestFindingS18MadeAnewWhileAsked: what a person allows is not done in a folder that was made anew while they thought,
// and the turn can do nothing more in it.
func TestFindingS18MadeAnewWhileAsked(t *testing.T) {
	for name, call := range map[string]string{
		"bash":       `{"command":"touch ran"}`,
		"write_file": `{"path":"new.txt","content":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := folder(t)
			asked := 0
			r := start(t, conformance.Options{Root: root, Ask: func(n int, _ conformance.Ask) string {
				asked = n
				anew(t, root)
				return "allow_once"
			}}, options(nil))
			defer r.end()
			id := r.session(map[string]any{"model": r.script(
				"call " + name + " " + call + "\n\ncall read_file {\"path\":\"a.txt\"}\n\ncall bash {\"command\":\"touch ran\"}\n\nsay Over.\n",
			)})
			equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
			equal(t, "questions", asked, 1)
			failed := map[string]string{}
			for _, u := range r.told(id) {
				m := u.Update.Meta.Tandem
				if m.Phase == "result" {
					t.Errorf("%s succeeded", u.Update.Title)
				}
				if m.Phase == "error" {
					failed[u.Update.ToolCallID] = m.Error
				}
			}
			if len(failed) != 3 {
				t.Errorf("refused calls: %v", failed)
			}
			for id, e := range failed {
				equal(t, id, e, "OUTSIDE_ROOTS")
			}
			if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
				t.Errorf("in the new folder: %v %v", left, err)
			}
		})
	}
}

// TestFindingS18AskInAFolderMadeAnew: a client that has nothing but the command tandem.ask is told, and its next prompt
// begins a new session.
func TestFindingS18AskInAFolderMadeAnew(t *testing.T) {
	p := startPlain(t, "say Here.\n", "ask", nil, conformance.Options{})
	anew(t, p.root)
	if err := p.Open("a.txt"); err != nil {
		t.Fatal(err)
	}
	ask := func() { p.execute("tandem.ask", map[string]any{"uri": p.URI("a.txt"), "text": "go"}) }
	ask()
	equal(t, "before", p.said(1), "Tandem: Here.")
	anew(t, p.root)
	ask()
	if said := p.said(2); !strings.Contains(said, "was deleted and made anew") || !strings.Contains(said, "begin a new one") {
		t.Errorf("%q", said)
	}
	ask()
	equal(t, "again", p.said(3), "Tandem: Here.")
	p.end()
}
