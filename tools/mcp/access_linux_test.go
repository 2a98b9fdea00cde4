package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/effects/autorun"
	"tandem/tools/mcp"
)

// confined starts commands as a session does: with its paths, and with the test's own binary to be seen.
type confined struct {
	sandbox.Runner
	in sandbox.Surroundings
}

func (c confined) Start(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	cmd.Surroundings = c.in
	return c.Runner.Start(ctx, cmd)
}

// guarded is a session whose servers are confined, and looked after.
func guarded(t *testing.T, e mcp.Entry) *bench {
	t.Helper()
	local := &sandbox.Local{}
	t.Cleanup(local.Close)
	if level := local.Level(); level.Name != sandbox.LevelFull {
		t.Skipf("no sandbox of the level full: %s", level.Reason)
	}
	b := begin(t, mcp.Options{})
	paths := &sandbox.Paths{Cwd: b.Root, Read: []string{b.Root}, Write: []string{b.Root}, Roots: &sandbox.Roots{}}
	t.Cleanup(paths.Close)
	b.Env.Paths = paths
	b.Env.Commands.Runner = confined{local, sandbox.Surroundings{Paths: paths, Path: []string{filepath.Dir(e.Command)}}}
	b.Env.Commands.Autorun = &autorun.Guard{
		Paths: paths, Quarantine: &autorun.Quarantine{Dir: t.TempDir(), Now: time.Now}, Session: "s", Name: paths.Rel,
	}
	b.Configure([]mcp.Entry{e})
	b.prepare(t)
	return b
}

// TestFaultS2BetweenCalls: what a server writes after its answer does not come about, or where it cannot be kept from it, is looked
// after like what a call writes.
func TestFaultS2BetweenCalls(t *testing.T) {
	const envrc, plain = ".envrc", "notes.txt"
	for name, v := range map[string]struct {
		writes bool
		hold   bool
		path   string
		wants  string // of the server: how its write went
		told   bool
		left   bool
	}{
		"a file that runs later":                     {path: envrc, wants: "read-only file system"},
		"a plain file":                               {path: plain, wants: "read-only file system"},
		"a file that runs later, with one held":      {hold: true, path: envrc, wants: "<nil>", told: true},
		"a plain file, with one held":                {hold: true, path: plain, wants: "<nil>", left: true},
		"a file that runs later, by one that writes": {writes: true, path: envrc, wants: "<nil>", told: true},
		"a plain file, by one that writes":           {writes: true, path: plain, wants: "<nil>", left: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := entry(t, "x", "")
			e.Writes = v.writes
			b := guarded(t, e)
			if r := b.call("mcp__x__write", `{"path": "in-call", "text": "a"}`); !r.Success || !strings.Contains(r.Data, "written") {
				t.Fatalf("a call cannot write: %+v", r)
			}
			if v.hold {
				if r := b.call("mcp__x__hold", `{"path": "log"}`); !strings.Contains(r.Data, "<nil>") {
					t.Fatalf("%+v", r)
				}
				if s := b.state("x"); len(s.Remarks) != 1 || !strings.Contains(s.Remarks[0], "open for writing") {
					t.Errorf("%+v", s)
				}
			}
			if r := b.call("mcp__x__between", fmt.Sprintf(`{"path": %q, "text": "id"}`, v.path)); !r.Success {
				t.Fatalf("%+v", r)
			}
			if err := os.WriteFile(filepath.Join(b.Root, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			until(t, func() bool { return slices.Contains(b.state("x").Tools, "mcp__x__later") }) // it has tried
			r := b.call("mcp__x__written", `{}`)
			if !strings.Contains(r.Data, v.wants) {
				t.Errorf("%+v", r)
			}
			if told := strings.Contains(strings.Join(r.Warnings, ""), "The MCP server x made .envrc"); told != v.told {
				t.Errorf("told %v: %q", told, r.Warnings)
			}
			if _, err := os.Stat(filepath.Join(b.Root, v.path)); (err == nil) != v.left {
				t.Errorf("left %v, %v", v.left, err)
			}
		})
	}
}

// TestFaultS2WholeLife: what a server plants when it starts and when it ends is found too, outside of a call.
func TestFaultS2WholeLife(t *testing.T) {
	for _, word := range []string{"plants-first", "plants-last"} {
		t.Run(word, func(t *testing.T) {
			e := entry(t, "x", word)
			e.Writes = true
			b := guarded(t, e)
			b.Configure(nil)
			until(t, func() (found bool) {
				b.locked(func() { found = strings.Contains(strings.Join(b.planted, ""), "The MCP server x made .envrc") })
				return found
			})
			if _, err := os.Stat(filepath.Join(b.Root, ".envrc")); err == nil {
				t.Error("it is left")
			}
		})
	}
}

// TestFaultT19GuardRoundCalls: what a server plants while a call runs is found by this call and taken away.
func TestFaultT19GuardRoundCalls(t *testing.T) {
	b := guarded(t, entry(t, "x", ""))
	for range 2 {
		r := b.call("mcp__x__write", `{"path": ".envrc", "text": "id"}`)
		if !strings.Contains(r.Data, "written") || !strings.Contains(strings.Join(r.Warnings, ""), "The MCP server x made .envrc") {
			t.Errorf("%+v", r)
		}
		if _, err := os.Stat(filepath.Join(b.Root, ".envrc")); err == nil {
			t.Error("it is left")
		}
	}
	if r := b.call("mcp__x__write", `{"path": "plain", "text": "a"}`); len(r.Warnings) > 0 {
		t.Errorf("a plain file: %q", r.Warnings)
	}
}
