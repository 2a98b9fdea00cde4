package lspserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/lspserver"
	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
	"tandem/tools"
)

// TestF122RandomCallsOverTheWire sends 10,000 calls with whatever a model might send in well-formed envelopes: each answer is a result of the one
// shape, none is a JSON-RPC error, and the server lives on.
func TestF122RandomCallsOverTheWire(t *testing.T) {
	servers := 10
	if testing.Short() {
		servers = 3
	}
	for seed := range servers {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomCalls(t, rand.New(rand.NewPCG(1, uint64(seed)))) })
	}
}

// randomCalls makes a thousand calls of a server of their own.
func randomCalls(t *testing.T, rnd *rand.Rand) {
	const n, together = 1000, 100
	r := start(t, conformance.Options{
		Settings: map[string]any{"mode": "auto", "disabledTools": []string{"bash", "clarify", "fetch", "web_search"}},
		Ask:      func(int, conformance.Ask) string { return "reject_once" },
	}, options(nil))
	r.write("a.txt", "one\ntwo\n")
	r.write("dir/b.go", "package b\n")
	id := r.session(nil)
	fitting := map[string][]any{
		"path": {"a.txt", "dir/b.go", "dir", "new.txt", "none", "/etc/passwd", ".git/config"}, "destination": {"moved.txt", "a.txt"}, "old_text": {"one", "two", "b"},
		"new_text": {"1", "one\nmore", ""}, "content": {"", "x\n"}, "pattern": {"*", "**/*.go", "one", "("}, "query": {"read", "select:grep"}, "id": {"1", "2"},
		"title": {"do it"}, "limit": {1, 100}, "offset": {0, 1, 99}, "recursive": {true, false}, "status": {"completed"}, "turn": {1},
		"edits": {[]any{map[string]any{"old_text": "one", "new_text": "1"}}},
		"patch": {"*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** End Patch", "*** Begin Patch\n*** Delete File: none\n*** End Patch", "no patch"},
	}
	parameters := map[string][]string{}
	for _, l := range r.list(nil) {
		for name := range l.Parameters.Properties {
			parameters[l.Name] = append(parameters[l.Name], name)
		}
		slices.Sort(parameters[l.Name])
	}
	names := append(toolNames(r.list(nil)), "frobnicate", "", "EDIT", "Bash", "mcp__x__y", "read\x00file", strings.Repeat("n", 300))
	values := []any{
		"a.txt", "dir/b.go", "dir", ".", "..", "/", "", "\x00", "@a.txt", "~", "file:///etc/passwd", "one", "(", "**/*", "ä😀\r\n", strings.Repeat("x", 3000),
		nil, true, -1, 0, 1, 2.5, 1e300,
		[]any{},
		[]any{"a.txt", nil},
		map[string]any{"path": "a.txt"},
		[]any{map[string]any{"old_text": "one", "new_text": "1"}},
		"*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** End Patch",
	}
	keys := []string{
		"path", "filePath", "old_text", "new_text", "content", "mode", "pattern", "limit", "offset", "depth", "edits", "patch", "query", "id", "title", "status",
		"recursive", "destination", "output_mode", "replace_all", "turn", "zzz", "",
	}
	codes := map[string]int{}
	for done := 0; done < n; done += together {
		var calls []map[string]any
		for range together {
			name, object := names[rnd.IntN(len(names))], map[string]any{}
			arguments := any(object)
			switch rnd.IntN(10) {
			case 0:
				arguments = values[rnd.IntN(len(values))]
			case 1, 2:
				for range rnd.IntN(5) {
					object[keys[rnd.IntN(len(keys))]] = values[rnd.IntN(len(values))]
				}
			default:
				for _, p := range parameters[name] {
					if fit := fitting[p]; fit != nil && rnd.IntN(20) > 0 {
						object[p] = fit[rnd.IntN(len(fit))]
					}
				}
			}
			calls = append(calls, map[string]any{"name": name, "arguments": arguments})
		}
		var out struct{ Results []result }
		r.ask("tandem/tools/batch", map[string]any{"sessionId": id, "calls": calls, "apply": []string{"auto", "disk", "none"}[rnd.IntN(3)]}, &out)
		if len(out.Results) != together {
			t.Fatalf("%d results of %d calls", len(out.Results), together)
		}
		for i, got := range out.Results {
			if codes[got.Error]++; got.Success != (got.Error == "") || strings.TrimSpace(got.Data) == "" || got.Error == "EXECUTION_ERROR" {
				raw, _ := json.Marshal(calls[i])
				t.Errorf("%.300s: %s %.300s", raw, got.Error, got.Data)
			}
		}
	}
	if codes[""] < n/20 || codes["INVALID_ARGS"] < n/20 || len(codes) < 8 {
		t.Errorf("the calls are not of all sorts: %v", codes)
	}
	if after := r.call(id, "list_files", `{}`); !after.Success {
		t.Errorf("%s", after.raw)
	}
	r.end()
}

// BenchmarkListOf100Tools is tandem/tools/list of a hundred tools, from the request to the decoded answer.
func BenchmarkListOf100Tools(b *testing.B) {
	type in struct {
		Path  string `json:"path" desc:"The file."`
		Limit int    `json:"limit" desc:"How many." default:"100" min:"1"`
		Mode  string `json:"mode" desc:"How." enum:"one,two,three" default:"one"`
	}
	so := options(nil)
	for i := len(so.Tools); i < 100; i++ {
		so.Tools = append(so.Tools, tools.Define(tools.Definition[in]{
			Spec: tools.Spec{
				Name: fmt.Sprintf("tool%d", i), Kind: tools.Read, Category: "test", Source: "builtin", Danger: tools.Safe, Class: tools.ClassRead,
				Description: "Does something with a file, as long as that is wanted. " + strings.Repeat("More of it. ", 20),
			},
			Needs: func(env *tools.Env, in in) ([]tools.Need, error) { return tools.ToRead(env, in.Path) },
			Plan:  func(context.Context, *tools.Env, in) (*tools.Plan, error) { return &tools.Plan{}, nil },
		}))
	}
	client, server := conformance.Pipe(nil, nil)
	done := make(chan int, 1)
	go func() {
		code := lspserver.Serve(b.Context(), server, so)
		_ = server.Close()
		done <- code
	}()
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	e, err := conformance.Start(b.Context(), client, conformance.Options{Root: root})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		raw, err := e.Request(b.Context(), "tandem/tools/list", map[string]any{"includeDeferred": true})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		var out protocol.ListToolsResult
		if err := json.Unmarshal(raw, &out); err != nil || len(out.Tools) < 95 {
			b.Fatalf("%d tools, %v", len(out.Tools), err)
		}
		b.StartTimer()
	}
	_ = client.Close()
	<-done
}
