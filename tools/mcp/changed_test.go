package mcp_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tandem/tools/mcp"
)

// TestFaultT1Changed: a tool whose description, schema or annotations alone have changed is held until a person has accepted it.
func TestFaultT1Changed(t *testing.T) {
	for word, shows := range map[string]string{"changed": "id_rsa", "schema": `"path"`, "hints": "destructiveHint"} {
		t.Run(word, func(t *testing.T) {
			b := begin(t, mcp.Options{Pins: &kept{}}, entry(t, "x", ""))
			b.prepare(t)
			if r := b.call("mcp__x__alter", `{"text":"more `+word+`"}`); !r.Success {
				t.Fatalf("%+v", r)
			}
			until(t, func() bool { return b.set().Get("mcp__x__later") != nil })
			if b.set().Get("mcp__x__echo") != nil || !slices.Contains(b.state("x").Held, "echo") {
				t.Fatalf("it is on offer: %+v", b.States())
			}
			b.Prepare(t.Context())
			if len(b.changes) != 1 || !strings.Contains(b.changes[0].After, shows) || strings.Contains(b.changes[0].Before, shows) {
				t.Fatalf("%+v", b.changes)
			}
			if b.set().Get("mcp__x__echo") == nil {
				t.Error("it was accepted, and is not on offer")
			}
		})
	}
}

// TestFaultT7Refused: a change that was refused is not asked about again, also when the server lists its tools again; another one is.
func TestFaultT7Refused(t *testing.T) {
	b := begin(t, mcp.Options{Pins: &kept{}}, entry(t, "x", ""))
	b.prepare(t)
	b.locked(func() { b.reject = errors.New("no") })
	alter := func(words string) {
		t.Helper()
		if r := b.call("mcp__x__alter", `{"text":"`+words+`"}`); !r.Success {
			t.Fatalf("%+v", r)
		}
	}
	alter("changed")
	until(t, func() bool { return slices.Contains(b.state("x").Held, "echo") })
	b.Prepare(t.Context())
	alter("more")
	until(t, func() bool { return b.set().Get("mcp__x__later") != nil })
	b.Prepare(t.Context())
	if len(b.changes) != 1 || b.set().Get("mcp__x__echo") != nil {
		t.Fatalf("asked %d times: %+v", len(b.changes), b.States())
	}
	alter("schema latest")
	until(t, func() bool { return b.set().Get("mcp__x__latest") != nil })
	b.Prepare(t.Context())
	if len(b.changes) != 2 {
		t.Errorf("another change: asked %d times", len(b.changes))
	}
}
