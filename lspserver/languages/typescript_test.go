package languages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/lspserver/languages"
	"tandem/sandbox"
)

// compilers is a Runner that confines and has programs of its own on the PATH. It starts none: what
// would be started is its error.
type compilers struct {
	sandbox.Runner
	path string
}

func (compilers) Level() sandbox.Level { return sandbox.Level{Name: sandbox.LevelFull} }

func (c compilers) Find(name string, _ sandbox.Surroundings) (string, error) {
	path := filepath.Join(c.path, name)
	_, err := os.Stat(path)
	return path, err
}

// The server of a project is chosen by its version of TypeScript: the nearest one among its
// packages, else the one of the PATH, as npm lays them out.
func TestFaultW14TypeScript(t *testing.T) {
	const nowhere = "no server"
	manifest := func(version string) string { return `{"name": "typescript", "version": "` + version + `"}` }
	for _, row := range []struct {
		name  string
		files map[string]string // those below PATH are on it
		want  string
	}{
		{"7 in the workspace", map[string]string{"node_modules/typescript/package.json": manifest("7.0.2"), "node_modules/.bin/tsc": ""}, "node_modules/.bin/tsc"},
		{"7 above", map[string]string{
			"node_modules/typescript/package.json": manifest("7.1.0-dev.20261101"), "node_modules/.bin/tsc": "", "p/package.json": "{}",
		}, "node_modules/.bin/tsc"},
		{"5 near, 7 above", map[string]string{
			"node_modules/typescript/package.json": manifest("7.0.2"), "node_modules/.bin/tsc": "", "p/package.json": "{}",
			"p/node_modules/typescript/package.json": manifest("5.9.3"), "PATH/bin/typescript-language-server": "",
		}, "PATH/bin/typescript-language-server"},
		{"5 in the workspace, 7 on the PATH", map[string]string{
			"node_modules/typescript/package.json": manifest("5.9.3"), "PATH/typescript/package.json": manifest("7.0.2"), "PATH/typescript/bin/tsc": "",
			"PATH/bin/typescript-language-server": "",
		}, "PATH/bin/typescript-language-server"},
		{"6 on the PATH", map[string]string{
			"PATH/typescript/package.json": manifest("6.0.1"), "PATH/typescript/bin/tsc": "", "PATH/bin/typescript-language-server": "",
		}, "PATH/bin/typescript-language-server"},
		{"7 on the PATH", map[string]string{
			"PATH/typescript/package.json": manifest("7.0.2"), "PATH/typescript/bin/tsc": "", "PATH/bin/typescript-language-server": "",
		}, "PATH/bin/tsc"},
		{"7 without its programs", map[string]string{"node_modules/typescript/package.json": manifest("7.0.2"), "PATH/bin/typescript-language-server": ""}, nowhere},
		{"no version", map[string]string{"node_modules/typescript/package.json": "{", "PATH/bin/typescript-language-server": ""}, "PATH/bin/typescript-language-server"},
		{"none", map[string]string{"PATH/bin/typescript-language-server": ""}, "PATH/bin/typescript-language-server"},
		{"nothing", nil, nowhere},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{"p/tsconfig.json": "{}", "p/a.ts": "a\n"}
			outside := t.TempDir()
			for name, content := range row.files {
				if rest, ok := strings.CutPrefix(name, "PATH/"); ok {
					path := filepath.Join(outside, rest)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
						t.Fatal(err)
					}
				} else {
					files[name] = content
				}
			}
			if _, ok := row.files["PATH/typescript/bin/tsc"]; ok { // a link, as npm makes it
				_ = os.MkdirAll(filepath.Join(outside, "bin"), 0o755)
				if err := os.Symlink("../typescript/bin/tsc", filepath.Join(outside, "bin", "tsc")); err != nil {
					t.Fatal(err)
				}
			}
			w, _ := world(t, files, languages.Presets()...)
			starts := &starting{Runner: compilers{w.Env.Commands.Runner, filepath.Join(outside, "bin")}}
			w.Env.Commands.Runner = starts
			r := w.Call("document_symbols", `{"path":"p/a.ts"}`)
			got := nowhere
			if len(starts.argv) > 0 {
				got = strings.NewReplacer(w.Root+"/", "", outside, "PATH").Replace(starts.argv[0])
			}
			if r.Success || got != row.want {
				t.Errorf("started %s, want %s: %s", got, row.want, r.Data)
			}
			if got == nowhere && !strings.Contains(r.Data, "can be installed") {
				t.Errorf("it does not say what to install: %s", r.Data)
			}
		})
	}
}

// starting remembers what was to be started.
type starting struct {
	sandbox.Runner
	argv []string
}

func (s *starting) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	s.argv = c.Argv
	return nil, errors.New("it is not started here")
}

// A server that the person has named serves every version, alone.
func TestFaultW14NamedTypeScript(t *testing.T) {
	programs := languages.Presets()
	i := slices.IndexFunc(programs, func(p languages.Program) bool { return p.Name == "typescript-language-server" })
	programs[i].Command, programs[i].ByUser = "/opt/own", true
	w, _ := world(t, map[string]string{
		"tsconfig.json": "{}", "a.ts": "a\n", "node_modules/typescript/package.json": `{"version": "7.0.2"}`, "node_modules/.bin/tsc": "",
	}, programs...)
	starts := &starting{Runner: confined{w.Env.Commands.Runner}}
	w.Env.Commands.Runner = starts
	if r := w.Call("document_symbols", `{"path":"a.ts"}`); r.Success || len(starts.argv) == 0 || starts.argv[0] != "/opt/own" {
		t.Errorf("started %q: %s", starts.argv, r.Data)
	}
}

// Code that nobody has checked is said to be unchecked, and why: once for each kind of file and
// reason.
func TestFaultW14NotChecked(t *testing.T) {
	w, _ := world(t, map[string]string{"there.rb": "def a\nend\n", "there.py": "a = 1\n"}, languages.Program{
		Name: "reader", Command: os.Args[0], Args: []string{reading, "textDocument/none"}, ByUser: true, Languages: map[string]string{".py": "python"},
	})
	const none, idle = "Not checked for syntax: there is no language server for %s files.", "Not checked for syntax: reader is not running. diagnostics starts it."
	for _, step := range []struct{ name, content, want string }{
		{"there.rb", "def b(\n", fmt.Sprintf(none, ".rb")},
		{"there.py", "def b(\n", idle},
		{"a.lua", "if x the\n", fmt.Sprintf(none, ".lua")},
		{"b.lua", "if x the\n", ""},
		{"a.rs", "fn f( {\n", fmt.Sprintf(none, ".rs")},
		{"a.js", "let a = (\n", fmt.Sprintf(none, ".js")},
		{"a.TS", "let a = (\n", fmt.Sprintf(none, ".ts")},
		{"a.zsh", "if true; the\n", fmt.Sprintf(none, ".zsh")},
		{"notes.txt", "if (\n", ""},
		{"a.md", "if (\n", ""},
		{"a.go", "package a\n", ""},
		{"a.py", "def f(\n", ""},
		{"b.py", "def f(\n", ""},
		{"diagnostics", "", ""},
		{"c.py", "def f(\n", ""}, // the server has nothing against it
		{"c.lua", "if x the\n", ""},
	} {
		if step.name == "diagnostics" {
			if r := w.Call("diagnostics", `{"path":"b.py"}`); !r.Success {
				t.Error(r.Data)
			}
			continue
		}
		args, _ := json.Marshal(map[string]string{"path": step.name, "content": step.content, "mode": "append"})
		r := w.Call("write_file", string(args))
		if !r.Success { // it has to see the end first
			r = w.Call("write_file", string(args))
		}
		got := ""
		if len(r.Warnings) > 0 {
			got = r.Warnings[0]
		}
		if !r.Success || got != step.want || len(r.Warnings) > 1 || !strings.HasSuffix(r.Data, got) {
			t.Errorf("%s: %q, want %q: %s", step.name, r.Warnings, step.want, r.Data)
		}
	}
}
