//go:build !unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// caveat is what Level says beside that nothing confines commands.
const caveat = "; on this system what a command has started outlives it, also where it is stopped"

// separate is nothing: there are no process groups that could be ended as one.
func separate() *syscall.SysProcAttr { return nil }

// terminate cannot ask a command to end here; it is killed once its grace is over.
func terminate(*exec.Cmd) {}

// kill ends the command itself. What it has started goes on.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// code is the exit code of a command that has ended.
func code(cmd *exec.Cmd) int { return cmd.ProcessState.ExitCode() }

// Conceal does nothing here: other processes of the same person may read this one's memory if the
// system lets them.
func Conceal() {}
