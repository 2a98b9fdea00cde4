package lspserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/lspserver/lsptest"
)

// TestFindingS6WhatRunsLaterAsks: files that other programs run or obey later are not written unasked, in whatever mode, and what
// holds keys is not read unasked. Whoever cannot be asked has refused.
func TestFindingS6WhatRunsLaterAsks(t *testing.T) {
	for _, mode := range []string{"acceptEdits", "auto"} {
		for _, attended := range []bool{true, false} {
			root := folder(t)
			asked := 0
			o := lsptest.Options{Root: root, Settings: map[string]any{"mode": mode, "closedFiles": "disk"}}
			answer := "allow_once"
			if !attended {
				answer = "reject_once"
			}
			o.Ask = func(int, lsptest.Ask) string { asked++; return answer }
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

// TestFindingS2OwnFiles: the configuration, what lies beside it and the state are neither read nor written where they lie in the
// workspace, or a link of the configuration leads there.
func TestFindingS2OwnFiles(t *testing.T) {
	home := folder(t)
	so := options(nil)
	so.Own = func(config.Config) []string {
		return []string{filepath.Join(home, "elsewhere"), filepath.Join(home, "elsewhere/config.json"), filepath.Join(home, "state")}
	}
	r := start(t, lsptest.Options{Root: home, Settings: map[string]any{"mode": "auto", "closedFiles": "disk"}}, so)
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
