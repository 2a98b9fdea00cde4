package main

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// TestOrphaned: the end of the editor's process is told when it ends, also where nobody has waited for it, and not before.
func TestOrphaned(t *testing.T) {
	for name, wait := range map[string]func(context.Context, int) bool{"told": waitForExit, "looked for": pollForExit} {
		t.Run(name, func(t *testing.T) {
			p := exec.Command("cat")
			in, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancelled := make(chan bool)
			go func() { cancelled <- wait(ctx, p.Process.Pid) }()
			cancel()
			if <-cancelled {
				t.Error("a process that lives has ended")
			}
			over := make(chan bool)
			go func() { over <- wait(t.Context(), p.Process.Pid) }()
			_ = in.Close() // cat ends with it
			if name == "looked for" {
				_ = p.Wait() // as long as nobody has, it counts as there
			}
			select {
			case is := <-over:
				if !is {
					t.Error("a process that has ended lives")
				}
			case <-time.After(20 * time.Second):
				t.Error("the end of a process is not told")
			}
			if name == "told" {
				_ = p.Wait()
				if !wait(t.Context(), p.Process.Pid) {
					t.Error("a process that is gone lives")
				}
			}
		})
	}
}
