//go:build !unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// attributes are none: there are no process groups that could be ended as one.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// awaitExit returns when the command has ended.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// terminate cannot ask a command to end here; it is killed once its grace is over.
func terminate(*exec.Cmd) {}

// kill ends the command itself. What it has started goes on.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// exitCode is the code of a command that has ended.
func exitCode(cmd *exec.Cmd) int { return cmd.ProcessState.ExitCode() }

// dropCapabilities has nothing to do: there are no capabilities here. A command of root's has root's rights.
func dropCapabilities() error { return nil }

// caveat is what Level says beside that nothing confines commands.
const caveat = "; on this system what a command has started outlives it, also where it is stopped"

// Conceal does nothing here: other processes of the same person may read this one's memory if the system lets them.
func Conceal() {}
