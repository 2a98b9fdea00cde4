package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/tools/mcp"
	"tandem/tools/mcp/mcptest"
)

// A server with one of these quirks is usable all the same: the model has its tool, once and with a schema that services take, and the
// person is warned of other output only where there is some.
func TestFaultW11Quirks(t *testing.T) {
	for _, q := range mcptest.Quirks {
		t.Run(q.Name, func(t *testing.T) {
			t.Parallel()
			b := quirky(t, q)
			b.Prepare(t.Context())
			wants := q.Wants
			if wants == "" {
				wants = "it works"
			}
			if r := b.call("mcp__q__t", `{}`); !strings.Contains(r.Data, wants) {
				t.Errorf("%s: %s\n%+v", q.Source, r.Data, b.States())
			}
			state := b.state("q")
			if !slices.Equal(state.Tools, []string{"mcp__q__t"}) {
				t.Errorf("%s: the tools %q", q.Source, state.Tools)
			}
			warned := slices.ContainsFunc(state.Remarks, func(s string) bool { return strings.Contains(s, "no messages") })
			if warned != q.Prints {
				t.Errorf("%s: the remarks %q", q.Source, state.Remarks)
			}
			tool := b.set().Get("mcp__q__t")
			if tool == nil {
				t.Fatalf("%s: no tool", q.Source)
			}
			var root struct{ Type string }
			if err := json.Unmarshal(tool.Schema().JSON(), &root); err != nil || root.Type != "object" {
				t.Errorf("%s: the parameters %s", q.Source, tool.Schema().JSON())
			}
		})
	}
}

// quirky is a bench with a server that has a quirk, named q.
func quirky(t *testing.T, q mcptest.Quirk) *bench {
	b := begin(t, mcp.Options{Silence: 10 * time.Second}, mcp.Entry{Name: "q", Command: "python3", Args: []string{"-c", mcptest.Quirky}, Own: true, Source: "the test"})
	about, err := json.Marshal(q)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.Root, "quirk.json"), about, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Prompts and resources are listed as tools are: without null entries, each once, and up to a cursor that leads back.
func TestFaultW11QuirksOfOffers(t *testing.T) {
	b := quirky(t, mcptest.Quirk{Answers: map[string]string{
		"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{}},"serverInfo":{"name":"q","version":"1"}}`,
		"prompts/list":   `{"prompts":[null,{"name":"p","arguments":[null,{"name":"a"}]}],"nextCursor":"1"}`,
		"prompts/get":    `{"messages":[null,{"role":"user","content":{"type":"text","text":"it works"}}]}`,
		"resources/list": `{"resources":[null,{"uri":"x://y","name":"y"}],"nextCursor":"1"}`,
		"resources/read": `{"contents":[null,{"uri":"x://y","text":"it works"}]}`,
	}})
	b.prepare(t)
	if got := commands(b); got != "/mcp__q__p [a]" {
		t.Error(got)
	}
	if got := b.Resources(); len(got) != 1 || got[0].Mention != "q:x://y" {
		t.Errorf("%+v", got)
	}
	parts, _, err := b.Prompt(t.Context(), "mcp__q__p", "")
	if err != nil || len(parts) != 1 || !strings.Contains(parts[0].Text, "it works") {
		t.Errorf("%v %+v", err, parts)
	}
	read, err := b.Read(t.Context(), "q:x://y")
	if err != nil || len(read) != 1 || !strings.Contains(read[0].Text, "it works") {
		t.Errorf("%v %+v", err, read)
	}
}
