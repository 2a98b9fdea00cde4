package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/lspserver/backend"
	"tandem/lspserver/review"
	"tandem/lspserver/wire"
	"tandem/tools/builtin"
	"tandem/tools/run"
	"tandem/tools/toolstest"
)

// serving is the argument with which this program is a language server, whose symbols are the files that it has heard of: those that have
// changed on disk.
const serving = "-serve-language"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serving {
		serveLanguage()
	}
	os.Exit(m.Run())
}

// pipe is standard input and output.
type pipe struct {
	io.Reader
	io.Writer
}

func (pipe) Close() error { return os.Stdin.Close() }

func serveLanguage() {
	var mu sync.Mutex
	var heard []any
	r := wire.NewRouter()
	wire.Handle(r, "initialize", func(context.Context, json.RawMessage) (any, error) {
		return map[string]any{"capabilities": map[string]any{}}, nil
	})

	for _, method := range []string{"initialized", "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"} {
		wire.Notify(r, method, func(context.Context, json.RawMessage) {})
	}
	wire.Notify(r, "workspace/didChangeWatchedFiles", func(_ context.Context, p struct {
		Changes []struct {
			URI  string `json:"uri"`
			Type int    `json:"type"`
		} `json:"changes"`
	},
	) {
		mu.Lock()
		defer mu.Unlock()
		at := map[string]any{"start": map[string]any{"line": 0, "character": 0}, "end": map[string]any{"line": 0, "character": 1}}
		for _, c := range p.Changes {
			name := fmt.Sprintf("%s/%d", filepath.Base(c.URI), c.Type)
			heard = append(heard, map[string]any{"name": name, "kind": 13, "range": at, "selectionRange": at})
		}
	})
	wire.Handle(r, "textDocument/documentSymbol", func(context.Context, json.RawMessage) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		out := heard
		heard = nil
		return out, nil
	})
	wire.Serve(context.Background(), pipe{os.Stdin, os.Stdout}, r, wire.Options{}).Wait()
	os.Exit(0)
}

// TestFaultT11LanguageServersHearOfChanges: a language server of our own hears of a file that the client says has changed, of one that a
// program changes, of one that the agent edits, of both paths of one that the agent moves, and of all of them where that is taken back.
func TestFaultT11LanguageServersHearOfChanges(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"asked.x", "client.x", "edited.x", "from.x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := json.Marshal(map[string]any{"languageServers": map[string]any{"heard": map[string]any{
		"command": self, "args": []string{serving}, "extensions": map[string]string{".x": "x"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	b := backend.New(backend.Options{
		Tools: builtin.Tools(), Runner: toolstest.NewWorld(t).Env.Commands.Runner, Watch: true,
		Opener: func(config.Config, model.Lend) model.Opener { return models{"say hello\n"} },
	}, &face{answer: run.Allowed})
	if err := b.Start(context.Background(), backend.Client{Folders: []string{dir}, Editor: noEditor{}, Options: settings, Own: true}); err != nil {
		t.Fatal(err)
	}
	defer b.End()
	se, err := b.New(backend.NewSession{Mode: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := se.CallTools(t.Context(), []run.Call{{Name: tool, Arguments: raw}}, agent.CallOptions{})
		if err != nil || !r[0].Success {
			t.Fatalf("%s: %+v, %v", tool, r, err)
		}
		return r[0].Data
	}
	// heard waits until the server has heard of all of these, by its answers.
	heard := func(want ...string) {
		t.Helper()
		all := ""
		for end := time.Now().Add(20 * time.Second); ; {
			all += call("document_symbols", map[string]any{"path": "asked.x"})
			missing := errors.Join()
			for _, w := range want {
				if !strings.Contains(all, w) {
					missing = errors.Join(missing, errors.New(w))
				}
			}
			if missing == nil {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("it has not heard of %v", missing)
			}
		}
	}
	once := func(want ...string) {
		t.Helper()
		got := call("document_symbols", map[string]any{"path": "asked.x"})
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("it has not heard of %s: %s", w, got)
			}
		}
	}
	once()
	b.Changed(filepath.Join(dir, "client.x"))
	once("client.x/2")
	call("read_file", map[string]any{"path": "edited.x"})
	call("edit_file", map[string]any{"path": "edited.x", "old_text": "text", "new_text": "TEXT"})
	once("edited.x/2")
	call("read_file", map[string]any{"path": "from.x"})
	call("move_file", map[string]any{"path": "from.x", "destination": "to.x"})
	once("to.x/2", "from.x/3")
	if done := se.Undo(t.Context(), review.Scope{All: true}); len(done.Conflicts) > 0 {
		t.Fatalf("%+v", done)
	}
	once("edited.x/2", "to.x/3", "from.x/2")
	// Only files that a session has seen are watched.
	if err := os.WriteFile(filepath.Join(dir, "edited.x"), []byte("by another program\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	heard("edited.x/2")
}
