package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// lifeline makes a FIFO of that name in a folder and opens both of its ends. The end of what r reads, once w is closed, is the
// death of the last process that holds it open.
func lifeline(t *testing.T, dir string) (r, w *os.File) {
	t.Helper()
	path := filepath.Join(dir, "lifeline")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if w, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return r, w
}

// TestCaseJ03K11FindingS8ServerEnds ends the program while a command of it runs with 60 processes, half of them in sessions of their own,
// by a kill that it cannot see and by the end of its input, also within a message. All of them hold a pipe open, whose end is the death of the last.
func TestCaseJ03K11FindingS8ServerEnds(t *testing.T) {
	for name, end := range map[string]func(e *editor){
		"killed":         func(e *editor) { _ = e.p.cmd.Process.Kill() },
		"the input ends": func(e *editor) { e.HangUp() },
		"the input ends in a message": func(e *editor) {
			e.Raw([]byte("Content-Length: 100\r\n\r\n{"))
			e.HangUp()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := run(t, nil, nil, "--stdio").editor(conformance.Options{Ask: func(int, conformance.Ask) string { return "allow_once" }})
			r, w := lifeline(t, e.p.root)
			e.Begin("tandem/tools/call", map[string]any{
				"sessionId": e.session("ask"), "name": "bash", "arguments": map[string]any{
					"command": `exec 9>lifeline; for i in $(seq 30); do (echo $PPID >&9; exec sleep 300) & ` +
						`(setsid sh -c 'trap "" TERM HUP; echo $PPID >&9; sleep 300; :' &); done; wait; sleep 300`, "timeout_ms": 0,
				},
			})
			if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			for buf := make([]byte, 100); strings.Count(said.String(), "\n") < 60; {
				n, err := r.Read(buf)
				if err != nil {
					t.Fatalf("%d processes have begun: %v", strings.Count(said.String(), "\n"), err)
				}
				said.Write(buf[:n])
			}
			_ = w.Close()
			seen := map[string]bool{}
			var keepers []int
			for _, f := range strings.Fields(said.String()) {
				if !seen[f] {
					keepers = append(keepers, e.p.below(f)...) // or a shell between, which is gone as well
				}
				seen[f] = true
			}
			end(e)
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("something of the command is alive: %v", err)
			}
			gone(t, keepers)
		})
	}
}

// TestCaseK13ManyAtOnce ends the program in order while fifty commands of it run or wait for their turn, in two sessions of which
// one has commands in the background.
func TestCaseK13ManyAtOnce(t *testing.T) {
	e := run(t, nil, nil, "--stdio").editor(conformance.Options{})
	r, w := lifeline(t, e.p.root)
	first, second := e.session("auto"), e.session("auto")
	for i := range 50 {
		arguments := map[string]any{"command": `exec 9>lifeline; echo >&9; setsid sleep 300 & trap "" TERM; sleep 300`, "timeout_ms": 0}
		session := first
		if i%2 == 1 {
			session, arguments["background"] = second, i%4 == 1
		}
		e.Begin("tandem/tools/call", map[string]any{"sessionId": session, "name": "bash", "arguments": arguments})
	}
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for begun, buf := 0, make([]byte, 1); begun < 16; begun++ { // as many as run at once
		if _, err := r.Read(buf); err != nil {
			t.Fatalf("%d commands have begun: %v", begun, err)
		}
	}
	_ = w.Close()
	e.leaves()
	if _, err := io.ReadAll(r); err != nil {
		t.Errorf("something of the commands is alive: %v", err)
	}
}

// TestF170aJobsEndWithTheirSession leaves a command running behind the turn of a model: it goes on, is of its session alone, and ends
// with that session or with the program, however that ends.
func TestF170aJobsEndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(e *editor, session string){
		"killed":         func(e *editor, _ string) { _ = e.p.cmd.Process.Kill() },
		"the input ends": func(e *editor, _ string) { e.HangUp() },
		"shutdown":       func(e *editor, _ string) { e.leaves() },
		"closed": func(e *editor, session string) {
			e.ask("tandem/session/close", map[string]any{"sessionId": session}, nil)
		},
		"deleted": func(e *editor, session string) {
			e.ask("tandem/session/delete", map[string]any{"sessionId": session}, nil)
		},
		"job_kill": func(e *editor, session string) {
			if got := e.tool(session, "job_kill", map[string]any{"job_id": "job_1"}); !strings.Contains(got, "job_1 was ended.") {
				t.Error(got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte(`call bash {"command":"exec 9>lifeline; echo begun; (setsid sleep 300 &); echo >&9; sleep 300","background":true}

see /Started in the background as job_1/
say Started.
`), 0o600); err != nil {
				t.Fatal(err)
			}
			heard := newNews()
			e := run(t, map[string]any{"model": "script:" + script}, nil, "--stdio").editor(conformance.Options{
				Heard: heard.hear, Ask: func(int, conformance.Ask) string { return "allow_once" },
			})
			r, w := lifeline(t, e.p.root)
			session := e.session("ask")
			var over struct{ StopReason string }
			e.ask("tandem/session/prompt", map[string]any{
				"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": "Go."}},
			}, &over)
			if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 1)); err != nil || over.StopReason != "end_turn" {
				t.Fatalf("the command has not begun: %v, %s", err, over.StopReason)
			}
			_ = w.Close()
			heard.mu.Lock()
			if said := heard.said.String(); !strings.Contains(said, "noti: Goes on in the background until the session is closed: $ exec 9>lifeline") {
				t.Error(said)
			}
			heard.mu.Unlock()
			until(t, "the command prints after its turn", func() bool {
				got := e.tool(session, "job_output", map[string]any{"job_id": "job_1"})
				if !strings.HasSuffix(got, "job_1 is running.") {
					t.Fatal(got)
				}
				return strings.Contains(got, "output:\nbegun\n")
			})
			var status struct {
				Jobs []struct{ SessionID, JobID, Title string }
			}
			e.ask("tandem/status", map[string]any{}, &status)
			if len(status.Jobs) != 1 || status.Jobs[0].SessionID != session || status.Jobs[0].JobID != "job_1" {
				t.Errorf("%+v", status)
			}
			var other struct{ Success bool }
			e.ask("tandem/tools/call", map[string]any{
				"sessionId": e.session("ask"), "name": "job_kill", "arguments": map[string]any{"job_id": "job_1"},
			}, &other)
			if other.Success {
				t.Error("another session ends the command")
			}
			end(e, session)
			if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("something of the command is alive: %v", err)
			}
		})
	}
}
