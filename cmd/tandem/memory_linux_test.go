package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/lspserver/wire/wiretest"
)

// TestFaultS10OutputFlood: whatever a command prints, and however often, the server holds little of it.
func TestFaultS10OutputFlood(t *testing.T) {
	const most = 40 << 20
	if wiretest.Raced() {
		t.Skip("the race detector has memory of its own")
	}
	p := run(t, nil, nil, "--stdio")
	e := p.editor(conformance.Options{})
	session := e.session("auto")
	type answer struct {
		Success bool
		Data    string
		Result  struct{ JobID string }
	}
	call := func(tool string, args map[string]any) (r answer) {
		t.Helper()
		e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": tool, "arguments": args}, &r)
		if !r.Success {
			t.Fatalf("%s %v: %+v", tool, args, r)
		}
		return r
	}
	call("bash", map[string]any{"command": "true"})
	before := p.resident("VmRSS")
	for _, line := range []string{
		"yes 'words of a line' | head -c 100M",
		"head -c 100M /dev/zero | tr '\\0' a",
		"head -c 30M /dev/urandom",
		"(head -c 60M /dev/zero | tr '\\0' a) & (head -c 60M /dev/zero | tr '\\0' b >&2); wait",
	} {
		call("bash", map[string]any{"command": line, "timeout_ms": patience.Milliseconds()})
		r := call("bash", map[string]any{"command": line, "background": true})
		call("job_output", map[string]any{"job_id": r.Result.JobID, "wait_ms": patience.Milliseconds()})
		if grown := p.resident("VmHWM") - before; grown > most {
			t.Errorf("%s: the server has grown by %d MiB above %d MiB", line, grown>>20, before>>20)
		}
	}
	e.leaves()
}

// resident is the memory of the program by a name of /proc/PID/status, in bytes.
func (p *process) resident(name string) int64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, there := strings.Cut(string(text), "\n"+name+":")
	fields := strings.Fields(rest)
	if err != nil || !there || len(fields) == 0 {
		p.t.Fatalf("no %s: %v", name, err)
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n << 10
}
