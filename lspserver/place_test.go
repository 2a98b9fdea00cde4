package lspserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/lspserver/conformance"
)

// TestFindingS6WhatRunsLaterAsks: files that other programs run or obey later are not written unasked, in whatever
// mode, and what holds keys is not read unasked. Whoever cannot be asked has refused.
func TestFindingS6WhatRunsLaterAsks(t *testing.T) {
	for _, mode := range []string{"acceptEdits", "auto"} {
		for _, attended := range []bool{true, false} {
			root := folder(t)
			asked := 0
			o := conformance.Options{Root: root, Settings: map[string]any{"mode": mode, "closedFiles": "disk"}}
			answer := "allow_once"
			if !attended {
				answer = "reject_once"
			}
			o.Ask = func(int, conformance.Ask) string { asked++; return answer }
			r := start(t, o, options(nil))
			id := r.session(nil)
			want := 0
			for _, name := range []string{
				".vscode/tasks.json", ".husky/pre-commit", ".github/workflows/ci.yml", ".envrc", ".nvim.lua", ".mcp.json", ".npmrc", "AGENTS.md",
				"sub/.VSCode/settings.json", "sub/Agents.md",
			} {
				got := r.call(id, "write_file", `{"path":"`+name+`","content":"x"}`)
				want++
				_, err := os.Stat(filepath.Join(root, name))
				if asked != want || got.Success != attended || (err == nil) != attended {
					t.Errorf("%s, %s: asked %d times, want %d: %s", mode, name, asked, want, got.raw)
				}
			}
			for _, name := range []string{".git/hooks/pre-commit", ".GIT/config", ".git./x", "git~1/x", ".tandem/config.json", ".tandem/rules/x"} {
				if got := r.call(id, "write_file", `{"path":"`+name+`","content":"x"}`); got.Success || got.Error != "PROTECTED_PATH" {
					t.Errorf("%s, %s: %s", mode, name, got.raw)
				}
			}
			r.write(".env", "KEY=canary\n")
			want++
			got := r.call(id, "read_file", `{"path":".env"}`)
			if asked != want || got.Success != attended || strings.Contains(string(got.raw), "canary") != attended {
				t.Errorf("%s, .env: asked %d times, want %d: %s", mode, asked, want, got.raw)
			}
			if got := r.call(id, "write_file", `{"path":"plain.txt","content":"x"}`); !got.Success || asked != want {
				t.Errorf("%s: a plain file: %s", mode, got.raw)
			}
			r.end()
		}
	}
}

// TestFindingS2HardLinks: a file with further names is not changed through the editor unasked, which may save it in place; a
// change on disk leaves the other names as they are, and does not ask.
func TestFindingS2HardLinks(t *testing.T) {
	for closed, want := range map[string]int{"editor": 1, "disk": 0} {
		root := folder(t)
		asked := 0
		r := start(t, conformance.Options{
			Root: root, Settings: map[string]any{"mode": "auto", "closedFiles": closed},
			Ask: func(int, conformance.Ask) string { asked++; return "reject_once" },
		}, options(nil))
		r.write(".git/config", "[core]\n")
		r.write("other.md", "one\n")
		if err := os.Link(filepath.Join(root, ".git/config"), filepath.Join(root, "README.md")); err != nil {
			t.Fatal(err)
		}
		id := r.session(nil)
		for _, name := range []string{"README.md", "other.md"} {
			r.call(id, "read_file", `{"path":"`+name+`"}`)
		}
		if got := r.call(id, "edit_file", `{"path":"README.md","old_text":"[core]","new_text":"[x]"}`); asked != want || got.Success != (want == 0) {
			t.Errorf("%s: asked %d times, want %d: %s", closed, asked, want, got.raw)
		}
		if got := r.call(id, "edit_file", `{"path":"other.md","old_text":"one","new_text":"two"}`); asked != want || !got.Success {
			t.Errorf("%s: a file with one name: %s", closed, got.raw)
		}
		if b, err := os.ReadFile(filepath.Join(root, ".git/config")); err != nil || string(b) != "[core]\n" {
			t.Errorf("%s: the other name says %q, %v", closed, b, err)
		}
		r.end()
	}
}

// TestFindingS2OpenedBeforeLanding: who allowed a change of a file on disk has not allowed one of its further names, which the editor
// would change that opens the file meanwhile.
func TestFindingS2OpenedBeforeLanding(t *testing.T) {
	root := folder(t)
	asked := 0
	var r *rig
	r = start(t, conformance.Options{
		Root: root, Settings: map[string]any{"mode": "ask", "closedFiles": "disk"},
		Ask: func(int, conformance.Ask) string {
			if asked++; asked == 1 {
				if err := r.Open("README.md"); err != nil {
					t.Error(err)
				}
			}
			return "allow_once"
		},
	}, options(nil))
	defer r.end()
	r.write("other", "one\n")
	if err := os.Link(filepath.Join(root, "other"), filepath.Join(root, "README.md")); err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	r.call(id, "read_file", `{"path":"README.md"}`)
	edit := `{"path":"README.md","old_text":"one","new_text":"two"}`
	if got := r.call(id, "edit_file", edit); asked != 1 || got.Success || got.Error != "GATE_DENIED" || !strings.Contains(got.Data, "README.md, which was not judged") {
		t.Errorf("asked %d times: %s", asked, got.raw)
	}
	if got := r.call(id, "edit_file", edit); asked != 2 || !got.Success {
		t.Errorf("asked %d times: %s", asked, got.raw)
	}
}

// TestFindingS2OwnFiles: the configuration, what lies beside it and the state are neither read nor written where they
// lie in the workspace, or a link of the configuration leads there.
func TestFindingS2OwnFiles(t *testing.T) {
	home := folder(t)
	so := options(nil)
	so.Own = func(config.Config) []string {
		return []string{filepath.Join(home, "elsewhere"), filepath.Join(home, "elsewhere/config.json"), filepath.Join(home, "state")}
	}
	r := start(t, conformance.Options{
		Root: home, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"},
		Pick: func(string, []string) string { return "Work in this folder" },
	}, so)
	defer r.end()
	r.write("dotfiles/tandem/config.json", "canary")
	r.write("dotfiles/tandem/AGENTS.md", "canary")
	r.write("state/sessions.db", "canary")
	if err := os.Symlink("dotfiles/tandem", filepath.Join(home, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	id := r.session(nil)
	for _, name := range []string{
		"dotfiles/tandem/config.json", "dotfiles/tandem/AGENTS.md", "elsewhere/config.json", "state/sessions.db", "state/new", "dotfiles/tandem/new",
	} {
		for _, got := range []result{
			r.call(id, "read_file", `{"path":"`+name+`"}`), r.call(id, "grep", `{"pattern":"canary","path":"`+name+`"}`),
			r.call(id, "write_file", `{"path":"`+name+`","content":"x"}`),
		} {
			if got.Success || got.Error != "PROTECTED_PATH" || strings.Contains(got.Data, "canary") {
				t.Errorf("%s: %s", name, got.raw)
			}
		}
	}
}

// TestFindingS2SecretsAreLeftOut: searches and lists leave out what holds keys and say how many there are; no answer
// tells what is in it.
func TestFindingS2SecretsAreLeftOut(t *testing.T) {
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, options(nil))
	defer r.end()
	r.write(".env", "KEY=canary\n")
	r.write(".ssh/id_rsa", "canary\n")
	r.write(".env.example", "KEY=example\n")
	r.write("a.txt", "canary a\n")
	id := r.session(nil)
	for name, arguments := range map[string]string{
		"list_files": `{}`, "glob": `{"pattern":"**/*"}`, "grep": `{"pattern":"canary|example"}`,
	} {
		got := r.call(id, name, arguments)
		if !got.Success || !strings.Contains(got.Data, "a.txt") || !strings.Contains(got.Data, ".env.example") ||
			!strings.Contains(got.Data, "(2 paths left out: keys or passwords are kept there)") ||
			strings.Contains(strings.ReplaceAll(got.Data, ".env.example", ""), ".env") || strings.Contains(got.Data, "KEY=canary") {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	for _, c := range [][2]string{
		{"edit_file", `{"path":".env","old_text":"KEY","new_text":"x"}`},
		{"write_file", `{"path":".env","content":"x"}`},
		{"read_file", `{"path":".ssh"}`},
		{"read_file", `{"path":".ssh/id_rs"}`},
	} {
		if got := r.call(id, c[0], c[1]); got.Success || strings.Contains(got.Data, "canary") || strings.Contains(got.Data, "id_rsa") {
			t.Errorf("%s %s: %s", c[0], c[1], got.raw)
		}
	}
}

// TestCaseP35FindingS2WideRoots (P35): a folder as wide as the home folder has no rights until a person was asked, at the first session, with
// the refusing answer first; initialize does not wait for that. Without a yes there is no session.
func TestCaseP35FindingS2WideRoots(t *testing.T) {
	home := folder(t)
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(folder(t), "dir")
	so := options(nil)
	so.Own = func(config.Config) []string { return []string{filepath.Join(own, "tandem/config.json")} }
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"/", home, filepath.Dir(home), own, "/etc", "/usr"} {
		for _, answer := range []string{"Work in this folder", "Reject", ""} {
			var asked [][]string
			r := start(t, conformance.Options{Root: root, Pick: func(_ string, actions []string) string {
				asked = append(asked, actions)
				return answer
			}}, so)
			if len(asked) != 0 {
				t.Errorf("%s: initialize asked", root)
			}
			if answer != "Work in this folder" {
				if e := r.refused("tandem/session/new", map[string]any{}); e.Code != -32014 || len(asked) != 1 {
					t.Errorf("%s, %q: %v, asked %q", root, answer, e, asked)
				}
				r.end()
				continue
			}
			id := r.session(nil)
			r.session(nil)
			if len(asked) != 1 || asked[0][0] != "Reject" {
				t.Errorf("%s: asked %q", root, asked)
			}
			if root == home {
				if got := r.call(id, "read_file", `{"path":"a.txt"}`); !got.Success {
					t.Errorf("%s", got.raw)
				}
			}
			r.end()
		}
	}
	inside := filepath.Join(home, "project")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	r := start(t, conformance.Options{Root: inside, Pick: func(string, []string) string { t.Error("asked"); return "" }}, so)
	r.session(nil)
	r.end()
}

// TestFindingS1AnEditedFileThatBecomesALink: what a file says that the agent has edited, and that is a link to a key by now, is no
// news of the user's and is told in no other way either.
func TestFindingS1AnEditedFileThatBecomesALink(t *testing.T) {
	key := filepath.Join(folder(t), "key")
	if err := os.WriteFile(key, []byte("one\nCANARY\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, options(nil))
	defer r.end()
	path := r.write("a.txt", "one\ntwo\n")
	id := r.session(map[string]any{"model": r.script(
		`call read_file {"path":"a.txt"}` + "\n\n" + `call edit_file {"path":"a.txt","old_text":"two","new_text":"three"}` + "\n\nsay Done.\n\n" +
			`call edit_file {"path":"a.txt","old_text":"three","new_text":"four"}` + "\n\n" + `call read_file {"path":"a.txt"}` + "\n\nsay Over.\n",
	)})
	equal(t, "stop", r.prompt(id, "go").StopReason, "end_turn")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(key, path); err != nil {
		t.Fatal(err)
	}
	equal(t, "stop", r.prompt(id, "go on").StopReason, "end_turn")
	var all strings.Builder
	for _, u := range r.told(id) {
		all.Write(u.Update.Content)
	}
	var exported struct{ Text string }
	r.ask("tandem/session/export", map[string]any{"sessionId": id, "format": "jsonl"}, &exported)
	all.WriteString(exported.Text)
	if strings.Contains(all.String(), "CANARY") {
		t.Errorf("it is told: %s", all.String())
	}
	if !strings.Contains(exported.Text, "go on") {
		t.Errorf("the export says nothing: %q", exported.Text)
	}
	if got, err := os.ReadFile(key); err != nil || string(got) != "one\nCANARY\n" {
		t.Errorf("the key says %q, %v", got, err)
	}
}

// TestFoldersAddedBeforeASession: a document of a folder that the editor added is compared with the disk, whether or not there is a
// session yet.
func TestFoldersAddedBeforeASession(t *testing.T) {
	r := start(t, conformance.Options{}, options(nil))
	defer r.end()
	path := filepath.Join(folder(t), "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{
		"added": []any{map[string]any{"uri": "file://" + filepath.Dir(path), "name": "more"}}, "removed": []any{},
	}})
	document := map[string]any{"uri": "file://" + path, "languageId": "text", "version": 1, "text": "one\n"}
	r.Notify("textDocument/didOpen", map[string]any{"textDocument": document})
	var out struct{ Files []struct{ Dirty bool } }
	r.ask("tandem/fileTime/get", map[string]any{"uris": []string{"file://" + path}}, &out)
	if len(out.Files) != 1 || out.Files[0].Dirty {
		t.Errorf("%+v", out.Files)
	}
}

// TestFoldersAddedDuringASession: a folder that the editor adds to the workspace reaches the sessions that are open. Their calls read and
// change files in it, the model reads of it and its rules with the next prompt, what its configuration denies is denied, and a session
// that is loaded again still has it.
func TestFoldersAddedDuringASession(t *testing.T) {
	r, l := listening(t, conformance.Options{Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}})
	more := folder(t)
	for name, content := range map[string]string{
		"lib.go": "package lib\n", "private/notes.txt": "a\n", "AGENTS.md": "Lib uses tabs.\n",
		".tandem/config.json": `{"permissions": {"deny": [{"tool": "*", "params": {"path": "` + more + `/private/**"}}]}}`,
	} {
		path := filepath.Join(more, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	id := r.session(nil)
	r.prompt(id, "Begin.")
	read := func(name string) result {
		return r.call(id, "read_file", fmt.Sprintf(`{"path": %q}`, filepath.Join(more, name)))
	}
	if got := read("lib.go"); got.Error != "OUTSIDE_ROOTS" {
		t.Fatalf("before: %s", got.raw)
	}
	r.Notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": map[string]any{
		"added": []any{map[string]any{"uri": "file://" + more, "name": "more"}}, "removed": []any{},
	}})
	if got := read("lib.go"); !got.Success || !strings.Contains(got.Data, "package lib") {
		t.Errorf("reading: %s", got.raw)
	}
	if got := r.call(id, "write_file", fmt.Sprintf(`{"path": %q, "content": "x\n"}`, filepath.Join(more, "new.txt"))); !got.Success {
		t.Errorf("writing: %s", got.raw)
	}
	if got := read("private/notes.txt"); got.Error != "GATE_DENIED" {
		t.Errorf("what its configuration denies: %s", got.raw)
	}
	r.prompt(id, "Go on.")
	if told := l.told(); !strings.Contains(told, "added the folder "+more) || !strings.Contains(told, "Lib uses tabs.") {
		t.Errorf("the model reads %q", told)
	}
	if now, before := l.requests[1].Messages[0].Text, l.requests[0].Messages[0].Text; now != before {
		t.Errorf("the system prompt has changed:\n%s", now)
	}
	r.prompt(id, "Once more.")
	if told := l.told(); strings.Contains(told, more) {
		t.Errorf("the model reads it again: %q", told)
	}
	r.ask("tandem/session/close", map[string]any{"sessionId": id}, &struct{}{})
	r.ask("tandem/session/load", map[string]any{"sessionId": id}, &struct{}{})
	if got := read("lib.go"); !got.Success {
		t.Errorf("after a load: %s", got.raw)
	}
	r.end()
}
