package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/model/registry"
	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

// source is a file of forty lines, as a program has them.
func source(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package part%d\n\nimport \"fmt\"\n\n", n)
	for i := range 6 {
		fmt.Fprintf(&b, "// Step%d does step %d of part %d.\nfunc Step%d(n int) string {\n\treturn fmt.Sprintf(\"%%d of %%d\", n, %d)\n}\n\n", i, i, n, i, i)
	}
	b.WriteString("func oldName() string {\n\tname := \"old\"\n\treturn name\n}\n")
	return b.String()
}

// TestFindingC7TokenEconomy has ten files read and edited one after another, in 21 requests, and measures what is sent for that, with the
// tools that a session has by default.
func TestFindingC7TokenEconomy(t *testing.T) {
	for name, c := range map[string]struct {
		tools      func() *tools.Set
		first, all int
	}{
		"all tools, most of them by name alone": {func() *tools.Set { return toolstest.SetOf(builtin.Tools()...) }, 7_960, 361_500},
		"what no request is without":            {few, 7_100, 343_500},
	} {
		t.Run(name, func(t *testing.T) { economy(t, c.tools(), c.first, c.all) })
	}
}

// few are the tools that no request is without, tool_search aside, which is of use only beside others.
func few() *tools.Set {
	return toolstest.SetOf(builtin.Tools()...).Narrow(tools.Only("test", []string{
		"read_file", "list_files", "glob", "grep", "edit_file", "write_file", "bash", "clarify",
	}))
}

func economy(t *testing.T, offer *tools.Set, firstLimit, limit int) {
	const files = 10
	conf := config.Default()
	conf.Retry.Attempts, conf.Mode = 1, "auto"
	conf.Providers = map[string]config.Provider{"mock": {API: "openai", BaseURL: "http://mock/v1"}}
	var sizes []int
	var last []byte
	models := &registry.Registry{
		Config: conf, Getenv: func(string) string { return "" },
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			last, _ = io.ReadAll(r.Body)
			sizes = append(sizes, len(last))
			n := len(sizes) - 1
			file := fmt.Sprintf("internal/part%d/part.go", n/2)
			args := map[string]any{"path": file}
			name := "read_file"
			if n%2 == 1 {
				name = "edit_file"
				args["old_text"], args["new_text"] = "func oldName() string {\n\tname := \"old\"", "func newName() string {\n\tname := \"new\""
			}
			raw, _ := json.Marshal(args)
			item, _ := json.Marshal(map[string]any{
				"type": "function_call", "id": fmt.Sprintf("fc_%d", n), "call_id": fmt.Sprintf("call_%d", n), "name": name, "arguments": string(raw),
			})
			body := fmt.Sprintf(`{"type":"response.completed","response":{"status":"completed","output":[%s]}}`, item)
			if n == 2*files {
				body = `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Done."}]}]}}`
			}
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: io.NopCloser(strings.NewReader("data: " + body + "\n\ndata: [DONE]\n\n")),
			}, nil
		}),
	}
	var root string
	s := session(t, &client{}, nil, func(o *setup) {
		o.Config, o.Models, o.Model, o.Tools = conf, models, "mock/gpt-5.5", func() *tools.Set { return offer }
		root = o.Cwd
	})
	for i := range files {
		path := filepath.Join(root, fmt.Sprintf("internal/part%d/part.go", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(source(i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := ask(t, s, "Rename oldName to newName in all parts."); r.Stop != EndTurn {
		t.Fatalf("%+v", r)
	}
	all := 0
	for _, n := range sizes {
		all += n
	}
	if got := bytes.Count(last, []byte("File edited: ")); len(sizes) != 2*files+1 || got != files {
		t.Fatalf("%d requests, %d edits:\n%s", len(sizes), got, last)
	}
	t.Logf("%d requests, %d bytes in all, the first %d, a read and an edit %d", len(sizes), all, sizes[0], (sizes[2*files]-sizes[0])/files)
	if all > limit || sizes[0] > firstLimit {
		t.Errorf("%d bytes in all, of which the first request has %d; the limits are %d and %d", all, sizes[0], limit, firstLimit)
	}
}
