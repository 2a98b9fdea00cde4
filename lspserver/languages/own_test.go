package languages_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/lspserver/languages"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/code"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

// gopls is the program, which a person installs with Go.
func gopls(t *testing.T) string {
	t.Helper()
	candidates := []string{"gopls"}
	if cache, err := os.UserCacheDir(); err == nil {
		candidates = append(candidates, filepath.Join(cache, "tandem-editors", "gopls", "bin", "gopls"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		candidates = append(candidates, filepath.Join(home, "go", "bin", "gopls"))
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("gopls is missing: go install golang.org/x/tools/gopls@latest")
	return ""
}

// patience is how long servers may read the project; 0 is the default.
var patience time.Duration

// world is a World whose language servers are started beside it.
func world(t *testing.T, files map[string]string, programs ...languages.Program) (*toolstest.World, *languages.Pool) {
	w := toolstest.NewWorld(t, write.New(), code.NewDefinition(), code.NewReferences(), code.NewOutline(), code.NewFind(), code.NewDiagnostics(), code.NewRename(),
		code.NewFormat(), code.NewActions())
	for name, content := range files {
		path := w.Path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pool := languages.NewPool(context.Background(), languages.Options{
		Programs: func() []languages.Program { return programs }, Read: w.Files.Read, Unsaved: w.Files.Open, Log: slog.New(slog.DiscardHandler),
		LoadTimeout: patience,
	})
	t.Cleanup(pool.Close)
	w.Env.Servers.Languages = languages.New(pool.Session(func() *tools.Env { env := w.Env; return &env }))
	w.Env.Servers.Findings = &tools.Findings{}
	return w, pool
}

func preset(name string) languages.Program {
	for _, p := range languages.Presets() {
		if p.Name == name {
			return p
		}
	}
	panic("no preset " + name)
}

// gopls without an editor: files of the disk, a buffer with unsaved text, a file that somebody
// writes, and diagnostics of each.
func TestGopls(t *testing.T) {
	p := preset("gopls")
	p.Command, p.ByUser = gopls(t), true
	w, pool := world(t, map[string]string{
		"go.mod":  "module calc\n\ngo 1.24\n",
		"calc.go": "package calc\n\nfunc Add(a, b int) int { return a + b }\n",
		"use.go":  "package calc\n\nvar three = Add(1, 2)\n",
	}, p)
	if !w.Env.Servers.Languages.Serves(w.Root) || w.Env.Servers.Languages.Serves(filepath.Dir(w.Root)) {
		t.Error("the tools are offered in another folder than that of the project")
	}
	call := func(name, args string, want ...string) {
		t.Helper()
		r := w.Call(name, args)
		for _, part := range want {
			if !r.Success || !strings.Contains(r.Data, part) {
				t.Errorf("%s %s: %s %s\nwants %q", name, args, r.Error, r.Data, part)
			}
		}
	}
	began := time.Now()
	call("definition", `{"path":"use.go","line":3,"symbol":"Add"}`, "Found 1 definition", "calc.go:3\n", "   3 | func Add(a, b int)")
	t.Logf("the first answer came after %v", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	call("references", `{"path":"calc.go","line":3,"symbol":"Add"}`, "Found 2 references", "1. calc.go:3 → func Add", "2. use.go:3 → var three")
	t.Logf("the second after %v", time.Since(began).Round(time.Millisecond))
	call("document_symbols", `{"path":"use.go"}`, "3 | variable three")
	call("workspace_symbols", `{"query":"Add"}`, "calc.go:3 → function")
	call("diagnostics", `{"path":"calc.go"}`, "No diagnostics in calc.go.")

	// Unsaved text counts, also of a file that was not asked about.
	w.Files.Put(w.Path("calc.go"), "package calc\n\n// Add adds.\nfunc Add(a, b, c int) int { return a + b + c }\n", true)
	call("definition", `{"path":"use.go","line":3,"symbol":"Add"}`, "calc.go:4\n")
	r := w.Call("diagnostics", `{"path":"use.go"}`)
	if !r.Success || !strings.Contains(r.Data, "use.go:3 error: not enough arguments in call to Add") || strings.Contains(r.Data, "not known") {
		t.Errorf("after the signature was changed: %s", r.Data)
	}

	// A rename reaches the buffer and the disk, and the comment of what it renames.
	call("rename_symbol", `{"path":"use.go","line":3,"symbol":"Add","new_name":"Sum"}`, "Renamed `Add` to `Sum` at 3 places in 2 files.")
	for name, want := range map[string]string{
		"calc.go": "package calc\n\n// Sum adds.\nfunc Sum(a, b, c int) int { return a + b + c }\n", "use.go": "package calc\n\nvar three = Sum(1, 2)\n",
	} {
		if now, err := w.Files.Read(t.Context(), w.Path(name)); err != nil || now.Text.String() != want {
			t.Errorf("%s is %q, %v", name, now.Text.String(), err)
		}
	}
	if r := w.Call("rename_symbol", `{"path":"use.go","line":3,"symbol":"Sum","new_name":"9"}`); r.Success || !strings.Contains(r.Data, "gopls cannot answer") {
		t.Errorf("%s: %s", r.Error, r.Data)
	}

	// A file that somebody else writes.
	if err := os.WriteFile(w.Path("more.go"), []byte("package calc\n\nfunc More() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pool.Changed(w.Path("more.go"))
	call("workspace_symbols", `{"query":"More"}`, "more.go:3 → function")
}

// gopls formats and repairs, in a file of the disk with other line ends and in unsaved text.
func TestGoplsFormatsAndRepairs(t *testing.T) {
	p := preset("gopls")
	p.Command, p.ByUser = gopls(t), true
	w, _ := world(t, map[string]string{
		"go.mod":    "module calc\n\ngo 1.24\n",
		"calc.go":   "package calc\r\n\r\nfunc   Add(a, b int) int {\r\nreturn a+b\r\n}\r\n",
		"unused.go": "package calc\n\nvar x = 1\n",
	}, p)
	check := func(name, args, want, path, content string) {
		t.Helper()
		r := w.Call(name, args)
		if !strings.Contains(r.Data, want) {
			t.Errorf("%s %s: %s %s\nwants %q", name, args, r.Error, r.Data, want)
		}
		if now, err := w.Files.Read(t.Context(), w.Path(path)); err != nil || now.Text.String() != content {
			t.Errorf("%s is %q, %v", path, now.Text.String(), err)
		}
	}
	formatted := "package calc\r\n\r\nfunc Add(a, b int) int {\r\n\treturn a + b\r\n}\r\n"
	check("format", `{"path":"calc.go"}`, "Formatted calc.go.", "calc.go", formatted)
	check("format", `{"path":"calc.go"}`, "Already formatted: calc.go.", "calc.go", formatted)

	const unsaved = "package calc\n\nimport \"fmt\"\n\nfunc Use() {\n\ty := Add(1, 2)\n}\n"
	w.Files.Put(w.Path("unused.go"), unsaved, true)
	check("code_actions", `{"path":"unused.go","start_line":3}`, "Organize Imports (source.organizeImports)", "unused.go", unsaved)
	check("code_actions", `{"path":"unused.go","apply":"Organize Imports"}`, "Applied `Organize Imports`", "unused.go",
		"package calc\n\nfunc Use() {\n\ty := Add(1, 2)\n}\n")
	// It offers repairs once its analysis in the background has come to them.
	for end := time.Now().Add(time.Minute); !strings.Contains(w.Call("code_actions", `{"path":"unused.go","start_line":4}`).Data, "(quickfix)"); {
		if time.Now().After(end) {
			t.Fatal("no repair is offered")
		}
		time.Sleep(50 * time.Millisecond)
	}
	r := w.Call("code_actions", `{"path":"unused.go","start_line":4,"apply":"Remove variable y"}`)
	now, err := w.Files.Read(t.Context(), w.Path("unused.go"))
	if !r.Success || err != nil || strings.Contains(now.Text.String(), "y :=") || !strings.Contains(now.Text.String(), "Add(1, 2)") {
		t.Errorf("%s: %s\n%q, %v", r.Error, r.Data, now.Text.String(), err)
	}
}

// A server that is not there: what to install. Where nothing confines it, a preset is not started.
func TestNoServer(t *testing.T) {
	missing := preset("gopls")
	missing.Command, missing.ByUser = "gopls-that-is-not-there", true
	for name, c := range map[string]struct {
		program languages.Program
		want    string
	}{
		"missing":    {missing, "No language server answers here. Tell the user that one can be installed: go install golang.org/x/tools/gopls@latest."},
		"unconfined": {preset("gopls"), "None is started without a sandbox unless the user names its command in languageServers."},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := world(t, map[string]string{"go.mod": "module m\n", "a.go": "package a\n", "a.txt": "a\n"}, c.program)
			if name == "missing" {
				w.Env.Commands.Runner = confined{w.Env.Commands.Runner}
			}
			if r := w.Call("document_symbols", `{"path":"a.go"}`); r.Error != tools.Unsupported || !strings.Contains(r.Data, c.want) {
				t.Errorf("%s: %s", r.Error, r.Data)
			}
			if r := w.Call("document_symbols", `{"path":"a.txt"}`); r.Error != tools.Unsupported || !strings.Contains(r.Data, "The editor runs none") {
				t.Errorf("%s: %s", r.Error, r.Data)
			}
			if w.Env.Servers.Languages.Serves(w.Root) {
				t.Error("tools are offered that nobody answers")
			}
		})
	}
}

// A server that ends at once is an error, and the next call starts another one.
func TestServerEnds(t *testing.T) {
	p := languages.Program{Name: "false", Command: "false", ByUser: true, Languages: map[string]string{".x": "x"}}
	w, _ := world(t, map[string]string{"a.x": "a\n"}, p)
	for range 2 {
		if r := w.Call("document_symbols", `{"path":"a.x"}`); r.Success || !strings.Contains(r.Data, "The language server false does not run") {
			t.Errorf("%s: %s", r.Error, r.Data)
		}
	}
}

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, reading) {
		if err := read(os.Stdin, os.Stdout, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hiding is a Runner whose sandbox shows a /tmp of its own.
type hiding struct{ sandbox.Runner }

func (hiding) Level() sandbox.Level { return sandbox.Level{Name: sandbox.LevelFull} }

func (hiding) Start(_ context.Context, c sandbox.Command) (sandbox.Process, error) {
	return nil, &fs.PathError{Op: "exec", Path: c.Argv[0], Err: fs.ErrNotExist}
}

// A program that is there and that the sandbox hides is not said to be missing, nor to be a fault
// of the tool.
func TestFaultW17Hidden(t *testing.T) {
	there := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(there, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		there:           there + " is there, but the sandbox hides it: commands have a /tmp of their own.",
		there + "-none": "The language server hidden does not run: ",
	} {
		w, _ := world(t, map[string]string{"a.x": "a\n"}, languages.Program{
			Name: "hidden", Command: command, ByUser: true, Languages: map[string]string{".x": "x"}, Install: command,
		})
		w.Env.Commands.Runner = hiding{w.Env.Commands.Runner}
		r := w.Call("document_symbols", `{"path":"a.x"}`)
		if r.Success || !strings.Contains(r.Data, want) || strings.Contains(r.Data, "can be installed") || strings.Contains(r.Data, "fault of the tool") {
			t.Errorf("%s: %s %s, want %s", command, r.Error, r.Data, want)
		}
	}
}

// reading is the first argument with which this program is a language server that never comes to
// the end of the project, the last one is the method with which it begins to say so. It answers no
// question about all files.
const reading = "-reads-for-ever"

// unhealthy is the last argument with which it says that it cannot read the project, as
// rust-analyzer does.
const unhealthy = "unhealthy"

func read(r io.Reader, w io.Writer, begins string) error {
	say := func(message map[string]any) {
		message["jsonrpc"] = "2.0"
		text, _ := json.Marshal(message)
		fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	var heard []any // a symbol for each file that has changed on disk, and one for the text of each document
	note := func(format string, args ...any) {
		at := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 0, "character": 1}}
		heard = append(heard, map[string]any{"name": fmt.Sprintf(format, args...), "kind": 13, "range": at, "selectionRange": at})
	}
	in := textproto.NewReader(bufio.NewReader(r))
	for {
		head, err := in.ReadMIMEHeader()
		if err != nil {
			return err
		}
		size, err := strconv.Atoi(head.Get("Content-Length"))
		if err != nil {
			return err
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in.R, body); err != nil {
			return err
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Changes []struct {
					URI  string
					Type int
				}
				TextDocument   struct{ URI, Text string }
				ContentChanges []struct{ Text string }
			}
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, c := range m.Params.Changes {
			note("%s has %d", filepath.Base(c.URI), c.Type)
		}
		if m.Method == begins {
			say(map[string]any{"id": 1, "method": "window/workDoneProgress/create", "params": map[string]any{"token": "t"}})
			say(map[string]any{"method": "$/progress", "params": map[string]any{"token": "t", "value": map[string]any{"kind": "begin"}}})
		}
		if begins == unhealthy && m.Method == "initialized" {
			say(map[string]any{"method": "experimental/serverStatus", "params": map[string]any{
				"health": "error", "quiescent": true, "message": "Failed to load workspaces.",
			}})
		}
		switch m.Method {
		case "exit":
			return nil
		case "textDocument/references", "textDocument/definition":
			if begins == unhealthy {
				say(map[string]any{"id": m.ID, "result": []any{}})
			}
		case "textDocument/diagnostic":
			say(map[string]any{"id": m.ID, "result": map[string]any{"kind": "full", "items": []any{}}})
		case "initialize":
			say(map[string]any{"id": m.ID, "result": map[string]any{"capabilities": map[string]any{"diagnosticProvider": map[string]any{}}}})
		case "textDocument/didOpen":
			note("%s opens as %s", filepath.Base(m.Params.TextDocument.URI), m.Params.TextDocument.Text)
		case "textDocument/didChange":
			note("%s says %s", filepath.Base(m.Params.TextDocument.URI), m.Params.ContentChanges[0].Text)
		case "textDocument/didClose":
			note("%s is closed", filepath.Base(m.Params.TextDocument.URI))
		case "textDocument/documentSymbol":
			say(map[string]any{"id": m.ID, "result": heard})
			heard = nil
		case "shutdown":
			say(map[string]any{"id": m.ID, "result": nil})
		}
	}
}

// A server that does not come to the end of the project, and would answer when it does: a question
// about all files is refused in time, whether it had begun to read before it was asked or not; one
// about a file is answered.
func TestServerReadsForEver(t *testing.T) {
	patience = 300 * time.Millisecond
	t.Cleanup(func() { patience = 0 })
	for _, begins := range []string{"initialized", "textDocument/references"} {
		t.Run(begins, func(t *testing.T) {
			w, _ := world(t, map[string]string{"a.x": "a\n"}, languages.Program{
				Name: "reader", Command: os.Args[0], Args: []string{reading, begins}, ByUser: true, Languages: map[string]string{".x": "x"},
			})
			for range 2 {
				r := w.Call("references", `{"path":"a.x","line":1,"symbol":"a"}`)
				if r.Success || !strings.Contains(r.Data, "reader still reads the project and does not know all files yet") {
					t.Errorf("%s: %s", r.Error, r.Data)
				}
			}
			if r := w.Call("document_symbols", `{"path":"a.x"}`); !r.Success {
				t.Errorf("%s: %s", r.Error, r.Data)
			}
		})
	}
}

// A server that says that it cannot read the project: its answers that there is nothing are none.
func TestServerCannotRead(t *testing.T) {
	patience = 10 * time.Second
	t.Cleanup(func() { patience = 0 })
	w, _ := world(t, map[string]string{"a.x": "a\n"}, languages.Program{
		Name: "reader", Command: os.Args[0], Args: []string{reading, unhealthy}, ByUser: true, Languages: map[string]string{".x": "x"}, ReportsStatus: true,
	})
	for _, tool := range []string{"references", "definition", "diagnostics"} {
		args := `{"path":"a.x","line":1,"symbol":"a"}`
		if tool == "diagnostics" {
			args = `{"path":"a.x"}`
		}
		r := w.Call(tool, args)
		if r.Success || !strings.Contains(r.Data, "The language server reader cannot read the project: Failed to load workspaces. Use grep.") {
			t.Errorf("%s: %s: %s", tool, r.Error, r.Data)
		}
	}
	if r := w.Call("document_symbols", `{"path":"a.x"}`); !r.Success {
		t.Errorf("%s: %s", r.Error, r.Data)
	}
}

// confined is a Runner that says that it confines.
type confined struct{ sandbox.Runner }

func (confined) Level() sandbox.Level { return sandbox.Level{Name: sandbox.LevelFull} }
