package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/tools/mcp"
	"tandem/tools/mcp/mcptest"
)

// TestFaultW11Quirks: a server that does one of these is of use all the same.
func TestFaultW11Quirks(t *testing.T) {
	for _, q := range mcptest.Quirks {
		t.Run(q.Name, func(t *testing.T) {
			t.Parallel()
			b := begin(t, mcp.Options{Silence: 10 * time.Second}, mcp.Entry{Name: "q", Command: "python3", Args: []string{"-c", mcptest.Quirky}, Own: true, Source: "the test"})
			about, err := json.Marshal(q)
			if err == nil {
				err = os.WriteFile(filepath.Join(b.Root, "quirk.json"), about, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Prepare(t.Context())
			wants := q.Wants
			if wants == "" {
				wants = "it works"
			}
			if r := b.call("mcp__q__t", `{}`); !strings.Contains(r.Data, wants) {
				t.Errorf("%s: %s\n%+v", q.Source, r.Data, b.States())
			}
		})
	}
}
