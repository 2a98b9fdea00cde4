//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"
)

// attributes give a command a session of its own. Unlike on Linux it does not end when this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit returns when the command has ended. It is collected then, so its number may be another group's when what is left
// of its own is killed; Linux allows to wait without that.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// dropCapabilities has nothing to do: there are no capabilities here. A command of root's has root's rights.
func dropCapabilities() error { return nil }

// caveat is what Level says beside that nothing confines commands.
const caveat = "; on this system a command also outlives Tandem where that is killed"

// Conceal does nothing here: other processes of the same person may read this one's memory if the system lets them.
func Conceal() {}
