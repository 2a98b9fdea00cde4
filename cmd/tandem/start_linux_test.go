package main

import "testing"

// TestStartHasNoProcesses: a session that has run no command has no process beside the server.
func TestStartHasNoProcesses(t *testing.T) {
	full(t)
	p := prepared(t, nil)
	p.start(p.env, []string{"--stdio"})
	var who asked
	e := p.editor(who.options())
	session := e.session("auto")
	call := func(name string, arguments map[string]any) {
		var r ran
		if e.ask("tandem/tools/call", map[string]any{"sessionId": session, "name": name, "arguments": arguments}, &r); !r.Success {
			t.Fatalf("%+v", r)
		}
	}
	call("list_dir", map[string]any{"path": "."})
	if pids := children(t, p.cmd.Process.Pid); len(pids) != 0 {
		t.Errorf("processes %v", pids)
	}
	call("bash", map[string]any{"command": "true"})
	until(t, "one keeper waits", func() bool { return len(children(t, p.cmd.Process.Pid)) == 1 })
	e.leaves()
}
