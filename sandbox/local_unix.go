//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// caveat is what Level says beside that nothing confines commands.
const caveat = "; on this system a command also outlives Tandem where that is killed, and what leaves its process group always does"

// separate gives a command a session of its own. Unlike on Linux it does not end when this process
// is killed.
func separate() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminate asks the process group of a command to end.
func terminate(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // one that is stopped could not even die
}

// kill ends the process group of a command. Where the command has ended it was collected, so its
// number may be another group's; Linux allows to wait without that.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// code is the exit code of a command that has ended.
func code(cmd *exec.Cmd) int {
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		return exitCode(s)
	}
	return cmd.ProcessState.ExitCode()
}

// Conceal does nothing here: other processes of the same person may read this one's memory if the
// system lets them.
func Conceal() {}
