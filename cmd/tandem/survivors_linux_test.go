package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tandem/lspserver/conformance"
)

// TestFindingS8ServerEnds ends the program while a command of it runs with 60 processes, half of them in sessions of their own,
// by a kill that it cannot see and by the end of its input. All of them hold a pipe open, whose end is the death of the last.
func TestFindingS8ServerEnds(t *testing.T) {
	for name, end := range map[string]func(e *editor){
		"killed":         func(e *editor) { _ = e.p.cmd.Process.Kill() },
		"the input ends": func(e *editor) { e.HangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			e := run(t, nil, nil, "--stdio").editor(conformance.Options{Ask: func(int, conformance.Ask) string { return "allow_once" }})
			path := filepath.Join(e.p.root, "lifeline")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			w, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
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
			var keepers []int
			for _, f := range strings.Fields(said.String()) {
				if pid, err := strconv.Atoi(f); err == nil {
					keepers = append(keepers, pid) // or a shell between, which is gone as well
				}
			}
			end(e)
			if _, err := io.ReadAll(r); err != nil {
				t.Errorf("something of the command is alive: %v", err)
			}
			gone(t, keepers)
		})
	}
}
