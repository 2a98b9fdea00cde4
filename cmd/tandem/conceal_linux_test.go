package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestE01NobodyLooksIntoTheProgram runs the program as somebody who is not root: what is in its environment belongs to root
// all the same, and no command of the agent can read it.
func TestE01NobodyLooksIntoTheProgram(t *testing.T) {
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", "--stdio") // its folder may be closed to others
	cmd.ExtraFiles, cmd.Dir, cmd.Env = []*os.File{f}, "/", []string{"HOME=/"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait() // it was not shut down, and says so
	}()
	const request = `{"jsonrpc":"2.0","id":1,"method":"tandem/status"}`
	if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(request), request); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // then it has begun
		t.Fatal(err)
	}
	st, err := os.Stat(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if owner := st.Sys().(*syscall.Stat_t).Uid; owner != 0 {
		t.Errorf("what it has in its environment belongs to user %d", owner)
	}
}
